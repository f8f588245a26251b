/// The empirical Bernstein bound (Maurer & Pontil 2009, Theorem 4), applied to both sides.
///
/// For independent terms in an interval of length R with sample variance V,
///
/// |mean − truth| ≤ √(2V ln(4/α)/n) + 7R ln(4/α)/(3(n − 1))
///
/// with probability at least 1 − α. Where c or λ was chosen with the same events, α is divided by the number of choices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EmpiricalBernstein {
    pub(crate) n: u64,
    pub(crate) mean: f64,
    pub(crate) variance: f64,
    pub(crate) range: f64,
    pub(crate) choices: usize,
}

impl EmpiricalBernstein {
    /// The interval, cut to [0, 1], where every value lies; none where nothing is left of it.
    pub(crate) fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        if self.n < 2 {
            return Some((0.0, 1.0));
        }
        let margin = self.margin(alpha, self.n as f64);
        let (low, high) = (self.mean - margin, self.mean + margin);
        (low <= 1.0 && 0.0 <= high).then(|| (low.max(0.0), high.min(1.0)))
    }

    fn margin(&self, alpha: f64, n: f64) -> f64 {
        let log = libm::log(4.0 * self.choices as f64 / alpha);
        (2.0 * self.variance * log / n).sqrt() + 7.0 * self.range * log / (3.0 * (n - 1.0))
    }

    /// How many times as many events would halve the margin.
    pub(crate) fn times_until_half(&self, alpha: f64) -> Option<f64> {
        if self.n < 2 {
            return None;
        }
        let n = self.n as f64;
        let goal = 0.5 * self.margin(alpha, n);
        // Four times as many events halve the first part of the margin, about twice as many the second.
        let (mut few, mut many) = (1.0, 4.0);
        while few + 1e-3 < many {
            let middle = 0.5 * (few + many);
            if goal < self.margin(alpha, middle * n) {
                few = middle;
            } else {
                many = middle;
            }
        }
        Some(many)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let bernstein = EmpiricalBernstein {
            n: 10_001,
            mean: 0.5,
            variance: 0.25,
            range: 3.0,
            choices: 1,
        };
        let log = 80.0_f64.ln();
        let margin = (0.5 * log / 10_001.0).sqrt() + 7.0 * log / 10_000.0;
        let (low, high) = bernstein.interval(0.05).expect("values fit");
        assert!((low - (0.5 - margin)).abs() < 1e-12);
        assert!((high - (0.5 + margin)).abs() < 1e-12);
        let times = bernstein.times_until_half(0.05).expect("many events");
        assert!((3.0..4.0).contains(&times), "{times}");
        // The better of three bounds holds at a third of the level each.
        let chosen = EmpiricalBernstein {
            choices: 3,
            ..bernstein
        };
        assert_eq!(chosen.interval(0.15), bernstein.interval(0.05));
        let beyond = EmpiricalBernstein {
            mean: 1.5,
            ..bernstein
        };
        assert_eq!(beyond.interval(0.05), None);
    }

    #[test]
    fn one_event_says_nothing() {
        let bernstein = EmpiricalBernstein {
            n: 1,
            mean: 0.5,
            variance: f64::NAN,
            range: 1.0,
            choices: 1,
        };
        assert_eq!(bernstein.interval(0.05), Some((0.0, 1.0)));
        assert_eq!(bernstein.times_until_half(0.05), None);
    }
}
