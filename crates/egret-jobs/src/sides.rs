use egret::{Context, FeatureValue};

use crate::log_reader::LogReader;

/// The first few features of contexts, and on which side of each an event is: what an audit splits events by.
pub(crate) struct Sides {
    features: Features,
}

/// So many features are looked at: each more makes the evidence of the others smaller.
const FEATURES: usize = 4;

enum Features {
    /// The first numbers of contexts without names.
    Numbered(Vec<RunningMedian>),
    /// By name.
    Named(Vec<(String, Split)>),
}

impl Sides {
    /// By the features that the first context of a log has.
    pub(crate) fn new(log: &LogReader) -> Self {
        let first = log.first_context();
        let features = match first.and_then(Context::as_named) {
            Some(named) => {
                let mut splits = Vec::new();
                named.for_each_leaf(|name, value| splits.extend(Split::of(name, value)));
                splits.truncate(FEATURES);
                Features::Named(splits)
            }
            None => {
                let numbers = first.and_then(Context::as_dense).unwrap_or_default();
                let numbers = numbers.iter().take(FEATURES);
                Features::Numbered(numbers.map(|_| RunningMedian::default()).collect())
            }
        };
        Self { features }
    }

    /// How many features there are.
    pub(crate) fn features(&self) -> usize {
        match &self.features {
            Features::Numbered(medians) => medians.len(),
            Features::Named(splits) => splits.len(),
        }
    }

    /// On which side of each feature this context is, by earlier events alone.
    pub(crate) fn next(&mut self, context: &Context) -> Vec<bool> {
        match &mut self.features {
            Features::Numbered(medians) => {
                let values = context.as_dense().unwrap_or_default();
                let medians = medians.iter_mut().zip(values);
                medians.map(|(median, &value)| median.next(value)).collect()
            }
            Features::Named(splits) => {
                let named = context.as_named();
                let side = |(name, split): &mut (String, Split)| {
                    let value = named.and_then(|features| features.get(name));
                    value.is_some_and(|value| split.next(value))
                };
                splits.iter_mut().map(side).collect()
            }
        }
    }
}

/// What a feature with a name is split by.
enum Split {
    /// Whether a number is above its median so far.
    Median(RunningMedian),
    /// Whether a word, or a flag, is another than in the first event.
    Other(FeatureValue),
}

impl Split {
    /// By the first value of a feature; none for lists, and where it is missing.
    fn of(name: &str, first: &FeatureValue) -> Option<(String, Self)> {
        let split = match first {
            FeatureValue::Integer(_) | FeatureValue::Number(_) => {
                Self::Median(RunningMedian::default())
            }
            FeatureValue::Text(_) | FeatureValue::Flag(_) => Self::Other(first.clone()),
            _ => return None,
        };
        Some((name.to_owned(), split))
    }

    fn next(&mut self, value: &FeatureValue) -> bool {
        match (self, value) {
            (Self::Median(median), FeatureValue::Number(value)) => median.next(*value),
            (Self::Median(median), FeatureValue::Integer(value)) => median.next(*value as f64),
            (Self::Median(_), _) => false,
            (Self::Other(first), value) => first != value,
        }
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
        self.events += 1;
        if self.events == 1 {
            self.median = value;
            return false;
        }
        let above = self.median < value;
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
