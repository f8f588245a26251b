use anyhow::{Result, bail};
use egret::{Action, AnyLearner, Context, Item, Learner, Measure, ReferenceMeasure, Space, Vector};
use egret_log::FromLogged;

/// One of the kinds of action that logs and models hold.
pub trait Kind: Action + FromLogged + PartialEq {
    /// The learner of a model, if it is of this kind.
    fn learner(any: &AnyLearner) -> Option<&Learner<Context, Self>>;

    /// The learner of a model for good, if it is of this kind.
    fn into_learner(any: AnyLearner) -> Option<Learner<Context, Self>>;

    /// The measure of a space, if it is of this kind.
    fn measure(space: &Space) -> Result<Option<Box<dyn ReferenceMeasure<Context, Self>>>>;
}

macro_rules! kind {
    ($action:ty, $variant:ident) => {
        impl Kind for $action {
            fn learner(any: &AnyLearner) -> Option<&Learner<Context, Self>> {
                match any {
                    AnyLearner::$variant(learner) => Some(learner),
                    _ => None,
                }
            }

            fn into_learner(any: AnyLearner) -> Option<Learner<Context, Self>> {
                match any {
                    AnyLearner::$variant(learner) => Some(learner),
                    _ => None,
                }
            }

            fn measure(space: &Space) -> Result<Option<Box<dyn ReferenceMeasure<Context, Self>>>> {
                Ok(match space.measure()? {
                    Measure::$variant(measure) => Some(measure),
                    _ => None,
                })
            }
        }
    };
}

kind!(f64, Number);
kind!(Vector, Vector);
kind!(Item, Item);

/// The learner of a model, or why there is none for this log.
pub fn learner_of<'m, A: Kind>(
    any: &'m AnyLearner,
    file: &std::path::Path,
) -> Result<&'m Learner<Context, A>> {
    match A::learner(any) {
        Some(learner) => Ok(learner),
        None => bail!(
            "{} is a model over another kind of action than the log's",
            file.display()
        ),
    }
}
