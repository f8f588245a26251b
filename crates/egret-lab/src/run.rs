use std::time::Instant;

use egret::Action;
use serde::{Deserialize, Serialize};

use crate::{Contender, Environment, ExhaustSummary, PlayError, Turn};

/// What one contender came to in one world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Which problem.
    pub environment: String,
    /// Its [fingerprint](Environment::fingerprint): runs are compared only under the same.
    #[serde(default)]
    pub fingerprint: String,
    /// Which contender.
    pub learner: String,
    /// Its [fingerprint](Contender::fingerprint) in eight hex digits: who has another is another learner, whatever its name.
    /// Empty where it is not known, in results of old.
    #[serde(default)]
    pub settings: String,
    /// Of the world and of the player: runs of one environment with one seed meet the same rounds.
    pub seed: u64,
    /// How many were made.
    pub decisions: u64,
    /// The mean loss over all of them, each decided before its loss was known: progressive validation.
    pub loss: f64,
    /// The mean of what was lost beyond the best, where the truth is known.
    pub regret: Option<f64>,
    /// The same over time.
    pub curve: Vec<Stretch>,
    /// What the log would hold, where the player tells its densities.
    pub exhaust: Option<ExhaustSummary>,
    /// How long deciding and learning took; the only number here that another run would not give again.
    pub seconds: f64,
}

/// A stretch of a run, from where the last one ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// How many decisions were made at its end.
    pub until: u64,
    /// The mean loss in it.
    pub loss: f64,
    /// Which share of its actions were point masses, without a density.
    pub atoms: f64,
}

/// A contender, a problem, a seed, a length.
pub struct Run<'a, A> {
    /// Who plays.
    pub contender: &'a dyn Contender<A>,
    /// Where.
    pub environment: &'a dyn Environment<A>,
    /// All the chance there is.
    pub seed: u64,
    /// How many decisions, if the world has so many.
    pub decisions: usize,
}

/// Which values the same settings give: one more with every **value-breaking** change, so that a journal never hands on what
/// an earlier egret computed.
pub(crate) const VALUES: u32 = 1;

/// How many decisions lie between two looks at how far actions are from the greedy one.
const LOOK: u64 = 16;

impl<A: Action> Run<'_, A> {
    /// What the run's result depends on, in one line: results are saved under it.
    pub fn key(&self) -> String {
        format!(
            "{} | {} | {} decisions | seed {} | values {VALUES}",
            self.environment.fingerprint(),
            self.contender.fingerprint(),
            self.decisions,
            self.seed
        )
    }

    /// Which run it is, for a reader.
    pub fn label(&self) -> String {
        let (environment, contender) = (self.environment.name(), self.contender.name());
        format!("{contender} on {environment}, seed {}", self.seed)
    }

    /// Plays all rounds. `watch` sees each batch once its losses are known.
    pub fn play(&self, mut watch: impl FnMut(&[Turn<'_, A>])) -> Result<RunRecord, PlayError> {
        let world = self.environment.world(self.seed, self.decisions);
        let mut player = self.contender.player(self.environment, self.seed)?;
        let (rounds, batch) = (world.rounds(), self.contender.batch().max(1));
        let mut tally = Tally::new(rounds as u64);
        let mut turns = Vec::with_capacity(batch);
        let (mut losses, mut regrets, mut seconds) = (0.0, Some(0.0), 0.0);
        let mut round = 0;
        while round < rounds {
            turns.clear();
            let start = Instant::now();
            for round in round..rounds.min(round + batch) {
                let x = world.context(round);
                let played = player.decide(round as u64, x)?;
                let loss = world.loss(round, played.action());
                turns.push(Turn {
                    event: round as u64,
                    x,
                    played,
                    loss,
                });
            }
            seconds += start.elapsed().as_secs_f64();
            for turn in &turns {
                losses += turn.loss.get();
                let regret = world.regret(turn.event as usize, turn.played.action());
                regrets = regrets.and_then(|sum| Some(sum + regret?));
                let apart = if turn.event % LOOK == 0 {
                    player.distance(turn.x, turn.played.action())?
                } else {
                    None
                };
                tally.add(turn, apart);
            }
            watch(&turns);
            let start = Instant::now();
            player.learn(&turns)?;
            seconds += start.elapsed().as_secs_f64();
            round += turns.len();
        }
        let mean = |sum: f64| {
            if rounds == 0 {
                0.0
            } else {
                sum / rounds as f64
            }
        };
        Ok(RunRecord {
            environment: self.environment.name().to_owned(),
            fingerprint: self.environment.fingerprint(),
            learner: self.contender.name().to_owned(),
            settings: format!(
                "{:08x}",
                crc32fast::hash(self.contender.fingerprint().as_bytes())
            ),
            seed: self.seed,
            decisions: rounds as u64,
            loss: mean(losses),
            regret: regrets.map(mean),
            curve: tally.curve,
            exhaust: tally.exhaust.finish(),
            seconds,
        })
    }
}

/// What is kept while a run goes on.
struct Tally {
    curve: Vec<Stretch>,
    ends: Vec<u64>,
    exhaust: crate::exhaust_summary::Gathering,
    decisions: u64,
    /// Of the stretch that is under way.
    stretch: (u64, f64, u64),
}

impl Tally {
    fn new(rounds: u64) -> Self {
        Self {
            curve: Vec::new(),
            ends: stretch_ends(rounds),
            exhaust: crate::exhaust_summary::Gathering::default(),
            decisions: 0,
            stretch: (0, 0.0, 0),
        }
    }

    fn add<A>(&mut self, turn: &Turn<'_, A>, apart: Option<f64>) {
        self.decisions += 1;
        let (count, losses, atoms) = &mut self.stretch;
        *count += 1;
        *losses += turn.loss.get();
        if let Some(decision) = turn.played.decision() {
            *atoms += u64::from(decision.propensity.density().is_none());
            self.exhaust.add(decision, apart);
        }
        if self.ends.get(self.curve.len()) == Some(&self.decisions) {
            let over = *count as f64;
            self.curve.push(Stretch {
                until: self.decisions,
                loss: *losses / over,
                atoms: *atoms as f64 / over,
            });
            self.stretch = (0, 0.0, 0);
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
