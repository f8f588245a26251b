//! Runs: a learner plays in the world of one seed.
//!
//! [`Run`] plays one learner on one environment and gives a [`RunRecord`], with a [`LogSummary`] of what the log of the run would
//! hold. [`run_all`] does many [`Task`]s on all threads. A [`Journal`] keeps each result as it comes in, so that an interrupted
//! study goes on where it stopped. [`write_results`] and [`read_results`] keep records in a Parquet file.

mod journal;
mod log_summary;
mod results_file;
mod study;

use std::time::Instant;

use egret::{Action, Objective};
use serde::{Deserialize, Serialize};

pub use self::journal::{Journal, JournalError};
pub use self::log_summary::{LogSummary, Spread};
pub(crate) use self::results_file::write_batch;
pub use self::results_file::{ResultsError, read_results, write_results};
pub use self::study::{Progress, Silent, StudyError, Task, run_all};
use crate::environment::{Environment, World};
use crate::learner::{LearnerFactory, PlayError, Player, Round};
use crate::run::log_summary::LogBuilder;

/// The result of one learner in one world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The name of the environment.
    pub environment: String,
    /// The environment's [fingerprint](Environment::fingerprint): runs are compared only if it is the same.
    #[serde(default)]
    pub fingerprint: String,
    /// The name of the learner.
    pub learner: String,
    /// A hash of the learner's [fingerprint](LearnerFactory::fingerprint), in eight hex digits. Learners with different hashes are
    /// different learners, even if they share a name. Empty in old results.
    #[serde(default)]
    pub settings: String,
    /// The seed of the world and of the player. Runs on one environment with one seed meet the same rounds.
    pub seed: u64,
    /// The number of decisions.
    pub decisions: u64,
    /// What the losses stand for in the user's units.
    #[serde(default)]
    pub objective: Objective,
    /// The mean loss over all decisions, each made before its loss was known (progressive validation).
    pub loss: f64,
    /// The mean regret, if the environment knows it.
    pub regret: Option<f64>,
    /// The loss over time.
    pub curve: Vec<Stretch>,
    /// What the log of the run would hold, if the player's choices have propensities.
    #[serde(alias = "exhaust")]
    pub log: Option<LogSummary>,
    /// The time spent on deciding and learning. All other numbers are the same whenever the run is repeated.
    pub seconds: f64,
}

/// A stretch of a run, from the end of the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// The number of decisions up to its end.
    pub until: u64,
    /// The mean loss in the stretch.
    pub loss: f64,
    /// The share of its actions that were point masses, without a density.
    #[serde(alias = "atoms")]
    pub point_masses: f64,
}

/// One run to be played: a learner, an environment, a seed and a length.
pub struct Run<'a, A> {
    /// Who plays.
    pub learner: &'a dyn LearnerFactory<A>,
    /// The problem.
    pub environment: &'a dyn Environment<A>,
    /// The seed of the world and of the player.
    pub seed: u64,
    /// The number of decisions, if the world has as many rounds.
    pub decisions: usize,
}

/// The version of the results that equal settings give. Every **value-breaking** change adds one, so that a journal never
/// returns what an earlier egret computed.
const VALUES: u32 = 4;

/// The player's distance from its greedy action is measured at every sixteenth decision.
const DISTANCE_EVERY: u64 = 16;

