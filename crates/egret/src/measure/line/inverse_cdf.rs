/// A distribution on the line with a log-concave density f and both of its tails.
///
/// Then log F and log (1 − F) are concave too, so Newton's method on them converges.
pub(crate) trait LogConcave {
    /// Where t lies.
    fn domain(&self) -> (f64, f64);
    /// F(t), with a small relative error even where it is tiny.
    fn below(&self, t: f64) -> f64;
    /// 1 − F(t), with a small relative error even where it is tiny.
    fn above(&self, t: f64) -> f64;
    /// f(t).
    fn density(&self, t: f64) -> f64;
}

/// F⁻¹: a table to start from, then Newton's method on log F, or log (1 − F) in the upper half.
///
/// The table is interpolated by cubics, so that one or two evaluations of F are enough.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InverseCdf {
    knots: Vec<Knot>,
}

/// F(t) = k / CELLS at the k-th, and dt/du there.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Knot {
    t: f64,
    slope: f64,
}

const CELLS: usize = 128;

impl InverseCdf {
    /// `start` is anywhere near the middle.
    pub(crate) fn new(distribution: &impl LogConcave, start: f64) -> Self {
        let (low, high) = distribution.domain();
        let mut knots = Vec::with_capacity(CELLS + 1);
        let mut guess = start;
        for k in 0..=CELLS {
            let u = k as f64 / CELLS as f64;
            let t = solve(distribution, u, (low, high), guess);
            knots.push(Knot {
                t,
                slope: 1.0 / distribution.density(t),
            });
            if 0 < k {
                guess = t;
            }
        }
        Self { knots }
    }

    /// The t with F(t) = u, for u ∈ [0, 1].
    pub(crate) fn at(&self, distribution: &impl LogConcave, u: f64) -> f64 {
        let place = u * CELLS as f64;
        let cell = (place as usize).min(CELLS - 1);
        let (left, right) = (self.knots[cell], self.knots[cell + 1]);
        let guess = match cell {
            // Slopes at the ends may be infinite.
            0 => right.t,
            _ if cell == CELLS - 1 => left.t,
            _ => hermite(left, right, place - cell as f64),
        };
        solve(distribution, u, (left.t, right.t), guess)
    }
}

/// The cubic through both knots with their slopes, a fraction `s` of the way.
fn hermite(left: Knot, right: Knot, s: f64) -> f64 {
    let width = 1.0 / CELLS as f64;
    let rest = 1.0 - s;
    let ends = left.t * rest * rest * (1.0 + 2.0 * s) + right.t * s * s * (3.0 - 2.0 * s);
    ends + width * s * rest * (left.slope * rest - right.slope * s)
}

/// Newton's method from `guess`, with bisection where a step would leave the bracket.
fn solve(distribution: &impl LogConcave, u: f64, (low, high): (f64, f64), guess: f64) -> f64 {
    let upper = 0.5 < u;
    // Exact for u in [1/2, 1].
    let target = if upper { 1.0 - u } else { u };
    if target <= 0.0 {
        return if upper { high } else { low };
    }
    let (mut left, mut right) = (low, high);
    let mut t = guess.clamp(low, high);
    for _ in 0..MAX_STEPS {
        let tail = if upper {
            distribution.above(t)
        } else {
            distribution.below(t)
        };
        let log_ratio = libm::log(tail / target);
        let excess = if upper { -log_ratio } else { log_ratio };
        if 0.0 < excess {
            right = t;
        } else {
            left = t;
        }
        let newton = t - tail * excess / distribution.density(t);
        if excess.abs() < CLOSE {
            // The error left is of the order of the square.
            return newton.clamp(low, high);
        }
        let next = if left < newton && newton < right {
            newton
        } else {
            left + 0.5 * (right - left)
        };
        if next == t {
            return t;
        }
        t = next;
    }
    t
}

const CLOSE: f64 = 1e-8;

/// Bisection alone would be done: 2⁻²⁰⁰ of the domain is no distance.
const MAX_STEPS: usize = 200;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The logistic distribution: F and F⁻¹ are closed forms. Counts evaluations.
    struct Logistic(Cell<usize>);

    impl LogConcave for Logistic {
        fn domain(&self) -> (f64, f64) {
            (-700.0, 700.0)
        }

        fn below(&self, t: f64) -> f64 {
            self.0.set(self.0.get() + 1);
            1.0 / (1.0 + (-t).exp())
        }

        fn above(&self, t: f64) -> f64 {
            self.below(-t)
        }

        fn density(&self, t: f64) -> f64 {
            1.0 / ((1.0 + t.exp()) * (1.0 + (-t).exp()))
        }
    }

    #[test]
    fn quantiles_of_the_logistic_distribution() {
        let logistic = Logistic(Cell::new(0));
        for start in [0.0, -30.0, 400.0] {
            let inverse = InverseCdf::new(&logistic, start);
            for i in 1..10_000 {
                let u = f64::from(i) / 10_000.0;
                let expected = (u / (1.0 - u)).ln();
                assert!(
                    (inverse.at(&logistic, u) - expected).abs() < 1e-14 * (1.0 + expected.abs())
                );
            }
            for u in [1e-300, 1e-100, 1e-20] {
                let relative = inverse.at(&logistic, u) / u.ln();
                assert!((relative - 1.0).abs() < 1e-14);
            }
            assert_eq!(inverse.at(&logistic, 0.0), -700.0);
            assert_eq!(inverse.at(&logistic, 1.0), 700.0);
        }
    }

    #[test]
    fn a_quantile_takes_two_evaluations_or_fewer() {
        let logistic = Logistic(Cell::new(0));
        let inverse = InverseCdf::new(&logistic, 0.0);
        logistic.0.set(0);
        for i in 0..10_000 {
            inverse.at(&logistic, (f64::from(i) + 0.5) / 10_000.0);
        }
        assert!(logistic.0.get() < 20_000, "{}", logistic.0.get());
    }
}
