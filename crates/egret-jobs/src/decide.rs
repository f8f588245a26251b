//! What a model would do: contexts in, actions with densities out.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use egret::{AnyAction, Context, FeatureCounts, FeatureSchema, FeatureValue, FieldKind, Limits};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{JobError, Place};
use crate::progress::{Progress, Step, tell};
use crate::saved_model::load_model;

/// Which model decides, and for which contexts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecideRequest {
    /// A saved model.
    pub model: PathBuf,
    /// The contexts.
    pub contexts: ContextSource,
    /// The number of the first event; the others follow. None: go on from the model's. A number that the model knows to be
    /// used is refused, as its random numbers would come again. The model file is not changed: next time, say where to go on.
    #[serde(default)]
    pub first_event: Option<u64>,
    /// What each request allows, if not all actions.
    #[serde(default)]
    pub limits: Option<LimitsSource>,
}

/// Where limits come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitsSource {
    /// In the request itself: for each context, in order; none allows all actions.
    Given(Vec<Option<Limits>>),
    /// A column of the table, or a field of its JSON objects, in the form of the log: `{"interval":{"low":9,"high":11}}`. Empty,
    /// null or absent allows all actions. It is no feature. Where contexts are lists of numbers, an object has them as
    /// `context` beside this field.
    Column(String),
}

