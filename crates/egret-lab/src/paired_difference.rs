use egret::{EventRng, Stream};
use serde::{Deserialize, Serialize};

/// The mean of paired differences with a bootstrap interval, and who it speaks for.
///
/// Differences are theirs − ours, so that above 0 is a win of ours. The interval is the percentile interval of the mean over
/// resampled pairs; an interval that holds 0 is a tie (the paper, §4.2).
///
/// ```
/// use egret_lab::{PairedDifference, Standing};
///
/// let ours = [0.10, 0.12, 0.11, 0.10, 0.13];
/// let theirs = [0.15, 0.16, 0.16, 0.14, 0.17];
/// let difference = PairedDifference::new(&ours, &theirs, 0.9, 1).expect("five pairs");
/// assert_eq!(difference.standing(), Standing::Win);
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
    /// How many pairs.
    pub pairs: usize,
}

/// Who did better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The interval lies above 0.
    Win,
    /// It holds 0.
    Tie,
    /// It lies below 0.
    Loss,
}

impl Standing {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Win => "win",
            Self::Tie => "tie",
            Self::Loss => "loss",
        }
    }
}

impl PairedDifference {
    /// How often pairs are drawn anew.
    pub const RESAMPLES: u64 = 10_000;

    /// Of losses under the same seeds, in the same order. None without a pair, or where the lengths differ.
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

    /// Win, tie or loss of ours.
    pub fn standing(&self) -> Standing {
        if 0.0 < self.low {
            Standing::Win
        } else if self.high < 0.0 {
            Standing::Loss
        } else {
            Standing::Tie
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
