use serde::{Deserialize, Serialize};

use crate::numeric::OutOfRange;

/// γ, the greediness, by what was learned.
///
/// | constructor                    | γ               | t counts | used by                                             |
/// |--------------------------------|-----------------|----------|-----------------------------------------------------|
/// | [`per_error`](Self::per_error) | (c₀ + c·t)/(2σ) | events   | the default                                         |
/// | [`constant`](Self::constant)   | γ               |          | the paper: Table 1                                  |
/// | [`power`](Self::power)         | c₀ + c·tᵖ       | batches  | the paper: CappedIGW 1 + 18·t, SmoothIGW 1 + 100·t^(3/4) |
/// | [`theorem1`](Self::theorem1)   | √(8Tκ∞τ/Reg_Sq) |          | the paper: Theorem 1                                |
///
/// σ is the root of the mean squared error of f̂ ([`RegressionOracle::squared_error`](crate::RegressionOracle::squared_error)),
/// and ½ where the oracle does not know it. γ multiplies differences of f̂, so that dividing by σ makes the policy the same
/// whatever units losses have, and greedier where f̂ errs less.
///
/// ```
/// use egret::{GammaSchedule, Learned};
///
/// let schedule = GammaSchedule::power(1.0, 18.0, 1.0)?;
/// assert_eq!(schedule.gamma(&Learned::default(), 6.0), 1.0);
/// let learned = Learned { batches: 500, events: 4_000, squared_error: Some(0.01), forgotten: 0.0 };
/// assert_eq!(schedule.gamma(&learned, 6.0), 9_001.0);
/// assert_eq!(GammaSchedule::per_error(100.0, 3.0)?.gamma(&learned, 6.0), 60_500.0);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Kind", into = "Kind")]
pub struct GammaSchedule(Kind);

/// What a learner had learned when it decided.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Learned {
    /// How many batches.
    pub batches: u64,
    /// How many events.
    pub events: u64,
    /// σ², the mean squared error of f̂; none if the oracle does not know it.
    pub squared_error: Option<f64>,
    /// The share of the events that no longer count, in [0, 1]: f̂ has forgotten them.
    pub forgotten: f64,
}

impl Learned {
    /// How many events count.
    pub(crate) fn counting(&self) -> f64 {
        // Of an oracle that tells no share, all count.
        (1.0 - self.forgotten.max(0.0)).max(0.0) * self.events as f64
    }
}

/// A schedule as stored in a file.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Kind {
    Constant(f64),
    Power {
        c0: f64,
        c: f64,
        p: f64,
    },
    Theorem1 {
        horizon: f64,
        kappa_inf: f64,
        reg_sq: f64,
    },
    PerError {
        c0: f64,
        c: f64,
    },
}

/// σ² of losses in [0, 1] is at most this.
const LARGEST_ERROR: f64 = 0.25;

/// Nothing is predicted better.
const LEAST_ERROR: f64 = 1e-12;

/// Beyond it, g of the worst action would approach the smallest positive number.
const LARGEST: f64 = 1e200;

impl GammaSchedule {
    /// The same γ always.
    pub fn constant(gamma: f64) -> Result<Self, OutOfRange> {
        Self(Kind::Constant(gamma)).checked()
    }

    /// (c₀ + c·t)/(2σ) after t events, with c₀ > 0 and c ≥ 0.
    pub fn per_error(c0: f64, c: f64) -> Result<Self, OutOfRange> {
        Self(Kind::PerError { c0, c }).checked()
    }

    /// c₀ + c·tᵖ with c₀ > 0, c ≥ 0 and p in [0, 8].
    pub fn power(c0: f64, c: f64, p: f64) -> Result<Self, OutOfRange> {
        Self(Kind::Power { c0, c, p }).checked()
    }

    /// √(8Tκ∞τ/Reg_Sq) for a horizon of T decisions; under Corral τ is the one played.
    ///
    /// `reg_sq` bounds the regret of the oracle's squared error over the horizon.
    pub fn theorem1(horizon: f64, kappa_inf: f64, reg_sq: f64) -> Result<Self, OutOfRange> {
        Self(Kind::Theorem1 {
            horizon,
            kappa_inf,
            reg_sq,
        })
        .checked()
    }

    /// γ after so much was learned, for the smoothness `tau`; positive and at most 1e200.
    pub fn gamma(&self, learned: &Learned, tau: f64) -> f64 {
        let gamma = match self.0 {
            Kind::Constant(gamma) => gamma,
            Kind::Power { c0, c, p } => c0 + c * libm::pow(learned.batches as f64, p),
            Kind::PerError { c0, c } => {
                let error = learned.squared_error.unwrap_or(LARGEST_ERROR);
                let error = error.clamp(LEAST_ERROR, LARGEST_ERROR);
                (c0 + c * learned.counting()) / (2.0 * error.sqrt())
            }
            Kind::Theorem1 {
                horizon,
                kappa_inf,
                reg_sq,
            } => (8.0 * horizon * kappa_inf * tau / reg_sq).sqrt(),
        };
        gamma.clamp(f64::MIN_POSITIVE, LARGEST)
    }

