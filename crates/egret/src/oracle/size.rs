//! How many numbers an oracle holds, counted from its description before anything is built.

use crate::numeric::OutOfRange;
use crate::oracle::OracleSpec;
use crate::oracle::linear_regression::MOST_GROWN;
use crate::oracle::local::{context_features::ContextFeatures, least_squares};
use crate::oracle::network::context::MOST_DENSE;
use crate::oracle::quadratic;

/// The numbers of an oracle that has learned nothing. Counts stop at the largest `usize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Size {
    /// Those that its saved state holds; what is built takes a few times as many.
    pub saved: usize,
    /// Those that are computed again from the description: random directions, the middles of cells.
    pub derived: usize,
}

/// 32 MB. No byte of a file stands for a derived number, so that only this limits what a short file asks for.
const MOST_DERIVED: usize = 1 << 22;

impl Size {
    fn saved(saved: usize) -> Self {
        Self { saved, derived: 0 }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            saved: self.saved.saturating_add(other.saved),
            derived: self.derived.saturating_add(other.derived),
        }
    }

    /// How many bytes the saved state has at least.
    pub(crate) fn saved_bytes(self) -> usize {
        self.saved.saturating_mul(size_of::<f64>())
    }

    /// An error if too much would be computed again.
    pub(crate) fn check(self) -> Result<(), OutOfRange> {
        OutOfRange::unless(
            self.derived <= MOST_DERIVED,
            "number of random features times inputs, and of cells, in all parts of the oracle",
            self.derived as f64,
            "[0, 2^22]",
        )
    }
}

impl OracleSpec {
    /// For actions of `action_dim` features, and contexts that had so many at first and after each growth.
    pub(crate) fn size(&self, widths: &[usize], action_dim: usize) -> Size {
        let (first, last) = (widths[0], widths[widths.len() - 1]);
        match self {
            // Parameters and two moments of each.
            Self::Argmin { hidden: None, .. } => Size::saved(times(3, last)),
            Self::Argmin {
                hidden: Some(hidden),
                ..
            } => Size::saved(times(3, layers(last, *hidden, 1))),
            Self::LeastSquares { squares, .. } => {
                let features = times(1 + usize::from(*squares), action_dim).saturating_add(1);
                let weights = |width: usize| times(width.saturating_add(1), features);
                let grown = widths[1..].iter().map(|&width| weights(width));
                let read = grown.filter(|&weights| weights <= MOST_GROWN);
                let weights = read.fold(weights(first), usize::max);
                Size::saved(times(weights, weights))
            }
            Self::Fourier { features, .. } => Size {
                saved: times(5, *features),
                derived: times(last.saturating_add(action_dim), *features),
            },
            Self::Aggregation(members) => members
                .iter()
                .map(|member| member.size(widths, action_dim))
                .fold(Size::saved(members.len()), Size::plus),
            Self::LatentOutcome {
                outcomes, hidden, ..
            } => network(widths, *hidden, *outcomes),
            Self::Curves {
                cosines, hidden, ..
            } => {
                // One number has fixed cosines, several have random ones beside themselves and their squares.
                let several = 1 < action_dim;
                let more = if several { times(2, action_dim) } else { 0 };
                let directions = if several {
                    times(*cosines, action_dim)
                } else {
                    0
                };
                let basis = network(widths, *hidden, cosines.saturating_add(more));
                basis.plus(Size {
                    saved: times(2, action_dim),
                    derived: directions.saturating_add(*cosines),
                })
            }
            // Two regressions at each place: weights, and half a matrix.
            Self::Local { places, .. } => {
                let length = ContextFeatures::len(first);
                let numbers = least_squares::size(length).saturating_add(length);
                Size::saved(times(times(2, *places), numbers))
            }
            Self::Quadratic { cosines, .. } => Size {
                saved: quadratic::saved_numbers(widths, action_dim, *cosines),
                derived: quadratic::derived_numbers(first, action_dim, *cosines),
            },
            Self::PiecewiseConstant { cells, of } => of.size(widths, action_dim).plus(Size {
                saved: 0,
                derived: *cells,
            }),
        }
    }
}

