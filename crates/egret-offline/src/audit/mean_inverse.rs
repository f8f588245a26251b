use serde::Serialize;

/// The mean of 1/p, which is 1 if densities are right, with its standard error.
///
/// Bets that it is smaller need a bound on 1/p. Where there is none, this is what shows densities that are too large. It is an
/// asymptotic test: right for many events, looked at once.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct MeanInverse {
    /// How many events.
    pub events: u64,
    /// The mean of 1/p.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// How many events that error rests on: (Σψ²)²/Σψ⁴ of ψ = 1/p − mean.
    pub informative: f64,
    /// Σ (1/p)ⁱ for i = 1 … 4.
    #[serde(skip)]
    powers: [f64; 4],
}

/// A mean this many standard errors below 1 is wrong: a right log shows that once in 30,000 times.
const ERRORS: f64 = 4.0;

/// With fewer informative events the mean is below 1 until one more comes in.
const LEAST_INFORMATIVE: f64 = 40.0;

impl MeanInverse {
    /// Takes the next 1/p.
    pub(crate) fn observe(&mut self, inverse: f64) {
        self.events += 1;
        let mut power = 1.0;
        for sum in &mut self.powers {
            power *= inverse;
            *sum += power;
        }
    }

    /// With mean and error worked out.
    pub(crate) fn finished(mut self) -> Self {
        let n = self.events as f64;
        let [one, two, three, four] = self.powers.map(|sum| sum / n);
        let variance = (two - one * one).max(0.0);
        let fourth = four - 4.0 * one * three + 6.0 * one * one * two - 3.0 * one.powi(4);
        self.mean = one;
        self.error = (variance / n).sqrt();
        // All alike: their mean is known.
        self.informative = match 1e-12 * two < variance {
            true => (n * variance * variance / fourth).clamp(0.0, n),
            false => n,
        };
        self
    }

    /// Whether there is enough to tell.
    pub fn is_settled(&self) -> bool {
        LEAST_INFORMATIVE <= self.informative
    }

    /// Whether densities are too large.
    pub fn is_too_small(&self) -> bool {
        self.is_settled() && 1e-6 < 1.0 - self.mean && self.mean + ERRORS * self.error < 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl Iterator<Item = f64>) -> MeanInverse {
        let mut mean = MeanInverse::default();
        values.for_each(|value| mean.observe(value));
        mean.finished()
    }

    #[test]
    fn by_hand() {
        let half = of((0..400).map(|i| f64::from(i % 2)));
        assert_eq!(
            (half.mean, half.error, half.informative),
            (0.5, 0.025, 400.0)
        );
        assert!(half.is_too_small());
        let right = of((0..400).map(|i| f64::from(2 * (i % 2))));
        assert!(right.is_settled() && !right.is_too_small());
        assert!(of((0..400).map(|_| 0.1)).is_too_small());
        assert!(!of((0..400).map(|_| 1.0)).is_too_small());
        // One in a hundred is large: too few to tell.
        let few = of((0..1_000).map(|i| if i % 100 == 0 { 50.0 } else { 0.1 }));
        assert!(!few.is_settled() && !few.is_too_small());
    }
}
