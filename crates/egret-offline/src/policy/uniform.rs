use egret::{Action, Limits, ReferenceMeasure};

use crate::policy::{Mu, Policy, PolicyBuffers, PolicyError, PolicySeed, RngPurpose};

/// μ itself: q = 1 everywhere.
pub struct UniformPolicy<'a, X: ?Sized, A: Action> {
    measure: Mu<'a, X, A>,
}

impl<'a, X: ?Sized, A: Action> UniformPolicy<'a, X, A> {
    /// The policy that plays this μ.
    pub fn new(measure: &'a dyn ReferenceMeasure<X, A>) -> Self {
        Self::of(Mu::Whole(measure))
    }

    pub(crate) fn of(measure: Mu<'a, X, A>) -> Self {
        Self { measure }
    }
}

impl<X: ?Sized, A: Action> Policy<X, A> for UniformPolicy<'_, X, A> {
    fn density(
        &self,
        _: PolicySeed,
        _: &X,
        _: &A,
        _: &mut PolicyBuffers<A>,
    ) -> Result<f64, PolicyError> {
        Ok(1.0)
    }

    fn draw(
        &self,
        seed: PolicySeed,
        x: &X,
        n: usize,
        _: &mut PolicyBuffers<A>,
        out: &mut A::Batch,
    ) -> Result<(), PolicyError> {
        let mut rng = seed.rng(RngPurpose::Draw, 0);
        self.measure.sample_stratified(x, n, &mut rng, out);
        Ok(())
    }

    fn within(&self, limits: &Limits) -> Result<Box<dyn Policy<X, A> + '_>, PolicyError> {
        Ok(Box::new(Self::of(Mu::Part(self.measure.within(limits)?))))
    }

    fn largest_density(&self) -> Option<f64> {
        Some(1.0)
    }

    fn name(&self) -> String {
        "uniform".to_owned()
    }
}
