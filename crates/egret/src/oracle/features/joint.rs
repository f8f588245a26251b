use std::marker::PhantomData;
use std::ops::Range;

use smallvec::SmallVec;

use crate::event::{Action, Batch, Context, ContextError, Item, Vector, Vectors};
use crate::numeric::OutOfRange;

/// φ(x, a), what a linear model sees of a context and an action.
///
/// φ(x, a) = Uₓ ψ(x, a), where Uₓ is a matrix that does not depend on the action and ψ is short.
/// For a weight vector θ then θ·φ(x, a) = (Uₓᵀθ)·ψ(x, a): a model works out Uₓᵀθ once for each
/// context, and an action costs as much as ψ is long.
///
/// Without more said, Uₓ is the identity and φ = ψ. [`Bilinear`] is the usual choice,
/// [`features_from`] turns any function into features.
///
/// What is read of contexts and actions is within ±10³⁰: squares of their products are then finite,
/// whatever is learned. Contexts beyond that are refused; an action that cannot be read makes its
/// numbers NaN.
pub trait JointFeatures<X: ?Sized, A: Action>: Send + Sync {
    /// The length of φ.
    fn dim(&self) -> usize;

    /// The length of ψ.
    fn action_dim(&self) -> usize {
        self.dim()
    }

    /// An error where the context cannot be read.
    fn check_context(&self, x: &X) -> Result<(), ContextError>;

    /// Writes ψ(x, a) for the actions in `range`, feature after feature: `out[j * range.len() + i]`
    /// is the j-th feature of the i-th of them.
    fn fill(&self, x: &X, actions: &A::Batch, range: Range<usize>, out: &mut [f64]);

    /// Writes Uₓᵀ w.
    fn collapse(&self, _x: &X, w: &[f64], out: &mut [f64]) {
        out.copy_from_slice(w);
    }

    /// Writes Uₓ ψ.
    fn expand(&self, _x: &X, psi: &[f64], out: &mut [f64]) {
        out.copy_from_slice(psi);
    }
}

/// φ(x, a) = (1, x) ⊗ (1, φ(a)), or (1, x) ⊗ (1, φ(a), φ(a)²) with squares.
///
/// That is 1, x, φ(a) and every product of a feature of x with one of φ(a). With squares each
/// context has a parabola of its own in each feature of the action, so that its best action may be
/// anywhere.
///
/// ```
/// use egret::{Bilinear, Context, JointFeatures, ScalarFeatures};
///
/// let features = Bilinear::new(2, ScalarFeatures)?.with_squares();
/// let x = Context::dense(vec![5.0, 7.0])?;
/// let (mut psi, mut phi) = ([0.0; 3], [0.0; 9]);
/// features.fill(&x, &vec![3.0], 0..1, &mut psi);
/// features.expand(&x, &psi, &mut phi);
/// assert_eq!(phi, [1.0, 3.0, 9.0, 5.0, 15.0, 45.0, 7.0, 21.0, 63.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bilinear<E> {
    context_dim: usize,
    actions: E,
    squares: bool,
}

impl<E> Bilinear<E> {
    /// For contexts of `context_dim` features, which may be none, and what `actions` makes of
    /// actions.
    pub fn new<A: Action>(context_dim: usize, actions: E) -> Result<Self, OutOfRange>
    where
        E: ActionFeatures<A>,
    {
        let fits = context_dim <= 1 << 24;
        OutOfRange::unless(fits, "context features", context_dim as f64, "[0, 2^24]")?;
        check_count("action features", actions.dim())?;
        Ok(Self {
            context_dim,
            actions,
            squares: false,
        })
    }

    /// Adds the square of each feature of the action, and its products with x.
    pub fn with_squares(mut self) -> Self {
        self.squares = true;
        self
    }
}

impl<A: Action, E: ActionFeatures<A>> JointFeatures<Context, A> for Bilinear<E> {
    fn dim(&self) -> usize {
        (1 + self.context_dim) * JointFeatures::<Context, A>::action_dim(self)
    }

    fn action_dim(&self) -> usize {
        let dim = self.actions.dim();
        1 + if self.squares { 2 * dim } else { dim }
    }

    fn check_context(&self, x: &Context) -> Result<(), ContextError> {
        x.expect_dim(self.context_dim)?;
        check_size(x)
    }

    fn fill(&self, _x: &Context, actions: &A::Batch, range: Range<usize>, out: &mut [f64]) {
        let n = range.len();
        let (ones, rest) = out.split_at_mut(n);
        let (columns, squares) = rest.split_at_mut(n * self.actions.dim());
        ones.fill(1.0);
        self.actions.fill(actions, range, columns);
        for (square, value) in squares.iter_mut().zip(columns) {
            *square = *value * *value;
        }
    }

