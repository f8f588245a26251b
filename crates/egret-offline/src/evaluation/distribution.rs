use crate::interval::{Confidence, normal_quantile_above};
use crate::weighted_events::WeightedEvents;

/// How outcomes are distributed under another policy, beyond their mean: quantiles, and the mean of the worst.
///
/// With u = h w, F(v) = Σ u 1{s ≤ v} / Σ u is the self-normalized distribution function. Its error at v is
///
/// se(v)² = Σ u² (1{s ≤ v} − F(v))² / (Σ u)²
///
/// A quantile's interval holds the values v at which F(v) is within z·se(v) of its level (Woodruff 1952). The mean of the worst
/// share α is c ± E(s − c)₊/α with c the quantile where the worst begin (Rockafellar and Uryasev 2000), also called the
/// conditional value at risk. c is where the derivative by c is 0, so its own error does not count, to first order.
///
/// Outcomes are held in 4,096 bins of [0, 1], each with the mean of what it holds: outcomes of few values, such as 0 and 1,
/// are exact, others within 1/4,096 of their range.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeDistribution {
    bins: Vec<Sums>,
    all: Sums,
    /// How many events, and the largest u.
    events: u64,
    largest: f64,
}

/// Sums over some events.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sums {
    /// Σ u and Σ u s.
    weights: f64,
    values: f64,
    /// Σ u², Σ u² s and Σ u² s².
    squares: f64,
    square_values: f64,
    square_squares: f64,
}

/// Which outcomes are the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worst {
    /// The lowest, of rewards.
    Lowest,
    /// The highest, of losses.
    Highest,
}

/// An estimate with its normal interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DistributionEstimate {
    /// The value.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How many events it rests on: the effective sample size on the side of the quantile that has fewer.
    pub effective: f64,
    /// The largest weight, in means of all.
    pub largest_weight: f64,
}

impl DistributionEstimate {
    /// Whether the interval can be relied on: 30 effective events on each side, and no weight above five times the mean. Of
    /// logs with heavier tails those that happen to have no large weight look best and miss most, so that the effective number
    /// alone would not do (`tests/it/distribution.rs`).
    pub fn is_reliable(&self) -> bool {
        30.0 <= self.effective && self.largest_weight <= 5.0
    }
}

const BINS: usize = 4_096;

impl Default for OutcomeDistribution {
    fn default() -> Self {
        Self {
            bins: vec![Sums::default(); BINS],
            all: Sums::default(),
            events: 0,
            largest: 0.0,
        }
    }
}

impl OutcomeDistribution {
    /// Adds events; their losses are in [0, 1].
    pub fn observe(&mut self, events: &WeightedEvents<'_>) {
        for (row, (&s, &w)) in events.losses.iter().zip(events.weights).enumerate() {
            let u = w * events.event_weights.map_or(1.0, |weights| weights[row]);
            let bin = ((s * BINS as f64) as usize).min(BINS - 1);
            self.bins[bin].add(u, s);
            self.all.add(u, s);
            self.events += 1;
            self.largest = self.largest.max(u);
        }
    }

    /// The value that a share `level` of outcomes does not exceed; none where no event has weight.
    pub fn quantile(&self, level: f64, confidence: Confidence) -> Option<DistributionEstimate> {
        let z = normal_quantile_above(0.5 * confidence.alpha());
        let first = |reached: &dyn Fn(f64, f64) -> bool| {
            let mut below = self.cumulated();
            below.find(|(_, sums)| reached(self.share(sums), z * self.error(sums)))
        };
        let (bin, below) = first(&|share, _| level <= share)?;
        let value = |found: Option<(usize, Sums)>| found.map(|(bin, _)| self.bins[bin].mean());
        Some(DistributionEstimate {
            estimate: self.bins[bin].mean(),
            low: value(first(&|share, error| level <= share + error)).unwrap_or(0.0),
            high: value(first(&|share, error| level <= share - error)).unwrap_or(1.0),
            effective: self.fewer_on_a_side(bin, &below),
            largest_weight: self.largest * self.events as f64 / self.all.weights,
        })
    }

