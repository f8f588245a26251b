use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use egret::{AnyAction, FeatureValue, Features, KnobValue, MixedAction, Objective, Space, Vector};
use serde_json::Value;

use crate::mapping::roles::{Role, Roles};
use crate::mapping::{LogMapping, NO_DENSITY, unit_of};
use crate::record::{
    Cells, Extra, Record, RowError, Time,
    bad_row::BadRow,
    draft::{ContextForm, Draft},
    field::{Access, FIELDS},
    mu_cache::MuCache,
    named_context, outcome,
};
use crate::table::{Table, cell, flattened, typed_cell};

/// The records of a table.
pub(crate) struct MappedSource {
    table: Table,
    roles: Roles,
    mu: Option<Arc<Space>>,
    /// That of rows which state none, where `mu` is none.
    unstated: Option<Arc<Space>>,
    objective: Option<Objective>,
    /// What densities are multiplied by.
    unit: f64,
    per_unit: bool,
    without_densities: bool,
    cache: MuCache,
    /// Whether the columns of the table were compared with those that are named.
    checked: bool,
}

impl MappedSource {
    /// Records of a table by a mapping. An error where the table lacks a column.
    pub(crate) fn new(table: Table, mapping: &LogMapping) -> Result<Self, RowError> {
        mapping.check()?;
        let (stated, objective) = table.stated();
        let given = mapping.space.clone().map(Arc::new);
        if let (Some(found), Some(given)) = (&stated, &given)
            && found != given
        {
            return Err(RowError::Space {
                found: found.to_string(),
                given: given.to_string(),
            });
        }
        let mu = given.or(stated);
        let unstated = mapping.unstated_space.clone().map(Arc::new);
        let unit = match (mapping.density_per_unit, mu.as_ref().or(unstated.as_ref())) {
            (Some(true), Some(space)) => unit_of(space).unwrap_or(1.0),
            _ => 1.0,
        };
        let knobs = match mu.as_ref().or(unstated.as_ref()).map(|space| &**space) {
            Some(Space::Mixed { knobs }) => knobs.clone(),
            _ => BTreeMap::new(),
        };
        let roles = Roles::new(mapping.clone(), knobs);
        let columns = table.columns();
        if let Some(columns) = &columns {
            roles.check(columns, true)?;
        }
        Ok(Self {
            checked: columns.is_some(),
            table,
            roles,
            mu,
            unstated,
            objective: mapping.objective().or(objective),
            unit,
            per_unit: mapping.density_per_unit == Some(true),
            without_densities: mapping.density.as_deref() == Some(NO_DENSITY),
            cache: MuCache::default(),
        })
    }

    /// What densities are multiplied by.
    pub(crate) fn unit(&self) -> f64 {
        self.unit
    }

    pub(crate) fn row(&self) -> u64 {
        self.table.row()
    }