fn times(a: usize, b: usize) -> usize {
    a.saturating_mul(b)
}

/// The weights between layers of these widths.
fn layers(inputs: usize, [first, second]: [usize; 2], outputs: usize) -> usize {
    [(inputs, first), (first, second), (second, outputs)]
        .into_iter()
        .map(|(inputs, outputs)| times(inputs.saturating_add(1), outputs))
        .fold(0, usize::saturating_add)
}

/// A network over contexts: weights with two moments each, of half the bits. Columns that came in larger numbers have none before they are met.
fn network(widths: &[usize], hidden: [usize; 2], outputs: usize) -> Size {
    let dense = |columns: usize| if columns <= MOST_DENSE { columns } else { 0 };
    let later = widths.windows(2).map(|pair| dense(pair[1] - pair[0]));
    let later = later.fold(0, usize::saturating_add);
    let weights = layers(dense(widths[0]), hidden, outputs);
    Size::saved(times(3, weights.saturating_add(times(later, hidden[0]))) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::VectorFeatures;

    /// What is counted as saved is in the saved state, and nearly all of it: before any event, and after growth.
    #[test]
    fn the_count_is_that_of_the_saved_state() {
        for text in [
            "argmin",
            "argmin:hidden=16x8",
            "ridge:squares=false",
            "vaw",
            "fourier:features=64",
            "latent-outcome:outcomes=9,hidden=12x7",
            "curves:cosines=5,hidden=12x7",
            "argmin+vaw+fourier",
            "(latent-outcome+curves)@32",
            "quadratic:cosines=7",
        ] {
            let spec: OracleSpec = text.parse().expect("an oracle");
            for widths in [
                vec![0],
                vec![40],
                vec![3, 10, 17],
                vec![3, 1_000],
                vec![700, 710],
            ] {
                let Ok(mut oracle) = spec.on((0.0, 1.0), widths[0]) else {
                    panic!("{text} takes {widths:?}");
                };
                for &width in &widths[1..] {
                    oracle.grow(width).expect("grows");
                }
                let (bytes, found) = (oracle.save().len(), spec.size(&widths, 1).saved_bytes());
                let most = bytes.saturating_sub(2_000) / 2;
                assert!(
                    (most..=bytes).contains(&found),
                    "{text} {widths:?}: {found} of {bytes}"
                );
            }
        }
    }

    #[test]
    fn vectors_are_counted_by_their_coordinates() {
        let three = VectorFeatures::new(3).expect("positive");
        for text in [
            "ridge",
            "fourier",
            "curves:cosines=9",
            "curves+vaw",
            "quadratic",
        ] {
            let spec: OracleSpec = text.parse().expect("an oracle");
            let bytes = spec.over(5, &three).expect("builds").save().len();
            let found = spec.size(&[5], 3).saved_bytes();
            assert!(
                (bytes / 2..=bytes).contains(&found),
                "{text}: {found} of {bytes}"
            );
        }
        let random: OracleSpec = "fourier:features=64+curves:cosines=10"
            .parse()
            .expect("two");
        assert_eq!(random.size(&[5], 3).derived, 64 * (5 + 3) + 10 * 3 + 10);
        // Many features of a context are summed before they are multiplied.
        let quadratic: OracleSpec = "quadratic:cosines=64".parse().expect("one");
        assert_eq!(quadratic.size(&[1 << 20], 4).derived, 64 * (100 + 4));
        let steps: OracleSpec = "(curves:cosines=10)@32".parse().expect("steps");
        assert_eq!(steps.size(&[5], 1).derived, 10 + 32);
    }

    #[test]
    fn counts_do_not_overflow() {
        let most = usize::MAX;
        let spec = OracleSpec::Aggregation(vec![
            OracleSpec::Curves {
                cosines: most,
                hidden: [most, most],
                seed: 0,
            };
            2
        ]);
        let size = spec.size(&[most], most);
        assert_eq!((size.saved, size.derived), (most, most));
        assert!(size.check().is_err());
    }
}
