use std::ops::ControlFlow;

use egret::{ActionKind, Context, LearningRate, ModelSpec, Observed, OracleSpec, OutOfRange};
use rayon::prelude::*;

use crate::training::{
    CandidateError, Criterion, Epoch, LearningError, Order, PointMasses, Split, SplitRows, Trained,
    Training, TrainingCandidate, TrainingMethod, TrainingSettings,
};

/// A split and the candidates to train on it. The one that does best on validation rows wins.
///
/// ```
/// use egret_offline::OfflineProtocol;
///
/// let protocol = OfflineProtocol::paper(10, 7)?;
/// let names: Vec<String> = protocol.candidates.iter().map(|candidate| candidate.name()).collect();
/// assert_eq!(names, ["argmin 10x10 dm", "argmin 10x10 ips"]);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct OfflineProtocol {
    /// How the log is split.
    pub split: Split,
    /// In which order its rows are dealt out.
    pub order: Order,
    /// What to train.
    pub candidates: Vec<TrainingCandidate>,
}

/// The result of a protocol.
pub struct ProtocolOutcome<A: ActionKind> {
    /// The rows of each part; the test rows were not used.
    pub parts: SplitRows,
    /// The result of each candidate.
    pub trained: Vec<Trained<Context, A>>,
    /// Which has the lowest value on validation rows, or the lowest squared error where none has a value.
    pub best: usize,
}

impl OfflineProtocol {
    /// The paper's offline experiment (§4.2 and its appendix) for contexts of `context_dim` features.
    ///
    /// | what       | value                                                                                          |
    /// |------------|------------------------------------------------------------------------------------------------|
    /// | split      | 80%, 10%, 10% at random                                                                        |
    /// | methods    | direct (rate 0.004, t₀ = 500); clipped IPS (0.0075, 750, cap 5, point masses at the cap)       |
    /// | oracle     | two hidden layers as wide as the input                                                         |
    /// | training   | batches of 8, two gradient steps each, epochs while the validation loss falls                  |
    /// | winner     | the method with the better validation                                                          |
    ///
    /// The paper has labels, and so knows the true loss of each action. From a log alone it is estimated, and for the best of
    /// 8 draws in place of the greedy action, which has no density.
    pub fn paper(context_dim: usize, seed: u64) -> Result<Self, OutOfRange> {
        let candidate = |rate, t0, method| {
            Ok(TrainingCandidate {
                oracle: OracleSpec::Argmin {
                    hidden: Some([context_dim; 2]),
                    learning_rate: LearningRate::new(rate, t0)?,
                    seed,
                },
                training: TrainingSettings {
                    method,
                    criterion: Criterion::Value,
                    seed,
                    ..TrainingSettings::default()
                },
            })
        };
        let clipped = TrainingMethod::ClippedIps {
            cap: 5.0,
            point_masses: PointMasses::Cap,
        };
        Ok(Self {
            split: Split::paper(),
            order: Order::Shuffled(seed),
            candidates: vec![
                candidate(0.004, 500.0, TrainingMethod::DirectMethod)?,
                candidate(0.0075, 750.0, clipped)?,
            ],
        })
    }

    /// Trains all candidates in parallel. The specification's own oracle is not used.
    pub fn learn<A: ActionKind>(
        &self,
        spec: &ModelSpec,
        examples: &[Observed<Context, A>],
    ) -> Result<ProtocolOutcome<A>, CandidateError> {
        self.learn_watched(spec, examples, |_| ControlFlow::Continue(()))
    }

    /// The same; `watch` sees every epoch of every candidate, and `Break` ends it with [`LearningError::NotTrained`].
    pub fn learn_watched<A: ActionKind>(
        &self,
        spec: &ModelSpec,
        examples: &[Observed<Context, A>],
        watch: impl Fn(&Epoch) -> ControlFlow<()> + Sync,
    ) -> Result<ProtocolOutcome<A>, CandidateError> {
        let parts = self.split.parts(examples.len(), self.order);
        let trained = self
            .candidates
            .par_iter()
            .map(|candidate| {
                candidate.train_with(spec, examples, &parts, |task, settings| {
                    let mut training = Training::new(task, settings)?;
                    while let Some(epoch) = training.epoch()? {
                        if watch(&epoch).is_break() {
                            return Err(LearningError::NotTrained);
                        }
                    }
                    training.finish()
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let score = |trained: &Trained<Context, A>| {
            let validation = trained.validation;
            // Values come first: they can be compared, while errors of different methods cannot.
            let value = validation.value.map_or(f64::INFINITY, |value| value);
            let error = validation.squared_error.unwrap_or(f64::INFINITY);
            (value, error)
        };
        let mut best = 0;
        for place in 1..trained.len() {
            let (ours, theirs) = (score(&trained[place]), score(&trained[best]));
            if ours.0 < theirs.0 || (ours.0 == theirs.0 && ours.1 < theirs.1) {
                best = place;
            }
        }
        Ok(ProtocolOutcome {
            parts,
            trained,
            best,
        })
    }
}
