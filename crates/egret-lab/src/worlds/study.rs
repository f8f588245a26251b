use egret::Action;
use serde::{Deserialize, Serialize};

use crate::comparison::{PairedDifference, bootstrap_interval};
use crate::environment::Environment;
use crate::learner::{EffectiveEvents, PlayError};
use crate::peers::{Peer, PeerAction, PeerFactory, PeerPython};
use crate::run::{Journal, Progress, Run, RunRecord, StudyError, Task, run_all};
use crate::worlds::any_world::for_world;
use crate::worlds::{AnyWorld, ChosenPeer, KnownWorld, WorldLearner, WorldPeers};

/// Learners play in noisy worlds, paired by seed: the seeds 1, 2, … of a world give every learner the same rounds.
pub struct WorldStudy {
    /// The worlds.
    pub worlds: Vec<AnyWorld>,
    /// Who plays.
    pub learners: Vec<WorldLearner>,
    /// Learners of other libraries.
    pub peers: Option<WorldPeers>,
    /// The number of seeds.
    pub seeds: u64,
    /// The number of decisions of each run on an interval.
    pub decisions: usize,
    /// The number of decisions of each run elsewhere.
    pub decisions_beyond: usize,
}

/// The result of one run, with its truth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorldRecord {
    /// The run. Its losses are those observed.
    pub record: RunRecord,
    /// True means over the last quarter of the decisions.
    pub late: Block,
    /// True means over blocks of 5,000 decisions, or of a quarter of the run if that is less.
    pub blocks: Vec<Block>,
    /// How many of 1,000 decisions at random would say as much about the uniform policy as 1,000 of the last 5,000; `None` if
    /// the learner does not know its densities.
    pub effective_per_1000: Option<f64>,
}

/// True means over a block of decisions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The number of decisions up to its end.
    pub until: usize,
    /// The mean of f*(x, a) over the actions played.
    pub loss: f64,
    /// The mean of the least f*(x, ·).
    pub best: f64,
    /// The mean of f*(x, ·) over all actions.
    pub uniform: f64,
}

impl Block {
    /// The share of what is possible, in percent: 0 is uniform play, 100 the best action in each round.
    pub fn share(&self) -> f64 {
        100.0 * (self.uniform - self.loss) / (self.uniform - self.best)
    }

    fn mean(rounds: &[Truth], until: usize) -> Self {
        let mean = |of: fn(&Truth) -> f64| rounds.iter().map(of).sum::<f64>() / rounds.len() as f64;
        Self {
            until,
            loss: mean(|round| round.loss),
            best: mean(|round| round.best),
            uniform: mean(|round| round.uniform),
        }
    }
}

/// Mean losses of one round: of the action played, of the best, of all.
struct Truth {
    loss: f64,
    best: f64,
    uniform: f64,
}

/// The longest block.
const BLOCK: usize = 5_000;

/// The result of a learner in a world: means over seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorldRow {
    /// The world.
    pub world: String,
    /// The learner; `default` is egret's.
    pub learner: String,
    /// The setting of a learner of another library, chosen on other seeds.
    pub setting: Option<String>,
    /// The number of runs.
    pub seeds: usize,
    /// The number of decisions of each run.
    pub decisions: u64,
    /// The share of what is possible over the last quarter, from 0 (uniform play) to 100.
    pub share: f64,
    /// The lower end of its bootstrap interval over seeds.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The share of `default` minus this share, paired by seed; `None` without it, and for `default` itself.
    pub ahead: Option<PairedDifference>,
    /// How far the share of a whole block is below that of an earlier one, at most, in means over seeds.
    pub largest_fall: f64,
    /// The mean loss over the last quarter.
    pub late: f64,
    /// The mean loss of the best actions there.
    pub best: f64,
    /// The mean loss of the uniform policy there.
    pub uniform: f64,
    /// Effective events for the uniform policy, in 1,000 of the last 5,000 decisions.
    pub effective_per_1000: Option<f64>,
    /// The time for deciding and learning, per decision.
    pub microseconds: f64,
    /// The share of what is possible in each block: (decisions up to its end, share).
    pub blocks: Vec<(usize, f64)>,
    /// The mean loss in each block.
    pub block_losses: Vec<(usize, f64)>,
}

