use egret::{
    CappedIgw, Explorer, GammaSchedule, Normalization, OracleSpec, Settings, geometric_taus,
};
use serde::{Deserialize, Serialize};

use crate::learner::EgretFactory;

/// A learner of the paper's online experiments, or a variant that the paper leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum PaperLearner {
    /// γ = 1 + 100·t^(3/4), τ from 2 to 2048.
    SmoothIgw,
    /// γ = 1 + 18·t, τ from 6 to 1024.
    CappedIgw {
        /// How β is found.
        normalization: Normalization,
        /// The bound on κ; 1 if z is computed exactly.
        kappa_inf: f64,
    },
}

impl PaperLearner {
    /// CappedIGW with β by mixtures of bets, κ at most `kappa_inf`.
    pub const fn mixture(kappa_inf: f64) -> Self {
        Self::CappedIgw {
            normalization: Normalization::Mixture,
            kappa_inf,
        }
    }

    /// CappedIGW with β by the paper's Algorithm 3.
    pub const fn betting(kappa_inf: f64) -> Self {
        Self::CappedIgw {
            normalization: Normalization::Betting,
            kappa_inf,
        }
    }

    /// CappedIGW with z(β) = 1, computed exactly.
    pub const EXACT: Self = Self::CappedIgw {
        normalization: Normalization::Exact,
        kappa_inf: 1.0,
    };

    /// SmoothIGW or CappedIGW.
    pub fn algorithm(self) -> &'static str {
        match self {
            Self::SmoothIgw => "SmoothIGW",
            Self::CappedIgw { .. } => "CappedIGW",
        }
    }

    /// The bound on κ; `None` for SmoothIGW.
    pub fn kappa_inf(self) -> Option<f64> {
        match self {
            Self::SmoothIgw => None,
            Self::CappedIgw { kappa_inf, .. } => Some(kappa_inf),
        }
    }

    /// How β is found; `None` for SmoothIGW.
    pub fn normalizer(self) -> Option<&'static str> {
        match self {
            Self::SmoothIgw => None,
            Self::CappedIgw { normalization, .. } => Some(normalizer_name(normalization)),
        }
    }

    /// The name shown in tables: `CappedIGW κ∞ = 4`, `CappedIGW exact`.
    pub fn name(self) -> String {
        match self {
            Self::SmoothIgw => "SmoothIGW".to_owned(),
            Self::CappedIgw {
                normalization: Normalization::Exact,
                ..
            } => "CappedIGW exact".to_owned(),
            Self::CappedIgw {
                normalization: Normalization::Mixture,
                kappa_inf,
            } => format!("CappedIGW κ∞ = {kappa_inf}"),
            Self::CappedIgw {
                normalization,
                kappa_inf,
            } => format!(
                "CappedIGW κ∞ = {kappa_inf} {}",
                normalizer_name(normalization)
            ),
        }
    }

    /// The learner with the paper's settings: linear argmin plus dispersion, Adam, Corral over twelve τ, batches of 8.
    ///
    /// All examples have equal weight, as in the paper's text. The authors' code weighted them; see docs/paper.md.
    pub fn factory(self) -> EgretFactory {
        let ((constant, factor, power), (least, greatest)) = match self {
            Self::SmoothIgw => ((1.0, 100.0, 0.75), (2.0, 2048.0)),
            Self::CappedIgw { .. } => ((1.0, 18.0, 1.0), (6.0, 1024.0)),
        };
        let explorer = match self {
            Self::SmoothIgw => Explorer::SmoothIgw,
            Self::CappedIgw {
                normalization,
                kappa_inf,
            } => Explorer::CappedIgw(CappedIgw {
                normalization,
                // If z is computed exactly, the bound is unused, but must be valid.
                kappa_inf: kappa_inf.max(1.05),
                delta: 0.05,
                ..CappedIgw::default()
            }),
        };
        EgretFactory {
            name: self.name(),
            oracle: Some(OracleSpec::paper()),
            settings: Settings {
                explorer,
                gamma: GammaSchedule::power(constant, factor, power).expect("in range"),
                taus: geometric_taus(least, greatest, 12).expect("in range"),
                eta: 0.3 / 12.0,
                ..Settings::paper()
            },
            batch: 8,
            by_name: false,
        }
    }
}

/// The name shown in reports.
pub(crate) fn normalizer_name(normalization: Normalization) -> &'static str {
    match normalization {
        Normalization::Auto => "auto",
        Normalization::Exact => "exact",
        Normalization::Mixture => "mixture",
        Normalization::Betting => "betting",
        Normalization::FixedSample => "fixed_sample",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let all = [
            PaperLearner::SmoothIgw,
            PaperLearner::mixture(2.0),
            PaperLearner::mixture(4.0),
            PaperLearner::betting(4.0),
            PaperLearner::EXACT,
        ];
        let names = all.map(PaperLearner::name);
        assert_eq!(names[1], "CappedIGW κ∞ = 2");
        for (place, name) in names.iter().enumerate() {
            assert_eq!(names.iter().position(|other| other == name), Some(place));
        }
    }
}
