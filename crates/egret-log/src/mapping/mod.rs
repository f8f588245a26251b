//! Logs as people have them: which column of a table is the action, its density, the outcome, the features.
//!
//! A [`LogMapping`] is given by flags, or is a small file of TOML beside the log. `roles` works out what each column is
//! for, and `source` makes records of the rows: from there on they are as any log's.

mod names;
pub(crate) mod roles;
pub(crate) mod source;
mod text_form;
mod value_range;

pub use names::nearest;
pub use value_range::{ValueRange, ValueRangeError};

use std::path::{Path, PathBuf};

use egret::{Knob, Objective, Space};
use serde::{Deserialize, Serialize};

use crate::input::is_stdin;
use crate::record::RowError;

/// Which columns of a table make a log.
///
/// What is not named goes by the names of the record's fields (docs/log.md): a column `density` is the density. A column
/// that is neither is kept as it is, for policies and predictions to be taken from.
///
/// ```
/// use egret_log::LogMapping;
///
/// let mapping = LogMapping::from_toml(
///     r#"
///     action = "price"
///     density = "p"
///     density_per_unit = true
///     reward = "revenue"
///     reward_range = "0,50"
///     context = ["age", "segment"]
///     space = "interval:5,50"
///     "#,
/// )?;
/// assert_eq!(mapping.action, ["price"]);
/// assert!(LogMapping::from_toml("acton = \"price\"").is_err());
/// # Ok::<(), egret_log::RowError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogMapping {
    /// The column of the action; several columns are the coordinates of a vector, and over a mixed space each is the knob of its
    /// name.
    #[serde(with = "text_form::one_or_many")]
    pub action: Vec<String>,
    /// The column of the density of the action, or `none` where densities were not logged: every row is a point mass then.
    pub density: Option<String>,
    /// Whether densities are per unit of length or volume, or probabilities of steps or items; otherwise they are
    /// against μ, whose own density is 1.
    pub density_per_unit: Option<bool>,
    /// The column of the outcome, if more is better.
    pub reward: Option<String>,
    /// The least and the largest reward that can be.
    #[serde(with = "text_form")]
    pub reward_range: Option<ValueRange>,
    /// The column of the outcome, if less is better.
    pub loss: Option<String>,
    /// The least and the largest loss that can be: 0 and 1 if it is absent.
    #[serde(with = "text_form")]
    pub loss_range: Option<ValueRange>,
    /// The columns of the features.
    #[serde(with = "text_form::one_or_many")]
    pub context: Vec<String>,
    /// The action space, for rows that do not say it.
    #[serde(with = "text_form")]
    pub space: Option<Space>,
    /// The action space where neither `space` nor the log says it; not part of a file.
    #[serde(skip)]
    pub unstated_space: Option<Space>,
    /// The column of what the request allowed, as JSON in the form of the log; an empty cell allows all.
    pub limits: Option<String>,
    /// The column of the time of the decision.
    pub time: Option<String>,
    /// The column that names the event.
    pub id: Option<String>,
}

/// The word for a density that was not logged.
pub const NO_DENSITY: &str = "none";

impl LogMapping {
    /// From the text of a file.
    pub fn from_toml(text: &str) -> Result<Self, RowError> {
        let mapping: Self = toml::from_str(text).map_err(|error| {
            let before = &text[..error.span().map_or(0, |span| span.start)];
            let line = before.lines().count().max(1);
            RowError::Unreadable(format!("line {line}: {}", error.message()))
        })?;
        mapping.check()?;
        Ok(mapping)
    }

    /// Where the mapping of a file may be: beside it under its name with `.toml`, or `log.toml` in its folder.
    pub fn places(file: &Path) -> Vec<PathBuf> {
        if is_stdin(file) {
            return Vec::new();
        }
        let mut own = file.as_os_str().to_owned();
        own.push(".toml");
        vec![own.into(), file.with_file_name("log.toml")]
    }

