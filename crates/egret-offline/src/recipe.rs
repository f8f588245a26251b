use egret::{
    Action, Blueprint, Context, Item, Measure, ModelError, OracleSpec, OracleSpecError,
    ReferenceMeasure, RegressionOracle, Space, SpaceError, Vector,
};
use serde::{Deserialize, Serialize};

use crate::{LearningError, Lesson, LoggedExample, Parts, Trained, Training, TrainingSettings};

/// An oracle and how it is trained: one candidate of a selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The oracle before it learns.
    pub oracle: OracleSpec,
    /// How it learns.
    #[serde(default)]
    pub training: TrainingSettings,
}

/// An action of the kinds that files know, so that a [`Blueprint`] makes its measure and oracle.
pub trait KnownAction: Action {
    /// μ of a space of such actions.
    fn measure(space: &Space) -> Result<Box<dyn ReferenceMeasure<Context, Self>>, RecipeError>;

    /// The blueprint's oracle, nothing learned.
    fn oracle(
        blueprint: &Blueprint,
    ) -> Result<Box<dyn RegressionOracle<Context, Self>>, OracleSpecError>;
}

/// The same three lines for each kind.
macro_rules! known_action {
    ($action:ty, $kind:ident, $oracle:ident) => {
        impl KnownAction for $action {
            fn measure(
                space: &Space,
            ) -> Result<Box<dyn ReferenceMeasure<Context, Self>>, RecipeError> {
                match space.measure()? {
                    Measure::$kind(measure) => Ok(measure),
                    _ => Err(RecipeError::OtherActions {
                        expected: stringify!($kind),
                    }),
                }
            }

            fn oracle(
                blueprint: &Blueprint,
            ) -> Result<Box<dyn RegressionOracle<Context, Self>>, OracleSpecError> {
                blueprint.$oracle()
            }
        }
    };
}

known_action!(f64, Number, number_oracle);
known_action!(Vector, Vector, vector_oracle);
known_action!(Item, Item, item_oracle);

impl Recipe {
    /// Oracle and method in a few words.
    pub fn name(&self) -> String {
        format!(
            "{} {}",
            oracle_name(&self.oracle),
            self.training.method.name()
        )
    }

    /// The blueprint with this oracle in place of its own.
    pub fn blueprint(&self, of: &Blueprint) -> Blueprint {
        Blueprint {
            oracle: self.oracle.clone(),
            ..of.clone()
        }
    }

    /// Trains on a log of actions in the blueprint's space; its oracle is not looked at. `with` gets the training before its
    /// first epoch, and runs it.
    pub fn train_with<A: KnownAction, T>(
        &self,
        blueprint: &Blueprint,
        examples: &[LoggedExample<Context, A>],
        parts: &Parts,
        with: impl FnOnce(Lesson<'_, Context, A>, TrainingSettings) -> Result<T, LearningError>,
    ) -> Result<T, RecipeError> {
        let blueprint = self.blueprint(blueprint);
        let measure = A::measure(&blueprint.space)?;
        // Once before, so that an oracle that cannot be is an error and no panic.
        A::oracle(&blueprint)?;
        let oracle = || A::oracle(&blueprint).expect("it was made before from the same blueprint");
        let lesson = Lesson {
            examples,
            parts,
            measure: &*measure,
            oracle: &oracle,
        };
        Ok(with(lesson, self.training.clone())?)
    }

    /// Trains to the end.
    pub fn train<A: KnownAction>(
        &self,
        blueprint: &Blueprint,
        examples: &[LoggedExample<Context, A>],
        parts: &Parts,
    ) -> Result<Trained<Context, A>, RecipeError> {
        self.train_with(blueprint, examples, parts, |lesson, settings| {
            Training::new(lesson, settings)?.run(|_| ())
        })
    }
}

fn oracle_name(oracle: &OracleSpec) -> String {
    match oracle {
        OracleSpec::Argmin { hidden: None, .. } => "linear".to_owned(),
        OracleSpec::Argmin {
            hidden: Some([first, second]),
            ..
        } => format!("network {first}-{second}"),
        OracleSpec::LeastSquares {
            forecaster,
            squares,
            ..
        } => {
            let name = match forecaster {
                egret::Forecaster::Ridge => "ridge",
                egret::Forecaster::VovkAzouryWarmuth => "vaw",
            };
            let squares = if *squares { " with squares" } else { "" };
            format!("{name}{squares}")
        }
        OracleSpec::Fourier { features, .. } => format!("fourier {features}"),
        OracleSpec::Aggregation(members) => format!("aggregation of {}", members.len()),
        OracleSpec::LatentOutcome { outcomes, .. } => format!("outcomes {outcomes}"),
        OracleSpec::Curves { cosines, .. } => format!("curves {cosines}"),
        OracleSpec::PiecewiseConstant { cells, of } => {
            format!("{} in {cells} steps", oracle_name(of))
        }
    }
}

/// Why a recipe cannot be followed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// Not an action space.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// Not an oracle, or not one for this space.
    #[error(transparent)]
    Oracle(#[from] OracleSpecError),
    /// Training failed.
    #[error(transparent)]
    Learning(#[from] LearningError),
    /// What was trained is not a model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The log has actions of another kind than the space.
    #[error("the space has no actions of kind {expected}, which the log has")]
    OtherActions {
        /// What the log has.
        expected: &'static str,
    },
}
