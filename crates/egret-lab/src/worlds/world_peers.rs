use serde_json::json;

use crate::peers::{Peer, PeerFamily, PeerPython};
use crate::worlds::AnyWorld;

/// Learners of other libraries, at several settings. In each world the best setting of each family plays, chosen on seeds of its
/// own.
pub struct WorldPeers {
    /// The Python in which they are installed.
    pub python: PeerPython,
    /// What plays.
    pub families: Vec<WorldFamily>,
}

/// A learner of another library at several settings.
pub struct WorldFamily {
    /// The name that it has in tables.
    pub name: String,
    /// Where it plays.
    pub worlds: PeerWorlds,
    /// Its settings.
    pub peers: Vec<Peer>,
}

/// The worlds that a family plays in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerWorlds {
    /// Those on intervals.
    Intervals,
    /// Boxes without a context.
    FreeBoxes,
    /// Catalogues of up to 10,000 items with features: a text with all of them is read for each decision.
    Catalogues,
    /// Lists of items without features.
    Lists,
}

impl PeerWorlds {
    fn have(self, world: &AnyWorld) -> bool {
        match (self, world) {
            (Self::Intervals, AnyWorld::Interval(_)) => true,
            (Self::FreeBoxes, AnyWorld::Vectors(world)) => world.context_dim() == 0,
            (Self::Catalogues, AnyWorld::Items(world)) => {
                world.embeddings().is_some_and(|rows| rows.len() <= 10_000)
            }
            (Self::Lists, AnyWorld::Items(world)) => world.embeddings().is_none(),
            _ => false,
        }
    }
}

/// A library whose learners play in worlds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerLibrary {
    /// Vowpal Wabbit: `cats` and `cb_explore` on intervals, `cb_explore` and `adf` on lists, `adf` and `large_action_space` among items
    /// with features.
    Vw,
    /// Optuna: `tpe` on boxes without a context.
    Optuna,
    /// CMA-ES: `cma_es` on boxes without a context.
    Cma,
}

impl PeerLibrary {
    /// The PyPI packages that it needs.
    pub fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Vw => PeerFamily::Vw.packages(),
            Self::Optuna => &["optuna"],
            Self::Cma => &["cma"],
        }
    }

    /// Its learners.
    pub fn families(self) -> Vec<WorldFamily> {
        let family = |name: &str, worlds, peers| WorldFamily {
            name: name.to_owned(),
            worlds,
            peers,
        };
        match self {
            Self::Vw => vec![
                family("cats", PeerWorlds::Intervals, PeerFamily::Vw.peers()),
                family(
                    "cb_explore",
                    PeerWorlds::Intervals,
                    PeerFamily::CbExplore.peers(),
                ),
                family(
                    "cb_explore",
                    PeerWorlds::Lists,
                    vw_items("cb_explore_items", &["", " -q xx"], ""),
                ),
                family(
                    "adf",
                    PeerWorlds::Lists,
                    vw_items(
                        "cb_explore_adf",
                        &[" -q xe", " -q xx -q xe --cubic xxe"],
                        "",
                    ),
                ),
                family(
                    "adf",
                    PeerWorlds::Catalogues,
                    vw_items("cb_explore_adf", &[" -q xe"], ""),
                ),
                family(
                    "large_action_space",
                    PeerWorlds::Catalogues,
                    vw_items(
                        "cb_explore_adf",
                        &[" -q xe"],
                        " --large_action_space --max_actions 100",
                    ),
                ),
            ],
            Self::Optuna => {
                let peers =
                    [(500, false), (2_000, false), (2_000, true)].map(|(trials, multivariate)| {
                        Peer {
                            name: format!(
                                "TPE {trials} trials{}",
                                if multivariate { ", multivariate" } else { "" }
                            ),
                            learner: "tpe".to_owned(),
                            settings: json!({"trials": trials, "multivariate": multivariate}),
                        }
                    });
                vec![family("tpe", PeerWorlds::FreeBoxes, peers.to_vec())]
            }
            Self::Cma => {
                let peers = [0.1, 0.3].map(|sigma| Peer {
                    name: format!("CMA-ES σ={sigma}"),
                    learner: "cma_es".to_owned(),
                    settings: json!({"sigma": sigma}),
                });
                vec![family("cma_es", PeerWorlds::FreeBoxes, peers.to_vec())]
            }
        }
    }
}

/// SquareCB and ε-greedy with each of these products of features.
fn vw_items(learner: &str, products: &[&str], more: &str) -> Vec<Peer> {
    let explorers = [("--squarecb", "squarecb"), ("--epsilon 0.02", "ε=0.02")];
    let settings =
        (explorers.into_iter()).flat_map(|of| products.iter().map(move |products| (of, products)));
    settings
        .map(|((explores, word), products)| Peer {
            name: format!("VW {learner} {word}{products}{more}"),
            learner: learner.to_owned(),
            settings: json!({"options": format!("{explores}{products}{more}")}),
        })
        .collect()
}

impl WorldPeers {
    /// The seeds that settings are chosen on. They are far above those of a report, which begin at 1.
    pub const SEEDS: [u64; 3] = [1_000_001, 1_000_002, 1_000_003];

    /// The families that play in a world.
    pub fn of(&self, world: &AnyWorld) -> impl Iterator<Item = &WorldFamily> {
        self.families
            .iter()
            .filter(|family| family.worlds.have(world))
    }
}

/// The setting that plays in a world for its family.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenPeer {
    /// The world.
    pub world: String,
    /// The family.
    pub learner: String,
    /// The setting.
    pub peer: Peer,
    /// Its mean share of what is possible on the [seeds of the choice](WorldPeers::SEEDS).
    pub share: f64,
}
