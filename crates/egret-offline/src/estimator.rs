use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::weighted_events::WeightedEvents;

/// How the value of a policy is estimated from weighted events.
///
/// value = Σ h·u / Σ h + Σ h·r / Σ h·v
///
/// | name          | u     | r                       | v | bias                                       | from                          |
/// |---------------|-------|-------------------------|---|--------------------------------------------|-------------------------------|
/// | `ips`         | 0     | wℓ                      | 1 | none                                       | Horvitz & Thompson 1952       |
/// | `snips`       | 0     | wℓ                      | w | of order 1/n                               | Swaminathan & Joachims 2015   |
/// | `clipped-ips` | 0     | min(w, c)·ℓ             | 1 | downwards                                  | Bottou et al. 2013            |
/// | `dm`          | E_q f̂ | 0                       | 1 | that of f̂                                  |                               |
/// | `dr`          | E_q f̂ | w(ℓ − f̂)                | 1 | none                                       | Dudík, Langford & Li 2011     |
/// | `sndr`        | E_q f̂ | w(ℓ − f̂)                | w | of order 1/n                               | Thomas & Brunskill 2016       |
/// | `switch`      | E_q f̂ | w(ℓ − f̂) where w ≤ c    | 1 | that of f̂ where w > c                      | Wang, Agarwal & Dudík 2017    |
/// | `drs`         | E_q f̂ | ŵ(ℓ − f̂), ŵ = λw/(w²+λ) | 1 | that of f̂, the more the larger w           | Su, Srinath & Krishnamurthy 2020 |
///
/// SWITCH is in the form that its authors call SWITCH-DR, which needs only what DR needs. Their first form needs the part
/// of E_q f̂ that comes from large weights alone: one more integral over actions for each event.
///
/// `clipped-ips:5` sets c = 5. The name alone leaves c (or λ) to [`Hyperparameter::Tuned`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Estimator {
    /// Inverse propensity scores.
    Ips,
    /// IPS divided by the sum of the weights, not by n.
    Snips,
    /// IPS with weights clipped at c.
    ClippedIps(Hyperparameter),
    /// Doubly robust where w ≤ c, the model alone elsewhere.
    Switch(Hyperparameter),
    /// The direct method: the model's predictions alone.
    Dm,
    /// Doubly robust.
    Dr,
    /// Doubly robust, its correction divided by the sum of the weights.
    Sndr,
    /// Doubly robust with optimistic shrinkage of the weights.
    Drs(Hyperparameter),
}

/// The number that trades bias for variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hyperparameter {
    /// This value.
    Given(f64),
    /// The value of a grid with the least estimated bias² + variance (Su et al. 2020, §5):
    ///
    /// bias = mean of (w − ŵ)(ℓ − f̂),  variance = that of the estimate, as for the normal interval
    ///
    /// c is one of 1, 2, 4, …, 2¹⁹ or ∞; λ is c².
    Tuned,
}

/// An estimator with its c or λ settled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rule {
    pub(crate) estimator: Estimator,
    /// c or λ; infinite where weights are left alone.
    pub(crate) limit: f64,
}

/// The values tried for c.
fn grid() -> impl Iterator<Item = f64> {
    let powers = (0..20).map(|k| f64::from(1_u32 << k));
    powers.chain([f64::INFINITY])
}

impl Estimator {
    /// All estimators, with c and λ tuned.
    pub const ALL: [Self; 8] = [
        Self::Ips,
        Self::Snips,
        Self::ClippedIps(Hyperparameter::Tuned),
        Self::Switch(Hyperparameter::Tuned),
        Self::Dm,
        Self::Dr,
        Self::Sndr,
        Self::Drs(Hyperparameter::Tuned),
    ];

