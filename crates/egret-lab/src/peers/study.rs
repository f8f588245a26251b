use egret_report::Section;
use serde::Serialize;
use serde_json::json;

use crate::comparison::{LearnerComparison, PairedDifference};
use crate::environment::Environment;
use crate::learner::{EgretFactory, LearnerFactory, PaperLearner, Preset};
use crate::peers::{Peer, PeerPython, PeerRecord};
use crate::run::{Journal, Progress, Run, StudyError, Task, run_all};

/// A library whose learners play beside egret's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerFamily {
    /// Vowpal Wabbit's CATS, with sixteen settings.
    Vw,
    /// Vowpal Wabbit's `--cb_explore` over buckets, with twelve settings.
    CbExplore,
    /// coba, with four learners.
    Coba,
}

impl PeerFamily {
    /// The PyPI packages that it needs.
    pub fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Vw | Self::CbExplore => &["vowpalwabbit"],
            Self::Coba => &["coba", "vowpalwabbit"],
        }
    }

    /// The name shown in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vw => "VW CATS",
            Self::CbExplore => "VW cb_explore",
            Self::Coba => "coba",
        }
    }

    /// The learners of the library.
    ///
    /// CATS has K ∈ {8, 16, 32, 64} buckets, bandwidth 1/K or 2/K, `--coin` or `-l 0.5`, and ε = 0.05. `--cb_explore` has 16 or 32
    /// buckets, SquareCB with the scale of γ at 10, as it begins with, or at 100, or ε = 0.05, and products of two features or none. coba has no learner for an interval, so its learners choose among the centres of sixteen buckets: ε-greedy and SquareCB through Vowpal Wabbit,
    /// Corral over both, and an ε-greedy bandit that ignores the context.
    pub fn peers(self) -> Vec<Peer> {
        match self {
            Self::Vw => [8, 16, 32, 64]
                .into_iter()
                .flat_map(|k| [(k, 1), (k, 2)])
                .flat_map(|(k, wide)| {
                    [("--coin", "coin"), ("-l 0.5", "l=0.5")].map(|(options, word)| Peer {
                        name: format!("VW CATS K={k} b={wide}/K {word}"),
                        learner: "cats".to_owned(),
                        settings: json!({
                            "k": k,
                            "bandwidth": f64::from(wide) / f64::from(k),
                            "epsilon": 0.05,
                            "options": options,
                        }),
                    })
                })
                .collect(),
            Self::CbExplore => [16, 32]
                .into_iter()
                .flat_map(|k| {
                    [
                        (k, "--squarecb", "squarecb"),
                        (k, "--squarecb --gamma_scale 100", "squarecb γ=100"),
                        (k, "--epsilon 0.05", "ε=0.05"),
                    ]
                })
                .flat_map(|(k, explores, word)| {
                    [("", ""), (" -q xx", " x·x")].map(|(products, ending)| Peer {
                        name: format!("VW cb_explore K={k} {word}{ending}"),
                        learner: "cb_explore".to_owned(),
                        settings: json!({"k": k, "options": format!("{explores}{products}")}),
                    })
                })
                .collect(),
            Self::Coba => ["epsilon", "squarecb", "corral", "bandit"]
                .map(|kind| Peer {
                    name: format!("coba {kind} K=16"),
                    learner: "coba".to_owned(),
                    settings: json!({"kind": kind, "k": 16, "epsilon": 0.05}),
                })
                .to_vec(),
        }
    }
}

/// Plays egret's learners and those of other libraries on the same rounds, with actions in [0, 1].
pub struct PeerStudy<'a> {
    /// The problems.
    pub environments: &'a [Box<dyn Environment<f64>>],
    /// egret's learners; the others are compared with the first.
    pub learners: &'a [EgretFactory],
    /// The Python in which the peers are installed.
    pub python: Option<&'a PeerPython>,
    /// The libraries.
    pub families: &'a [PeerFamily],
    /// The number of decisions of each run.
    pub decisions: usize,
    /// The number of seeds: 1, 2, …
    pub seeds: u64,
}

/// The result of a learner on a data set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeerRow {
    /// The data set.
    pub dataset: String,
    /// The library; egret's own learners are `egret`.
    pub family: &'static str,
    /// The learner.
    pub learner: String,
    /// The number of runs.
    pub seeds: usize,
    /// The number of decisions of each run.
    pub decisions: u64,
    /// The mean loss.
    pub loss: f64,
    /// The lower end of its bootstrap interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The time for predicting and learning, per decision.
    pub microseconds: f64,
    /// The time for converting a context to the format of the library.
    pub format_microseconds: f64,
    /// Whether no other learner of its library has a lower loss here: the best in hindsight.
    pub best: bool,
}

