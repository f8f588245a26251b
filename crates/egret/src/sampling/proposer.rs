use crate::event::{Action, Batch};
use crate::measure::ReferenceMeasure;
use crate::numeric::EventRng;
use crate::oracle::{LossCurve, NanPrediction};

/// Draws a ∼ μ(·|x) and predicts f̂(x, a) for each.
pub(crate) struct Proposer<'a, X: ?Sized, A: Action> {
    pub x: &'a X,
    pub measure: &'a dyn ReferenceMeasure<X, A>,
    pub curve: &'a LossCurve<'a, X, A>,
}

/// A batch of actions, their predictions, and a buffer of random numbers.
pub(crate) struct Proposals<A: Action> {
    pub actions: A::Batch,
    pub fhats: Vec<f64>,
    pub units: Vec<f64>,
}

impl<A: Action> Default for Proposals<A> {
    fn default() -> Self {
        Self {
            actions: A::Batch::default(),
            fhats: Vec::new(),
            units: Vec::new(),
        }
    }
}

impl<X: ?Sized, A: Action> Proposer<'_, X, A> {
    /// Makes `out` hold `n` independent draws.
    pub(crate) fn draw(
        &self,
        n: usize,
        rng: &mut EventRng,
        out: &mut Proposals<A>,
    ) -> Result<(), NanPrediction> {
        out.actions.clear();
        self.measure.sample(self.x, n, rng, &mut out.actions);
        self.curve.predict(&out.actions, &mut out.fhats)
    }

    /// Makes `out` hold `n` draws, stratified if μ can.
    pub(crate) fn draw_stratified(
        &self,
        n: usize,
        rng: &mut EventRng,
        out: &mut Proposals<A>,
    ) -> Result<(), NanPrediction> {
        out.actions.clear();
        self.measure
            .sample_stratified(self.x, n, rng, &mut out.actions);
        self.curve.predict(&out.actions, &mut out.fhats)
    }
}
