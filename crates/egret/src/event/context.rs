use serde::{Deserialize, Serialize};

use crate::numeric::lanes;

/// What is known before the decision: a vector of features, dense or sparse.
///
/// Both forms give the same predictions up to rounding. The sparse form costs time and memory only for the features
/// it lists.
///
/// ```
/// use egret::Context;
///
/// let dense = Context::dense(vec![0.0, 2.0, 0.0])?;
/// let sparse = Context::sparse(3, vec![(1, 2.0)])?;
/// assert_eq!(dense.dot(&[5.0, 7.0, 9.0]), sparse.dot(&[5.0, 7.0, 9.0]));
/// # Ok::<(), egret::ContextError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct Context(Features);

#[derive(Debug, Clone, PartialEq)]
enum Features {
    Dense(Vec<f64>),
    Sparse {
        dim: usize,
        entries: Vec<(u32, f64)>,
    },
}

impl Context {
    /// One number for each feature, all finite.
    pub fn dense(values: Vec<f64>) -> Result<Self, ContextError> {
        for (feature, &value) in values.iter().enumerate() {
            check_finite(feature, value)?;
        }
        Ok(Self(Features::Dense(values)))
    }

    /// (feature, value) pairs in increasing order of feature; the others are zero.
    pub fn sparse(dim: usize, entries: Vec<(u32, f64)>) -> Result<Self, ContextError> {
        let mut next = 0;
        for &(feature, value) in &entries {
            let feature = feature as usize;
            check_finite(feature, value)?;
            if dim <= feature {
                return Err(ContextError::Beyond { feature, dim });
            }
            if feature < next {
                return Err(ContextError::Unsorted { feature });
            }
            next = feature + 1;
        }
        Ok(Self(Features::Sparse { dim, entries }))
    }

    /// The number of features, zeros included.
    pub fn dim(&self) -> usize {
        match &self.0 {
            Features::Dense(values) => values.len(),
            Features::Sparse { dim, .. } => *dim,
        }
    }

    /// The numbers of a dense context; none for a sparse one.
    pub fn as_dense(&self) -> Option<&[f64]> {
        match &self.0 {
            Features::Dense(values) => Some(values),
            Features::Sparse { .. } => None,
        }
    }

    /// Σ wᵢ xᵢ in a fixed order.
    ///
    /// # Panics
    /// If `weights` is shorter than the context.
    pub fn dot(&self, weights: &[f64]) -> f64 {
        match &self.0 {
            Features::Dense(values) => lanes::dot(values, &weights[..values.len()]),
            Features::Sparse { entries, .. } => entries
                .iter()
                .map(|&(feature, value)| value * weights[feature as usize])
                .sum(),
        }
    }

    /// Calls `visit(feature, value)` in order for each feature; a sparse context skips those it does not list.
    pub fn for_each(&self, mut visit: impl FnMut(usize, f64)) {
        match &self.0 {
            Features::Dense(values) => {
                for (feature, &value) in values.iter().enumerate() {
                    visit(feature, value);
                }
            }
            Features::Sparse { entries, .. } => {
                for &(feature, value) in entries {
                    visit(feature as usize, value);
                }
            }
        }
    }

    /// An error unless the context has `dim` features.
    pub fn expect_dim(&self, dim: usize) -> Result<(), ContextError> {
        if self.dim() == dim {
            Ok(())
        } else {
            Err(ContextError::Dimension {
                found: self.dim(),
                expected: dim,
            })
        }
    }
}

fn check_finite(feature: usize, value: f64) -> Result<(), ContextError> {
    if value.is_finite() {
        Ok(())
    } else {
        Err(ContextError::NotFinite { feature, value })
    }
}

/// A context as read from a file, before it is checked.
#[derive(Serialize, Deserialize)]
enum Unchecked {
    Dense(Vec<f64>),
    Sparse(usize, Vec<(u32, f64)>),
}

impl TryFrom<Unchecked> for Context {
    type Error = ContextError;

    fn try_from(unchecked: Unchecked) -> Result<Self, ContextError> {
        match unchecked {
            Unchecked::Dense(values) => Self::dense(values),
            Unchecked::Sparse(dim, entries) => Self::sparse(dim, entries),
        }
    }
}

impl From<Context> for Unchecked {
    fn from(context: Context) -> Self {
        match context.0 {
            Features::Dense(values) => Self::Dense(values),
            Features::Sparse { dim, entries } => Self::Sparse(dim, entries),
        }
    }
}

/// Why a context is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// NaN or an infinity.
    #[error("feature {feature} is {value}, expected a finite number")]
    NotFinite {
        /// Its place in the context.
        feature: usize,
        /// What it was.
        value: f64,
    },
    /// A sparse feature that the context does not have.
    #[error("feature {feature} does not exist: the context has {dim} features, counted from 0")]
    Beyond {
        /// Its place.
        feature: usize,
        /// How many features there are.
        dim: usize,
    },
    /// Sparse features must be in increasing order, each once.
    #[error("feature {feature} is out of order or given twice")]
    Unsorted {
        /// Its place.
        feature: usize,
    },
    /// The oracle was made for contexts of another length.
    #[error("the context has {found} features, expected {expected}")]
    Dimension {
        /// The context's.
        found: usize,
        /// The oracle's.
        expected: usize,
    },
    /// A user's oracle refused the context.
    #[error("{0}")]
    Refused(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_features_are_named() {
        assert_eq!(
            Context::dense(vec![0.0, f64::INFINITY])
                .expect_err("infinite")
                .to_string(),
            "feature 1 is inf, expected a finite number"
        );
        assert_eq!(
            Context::sparse(2, vec![(2, 1.0)]),
            Err(ContextError::Beyond { feature: 2, dim: 2 })
        );
        assert_eq!(
            Context::sparse(3, vec![(1, 1.0), (1, 2.0)]),
            Err(ContextError::Unsorted { feature: 1 })
        );
        assert!(Context::sparse(3, vec![(1, f64::NAN)]).is_err());
    }

    #[test]
    fn both_forms_visit_the_same_features() {
        let collect = |context: &Context| {
            let mut seen = Vec::new();
            context.for_each(|feature, value| seen.push((feature, value)));
            seen.retain(|&(_, value)| value != 0.0);
            seen
        };
        let dense = Context::dense(vec![0.0, 3.0, -1.0]).expect("finite");
        let sparse = Context::sparse(3, vec![(1, 3.0), (2, -1.0)]).expect("sorted");
        assert_eq!(collect(&dense), collect(&sparse));
        assert_eq!((dense.dim(), sparse.dim()), (3, 3));
        assert_eq!(dense.as_dense(), Some(&[0.0, 3.0, -1.0][..]));
        assert_eq!(sparse.as_dense(), None);
    }
}