    pub(crate) fn progress(&self) -> f64 {
        self.table.progress()
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Result<Record, BadRow>>> {
        let Some(cells) = self.table.next_cells()? else {
            return Ok(None);
        };
        let cells = match cells {
            Ok(cells) => flattened(cells, self.roles.limits()),
            Err(bad) => return Ok(Some(Err(bad))),
        };
        Ok(Some(self.record(&cells).map_err(|error| BadRow {
            row: self.table.row(),
            error: self.in_columns(error),
            content: content(cells),
        })))
    }

    fn record(&mut self, cells: &Cells) -> Result<Record, RowError> {
        if !self.checked {
            let columns: Vec<Arc<str>> = cells.iter().map(|(name, _)| name.clone()).collect();
            self.roles.check(&columns, false)?;
            self.checked = true;
        }
        let mut draft = Draft::new();
        let mu = self.mu.as_ref().or(self.unstated.as_ref());
        draft.record.mu = mu.cloned();
        draft.record.objective = self.objective;
        if self.without_densities {
            draft.point_mass = Some(true);
        }
        let mut features = Features::new();
        let mut coordinates = Vec::new();
        let mut knobs = BTreeMap::new();
        for (place, (name, value)) in cells.iter().enumerate() {
            match self.roles.of(place, name) {
                Role::Field(place) => self.set(&mut draft, place, value)?,
                Role::Coordinate(place) => coordinates.push((place, number(name, value)?)),
                Role::Knob => {
                    let value = match self.roles.has_categories(name) {
                        true => cell::text(value).map(|text| text.map(FeatureValue::from)),
                        false => cell::number(value).map(|number| number.map(FeatureValue::from)),
                    };
                    let value = value.map_err(|expected| RowError::Type {
                        field: name.to_string(),
                        found: cell::shown(&cells[place].1),
                        expected,
                    })?;
                    knobs.extend(value.map(|value| (name.to_string(), value)));
                }
                Role::Dropped => {
                    let kept = number(name, value)?.map(|dropped| 1.0 - dropped);
                    draft.record.pass_prob = draft.record.pass_prob.or(kept);
                }
                Role::Feature => features.set(&**name, self.typed(value)),
                Role::Extra => {
                    if let Some(value) = extra(self.typed(value)) {
                        draft.record.extras.insert(name.clone(), value);
                    }
                }
                Role::Left => {}
            }
        }
        if !coordinates.is_empty() {
            coordinates.sort_unstable_by_key(|(place, _)| *place);
            let numbers: Option<Vec<f64>> =
                coordinates.into_iter().map(|(_, number)| number).collect();
            let numbers = numbers.ok_or(RowError::Missing { field: "action" })?;
            draft.action = Some(Vector::new(&numbers)?.into());
        }
        if !knobs.is_empty() {
            draft.action = action(&FeatureValue::Object(knobs))?;
        }
        if draft.context.is_none() && draft.rest.is_none() {
            draft.context = Some(ContextForm::Named(features));
        }
        if self.per_unit && draft.record.limits.is_some() {
            return Err(RowError::Field {
                field: "limits",
                problem: "densities per unit are made densities against mu by the width of the whole space, and here a part is \
                          allowed: log densities against mu restricted to the limits, as `egret decide` prints them, and leave out \
                          density_per_unit"
                    .to_owned(),
            });
        }
        if let (Some(given), Some(own)) = (&self.mu, &draft.record.mu)
            && given != own
        {
            return Err(RowError::Space {
                found: own.to_string(),
                given: given.to_string(),
            });
        }
        draft.finish()
    }

    /// What a value is: text of a CSV may be a number.
    fn typed(&self, value: &FeatureValue) -> FeatureValue {
        match value {
            FeatureValue::Text(text) if self.table.is_text() => typed_cell(text),
            other => other.clone(),
        }
    }

    /// An error under the name that its column has in the file.
    fn in_columns(&self, error: RowError) -> RowError {
        let column = error.field().and_then(|field| {
            let column = self.roles.column_of(field)?;
            (column != field).then_some(column)
        });
        match column {
            Some(column) => RowError::Column {
                column,
                error: Box::new(error),
            },
            None => error,
        }
    }

    /// Sets a field of the record from the value of a cell.
    fn set(
        &mut self,
        draft: &mut Draft,
        place: usize,
        value: &FeatureValue,
    ) -> Result<(), RowError> {
        let name = FIELDS[place].name;
        let wrong = |expected: &'static str| RowError::Type {
            field: name.to_owned(),
            found: cell::shown(value),
            expected,
        };
        let unreadable = |problem: &dyn std::fmt::Display| RowError::Field {
            field: name,
            problem: problem.to_string(),
        };
        let record = &mut draft.record;
        match FIELDS[place].access {
            Access::Version => draft.version = cell::count(value).map_err(wrong)?,
            Access::Context => draft.context = context(value).map_err(wrong)?,
            Access::ContextRest => {
                if let Some(text) = json_text(value) {
                    draft.set_rest(&text)?;
                }
            }
            Access::Mu => {
                if let Some(text) = json_text(value) {
                    record.mu = Some(self.cache.parse(&text)?);
                }
            }
            Access::Limits => {
                if let Some(text) = json_text(value) {
                    let limits = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
                    record.limits = Some(limits);
                }
            }
            Access::Objective => {
                if let Some(text) = json_text(value) {
                    record.objective = Some(outcome::objective(&text)?);
                }
            }
            Access::Action => draft.action = action(value)?,
            Access::Propensity => {
                if let Some(word) = cell::text(value).map_err(wrong)? {
                    draft.set_propensity(&word)?;
                }
            }
            Access::Density => {
                let density = cell::number(value).map_err(wrong)?;
                // One that no density can be is told of as it was written.
                let unit = |density| if 0.0 < density { self.unit } else { 1.0 };
                draft.density = density.map(|density| density * unit(density));
            }
            Access::Loss => draft.loss = cell::number(value).map_err(wrong)?,
            Access::Number { set, .. } => *set(record) = cell::number(value).map_err(wrong)?,
            Access::Count { set, .. } => *set(record) = cell::count(value).map_err(wrong)?,
            Access::Small { set, .. } => {
                let count = cell::count(value).map_err(wrong)?;
                let small =
                    |count| u32::try_from(count).map_err(|_| wrong("a whole number below 2^32"));
                *set(record) = count.map(small).transpose()?;
            }
            Access::Text { set, .. } => *set(record) = cell::text(value).map_err(wrong)?,
            Access::Flag { set, .. } => *set(record) = cell::flag(value).map_err(wrong)?,
            Access::Instant { set, .. } => {
                let text = cell::text(value).map_err(wrong)?;
                let time = text.map(|text| Time::of_any_notation(&text)).transpose();
                *set(record) = time.map_err(|error| RowError::Time { field: name, error })?;
            }
            Access::Word { set, .. } => {
                if let Some(word) = cell::text(value).map_err(wrong)? {
                    set(record, &word)?;
                }
            }
        }
        Ok(())
    }
}

