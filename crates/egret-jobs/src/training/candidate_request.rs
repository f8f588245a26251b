use egret::{ModelSpec, OracleSpec};
use egret_offline::{Criterion, ServedPolicy, TrainingCandidate, TrainingMethod, TrainingSettings};
use serde::{Deserialize, Serialize};

/// An oracle and how it is trained. Fields that are none take a default that suits the oracle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CandidateRequest {
    /// None: the default of the space.
    pub oracle: Option<OracleSpec>,
    /// What it is fitted to.
    pub method: TrainingMethod,
    /// Events in one step.
    pub batch: usize,
    /// Gradient steps for each batch.
    pub steps: Option<usize>,
    /// The largest number of passes over the training rows.
    pub epochs: Option<u32>,
    /// Training ends after so many epochs without a better validation.
    pub patience: u32,
    /// Which validation number decides.
    pub criterion: Criterion,
    /// How the oracle is to be served.
    pub policy: ServedPolicy,
}

impl Default for CandidateRequest {
    fn default() -> Self {
        let settings = TrainingSettings::default();
        Self {
            oracle: None,
            method: settings.method,
            batch: settings.batch,
            steps: None,
            epochs: None,
            patience: settings.patience,
            criterion: settings.criterion,
            policy: settings.policy,
        }
    }
}

impl CandidateRequest {
    pub(crate) fn candidate(&self, spec: &ModelSpec, seed: u64) -> TrainingCandidate {
        let oracle = match &self.oracle {
            Some(oracle) => oracle.clone(),
            None => spec.oracle.with_seed(seed),
        };
        let settings = TrainingSettings {
            method: self.method,
            batch: self.batch,
            patience: self.patience,
            criterion: self.criterion,
            policy: self.policy,
            seed,
            ..TrainingSettings::default()
        }
        .suited_to(&oracle);
        TrainingCandidate {
            training: TrainingSettings {
                steps: self.steps.unwrap_or(settings.steps),
                epochs: self.epochs.unwrap_or(settings.epochs),
                ..settings
            },
            oracle,
        }
    }
}