    fn collapse(&self, x: &Context, w: &[f64], out: &mut [f64]) {
        let m = out.len();
        out.copy_from_slice(&w[..m]);
        x.for_each(|feature, value| {
            let row = &w[(feature + 1) * m..][..m];
            for (out, w) in out.iter_mut().zip(row) {
                *out += value * w;
            }
        });
    }

    fn expand(&self, x: &Context, psi: &[f64], out: &mut [f64]) {
        let m = psi.len();
        out.fill(0.0);
        out[..m].copy_from_slice(psi);
        x.for_each(|feature, value| {
            for (out, psi) in out[(feature + 1) * m..][..m].iter_mut().zip(psi) {
                *out = value * psi;
            }
        });
    }
}

/// Features by a function: `write(x, action, out)` fills `out`, which is `dim` long and arrives as
/// zeros.
///
/// The context is not checked, so that the function has to stand any; what it writes beyond ±10³⁰
/// becomes NaN. Up to 64 features need no heap.
///
/// ```
/// use egret::{JointFeatures, features_from};
///
/// let features = features_from(2, |x: &f64, a: &f64, out: &mut [f64]| {
///     out[0] = 1.0;
///     out[1] = (a - x).abs();
/// })?;
/// let mut columns = [0.0; 4];
/// features.fill(&0.5, &vec![0.25, 1.0], 0..2, &mut columns);
/// assert_eq!(columns, [1.0, 1.0, 0.25, 0.5]);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
pub fn features_from<X: ?Sized, A: Action, F>(
    dim: usize,
    write: F,
) -> Result<FeaturesFrom<X, A, F>, OutOfRange>
where
    F: Fn(&X, &A, &mut [f64]) + Send + Sync,
{
    check_count("features", dim)?;
    Ok(FeaturesFrom {
        dim,
        write,
        of: PhantomData,
    })
}

/// Made by [`features_from`].
pub struct FeaturesFrom<X: ?Sized, A, F> {
    dim: usize,
    write: F,
    of: PhantomData<fn(&X, &A)>,
}

impl<X: ?Sized, A: Action, F> JointFeatures<X, A> for FeaturesFrom<X, A, F>
where
    F: Fn(&X, &A, &mut [f64]) + Send + Sync,
{
    fn dim(&self) -> usize {
        self.dim
    }

    fn check_context(&self, _x: &X) -> Result<(), ContextError> {
        Ok(())
    }

    fn fill(&self, x: &X, actions: &A::Batch, range: Range<usize>, out: &mut [f64]) {
        let n = range.len();
        let mut row: SmallVec<[f64; 64]> = SmallVec::from_elem(0.0, self.dim);
        for (i, index) in range.enumerate() {
            row.fill(0.0);
            (self.write)(x, &actions.get(index), &mut row);
            for (j, &value) in row.iter().enumerate() {
                out[j * n + i] = readable(value);
            }
        }
    }
}

/// φ(a): what a model sees of an action, as columns of numbers.
///
/// | action   | features       | how many               |
/// |----------|----------------|------------------------|
/// | `f64`    | [`ScalarFeatures`]     | 1                      |
/// | [`Vector`] | [`VectorFeatures`] | its length           |
/// | [`Item`] | [`Embeddings`] | the width of the table |
/// | a pair   | a pair of these | the sum               |
pub trait ActionFeatures<A: Action>: Send + Sync {
    /// How many numbers an action has.
    fn dim(&self) -> usize;

    /// Writes φ(a) for the actions in `range`, feature after feature: `out[j * range.len() + i]` is
    /// the j-th feature of the i-th of them. An action that cannot be read, or a number beyond
    /// ±10³⁰, becomes NaN.
    fn fill(&self, actions: &A::Batch, range: Range<usize>, out: &mut [f64]);
}

/// A number as its own feature.
///
/// ```
/// use egret::{ActionFeatures, ScalarFeatures};
///
/// let mut column = [0.0; 2];
/// ScalarFeatures.fill(&vec![0.25, 0.5, 0.75], 1..3, &mut column);
/// assert_eq!(column, [0.5, 0.75]);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ScalarFeatures;

impl ActionFeatures<f64> for ScalarFeatures {
    fn dim(&self) -> usize {
        1
    }

    fn fill(&self, actions: &Vec<f64>, range: Range<usize>, out: &mut [f64]) {
        for (out, &action) in out.iter_mut().zip(&actions[range]) {
            *out = readable(action);
        }
    }
}