impl<A: Action> Run<'_, A> {
    /// Everything that the result depends on, in one line. Results are saved under it.
    pub fn key(&self) -> String {
        let named = self.named();
        format!(
            "{} | {} | {} decisions | seed {} | values {VALUES}",
            named.as_deref().unwrap_or(self.environment).fingerprint(),
            self.learner.fingerprint(),
            self.decisions,
            self.seed
        )
    }

    /// The environment with features by name, if the learner takes them so and there are names.
    fn named(&self) -> Option<Box<dyn Environment<A> + '_>> {
        let environment = self.environment;
        self.learner
            .by_name()
            .then(|| environment.named(self.seed))?
    }

    /// Whether the learner can play here.
    pub fn check(&self) -> Result<(), PlayError> {
        let named = self.named();
        let environment = named.as_deref().unwrap_or(self.environment);
        self.learner.player(environment, self.seed).map(drop)
    }

    /// A short description for a reader.
    pub fn label(&self) -> String {
        let (environment, learner) = (self.environment.name(), self.learner.name());
        format!("{learner} on {environment}, seed {}", self.seed)
    }

    /// Plays all rounds. `watch` sees each batch with its losses.
    pub fn play(&self, mut watch: impl FnMut(&[Round<'_, A>])) -> Result<RunRecord, PlayError> {
        self.play_watched(|_, rounds| {
            watch(rounds);
            Ok(())
        })
    }

    /// Plays all rounds. `watch` sees each batch with its losses, and the player that decided it, before it learns.
    pub fn play_watched(
        &self,
        mut watch: impl FnMut(&dyn Player<A>, &[Round<'_, A>]) -> Result<(), PlayError>,
    ) -> Result<RunRecord, PlayError> {
        let named = self.named();
        let environment = named.as_deref().unwrap_or(self.environment);
        let world = environment.world(self.seed, self.decisions);
        let mut player = self.learner.player(environment, self.seed)?;
        let feedback = environment.feedback();
        let batch = self.learner.batch().max(feedback.batch).max(1);
        let count = world.rounds();
        let mut totals = Totals::new(count as u64);
        let mut seconds = 0.0;
        let mut start = 0;
        // Rounds whose outcomes the player does not know yet.
        let mut waiting: Vec<Round<'_, A>> = Vec::new();
        while start < count {
            let clock = Instant::now();
            let rounds = decide_all(&*world, &mut *player, start..count.min(start + batch))?;
            seconds += clock.elapsed().as_secs_f64();
            for round in &rounds {
                let (event, action) = (round.event, round.choice.action());
                let distance = if event % DISTANCE_EVERY == 0 {
                    player.distance(round.x, action)?
                } else {
                    None
                };
                totals.add(round, world.regret(event as usize, action), distance);
            }
            watch(&*player, &rounds)?;
            start += rounds.len();
            waiting.extend(rounds);
            let late = waiting.split_off(waiting.len().saturating_sub(feedback.delay));
            let clock = Instant::now();
            if !waiting.is_empty() {
                player.learn(&waiting)?;
            }
            seconds += clock.elapsed().as_secs_f64();
            waiting = late;
        }
        Ok(self.record(totals, seconds))
    }

    fn record(&self, totals: Totals, seconds: f64) -> RunRecord {
        let decisions = totals.decisions;
        let mean = |sum: f64| {
            if decisions == 0 {
                0.0
            } else {
                sum / decisions as f64
            }
        };
        RunRecord {
            environment: self.environment.name().to_owned(),
            fingerprint: self.environment.fingerprint(),
            learner: self.learner.name().to_owned(),
            settings: format!(
                "{:08x}",
                crc32fast::hash(self.learner.fingerprint().as_bytes())
            ),
            seed: self.seed,
            decisions,
            objective: self.environment.objective(),
            loss: mean(totals.losses),
            regret: totals.regrets.map(mean),
            curve: totals.curve,
            log: totals.log.finish(),
            seconds,
        }
    }
}

/// Decides these rounds and looks up their losses.
fn decide_all<'a, A>(
    world: &'a dyn World<A>,
    player: &mut dyn Player<A>,
    rounds: std::ops::Range<usize>,
) -> Result<Vec<Round<'a, A>>, PlayError> {
    rounds
        .map(|round| {
            let (event, x) = (round as u64, world.context(round));
            let choice = player.decide(event, x)?;
            let loss = world.loss(round, choice.action());
            Ok(Round {
                event,
                x,
                choice,
                loss,
            })
        })
        .collect()
}

/// Sums over the rounds of a run so far.
struct Totals {
    decisions: u64,
    losses: f64,
    /// `None` once a round has no known regret.
    regrets: Option<f64>,
    curve: Vec<Stretch>,
    ends: Vec<u64>,
    stretch: StretchTotals,
    log: LogBuilder,
}

/// Sums over the current stretch.
#[derive(Default)]
struct StretchTotals {
    decisions: u64,
    losses: f64,
    point_masses: u64,
}

impl Totals {
    fn new(rounds: u64) -> Self {
        Self {
            decisions: 0,
            losses: 0.0,
            regrets: Some(0.0),
            curve: Vec::new(),
            ends: stretch_ends(rounds),
            stretch: StretchTotals::default(),
            log: LogBuilder::default(),
        }
    }

    fn add<A>(&mut self, round: &Round<'_, A>, regret: Option<f64>, distance: Option<f64>) {
        let loss = round.loss.get();
        self.decisions += 1;
        self.losses += loss;
        self.regrets = self.regrets.and_then(|sum| Some(sum + regret?));
        self.stretch.decisions += 1;
        self.stretch.losses += loss;
        if let Some(decision) = round.choice.decision() {
            self.stretch.point_masses += u64::from(decision.propensity.density().is_none());
            self.log.add(decision, distance);
        }
        if self.ends.get(self.curve.len()) == Some(&self.decisions) {
            let stretch = std::mem::take(&mut self.stretch);
            let decisions = stretch.decisions as f64;
            self.curve.push(Stretch {
                until: self.decisions,
                loss: stretch.losses / decisions,
                point_masses: stretch.point_masses as f64 / decisions,
            });
        }
    }
}

/// 8, 16, 24, …: multiples of 8 that grow by an eighth or more, up to the last round.
fn stretch_ends(rounds: u64) -> Vec<u64> {
    let mut ends = Vec::new();
    let mut end = 8;
    while end < rounds {
        ends.push(end);
        end += (end / 64 * 8).max(8);
    }
    if 0 < rounds {
        ends.push(rounds);
    }
    ends
}