/// Where contexts come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextSource {
    /// In the request itself.
    Given(Vec<Context>),
    /// A table: `.csv` with a line of names, or JSON lines, each an object or a list of numbers. Names matter where the
    /// model has a feature schema; otherwise each row is a list of numbers, in the order of the columns.
    Table(PathBuf),
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DecideReport {
    /// In the order of the contexts.
    pub decisions: Vec<Decided>,
    /// The number after the last: the first of the next request.
    pub next_event: u64,
    /// How contexts differed from the model's schema, if it has one.
    pub features: Option<FeatureCounts>,
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decided {
    /// Its number.
    pub event: u64,
    /// What to do.
    pub action: AnyAction,
    /// dP/dμ at the action; none for a point mass. Within limits, against μ restricted to them.
    pub density: Option<f64>,
    /// What the request allowed, if not all actions: log it with the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// Contexts that are decided side by side.
const BATCH: usize = 4_096;

/// Decides for each context. The model does not learn.
pub fn decide(request: &DecideRequest, progress: &dyn Progress) -> Result<DecideReport, JobError> {
    let model = load_model(&request.model)?;
    let column = match &request.limits {
        Some(LimitsSource::Column(name)) => Some(name.as_str()),
        _ => None,
    };
    let (contexts, mut limits, places) = match &request.contexts {
        ContextSource::Given(_) if column.is_some() => {
            let problem = "contexts that are given have no columns: give the limits too";
            return Err(JobError::request("limits", problem));
        }
        ContextSource::Given(contexts) => (contexts.clone(), vec![None; contexts.len()], None),
        ContextSource::Table(file) => {
            let table = read_table(file, model.spec().features.as_ref(), column)?;
            (table.contexts, table.limits, Some(table.places))
        }
    };
    if let Some(LimitsSource::Given(given)) = &request.limits {
        if given.len() != contexts.len() {
            let problem = format!("{} for {} contexts", given.len(), contexts.len());
            return Err(JobError::request("limits", problem));
        }
        limits.clone_from(given);
    }
    let unused = model.next_event();
    let first_event = request.first_event.unwrap_or(unused);
    if first_event < unused {
        let problem = format!(
            "{first_event} is used already, and its random numbers would come again: give {unused} or more"
        );
        return Err(JobError::request("first_event", problem));
    }
    let Some(next_event) = first_event.checked_add(contexts.len() as u64) else {
        let problem = "too large: the numbers of the events would start again at 0";
        return Err(JobError::request("first_event", problem));
    };
    let all = contexts.len().max(1) as f64;
    let mut decisions = Vec::with_capacity(contexts.len());
    for (part, contexts) in contexts.chunks(BATCH).enumerate() {
        let start = part * BATCH;
        let decided: Vec<_> = contexts
            .par_iter()
            .enumerate()
            .map(|(row, x)| {
                let event = first_event + (start + row) as u64;
                match &limits[start + row] {
                    Some(limits) => model.decide_within(event, x, limits),
                    None => model.decide(event, x),
                }
            })
            .collect();
        for (row, decided) in decided.into_iter().enumerate() {
            let decision = decided.map_err(|error| match &places {
                Some(places) => JobError::record(&places[start + row], error),
                None => error.into(),
            })?;
            decisions.push(Decided {
                event: decision.event,
                density: decision.propensity.density().map(egret::Density::get),
                action: decision.action,
                limits: decision.limits,
            });
        }
        tell(progress, Step::Read(decisions.len() as f64 / all))?;
    }
    let schema = model.spec().features.as_ref();
    Ok(DecideReport {
        features: schema.map(|schema| schema.counts(contexts.iter())),
        decisions,
        next_event,
    })
}

/// The rows of a table.
#[derive(Default)]
struct Table {
    contexts: Vec<Context>,
    limits: Vec<Option<Limits>>,
    places: Vec<Place>,
}

/// A row: its context, and what it allows.
type Row = (Context, Option<Limits>);

/// The rows of a table, features by name where the model has a schema; `column` holds the limits.
fn read_table(
    file: &Path,
    schema: Option<&FeatureSchema>,
    column: Option<&str>,
) -> Result<Table, JobError> {
    let failed = |source| JobError::File {
        file: file.to_owned(),
        source,
    };
    let mut all = Table::default();
    let mut push = |row: u64, read: Result<Row, String>| {
        let place = Place {
            file: file.into(),
            row,
            field: None,
        };
        let (context, limits) = read.map_err(|problem| JobError::record(&place, problem))?;
        all.contexts.push(context);
        all.limits.push(limits);
        all.places.push(place);
        Ok::<(), JobError>(())
    };
    if file.extension().is_some_and(|ending| ending == "csv") {
        let unreadable = |error: csv::Error| failed(std::io::Error::other(error));
        let mut table = csv::ReaderBuilder::new()
            .flexible(true)
            .from_path(file)
            .map_err(unreadable)?;
        let names = table.headers().map_err(unreadable)?.clone();
        let limits = column.map(|column| {
            let place = names.iter().position(|name| name == column);
            place.ok_or_else(|| JobError::request("limits", format!("no column {column:?}")))
        });
        let columns = Columns {
            words: names.iter().map(|name| holds_words(schema, name)).collect(),
            named: schema.is_some(),
            limits: limits.transpose()?,
            names,
        };
        for record in table.records() {
            let record = record.map_err(unreadable)?;
            let row = record.position().map_or(0, |position| position.line());
            push(row, columns.row(&record))?;
        }
    } else {
        let lines = BufReader::new(File::open(file).map_err(failed)?).lines();
        for (row, line) in lines.enumerate() {
            let line = line.map_err(failed)?;
            if !line.trim().is_empty() {
                push(row as u64 + 1, row_of_json(&line, column))?;
            }
        }
    }
    Ok(all)
}

/// What the columns of a CSV are.
struct Columns {
    names: csv::StringRecord,
    /// Whether each holds words.
    words: Vec<bool>,
    /// Whether features go by name.
    named: bool,
    /// Which holds the limits.
    limits: Option<usize>,
}

impl Columns {
    fn row(&self, record: &csv::StringRecord) -> Result<Row, String> {
        if record.len() != self.names.len() {
            return Err(format!(
                "{} cells, and {} names above them",
                record.len(),
                self.names.len()
            ));
        }
        let limits = match self.limits.map(|place| record[place].trim()) {
            None | Some("") => None,
            Some(text) => Some(limits_of(serde_json::from_str(text))?),
        };
        let features = record
            .iter()
            .enumerate()
            .filter(|(place, _)| Some(*place) != self.limits);
        let context = if self.named {
            let value = |(place, cell)| (&self.names[place], value_of(cell, self.words[place]));
            Context::named(features.map(value).collect())
        } else {
            let numbers = features.map(|(_, cell)| number_of(cell));
            let numbers = numbers.collect::<Result<_, _>>()?;
            Context::dense(numbers).map_err(|error| error.to_string())?
        };
        Ok((context, limits))
    }
}

/// A context, or an object with a field for limits.
fn row_of_json(line: &str, column: Option<&str>) -> Result<Row, String> {
    let words = |error: serde_json::Error| error.to_string();
    let Some(column) = column else {
        return Ok((serde_json::from_str(line).map_err(words)?, None));
    };
    let mut row: serde_json::Value = serde_json::from_str(line).map_err(words)?;
    let Some(fields) = row.as_object_mut() else {
        return Ok((serde_json::from_value(row).map_err(words)?, None));
    };
    let limits = match fields.remove(column) {
        None | Some(serde_json::Value::Null) => None,
        Some(limits) => Some(limits_of(serde_json::from_value(limits))?),
    };
    // Numbers are in a list, which has no room for another field.
    let numbers = fields.get("context").filter(|value| value.is_array());
    let context = match numbers.cloned() {
        Some(numbers) if fields.len() == 1 => numbers,
        _ => row,
    };
    Ok((serde_json::from_value(context).map_err(words)?, limits))
}

fn limits_of(read: Result<Limits, serde_json::Error>) -> Result<Limits, String> {
    read.map_err(|error| {
        format!(
            r#"limits are as in {{"interval":{{"low":9,"high":11}}}}, and these are not: {error}"#
        )
    })
}

fn number_of(cell: &str) -> Result<f64, String> {
    let number = cell.trim().parse();
    number.map_err(|_| format!("{cell:?} is not a number"))
}

/// Whether the schema takes a column for words: 007 is not 7 there.
fn holds_words(schema: Option<&FeatureSchema>, name: &str) -> bool {
    let field = schema.and_then(|schema| schema.fields().find(|(field, _)| *field == name));
    field.is_some_and(|(_, field)| {
        let kind = &field.kind;
        matches!(
            kind,
            FieldKind::Category(_) | FieldKind::Hashed { .. } | FieldKind::Tokens { .. }
        )
    })
}

/// A cell as a value: empty is missing, and digits are a number unless the column holds words.
fn value_of(cell: &str, words: bool) -> FeatureValue {
    let cell = cell.trim();
    if cell.is_empty() {
        return FeatureValue::Missing;
    }
    if words {
        return cell.into();
    }
    let whole = cell.parse().map(FeatureValue::Integer);
    let number = || cell.parse().map(FeatureValue::Number);
    let flag = || cell.parse().map(FeatureValue::Flag);
    whole
        .or_else(|_| number())
        .or_else(|_| flag())
        .unwrap_or_else(|_| cell.into())
}
