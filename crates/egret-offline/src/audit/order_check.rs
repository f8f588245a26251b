use serde::Serialize;

/// Whether something that should grow along a log does: times, or the versions of models.
///
/// Records may be written when their losses come, so that some are out of order. A log that was turned around goes down more
/// often than up.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct OrderCheck {
    /// How often it grew from one record to the next.
    pub up: u64,
    /// How often it fell.
    pub down: u64,
    #[serde(skip)]
    last: Option<f64>,
}

/// Fewer steps than this say nothing.
const LEAST_STEPS: u64 = 10;

impl OrderCheck {
    /// Takes the next one.
    pub fn observe(&mut self, value: f64) {
        if let Some(last) = self.last.replace(value) {
            self.up += u64::from(last < value);
            self.down += u64::from(value < last);
        }
    }

    /// Whether the log runs backwards.
    pub fn is_backwards(&self) -> bool {
        LEAST_STEPS <= self.down && self.up < self.down
    }

    /// Whether anything could be seen.
    pub fn is_known(&self) -> bool {
        0 < self.up + self.down
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_late_ones_are_no_fault_and_a_reversed_log_is() {
        let check = |values: &mut dyn Iterator<Item = u64>| {
            let mut check = OrderCheck::default();
            values.for_each(|value| check.observe(value as f64));
            check
        };
        // Every third comes one late.
        let late = check(&mut (0..300_u64).map(|i| if i % 3 == 1 { i + 1 } else { i }));
        assert!(!late.is_backwards() && late.is_known(), "{late:?}");
        assert!(check(&mut (0..300_u64).rev()).is_backwards());
        assert!(!check(&mut [7; 50].into_iter()).is_known());
    }
}
