use serde::{Serialize, Serializer};

/// How often each size of weight was seen, in bins a quarter of a decade wide.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightHistogram {
    counts: [u64; BINS],
    /// The least and the largest weight in each bin.
    ends: [(f64, f64); BINS],
    zeros: u64,
    all: u64,
}

const BINS: usize = 64;
/// The lower end of the first bin; what is below counts in it.
const LEAST: f64 = 1e-6;
const BINS_PER_DECADE: f64 = 4.0;

/// A list of bins: from, to, share of events.
impl Serialize for WeightHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.bins())
    }
}

impl Default for WeightHistogram {
    fn default() -> Self {
        Self {
            counts: [0; BINS],
            ends: [(f64::INFINITY, 0.0); BINS],
            zeros: 0,
            all: 0,
        }
    }
}

impl WeightHistogram {
    /// Counts one.
    pub fn add(&mut self, weight: f64) {
        self.all += 1;
        if weight == 0.0 {
            self.zeros += 1;
        } else {
            let place = (weight / LEAST).log10() * BINS_PER_DECADE;
            let place = (place.max(0.0) as usize).min(BINS - 1);
            self.counts[place] += 1;
            let (least, largest) = &mut self.ends[place];
            *least = least.min(weight);
            *largest = largest.max(weight);
        }
    }

    /// The share of events whose weight is 0.
    pub fn share_of_zeros(&self) -> f64 {
        self.zeros as f64 / self.all.max(1) as f64
    }

    /// The weight that this share of those that are not 0 lies below, spread evenly on a logarithmic scale between the least and the
    /// largest of a bin; none where all are 0.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = share * (self.all - self.zeros) as f64;
        let mut below = 0.0;
        let mut found = None;
        for (&count, &(least, largest)) in self.counts.iter().zip(&self.ends) {
            let count = count as f64;
            if 0.0 < count && below <= wanted {
                let part = ((wanted - below) / count).min(1.0);
                found = Some(least * (largest / least).powf(part));
            }
            below += count;
        }
        found
    }

    /// (low, high, share of events) of each bin from the first to the last that holds any.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let holds = |count: &u64| 0 < *count;
        let first = self.counts.iter().position(holds).unwrap_or(0);
        let end = self
            .counts
            .iter()
            .rposition(holds)
            .map_or(0, |last| last + 1);
        let edge = |place: usize| LEAST * 10_f64.powf(place as f64 / BINS_PER_DECADE);
        (first..end).map(move |place| {
            let share = self.counts[place] as f64 / self.all as f64;
            (edge(place), edge(place + 1), share)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_weight_has_its_bin() {
        let mut weights = WeightHistogram::default();
        for weight in [0.0, 1.1, 1.2, 30.0] {
            weights.add(weight);
        }
        assert_eq!(weights.share_of_zeros(), 0.25);
        let bins: Vec<_> = weights.bins().collect();
        assert_eq!((bins[0].2, bins.last().map(|bin| bin.2)), (0.5, Some(0.25)));
        assert!((bins[0].0 - 1.0).abs() < 1e-9);
        for weight in [1e-300, 1e300] {
            weights.add(weight);
        }
    }

    #[test]
    fn quantiles_are_weights_that_were_seen() {
        let mut weights = WeightHistogram::default();
        assert_eq!(weights.quantile(0.5), None);
        for _ in 0..100 {
            weights.add(1.0);
            weights.add(0.0);
        }
        // The policy that made the log: a stroke at 1, not a bar to the end of the bin.
        for share in [0.05, 0.5, 0.95] {
            assert_eq!(weights.quantile(share), Some(1.0));
        }
        for _ in 0..300 {
            weights.add(40.0);
        }
        let at = |share| weights.quantile(share).expect("there are weights");
        assert_eq!((at(0.1), at(0.5), at(1.0)), (1.0, 40.0, 40.0));
    }
}