impl PeerStudy<'_> {
    /// egret's learners; the default takes features by name. With `dense` also the default on the dense contexts that the
    /// others get; with `betting` also the paper's with its own Algorithm 3, which is far slower than the rest.
    pub fn learners(dense: bool, betting: bool) -> Vec<EgretFactory> {
        let named = |name: &str, preset: Preset| EgretFactory {
            name: name.to_owned(),
            ..preset.factory()
        };
        let mut learners = vec![
            named("egret default", Preset::Default),
            named("egret paper κ∞ = 4", Preset::Paper),
            named("egret paper exact", Preset::Exact),
        ];
        if dense {
            learners.push(EgretFactory {
                by_name: false,
                ..named("egret default dense", Preset::Default)
            });
        }
        if betting {
            learners.push(EgretFactory {
                name: "egret paper κ∞ = 4 Algorithm 3".to_owned(),
                ..PaperLearner::betting(4.0).factory()
            });
        }
        learners
    }

    /// Plays all runs that the journal does not have, in parallel.
    pub fn run(
        &self,
        journal: Option<&Journal<PeerRecord>>,
        progress: &dyn Progress,
    ) -> Result<Vec<PeerRecord>, StudyError> {
        let peers: Vec<Peer> = self.families.iter().flat_map(|of| of.peers()).collect();
        let mut tasks = Vec::new();
        for environment in self.environments {
            let environment = &**environment;
            let decisions = self.decisions;
            for seed in 1..=self.seeds {
                for learner in self.learners {
                    let learner: &dyn LearnerFactory<f64> = learner;
                    let run = Run {
                        learner,
                        environment,
                        seed,
                        decisions,
                    };
                    tasks.push(Task {
                        key: run.key(),
                        label: run.label(),
                        cost: decisions as f64 * 0.3,
                        work: Box::new(move || {
                            Ok(PeerRecord {
                                record: run.play(|_| ())?,
                                format_seconds: 0.0,
                            })
                        }),
                    });
                }
                let Some(python) = self.python else { continue };
                for peer in &peers {
                    let slow = if peer.learner == "coba" { 10.0 } else { 1.0 };
                    tasks.push(Task {
                        key: peer.key(environment, seed, decisions),
                        label: format!("{} on {}, seed {seed}", peer.name, environment.name()),
                        cost: decisions as f64 * slow,
                        work: Box::new(move || peer.play(python, environment, seed, decisions)),
                    });
                }
            }
        }
        run_all(&tasks, journal, progress)
    }

    /// A row for each learner on each data set; the best of each library is marked.
    pub fn rows(&self, records: &[PeerRecord], comparison: &LearnerComparison) -> Vec<PeerRow> {
        let mut rows = Vec::new();
        for problem in &comparison.problems {
            let first = rows.len();
            for result in &problem.results {
                let formats: Vec<f64> = records
                    .iter()
                    .filter(|of| of.record.environment == problem.name)
                    .filter(|of| of.record.learner == result.learner)
                    .map(|of| 1e6 * of.format_seconds / of.record.decisions.max(1) as f64)
                    .collect();
                rows.push(PeerRow {
                    dataset: problem.name.clone(),
                    family: family(&result.learner),
                    learner: result.learner.clone(),
                    seeds: result.seeds,
                    decisions: problem.decisions,
                    loss: result.loss,
                    low: result.low,
                    high: result.high,
                    microseconds: result.microseconds,
                    format_microseconds: formats.iter().sum::<f64>() / formats.len().max(1) as f64,
                    best: false,
                });
            }
            mark_best(&mut rows[first..]);
        }
        rows
    }

    /// A table of egret's learners and, of each other library, the best in hindsight.
    pub fn section(&self, rows: &[PeerRow], records: &[PeerRecord], confidence: f64) -> Section {
        let mut header = vec!["data".to_owned(), "learner".to_owned()];
        header.extend(["loss", "interval", "µs", "format µs"].map(str::to_owned));
        header.extend(
            self.families
                .iter()
                .map(|of| format!("against best {}", of.name())),
        );
        let learners = self.learners;
        let shown =
            |row: &&PeerRow| row.best || learners.iter().any(|learner| learner.name == row.learner);
        let cells = rows.iter().filter(shown).map(|row| {
            let mut line = vec![
                row.dataset.clone(),
                row.learner.clone(),
                format!("{:.4}", row.loss),
                format!("[{:.4}, {:.4}]", row.low, row.high),
                format!("{:.1}", row.microseconds),
                format!("{:.1}", row.format_microseconds),
            ];
            line.extend(self.families.iter().map(|of| {
                let best = rows.iter().find(|other| {
                    other.best && other.dataset == row.dataset && other.family == of.name()
                });
                let difference = best.filter(|_| row.family == "egret").and_then(|best| {
                    let ours = losses(records, &row.dataset, &row.learner);
                    let theirs = losses(records, &row.dataset, &best.learner);
                    PairedDifference::new(&ours, &theirs, confidence, 0)
                });
                difference.map_or(String::new(), |difference| {
                    format!("{:+.4} {}", difference.mean, difference.standing().word())
                })
            }));
            line
        });
        Section {
            title: "egret against the best setting of each library".to_owned(),
            before: "Of each other library, only the setting with the lowest loss on the data set is shown: the best in hindsight. A \
                     difference is its loss minus egret's, paired by seed: above 0, egret is better."
                .to_owned(),
            header,
            words: 2,
            rows: cells.collect(),
            after: vec![
                "µs is the time for predicting and learning, per decision. For other libraries it is measured around their calls in \
                 Python; the time for converting contexts to their format (format µs) comes on top."
                    .to_owned(),
            ],
        }
    }
}

