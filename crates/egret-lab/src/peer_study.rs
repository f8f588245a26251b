use egret_report::Section;
use serde::Serialize;
use serde_json::json;

use crate::paper::Explored;
use crate::{
    Comparison, Contender, EgretContender, Environment, Journal, PairedDifference, Peer,
    PeerPython, PeerRecord, Preset, Progress, Run, Standing, StudyError, Task, run_all,
};

/// Libraries whose learners play beside egret's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerFamily {
    /// Vowpal Wabbit's CATS, at sixteen settings.
    Vw,
    /// coba, at four.
    Coba,
}

impl PeerFamily {
    /// The packages of PyPI that it needs.
    pub fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Vw => &["vowpalwabbit"],
            Self::Coba => &["coba", "vowpalwabbit"],
        }
    }

    /// What tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vw => "VW CATS",
            Self::Coba => "coba",
        }
    }

    /// Its learners.
    ///
    /// CATS: K ∈ {8, 16, 32, 64} buckets, bandwidth 1/K or 2/K, `--coin` or `-l 0.5`, ε = 0.05. coba has no learner for an
    /// interval; its own are given the middles of sixteen buckets: ε-greedy and SquareCB through Vowpal Wabbit, Corral over both,
    /// and an ε-greedy bandit that looks at no context.
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

/// egret's learners and those of other libraries on the same shuffles of data with actions in [0, 1].
pub struct PeerStudy<'a> {
    /// What is played on.
    pub environments: &'a [Box<dyn Environment<f64>>],
    /// egret's own; the first is what the others are compared with.
    pub learners: &'a [EgretContender],
    /// Where the peers are installed.
    pub python: Option<&'a PeerPython>,
    /// The peers.
    pub families: &'a [PeerFamily],
    /// Of each run.
    pub decisions: usize,
    /// From 1 on.
    pub seeds: u64,
}

/// What a learner came to on a data set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeerRow {
    /// Which data set.
    pub dataset: String,
    /// egret, or which of the other libraries.
    pub family: &'static str,
    /// Which learner.
    pub learner: String,
    /// How many runs.
    pub seeds: usize,
    /// How many decisions each made.
    pub decisions: u64,
    /// The mean loss.
    pub loss: f64,
    /// The lower end of its bootstrap interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// To predict and to learn, for each decision.
    pub microseconds: f64,
    /// To bring a context into the library's format.
    pub format_microseconds: f64,
    /// Whether no other of its family lost less here: the best in hindsight.
    pub best: bool,
}

impl PeerStudy<'_> {
    /// egret's learners that play along; by request also the paper's with its own Algorithm 3, far slower than the rest.
    pub fn learners(betting: bool) -> Vec<EgretContender> {
        let named = |name: &str, preset: Preset| EgretContender {
            name: name.to_owned(),
            ..preset.contender()
        };
        let mut learners = vec![
            named("egret default", Preset::Default),
            named("egret paper κ∞ = 4", Preset::Paper),
            named("egret paper exact", Preset::Exact),
        ];
        if betting {
            learners.push(EgretContender {
                name: "egret paper κ∞ = 4 Algorithm 3".to_owned(),
                ..Explored::betting(4.0).contender()
            });
        }
        learners
    }

    /// Plays everything that the journal does not know, many processes at a time.
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
                    let contender: &dyn Contender<f64> = learner;
                    let run = Run {
                        contender,
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

    /// Each learner on each data set, the best of each family marked.
    pub fn rows(&self, records: &[PeerRecord], comparison: &Comparison) -> Vec<PeerRow> {
        let mut rows = Vec::new();
        for problem in &comparison.problems {
            let first = rows.len();
            for outcome in &problem.outcomes {
                let formats: Vec<f64> = records
                    .iter()
                    .filter(|of| of.record.environment == problem.name)
                    .filter(|of| of.record.learner == outcome.learner)
                    .map(|of| 1e6 * of.format_seconds / of.record.decisions.max(1) as f64)
                    .collect();
                rows.push(PeerRow {
                    dataset: problem.name.clone(),
                    family: family(&outcome.learner),
                    learner: outcome.learner.clone(),
                    seeds: outcome.seeds,
                    decisions: problem.decisions,
                    loss: outcome.loss,
                    low: outcome.low,
                    high: outcome.high,
                    microseconds: outcome.microseconds,
                    format_microseconds: formats.iter().sum::<f64>() / formats.len().max(1) as f64,
                    best: false,
                });
            }
            mark_best(&mut rows[first..]);
        }
        rows
    }

    /// egret's learners beside the best of each other library in hindsight.
    pub fn section(&self, rows: &[PeerRow], records: &[PeerRecord], confidence: f64) -> Section {
        let learners = self.learners;
        let mut header = vec!["data".to_owned(), "learner".to_owned()];
        header.extend(["loss", "interval", "µs", "format µs"].map(str::to_owned));
        header.extend(
            self.families
                .iter()
                .map(|of| format!("against best {}", of.name())),
        );
        let mut cells = Vec::new();
        let losses = |dataset: &str, learner: &str| -> Vec<f64> {
            let mut runs: Vec<_> = records
                .iter()
                .filter(|of| of.record.environment == dataset && of.record.learner == learner)
                .map(|of| (of.record.seed, of.record.loss))
                .collect();
            runs.sort_by_key(|(seed, _)| *seed);
            runs.into_iter().map(|(_, loss)| loss).collect()
        };
        let shown =
            |row: &&PeerRow| row.best || learners.iter().any(|learner| learner.name == row.learner);
        for row in rows.iter().filter(shown) {
            let mut line = vec![
                row.dataset.clone(),
                row.learner.clone(),
                format!("{:.4}", row.loss),
                format!("[{:.4}, {:.4}]", row.low, row.high),
                format!("{:.1}", row.microseconds),
                format!("{:.1}", row.format_microseconds),
            ];
            for of in self.families {
                let best = rows.iter().find(|other| {
                    other.best && other.dataset == row.dataset && other.family == of.name()
                });
                let standing = best.filter(|_| row.family == "egret").and_then(|best| {
                    let ours = losses(&row.dataset, &row.learner);
                    let theirs = losses(&row.dataset, &best.learner);
                    PairedDifference::new(&ours, &theirs, confidence, 0)
                });
                line.push(standing.map_or(String::new(), |difference| {
                    let word = Standing::word(difference.standing());
                    format!("{:+.4} {word}", difference.mean)
                }));
            }
            cells.push(line);
        }
        Section {
            title: "Beside the best setting of each library in hindsight".to_owned(),
            before: "Of each other library only the setting that lost least on the data set is shown. Differences are its loss \
                     less egret's, paired by seed: above 0 egret is better."
                .to_owned(),
            header,
            words: 2,
            rows: cells,
            after: vec![
                "Microseconds are for predicting and learning, of other libraries as taken around their own calls in Python; \
                 bringing contexts into their format comes on top."
                    .to_owned(),
            ],
        }
    }
}

fn family(learner: &str) -> &'static str {
    [PeerFamily::Vw, PeerFamily::Coba]
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
    use crate::{AnyEnvironment, RunRecord, Silent, simulator};

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
        let coba = PeerFamily::Coba.peers();
        assert!(coba.iter().all(|peer| family(&peer.name) == "coba"));
    }

    #[test]
    fn egret_plays_without_any_peer_and_the_best_of_each_family_is_marked() {
        let AnyEnvironment::Number(environment) = simulator("interval").expect("known") else {
            panic!("its actions are numbers");
        };
        let environments = [environment];
        let learners = PeerStudy::learners(false);
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
        let comparison = Comparison::new(&runs, None, 0.9).expect("compared");
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
