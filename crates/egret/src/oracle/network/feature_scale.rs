use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::event::Context;

/// Scales features of any units by their running mean and deviation (Welford 1962).
///
/// out = (x − mean) / sd, clipped to ±4; a feature that never varied gives 0
///
/// A context counts once, when its loss is learned. Of each it reads `dim` features from `first` on.
#[derive(Debug, Clone)]
pub(crate) struct FeatureScale {
    first: usize,
    state: State,
    /// 1/sd, or 0 where nothing varied: follows from the state.
    inverses: Vec<f64>,
}

/// What is saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    count: u64,
    means: Vec<f64>,
    /// Σ (x − mean)².
    squares: Vec<f64>,
}

/// Features are clipped at this many deviations.
const CUT_OFF: f64 = 4.0;

impl FeatureScale {
    /// Before any context.
    pub(crate) fn new(features: Range<usize>) -> Self {
        let dim = features.len();
        Self {
            first: features.start,
            state: State {
                count: 0,
                means: vec![0.0; dim],
                squares: vec![0.0; dim],
            },
            inverses: vec![0.0; dim],
        }
    }

    /// How many features there are.
    pub(crate) fn dim(&self) -> usize {
        self.inverses.len()
    }

    /// Adds one more context; `dense` is scratch space for the features.
    pub(crate) fn add(&mut self, x: &Context, dense: &mut [f64]) {
        self.fill_dense(x, dense);
        self.add_values(dense);
    }

    /// As [`add`](Self::add), of all features as numbers.
    pub(crate) fn add_values(&mut self, values: &[f64]) {
        let State {
            count,
            means,
            squares,
        } = &mut self.state;
        *count += 1;
        let share = 1.0 / *count as f64;
        for ((mean, square), &value) in means.iter_mut().zip(squares.iter_mut()).zip(values) {
            let excess = value - *mean;
            *mean += excess * share;
            *square += excess * (value - *mean);
        }
        self.invert();
    }

    /// Writes the scaled features, zeros of a sparse context included.
    pub(crate) fn apply(&self, x: &Context, out: &mut [f32]) {
        if let Some(values) = x.as_dense() {
            return self.apply_to(&values[self.first..][..out.len()], out);
        }
        let (means, inverses) = (&self.state.means, &self.inverses);
        scale_zeros(means, inverses, out);
        x.for_each(|feature, value| {
            if let Some(place) = feature.checked_sub(self.first)
                && let Some(out) = out.get_mut(place)
            {
                *out = scaled(value, means[place], inverses[place]);
            }
        });
    }

    /// As [`apply`](Self::apply), to all features as numbers.
    pub(crate) fn apply_to(&self, values: &[f64], out: &mut [f32]) {
        scale(values, &self.state.means, &self.inverses, out);
    }

    /// As [`apply`](Self::apply), to the sums of two numbers for each feature.
    pub(crate) fn apply_to_sum(&self, a: &[f32], b: &[f32], out: &mut [f32]) {
        let (a, b) = (&a[self.first..][..out.len()], &b[self.first..][..out.len()]);
        scale_sum(a, b, &self.state.means, &self.inverses, out);
    }

    /// The state that [`restore`](Self::restore) takes.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// An error unless `state` is one that [`state`](Self::state) of as many features can give.
    pub(crate) fn check(&self, state: &State) -> Result<(), LoadError> {
        let dim = self.dim();
        saved_state::expect_count("contexts", state.count)?;
        saved_state::expect_numbers("means of features", &state.means, dim, |mean| {
            mean.abs() <= 1e31
        })?;
        saved_state::expect_numbers("squares of features", &state.squares, dim, |square| {
            (0.0..=1e90).contains(&square)
        })
    }

    /// Restores a checked state.
    pub(crate) fn restore(&mut self, state: State) {
        self.state = state;
        self.invert();
    }

    fn fill_dense(&self, x: &Context, out: &mut [f64]) {
        match x.as_dense() {
            Some(values) => out.copy_from_slice(&values[self.first..][..out.len()]),
            None => {
                out.fill(0.0);
                x.for_each(|feature, value| {
                    let place = feature.checked_sub(self.first);
                    if let Some(out) = place.and_then(|place| out.get_mut(place)) {
                        *out = value;
                    }
                });
            }
        }
    }

    fn invert(&mut self) {
        let State {
            count,
            means,
            squares,
        } = &self.state;
        invert(*count as f64, means, squares, &mut self.inverses);
    }
}

