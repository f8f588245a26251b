use egret::{
    ActionKind, Context, ModelError, ModelSpec, Observed, OracleSpec, OracleSpecError, SpaceError,
};
use serde::{Deserialize, Serialize};

use crate::training::{
    LearningError, SplitRows, Trained, Training, TrainingSettings, TrainingTask,
};

/// An oracle and how it is trained: one candidate of a selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingCandidate {
    /// The oracle, before it learns.
    pub oracle: OracleSpec,
    /// How it learns.
    #[serde(default)]
    pub training: TrainingSettings,
}

impl TrainingCandidate {
    /// The oracle and the method in a few words.
    pub fn name(&self) -> String {
        format!(
            "{} {}",
            oracle_name(&self.oracle),
            self.training.method.name()
        )
    }

    /// The specification `of` with this candidate's oracle.
    pub fn spec(&self, of: &ModelSpec) -> ModelSpec {
        ModelSpec {
            oracle: self.oracle.clone(),
            ..of.clone()
        }
    }

    /// Hands the task to `with`, which trains. The actions of the log are in the space of `spec`, whose own oracle is not
    /// used.
    pub fn train_with<A: ActionKind, T>(
        &self,
        spec: &ModelSpec,
        examples: &[Observed<Context, A>],
        parts: &SplitRows,
        with: impl FnOnce(TrainingTask<'_, Context, A>, TrainingSettings) -> Result<T, LearningError>,
    ) -> Result<T, CandidateError> {
        let spec = self.spec(spec);
        let measure = A::measure(&spec.space)?;
        // Made once before, so that a bad oracle is an error and not a panic.
        A::oracle(&spec)?;
        let oracle = || A::oracle(&spec).expect("it was made before from the same specification");
        let task = TrainingTask {
            examples,
            parts,
            measure: &*measure,
            oracle: &oracle,
        };
        Ok(with(task, self.training.clone())?)
    }

    /// Trains to the end.
    pub fn train<A: ActionKind>(
        &self,
        spec: &ModelSpec,
        examples: &[Observed<Context, A>],
        parts: &SplitRows,
    ) -> Result<Trained<Context, A>, CandidateError> {
        self.train_with(spec, examples, parts, |task, settings| {
            Training::new(task, settings)?.run(|_| ())
        })
    }
}

fn oracle_name(oracle: &OracleSpec) -> String {
    match oracle {
        OracleSpec::Argmin { hidden: None, .. } => "argmin".to_owned(),
        OracleSpec::Argmin {
            hidden: Some([first, second]),
            ..
        } => format!("argmin {first}x{second}"),
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
        OracleSpec::Aggregation(members) => {
            let names: Vec<String> = members.iter().map(oracle_name).collect();
            names.join("+")
        }
        OracleSpec::LatentOutcome { .. } => "latent-outcome".to_owned(),
        OracleSpec::Curves { .. } => "curves".to_owned(),
        OracleSpec::Local { .. } => "local".to_owned(),
        OracleSpec::Quadratic { .. } => "quadratic".to_owned(),
        OracleSpec::PiecewiseConstant { cells, of } => {
            format!("{} in {cells} cells", oracle_name(of))
        }
    }
}

/// Why a candidate cannot be trained.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CandidateError {
    /// The action space is not valid, or holds other actions.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// The oracle is not valid, or not for this space.
    #[error(transparent)]
    Oracle(#[from] OracleSpecError),
    /// Training failed.
    #[error(transparent)]
    Learning(#[from] LearningError),
    /// The trained oracle makes no model.
    #[error(transparent)]
    Model(#[from] ModelError),
}
