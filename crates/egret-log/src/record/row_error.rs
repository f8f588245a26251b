use egret::{ActionError, ContextError, KindError, OutOfRange};

use crate::record::{TimeError, VERSION};

/// Why a row is not a record.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// Written by rules that are not known here.
    #[error("v is {found}, and this egret reads version {VERSION} only")]
    Version {
        /// What it was.
        found: u64,
    },
    /// A field that has to be there.
    #[error("{field} is missing")]
    Missing {
        /// Which.
        field: &'static str,
    },
    /// A point mass with a density: one of the two is wrong.
    #[error("propensity is atom and density is {density}: an atom has none")]
    AtomWithDensity {
        /// What it was.
        density: f64,
    },
    /// The caller's own action, which was not drawn.
    #[error(
        "mode is apprentice and density is {density}: the caller's own action was not drawn, its propensity is atom"
    )]
    ApprenticeWithDensity {
        /// What it was.
        density: f64,
    },
    /// Neither a density nor a word that there is none.
    #[error("density is missing: give one, or propensity \"atom\" where the action was not drawn")]
    NoPropensity,
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
    /// A word that is not one of a few.
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
    /// Features by names that differ from those of the rows before.
    #[error("the context has the features {found}, the rows before have {expected}")]
    Features {
        /// What it was.
        found: String,
        /// What it has to be.
        expected: String,
    },
    /// A column of the user's that goes by a name of egret's.
    #[error("{name:?} is a name of the record's own")]
    Reserved {
        /// The name.
        name: String,
    },
    /// Text that is no JSON, or a form that holds no record.
    #[error("{0}")]
    Unreadable(String),
}

impl RowError {
    /// What sort of mistake it is, in a few words that do not change with the row.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Version { .. } => "unknown version",
            Self::Missing { .. } | Self::NoPropensity => "missing field",
            Self::AtomWithDensity { .. } | Self::ApprenticeWithDensity { .. } => {
                "density of an action that was not drawn"
            }
            Self::Number(_) => "number out of range",
            Self::Context(_) | Self::Features { .. } => "bad context",
            Self::Action(_) | Self::Kind(_) => "action outside its space",
            Self::Word { .. } => "unknown word",
            Self::Time { .. } => "bad time",
            Self::Type { .. } => "wrong type",
            Self::Reserved { .. } => "reserved name",
            Self::Unreadable(_) => "unreadable",
        }
    }
}