#[inline(always)]
fn scaled(value: f64, mean: f64, inverse: f64) -> f32 {
    ((value - mean) * inverse).clamp(-CUT_OFF, CUT_OFF) as f32
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn scale(values: &[f64], means: &[f64], inverses: &[f64], out: &mut [f32]) {
    for ((out, value), (mean, inverse)) in
        out.iter_mut().zip(values).zip(means.iter().zip(inverses))
    {
        *out = scaled(*value, *mean, *inverse);
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn scale_sum(a: &[f32], b: &[f32], means: &[f64], inverses: &[f64], out: &mut [f32]) {
    for (((out, a), b), (mean, inverse)) in
        (out.iter_mut().zip(a).zip(b)).zip(means.iter().zip(inverses))
    {
        *out = scaled(f64::from(*a) + f64::from(*b), *mean, *inverse);
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn scale_zeros(means: &[f64], inverses: &[f64], out: &mut [f32]) {
    for (out, (mean, inverse)) in out.iter_mut().zip(means.iter().zip(inverses)) {
        *out = scaled(0.0, *mean, *inverse);
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn invert(count: f64, means: &[f64], squares: &[f64], inverses: &mut [f64]) {
    for (inverse, (mean, square)) in inverses.iter_mut().zip(means.iter().zip(squares)) {
        let sd = (square / count).sqrt();
        // The rounding of a mean that never moved is no spread.
        let varies = (1e-12 * mean.abs() < sd) & (1e-150 < sd);
        *inverse = if varies { 1.0 / sd } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(values: &[f64]) -> Context {
        Context::dense(values.to_vec()).expect("finite")
    }

    fn scale_of(rows: &[[f64; 3]]) -> FeatureScale {
        let mut scale = FeatureScale::new(0..3);
        for row in rows {
            scale.add(&dense(row), &mut [0.0; 3]);
        }
        scale
    }
    #[test]
    fn a_count_that_would_overflow_is_refused() {
        let scale = FeatureScale::new(0..1);
        for (count, good) in [(1 << 53, true), (u64::MAX, false)] {
            let state = State {
                count,
                ..scale.state().clone()
            };
            assert_eq!(scale.check(&state).is_ok(), good, "{count}");
        }
    }

    #[test]
    fn features_come_to_one_scale() {
        // Means 2, 2000 and 5; deviations 1, 1000 and none.
        let scale = scale_of(&[[1.0, 1000.0, 5.0], [3.0, 3000.0, 5.0]]);
        let mut out = [0.0_f32; 3];
        scale.apply(&dense(&[4.0, 1500.0, 7.0]), &mut out);
        assert_eq!(out, [2.0, -0.5, 0.0]);
        scale.apply(&dense(&[1e30, -1e30, 0.0]), &mut out);
        assert_eq!(out, [4.0, -4.0, 0.0]);
    }

    #[test]
    fn rounding_is_no_spread() {
        let scale = scale_of(&[[0.1, 1e9 + 0.1, 1.0 / 3.0]; 1000]);
        let mut out = [1.0; 3];
        scale.apply(&dense(&[0.2, 0.0, 1.0]), &mut out);
        assert_eq!(out, [0.0; 3]);
    }

    #[test]
    fn before_any_context_all_are_zero() {
        let mut out = [1.0; 3];
        FeatureScale::new(0..3).apply(&dense(&[1.0, 2.0, 3.0]), &mut out);
        assert_eq!(out, [0.0; 3]);
    }

    #[test]
    fn sparse_contexts_are_the_same_vectors() {
        let mut scale = scale_of(&[[1.0, 0.0, 5.0]]);
        let sparse = Context::sparse(3, vec![(1, 4.0)]).expect("sorted");
        scale.add(&sparse, &mut [9.0; 3]);
        let mut other = scale_of(&[[1.0, 0.0, 5.0], [0.0, 4.0, 0.0]]);
        assert_eq!(scale.state(), other.state());
        let (mut one, mut two) = ([7.0; 3], [8.0; 3]);
        scale.apply(&sparse, &mut one);
        other.apply(&dense(&[0.0, 4.0, 0.0]), &mut two);
        assert_eq!(one, two);
        other.restore(scale.state().clone());
        assert_eq!(other.inverses, scale.inverses);
    }

    #[test]
    fn states_that_cannot_be_are_refused() {
        let scale = scale_of(&[[1.0, 0.0, 5.0], [3.0, 1.0, 5.0]]);
        assert!(scale.check(scale.state()).is_ok());
        for damage in [
            |state: &mut State| state.means[1] = f64::NAN,
            |state: &mut State| state.squares[2] = -1.0,
            |state: &mut State| state.means.push(0.0),
        ] {
            let mut state = scale.state().clone();
            damage(&mut state);
            assert!(scale.check(&state).is_err());
        }
    }
}
