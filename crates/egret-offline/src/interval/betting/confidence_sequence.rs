use std::sync::Arc;

use egret::Objective;
use serde::Serialize;

use super::lower_mean::{LogWealth, LowerMean, Prior, largest_refuted};

/// Lower and upper bounds on a mean that hold at all times at once: one may look at any time, and stop at any time.
///
/// Each side is a lower bound, of v or of `most` − v, by bets on several X ≥ 0 that share one wealth: [`Bet`](super::Bet) has
/// those of the value of a policy, and [`PolicyComparison`](crate::PolicyComparison) those of a difference. With a bound on the
/// weights there are X that spread little where losses do, which no choice made before the data would find.
///
/// Half of α goes to each side.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sides {
    /// The bound on v.
    pub(crate) below: Side,
    /// The bound on `most` − v, where `most` is the largest possible mean.
    pub(crate) above: Side,
}

/// One lower bound: gamblers who share their wealth and all bet that the mean is larger than claimed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Side {
    parts: Vec<BetPart>,
}

#[derive(Debug, Clone, PartialEq)]
struct BetPart {
    /// ln of what it starts with.
    log_share: f64,
    /// The mean of hX is k plus h times the mean that is bounded.
    k: f64,
    /// What it puts on each bet.
    prior: Arc<Prior>,
    mean: LowerMean,
}

impl Side {
    /// Parts with the share of the wealth that each starts with, up to a factor, and k.
    pub(crate) fn new(parts: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        Self::with_priors(parts.map(|(share, k)| (share, k, Arc::clone(Prior::usual()))))
    }

    /// The same with what each part puts on each bet.
    pub(crate) fn with_priors(parts: impl Iterator<Item = (f64, f64, Arc<Prior>)> + Clone) -> Self {
        let total: f64 = parts.clone().map(|(share, ..)| share).sum();
        let parts = parts.map(|(share, k, prior)| BetPart {
            log_share: libm::log(share / total),
            k,
            prior,
            mean: LowerMean::new(),
        });
        Self {
            parts: parts.collect(),
        }
    }

    /// Adds events to one of the parts.
    pub(crate) fn observe(&mut self, part: usize, xs: &[f64], event_weights: Option<&[f64]>) {
        let mean = &mut self.parts[part].mean;
        match event_weights {
            Some(event_weights) => mean.observe_scaled(xs, event_weights),
            None => mean.observe(xs),
        }
    }

    fn merge(&mut self, later: &Self) {
        for (part, more) in self.parts.iter_mut().zip(&later.parts) {
            part.mean.merge(&more.mean);
        }
    }

    /// The same events for gamblers who start like these, and of whom there may be fewer.
    fn started_as(&self, start: &Self) -> Self {
        let parts = start.parts.iter().zip(&self.parts);
        let parts = parts.map(|(start, own)| BetPart {
            mean: own.mean.clone(),
            ..start.clone()
        });
        Self {
            parts: parts.collect(),
        }
    }

    fn log_wealth(&self, v: f64, times: f64) -> LogWealth {
        let mut wealths = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let LogWealth { log, slope } =
                part.mean.log_wealth_after(v, part.k, times, &part.prior);
            wealths.push(LogWealth {
                log: log + part.log_share,
                slope,
            });
        }
        LogWealth::total(&wealths)
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

    /// The same events for gamblers who start like these on each side: the first of those here, or all.
    pub(crate) fn started_as(&self, start: &Side) -> Self {
        Self {
            below: self.below.started_as(start),
            above: self.above.started_as(start),
        }
    }

    /// (low, high) for a mean in [0, most]. It ever misses with probability at most α. None if all of [0, most] is refuted:
    /// then the weights do not have mean 1.
    pub(crate) fn interval(&self, alpha: f64, most: f64) -> Option<(f64, f64)> {
        let (low, high) = self.interval_after(alpha, most, 1.0);
        (low <= high).then_some((low, high))
    }

    /// The value against which the richer side has least: it is in every interval that is not empty.
    pub(crate) fn least_refuted(&self, most: f64) -> f64 {
        let (mut low, mut high) = (0.0, most);
        // The wealth of one side falls, that of the other rises.
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            let (below, above) = (&self.below, &self.above);
            if above.log_wealth(most - middle, 1.0).log < below.log_wealth(middle, 1.0).log {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }

    fn interval_after(&self, alpha: f64, most: f64, times: f64) -> (f64, f64) {
        let low = self.below.bound(0.5 * alpha, most, times);
        let high = most - self.above.bound(0.5 * alpha, most, times);
        (low, high)
    }

    /// How many times as many events would halve the interval, if more events are like those seen.
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

/// Bisections of [0, most]: down to 10⁻¹² of it.
const HALVINGS: usize = 40;

/// The interval as it was after some events.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PathPoint {
    /// How many events.
    pub n: u64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl PathPoint {
    /// From an interval of mean losses to one of mean outcomes, in the units of the objective.
    pub fn in_units(self, objective: &Objective) -> Self {
        let (low, high) = objective.interval(self.low, self.high);
        Self { low, high, ..self }
    }
}

/// Intersects each interval with all earlier ones: what was once ruled out stays ruled out, at the same level.
///
/// This is valid only if the mean is the same at every event. The interval after n events is for the mean of those n. If
/// contexts or losses drift, that mean moves, and a value that an early interval ruled out may become true later.
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

/// The sums after some numbers of events: six in each doubling.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    points: Vec<(u64, Sides)>,
}

impl Path {
    pub(crate) fn new() -> Self {
        Self { points: Vec::new() }
    }

