use serde::Serialize;

use crate::LowerMean;
use crate::lower_mean::{largest_refuted, log_sum_exp};

/// Bounds on a mean from both sides that hold at all times at once, whenever one looks and stops.
///
/// For the value v of a policy, from weights w with mean 1 and losses in [0, 1]:
///
/// | side  | X        | its mean | asks of w  |
/// |-------|----------|----------|------------|
/// | below | wℓ       | v        | nothing    |
/// | above | w(1 − ℓ) | 1 − v    | nothing    |
/// | below | B − w(1 − ℓ) | v + B − 1 | w ≤ B |
/// | above | B − wℓ   | B − v    | w ≤ B      |
///
/// Each is a [`LowerMean`], of v or of 1 − v. With a bound B on the weights, the wealths of two X are averaged; that
/// helps where losses are near 0 or near 1, as then wℓ spreads less than w(1 − ℓ), or the other way round. For the
/// difference d = v₁ − v₂ of two policies X = w₁ℓ + w₂(1 − ℓ), which has mean 1 + d, and B + (w₁ − w₂)ℓ.
/// Doubly robust, X = B + E_q f̂ + w(ℓ − f̂) and X = B + 1 − E_q f̂ − w(ℓ − f̂) (Waudby-Smith et al. 2022).
///
/// Half of α goes to each side.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sides {
    /// Of v.
    pub(crate) below: Side,
    /// Of `sum` − v.
    pub(crate) above: Side,
}

/// A mixture of gamblers who all doubt that the mean is as low as they are told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Side {
    /// (c, X) where the mean of X is c more than the mean that is bounded.
    parts: Vec<(f64, LowerMean)>,
}

impl Side {
    pub(crate) fn new(offsets: &[f64]) -> Self {
        Self {
            parts: offsets
                .iter()
                .map(|&offset| (offset, LowerMean::new()))
                .collect(),
        }
    }

    /// Adds events to one of the parts.
    pub(crate) fn observe(&mut self, part: usize, xs: &[f64], shares: Option<&[f64]>) {
        let (_, mean) = &mut self.parts[part];
        match shares {
            Some(shares) => mean.observe_scaled(xs, shares),
            None => mean.observe(xs),
        }
    }

    fn merge(&mut self, later: &Self) {
        for ((_, mean), (_, more)) in self.parts.iter_mut().zip(&later.parts) {
            mean.merge(more);
        }
    }

    fn log_wealth(&self, v: f64, times: f64) -> f64 {
        let share = libm::log(self.parts.len() as f64);
        let logs: Vec<f64> = self
            .parts
            .iter()
            .map(|(offset, mean)| mean.log_wealth_after(v + offset, times) - share)
            .collect();
        log_sum_exp(&logs)
    }

    fn bound(&self, alpha: f64, most: f64, times: f64) -> f64 {
        largest_refuted(alpha, most, |v| self.log_wealth(v, times))
    }
}

impl Sides {
    pub(crate) fn merge(&mut self, later: &Self) {
        self.below.merge(&later.below);
        self.above.merge(&later.above);
    }

    /// (low, high) for a mean in [0, most], missing it ever with probability at most α. Where even the ends of
    /// [0, most] are refuted low is above high: the weights do not have mean 1.
    pub(crate) fn interval(&self, alpha: f64, most: f64) -> (f64, f64) {
        self.interval_after(alpha, most, 1.0)
    }

    fn interval_after(&self, alpha: f64, most: f64, times: f64) -> (f64, f64) {
        let low = self.below.bound(0.5 * alpha, most, times);
        let high = most - self.above.bound(0.5 * alpha, most, times);
        (low, high)
    }

    /// How many times as many events make the interval half as wide, if they are like those seen.
    pub(crate) fn times_until_half(&self, alpha: f64, most: f64) -> Option<f64> {
        let width = |times| {
            let (low, high) = self.interval_after(alpha, most, times);
            high - low
        };
        let goal = 0.5 * width(1.0);
        if !(0.0 < goal) {
            return None;
        }
        let (mut few, mut many) = (1.0, 2.0);
        while goal < width(many) {
            (few, many) = (many, 2.0 * many);
            if 1e9 < many {
                return None;
            }
        }
        while 1.01 * few < many {
            let middle = (few * many).sqrt();
            if goal < width(middle) {
                few = middle;
            } else {
                many = middle;
            }
        }
        Some(many)
    }
}

/// The interval as it stood after some events.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PathPoint {
    /// After so many events.
    pub n: u64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// Each interval cut with all before it: what was ruled out stays ruled out, at the same level.
pub fn running_intersection(path: &[PathPoint]) -> Vec<PathPoint> {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    path.iter()
        .map(|point| {
            (low, high) = (point.low.max(low), point.high.min(high));
            PathPoint {
                n: point.n,
                low,
                high,
            }
        })
        .collect()
}

/// Where a path is looked at: six times in each doubling.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    points: Vec<(u64, Sides)>,
}

impl Path {
    pub(crate) fn new() -> Self {
        Self { points: Vec::new() }
    }

    /// The first n to look at after `n`.
    pub(crate) fn next_after(n: u64) -> u64 {
        const PER_DOUBLING: f64 = 6.0;
        let at = |k: f64| libm::exp2(k / PER_DOUBLING).ceil() as u64;
        let mut k = (PER_DOUBLING * libm::log2(n.max(1) as f64)).floor();
        while at(k) <= n {
            k += 1.0;
        }
        at(k)
    }

    pub(crate) fn push(&mut self, n: u64, sides: &Sides) {
        self.points.push((n, sides.clone()));
    }

    /// Adds a later part's, which begins after `n` events with these sides.
    pub(crate) fn append(&mut self, n: u64, sides: &Sides, later: &Self) {
        for (more, theirs) in &later.points {
            let mut both = sides.clone();
            both.merge(theirs);
            self.points.push((n + more, both));
        }
    }

    pub(crate) fn intervals(&self, alpha: f64, most: f64) -> Vec<PathPoint> {
        self.points
            .iter()
            .map(|(n, sides)| {
                let (low, high) = sides.interval(alpha, most);
                PathPoint { n: *n, low, high }
            })
            .collect()
    }
}
