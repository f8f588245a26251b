use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use crate::event::{FeatureError, Features};
use crate::numeric::lanes;

/// What is known before the decision: named [`Features`], or a vector of numbers, dense or sparse.
///
/// Names are for models with a [`FeatureSchema`](crate::FeatureSchema), which turns them into numbers. Dense and sparse
/// give the same predictions up to rounding; the sparse form costs time and memory only for the features it lists.
///
/// ```
/// use egret::Context;
///
/// let dense = Context::dense(vec![0.0, 2.0, 0.0])?;
/// let sparse = Context::sparse(3, vec![(1, 2.0)])?;
/// assert_eq!(dense.dot(&[5.0, 7.0, 9.0]), sparse.dot(&[5.0, 7.0, 9.0]));
/// # Ok::<(), egret::ContextError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Context(Form);

#[derive(Debug, Clone, PartialEq)]
enum Form {
    Named(Features),
    Dense(Vec<f64>),
    Sparse {
        dim: usize,
        entries: Vec<(u32, f64)>,
    },
}

impl Context {
    /// Named values. Fields that are absent are missing.
    pub fn named(features: Features) -> Self {
        Self(Form::Named(features))
    }

    /// The named values of such a context.
    pub fn as_named(&self) -> Option<&Features> {
        match &self.0 {
            Form::Named(features) => Some(features),
            _ => None,
        }
    }

    /// One number for each feature, all finite.
    pub fn dense(values: Vec<f64>) -> Result<Self, ContextError> {
        // One pass without branches; only a context that is refused is searched.
        if !values
            .iter()
            .fold(true, |all, value| all & value.is_finite())
        {
            for (feature, &value) in values.iter().enumerate() {
                check_finite(feature, value)?;
            }
        }
        Ok(Self(Form::Dense(values)))
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
        Ok(Self(Form::Sparse { dim, entries }))
    }

    /// Becomes a dense context of so many numbers, zeros but for what `fill` writes, in the memory that it has.
    pub(crate) fn refill_dense(
        &mut self,
        dim: usize,
        fill: impl FnOnce(&mut [f64]),
    ) -> Result<(), ContextError> {
        let mut values = match &mut self.0 {
            Form::Dense(values) => std::mem::take(values),
            _ => Vec::new(),
        };
        values.clear();
        values.resize(dim, 0.0);
        fill(&mut values);
        *self = Self::dense(values)?;
        Ok(())
    }

    /// Becomes a sparse context of the entries that `fill` appends, in the memory that it has.
    pub(crate) fn refill_sparse(
        &mut self,
        dim: usize,
        fill: impl FnOnce(&mut Vec<(u32, f64)>),
    ) -> Result<(), ContextError> {
        let mut entries = match &mut self.0 {
            Form::Sparse { entries, .. } => std::mem::take(entries),
            _ => Vec::new(),
        };
        entries.clear();
        fill(&mut entries);
        *self = Self::sparse(dim, entries)?;
        Ok(())
    }

    /// How many numbers there are, zeros included: none where features have names.
    pub fn dim(&self) -> usize {
        match &self.0 {
            Form::Named(_) => 0,
            Form::Dense(values) => values.len(),
            Form::Sparse { dim, .. } => *dim,
        }
    }

    /// The numbers of a dense context; none for a sparse one.
    pub fn as_dense(&self) -> Option<&[f64]> {
        match &self.0 {
            Form::Dense(values) => Some(values),
            _ => None,
        }
    }

    /// Σ wᵢ xᵢ in a fixed order.
    ///
    /// # Panics
    /// If `weights` is shorter than the context.
    pub fn dot(&self, weights: &[f64]) -> f64 {
        match &self.0 {
            Form::Named(_) => 0.0,
            Form::Dense(values) => lanes::dot(values, &weights[..values.len()]),
            Form::Sparse { entries, .. } => entries
                .iter()
                .map(|&(feature, value)| value * weights[feature as usize])
                .sum(),
        }
    }