    /// The next number of events to keep after `n`.
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

    /// Adds the path of a later part, which begins after `n` events with these sides. A part that was summed alone has more
    /// points than are kept here: some are dropped, so that memory stays constant.
    pub(crate) fn append(&mut self, n: u64, sides: &Sides, later: &Self) {
        for (more, theirs) in &later.points {
            let last = self.points.last().map_or(0, |(n, _)| *n);
            if Self::next_after(last) <= n + more {
                let mut both = sides.clone();
                both.merge(theirs);
                self.points.push((n + more, both));
            }
        }
    }

    /// The interval at each point and after `last`, up to the first that holds no value. `of` makes the sides that it is of.
    pub(crate) fn intervals(
        &self,
        alpha: f64,
        most: f64,
        last: (u64, &Sides),
        of: impl Fn(&Sides) -> Sides,
    ) -> Vec<PathPoint> {
        let points = self.points.iter().map(|(n, sides)| (*n, sides));
        let known = self.points.last().map_or(0, |(n, _)| *n);
        points
            .chain((known < last.0).then_some(last))
            .map_while(|(n, sides)| {
                let (low, high) = of(sides).interval(alpha, most)?;
                Some(PathPoint { n, low, high })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_in_units_is_turned_round_for_rewards() {
        let point = PathPoint {
            n: 7,
            low: 0.25,
            high: 0.75,
        };
        let expected = PathPoint {
            n: 7,
            low: 5.0,
            high: 15.0,
        };
        for objective in [
            Objective::maximize(0.0, 20.0),
            Objective::minimize(0.0, 20.0),
        ] {
            assert_eq!(point.in_units(&objective.expect("a range")), expected);
        }
        let skewed = PathPoint { high: 1.0, ..point };
        let revenue = Objective::maximize(0.0, 20.0).expect("a range");
        let found = skewed.in_units(&revenue);
        assert_eq!((found.low, found.high), (0.0, 15.0));
    }

    #[test]
    fn looks_are_six_in_each_doubling() {
        let mut n = 0;
        let mut looks = Vec::new();
        while n < 1 << 20 {
            n = Path::next_after(n);
            looks.push(n);
        }
        assert_eq!(looks[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
        let in_doubling = |from: u64| looks.iter().filter(|&&n| from < n && n <= 2 * from).count();
        assert_eq!(in_doubling(1 << 12), 6);
        assert_eq!(in_doubling(1 << 19), 6);
        assert!(looks.contains(&(1 << 15)));
    }

    #[test]
    fn many_parts_do_not_make_a_long_path() {
        let sides = Sides {
            below: Side::new([(1.0, 0.0)].into_iter()),
            above: Side::new([(1.0, 0.0)].into_iter()),
        };
        let mut part = Path::new();
        let mut n = 0;
        while n < 4_096 {
            n = Path::next_after(n);
            part.push(n, &sides);
        }
        let mut whole = Path::new();
        for number in 0..1_000 {
            whole.append(4_096 * number, &sides, &part);
        }
        // 22 doublings.
        assert!(whole.points.len() <= 22 * 6, "{}", whole.points.len());
        assert!(part.points.len() < whole.points.len());
    }

    #[test]
    fn an_intersection_never_widens() {
        let point = |n, low, high| PathPoint { n, low, high };
        let path = [point(1, 0.0, 0.9), point(2, 0.2, 1.0), point(4, 0.1, 0.7)];
        let cut = running_intersection(&path);
        assert_eq!(
            cut,
            [point(1, 0.0, 0.9), point(2, 0.2, 0.9), point(4, 0.2, 0.7)]
        );
    }

    #[test]
    fn a_part_with_an_offset_bounds_the_same_mean() {
        // X = 0.25 throughout, and X + 3 with an offset of 3: both say that the mean is about ¼.
        let mut plain = Side::new([(1.0, 0.0)].into_iter());
        plain.observe(0, &[0.25; 4_000], None);
        let mut shifted = Side::new([(1.0, 3.0)].into_iter());
        shifted.observe(0, &[3.25; 4_000], None);
        for side in [plain, shifted] {
            let bound = side.bound(0.05, 1.0, 1.0);
            assert!((0.24..0.25).contains(&bound), "{bound}");
        }
    }

    #[test]
    fn a_certain_mean_needs_no_more_events() {
        let mut sides = Sides {
            below: Side::new([(1.0, 0.0)].into_iter()),
            above: Side::new([(1.0, 0.0)].into_iter()),
        };
        let half = [0.0, 1.0].repeat(500);
        sides.below.observe(0, &half, None);
        sides.above.observe(0, &half, None);
        let times = sides.times_until_half(0.05, 1.0).expect("it shrinks");
        // A little more than four: the price of looking at any time grows slowly.
        assert!((3.9..4.6).contains(&times), "{times}");
        let (low, high) = sides.interval(0.05, 1.0).expect("values fit");
        assert!((low + high - 1.0).abs() < 1e-9, "{low} {high}");
        assert!((sides.least_refuted(1.0) - 0.5).abs() < 1e-9);
    }
}
