//! What a model would do: contexts in, actions with densities out.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use egret::{AnyAction, Context, FeatureCounts, FeatureSchema, FeatureValue, FieldKind};
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
    /// dP/dμ at the action; none for a point mass.
    pub density: Option<f64>,
}

/// Contexts that are decided side by side.
const BATCH: usize = 4_096;

/// Decides for each context. The model does not learn.
pub fn decide(request: &DecideRequest, progress: &dyn Progress) -> Result<DecideReport, JobError> {
    let model = load_model(&request.model)?;
    let (contexts, places) = match &request.contexts {
        ContextSource::Given(contexts) => (contexts.clone(), None),
        ContextSource::Table(file) => {
            let (contexts, places) = read_table(file, model.spec().features.as_ref())?;
            (contexts, Some(places))
        }
    };
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
        let first = first_event + (part * BATCH) as u64;
        let events: Vec<(u64, &Context)> = (first..).zip(contexts).collect();
        for (row, decided) in model.decide_batch(&events).into_iter().enumerate() {
            let decision = decided.map_err(|error| match &places {
                Some(places) => JobError::record(&places[part * BATCH + row], error),
                None => error.into(),
            })?;
            decisions.push(Decided {
                event: decision.event,
                density: decision.propensity.density().map(egret::Density::get),
                action: decision.action,
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

/// The contexts of a table, by name where the model has a schema, and where each is.
fn read_table(
    file: &Path,
    schema: Option<&FeatureSchema>,
) -> Result<(Vec<Context>, Vec<Place>), JobError> {
    let failed = |source| JobError::File {
        file: file.to_owned(),
        source,
    };
    let place = |row: u64| Place {
        file: file.into(),
        row,
        field: None,
    };
    let (mut contexts, mut places) = (Vec::new(), Vec::new());
    let mut push = |row: u64, context: Result<Context, String>| {
        let place = place(row);
        contexts.push(context.map_err(|problem| JobError::record(&place, problem))?);
        places.push(place);
        Ok::<(), JobError>(())
    };
    if file.extension().is_some_and(|ending| ending == "csv") {
        let unreadable = |error: csv::Error| failed(std::io::Error::other(error));
        let mut table = csv::ReaderBuilder::new()
            .flexible(true)
            .from_path(file)
            .map_err(unreadable)?;
        let names = table.headers().map_err(unreadable)?.clone();
        let words: Vec<bool> = names.iter().map(|name| holds_words(schema, name)).collect();
        for record in table.records() {
            let record = record.map_err(unreadable)?;
            let row = record.position().map_or(0, |position| position.line());
            let context = if record.len() != names.len() {
                Err(format!(
                    "{} cells, and {} names above them",
                    record.len(),
                    names.len()
                ))
            } else if schema.is_some() {
                let cells = names.iter().zip(&record).zip(&words);
                Ok(Context::named(
                    cells
                        .map(|((name, cell), words)| (name, value_of(cell, *words)))
                        .collect(),
                ))
            } else {
                numbers_of(&record)
                    .and_then(|numbers| Context::dense(numbers).map_err(|error| error.to_string()))
            };
            push(row, context)?;
        }
    } else {
        let lines = BufReader::new(File::open(file).map_err(failed)?).lines();
        for (row, line) in lines.enumerate() {
            let line = line.map_err(failed)?;
            if !line.trim().is_empty() {
                push(
                    row as u64 + 1,
                    serde_json::from_str(&line).map_err(|error| error.to_string()),
                )?;
            }
        }
    }
    Ok((contexts, places))
}

fn numbers_of(record: &csv::StringRecord) -> Result<Vec<f64>, String> {
    record
        .iter()
        .map(|cell| {
            let number = cell.trim().parse();
            number.map_err(|_| format!("{cell:?} is not a number"))
        })
        .collect()
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
