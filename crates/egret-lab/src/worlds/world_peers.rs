use crate::peers::{Peer, PeerFamily, PeerPython};

/// Learners of other libraries, at several settings. In each world the best setting of each family plays, chosen on seeds of its
/// own.
pub struct WorldPeers {
    /// The Python in which they are installed.
    pub python: PeerPython,
    /// The settings of each family, under the name that it has in tables.
    pub families: Vec<(String, Vec<Peer>)>,
}

impl WorldPeers {
    /// The seeds that settings are chosen on. They are far above those of a report, which begin at 1.
    pub const SEEDS: [u64; 3] = [1_000_001, 1_000_002, 1_000_003];

    /// Vowpal Wabbit's `cats`, with 16 settings, and `cb_explore`, with 8.
    pub fn vw(python: PeerPython) -> Self {
        let families = [
            ("cats", PeerFamily::Vw),
            ("cb_explore", PeerFamily::CbExplore),
        ];
        Self {
            python,
            families: families
                .map(|(name, family)| (name.to_owned(), family.peers()))
                .to_vec(),
        }
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