    /// Calls `visit(feature, value)` in order for each feature; a sparse context skips those it does not list.
    pub fn for_each(&self, mut visit: impl FnMut(usize, f64)) {
        match &self.0 {
            Form::Named(_) => {}
            Form::Dense(values) => {
                for (feature, &value) in values.iter().enumerate() {
                    visit(feature, value);
                }
            }
            Form::Sparse { entries, .. } => {
                for &(feature, value) in entries {
                    visit(feature as usize, value);
                }
            }
        }
    }

    /// An error unless the context has `dim` features.
    pub fn expect_dim(&self, dim: usize) -> Result<(), ContextError> {
        if self.as_named().is_some() {
            Err(ContextError::Named)
        } else if self.dim() == dim {
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

/// The numbers of a context in a model file.
#[derive(Serialize, Deserialize)]
enum Numbers {
    Dense(Vec<f64>),
    Sparse(usize, Vec<(u32, f64)>),
}

/// A context in JSON: `[0.5, 1]`, `{"dim": 9, "indices": [2], "values": [0.5]}` or named features.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Readable {
    Dense(Vec<f64>),
    Sparse(SparseObject),
    Named(Features),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SparseObject {
    dim: usize,
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl Serialize for Context {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = self.0.clone();
        if serializer.is_human_readable() {
            return match form {
                Form::Named(features) => Readable::Named(features),
                Form::Dense(values) => Readable::Dense(values),
                Form::Sparse { dim, entries } => {
                    let (indices, values) = entries.into_iter().unzip();
                    Readable::Sparse(SparseObject {
                        dim,
                        indices,
                        values,
                    })
                }
            }
            .serialize(serializer);
        }
        match form {
            Form::Dense(values) => Numbers::Dense(values),
            Form::Sparse { dim, entries } => Numbers::Sparse(dim, entries),
            // Models keep the numbers that a schema made of it.
            Form::Named(_) => return Err(ser::Error::custom(ContextError::Named)),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Context {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let made = if deserializer.is_human_readable() {
            match Readable::deserialize(deserializer)? {
                Readable::Named(features) => Ok(Self::named(features)),
                Readable::Dense(values) => Self::dense(values),
                Readable::Sparse(sparse) if sparse.indices.len() != sparse.values.len() => {
                    return Err(de::Error::invalid_length(
                        sparse.values.len(),
                        &"as many values as indices",
                    ));
                }
                Readable::Sparse(sparse) => Self::sparse(
                    sparse.dim,
                    sparse.indices.into_iter().zip(sparse.values).collect(),
                ),
            }
        } else {
            match Numbers::deserialize(deserializer)? {
                Numbers::Dense(values) => Self::dense(values),
                Numbers::Sparse(dim, entries) => Self::sparse(dim, entries),
            }
        };
        made.map_err(de::Error::custom)
    }
}

impl From<Features> for Context {
    fn from(features: Features) -> Self {
        Self::named(features)
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
    /// Features have names, and nothing here says how they become numbers.
    #[error(
        "the features of the context have names: make the model with a FeatureSchema, which turns them into numbers"
    )]
    Named,
    /// A strict schema refused the context.
    #[error(transparent)]
    Feature(#[from] FeatureError),
    /// A user's oracle refused the context.
    #[error("{0}")]
    Refused(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_its_json() {
        for json in [
            "[0.5,1.0]",
            r#"{"dim":9,"indices":[2],"values":[0.5]}"#,
            r#"{"age":30,"dim":"low"}"#,
            "[]",
            "{}",
        ] {
            let context: Context = serde_json::from_str(json).expect("a context");
            assert_eq!(serde_json::to_string(&context).expect("JSON"), json);
            let named = context.as_named().is_some();
            assert_eq!(named, json.starts_with('{') && !json.contains("indices"));
            assert_eq!(postcard::to_stdvec(&context).is_err(), named);
            assert_eq!(context.expect_dim(0) == Err(ContextError::Named), named);
        }
        for json in [
            r#"{"dim":1,"indices":[2],"values":[0.5]}"#,
            r#"{"dim":9,"indices":[2],"values":[]}"#,
            r#"{"a":1,"a":2}"#,
            "3",
        ] {
            assert!(serde_json::from_str::<Context>(json).is_err(), "{json}");
        }
    }

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
