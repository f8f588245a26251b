//! The parts of one event: context, action, loss, propensity.
//!
//! An event is (x, a, ℓ, p). The [`Context`] x is known before the decision: [`Features`] with names, which a
//! [`FeatureSchema`] turns into numbers, or the numbers themselves. The action a is a number, a [`Vector`], an
//! [`Item`], a [`MixedAction`] or an [`ItemSet`]; the trait [`Action`] lets you add your own type. The [`Loss`] ℓ ∈ [0, 1] arrives later, smaller is better; an [`Objective`] makes it of
//! rewards or costs in the user's units.
//! The [`Propensity`] p says how probable the action was: a [`Density`] dP/dμ against the reference measure, or a point
//! mass, which no importance weight can use.
//!
//! [`Limits`] say which part of the actions the request allowed.
//!
//! Each type checks its numbers when it is made, so NaN and infinities never get past this folder.

pub(crate) mod action;
pub(crate) mod context;
pub(crate) mod feature_schema;
pub(crate) mod features;
pub(crate) mod item_set;
pub(crate) mod limits;
pub(crate) mod loss;
pub(crate) mod mixed_action;
pub(crate) mod objective;
pub(crate) mod propensity;

pub use action::{Action, Batch, Item, Vector, Vectors};
pub use context::{Context, ContextError};
pub(crate) use feature_schema::EncodeBuffers;
pub use feature_schema::{
    Categories, FeatureCounts, FeatureError, FeatureSchema, Field, FieldCounts, FieldKind,
    Interaction, LogRule, NumberScale, SchemaError, SchemaSample,
};
pub use features::{FeatureValue, Features};
pub use item_set::{ItemSet, RepeatedItem};
pub use limits::{ItemLimits, KnobLimits, Limits, LimitsError};
pub use loss::{Loss, PseudoLoss};
pub use mixed_action::{KnobValue, MixedAction, MixedActionError};
pub use objective::{Direction, Objective, ObjectiveTextError, Outcome, OutcomeError, Outside};
pub use propensity::{Density, Propensity, Weight};
