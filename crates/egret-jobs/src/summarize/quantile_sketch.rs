use std::collections::BTreeMap;

/// The spread of positive numbers, in memory that does not grow with them: counts in cells whose ends are 0.2 % apart.
///
/// A quantile is right to 0.1 % of its value; the ends are exact.
#[derive(Debug, Default)]
pub(super) struct QuantileSketch {
    cells: BTreeMap<i32, u64>,
    count: u64,
    ends: Option<(f64, f64)>,
}

/// ln 1.002.
const WIDTH: f64 = 0.001_998_002_662_673_056;

impl QuantileSketch {
    /// Counts a positive, finite number.
    pub(super) fn add(&mut self, value: f64) {
        let cell = (libm::log(value) / WIDTH).floor() as i32;
        *self.cells.entry(cell).or_default() += 1;
        self.count += 1;
        let (low, high) = self.ends.unwrap_or((value, value));
        self.ends = Some((low.min(value), high.max(value)));
    }

    /// The number below which a share of all lie; none if there are none.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let (low, high) = self.ends?;
        // From 0 for the least to count − 1 for the greatest.
        let rank = (share * (self.count - 1) as f64).round() as u64;
        if rank == 0 {
            return Some(low);
        }
        if rank == self.count - 1 {
            return Some(high);
        }
        let mut below = 0;
        for (&cell, count) in &self.cells {
            below += count;
            if rank < below {
                let middle = libm::exp((f64::from(cell) + 0.5) * WIDTH);
                return Some(middle.clamp(low, high));
            }
        }
        Some(high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_a_thousandth() {
        let mut sketch = QuantileSketch::default();
        assert_eq!(sketch.quantile(0.5), None);
        let numbers: Vec<f64> = (0..10_001)
            .map(|i| libm::exp((f64::from(i) * 7.0 % 10_001.0) / 500.0 - 10.0))
            .collect();
        numbers.iter().for_each(|&number| sketch.add(number));
        let mut sorted = numbers;
        sorted.sort_by(f64::total_cmp);
        for share in [0.0, 0.001, 0.25, 0.5, 0.9, 1.0] {
            let exact = sorted[(share * 10_000.0) as usize];
            let found = sketch.quantile(share).expect("there are numbers");
            assert!(
                (found / exact - 1.0).abs() <= 0.001_001,
                "{share} {found} {exact}"
            );
        }
        assert_eq!(sketch.quantile(1.0), sorted.last().copied());
    }
}