/// The coordinates of a vector.
///
/// ```
/// use egret::{ActionFeatures, Batch, VectorFeatures, Vector, Vectors};
///
/// let mut batch = Vectors::default();
/// batch.push(&Vector::new(&[1.0, 2.0])?);
/// batch.push(&Vector::new(&[3.0, 4.0])?);
/// let mut columns = [0.0; 4];
/// VectorFeatures::new(2)?.fill(&batch, 0..2, &mut columns);
/// assert_eq!(columns, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct VectorFeatures {
    dim: usize,
}

impl VectorFeatures {
    /// Of vectors of this length; those of another become NaN.
    pub fn new(dim: usize) -> Result<Self, OutOfRange> {
        check_count("coordinates", dim)?;
        Ok(Self { dim })
    }
}

impl ActionFeatures<Vector> for VectorFeatures {
    fn dim(&self) -> usize {
        self.dim
    }

    fn fill(&self, actions: &Vectors, range: Range<usize>, out: &mut [f64]) {
        if actions.dim() != self.dim {
            out.fill(f64::NAN);
            return;
        }
        let n = range.len();
        let rows = &actions.rows()[range.start * self.dim..range.end * self.dim];
        for (i, row) in rows.chunks_exact(self.dim).enumerate() {
            for (j, &value) in row.iter().enumerate() {
                out[j * n + i] = readable(value);
            }
        }
    }
}

/// A table with a row of numbers for each item of a catalogue.
///
/// ```
/// use egret::{ActionFeatures, Embeddings, Item};
///
/// let table = Embeddings::new(2, vec![0.0, 1.0, 2.0, 3.0])?;
/// let mut columns = [0.0; 4];
/// table.fill(&vec![Item(1), Item(9)], 0..2, &mut columns);
/// assert_eq!((columns[0], columns[2]), (2.0, 3.0));
/// assert!(columns[1].is_nan()); // the table has no tenth row
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone)]
pub struct Embeddings {
    dim: usize,
    rows: Vec<f64>,
}

impl Embeddings {
    /// `rows` holds row after row of `dim` numbers within ±10³⁰; the n-th is that of `Item(n)`.
    pub fn new(dim: usize, rows: Vec<f64>) -> Result<Self, OutOfRange> {
        check_count("width of the table", dim)?;
        let whole_rows = !rows.is_empty() && rows.len().is_multiple_of(dim);
        OutOfRange::unless(
            whole_rows,
            "numbers in the table",
            rows.len() as f64,
            "whole rows, at least one",
        )?;
        for &value in &rows {
            OutOfRange::unless(value.abs() <= LARGEST, "entry", value, "[-1e30, 1e30]")?;
        }
        Ok(Self { dim, rows })
    }
}

impl ActionFeatures<Item> for Embeddings {
    fn dim(&self) -> usize {
        self.dim
    }

    fn fill(&self, actions: &Vec<Item>, range: Range<usize>, out: &mut [f64]) {
        let n = range.len();
        for (i, item) in actions[range].iter().enumerate() {
            let start = item.0 as usize * self.dim;
            let row = self.rows.as_slice().get(start..start + self.dim);
            for j in 0..self.dim {
                out[j * n + i] = row.map_or(f64::NAN, |row| row[j]);
            }
        }
    }
}

impl<A: Action, B: Action, E: ActionFeatures<A>, F: ActionFeatures<B>> ActionFeatures<(A, B)>
    for (E, F)
{
    fn dim(&self) -> usize {
        self.0.dim() + self.1.dim()
    }

    fn fill(&self, actions: &(A::Batch, B::Batch), range: Range<usize>, out: &mut [f64]) {
        let (first, second) = out.split_at_mut(self.0.dim() * range.len());
        self.0.fill(&actions.0, range.clone(), first);
        self.1.fill(&actions.1, range, second);
    }
}

/// Calls `visit(columns, out)` for one block of actions after another, `columns` being what `fill`
/// wrote for them.
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

/// The largest number that features may hold.
const LARGEST: f64 = 1e30;

fn readable(value: f64) -> f64 {
    if value.abs() <= LARGEST {
        value
    } else {
        f64::NAN
    }
}

/// An error unless every feature is within ±10³⁰.
pub(crate) fn check_size(x: &Context) -> Result<(), ContextError> {
    let mut result = Ok(());
    x.for_each(|feature, value| {
        if LARGEST < value.abs() && result.is_ok() {
            result = Err(ContextError::Refused(format!(
                "feature {feature} is {value}, expected a number in [-1e30, 1e30]"
            )));
        }
    });
    result
}

