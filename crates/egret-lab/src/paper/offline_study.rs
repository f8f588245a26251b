use egret::{
    Context, Decision, Density, Interval, LearningRate, ModelSpec, Observed, OracleSpec,
    Propensity, RegressionOracle,
};
use egret_offline::{
    LearningError, OfflineProtocol, Order, PointMasses, Split, SplitRows, Training,
    TrainingCandidate, TrainingMethod,
};
use serde::{Deserialize, Serialize};

use crate::environment::{Supervised, SupervisedToBandit};
use crate::learner::{EgretFactory, PaperLearner, PlayError};
use crate::run::{Journal, Progress, Run, StudyError, Task, run_all};

/// The paper's offline experiment: a larger model is trained on the log of each online run.
#[derive(Debug, Clone)]
pub struct OfflineStudy<'a> {
    /// The data sets.
    pub sets: &'a [SupervisedToBandit],
    /// The learners that write the logs, each with the methods of training on its log.
    pub logs: Vec<(PaperLearner, Vec<OfflineMethod>)>,
    /// The number of seeds: 1, 2, …, those of the online runs.
    pub seeds: u64,
    /// The largest number of decisions of a run.
    pub decisions: usize,
}

/// How a model is trained on a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfflineMethod {
    /// The direct method: all examples have equal weight.
    Direct,
    /// Clipped IPS with the g that the paper logs, as if κ were 1. Point masses have the largest weight.
    Ips,
    /// Clipped IPS with the density g/z.
    CorrectIps,
    /// Doubly robust with the density g/z.
    DoublyRobust,
}

impl OfflineMethod {
    /// The name shown in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct method",
            Self::Ips => "clipped IPS, κ̂ = 1",
            Self::CorrectIps => "clipped IPS, correct weights",
            Self::DoublyRobust => "doubly robust",
        }
    }

    fn training_method(self) -> TrainingMethod {
        match self {
            Self::Direct => TrainingMethod::DirectMethod,
            Self::Ips | Self::CorrectIps => TrainingMethod::ClippedIps {
                cap: 5.0,
                point_masses: PointMasses::Cap,
            },
            Self::DoublyRobust => TrainingMethod::DoublyRobust {
                cap: 5.0,
                folds: 2,
                draws: 1,
            },
        }
    }

    /// The paper's rates: 0.004 and t₀ = 500 without weights, 0.0075 and 750 with weights.
    fn rate(self) -> LearningRate {
        let (rate, t0) = match self {
            Self::Direct => (0.004, 500.0),
            Self::Ips | Self::CorrectIps | Self::DoublyRobust => (0.0075, 750.0),
        };
        LearningRate::new(rate, t0).expect("in range")
    }

    fn propensity(self, decision: &Decision<f64>) -> Propensity {
        match (self, decision.capped_igw) {
            (Self::Ips, Some(capped)) => {
                Propensity::Density(Density::new(capped.g).expect("0 < g <= τ"))
            }
            _ => decision.propensity,
        }
    }

    /// The cost relative to the direct method.
    fn cost(self) -> f64 {
        match self {
            Self::DoublyRobust => 4.0,
            _ => 1.0,
        }
    }
}

/// The models trained on one log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfflineRecord {
    /// The name of the data set.
    pub environment: String,
    /// The learner that wrote the log.
    pub learner: String,
    /// The seed of the online run and of the split.
    pub seed: u64,
    /// The result of each training method.
    #[serde(alias = "lessons")]
    pub trainings: Vec<TrainingRecord>,
}

/// The result of one training method on one log.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrainingRecord {
    /// The method.
    #[serde(alias = "taught")]
    pub method: OfflineMethod,
    /// The mean loss of the greedy policy on the validation rows (a tenth), computed from the labels.
    pub validation: f64,
    /// The same on the test rows (a tenth).
    pub test: f64,
    /// The epoch with the best validation loss.
    pub epochs: u32,
    /// The duration of the training; it differs whenever the training is repeated.
    pub seconds: f64,
}

impl OfflineRecord {
    /// The test loss of the method that did best on validation rows, among these.
    pub fn best_of(&self, methods: &[OfflineMethod]) -> Option<f64> {
        let among = self
            .trainings
            .iter()
            .filter(|training| methods.contains(&training.method));
        let best = among.min_by(|one, other| one.validation.total_cmp(&other.validation))?;
        Some(best.test)
    }
}

