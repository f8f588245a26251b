//! f̂(x, a), the predicted loss: regression oracles.
//!
//! An oracle implements [`RegressionOracle`]: prepare for a context, predict for many actions at once, learn from a batch
//! of [`Example`]s. [`LossCurve`] is one oracle at one context, f̂(x, ·), clamped to [0, 1].
//!
//! Start from [`OracleSpec`], which describes an oracle as data and has a good default for each action space.
//!
//! | oracle                                                    | idea                                              |
//! |-----------------------------------------------------------|---------------------------------------------------|
//! | [`ArgminDispersion`], [`LatentOutcome`]                   | a best action, and how the loss grows away from it |
//! | [`CurveNetwork`], [`FourierRegression`], [`LinearRegression`] | a curve of any shape, from features of the action |
//! | [`LocalRegression`]                                       | least squares around each of a few actions        |
//! | [`QuadraticRegression`]                                   | least squares on squares and products of the action |
//! | [`Aggregation`], [`PiecewiseConstant`], [`FunctionOracle`] | several oracles, a step function, your own function |

pub(crate) mod argmin;
pub(crate) mod combine;
pub(crate) mod features;
pub(crate) mod fourier;
pub(crate) mod linear_regression;
pub(crate) mod local;
pub(crate) mod network;
pub(crate) mod optimizer;
pub(crate) mod quadratic;
pub(crate) mod size;
pub(crate) mod spec;
pub(crate) mod text;

pub use argmin::ArgminModel;
pub use argmin::dispersion::ArgminDispersion;
pub use argmin::linear::LinearArgmin;
pub use argmin::network::NetworkArgmin;
pub use combine::aggregation::Aggregation;
pub use combine::function::{FunctionOnInterval, FunctionOracle};
pub use combine::named_features::NamedFeatures;
pub use combine::on_quantiles::OnQuantiles;
pub use combine::piecewise_constant::PiecewiseConstant;
pub use features::{
    ActionFeatures, Bilinear, Embeddings, FeaturesFrom, ItemTree, JointFeatures, ScalarFeatures,
    Scaling, VectorFeatures, features_from,
};
pub use fourier::{FourierRegression, FourierSettings};
pub use linear_regression::{Forecaster, LinearRegression};
pub use local::regression::{LocalRegression, LocalSettings};
pub use network::curves::{CurveNetwork, CurveSettings};
pub use network::outcomes::{LatentOutcome, LatentOutcomeSettings};
pub use optimizer::adam::LearningRate;
pub use optimizer::coin_betting::CoinBetting;
pub use quadratic::{QuadraticRegression, QuadraticSettings};
pub use spec::{OracleSpec, OracleSpecError};
pub use text::OracleTextError;

use crate::codec::LoadError;
use crate::event::{Action, Batch, ContextError, PseudoLoss, Weight};
use crate::numeric::OutOfRange;

/// f̂, the predicted loss: learns online, predicts in batches.
///
/// | method    | called                        |
/// |-----------|-------------------------------|
/// | `prepare` | once for each context         |
/// | `predict` | for hundreds of actions at once |
/// | `learn`   | with each batch of losses     |
///
/// Predictions should lie in [0, 1]. [`LossCurve`] clamps those that do not; NaN makes the decision an error.
pub trait RegressionOracle<X: ?Sized, A: Action>: Send + Sync {
    /// Computes what does not depend on the action into `prepared`, which arrives empty. An error if the oracle cannot
    /// use the context.
    fn prepare(&self, x: &X, prepared: &mut Vec<f64>) -> Result<(), ContextError>;

    /// Writes f̂(x, a) for each action; `out` is as long as `actions`.
    fn predict(&self, x: &X, prepared: &[f64], actions: &A::Batch, out: &mut [f64]);

    /// f̂(x, a) of one action: the number that `prepare` and `predict` give, to the bit. `scratch` may hold anything.
    ///
    /// An oracle that prepares much more than one action needs may have a shorter way.
    fn predict_one(&self, x: &X, action: &A, scratch: &mut Vec<f64>) -> Result<f64, ContextError> {
        let mut actions = A::Batch::default();
        actions.push(action);
        scratch.clear();
        self.prepare(x, scratch)?;
        let mut fhat = [0.0];
        self.predict(x, scratch, &actions, &mut fhat);
        Ok(fhat[0])
    }

    /// Takes one step on a batch. Every context is checked before anything is learned.
    fn learn(&mut self, batch: &[Example<'_, X, A>]) -> Result<(), ContextError>;

    /// An error if [`learn`](Self::learn) would refuse this example; nothing is learned.
    fn check(&self, example: &Example<'_, X, A>) -> Result<(), ContextError> {
        let action = example.action;
        if self
            .predict_one(example.x, action, &mut Vec::new())?
            .is_nan()
        {
            return Err(ContextError::Refused(format!(
                "the oracle predicted NaN for the action {action:?}"
            )));
        }
        Ok(())
    }

    /// The state as bytes; `load` restores it bit for bit.
    fn save(&self) -> Vec<u8>;

    /// Restores a saved state; on an error nothing has changed.
    fn load(&mut self, state: &[u8]) -> Result<(), LoadError>;

    /// Takes contexts of `dim` features from now on, more than before, the new ones last. What was learned stays: f̂ does
    /// not change where the new features are 0. Returns whether it reads them. After an error the oracle is of no use.
    fn grow(&mut self, _dim: usize) -> Result<bool, GrowError> {
        Err(GrowError::Oracle(std::any::type_name::<Self>()))
    }

    /// The mean squared error of recent predictions, each made before its loss was learned; none if it does not keep count.
    ///
    /// A [`GammaSchedule`](crate::GammaSchedule) may follow it: differences of f̂ mean more where f̂ errs less.
    fn squared_error(&self) -> Option<f64> {
        None
    }

    /// The share of the events that no longer count, in [0, 1]: it has forgotten them, as where the world has moved since.
    ///
    /// An explorer then explores as after fewer events.
    fn forgotten(&self) -> f64 {
        0.0
    }

    /// The monotone pieces on an interval, if the oracle knows them.
    fn monotone_pieces(&self) -> Option<&dyn MonotonePieces> {
        None
    }

    /// A tree over items by the features that the oracle sees, if there are such: a search of a long catalogue goes down in it.
    fn item_tree(&self) -> Option<&ItemTree> {
        None
    }
}

/// Why an oracle does not take longer contexts.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GrowError {
    /// This oracle never does.
    #[error(
        "the oracle {0} cannot grow: make a new model with the new schema and train it on the log"
    )]
    Oracle(&'static str),
    /// It would be too large.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// It could not learn from the new features.
    #[error(
        "no part of the oracle would read the new columns, as least squares has at most 1,024 weights: make a new model \
         with the new schema and another oracle, and train it on the log"
    )]
    Unread,
}

