use std::sync::Arc;

use egret::{AnyAction, Context, Density, Loss, Propensity};

use crate::record::{Record, RowError, VERSION};

/// A record while it is read: nothing is checked yet.
pub(crate) struct Draft {
    /// All but the fields below; its context, action and propensity stand for nothing.
    pub(crate) record: Record,
    pub(crate) version: Option<u64>,
    pub(crate) context: Option<ContextForm>,
    pub(crate) action: Option<AnyAction>,
    pub(crate) point_mass: Option<bool>,
    pub(crate) density: Option<f64>,
    pub(crate) loss: Option<f64>,
}

/// The forms a context has in files.
pub(crate) enum ContextForm {
    Dense(Vec<f64>),
    Sparse {
        dim: usize,
        indices: Vec<u32>,
        values: Vec<f64>,
    },
    Named(Arc<[String]>, Vec<f64>),
}

impl Draft {
    pub(crate) fn new() -> Self {
        let nothing = Context::dense(Vec::new()).expect("no feature is not a number");
        Self {
            record: Record::bare(nothing, AnyAction::Number(0.0), Propensity::PointMass),
            version: None,
            context: None,
            action: None,
            point_mass: None,
            density: None,
            loss: None,
        }
    }

    /// The word for how an action was chosen.
    pub(crate) fn set_propensity(&mut self, word: &str) -> Result<(), RowError> {
        self.point_mass = Some(match word {
            "density" => false,
            "atom" => true,
            other => {
                return Err(RowError::Word {
                    field: "propensity",
                    found: other.to_owned(),
                    expected: "density or atom",
                });
            }
        });
        Ok(())
    }

    /// Checks everything.
    pub(crate) fn finish(self) -> Result<Record, RowError> {
        // A log without a version is one of the first.
        match self.version {
            None => {}
            Some(found) if found == u64::from(VERSION) => {}
            Some(found) => return Err(RowError::Version { found }),
        }
        let mut record = self.record;
        let context = self.context.ok_or(RowError::Missing { field: "context" })?;
        if let ContextForm::Named(names, _) = &context {
            record.features = Some(names.clone());
        }
        record.context = context.check()?;
        let action = self.action.ok_or(RowError::Missing { field: "action" })?;
        record.action = match &record.mu {
            Some(space) => action.into_kind(space.kind()),
            None => action,
        };
        record.propensity = match (self.point_mass, self.density) {
            (Some(true), Some(density)) => return Err(RowError::PointMassWithDensity { density }),
            (Some(true), None) => Propensity::PointMass,
            (_, Some(density)) => Propensity::Density(Density::new(density)?),
            (_, None) => return Err(RowError::NoPropensity),
        };
        record.loss = self.loss.map(Loss::new).transpose()?;
        record.check()?;
        Ok(record)
    }
}

impl ContextForm {
    fn check(self) -> Result<Context, RowError> {
        Ok(match self {
            Self::Dense(values) | Self::Named(_, values) => Context::dense(values)?,
            Self::Sparse {
                dim,
                indices,
                values,
            } => {
                if indices.len() != values.len() {
                    return Err(RowError::Type {
                        field: "context".to_owned(),
                        found: format!("{} indices and {} values", indices.len(), values.len()),
                        expected: "as many of both",
                    });
                }
                let entries = indices.into_iter().zip(values).collect();
                Context::sparse(dim, entries)?
            }
        })
    }
}
