use egret::{Action, ReferenceMeasure};

use crate::target::{Chance, Target, TargetError, TargetWork, Use};

/// μ itself: q = 1.
pub struct UniformTarget<'a, X: ?Sized, A: Action> {
    measure: &'a dyn ReferenceMeasure<X, A>,
}

impl<'a, X: ?Sized, A: Action> UniformTarget<'a, X, A> {
    /// Plays this μ.
    pub fn new(measure: &'a dyn ReferenceMeasure<X, A>) -> Self {
        Self { measure }
    }
}

impl<X: ?Sized, A: Action> Target<X, A> for UniformTarget<'_, X, A> {
    fn density(&self, _: Chance, _: &X, _: &A, _: &mut TargetWork<A>) -> Result<f64, TargetError> {
        Ok(1.0)
    }

    fn draw(
        &self,
        chance: Chance,
        x: &X,
        n: usize,
        _: &mut TargetWork<A>,
        out: &mut A::Batch,
    ) -> Result<(), TargetError> {
        let mut rng = chance.rng(Use::Draw, 0);
        self.measure.sample_stratified(x, n, &mut rng, out);
        Ok(())
    }

    fn largest_density(&self) -> Option<f64> {
        Some(1.0)
    }

    fn name(&self) -> String {
        "uniform".to_owned()
    }
}
