//! Oracles made from other oracles, or from a function.
//!
//! [`Aggregation`](crate::Aggregation) predicts almost as well as the best of several.
//! [`PiecewiseConstant`](crate::PiecewiseConstant) turns an oracle on an interval into a step function, so that z is a
//! sum and β is exact. [`FunctionOracle`](crate::FunctionOracle) and
//! [`FunctionOnInterval`](crate::FunctionOnInterval) wrap a function of yours.
//! [`OnQuantiles`](crate::OnQuantiles) shows an oracle the quantiles of actions in place of the actions.
//! [`NamedFeatures`](crate::NamedFeatures) lets an oracle over numbers take named features.

pub(crate) mod aggregation;
pub(crate) mod function;
pub(crate) mod named_features;
pub(crate) mod on_list;
pub(crate) mod on_quantiles;
pub(crate) mod piecewise_constant;
mod side_by_side;