    /// Its name on the command line, without c or λ.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ips => "ips",
            Self::Snips => "snips",
            Self::ClippedIps(_) => "clipped-ips",
            Self::Switch(_) => "switch",
            Self::Dm => "dm",
            Self::Dr => "dr",
            Self::Sndr => "sndr",
            Self::Drs(_) => "drs",
        }
    }

    /// Whether it uses the predictions f̂ and E_q f̂.
    pub fn needs_model(self) -> bool {
        !matches!(self, Self::Ips | Self::Snips | Self::ClippedIps(_))
    }

    /// c or λ, for the estimators that have one.
    pub(crate) fn hyperparameter(self) -> Option<Hyperparameter> {
        match self {
            Self::ClippedIps(number) | Self::Switch(number) | Self::Drs(number) => Some(number),
            Self::Ips | Self::Snips | Self::Dm | Self::Dr | Self::Sndr => None,
        }
    }

    /// Whether it is a mean of terms, not a ratio of sums.
    pub(crate) fn is_mean(self) -> bool {
        !matches!(self, Self::Snips | Self::Sndr)
    }

    /// The rules it chooses among: only one, unless it is tuned.
    pub(crate) fn rules(self) -> Vec<Rule> {
        let rule = |limit| Rule {
            estimator: self,
            limit,
        };
        match self.hyperparameter() {
            None => vec![rule(f64::INFINITY)],
            Some(Hyperparameter::Given(limit)) => vec![rule(limit)],
            Some(Hyperparameter::Tuned) => grid()
                .map(|c| match self {
                    Self::Drs(_) => rule(c * c),
                    _ => rule(c),
                })
                .collect(),
        }
    }
}

impl Rule {
    /// ŵ, for a weight w.
    #[inline(always)]
    pub(crate) fn weight(self, w: f64) -> f64 {
        match self.estimator {
            Estimator::ClippedIps(_) => w.min(self.limit),
            Estimator::Switch(_) => {
                if w <= self.limit {
                    w
                } else {
                    0.0
                }
            }
            // λw/(w² + λ) written so that neither λ = ∞ nor a huge w gives NaN.
            Estimator::Drs(_) => w / (1.0 + w * (w / self.limit)),
            Estimator::Dm => 0.0,
            Estimator::Ips | Estimator::Snips | Estimator::Dr | Estimator::Sndr => w,
        }
    }

    /// The estimator with the c or λ that was settled on.
    pub(crate) fn used(self) -> Estimator {
        let given = Hyperparameter::Given(self.limit);
        match self.estimator {
            Estimator::ClippedIps(_) => Estimator::ClippedIps(given),
            Estimator::Switch(_) => Estimator::Switch(given),
            Estimator::Drs(_) => Estimator::Drs(given),
            other => other,
        }
    }

    /// Whether u is not 0.
    pub(crate) fn has_policy_predicted(self) -> bool {
        self.estimator.needs_model()
    }

    /// The largest ŵ for weights up to `bound`.
    pub(crate) fn largest_weight(self, bound: f64) -> f64 {
        match self.estimator {
            // ŵ is largest, √λ/2, at w = √λ.
            Estimator::Drs(_) if self.limit.sqrt() < bound => 0.5 * self.limit.sqrt(),
            Estimator::Drs(_) => self.weight(bound),
            Estimator::Switch(_) => bound.min(self.limit),
            _ => self.weight(bound),
        }
    }

