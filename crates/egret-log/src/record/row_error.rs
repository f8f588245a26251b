use egret::{ActionError, ContextError, KindError, Objective, OutOfRange};

use crate::record::{TimeError, VERSION};

/// Why a row is not a valid record.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// A version that this egret does not know.
    #[error("v is {found}, and this egret reads version {VERSION} only")]
    Version {
        /// What it was.
        found: u64,
    },
    /// A required field is missing.
    #[error("{field} is missing")]
    Missing {
        /// Which.
        field: &'static str,
    },
    /// A table of someone else's: nothing says which of its columns is the action.
    #[error(
        "which column is the action? Name it with --action; the file has {columns}. `egret log init` looks at them and \
         proposes what each is"
    )]
    WhichAction {
        /// The columns it has.
        columns: String,
    },
    /// A point mass with a density: one of the two is wrong.
    #[error("propensity is \"pointMass\" and density is {density}: a point mass has no density")]
    PointMassWithDensity {
        /// What it was.
        density: f64,
    },
    /// The caller's own action has no density: it was not drawn.
    #[error(
        "mode is apprentice and density is {density}: the caller chose the action, so its propensity is \"pointMass\""
    )]
    ApprenticeWithDensity {
        /// What it was.
        density: f64,
    },
    /// Neither a density nor a point mass.
    #[error(
        "density is missing: give one, or propensity \"pointMass\" where the action was not drawn"
    )]
    NoPropensity,
    /// The loss is not that of the outcome.
    #[error(
        "loss is {loss}, and the outcome {outcome} has the loss {meant} by the objective {objective}: one of the two is wrong"
    )]
    LossOfOutcome {
        /// The loss.
        loss: f64,
        /// The outcome.
        outcome: f64,
        /// What outcomes are.
        objective: Objective,
        /// The loss of the outcome.
        meant: f64,
    },
    /// A density, a loss or another number out of range.
    #[error(transparent)]
    Number(#[from] OutOfRange),
    /// Not a context.
    #[error("context: {0}")]
    Context(#[from] ContextError),
    /// The action is not one of the space.
    #[error(transparent)]
    Action(#[from] ActionError),
    /// The action is of another kind.
    #[error(transparent)]
    Kind(#[from] KindError),
    /// A word that the field cannot have.
    #[error("{field} is {found:?}, expected {expected}")]
    Word {
        /// Which field.
        field: &'static str,
        /// What it was.
        found: String,
        /// The words there are.
        expected: &'static str,
    },
    /// Not a time.
    #[error("{field}: {error}")]
    Time {
        /// Which field.
        field: &'static str,
        /// Why.
        error: TimeError,
    },
    /// Another type than the field has.
    #[error("{field} is {found}, expected {expected}")]
    Type {
        /// Which field.
        field: String,
        /// What it was.
        found: String,
        /// What it has to be.
        expected: &'static str,
    },
    /// The value of a field cannot be read.
    #[error("{field}: {problem}")]
    Field {
        /// Which field.
        field: &'static str,
        /// Why.
        problem: String,
    },
    /// A column of the user's that goes by a name of egret's.
    #[error("{name:?} is the name of a field of the record: choose another")]
    Reserved {
        /// The name.
        name: String,
    },
    /// An outcome that the objective does not allow.
    #[error(
        "outcome: {outcome} is outside the range of the objective {objective}: widen it, or cut off what is outside ({},{},clip)",
        objective.low(),
        objective.high()
    )]
    Outcome {
        /// What it was.
        outcome: f64,
        /// What outcomes are.
        objective: Objective,
    },
    /// What is wrong with a field, under the name that its column has in the file.
    #[error("column {column}: {error}")]
    Column {
        /// The column.
        column: String,
        /// What is wrong.
        error: Box<RowError>,
    },
    /// The row is over another action space than it was said to be.
    #[error(
        "mu is {found}, and {given} was given: leave the space out, or read each space by itself"
    )]
    Space {
        /// What the row says.
        found: String,
        /// What was said of the log.
        given: String,
    },
    /// Text that is no JSON, or a form that holds no record.
    #[error("{0}")]
    Unreadable(String),
}

