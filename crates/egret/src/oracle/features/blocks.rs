use std::ops::Range;

use smallvec::SmallVec;

/// Calls `visit(columns, out)` for one block of actions after another; `fill` writes the columns of a block.
///
/// A block holds up to 1,024 numbers on the stack; only features longer than that need the heap.
pub(crate) fn in_blocks(
    dim: usize,
    out: &mut [f64],
    fill: impl Fn(Range<usize>, &mut [f64]),
    mut visit: impl FnMut(&[f64], &mut [f64]),
) {
    let width = (1024 / dim).max(1).min(out.len().max(1));
    let mut columns: SmallVec<[f64; 1024]> = SmallVec::from_elem(0.0, dim * width);
    let mut start = 0;
    for out in out.chunks_mut(width) {
        let columns = &mut columns[..dim * out.len()];
        fill(start..start + out.len(), columns);
        visit(columns, out);
        start += out.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_every_action_once() {
        for (dim, n) in [(1, 0), (1, 1), (3, 1000), (700, 5), (2000, 3)] {
            let mut out = vec![0.0; n];
            let fill = |range: Range<usize>, columns: &mut [f64]| {
                for (i, index) in range.clone().enumerate() {
                    for j in 0..dim {
                        columns[j * range.len() + i] = (index * dim + j) as f64;
                    }
                }
            };
            in_blocks(dim, &mut out, fill, |columns, out| {
                let n = out.len();
                for (i, out) in out.iter_mut().enumerate() {
                    *out += (0..dim).map(|j| columns[j * n + i]).sum::<f64>();
                }
            });
            for (i, &sum) in out.iter().enumerate() {
                let expected: usize = (0..dim).map(|j| i * dim + j).sum();
                assert_eq!(sum, expected as f64);
            }
        }
    }
}