impl WorldStudy {
    /// The coverage of every interval.
    pub const CONFIDENCE: f64 = 0.9;

    /// Plays all settings of all peers on [seeds of their own](WorldPeers::SEEDS), as far as the journal does not have them, and
    /// chooses for each world and family the setting with the largest share over the last quarter.
    pub fn choose(
        &self,
        journal: Option<&Journal<WorldRecord>>,
        progress: &dyn Progress,
    ) -> Result<Vec<ChosenPeer>, StudyError> {
        let Some(peers) = &self.peers else {
            return Ok(Vec::new());
        };
        let mut tasks = Vec::new();
        for world in &self.worlds {
            for peer in peers.of(world).flat_map(|family| &family.peers) {
                for seed in WorldPeers::SEEDS {
                    tasks.push(self.peer_task(world, peer, &peers.python, seed));
                }
            }
        }
        let records = run_all(&tasks, journal, progress)?;
        let mut shares = records.chunks(WorldPeers::SEEDS.len()).map(mean_share);
        let mut chosen = Vec::new();
        for world in &self.worlds {
            for family in peers.of(world) {
                let best = (family.peers.iter().zip(shares.by_ref()))
                    .reduce(|best, other| if best.1 < other.1 { other } else { best });
                chosen.extend(best.map(|(peer, share)| ChosenPeer {
                    world: world.name().to_owned(),
                    learner: family.name.clone(),
                    peer: peer.clone(),
                    share,
                }));
            }
        }
        Ok(chosen)
    }

    /// Plays all runs that the journal does not have, in parallel: learners, and the peers that were [chosen](Self::choose).
    pub fn run(
        &self,
        chosen: &[ChosenPeer],
        journal: Option<&Journal<WorldRecord>>,
        progress: &dyn Progress,
    ) -> Result<Vec<WorldRecord>, StudyError> {
        let mut tasks = Vec::new();
        for any in &self.worlds {
            for seed in 1..=self.seeds {
                for learner in self.learners.iter().filter(|of| of.plays_in(any)) {
                    let decisions = self.decisions_in(any);
                    let cost = decisions as f64 * learner.cost(any);
                    tasks.push(for_world!(any, world => {
                        let environment: &dyn Environment<_> = world;
                        let run = Run { learner, environment, seed, decisions };
                        Task {
                            key: run.key(),
                            label: run.label(),
                            cost,
                            work: Box::new(move || play(world, &run)),
                        }
                    }));
                }
                let Some(peers) = &self.peers else { continue };
                for of in chosen.iter().filter(|of| of.world == any.name()) {
                    tasks.push(self.peer_task(any, &of.peer, &peers.python, seed));
                }
            }
        }
        run_all(&tasks, journal, progress)
    }

    fn peer_task<'a>(
        &self,
        world: &'a AnyWorld,
        peer: &'a Peer,
        python: &'a PeerPython,
        seed: u64,
    ) -> Task<'a, WorldRecord> {
        let decisions = self.decisions_in(world);
        Task {
            key: for_world!(world, world => peer.key(world as &dyn Environment<_>, seed, decisions)),
            label: format!("{} on {}, seed {seed}", peer.name, world.name()),
            cost: decisions as f64 * PEER_COST,
            work: Box::new(
                move || for_world!(world, world => play_peer(world, (peer, python), seed, decisions)),
            ),
        }
    }

    fn decisions_in(&self, world: &AnyWorld) -> usize {
        match world {
            AnyWorld::Interval(_) => self.decisions,
            _ => self.decisions_beyond,
        }
    }

    /// Who plays: a name, and for a peer the setting that was chosen for this world.
    fn players<'a>(
        &'a self,
        world: &'a AnyWorld,
        chosen: &'a [ChosenPeer],
    ) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        let playing = self.learners.iter().filter(|of| of.plays_in(world));
        let learners = playing.map(|learner| (learner.name(), None));
        let peers = chosen.iter().filter(|of| of.world == world.name());
        learners.chain(peers.map(|of| (of.learner.as_str(), Some(of.peer.name.as_str()))))
    }

    /// A row for each learner in each world, in the order of the study.
    pub fn rows(&self, chosen: &[ChosenPeer], records: &[WorldRecord]) -> Vec<WorldRow> {
        let mut rows = Vec::new();
        for world in &self.worlds {
            let runs_of = |learner: &str| -> Vec<&WorldRecord> {
                (records.iter())
                    .filter(|run| run.record.environment == world.name())
                    .filter(|run| run.record.learner == learner)
                    .collect()
            };
            let default = runs_of(DEFAULT);
            for (learner, setting) in self.players(world, chosen) {
                let runs = runs_of(setting.unwrap_or(learner));
                let row = WorldRow::new(world.name(), learner, &runs).map(|row| WorldRow {
                    setting: setting.map(str::to_owned),
                    ahead: (learner != DEFAULT)
                        .then(|| ahead(&default, &runs))
                        .flatten(),
                    ..row
                });
                rows.extend(row);
            }
        }
        rows
    }
}

