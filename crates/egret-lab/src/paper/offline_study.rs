use egret::{
    Blueprint, Context, Decision, Density, LearningRate, OracleSpec, Propensity, RegressionOracle,
    Space,
};
use egret_offline::{
    Atoms, LearningError, LoggedExample, Method, OfflineProtocol, Order, Parts, Recipe, Split,
    Training,
};
use serde::{Deserialize, Serialize};

use super::contenders::Explored;
use crate::{
    EgretContender, Journal, PlayError, Progress, Run, StudyError, Supervised, SupervisedToBandit,
    Task, run_all,
};

/// The paper's offline experiment: a larger model learns from the exhaust of each online run.
#[derive(Debug, Clone)]
pub struct OfflineStudy<'a> {
    /// The data.
    pub sets: &'a [SupervisedToBandit],
    /// Whose exhaust, and what is learned from it.
    pub exhausts: Vec<(Explored, Vec<Taught>)>,
    /// Seeds 1, 2, …: those of the online runs.
    pub seeds: u64,
    /// At most so many decisions a run.
    pub decisions: usize,
}

/// How a model is taught from an exhaust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taught {
    /// The direct method: no weights.
    Direct,
    /// Clipped IPS with what the paper logs: g, as if κ were 1; point masses at the cap.
    Ips,
    /// Clipped IPS with the density g/z.
    CorrectIps,
    /// Doubly robust, with the density g/z.
    DoublyRobust,
}

impl Taught {
    /// In a word or two.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct method",
            Self::Ips => "clipped IPS, κ̂ = 1",
            Self::CorrectIps => "clipped IPS, correct weights",
            Self::DoublyRobust => "doubly robust",
        }
    }

    fn method(self) -> Method {
        let ips = Method::ClippedIps {
            cap: 5.0,
            atoms: Atoms::Cap,
        };
        match self {
            Self::Direct => Method::DirectMethod,
            Self::Ips | Self::CorrectIps => ips,
            Self::DoublyRobust => Method::DoublyRobust {
                cap: 5.0,
                folds: 2,
                draws: 1,
            },
        }
    }

    /// The paper's rates: 0.004 with t₀ = 500 without weights, 0.0075 with 750 with them.
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
}

/// What was learned from one exhaust.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfflineRecord {
    /// Which data.
    pub environment: String,
    /// Whose exhaust.
    pub learner: String,
    /// Of the online run, and of the split.
    pub seed: u64,
    /// What each way of teaching came to.
    pub lessons: Vec<LessonRecord>,
}

/// What one way of teaching came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LessonRecord {
    /// Which.
    pub taught: Taught,
    /// The greedy policy's mean loss on the validation tenth, by the labels.
    pub validation: f64,
    /// On the test tenth.
    pub test: f64,
    /// How many epochs until it no longer fell.
    pub epochs: u32,
    /// How long it took; no two runs agree on it.
    pub seconds: f64,
}

impl OfflineRecord {
    /// The test loss of whichever of these did best on validation rows.
    pub fn best_of(&self, taught: &[Taught]) -> Option<f64> {
        let among = self
            .lessons
            .iter()
            .filter(|lesson| taught.contains(&lesson.taught));
        let best = among.min_by(|one, other| one.validation.total_cmp(&other.validation))?;
        Some(best.test)
    }
}

impl OfflineStudy<'_> {
    /// All exhausts, seed by seed. An exhaust is that of the online run with the same seed, played again to the bit.
    pub fn run(
        &self,
        journal: Option<&Journal<OfflineRecord>>,
        progress: &dyn Progress,
    ) -> Result<Vec<OfflineRecord>, StudyError> {
        let contenders: Vec<EgretContender> = self
            .exhausts
            .iter()
            .map(|(explored, _)| explored.contender())
            .collect();
        let mut tasks = Vec::new();
        for seed in 1..=self.seeds {
            for environment in self.sets {
                for ((_, taught), contender) in self.exhausts.iter().zip(&contenders) {
                    let run = Run {
                        contender,
                        environment,
                        seed,
                        decisions: self.decisions,
                    };
                    let data = environment.data();
                    let width = data.width() as f64 + 4.0;
                    let lessons: f64 = taught.iter().map(|taught| taught.cost()).sum();
                    let rows = self.decisions.min(data.rows().len()) as f64;
                    tasks.push(Task {
                        key: format!("{} | {taught:?}", run.key()),
                        label: run.label(),
                        cost: rows * width * width * lessons,
                        work: Box::new(move || learn_from(&run, data, taught)),
                    });
                }
            }
        }
        run_all(&tasks, journal, progress)
    }
}