    /// The mean of the worst share `share` of outcomes; none where no event has weight.
    pub fn mean_of_worst(
        &self,
        share: f64,
        worst: Worst,
        confidence: Confidence,
    ) -> Option<DistributionEstimate> {
        let level = match worst {
            Worst::Lowest => share,
            Worst::Highest => 1.0 - share,
        };
        let from = self.quantile(level, confidence)?;
        let (c, sign) = match worst {
            Worst::Lowest => (from.estimate, -1.0),
            Worst::Highest => (from.estimate, 1.0),
        };
        // Of those beyond c: Σ u |s − c|, Σ u² |s − c| and Σ u² (s − c)².
        let (mut first, mut middle, mut second) = (0.0, 0.0, 0.0);
        for bin in &self.bins {
            if 0.0 < bin.weights && 0.0 < sign * (bin.mean() - c) {
                first += sign * (bin.values - c * bin.weights);
                middle += sign * (bin.square_values - c * bin.squares);
                second += bin.square_squares - 2.0 * c * bin.square_values + c * c * bin.squares;
            }
        }
        let all = &self.all;
        let mean = first / all.weights;
        let variance = second - 2.0 * mean * middle + mean * mean * all.squares;
        let z = normal_quantile_above(0.5 * confidence.alpha());
        let error = z * variance.max(0.0).sqrt() / (all.weights * share);
        let estimate = c + sign * mean / share;
        Some(DistributionEstimate {
            estimate,
            low: (estimate - error).max(0.0),
            high: (estimate + error).min(1.0),
            effective: from.effective,
            largest_weight: from.largest_weight,
        })
    }

    /// The bins that hold events, each with the sums up to its end.
    fn cumulated(&self) -> impl Iterator<Item = (usize, Sums)> {
        let held = self.bins.iter().enumerate();
        let held = held.filter(|(_, bin)| 0.0 < bin.weights);
        held.scan(Sums::default(), |below, (place, bin)| {
            *below = below.plus(bin);
            Some((place, *below))
        })
    }

    /// F.
    fn share(&self, below: &Sums) -> f64 {
        // The last bin's sum may be rounded below 1.
        let share = below.weights / self.all.weights;
        if share < 1.0 - 1e-12 { share } else { 1.0 }
    }

    /// The standard error of F.
    fn error(&self, below: &Sums) -> f64 {
        let share = self.share(below);
        let squares = (1.0 - 2.0 * share) * below.squares + share * share * self.all.squares;
        squares.max(0.0).sqrt() / self.all.weights
    }

    fn fewer_on_a_side(&self, bin: usize, below: &Sums) -> f64 {
        let bins = self.bins[bin + 1..].iter();
        let above = bins.fold(Sums::default(), |sums, bin| sums.plus(bin));
        // Where all lie on one side, as where all are 0, there is no other to know.
        let sides = [below, &above]
            .into_iter()
            .filter(|side| 0.0 < side.squares);
        sides
            .map(|side| side.weights * side.weights / side.squares)
            .fold(f64::INFINITY, f64::min)
    }
}

impl Sums {
    fn add(&mut self, u: f64, s: f64) {
        self.weights += u;
        self.values += u * s;
        self.squares += u * u;
        self.square_values += u * u * s;
        self.square_squares += u * u * s * s;
    }

    fn plus(mut self, other: &Self) -> Self {
        self.weights += other.weights;
        self.values += other.values;
        self.squares += other.squares;
        self.square_values += other.square_values;
        self.square_squares += other.square_squares;
        self
    }

    fn mean(&self) -> f64 {
        self.values / self.weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(losses: &[f64], weights: &[f64]) -> OutcomeDistribution {
        let mut distribution = OutcomeDistribution::default();
        distribution.observe(&WeightedEvents {
            losses,
            weights,
            ..WeightedEvents::default()
        });
        distribution
    }

    fn confidence() -> Confidence {
        Confidence::new(0.95).expect("a level")
    }

    #[test]
    fn few_values_are_exact() {
        // A tenth at 0, four tenths at 0.25, half at 1.
        let found = of(&[0.0, 0.25, 1.0, 0.25], &[1.0, 3.0, 5.0, 1.0]);
        for (level, value) in [
            (0.05, 0.0),
            (0.1, 0.0),
            (0.3, 0.25),
            (0.5, 0.25),
            (0.7, 1.0),
        ] {
            let quantile = found.quantile(level, confidence()).expect("events");
            assert_eq!(quantile.estimate, value, "{level}");
            assert!(quantile.low <= value && value <= quantile.high);
        }
        let worst = |share, worst| {
            let found = found.mean_of_worst(share, worst, confidence());
            found.expect("events").estimate
        };
        assert_eq!(worst(0.5, Worst::Highest), 1.0);
        // Half at 1, a tenth at 0.25.
        assert!((worst(0.6, Worst::Highest) - (0.5 + 0.025) / 0.6).abs() < 1e-12);
        // A tenth at 0, a tenth at 0.25.
        assert!((worst(0.2, Worst::Lowest) - 0.125).abs() < 1e-12);
        let mean = 0.1 + 0.5;
        assert!((worst(1.0, Worst::Highest) - mean).abs() < 1e-12);
        assert!((worst(1.0, Worst::Lowest) - mean).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_known_without_weight() {
        assert_eq!(of(&[], &[]).quantile(0.5, confidence()), None);
        assert_eq!(of(&[0.5], &[0.0]).quantile(0.5, confidence()), None);
    }
}