fn number(column: &str, value: &FeatureValue) -> Result<Option<f64>, RowError> {
    cell::number(value).map_err(|expected| RowError::Type {
        field: column.to_owned(),
        found: cell::shown(value),
        expected,
    })
}

/// An action: a number, a list of numbers or an object by knobs; a list may be JSON text. Whether a number is an item, the
/// space tells.
fn action(value: &FeatureValue) -> Result<Option<AnyAction>, RowError> {
    let wrong = || RowError::Type {
        field: "action".to_owned(),
        found: cell::shown(value),
        expected: "a number, a list of numbers, or an object with a value for each knob; a column of words needs its \
                   categories, as in --space 'mixed:colour=red|green|blue' for a column colour",
    };
    let parsed;
    let value = match value {
        FeatureValue::Text(text) if text.trim_start().starts_with(['[', '{']) => {
            parsed = serde_json::from_str(text).map_err(|_| wrong())?;
            &parsed
        }
        value => value,
    };
    Ok(match value {
        FeatureValue::Missing => None,
        FeatureValue::List(values) => {
            let numbers: Option<Vec<f64>> = values
                .iter()
                .map(|value| cell::number(value).ok()?)
                .collect();
            Some(Vector::new(&numbers.ok_or_else(wrong)?)?.into())
        }
        FeatureValue::Object(knobs) => {
            let mut values = Vec::new();
            for (name, value) in knobs {
                match value {
                    FeatureValue::Missing => {}
                    FeatureValue::Text(category) => {
                        values.push((name.as_str(), KnobValue::from(category.as_str())))
                    }
                    value => {
                        let number = cell::number(value).ok().flatten().ok_or_else(wrong)?;
                        values.push((name, KnobValue::from(number)));
                    }
                }
            }
            let action = MixedAction::new(values).map_err(|error| RowError::Field {
                field: "action",
                problem: error.to_string(),
            })?;
            Some(action.into())
        }
        value => cell::number(value)
            .map_err(|expected| match expected {
                cell::DECIMAL_POINT => RowError::Type {
                    field: "action".to_owned(),
                    found: cell::shown(value),
                    expected,
                },
                _ => wrong(),
            })?
            .map(AnyAction::Number),
    })
}

/// A context in one column: a list of numbers, or an object; either may be JSON text.
fn context(value: &FeatureValue) -> Result<Option<ContextForm>, &'static str> {
    const EXPECTED: &str = "a list of numbers or an object";
    let Some(text) = json_text(value) else {
        return Ok(None);
    };
    serde_json::from_str(&text).map(Some).map_err(|_| EXPECTED)
}

/// A value as JSON text; text itself is taken for JSON. None where it is missing.
fn json_text(value: &FeatureValue) -> Option<String> {
    match value {
        FeatureValue::Missing => None,
        FeatureValue::Text(text) => Some(text.clone()),
        other => Some(serde_json::to_string(other).expect("a value is written to memory")),
    }
}

/// A column of the user's own: numbers and text as they are, all else as JSON text.
fn extra(value: FeatureValue) -> Option<Extra> {
    match value {
        FeatureValue::Missing => None,
        FeatureValue::Flag(flag) => Some(Extra::Number(f64::from(u8::from(flag)))),
        FeatureValue::Integer(whole) => Some(match named_context::exact(whole) {
            Some(number) => Extra::Number(number),
            None => Extra::Text(whole.to_string()),
        }),
        FeatureValue::Number(number) => Some(Extra::Number(number)),
        FeatureValue::Text(text) => Some(Extra::Text(text)),
        other => json_text(&other).map(Extra::Text),
    }
}

fn content(cells: Cells) -> Value {
    let json = |value: FeatureValue| serde_json::to_value(value).unwrap_or(Value::Null);
    cells
        .into_iter()
        .map(|(name, value)| (name.to_string(), json(value)))
        .collect()
}
