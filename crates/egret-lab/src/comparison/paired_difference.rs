use egret::{EventRng, Stream};
use serde::{Deserialize, Serialize};

/// The mean of paired differences, with a bootstrap interval.
///
/// A difference is their loss minus ours, so that above 0 is a win for us. The interval is the percentile interval of the mean
/// over resampled pairs. If it contains 0, the result is a tie (the paper, §4.2).
///
/// ```
/// use egret_lab::{PairedDifference, PairedStanding};
///
/// let ours = [0.10, 0.12, 0.11, 0.10, 0.13];
/// let theirs = [0.15, 0.16, 0.16, 0.14, 0.17];
/// let difference = PairedDifference::new(&ours, &theirs, 0.9, 1).expect("five pairs");
/// assert_eq!(difference.standing(), PairedStanding::Win);
/// assert!((difference.mean - 0.044).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PairedDifference {
    /// Mean of theirs − ours.
    pub mean: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The number of pairs.
    pub pairs: usize,
}

/// Whether we did better than they.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairedStanding {
    /// The interval lies above 0.
    Win,
    /// The interval contains 0.
    Tie,
    /// The interval lies below 0.
    Loss,
}

impl PairedStanding {
    /// The word shown in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Win => "win",
            Self::Tie => "tie",
            Self::Loss => "loss",
        }
    }
}

impl PairedDifference {
    /// The number of bootstrap resamples.
    pub const RESAMPLES: u64 = 10_000;

    /// Compares losses under the same seeds, in the same order. `None` without a pair, or if the lengths differ.
    pub fn new(ours: &[f64], theirs: &[f64], confidence: f64, seed: u64) -> Option<Self> {
        if ours.is_empty() || ours.len() != theirs.len() {
            return None;
        }
        let differences: Vec<f64> = theirs.iter().zip(ours).map(|(t, o)| t - o).collect();
        let (low, high) = bootstrap_interval(&differences, confidence, seed);
        Some(Self {
            mean: mean(&differences),
            low,
            high,
            pairs: differences.len(),
        })
    }

    /// Our win, tie or loss.
    pub fn standing(&self) -> PairedStanding {
        if 0.0 < self.low {
            PairedStanding::Win
        } else if self.high < 0.0 {
            PairedStanding::Loss
        } else {
            PairedStanding::Tie
        }
    }
}

/// The percentile bootstrap interval of a mean.
pub fn bootstrap_interval(values: &[f64], confidence: f64, seed: u64) -> (f64, f64) {
    let count = values.len();
    let mut means: Vec<f64> = (0..PairedDifference::RESAMPLES)
        .map(|resample| {
            let mut rng = EventRng::new(seed, resample, Stream::World);
            let drawn = (0..count).map(|_| values[(rng.unit() * count as f64) as usize]);
            drawn.sum::<f64>() / count as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |level: f64| means[(level * (means.len() - 1) as f64).round() as usize];
    let tail = (1.0 - confidence) / 2.0;
    (at(tail), at(1.0 - tail))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