/// An oracle on an interval that knows its minimum and its monotone pieces.
///
/// Between neighbouring break points f̂(x, ·) must be monotone and smooth; at them it may turn or jump. Exact
/// normalization checks its integral and its envelope, and the decision is an error if they show that this does not hold.
pub trait MonotonePieces {
    /// Where f̂(x, ·) is least.
    fn argmin(&self, prepared: &[f64]) -> f64;

    /// Appends the break points in increasing order. The ends of the interval may be left out; points outside are
    /// ignored.
    fn break_points(&self, prepared: &[f64], out: &mut Vec<f64>);

    /// Whether f̂(x, ·) is constant between neighbouring break points, so that integrals are sums.
    fn is_flat(&self) -> bool {
        false
    }
}

/// What an oracle learns from: a context, the action played, its loss.
#[derive(Debug)]
pub struct Example<'a, X: ?Sized, A> {
    /// The context.
    pub x: &'a X,
    /// The action played.
    pub action: &'a A,
    /// Its loss, or an estimate of it.
    pub loss: PseudoLoss,
    /// How much the example counts.
    pub weight: Weight,
}

// By hand: a derive would require contexts and actions to be `Copy`, though only references are copied.
impl<X: ?Sized, A> Clone for Example<'_, X, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<X: ?Sized, A> Copy for Example<'_, X, A> {}

/// f̂(x, ·) for one context, clamped to [0, 1].
pub struct LossCurve<'a, X: ?Sized, A: Action> {
    oracle: &'a dyn RegressionOracle<X, A>,
    x: &'a X,
    prepared: &'a [f64],
}

impl<'a, X: ?Sized, A: Action> LossCurve<'a, X, A> {
    /// Prepares the oracle for a context; `buffer` holds the result.
    pub fn new(
        oracle: &'a dyn RegressionOracle<X, A>,
        x: &'a X,
        buffer: &'a mut Vec<f64>,
    ) -> Result<Self, ContextError> {
        buffer.clear();
        oracle.prepare(x, buffer)?;
        Ok(Self {
            oracle,
            x,
            prepared: buffer,
        })
    }

    /// Makes `out` hold f̂(x, a) ∈ [0, 1] for each action. NaN is an error.
    pub fn predict(&self, actions: &A::Batch, out: &mut Vec<f64>) -> Result<(), NanPrediction> {
        out.resize(actions.len(), 0.0);
        self.oracle.predict(self.x, self.prepared, actions, out);
        clamp_to_unit(out)
    }

    /// As [`predict`](Self::predict), as the oracle has it and not clamped: an order of actions that are all predicted to lose
    /// nothing.
    pub(crate) fn predict_unclamped(
        &self,
        actions: &A::Batch,
        out: &mut Vec<f64>,
    ) -> Result<(), NanPrediction> {
        out.resize(actions.len(), 0.0);
        self.oracle.predict(self.x, self.prepared, actions, out);
        if out.iter().any(|fhat| fhat.is_nan()) {
            return Err(NanPrediction);
        }
        Ok(())
    }

    /// The oracle's tree over items, if there is one.
    pub(crate) fn item_tree(&self) -> Option<&'a ItemTree> {
        self.oracle.item_tree()
    }

    /// The oracle's monotone pieces, if known, and what it prepared for this context.
    pub fn monotone_pieces(&self) -> Option<(&'a dyn MonotonePieces, &'a [f64])> {
        Some((self.oracle.monotone_pieces()?, self.prepared))
    }
}

/// Clamps to [0, 1]; an error if any value is NaN.
fn clamp_to_unit(values: &mut [f64]) -> Result<(), NanPrediction> {
    if clamp_numbers(values) {
        Ok(())
    } else {
        Err(NanPrediction)
    }
}

/// Clamps without branches; returns whether no value is NaN.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn clamp_numbers(values: &mut [f64]) -> bool {
    let mut all_numbers = true;
    for value in values {
        all_numbers &= !value.is_nan();
        *value = value.clamp(0.0, 1.0);
    }
    all_numbers
}

/// The oracle predicted NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the oracle predicted NaN")]
pub struct NanPrediction;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_clamped_and_nan_is_refused() {
        let mut values = [-0.5, 0.25, 7.0, f64::INFINITY];
        assert_eq!(clamp_to_unit(&mut values), Ok(()));
        assert_eq!(values, [0.0, 0.25, 1.0, 1.0]);
        assert_eq!(clamp_to_unit(&mut [0.0, f64::NAN, 0.0]), Err(NanPrediction));
    }
}