impl Taught {
    /// Beside the direct method.
    fn cost(self) -> f64 {
        match self {
            Self::DoublyRobust => 4.0,
            _ => 1.0,
        }
    }
}

fn learn_from(
    run: &Run<'_, f64>,
    data: &Supervised,
    taught: &[Taught],
) -> Result<OfflineRecord, PlayError> {
    let mut decided = Vec::new();
    run.play(|turns| {
        let known = turns.iter().filter_map(|turn| {
            let decision = turn.played.decision()?;
            Some((turn.x.clone(), decision.clone(), turn.loss))
        });
        decided.extend(known);
    })?;
    let order = data.shuffled(run.seed, run.decisions);
    let parts = Split::paper().parts(decided.len(), Order::Shuffled(run.seed));
    let mut lessons = Vec::new();
    for &taught in taught {
        let examples: Vec<LoggedExample<Context, f64>> = decided
            .iter()
            .map(|(x, decision, loss)| LoggedExample {
                x: x.clone(),
                action: decision.action,
                propensity: taught.propensity(decision),
                loss: *loss,
            })
            .collect();
        let labels = Labels {
            data,
            order: &order,
        };
        lessons.push(teach(&examples, &parts, &labels, taught, run.seed)?);
    }
    Ok(OfflineRecord {
        environment: data.name().to_owned(),
        learner: run.contender.name().to_owned(),
        seed: run.seed,
        lessons,
    })
}

/// What every action would have lost, which validation and test may know and training may not.
struct Labels<'a> {
    data: &'a Supervised,
    order: &'a [u32],
}

impl Labels<'_> {
    /// The mean of |y − â(x)| over these rows of the exhaust.
    fn greedy_loss(
        &self,
        oracle: &dyn RegressionOracle<Context, f64>,
        rows: &[usize],
    ) -> Result<f64, LearningError> {
        let pieces = oracle
            .monotone_pieces()
            .expect("an argmin network tells its argmin");
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

fn teach(
    examples: &[LoggedExample<Context, f64>],
    parts: &Parts,
    labels: &Labels<'_>,
    taught: Taught,
    seed: u64,
) -> Result<LessonRecord, PlayError> {
    let other = |error: &dyn std::fmt::Display| PlayError::Other(error.to_string());
    let start = std::time::Instant::now();
    let width = labels.data.width();
    let protocol = OfflineProtocol::paper(width, seed).map_err(|error| other(&error))?;
    let mut training = protocol.recipes[0].training.clone();
    training.method = taught.method();
    let recipe = Recipe {
        oracle: OracleSpec::Argmin {
            hidden: Some([width; 2]),
            learning_rate: taught.rate(),
            seed,
        },
        training,
    };
    let blueprint = Blueprint {
        space: Space::Interval {
            low: 0.0,
            high: 1.0,
        },
        context_dim: width,
        embeddings: None,
        oracle: recipe.oracle.clone(),
    };
    let trained = recipe
        .train_with(&blueprint, examples, parts, |lesson, settings| {
            let mut training = Training::new(lesson, settings)?;
            let mut judge = |oracle: &dyn RegressionOracle<Context, f64>| {
                labels.greedy_loss(oracle, &parts.validation)
            };
            while training.epoch_judged(&mut judge)?.is_some() {}
            training.finish()
        })
        .map_err(|error| other(&error))?;
    Ok(LessonRecord {
        taught,
        validation: trained.validation.value.unwrap_or(f64::NAN),
        test: labels
            .greedy_loss(&*trained.oracle, &parts.test)
            .map_err(|error| other(&error))?,
        epochs: trained.best_epoch,
        seconds: start.elapsed().as_secs_f64(),
    })
}