/// The name of egret's default learner.
pub(super) const DEFAULT: &str = "default";

/// The time of a peer's decision as a multiple of the naive learner's, to estimate the time left.
const PEER_COST: f64 = 20.0;

fn mean_share(runs: &[WorldRecord]) -> f64 {
    runs.iter().map(|run| run.late.share()).sum::<f64>() / runs.len() as f64
}

/// How much larger the first one's shares are, under the same seeds.
fn ahead(ours: &[&WorldRecord], theirs: &[&WorldRecord]) -> Option<PairedDifference> {
    let seeds =
        |runs: &[&WorldRecord]| -> Vec<u64> { runs.iter().map(|of| of.record.seed).collect() };
    if seeds(ours) != seeds(theirs) {
        return None;
    }
    let shares =
        |runs: &[&WorldRecord]| -> Vec<f64> { runs.iter().map(|of| of.late.share()).collect() };
    PairedDifference::new(&shares(theirs), &shares(ours), WorldStudy::CONFIDENCE, 0)
}

/// How far the share of a block is below that of an earlier one, at most. A last block that is shorter than the others has more
/// noise, and does not count.
fn largest_fall(blocks: &[(usize, f64)]) -> f64 {
    let size = blocks.first().map_or(1, |(until, _)| *until);
    let (mut highest, mut fall) = (f64::NEG_INFINITY, 0.0_f64);
    for (place, &(until, share)) in blocks.iter().enumerate() {
        if until == (place + 1) * size {
            fall = fall.max(highest - share);
            highest = highest.max(share);
        }
    }
    fall
}

impl WorldRow {
    /// `None` without a run.
    fn new(world: &str, learner: &str, runs: &[&WorldRecord]) -> Option<Self> {
        let first = runs.first()?;
        let mean = |of: &dyn Fn(&WorldRecord) -> f64| {
            runs.iter().map(|run| of(run)).sum::<f64>() / runs.len() as f64
        };
        let shares: Vec<f64> = runs.iter().map(|run| run.late.share()).collect();
        let (low, high) = bootstrap_interval(&shares, WorldStudy::CONFIDENCE, 0);
        let effective: Option<Vec<f64>> = runs.iter().map(|run| run.effective_per_1000).collect();
        let blocks = |of: fn(&Block) -> f64| -> Vec<(usize, f64)> {
            let means = (0..first.blocks.len()).map(|place| {
                (
                    first.blocks[place].until,
                    mean(&|run| of(&run.blocks[place])),
                )
            });
            means.collect()
        };
        let block_shares = blocks(Block::share);
        Some(Self {
            world: world.to_owned(),
            learner: learner.to_owned(),
            setting: None,
            seeds: runs.len(),
            decisions: first.record.decisions,
            share: mean(&|run| run.late.share()),
            low,
            high,
            ahead: None,
            largest_fall: largest_fall(&block_shares),
            late: mean(&|run| run.late.loss),
            best: mean(&|run| run.late.best),
            uniform: mean(&|run| run.late.uniform),
            effective_per_1000: effective
                .map(|values| values.iter().sum::<f64>() / values.len() as f64),
            microseconds: mean(&|run| {
                1e6 * run.record.seconds / run.record.decisions.max(1) as f64
            }),
            blocks: block_shares,
            block_losses: blocks(|block| block.loss),
        })
    }
}

