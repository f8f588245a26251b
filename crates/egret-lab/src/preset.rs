use egret::{CappedIgw, Explorer, Normalization, Settings};

use crate::EgretContender;
use crate::paper::Explored;

/// A learner by one word: where a list of settings begins.
///
/// | preset           | is                                                                              |
/// |------------------|---------------------------------------------------------------------------------|
/// | `default`        | the learner that needs no tuning, `Model::untuned`                               |
/// | `paper`          | the paper's online CappedIGW: mixtures of bets, κ∞ = 4, γ = 1 + 18·t, batches of 8 |
/// | `exact`          | the same, z(β) = 1 by computation                                               |
/// | `smooth_igw`     | the paper's SmoothIGW: γ = 1 + 100·t^(3/4), τ from 2 to 2048, batches of 8       |
/// | `epsilon_greedy` | the paper's oracle, a blind action with probability 0.05, batches of 8          |
/// | `uniform`        | actions drawn from μ: what chance alone comes to                                |
///
/// Over mixed spaces, which `Model` does not have, `default` takes the features of actions as they are; elsewhere it scales them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Preset {
    /// egret's default learner.
    #[default]
    Default,
    /// The paper's CappedIGW.
    Paper,
    /// The paper's CappedIGW with z computed.
    Exact,
    /// The paper's SmoothIGW.
    SmoothIgw,
    /// Greedy but for one decision in twenty.
    EpsilonGreedy,
    /// Never greedy.
    Uniform,
}

impl Preset {
    /// All of them by name.
    pub const ALL: [(&'static str, Self); 6] = [
        ("default", Self::Default),
        ("paper", Self::Paper),
        ("exact", Self::Exact),
        ("smooth_igw", Self::SmoothIgw),
        ("epsilon_greedy", Self::EpsilonGreedy),
        ("uniform", Self::Uniform),
    ];

    /// The learner, under the preset's name.
    pub fn contender(self) -> EgretContender {
        let paper = Explored::mixture(4.0).contender();
        let exploring = |explorer| EgretContender {
            settings: Settings {
                explorer,
                ..paper.settings.clone()
            },
            ..paper.clone()
        };
        let learner = match self {
            Self::Default => EgretContender {
                name: String::new(),
                oracle: None,
                settings: Settings::untuned(0),
                batch: 1,
            },
            Self::Exact => exploring(Explorer::CappedIgw(CappedIgw {
                normalization: Normalization::Exact,
                ..CappedIgw::default()
            })),
            Self::SmoothIgw => Explored::SmoothIgw.contender(),
            Self::EpsilonGreedy => exploring(Explorer::EpsilonGreedy { epsilon: 0.05 }),
            Self::Uniform => exploring(Explorer::Uniform),
            Self::Paper => paper,
        };
        EgretContender {
            name: self.to_string(),
            ..learner
        }
    }
}

impl std::fmt::Display for Preset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named = Self::ALL.iter().find(|(_, preset)| preset == self);
        f.write_str(named.expect("every preset is in the list").0)
    }
}
