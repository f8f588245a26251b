use egret::Learner;

use crate::policy::{PointPolicy, PolicyError};

/// π(x) = the action with the least predicted loss f̂(x, ·), as [`Learner::best`] finds it.
///
/// It has no density against μ: smooth it with a [`KernelPolicy`](crate::KernelPolicy) to weigh events for it.
pub struct GreedyPolicy<'a, X: ?Sized> {
    learner: &'a Learner<X, f64>,
}

impl<'a, X: ?Sized> GreedyPolicy<'a, X> {
    /// Greedy by what this learner predicts.
    pub fn new(learner: &'a Learner<X, f64>) -> Self {
        Self { learner }
    }
}

impl<X: ?Sized> PointPolicy<X> for GreedyPolicy<'_, X> {
    fn action(&self, x: &X) -> Result<f64, PolicyError> {
        Ok(self.learner.best(x)?)
    }
}
