use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use egret::Knob;

use crate::mapping::{LogMapping, NO_DENSITY, nearest};
use crate::record::{
    RowError,
    field::{self, Access, FIELDS},
    row_error::listed,
};

/// What a column of a table is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A field of the record.
    Field(usize),
    /// A coordinate of the action.
    Coordinate(usize),
    /// The knob of its name, of an action over a mixed space.
    Knob,
    /// The probability that the event was dropped from the log, as Vowpal Wabbit has it.
    Dropped,
    /// A feature.
    Feature,
    /// Neither: it is kept by its name.
    Extra,
    /// It has the name of a field that another column holds.
    Left,
}

/// What each column is for.
pub(crate) struct Roles {
    mapping: LogMapping,
    /// Of the space, where it is mixed.
    knobs: BTreeMap<String, Knob>,
    known: HashMap<Arc<str>, Role>,
    /// What stood in each place of the row before: rows mostly have the same columns.
    before: Vec<(Arc<str>, Role)>,
}

impl Roles {
    pub(crate) fn new(mapping: LogMapping, knobs: BTreeMap<String, Knob>) -> Self {
        Self {
            mapping,
            knobs,
            known: HashMap::new(),
            before: Vec::new(),
        }
    }

    /// The role of the column that stands in this place of a row.
    pub(crate) fn of(&mut self, place: usize, name: &Arc<str>) -> Role {
        if let Some((before, role)) = self.before.get(place)
            && Arc::ptr_eq(before, name)
        {
            return *role;
        }
        let role = match self.known.get(name) {
            Some(role) => *role,
            None => {
                let role = self.find(name);
                self.known.insert(name.clone(), role);
                role
            }
        };
        if place < self.before.len() {
            self.before[place] = (name.clone(), role);
        } else if place == self.before.len() {
            self.before.push((name.clone(), role));
        }
        role
    }

    fn find(&self, name: &str) -> Role {
        let mapping = &self.mapping;
        let place = |field: &str| field::find(field, 0).expect("a field of the record");
        if self.knobs.contains_key(name) && mapping.action.iter().any(|action| action == name) {
            return Role::Knob;
        }
        if mapping.action.len() == 1 && mapping.action[0] == name {
            return Role::Field(place("action"));
        }
        if let Some(coordinate) = mapping.action.iter().position(|action| action == name) {
            return Role::Coordinate(coordinate);
        }
        let is = |column: &Option<String>| column.as_deref() == Some(name);
        for (column, field) in self.fields() {
            if is(column) {
                return Role::Field(place(field));
            }
        }
        let below = |context: &String| {
            name.strip_prefix(context.as_str())
                .is_some_and(|rest| rest.starts_with('.'))
        };
        if mapping
            .context
            .iter()
            .any(|context| context == name || below(context))
        {
            return Role::Feature;
        }
        match field::find(name, 0) {
            None if name == "pdrop" => Role::Dropped,
            None => Role::Extra,
            Some(_) if self.column_of(name).is_some() => Role::Left,
            // Whether a row has a density was said of all rows.
            Some(_) if name == "propensity" && mapping.density.as_deref() == Some(NO_DENSITY) => {
                Role::Left
            }
            Some(place)
                if matches!(FIELDS[place].access, Access::Context)
                    && !mapping.context.is_empty() =>
            {
                Role::Left
            }
            Some(place) => Role::Field(place),
        }
    }

    /// The fields that columns can be named for, but for the action.
    fn fields(&self) -> [(&Option<String>, &'static str); 6] {
        let mapping = &self.mapping;
        let loss = if mapping.loss_range.is_some() {
            "outcome"
        } else {
            "loss"
        };
        [
            (&mapping.density, "density"),
            (&mapping.reward, "outcome"),
            (&mapping.loss, loss),
            (&mapping.limits, "limits"),
            (&mapping.time, "time"),
            (&mapping.id, "eventId"),
        ]
    }

    /// The column that was named for what a request allowed.
    pub(crate) fn limits(&self) -> Option<&str> {
        self.mapping.limits.as_deref()
    }

    /// Whether the knob of this name has categories.
    pub(crate) fn has_categories(&self, knob: &str) -> bool {
        matches!(self.knobs.get(knob), Some(Knob::Categories(_)))
    }

    /// The column that was named for a field.
    pub(crate) fn column_of(&self, field: &str) -> Option<String> {
        if field == "action" && !self.mapping.action.is_empty() {
            return Some(self.mapping.action.join(", "));
        }
        // The loss of a row comes from its outcome.
        let fields = self.fields();
        let mut named = fields.iter().filter(|(_, known)| *known == field);
        named.find_map(|(column, _)| (*column).clone())
    }

    /// An error unless the table has the columns that are named, and those that every row needs. Where each row has its own
    /// columns, `all` is false and only what every row needs is looked for.
    pub(crate) fn check(&self, columns: &[Arc<str>], all: bool) -> Result<(), RowError> {
        let has = |name: &str| {
            let below = |column: &Arc<str>| {
                column
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with('.'))
            };
            columns
                .iter()
                .any(|column| **column == *name || below(column))
        };
        let mapping = &self.mapping;
        let density = mapping.density.as_ref().filter(|name| *name != NO_DENSITY);
        let needed = mapping.action.iter().chain(density);
        let optional = [
            &mapping.reward,
            &mapping.loss,
            &mapping.limits,
            &mapping.time,
            &mapping.id,
        ];
        let optional = optional.into_iter().flatten().chain(&mapping.context);
        let optional = optional.filter(|_| all);
        if let Some(name) = needed.chain(optional).find(|name| !has(name)) {
            let meant = nearest(name, columns.iter().map(|column| &**column));
            let meant = meant.map_or(".".to_owned(), |meant| format!(", did you mean {meant:?}?"));
            return Err(RowError::Unreadable(format!(
                "there is no column {name:?}{meant} The file has {}",
                listed(columns)
            )));
        }
        if mapping.action.is_empty() && !has("action") {
            return Err(RowError::which_action(columns));
        }
        if mapping.density.is_none() && !has("density") && !has("propensity") {
            return Err(RowError::Unreadable(format!(
                "no column is the density of the action: name it with --density; the file has {}. Without densities no other \
                 policy can be evaluated from the log and nothing can be audited; --density none reads it all the same, for \
                 `egret log stats` and `egret learn --method dm`, and `egret ope --estimate-density` estimates them, as an \
                 assumption",
                listed(columns)
            )));
        }
        Ok(())
    }
}
