use egret::{OutOfRange, Propensity, Weight};
use serde::{Deserialize, Serialize};

/// What an oracle is fitted to.
///
/// Each method minimizes a mean of squared errors over the log. They differ in where f̂ is to be accurate:
///
/// | method         | minimizes in expectation                     | f̂ is accurate        |
/// |----------------|----------------------------------------------|----------------------|
/// | `DirectMethod` | E_P (f̂ − ℓ)²                                 | where the log played |
/// | `ClippedIps`   | E_μ (f̂ − ℓ)², except for the clipping        | everywhere alike     |
/// | `DoublyRobust` | the same, with less noise from large weights | everywhere alike     |
///
/// A policy that learns online mostly plays what looks good to it. Its log says little about other actions, and a model too
/// simple to be right everywhere is fitted to what was played most. Weights 1/p undo that: E_P[(1/p) h(a)] = E_μ[h(a)].
/// If f̂ can be right everywhere, all three methods lead to the same f̂, the direct method with the least noise.
///
/// A point mass has no density. Taking 1/p as 0 there, which leaves it out, keeps the identity above true.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrainingMethod {
    /// Every event counts 1, and so do point masses, for they have losses.
    DirectMethod,
    /// An event counts min(1/p, cap).
    ClippedIps {
        /// The largest weight; 5 in the paper.
        cap: f64,
        /// What a point mass counts.
        point_masses: PointMasses,
    },
    /// Fits pseudo-losses made from a first fit ĝ: see [`doubly_robust`](Self::doubly_robust).
    DoublyRobust {
        /// The largest weight.
        cap: f64,
        /// The number of folds, at least 2. ĝ at an event is learned from all other folds by the direct method.
        folds: usize,
        /// How many draws of μ are added for each logged action, at least 1.
        draws: usize,
    },
}

/// What a point mass counts under [`TrainingMethod::ClippedIps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointMasses {
    /// Nothing: 1/p is taken as 0.
    #[default]
    LeaveOut,
    /// As much as the cap, as in the paper's runs.
    Cap,
}

impl TrainingMethod {
    /// Clipped at 5, the paper's cap; point masses left out.
    pub fn clipped_ips() -> Self {
        Self::ClippedIps {
            cap: 5.0,
            point_masses: PointMasses::LeaveOut,
        }
    }

    /// Clipped at 5, with 4 folds and one draw of μ for each logged action.
    ///
    /// Write w = min(1/p, cap), K for the number of draws, and ĝ for the first fit. Each event gives K + 1 examples:
    ///
    /// | action             | pseudo-loss            | counts |
    /// |--------------------|------------------------|--------|
    /// | a, the logged one  | ĝ(a) + (K + 1)(ℓ − ĝ(a)) | w    |
    /// | a₁, …, a_K ∼ μ     | ĝ(aₖ)                  | 1      |
    ///
    /// Where w is not clipped, the mean of their squared errors over K + 1 is, up to a constant without f̂,
    ///
    /// E_μ (f̂ − ĝ)² − 2 E_μ f̂ (ℓ − ĝ)  =  E_μ (f̂ − ℓ)²
    ///
    /// whatever ĝ is. Where w is clipped, the bias is the share clipped away times the error of ĝ: it vanishes when either
    /// does. ĝ at an event never learned from that event, so ℓ − ĝ is an honest residual if the logging policy did not learn.
    /// If it did, later rows depend on ℓ, and ĝ depends on it through them. On validation rows, ĝ was stopped early by those
    /// same rows. Pseudo-losses lie in [−K, K + 1]; they are not clamped, for that would undo part of the correction.
    pub fn doubly_robust() -> Self {
        Self::DoublyRobust {
            cap: 5.0,
            folds: 4,
            draws: 1,
        }
    }

    /// Its name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::DirectMethod => "dm",
            Self::ClippedIps { .. } => "ips",
            Self::DoublyRobust { .. } => "dr",
        }
    }

    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        match *self {
            Self::DirectMethod => Ok(()),
            Self::ClippedIps { cap, .. } => check_cap(cap),
            Self::DoublyRobust { cap, folds, draws } => {
                check_cap(cap)?;
                let (folds, draws) = (folds as f64, draws as f64);
                OutOfRange::unless((2.0..=100.0).contains(&folds), "folds", folds, "[2, 100]")?;
                OutOfRange::unless((1.0..=64.0).contains(&draws), "draws", draws, "[1, 64]")
            }
        }
    }

    /// How much an event counts.
    pub(crate) fn weight(&self, propensity: Propensity) -> Weight {
        let (cap, point_mass) = match *self {
            Self::DirectMethod => return Weight::ONE,
            Self::ClippedIps { cap, point_masses } => match point_masses {
                PointMasses::LeaveOut => (cap, 0.0),
                PointMasses::Cap => (cap, cap),
            },
            Self::DoublyRobust { cap, .. } => (cap, 0.0),
        };
        let weight = propensity
            .density()
            .map_or(point_mass, |density| (1.0 / density.get()).min(cap));
        Weight::new(weight).expect("between 0 and the cap, which is finite")
    }
}

fn check_cap(cap: f64) -> Result<(), OutOfRange> {
    OutOfRange::unless(0.0 < cap && cap.is_finite(), "cap", cap, "(0, inf)")
}

#[cfg(test)]
mod tests {
    use egret::Density;

    use super::*;

    #[test]
    fn weights_are_clipped_and_point_masses_count_as_told() {
        let at = |p: f64| Propensity::Density(Density::new(p).expect("positive"));
        let point_masses_at_cap = TrainingMethod::ClippedIps {
            cap: 5.0,
            point_masses: PointMasses::Cap,
        };
        for (method, weights) in [
            (TrainingMethod::DirectMethod, [1.0, 1.0, 1.0]),
            (TrainingMethod::clipped_ips(), [0.5, 5.0, 0.0]),
            (point_masses_at_cap, [0.5, 5.0, 5.0]),
            (TrainingMethod::doubly_robust(), [0.5, 5.0, 0.0]),
        ] {
            let found = [at(2.0), at(0.01), Propensity::PointMass].map(|p| method.weight(p).get());
            assert_eq!(found, weights, "{method:?}");
        }
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        for cap in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let point_masses = PointMasses::LeaveOut;
            assert!(
                TrainingMethod::ClippedIps { cap, point_masses }
                    .check()
                    .is_err(),
                "{cap}"
            );
        }
        for (folds, draws) in [(1, 1), (2, 0), (101, 1), (2, 65)] {
            let cap = 5.0;
            let method = TrainingMethod::DoublyRobust { cap, folds, draws };
            assert!(method.check().is_err(), "{folds} {draws}");
        }
        assert!(TrainingMethod::doubly_robust().check().is_ok());
    }
}