/// An error unless every feature of an example's action could be read.
pub(crate) fn check_action(features: &[f64], action: &impl Action) -> Result<(), ContextError> {
    if features.iter().all(|value| value.is_finite()) {
        Ok(())
    } else {
        Err(ContextError::Refused(format!(
            "the action {action:?} cannot be read by the features of this oracle"
        )))
    }
}

pub(crate) fn check_count(name: &'static str, count: usize) -> Result<(), OutOfRange> {
    // So large a model would not fit in memory; smaller ones cannot overflow a size.
    let fits = (1..=1 << 24).contains(&count);
    OutOfRange::unless(fits, name, count as f64, "[1, 2^24]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dense(values: &[f64]) -> Context {
        Context::dense(values.to_vec()).expect("finite")
    }

    #[test]
    fn pairs_lay_their_columns_side_by_side() {
        let features = (
            ScalarFeatures,
            Embeddings::new(2, vec![10.0, 11.0, 20.0, 21.0]).expect("finite"),
        );
        let actions = (vec![0.5, 0.25, 0.125], vec![Item(0), Item(1), Item(1)]);
        let mut columns = [0.0; 6];
        features.fill(&actions, 1..3, &mut columns);
        assert_eq!(columns, [0.25, 0.125, 20.0, 20.0, 21.0, 21.0]);
        assert_eq!(features.dim(), 3);
    }

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

    #[test]
    fn what_cannot_be_read_is_nan() {
        let mut out = [0.0; 2];
        ScalarFeatures.fill(&vec![f64::INFINITY, 1e31], 0..2, &mut out);
        assert!(out.iter().all(|value| value.is_nan()));
        let mut batch = Vectors::default();
        batch.push(&Vector::new(&[1.0, 2.0, 3.0]).expect("finite"));
        VectorFeatures::new(2)
            .expect("positive")
            .fill(&batch, 0..1, &mut out);
        assert!(out.iter().all(|value| value.is_nan()));
        let features = Bilinear::new(1, ScalarFeatures).expect("one feature");
        let check = |x: &Context| JointFeatures::<Context, f64>::check_context(&features, x);
        assert!(check(&dense(&[1e30])).is_ok());
        assert!(check(&dense(&[1e31])).is_err());
        assert_eq!(
            check(&dense(&[1.0, 2.0])),
            Err(ContextError::Dimension {
                found: 2,
                expected: 1
            })
        );
    }

    #[test]
    fn empty_features_are_refused() {
        assert!(VectorFeatures::new(0).is_err());
        assert!(Bilinear::new(0, ScalarFeatures).is_ok());
        assert!(Bilinear::new(usize::MAX, ScalarFeatures).is_err());
        assert!(Embeddings::new(0, vec![]).is_err());
        assert!(Embeddings::new(2, vec![]).is_err());
        assert!(Embeddings::new(2, vec![1.0; 3]).is_err());
        assert!(Embeddings::new(1, vec![f64::NAN]).is_err());
        assert!(Embeddings::new(usize::MAX, vec![1.0]).is_err());
        assert!(features_from(0, |_: &f64, _: &f64, _: &mut [f64]| ()).is_err());
    }

    proptest! {
        #[test]
        fn collapsing_weights_is_expanding_features(
            x in prop::collection::vec(-2.0..2.0, 3),
            a in prop::collection::vec(-2.0..2.0, 2),
            w in prop::collection::vec(-2.0..2.0, 20),
        ) {
            let coordinates = VectorFeatures::new(2).expect("positive");
            let features = Bilinear::new(3, coordinates).expect("two features").with_squares();
            let x = dense(&x);
            let mut batch = Vectors::default();
            batch.push(&Vector::new(&a).expect("finite"));
            let (mut psi, mut phi, mut collapsed) = ([0.0; 5], [0.0; 20], [0.0; 5]);
            features.fill(&x, &batch, 0..1, &mut psi);
            features.expand(&x, &psi, &mut phi);
            features.collapse(&x, &w, &mut collapsed);
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            prop_assert!((dot(&phi, &w) - dot(&psi, &collapsed)).abs() < 1e-12);
        }

        #[test]
        fn embeddings_are_whole_rows_of_numbers(
            dim in 0_usize..5,
            rows in prop::collection::vec(prop::num::f64::ANY, 0..20),
        ) {
            let fits = 0 < dim && !rows.is_empty() && rows.len().is_multiple_of(dim);
            let good = fits && rows.iter().all(|value| value.abs() <= 1e30);
            prop_assert_eq!(Embeddings::new(dim, rows).is_ok(), good);
        }
    }
}