impl RowError {
    /// For a table with these columns.
    pub(crate) fn which_action<S: AsRef<str>>(columns: &[S]) -> Self {
        let columns = listed(columns);
        Self::WhichAction { columns }
    }

    /// The field or column to blame, as files call it; none where the row as a whole is unreadable.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Version { .. } => Some("v"),
            Self::Missing { field }
            | Self::Word { field, .. }
            | Self::Time { field, .. }
            | Self::Field { field, .. } => Some(field),
            Self::PointMassWithDensity { .. }
            | Self::ApprenticeWithDensity { .. }
            | Self::NoPropensity => Some("density"),
            Self::LossOfOutcome { .. } => Some("loss"),
            Self::Number(OutOfRange { name, .. }) => Some(name),
            Self::Context(_) => Some("context"),
            Self::Action(_) | Self::Kind(_) | Self::WhichAction { .. } => Some("action"),
            Self::Type { field, .. } | Self::Reserved { name: field } => Some(field),
            Self::Column { column, .. } => Some(column),
            Self::Outcome { .. } => Some("outcome"),
            Self::Space { .. } => Some("mu"),
            Self::Unreadable(_) => None,
        }
    }

    /// The kind of mistake, in a few words that are the same for every row.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Version { .. } => "unknown version",
            Self::Missing { .. } | Self::NoPropensity => "missing field",
            Self::WhichAction { .. } => "columns without roles",
            Self::PointMassWithDensity { .. } | Self::ApprenticeWithDensity { .. } => {
                "density of an action that was not drawn"
            }
            Self::LossOfOutcome { .. } => "loss that is not the outcome's",
            Self::Number(_) => "number out of range",
            Self::Context(_) => "bad context",
            Self::Action(_) | Self::Kind(_) => "action outside its space",
            Self::Word { .. } => "unknown word",
            Self::Time { .. } => "bad time",
            Self::Type { .. } | Self::Field { .. } => "wrong type",
            Self::Reserved { .. } => "reserved name",
            Self::Unreadable(_) => "unreadable",
            Self::Space { .. } => "another action space",
            Self::Outcome { .. } => "outcome outside its range",
            Self::Column { error, .. } => error.kind(),
        }
    }

    /// What can be done about mistakes of this kind.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Version { .. } => "read it with the egret that wrote it",
            Self::Missing { .. } => {
                "fill it in, or name another column; rows without it cannot be used"
            }
            Self::WhichAction { .. } => "let `egret log init` propose what each column is",
            Self::NoPropensity => {
                "log the density of each action as it is drawn; rows without one say nothing of other policies"
            }
            Self::PointMassWithDensity { .. } | Self::ApprenticeWithDensity { .. } => {
                "leave out the density of actions that were not drawn"
            }
            Self::LossOfOutcome { .. } => {
                "leave out the loss, and it is worked out from the outcome"
            }
            Self::Number(_) => "mend what writes it; a density of 0 cannot have been drawn",
            Self::Context(_) => "mend the features; a cell that is empty means missing",
            Self::Action(_) | Self::Kind(_) => {
                "widen the space (--space) to all that could have been played, or mend the action"
            }
            Self::Word { .. } => "use one of the words that are expected",
            Self::Time { .. } => "write times as 2026-11-15T12:00:00Z, or leave the column out",
            Self::Type { .. } | Self::Field { .. } => "mend the cell, or name another column",
            Self::Reserved { .. } => "rename the column",
            Self::Outcome { .. } => {
                "widen the range (--reward-range or --loss-range), or cut off what is outside with LOW,HIGH,clip"
            }
            Self::Space { .. } => {
                "leave --space out, or read the files of each space by themselves"
            }
            Self::Unreadable(_) => "mend the row in an editor, or what writes it",
            Self::Column { error, .. } => error.advice(),
        }
    }
}

/// The names of the columns of a table, the first of them.
pub(crate) fn listed<S: AsRef<str>>(columns: &[S]) -> String {
    const MOST: usize = 30;
    let names: Vec<&str> = columns.iter().take(MOST).map(AsRef::as_ref).collect();
    match columns.len().checked_sub(MOST) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names.join(", ")),
    }
}
