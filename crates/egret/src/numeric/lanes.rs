//! Sums in a fixed order: eight lanes, then a fixed tree, whatever vectors the machine has.
//!
//! Use these in your own oracle too: they give the same bits on every machine.

/// How many partial sums a reduction keeps. Results depend on it: do not tune it per machine.
pub const LANES: usize = 8;

/// Adds the lanes in a fixed order.
#[inline]
pub fn tree(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// Σ aᵢ bᵢ; both slices have the same length.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "a dot product pairs its factors");
    let mut lanes = [0.0; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        lanes[lane] += a * b;
    }
    tree(lanes)
}

/// Σ aᵢ.
#[inline]
pub fn sum(a: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = a.as_chunks::<LANES>();
    for a in chunks {
        for lane in 0..LANES {
            lanes[lane] += a[lane];
        }
    }
    for (lane, a) in rest.iter().enumerate() {
        lanes[lane] += a;
    }
    tree(lanes)
}

/// Eight numbers at a time, the last eight filled up with zeros.
pub struct Lanes<'a> {
    whole: std::slice::Iter<'a, [f64; LANES]>,
    rest: Option<[f64; LANES]>,
}

impl<'a> Lanes<'a> {
    #[inline(always)]
    /// The numbers of a slice.
    pub fn of(values: &'a [f64]) -> Self {
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
            let a: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let squares: f64 = a.iter().map(|x| x * x).sum();
            assert_eq!(sum(&a), (n * n.saturating_sub(1) / 2) as f64);
            assert_eq!(dot(&a, &a), squares);
            let mut sums = [0.0; LANES];
            for values in Lanes::of(&a) {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum += value;
                }
            }
            assert_eq!(tree(sums), sum(&a));
        }
    }
}
