use egret::Context;

use crate::log_reader::LogReader;

/// The medians of the first numbers of contexts, over earlier events: what an audit splits events by.
pub(crate) struct Medians {
    medians: Vec<RunningMedian>,
}

/// So many features are looked at: each more makes the evidence of the others smaller.
const FEATURES: usize = 4;

impl Medians {
    /// Of the features that the first context of a log has; none where it has no plain numbers.
    pub(crate) fn new(log: &LogReader) -> Self {
        let features = log.first_context().and_then(Context::as_dense);
        Self {
            medians: features
                .unwrap_or_default()
                .iter()
                .take(FEATURES)
                .map(|_| RunningMedian::default())
                .collect(),
        }
    }

    /// How many features there are.
    pub(crate) fn features(&self) -> usize {
        self.medians.len()
    }

    /// Whether each feature of this context is above its median so far; then it is added.
    pub(crate) fn sides(&mut self, context: &Context) -> Vec<bool> {
        let values = context.as_dense().unwrap_or_default();
        let medians = self.medians.iter_mut().zip(values);
        medians.map(|(median, &value)| median.next(value)).collect()
    }
}

/// A median by small steps (Robbins & Monro 1951), in constant memory: close enough to split events in halves.
#[derive(Debug, Default)]
struct RunningMedian {
    median: f64,
    /// The mean of |x − median|, which scales the steps.
    spread: f64,
    events: u64,
}

impl RunningMedian {
    fn next(&mut self, value: f64) -> bool {
        let above = self.median < value;
        self.events += 1;
        if self.events == 1 {
            self.median = value;
            return above;
        }
        let n = self.events as f64;
        self.spread += ((value - self.median).abs() - self.spread) / n;
        // The step falls as n^(−½), so that the median follows a drift.
        let step = 2.0 * self.spread / n.sqrt();
        if above {
            self.median += step;
        } else if value < self.median {
            self.median -= step;
        }
        above
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_events_are_above() {
        let mut median = RunningMedian::default();
        let values = (0..4_000_u32).map(|i| f64::from(i * 7_919 % 4_001).powi(2));
        let above = values.filter(|&value| median.next(value)).count();
        assert!((1_900..2_100).contains(&above), "{above}");
    }
}