    /// Writes r = ŵ(ℓ − f̂), or ŵℓ, and ŵ for each event.
    pub(crate) fn residuals(self, events: &WeightedEvents<'_>, r: &mut [f64], shrunk: &mut [f64]) {
        let predicted = events.predicted.filter(|_| self.has_policy_predicted());
        shrink(self, events.weights, shrunk);
        residuals(events.losses, predicted, shrunk, r);
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn shrink(rule: Rule, weights: &[f64], out: &mut [f64]) {
    // The choice is made once, outside the loop, so that each loop is simple enough for vectors.
    match rule.estimator {
        Estimator::ClippedIps(_) | Estimator::Switch(_) | Estimator::Drs(_) => {
            for (out, &w) in out.iter_mut().zip(weights) {
                *out = rule.weight(w);
            }
        }
        Estimator::Dm => out.fill(0.0),
        _ => out.copy_from_slice(weights),
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn residuals(losses: &[f64], predicted: Option<&[f64]>, weights: &[f64], out: &mut [f64]) {
    match predicted {
        None => {
            for ((out, loss), w) in out.iter_mut().zip(losses).zip(weights) {
                *out = w * loss;
            }
        }
        Some(predicted) => {
            for (((out, loss), w), fhat) in out.iter_mut().zip(losses).zip(weights).zip(predicted) {
                *out = w * (loss - fhat);
            }
        }
    }
}

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.hyperparameter() {
            Some(Hyperparameter::Given(limit)) => write!(f, "{}:{limit}", self.name()),
            _ => f.write_str(self.name()),
        }
    }
}

/// As text, the same as it is displayed.
impl Serialize for Estimator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Estimator {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = String::deserialize(source)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl FromStr for Estimator {
    type Err = UnknownEstimator;

    fn from_str(text: &str) -> Result<Self, UnknownEstimator> {
        let unknown = || UnknownEstimator {
            text: text.to_owned(),
        };
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => {
                let number: f64 = number.parse().map_err(|_| unknown())?;
                if !(0.0 < number) {
                    return Err(unknown());
                }
                (name, Some(number))
            }
            None => (text, None),
        };
        let found = Self::ALL.into_iter().find(|found| found.name() == name);
        let found = found.ok_or_else(unknown)?;
        match (found, number.map(Hyperparameter::Given)) {
            (found, None) => Ok(found),
            (Self::ClippedIps(_), Some(number)) => Ok(Self::ClippedIps(number)),
            (Self::Switch(_), Some(number)) => Ok(Self::Switch(number)),
            (Self::Drs(_), Some(number)) => Ok(Self::Drs(number)),
            _ => Err(unknown()),
        }
    }
}

/// No estimator has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no estimator {text:?}, expected one of ips, snips, clipped-ips, switch, dm, dr, sndr, drs; clipped-ips, switch \
     and drs are tuned, or take a positive number as in clipped-ips:5"
)]
pub struct UnknownEstimator {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let given = Hyperparameter::Given(2.5);
        let more = [
            Estimator::ClippedIps(given),
            Estimator::Switch(given),
            Estimator::Drs(given),
        ];
        for estimator in Estimator::ALL.into_iter().chain(more) {
            assert_eq!(estimator.to_string().parse(), Ok(estimator));
        }
        for bad in [
            "",
            "IPS",
            "ips:3",
            "switch:",
            "switch:0",
            "drs:NaN",
            "clipped-ips:-1",
        ] {
            let error = bad.parse::<Estimator>().expect_err(bad);
            assert!(error.to_string().contains("sndr"), "{error}");
        }
    }

    #[test]
    fn weights_are_shrunk_as_stated() {
        let shrunk = |name: &str, w: f64| {
            let estimator: Estimator = name.parse().expect("a name");
            estimator.rules()[0].weight(w)
        };
        assert_eq!(shrunk("ips", 7.0), 7.0);
        assert_eq!(shrunk("clipped-ips:5", 7.0), 5.0);
        assert_eq!(shrunk("clipped-ips:5", 3.0), 3.0);
        assert_eq!(shrunk("switch:5", 5.0), 5.0);
        assert_eq!(shrunk("switch:5", 5.1), 0.0);
        assert_eq!(shrunk("dm", 7.0), 0.0);
        // λw/(w² + λ) = 9 · 3/(9 + 9).
        assert_eq!(shrunk("drs:9", 3.0), 1.5);
        assert_eq!(shrunk("drs:inf", 1e100), 1e100);
        assert!((shrunk("drs:9", 1e100) - 9e-100).abs() < 1e-114);
    }

    #[test]
    fn no_weight_is_shrunk_to_more_than_the_largest() {
        for name in [
            "clipped-ips:5",
            "switch:5",
            "drs:25",
            "ips",
            "dm",
            "drs:400",
        ] {
            let estimator: Estimator = name.parse().expect("a name");
            let rule = estimator.rules()[0];
            for bound in [0.5, 3.0, 5.0, 8.0] {
                let seen = (0..=1_000).map(|i| rule.weight(bound * f64::from(i) / 1_000.0));
                let most = seen.fold(0.0, f64::max);
                let largest = rule.largest_weight(bound);
                assert!(most <= largest && largest < most + 0.02, "{name} {bound}");
            }
        }
    }

    #[test]
    fn a_tuned_number_is_one_of_a_grid() {
        let rules = Estimator::Drs(Hyperparameter::Tuned).rules();
        assert_eq!(rules.len(), 21);
        assert_eq!(rules[3].limit, 64.0);
        assert_eq!(rules[20].limit, f64::INFINITY);
    }
}
