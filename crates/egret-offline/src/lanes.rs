//! Reductions in a fixed order: eight lanes, then a fixed tree, whatever vectors the machine has.

/// How many partial sums a reduction keeps. Part of the result's definition: do not tune per machine.
pub(crate) const LANES: usize = 8;

/// Adds the lanes in one order.
#[inline]
pub(crate) fn tree(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// Eight numbers at a time, the last eight filled up with zeros.
pub(crate) struct Lanes<'a> {
    whole: std::slice::Iter<'a, [f64; LANES]>,
    rest: Option<[f64; LANES]>,
}

impl<'a> Lanes<'a> {
    #[inline(always)]
    pub(crate) fn of(values: &'a [f64]) -> Self {
        let (whole, rest) = values.as_chunks::<LANES>();
        let mut last = [0.0; LANES];
        last[..rest.len()].copy_from_slice(rest);
        Self {
            whole: whole.iter(),
            rest: (!rest.is_empty()).then_some(last),
        }
    }
}

impl Iterator for Lanes<'_> {
    type Item = [f64; LANES];

    #[inline(always)]
    fn next(&mut self) -> Option<[f64; LANES]> {
        match self.whole.next() {
            Some(values) => Some(*values),
            None => self.rest.take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_add_up() {
        for n in 0..40_usize {
            let values: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let mut sums = [0.0; LANES];
            for values in Lanes::of(&values) {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += value;
                }
            }
            assert_eq!(tree(sums), (n * n.saturating_sub(1) / 2) as f64);
        }
    }
}