impl OfflineStudy<'_> {
    /// Trains on all logs, seed by seed. A log is that of the online run with the same seed, played again bit for bit.
    pub fn run(
        &self,
        journal: Option<&Journal<OfflineRecord>>,
        progress: &dyn Progress,
    ) -> Result<Vec<OfflineRecord>, StudyError> {
        let factories: Vec<EgretFactory> = self
            .logs
            .iter()
            .map(|(learner, _)| learner.factory())
            .collect();
        let mut tasks = Vec::new();
        for seed in 1..=self.seeds {
            for environment in self.sets {
                for ((_, methods), learner) in self.logs.iter().zip(&factories) {
                    let run = Run {
                        learner,
                        environment,
                        seed,
                        decisions: self.decisions,
                    };
                    let data = environment.data();
                    let width = data.width() as f64 + 4.0;
                    let trainings: f64 = methods.iter().map(|method| method.cost()).sum();
                    let rows = self.decisions.min(data.rows().len()) as f64;
                    tasks.push(Task {
                        key: format!("{} | {methods:?}", run.key()),
                        label: run.label(),
                        cost: rows * width * width * trainings,
                        work: Box::new(move || train_on(&run, data, methods)),
                    });
                }
            }
        }
        run_all(&tasks, journal, progress)
    }
}

/// Plays a run and trains on its log by each method.
fn train_on(
    run: &Run<'_, f64>,
    data: &Supervised,
    methods: &[OfflineMethod],
) -> Result<OfflineRecord, PlayError> {
    let mut decided = Vec::new();
    run.play(|rounds| {
        let known = rounds.iter().filter_map(|round| {
            let decision = round.choice.decision()?;
            Some((round.x.clone(), decision.clone(), round.loss))
        });
        decided.extend(known);
    })?;
    let order = data.shuffled(run.seed, run.decisions);
    let parts = Split::paper().parts(decided.len(), Order::Shuffled(run.seed));
    let mut trainings = Vec::new();
    for &method in methods {
        let examples: Vec<Observed<Context, f64>> = decided
            .iter()
            .map(|(x, decision, loss)| Observed {
                x: x.clone(),
                action: decision.action,
                propensity: method.propensity(decision),
                limits: None,
                loss: *loss,
                tau: None,
            })
            .collect();
        let labels = Labels {
            data,
            order: &order,
        };
        trainings.push(train(&examples, &parts, &labels, method, run.seed)?);
    }
    Ok(OfflineRecord {
        environment: data.name().to_owned(),
        learner: run.learner.name().to_owned(),
        seed: run.seed,
        trainings,
    })
}

/// The labels, and so the loss of every action. Validation and test may use them, training may not.
struct Labels<'a> {
    data: &'a Supervised,
    order: &'a [u32],
}

impl Labels<'_> {
    /// The mean of |y − â(x)| over these rows of the log.
    fn greedy_loss(
        &self,
        oracle: &dyn RegressionOracle<Context, f64>,
        rows: &[usize],
    ) -> Result<f64, LearningError> {
        let pieces = oracle
            .monotone_pieces()
            .expect("an argmin network knows its argmin");
        let mut prepared = Vec::new();
        let mut sum = 0.0;
        for &row in rows {
            let (x, label) = &self.data.rows()[self.order[row] as usize];
            prepared.clear();
            oracle
                .prepare(x, &mut prepared)
                .map_err(|error| LearningError::Context { row, error })?;
            sum += (pieces.argmin(&prepared).clamp(0.0, 1.0) - label).abs();
        }
        Ok(sum / rows.len().max(1) as f64)
    }
}

fn train(
    examples: &[Observed<Context, f64>],
    parts: &SplitRows,
    labels: &Labels<'_>,
    method: OfflineMethod,
    seed: u64,
) -> Result<TrainingRecord, PlayError> {
    let other = |error: &dyn std::fmt::Display| PlayError::Other(error.to_string());
    let start = std::time::Instant::now();
    let width = labels.data.width();
    let protocol = OfflineProtocol::paper(width, seed).map_err(|error| other(&error))?;
    let mut training = protocol.candidates[0].training.clone();
    training.method = method.training_method();
    let candidate = TrainingCandidate {
        oracle: OracleSpec::Argmin {
            hidden: Some([width; 2]),
            learning_rate: method.rate(),
            seed,
        },
        training,
    };
    let spec = ModelSpec {
        oracle: candidate.oracle.clone(),
        ..ModelSpec::new(Interval::new(0.0, 1.0).expect("0 < 1"), width)
    };
    let trained = candidate
        .train_with(&spec, examples, parts, |task, settings| {
            let mut training = Training::new(task, settings)?;
            let mut judge = |oracle: &dyn RegressionOracle<Context, f64>| {
                labels.greedy_loss(oracle, &parts.validation)
            };
            while training.epoch_judged(&mut judge)?.is_some() {}
            training.finish()
        })
        .map_err(|error| other(&error))?;
    Ok(TrainingRecord {
        method,
        validation: trained.validation.value.unwrap_or(f64::NAN),
        test: labels
            .greedy_loss(&*trained.oracle, &parts.test)
            .map_err(|error| other(&error))?,
        epochs: trained.best_epoch,
        seconds: start.elapsed().as_secs_f64(),
    })
}
