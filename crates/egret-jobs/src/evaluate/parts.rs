use std::collections::HashMap;

use egret::FeatureValue;
use egret_log::{Extra, Record};
use serde::{Deserialize, Serialize};

use super::Checked;
use super::density::Problem;
use super::tally::{Known, Tally};
use super::weighted_batch::WeightedBatch;
use crate::error::{JobError, Place};

/// What cuts a log into parts that are evaluated each by itself, besides the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartsBy {
    /// The value of a field of contexts, or of a column of the log: customers by their segment.
    Field(String),
    /// So many events after one another: how values move with time.
    Window(u64),
}

/// More parts than this say too little each: intervals hold for all at once.
const MOST: usize = 64;

impl PartsBy {
    pub(super) fn check(&self) -> Result<(), JobError> {
        match self {
            Self::Window(0) => Err(JobError::request("window", "0: give 1 event or more")),
            _ => Ok(()),
        }
    }

    /// What tells the part that an event belongs to from the others; `weighed` events came before it.
    fn label(&self, record: &Record, weighed: u64) -> Result<String, Problem> {
        match self {
            Self::Field(name) => of_field(record, name),
            Self::Window(events) => Ok((weighed / events).to_string()),
        }
    }
}

/// The value of a field of the context, or else of a column, as a word.
fn of_field(record: &Record, name: &str) -> Result<String, Problem> {
    let in_context = record.context.as_named().and_then(|x| x.get(name));
    Ok(match (in_context, record.extra(name)) {
        (Some(FeatureValue::Flag(flag)), _) => flag.to_string(),
        (Some(FeatureValue::Integer(number)), _) => number.to_string(),
        (Some(FeatureValue::Number(number)), _) => number.to_string(),
        (Some(FeatureValue::Text(text)), _) => text.clone(),
        (Some(FeatureValue::List(_) | FeatureValue::Object(_)), _) => {
            return Err(Problem {
                field: Some(name.to_owned()),
                words: "this is a list or an object: --by takes a field with one value, such as a category".to_owned(),
            });
        }
        (_, Some(Extra::Number(number))) => number.to_string(),
        (_, Some(Extra::Text(text))) => text.clone(),
        (Some(FeatureValue::Missing) | None, None) => MISSING.to_owned(),
    })
}

const MISSING: &str = "(missing)";

/// The accumulators of each part.
pub(super) struct PartTallies<'a> {
    by: &'a PartsBy,
    known: Vec<Known>,
    against: Option<usize>,
    places: HashMap<String, usize>,
    tallies: Vec<(String, Tally)>,
    weighed: u64,
}

impl<'a> PartTallies<'a> {
    pub(super) fn new(by: &'a PartsBy, known: Vec<Known>, against: Option<usize>) -> Self {
        Self {
            by,
            known,
            against,
            places: HashMap::new(),
            tallies: Vec::new(),
            weighed: 0,
        }
    }

    /// Adds each event to its part.
    pub(super) fn observe<'r>(
        &mut self,
        checked: &Checked<'_>,
        records: impl Iterator<Item = (&'r Place, &'r Record)>,
        events: &WeightedBatch,
    ) -> Result<(), JobError> {
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); self.tallies.len()];
        for (row, (place, record)) in records.enumerate() {
            let label = self.by.label(record, self.weighed);
            let part = self.place_of(checked, label.map_err(|problem| problem.at(place))?)?;
            self.weighed += 1;
            rows.resize(self.tallies.len(), Vec::new());
            rows[part].push(row);
            let left_out = &mut self.tallies[part].1.left_out;
            left_out.point_masses += u64::from(record.propensity().density().is_none());
        }
        for ((_, tally), rows) in self.tallies.iter_mut().zip(rows) {
            tally.observe(&mut events.only(&rows))?;
        }
        Ok(())
    }

    fn place_of(&mut self, checked: &Checked<'_>, label: String) -> Result<usize, JobError> {
        if let Some(place) = self.places.get(&label) {
            return Ok(*place);
        }
        let place = self.tallies.len();
        if place == MOST {
            let (flag, help) = match self.by {
                PartsBy::Field(_) => (
                    "by",
                    "name a field with fewer values, such as a group of them",
                ),
                PartsBy::Window(_) => ("window", "give more events a window"),
            };
            let problem = format!("the log falls into more than {MOST} parts: {help}");
            return Err(JobError::request(flag, problem));
        }
        let tally = Tally::new(checked, self.known.clone(), self.against)?;
        self.places.insert(label.clone(), place);
        self.tallies.push((label, tally));
        Ok(place)
    }

    /// Each part by its name: windows in their order, values of a field by name. What the whole log left out is shared
    /// out among them, for nobody knows which part it belongs to.
    pub(super) fn finish(mut self, whole: &Tally) -> Vec<(String, Tally)> {
        for (_, tally) in &mut self.tallies {
            let share = tally.evaluations[0].events() as f64 / self.weighed as f64;
            let of = |events: u64| (events as f64 * share).round() as u64;
            tally.left_out.without_loss = of(whole.left_out.without_loss);
            tally.left_out.not_played = of(whole.left_out.not_played);
            tally.left_out.learned = whole.left_out.learned.clone();
            tally.pass_probs = whole.pass_probs;
        }
        match self.by {
            PartsBy::Field(field) => {
                self.tallies.sort_by(|one, other| one.0.cmp(&other.0));
                for (name, _) in &mut self.tallies {
                    *name = format!("{field} = {name}");
                }
            }
            PartsBy::Window(_) => {
                let mut first = 1;
                for (name, tally) in &mut self.tallies {
                    let next = first + tally.evaluations[0].events();
                    *name = format!("events {first} to {}", next - 1);
                    first = next;
                }
            }
        }
        self.tallies
    }
}
