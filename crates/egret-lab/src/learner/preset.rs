use egret::{CappedIgw, Explorer, Normalization, Settings};

use crate::learner::{EgretFactory, PaperLearner};

/// A named learner, which further settings may change.
///
/// | preset           | learner                                                                         |
/// |------------------|---------------------------------------------------------------------------------|
/// | `default`        | egret's default, as `Model::new` makes it                                       |
/// | `paper`          | the paper's online CappedIGW: mixtures of bets, κ∞ = 4, γ = 1 + 18·t, batches of 8 |
/// | `exact`          | the same with z(β) = 1, computed exactly                                        |
/// | `smooth_igw`     | the paper's SmoothIGW: γ = 1 + 100·t^(3/4), τ from 2 to 2048, batches of 8       |
/// | `epsilon_greedy` | the paper's oracle; a draw from μ with probability 0.05, else greedy; batches of 8 |
/// | `uniform`        | always a draw from μ: the result without learning                               |
///
/// In mixed spaces, which `Model` does not support, `default` uses the features of actions unscaled; elsewhere it scales them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Preset {
    /// egret's default learner.
    #[default]
    Default,
    /// The paper's CappedIGW.
    Paper,
    /// The paper's CappedIGW with z computed exactly.
    Exact,
    /// The paper's SmoothIGW.
    SmoothIgw,
    /// Greedy except for one decision in twenty.
    EpsilonGreedy,
    /// Draws from μ.
    Uniform,
}

impl Preset {
    /// All presets by name.
    pub const ALL: [(&'static str, Self); 6] = [
        ("default", Self::Default),
        ("paper", Self::Paper),
        ("exact", Self::Exact),
        ("smooth_igw", Self::SmoothIgw),
        ("epsilon_greedy", Self::EpsilonGreedy),
        ("uniform", Self::Uniform),
    ];

    /// The learner, named after the preset.
    pub fn factory(self) -> EgretFactory {
        let paper = PaperLearner::mixture(4.0).factory();
        let exploring = |explorer| EgretFactory {
            settings: Settings {
                explorer,
                ..paper.settings.clone()
            },
            ..paper.clone()
        };
        let learner = match self {
            Self::Default => EgretFactory {
                name: String::new(),
                oracle: None,
                settings: Settings::default(),
                batch: 1,
                by_name: true,
            },
            Self::Exact => exploring(Explorer::CappedIgw(CappedIgw {
                normalization: Normalization::Exact,
                ..CappedIgw::default()
            })),
            Self::SmoothIgw => PaperLearner::SmoothIgw.factory(),
            Self::EpsilonGreedy => exploring(Explorer::EpsilonGreedy { epsilon: 0.05 }),
            Self::Uniform => exploring(Explorer::Uniform),
            Self::Paper => paper,
        };
        EgretFactory {
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
