use serde::{Deserialize, Serialize};

use crate::event::{Action, Propensity, Weight};
use crate::explorer::{
    CappedIgw, Corral, DensityKind, Explorer, ExplorerError, GammaSchedule, Player, geometric_taus,
};
use crate::measure::ReferenceMeasure;
use crate::numeric::OutOfRange;
use crate::oracle::RegressionOracle;

/// How a learner explores and learns. The default is recommended; [`paper`](Self::paper) gives the paper's settings.
///
/// | field              | default                     | paper's online experiments | why the default                                    |
/// |--------------------|-----------------------------|----------------------------|----------------------------------------------------|
/// | `explorer`         | Zoom on boxes and catalogues, else CappedIGW, ε = 0.02 | CappedIGW, κ∞ = 4, δ = 0.05, ε = 0 | a log that says something about any policy |
/// | `gamma`            | (100 + 3·t)/(2σ), t events  | 1 + 18·t, t batches        | the same in any units and in any batches           |
/// | `taus`             | 64 alone                    | 12 from 6 to 1024          | Corral over many τ costs more than the best of them gains |
/// | `eta`              | 0.3/12                      | the same                   | one τ needs none                                   |
/// | `density`          | given τ                     | –                          | unbiased whatever the normalizer                   |
/// | `example_weight`   | one                         | the same                   |                                                    |
/// | `seed`             | 0                           |                            |                                                    |
/// | `settings_version` | 0                           |                            |                                                    |
///
/// Regret is bounded against policies that spread over at least 1/τ of μ. [`Zoom`](crate::Zoom) has no τ, and a γ of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// How an action is chosen.
    pub explorer: Explorer,
    /// γ over time.
    pub gamma: GammaSchedule,
    /// The grid of τ that Corral learns over. With a single τ Corral has nothing to do.
    pub taus: Vec<f64>,
    /// Corral's learning rate.
    pub eta: f64,
    /// Which density is stated.
    pub density: DensityKind,
    /// How much each example counts for the oracle.
    pub example_weight: ExampleWeight,
    /// The seed of every generator.
    pub seed: u64,
    /// Your own number for these settings; decisions carry it.
    pub settings_version: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            explorer: Explorer::Auto { uniform: 0.02 },
            gamma: GammaSchedule::per_error(100.0, 3.0).expect("in range"),
            taus: vec![64.0],
            ..Self::paper()
        }
    }
}

impl Settings {
    /// The paper's online CappedIGW.
    pub fn paper() -> Self {
        Self {
            explorer: Explorer::CappedIgw(CappedIgw::default()),
            gamma: GammaSchedule::power(1.0, 18.0, 1.0).expect("the paper's schedule is in range"),
            taus: geometric_taus(6.0, 1024.0, 12).expect("the paper's grid is in range"),
            eta: 0.3 / 12.0,
            density: DensityKind::Conditional,
            example_weight: ExampleWeight::One,
            seed: 0,
            settings_version: 0,
        }
    }

    /// The same settings with another exploration budget: at least so many effective events in 1,000 for uniform play, where
    /// z is computed.
    ///
    /// | way to say it                                  | call                                     |
    /// |------------------------------------------------|------------------------------------------|
    /// | "30 effective events in 1,000"                 | `with_effective_events(30.0)`            |
    /// | "at most 2% of what can be gained over uniform" | `with_effective_events(20.0)`           |
    /// | the paper's schedule, and no floor             | `Settings::paper()`                      |
    ///
    /// Of n decisions with densities p, n²/Σ ∫ dμ/p are effective for uniform play. With the share ε = effective/1000 drawn from
    /// μ, ∫ dμ/p is at most 1/ε, and at most ε of the difference between uniform play and the best is lost.
    ///
    /// ```
    /// use egret::{Explorer, Settings};
    ///
    /// let settings = Settings::default().with_effective_events(50.0);
    /// assert_eq!(settings.explorer, Explorer::Auto { uniform: 0.05 });
    /// ```
    ///
    /// An explorer without such a share stays as it is. Numbers outside [0, 1000] are refused where the model is made.
    pub fn with_effective_events(mut self, per_1000: f64) -> Self {
        self.explorer = self.explorer.with_uniform(per_1000 / 1_000.0);
        self
    }

    /// The same settings under another seed.
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}

/// How much an example counts in the oracle's squared error.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub enum ExampleWeight {
    /// Every example counts 1.
    #[default]
    One,
    /// min(1/p, cap), and cap for a point mass: the paper's runs, with cap 5.
    ClippedInverse {
        /// Positive and finite.
        cap: f64,
    },
}