/// The losses of a learner on a data set, by seed.
fn losses(records: &[PeerRecord], dataset: &str, learner: &str) -> Vec<f64> {
    let mut runs: Vec<_> = records
        .iter()
        .filter(|of| of.record.environment == dataset && of.record.learner == learner)
        .map(|of| (of.record.seed, of.record.loss))
        .collect();
    runs.sort_by_key(|(seed, _)| *seed);
    runs.into_iter().map(|(_, loss)| loss).collect()
}

fn family(learner: &str) -> &'static str {
    [PeerFamily::Vw, PeerFamily::CbExplore, PeerFamily::Coba]
        .into_iter()
        .map(PeerFamily::name)
        .find(|name| learner.starts_with(name))
        .unwrap_or("egret")
}

fn mark_best(rows: &mut [PeerRow]) {
    for place in 0..rows.len() {
        let (family, loss) = (rows[place].family, rows[place].loss);
        let beaten = rows
            .iter()
            .any(|other| other.family == family && other.loss < loss);
        rows[place].best = !beaten;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{IntervalLossModel, Simulator};
    use crate::run::{RunRecord, Silent};

    #[test]
    fn cats_has_the_sixteen_settings() {
        let peers = PeerFamily::Vw.peers();
        assert_eq!(peers.len(), 16);
        let mut names: Vec<_> = peers.iter().map(|peer| &peer.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 16);
        assert_eq!(peers[3].name, "VW CATS K=8 b=2/K l=0.5");
        assert_eq!(peers[3].settings["bandwidth"], 0.25);
        assert!(names.iter().all(|name| family(name) == "VW CATS"));
        let explore = PeerFamily::CbExplore.peers();
        assert_eq!(explore.len(), 12);
        assert_eq!(explore[11].name, "VW cb_explore K=32 ε=0.05 x·x");
        assert_eq!(explore[11].settings["options"], "--epsilon 0.05 -q xx");
        assert!((explore.iter()).all(|peer| family(&peer.name) == "VW cb_explore"));
        let coba = PeerFamily::Coba.peers();
        assert!(coba.iter().all(|peer| family(&peer.name) == "coba"));
    }

    #[test]
    fn egret_plays_without_any_peer_and_the_best_of_each_family_is_marked() {
        let environments: [Box<dyn Environment<f64>>; 1] =
            [Box::new(Simulator::new(IntervalLossModel))];
        let learners = PeerStudy::learners(false, false);
        let study = PeerStudy {
            environments: &environments,
            learners: &learners,
            python: None,
            families: &[PeerFamily::Vw],
            decisions: 64,
            seeds: 2,
        };
        let mut records = study.run(None, &Silent).expect("it runs");
        assert_eq!(records.len(), 2 * learners.len());
        for (name, loss) in [("VW CATS a", 0.01), ("VW CATS b", 0.02)] {
            for seed in 1..=2 {
                let record = RunRecord {
                    learner: name.to_owned(),
                    loss,
                    seed,
                    ..records[0].record.clone()
                };
                let format_seconds = 64e-6;
                records.push(PeerRecord {
                    record,
                    format_seconds,
                });
            }
        }
        let runs: Vec<RunRecord> = records.iter().map(|of| of.record.clone()).collect();
        let comparison = LearnerComparison::new(&runs, None, 0.9).expect("compared");
        let rows = study.rows(&records, &comparison);
        let best: Vec<_> = rows.iter().filter(|row| row.best).collect();
        assert_eq!(best.len(), 2);
        assert_eq!(best[1].learner, "VW CATS a");
        assert!((best[1].format_microseconds - 1.0).abs() < 1e-9);
        let text = study.section(&rows, &records, 0.9).text();
        assert!(
            text.contains("loss") && !text.contains("VW CATS b"),
            "{text}"
        );
    }
}
