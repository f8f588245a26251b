use crate::codec::LoadError;
use crate::event::Context;
use crate::oracle::local::scaled_columns::ScaledColumns;
use crate::oracle::network::feature_scale;

/// φ(x), what least squares sees of a context, in any units.
///
/// | features of a context | φ                                             |
/// |-----------------------|-----------------------------------------------|
/// | up to 31              | 1, s, s² − 1                                  |
/// | more                  | 1, s                                          |
///
/// s are the [`ScaledColumns`] of the context. All but the 1 share a prior variance, whatever their number.
#[derive(Debug, Clone)]
pub(crate) struct ContextFeatures {
    dim: usize,
    columns: ScaledColumns,
    prior_variance: f64,
}

/// Squares are left out beyond.
const MOST_SQUARED: usize = 31;

/// The prior variance of θ·φ without the constant, in variances of an example, at a context whose features all are one deviation
/// from their mean.
const PRIOR_VARIANCE: f64 = 4.0;

impl ContextFeatures {
    /// For contexts whose first `dim` features count.
    pub(crate) fn new(dim: usize) -> Self {
        Self {
            dim,
            columns: ScaledColumns::new(0..dim),
            prior_variance: PRIOR_VARIANCE,
        }
    }

    /// With another prior variance than 4.
    pub(crate) fn with_prior_variance(self, prior_variance: f64) -> Self {
        Self {
            prior_variance,
            ..self
        }
    }

    /// How many features count.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// The length of φ.
    pub(crate) fn len(dim: usize) -> usize {
        let squares = if dim <= MOST_SQUARED { dim } else { 0 };
        1 + ScaledColumns::count(dim) + squares
    }

    /// Updates the scale with one more context; `phi` is scratch space.
    pub(crate) fn look_at(&mut self, x: &Context, phi: &mut [f64]) {
        self.columns.look_at(x, phi);
    }

    /// Writes φ(x).
    pub(crate) fn fill(&self, x: &Context, phi: &mut [f64]) {
        let (one, rest) = phi.split_at_mut(1);
        one[0] = 1.0;
        let (plain, squares) = rest.split_at_mut(self.columns.len());
        self.columns.fill(x, plain);
        for (square, s) in squares.iter_mut().zip(&*plain) {
            *square = s * s - 1.0;
        }
        let factor = self.factor();
        for value in rest {
            *value *= factor;
        }
    }

    /// s, from a φ.
    pub(crate) fn scaled<'a>(&self, phi: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let undo = 1.0 / self.factor();
        phi[1..][..self.columns.len()]
            .iter()
            .map(move |value| undo * value)
    }

    /// What all but the 1 are multiplied by, so that they share the prior variance.
    fn factor(&self) -> f64 {
        (self.prior_variance / (Self::len(self.dim) - 1).max(1) as f64).sqrt()
    }

    pub(crate) fn state(&self) -> &feature_scale::State {
        self.columns.state()
    }

    pub(crate) fn check(&self, state: &feature_scale::State) -> Result<(), LoadError> {
        self.columns.check(state)
    }

    pub(crate) fn restore(&mut self, state: feature_scale::State) {
        self.columns.restore(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(features: &ContextFeatures, x: &Context) -> Vec<f64> {
        let mut phi = vec![0.0; ContextFeatures::len(x.dim())];
        features.fill(x, &mut phi);
        phi
    }

    /// Features that have looked at `n` contexts with values of mean 0 and variance 1 times `unit`.
    fn looked(dim: usize, unit: f64) -> ContextFeatures {
        let mut features = ContextFeatures::new(dim);
        let mut scratch = vec![0.0; ContextFeatures::len(dim)];
        for n in 0..4 {
            let value = if n % 2 == 0 { unit } else { -unit };
            let x = Context::dense(vec![value; dim]).expect("finite");
            features.look_at(&x, &mut scratch);
        }
        features
    }

    #[test]
    fn units_do_not_matter_and_the_prior_does_not_grow_with_the_features() {
        for dim in [1, 5, 31, 32, 127] {
            let ones = Context::dense(vec![1.0; dim]).expect("finite");
            let large = Context::dense(vec![1000.0; dim]).expect("finite");
            let phi = filled(&looked(dim, 1.0), &ones);
            assert_eq!(phi, filled(&looked(dim, 1000.0), &large));
            assert_eq!(phi[0], 1.0);
            // One deviation from the mean: s² − 1 is 0.
            let squares: f64 = phi[1..].iter().map(|v| v * v).sum();
            let expected = if dim <= MOST_SQUARED { 2.0 } else { 4.0 };
            assert!((squares - expected).abs() < 1e-12, "{dim}: {squares}");
        }
    }

    #[test]
    fn many_features_are_summed_and_each_is_seen() {
        let dim = 1000;
        let features = looked(dim, 1.0);
        let nothing = filled(&features, &Context::sparse(dim, vec![]).expect("sorted"));
        assert_eq!(nothing.len(), 1 + ScaledColumns::count(dim));
        for feature in 0..dim as u32 {
            let x = Context::sparse(dim, vec![(feature, 1.0)]).expect("sorted");
            let changed = filled(&features, &x);
            let differ = changed.iter().zip(&nothing).filter(|(a, b)| a != b);
            // A sum over as many features with each sign as with the other never varied.
            assert!(differ.count() <= 1);
        }
    }
}