impl ExampleWeight {
    fn check(self) -> Result<(), OutOfRange> {
        match self {
            Self::One => Ok(()),
            Self::ClippedInverse { cap } => {
                OutOfRange::unless(0.0 < cap && cap.is_finite(), "cap", cap, "(0, inf)")
            }
        }
    }

    pub(crate) fn of(self, propensity: Propensity) -> Weight {
        match self {
            Self::One => Weight::ONE,
            Self::ClippedInverse { cap } => {
                let inverse = propensity
                    .density()
                    .map_or(cap, |density| (1.0 / density.get()).min(cap));
                Weight::new(inverse).expect("at most the cap, which is finite")
            }
        }
    }
}

impl Settings {
    /// Checks everything against this measure and this oracle.
    pub(crate) fn build<X: ?Sized, A: Action>(
        &self,
        measure: &dyn ReferenceMeasure<X, A>,
        oracle: &dyn RegressionOracle<X, A>,
    ) -> Result<(Player, Corral), SettingsError> {
        let corral = Corral::new(self.taus.clone(), self.eta)?;
        self.example_weight.check()?;
        let player = self.explorer.player(measure, oracle)?;
        if let (DensityKind::Marginal, Player::CappedIgw(sampler)) = (self.density, &player)
            && !sampler.always_exact(measure, oracle)
        {
            return Err(SettingsError::Marginal);
        }
        let corral = if player.uses_tau() {
            corral
        } else {
            Corral::new(vec![1.0], self.eta)?
        };
        Ok((player, corral))
    }
}

/// Why settings are refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A number is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The explorer cannot play on this measure with this oracle.
    #[error(transparent)]
    Explorer(#[from] ExplorerError),
    /// A marginal density with an estimated z would bias the weights.
    #[error(
        "the marginal density needs an exact z for every tau, and here z is estimated: choose the conditional density, or \
         exact normalization"
    )]
    Marginal,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Density;
    use crate::learner::Learner;
    use crate::learner::small_world::Bowl;
    use crate::measure::Interval;

    #[test]
    fn settings_out_of_range_are_refused() {
        let refused = |settings: Settings| {
            let measure = Interval::new(0.0, 1.0).expect("in order");
            let bowl = Bowl {
                offset: 0.0,
                slope: 1.0,
            };
            Learner::new(Box::new(measure), Box::new(bowl), settings)
                .expect_err("bad settings")
                .to_string()
        };
        let paper = |change: fn(&mut Settings)| {
            let mut settings = Settings::paper();
            change(&mut settings);
            settings
        };
        let capped = |change: fn(&mut CappedIgw)| {
            let mut capped = CappedIgw::default();
            change(&mut capped);
            Settings {
                explorer: Explorer::CappedIgw(capped),
                ..Settings::paper()
            }
        };
        let explorers = [
            (Explorer::EpsilonGreedy { epsilon: 1.5 }, "epsilon"),
            (Explorer::SquareCb, "SquareCB"),
        ];
        let explorers = explorers.map(|(explorer, field)| {
            let settings = Settings {
                explorer,
                ..Settings::paper()
            };
            (settings, field)
        });
        let weight = Settings {
            example_weight: ExampleWeight::ClippedInverse { cap: f64::NAN },
            ..Settings::paper()
        };
        for (settings, field) in [
            (paper(|settings| settings.taus = vec![]), "number of taus"),
            (paper(|settings| settings.taus = vec![f64::NAN]), "tau"),
            (paper(|settings| settings.eta = 0.0), "eta"),
            (weight, "cap"),
            (capped(|capped| capped.kappa_inf = 1.0), "kappa_inf"),
            (capped(|capped| capped.delta = f64::NAN), "delta"),
            (capped(|capped| capped.budget = 0), "budget"),
        ]
        .into_iter()
        .chain(explorers)
        {
            let message = refused(settings);
            assert!(message.starts_with(field), "{message}");
        }
    }

    #[test]
    fn examples_weigh_what_the_settings_say() {
        let propensity = |p: f64| Propensity::Density(Density::new(p).expect("positive"));
        let clipped = ExampleWeight::ClippedInverse { cap: 5.0 };
        assert_eq!(ExampleWeight::One.of(propensity(0.01)).get(), 1.0);
        assert_eq!(clipped.of(propensity(0.5)).get(), 2.0);
        assert_eq!(clipped.of(propensity(0.1)).get(), 5.0);
        assert_eq!(clipped.of(Propensity::PointMass).get(), 5.0);
    }
}
