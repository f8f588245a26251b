use egret::{AnyAction, Context, Density, Features, Loss, Propensity};

use crate::record::{Record, RowError, VERSION, named_context, outcome};

/// A record while it is read: nothing is checked yet.
pub(crate) struct Draft {
    /// All but the fields below; its context, action and propensity stand for nothing.
    pub(crate) record: Record,
    pub(crate) version: Option<u64>,
    pub(crate) context: Option<ContextForm>,
    /// Features that have no column of their own.
    pub(crate) rest: Option<Features>,
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
    Named(Features),
}

impl Draft {
    pub(crate) fn new() -> Self {
        let nothing = Context::dense(Vec::new()).expect("no feature is not a number");
        Self {
            record: Record::bare(nothing, AnyAction::Number(0.0), Propensity::PointMass),
            version: None,
            context: None,
            rest: None,
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
            "pointMass" => true,
            other => {
                return Err(RowError::Word {
                    field: "propensity",
                    found: other.to_owned(),
                    expected: "density or pointMass",
                });
            }
        });
        Ok(())
    }

    /// Features that have no column of their own: an object as JSON text.
    pub(crate) fn set_rest(&mut self, text: &str) -> Result<(), RowError> {
        let rest = serde_json::from_str(text).map_err(|error| RowError::Field {
            field: "contextRest",
            problem: error.to_string(),
        })?;
        self.rest = Some(rest);
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
        let context = match (self.context, self.rest) {
            (Some(context), None) => context,
            (Some(ContextForm::Named(features)), Some(rest)) => {
                ContextForm::Named(named_context::joined(features, rest)?)
            }
            (None, Some(rest)) => ContextForm::Named(rest),
            (Some(_), Some(_)) => {
                return Err(RowError::Field {
                    field: "contextRest",
                    problem: "the features of this context have no names".to_owned(),
                });
            }
            (None, None) if self.action.is_none() && !record.extras.is_empty() => {
                let columns: Vec<_> = record.extras.keys().collect();
                return Err(RowError::which_action(&columns));
            }
            (None, None) => return Err(RowError::Missing { field: "context" }),
        };
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
        let stated = self.loss.map(Loss::new).transpose()?;
        record.loss = outcome::loss(stated, record.outcome, record.objective.as_ref())?;
        record.check()?;
        Ok(record)
    }
}

impl ContextForm {
    fn check(self) -> Result<Context, RowError> {
        Ok(match self {
            Self::Named(features) => Context::named(features),
            Self::Dense(values) => Context::dense(values)?,
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