    /// This mapping, and where it says nothing, the other.
    pub fn or(&self, other: &Self) -> Self {
        let list = |own: &Vec<String>, other: &Vec<String>| {
            if own.is_empty() {
                other.clone()
            } else {
                own.clone()
            }
        };
        let text =
            |own: &Option<String>, other: &Option<String>| own.clone().or_else(|| other.clone());
        // A reward in place of a loss, not beside it.
        let has_outcome = self.reward.is_some() || self.loss.is_some();
        let outcome = if has_outcome { &Self::default() } else { other };
        Self {
            action: list(&self.action, &other.action),
            density: text(&self.density, &other.density),
            density_per_unit: self.density_per_unit.or(other.density_per_unit),
            reward: text(&self.reward, &outcome.reward),
            reward_range: self
                .reward_range
                .or(other.reward_range.filter(|_| self.loss.is_none())),
            loss: text(&self.loss, &outcome.loss),
            loss_range: self
                .loss_range
                .or(other.loss_range.filter(|_| self.reward.is_none())),
            context: list(&self.context, &other.context),
            space: self.space.clone().or_else(|| other.space.clone()),
            unstated_space: (self.unstated_space.clone()).or_else(|| other.unstated_space.clone()),
            limits: text(&self.limits, &other.limits),
            time: text(&self.time, &other.time),
            id: text(&self.id, &other.id),
        }
    }

    /// Whether it says anything of columns, so that files are tables and not records.
    pub fn names_columns(&self) -> bool {
        let without = Self {
            space: self.space.clone(),
            unstated_space: self.unstated_space.clone(),
            ..Self::default()
        };
        *self != without
    }

    /// An error where it contradicts itself.
    pub fn check(&self) -> Result<(), RowError> {
        let refused = |field: &'static str, problem: &str| {
            let problem = problem.to_owned();
            Err(RowError::Field { field, problem })
        };
        if self.reward.is_some() && self.loss.is_some() {
            return refused("loss", "there is a reward too: an outcome is one of them");
        }
        if self.reward_range.is_some() && self.reward.is_none() {
            return refused(
                "reward_range",
                "it is of no use without a reward: name its column",
            );
        }
        if self.loss_range.is_some() && self.loss.is_none() {
            return refused(
                "loss_range",
                "it is of no use without a loss: name its column",
            );
        }
        if self.reward.is_some() && self.reward_range.is_none() {
            return refused(
                "reward_range",
                "a reward needs the least and the largest that can be, as in --reward-range 0,50; values outside are \
                 refused, or cut off with 0,50,clip",
            );
        }
        if let Some(space) = &self.space
            && let Err(error) = space.check()
        {
            return refused("space", &error.to_string());
        }
        if self.density.is_none() && self.density_per_unit == Some(true) && self.action.is_empty() {
            return refused(
                "density_per_unit",
                "it is of no use without a density: name its column",
            );
        }
        if self.density_per_unit == Some(true) {
            match self.space.as_ref().or(self.unstated_space.as_ref()) {
                None => {
                    return refused(
                        "density_per_unit",
                        "it needs the action space, as in interval:5,50: its width makes densities comparable",
                    );
                }
                Some(space) if unit_of(space).is_none() => {
                    let problem = format!(
                        "densities per unit are known how to convert on intervals, boxes, steps, items and knobs, and this is {space}: \
                         divide them by the density of mu yourself"
                    );
                    return refused("density_per_unit", &problem);
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// What outcomes are, if it says so.
    pub fn objective(&self) -> Option<Objective> {
        match (&self.reward_range, &self.loss_range) {
            (Some(range), _) => Some(range.maximize()),
            (None, Some(range)) => Some(range.minimize()),
            (None, None) => None,
        }
    }
}

/// How much a space holds in units of its own: its length or volume, or the number of its steps, items or categories. A density per
/// unit times this is one against μ, where μ is uniform.
pub fn unit_of(space: &Space) -> Option<f64> {
    match space {
        Space::Interval { low, high } => Some(high - low),
        Space::Box { sides } => Some(sides.iter().map(|(low, high)| high - low).product()),
        Space::Steps { low, high, step } => Some(((high - low) / step).round() + 1.0),
        Space::Items {
            count,
            weights: None,
        } => Some(*count as f64),
        Space::ChangedItems {
            count,
            weights: None,
            removed,
            ..
        } => Some((count - removed.len()) as f64),
        Space::Mixed { knobs } => Some(knobs.values().map(unit_of_knob).product()),
        _ => None,
    }
}

fn unit_of_knob(knob: &Knob) -> f64 {
    match knob {
        Knob::Interval { low, high } => high - low,
        Knob::Steps { low, high, step } => ((high - low) / step).round() + 1.0,
        Knob::Categories(names) => names.len() as f64,
    }
}