    fn checked(self) -> Result<Self, OutOfRange> {
        let positive = |name, value: f64| {
            OutOfRange::unless(0.0 < value && value.is_finite(), name, value, "(0, inf)")
        };
        match self.0 {
            Kind::Constant(gamma) => positive("gamma", gamma)?,
            Kind::Power { c0, c, p } => {
                positive("c0", c0)?;
                OutOfRange::unless(0.0 <= c && c.is_finite(), "c", c, "[0, inf)")?;
                // (2⁶⁴)⁸ is still finite.
                OutOfRange::unless((0.0..=8.0).contains(&p), "p", p, "[0, 8]")?;
            }
            Kind::PerError { c0, c } => {
                positive("c0", c0)?;
                OutOfRange::unless(0.0 <= c && c.is_finite(), "c", c, "[0, inf)")?;
            }
            Kind::Theorem1 {
                horizon,
                kappa_inf,
                reg_sq,
            } => {
                positive("horizon", horizon)?;
                positive("reg_sq", reg_sq)?;
                OutOfRange::unless(
                    1.0 <= kappa_inf && kappa_inf.is_finite(),
                    "kappa_inf",
                    kappa_inf,
                    "[1, inf)",
                )?;
            }
        }
        Ok(self)
    }
}

impl TryFrom<Kind> for GammaSchedule {
    type Error = OutOfRange;

    fn try_from(kind: Kind) -> Result<Self, OutOfRange> {
        Self(kind).checked()
    }
}

impl From<GammaSchedule> for Kind {
    fn from(schedule: GammaSchedule) -> Self {
        schedule.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after(batches: u64) -> Learned {
        Learned {
            batches,
            ..Learned::default()
        }
    }

    #[test]
    fn the_paper_s_schedules() {
        let capped = GammaSchedule::power(1.0, 18.0, 1.0).expect("in range");
        assert_eq!(capped.gamma(&after(10_000), 6.0), 180_001.0);
        let smooth = GammaSchedule::power(1.0, 100.0, 0.75).expect("in range");
        assert_eq!(smooth.gamma(&after(0), 6.0), 1.0);
        assert_eq!(smooth.gamma(&after(10_000), 6.0), 100_001.0);
        // √(8 · 1000 · 4 · 2 / 10) = 80.
        let theorem = GammaSchedule::theorem1(1_000.0, 4.0, 10.0).expect("in range");
        assert_eq!(theorem.gamma(&after(0), 2.0), 80.0);
        assert_eq!(theorem.gamma(&after(7), 8.0), 160.0);
    }

    #[test]
    fn losses_in_other_units_give_the_same_policy() {
        let schedule = GammaSchedule::per_error(100.0, 3.0).expect("in range");
        let at = |unit: f64| {
            let learned = Learned {
                batches: 3,
                events: 1_500,
                squared_error: Some(0.04 * unit * unit),
                forgotten: 0.0,
            };
            // γ times a difference of f̂.
            schedule.gamma(&learned, 64.0) * 0.2 * unit
        };
        assert_eq!(at(1.0), (100.0 + 4_500.0) / 0.4 * 0.2);
        assert!((at(0.01) / at(1.0) - 1.0).abs() < 1e-12);
        let unknown = Learned {
            events: 10,
            ..Learned::default()
        };
        assert_eq!(schedule.gamma(&unknown, 64.0), 130.0);
        let forgotten = Learned {
            events: 100,
            forgotten: 0.9,
            ..Learned::default()
        };
        assert!((schedule.gamma(&forgotten, 64.0) - 130.0).abs() < 1e-9);
    }

    #[test]
    fn constants_out_of_range_are_refused() {
        for bad in [-1.0, f64::INFINITY, f64::NAN] {
            assert!(GammaSchedule::constant(bad).is_err(), "{bad}");
            assert!(GammaSchedule::per_error(bad, 1.0).is_err(), "{bad}");
            assert!(GammaSchedule::per_error(1.0, bad).is_err(), "{bad}");
            assert!(GammaSchedule::power(1.0, bad, 1.0).is_err(), "{bad}");
            assert!(GammaSchedule::power(1.0, 1.0, bad).is_err(), "{bad}");
        }
        assert!(GammaSchedule::constant(0.0).is_err());
        assert!(GammaSchedule::per_error(1.0, 0.0).is_ok());
    }

    #[test]
    fn a_bad_file_is_refused() {
        let bytes = |kind: Kind| postcard::to_stdvec(&kind).expect("in memory");
        let good = bytes(Kind::Constant(3.0));
        assert!(postcard::from_bytes::<GammaSchedule>(&good).is_ok());
        let bad = bytes(Kind::Constant(f64::NAN));
        assert!(postcard::from_bytes::<GammaSchedule>(&bad).is_err());
    }

    proptest! {
        #[test]
        fn what_passes_is_positive_and_finite(
            a in any::<f64>(), b in any::<f64>(), c in any::<f64>(), t in any::<u64>(), tau in 1.0..1e300,
        ) {
            let schedules = [
                GammaSchedule::constant(a),
                GammaSchedule::power(a, b, c),
                GammaSchedule::power(a.abs(), b.abs(), c.abs() % 8.0),
                GammaSchedule::theorem1(a, b, c),
                GammaSchedule::theorem1(a.abs(), 1.0 + b.abs(), c.abs()),
                GammaSchedule::per_error(a, b),
                GammaSchedule::per_error(a.abs(), b.abs()),
            ];
            let learned = Learned { batches: t, events: t, squared_error: Some(c), forgotten: a };
            for schedule in schedules.into_iter().flatten() {
                let gamma = schedule.gamma(&learned, tau);
                prop_assert!(0.0 < gamma && gamma <= LARGEST, "{schedule:?} {gamma}");
            }
        }
    }
}