/// Plays a run of a peer, timed by its adapter.
fn play_peer<A: PeerAction>(
    world: &dyn KnownWorld<A>,
    (peer, python): (&Peer, &PeerPython),
    seed: u64,
    decisions: usize,
) -> Result<WorldRecord, PlayError> {
    let factory = PeerFactory::new(peer, python, decisions);
    let run = Run {
        learner: &factory,
        environment: world,
        seed,
        decisions,
    };
    let mut played = play(world, &run)?;
    played.record.seconds = factory.times()?.seconds();
    Ok(played)
}

/// Plays a run and measures it by what is true.
fn play<A: Action>(world: &dyn KnownWorld<A>, run: &Run<'_, A>) -> Result<WorldRecord, PlayError> {
    let rounds = world.truth(run.seed, run.decisions);
    let decisions = rounds.rounds();
    let mut truths = Vec::with_capacity(decisions);
    let (mut effective, mut known) = (EffectiveEvents::default(), true);
    let record = run.play_watched(|player, played| {
        for round in played {
            let event = round.event as usize;
            truths.push(Truth {
                loss: rounds.mean_loss(event, round.choice.action()),
                best: rounds.best(event),
                uniform: rounds.uniform(event),
            });
            if decisions <= event + EffectiveEvents::LAST && known {
                match player.mean_inverse_density(round)? {
                    Some(inverse) => effective.add(inverse),
                    None => known = false,
                }
            }
        }
        Ok(())
    })?;
    let size = (decisions / 4).clamp(1, BLOCK);
    let blocks = truths.chunks(size).enumerate();
    Ok(WorldRecord {
        record,
        late: Block::mean(&truths[decisions - (decisions / 4).max(1)..], decisions),
        blocks: blocks
            .map(|(place, block)| Block::mean(block, place * size + block.len()))
            .collect(),
        effective_per_1000: effective.per_1000().filter(|_| known),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::run::Silent;
    use crate::worlds::{
        BoxWorld, BudgetLoss, DirectionLoss, ExamplesLoss, ItemWorld, ListWorld, MixedKnobsLoss,
        NoisyWorld, PeerWorlds, SpaceWorld, WorldFamily,
    };

    fn world(name: &str) -> AnyWorld {
        let number = || Some(AnyWorld::Interval(Box::new(NoisyWorld::named(name)?)));
        let vector = || Some(AnyWorld::Vectors(Box::new(BoxWorld::named(name)?)));
        let item = || Some(AnyWorld::Items(Box::new(ItemWorld::named(name)?)));
        let listed = || Some(AnyWorld::Items(Box::new(ListWorld::named(name)?)));
        let with_features = item().or_else(listed);
        number().or_else(vector).or(with_features).expect("listed")
    }

    fn study(worlds: &[&str], learners: &[&str], decisions: usize) -> WorldStudy {
        WorldStudy {
            worlds: worlds.iter().map(|name| world(name)).collect(),
            learners: (learners.iter())
                .map(|name| WorldLearner::named(name).expect("listed"))
                .collect(),
            peers: None,
            seeds: 2,
            decisions,
            decisions_beyond: decisions,
        }
    }

    #[test]
    fn naive_learns_and_uniform_does_not() {
        let study = study(&["price", "distance", "late"], &["naive", "uniform"], 8_000);
        let rows = study.rows(&[], &study.run(&[], None, &Silent).expect("played"));
        for pair in rows.chunks(2) {
            let (naive, uniform) = (&pair[0], &pair[1]);
            // Measured: 77 to 88.
            assert!(70.0 < naive.share && naive.share < 95.0, "{naive:?}");
            // The mean of 4,000 losses with a spread below ¼ is within 0.02 of the truth: five standard errors.
            assert!((uniform.late - uniform.uniform).abs() < 0.02, "{uniform:?}");
            assert!(uniform.share.abs() < 10.0, "{uniform:?}");
            assert_eq!(uniform.effective_per_1000, Some(1_000.0));
            let effective = naive.effective_per_1000.expect("known");
            assert!((effective - 53.32).abs() < 0.01, "{effective}");
            assert_eq!((naive.best, naive.uniform), (uniform.best, uniform.uniform));
        }
    }

    /// Two networks alone, without regressions around actions, were at 12, 34, 42 and 80; without a share at random the last
    /// left 1 effective event in 1,000.
    #[test]
    fn the_default_learns_from_noise_and_leaves_a_log_worth_keeping() {
        for (world, least) in [
            ("click_rare", 30.0),
            ("small_range", 60.0),
            ("batches", 75.0),
            ("distance", 78.0),
        ] {
            let study = study(&[world], &["default"], 10_000);
            let rows = study.rows(&[], &study.run(&[], None, &Silent).expect("played"));
            assert!(least < rows[0].share, "{:?}", rows[0]);
            let effective = rows[0].effective_per_1000.expect("known");
            assert!((20.0..100.0).contains(&effective), "{effective}");
            // Never falling, but for noise.
            assert!(
                rows[0].blocks.is_sorted_by(|a, b| a.1 < b.1 + 5.0),
                "{:?}",
                rows[0]
            );
        }
    }

    /// Least squares that remember every event alike were at −6, 63 and 55; those that forget and whose constant does not follow the
    /// losses are at 76 in the tide. The naive learner on the last 2,000 events is behind everywhere.
    #[test]
    fn the_default_follows_knobs_that_move_and_knobs_that_stay_while_losses_rise_and_fall() {
        for (world, least) in [("shift_6", 93.0), ("drift_6", 72.0), ("tide_6", 88.0)] {
            let study = study(&[world], &["default", "window"], 8_000);
            let rows = study.rows(&[], &study.run(&[], None, &Silent).expect("played"));
            let [default, window] = &rows[..] else {
                panic!("{rows:?}")
            };
            assert!(least < default.share, "{default:?}");
            assert!(window.share < default.share, "{window:?}");
            assert!(default.effective_per_1000.is_some_and(|of| 20.0 <= of));
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_bits_and_blocks_make_up_the_run() {
        let study = study(&["click", "batches"], &["default", "naive"], 1_200);
        let play = || {
            let mut records = study.run(&[], None, &Silent).expect("played");
            records.iter_mut().for_each(|run| run.record.seconds = 0.0);
            records
        };
        let records = play();
        assert_eq!(records, play());
        for run in &records {
            assert_eq!(run.blocks.len(), 4);
            assert_eq!(run.blocks.last(), Some(&run.late));
            let regret: f64 = run.blocks.iter().map(|of| of.loss - of.best).sum();
            let regret = regret / 4.0;
            assert!((run.record.regret.expect("known") - regret).abs() < 1e-12);
            assert!(run.effective_per_1000.is_some());
        }
    }

    #[test]
    fn outcomes_that_come_late_are_learned_late() {
        // Nothing is learned in the first 500 decisions of either world, so that the naive learner plays its first bucket.
        let study = study(&["late", "batches", "distance"], &["naive"], 500);
        let records = study.run(&[], None, &Silent).expect("played");
        let losses: Vec<f64> = records.iter().map(|run| run.record.loss).collect();
        assert_eq!(losses[0..2], losses[2..4]);
        assert_ne!(losses[0..2], losses[4..6]);
        let longer = WorldStudy {
            decisions: 4_000,
            ..study
        };
        let rows = longer.rows(&[], &longer.run(&[], None, &Silent).expect("played"));
        assert!(rows.iter().all(|row| 60.0 < row.share), "{rows:?}");
    }

    /// Peers that need no package: uniform play from `low` to `high`.
    fn peers(ranges: &[(f64, f64)]) -> WorldPeers {
        let settings = ranges.iter().map(|(low, high)| Peer {
            name: format!("from {low} to {high}"),
            learner: "uniform".to_owned(),
            settings: json!({"low": low, "high": high}),
        });
        WorldPeers {
            python: PeerPython::new(Path::new("python3"), &[]).expect("python3 is there"),
            families: vec![WorldFamily {
                name: "some".to_owned(),
                worlds: PeerWorlds::Intervals,
                peers: settings.collect(),
            }],
        }
    }

    #[test]
    fn settings_are_chosen_in_each_world_on_other_seeds() {
        // Half of what is possible in `distance` is had in the middle; customers of `price` pay a third of the highest price.
        let ranges = [(0.0, 1.0), (0.45, 0.55), (0.1, 0.5)];
        let study = WorldStudy {
            peers: Some(peers(&ranges)),
            ..study(&["price", "distance"], &["uniform"], 400)
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal.jsonl");
        let journal = Journal::open(&path).expect("made");
        let chosen = study.choose(Some(&journal), &Silent).expect("played");
        let found: Vec<_> = (chosen.iter())
            .map(|of| {
                (
                    of.world.as_str(),
                    of.learner.as_str(),
                    of.peer.name.as_str(),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("price", "some", "from 0.1 to 0.5"),
                ("distance", "some", "from 0.45 to 0.55")
            ]
        );
        // None of the reported seeds was looked at, and each setting met all seeds of the choice.
        let lines = std::fs::read_to_string(&path).expect("there");
        assert_eq!(
            lines.lines().count(),
            2 * ranges.len() * WorldPeers::SEEDS.len()
        );
        for seed in WorldPeers::SEEDS {
            let with = lines
                .lines()
                .filter(|line| line.contains(&format!("| seed {seed}\"")));
            assert_eq!(with.count(), 2 * ranges.len());
        }
        let records = study.run(&chosen, Some(&journal), &Silent).expect("played");
        let rows = study.rows(&chosen, &records);
        let names: Vec<_> = (rows.iter())
            .map(|row| (row.learner.as_str(), row.setting.as_deref()))
            .collect();
        assert_eq!(names[0], ("uniform", None));
        assert_eq!(names[3], ("some", Some("from 0.45 to 0.55")));
        // Prices come in the world's units: uniform play on [9.5, 27.5] of [5, 50] earns much more than on all.
        assert!(30.0 < rows[1].share && 30.0 < rows[3].share, "{rows:?}");
        // Most actions are never played.
        assert_eq!(rows[1].effective_per_1000, Some(0.0));
    }

    #[test]
    fn peers_learn_late_and_in_batches_and_tell_their_times() {
        let study = WorldStudy {
            peers: Some(peers(&[(0.0, 1.0)])),
            ..study(&["late", "batches", "distance"], &[], 700)
        };
        let chosen = study.choose(None, &Silent).expect("played");
        let records = study.run(&chosen, None, &Silent).expect("played");
        assert_eq!(records.len(), 6);
        for run in &records {
            assert_eq!(run.record.decisions, 700);
            assert!(0.0 < run.record.seconds);
            assert_eq!(run.effective_per_1000, Some(1_000.0));
            // Uniform play learns nothing, so that the time of losses makes no difference.
            assert_eq!(
                run.late.loss,
                records[(run.record.seed - 1) as usize].late.loss
            );
        }
    }

    #[test]
    fn knobs_and_items_are_learned_beyond_uniform_play() {
        let study = study(
            &["bowl_6", "basins_2", "catalogue_2000"],
            &["default", "naive", "thompson", "uniform"],
            2_000,
        );
        let rows = study.rows(&[], &study.run(&[], None, &Silent).expect("played"));
        for of in rows.chunks(4) {
            let shares: Vec<f64> = of.iter().map(|row| row.share).collect();
            assert!(
                shares[0] > 50.0 && shares[1..3].iter().all(|share| *share > 20.0),
                "{of:?}"
            );
            assert!(shares[3].abs() < 10.0, "{of:?}");
            let effective = of[0].effective_per_1000.expect("known");
            assert!((20.0..100.0).contains(&effective), "{effective}");
            assert_eq!(of[3].effective_per_1000, Some(1_000.0));
            assert_eq!(
                (of[1].effective_per_1000, of[2].effective_per_1000),
                (None, None)
            );
        }
    }

    /// What uniform play and 2,000 decisions of the default are on each of the other spaces.
    #[test]
    fn shares_directions_mixed_knobs_and_sets_are_learned_beyond_uniform_play() {
        let study = WorldStudy {
            worlds: vec![
                AnyWorld::Vectors(Box::new(SpaceWorld(
                    DirectionLoss::named("sphere_8").expect("listed"),
                ))),
                AnyWorld::Vectors(Box::new(SpaceWorld(
                    BudgetLoss::named("simplex_6").expect("listed"),
                ))),
                AnyWorld::Mixed(Box::new(SpaceWorld(MixedKnobsLoss))),
                AnyWorld::Sets(Box::new(SpaceWorld(
                    ExamplesLoss::named("sets_300").expect("listed"),
                ))),
            ],
            seeds: 1,
            ..study(&[], &["default", "naive", "thompson", "uniform"], 2_000)
        };
        let rows = study.rows(&[], &study.run(&[], None, &Silent).expect("played"));
        assert_eq!(rows.len(), 16);
        for of in rows.chunks(4) {
            let shares: Vec<f64> = of.iter().map(|row| row.share).collect();
            assert!(
                shares[0] > 50.0 && shares[1..3].iter().all(|share| *share > 20.0),
                "{of:?}"
            );
            assert!(shares[3].abs() < 10.0, "{of:?}");
            let effective = of[0].effective_per_1000.expect("known");
            assert!((20.0..100.0).contains(&effective), "{effective}");
        }
    }

    #[test]
    fn peers_play_on_boxes_and_among_items() {
        let family = |worlds| WorldFamily {
            worlds,
            ..peers(&[(0.0, 1.0)]).families.remove(0)
        };
        let kinds = [
            PeerWorlds::FreeBoxes,
            PeerWorlds::Catalogues,
            PeerWorlds::Lists,
        ];
        let study = WorldStudy {
            peers: Some(WorldPeers {
                families: kinds.map(family).into(),
                ..peers(&[])
            }),
            ..study(
                &["tuning_6", "catalogue_2000", "list_10", "bowl_6"],
                &[],
                2_000,
            )
        };
        let chosen = study.choose(None, &Silent).expect("played");
        let worlds: Vec<&str> = chosen.iter().map(|of| of.world.as_str()).collect();
        // A box with a context is not for those that know none.
        assert_eq!(worlds, ["tuning_6", "catalogue_2000", "list_10"]);
        for run in study.run(&chosen, None, &Silent).expect("played") {
            assert!(run.late.share().abs() < 10.0, "{run:?}");
            assert_eq!(run.effective_per_1000, Some(1_000.0));
        }
    }

    #[test]
    fn the_default_is_compared_by_seed() {
        let study = study(&["distance"], &["naive", "uniform"], 800);
        let records: Vec<WorldRecord> =
            (study.run(&[], None, &Silent).expect("played").into_iter())
                .map(|mut run| {
                    // A default that is the naive learner, with 4 and 8 points less.
                    if run.record.learner == "naive" {
                        let less = 4.0 * run.record.seed as f64 / 100.0;
                        run.record.learner = "default".to_owned();
                        run.late.loss += less * (run.late.uniform - run.late.best);
                    }
                    run
                })
                .chain(study.run(&[], None, &Silent).expect("played"))
                .collect();
        let study = WorldStudy {
            learners: ["default", "naive"]
                .map(|name| WorldLearner::named(name).expect("listed"))
                .to_vec(),
            ..study
        };
        let rows = study.rows(&[], &records);
        assert_eq!(rows[0].ahead, None);
        let ahead = rows[1].ahead.expect("two pairs");
        assert!((ahead.mean + 6.0).abs() < 1e-9, "{ahead:?}");
        assert!((ahead.low + 8.0).abs() < 1e-9 && (ahead.high + 4.0).abs() < 1e-9);
        assert!((rows[0].share - rows[1].share - ahead.mean).abs() < 1e-9);
    }

    #[test]
    fn the_largest_fall_is_from_any_earlier_block() {
        let fall = |shares: &[f64]| {
            let blocks = shares.iter().enumerate();
            let blocks: Vec<_> = blocks
                .map(|(place, share)| (10 * (place + 1), *share))
                .collect();
            largest_fall(&blocks)
        };
        assert_eq!(fall(&[10.0, 20.0, 30.0]), 0.0);
        assert_eq!(fall(&[40.0, 38.0, 39.0, 35.0, 50.0]), 5.0);
        assert_eq!(fall(&[40.0]), 0.0);
        // A short last block is noise.
        assert_eq!(largest_fall(&[(10, 40.0), (20, 39.0), (23, 0.0)]), 1.0);
    }
}
