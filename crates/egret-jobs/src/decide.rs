//! What a model would do: contexts in, actions with densities out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egret::{
    AnyAction, AnyModel, Context, FeatureCounts, FeatureSchema, FeatureValue, Features, FieldKind,
    Limits, Objective, Settings, Space,
};
use egret_log::{Cells, ReadError, TableReader, typed_cell};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{JobError, Place};
use crate::event_numbers::EventNumbers;
use crate::onnx;
use crate::progress::{Progress, Step, tell};
use crate::saved_model::load_model;

/// Which model decides, and for which contexts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecideRequest {
    /// A saved model, or an ONNX file that predicts outcomes, where egret reads those.
    pub model: PathBuf,
    /// The action space and what outcomes are, which a saved model says itself and an ONNX file does not.
    #[serde(default)]
    pub onnx: Option<OnnxFrame>,
    /// The contexts.
    pub contexts: ContextSource,
    /// The number of the first event; the others follow. None: go on from `event_numbers`, or from the model's. A number that
    /// is known to be used is refused, as its random numbers would come again.
    #[serde(default)]
    pub first_event: Option<u64>,
    /// A file that holds the number of the next event, made where it is absent. Numbers are taken there before they are
    /// used, also by several processes at once. Without it nothing is kept: next time, say where to go on.
    #[serde(default)]
    pub event_numbers: Option<PathBuf>,
    /// A column of the table that names the request: it comes back with the decision and is no feature.
    #[serde(default)]
    pub id: Option<String>,
    /// What each request allows, if not all actions.
    #[serde(default)]
    pub limits: Option<LimitsSource>,
}

impl DecideRequest {
    /// All contexts of a source, with numbers from the model's on.
    pub fn new(model: impl Into<PathBuf>, contexts: ContextSource) -> Self {
        Self {
            model: model.into(),
            onnx: None,
            contexts,
            first_event: None,
            event_numbers: None,
            id: None,
            limits: None,
        }
    }
}

/// What an ONNX file does not say of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnnxFrame {
    /// The actions: numbers or vectors.
    pub space: Space,
    /// What it predicts.
    pub objective: Objective,
    /// How it explores.
    #[serde(default)]
    pub settings: Settings,
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
    /// A table: CSV with a line of names, Parquet, or JSON lines, each an object or a list of numbers; `-` is the standard
    /// input. Names matter where the model has a feature schema; otherwise each row is a list of numbers, in the order of
    /// the columns.
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

/// How many were decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DecideSummary {
    /// Decisions.
    pub decisions: u64,
    /// The number after the last: the first of the next request.
    pub next_event: u64,
    /// How contexts differed from the model's schema, if it has one.
    pub features: Option<FeatureCounts>,
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decided {
    /// The name of the request, if the table has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
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

/// Contexts of a file that are decided side by side. Those of a pipe are decided one by one, as they come.
const BATCH: usize = 4_096;

/// Decides for each context. The model does not learn.
pub fn decide(request: &DecideRequest, progress: &dyn Progress) -> Result<DecideReport, JobError> {
    let mut decisions = Vec::new();
    let summary = decide_each(
        request,
        &mut |decided| {
            decisions.push(decided);
            Ok(())
        },
        progress,
    )?;
    Ok(DecideReport {
        decisions,
        next_event: summary.next_event,
        features: summary.features,
    })
}

/// Decides for each context and hands over each decision as soon as it is made, so that a table may be long, or a pipe.
pub fn decide_each(
    request: &DecideRequest,
    each: &mut dyn FnMut(Decided) -> Result<(), JobError>,
    progress: &dyn Progress,
) -> Result<DecideSummary, JobError> {
    let model = match (&request.onnx, onnx::is_onnx(&request.model)) {
        (Some(frame), true) => {
            let settings = frame.settings.clone();
            onnx::model(&request.model, &frame.space, frame.objective, settings)?
        }
        (None, true) => {
            let problem = "an ONNX file does not say its action space and its objective: give both";
            return Err(JobError::request("model", problem));
        }
        (Some(_), false) => {
            let problem =
                "a saved model says its action space and its objective itself: leave them out";
            return Err(JobError::request("model", problem));
        }
        (None, false) => load_model(&request.model)?,
    };
    let mut numbers =
        EventNumbers::new(&model, request.first_event, request.event_numbers.clone())?;
    let schema = model.spec().features.as_ref();
    let mut rows = Rows::open(request, schema)?;
    let mut summary = DecideSummary {
        decisions: 0,
        next_event: 0,
        features: schema.map(|_| FeatureCounts::default()),
    };
    loop {
        let batch = rows.next_batch()?;
        if batch.is_empty() {
            break;
        }
        let first = numbers.take(batch.len() as u64)?;
        for decided in decided(&model, &batch, first)? {
            summary.decisions += 1;
            each(decided)?;
        }
        if let (Some(counts), Some(schema)) = (&mut summary.features, schema) {
            counts.merge(&schema.counts(batch.iter().map(|row| &row.context)));
        }
        tell(progress, Step::Read(rows.progress()))?;
    }
    summary.next_event = numbers.next();
    Ok(summary)
}

/// All of a batch, or none of it.
fn decided(model: &AnyModel, batch: &[Row], first: u64) -> Result<Vec<Decided>, JobError> {
    let rows = batch.par_iter().enumerate();
    rows.map(|(place, row)| {
        let event = first + place as u64;
        let decision = match &row.limits {
            Some(limits) => model.decide_within(event, &row.context, limits),
            None => model.decide(event, &row.context),
        };
        let decision = decision.map_err(|error| match &row.place {
            Some(place) => JobError::record(place, error),
            None => error.into(),
        })?;
        Ok(Decided {
            id: row.id.clone(),
            event: decision.event,
            density: decision.propensity.density().map(egret::Density::get),
            action: decision.action,
            limits: decision.limits,
        })
    })
    .collect()
}

/// The first contexts of a source.
pub(crate) fn contexts_of(
    source: &ContextSource,
    schema: Option<&FeatureSchema>,
    count: usize,
) -> Result<Vec<Context>, JobError> {
    let request = DecideRequest::new("", source.clone());
    let rows = Rows::open(&request, schema)?.next_batch()?;
    Ok(rows
        .into_iter()
        .take(count)
        .map(|row| row.context)
        .collect())
}

/// All contexts of a table by the names of their columns, whatever a model makes of them.
pub(crate) fn named_contexts(table: &Path, id: Option<&str>) -> Result<Vec<Context>, JobError> {
    let request = DecideRequest {
        id: id.map(str::to_owned),
        ..DecideRequest::new("", ContextSource::Table(table.to_owned()))
    };
    let schema = FeatureSchema::new();
    let mut rows = Rows::open(&request, Some(&schema))?;
    let mut contexts = Vec::new();
    loop {
        let batch = rows.next_batch()?;
        if batch.is_empty() {
            return Ok(contexts);
        }
        contexts.extend(batch.into_iter().map(|row| row.context));
    }
}

/// A request for a decision.
struct Row {
    context: Context,
    limits: Option<Limits>,
    id: Option<String>,
    /// Where it is, if it is in a file.
    place: Option<Place>,
}

/// Where requests come from.
enum Rows<'a> {
    Given {
        contexts: &'a [Context],
        limits: Option<&'a [Option<Limits>]>,
        next: usize,
    },
    Table {
        table: TableReader,
        columns: Columns<'a>,
    },
}

impl<'a> Rows<'a> {
    fn open(
        request: &'a DecideRequest,
        schema: Option<&'a FeatureSchema>,
    ) -> Result<Self, JobError> {
        let column = match &request.limits {
            Some(LimitsSource::Column(name)) => Some(name.as_str()),
            _ => None,
        };
        let file = match &request.contexts {
            ContextSource::Table(file) => file,
            ContextSource::Given(_) if column.is_some() => {
                let problem = "contexts that are given have no columns: give the limits too";
                return Err(JobError::request("limits", problem));
            }
            ContextSource::Given(_) if request.id.is_some() => {
                return Err(JobError::request(
                    "id",
                    "contexts that are given have no columns",
                ));
            }
            ContextSource::Given(contexts) => {
                let limits = match &request.limits {
                    Some(LimitsSource::Given(limits)) => Some(limits.as_slice()),
                    _ => None,
                };
                if let Some(limits) = limits
                    && limits.len() != contexts.len()
                {
                    let problem = format!("{} for {} contexts", limits.len(), contexts.len());
                    return Err(JobError::request("limits", problem));
                }
                return Ok(Self::Given {
                    contexts,
                    limits,
                    next: 0,
                });
            }
        };
        if matches!(request.limits, Some(LimitsSource::Given(_))) {
            let problem = "a table has limits in a column: name it";
            return Err(JobError::request("limits", problem));
        }
        let table = TableReader::open(file)?;
        if let Some(names) = table.columns() {
            for (field, wanted) in [("limits", column), ("id", request.id.as_deref())] {
                if let Some(wanted) =
                    wanted.filter(|wanted| !names.iter().any(|name| **name == **wanted))
                {
                    let problem =
                        format!("no column {wanted:?}; the table has {}", names.join(", "));
                    return Err(JobError::request(field, problem));
                }
            }
        }
        Ok(Self::Table {
            columns: Columns {
                file: file.as_path().into(),
                text: table.is_text(),
                listed: table.columns().is_some(),
                schema,
                limits: column,
                id: request.id.as_deref(),
            },
            table,
        })
    }

    fn next_batch(&mut self) -> Result<Vec<Row>, JobError> {
        match self {
            Self::Given {
                contexts,
                limits,
                next,
            } => {
                let batch = *next..contexts.len().min(*next + BATCH);
                *next = batch.end;
                let row = |place: usize| Row {
                    context: contexts[place].clone(),
                    limits: limits.and_then(|limits| limits[place].clone()),
                    id: None,
                    place: None,
                };
                Ok(batch.map(row).collect())
            }
            Self::Table { table, columns } => {
                let size = if columns.file.as_os_str() == "-" {
                    1
                } else {
                    BATCH
                };
                let mut batch = Vec::new();
                while batch.len() < size
                    && let Some(cells) = table.next()
                {
                    let cells = cells.map_err(|error| match error {
                        ReadError::Row { file, row, error } => JobError::record(
                            &Place {
                                file: file.into(),
                                row,
                                field: None,
                            },
                            error,
                        ),
                        error => error.into(),
                    })?;
                    batch.push(columns.row(cells, table.row())?);
                }
                Ok(batch)
            }
        }
    }

    fn progress(&self) -> f64 {
        match self {
            Self::Given { contexts, next, .. } => *next as f64 / contexts.len().max(1) as f64,
            Self::Table { table, .. } => table.progress(),
        }
    }
}

/// What the columns of a table are.
struct Columns<'a> {
    file: Arc<Path>,
    /// Whether all cells are text.
    text: bool,
    /// Whether every row has the same columns, in order.
    listed: bool,
    schema: Option<&'a FeatureSchema>,
    limits: Option<&'a str>,
    id: Option<&'a str>,
}

impl Columns<'_> {
    fn row(&self, cells: Cells, row: u64) -> Result<Row, JobError> {
        let place = Place {
            file: self.file.clone(),
            row,
            field: None,
        };
        let (mut limits, mut id) = (None, None);
        let mut features = Cells::with_capacity(cells.len());
        for (name, value) in cells {
            if self.limits == Some(&*name) {
                let read = limits_of(&value);
                limits = read.map_err(|problem| JobError::record(&place, problem))?;
            } else if self.id == Some(&*name) {
                id = match value {
                    FeatureValue::Missing => None,
                    FeatureValue::Text(text) => Some(text),
                    other => serde_json::to_string(&other).ok(),
                };
            } else {
                features.push((name, value));
            }
        }
        let context = self.context(features);
        Ok(Row {
            context: context.map_err(|problem| JobError::record(&place, problem))?,
            limits,
            id,
            place: Some(place),
        })
    }

    fn context(&self, cells: Cells) -> Result<Context, String> {
        // Numbers are in a list, which has no room for names.
        if let [(name, list @ FeatureValue::List(_))] = &cells[..]
            && **name == *"context"
        {
            return as_json(list);
        }
        if self.schema.is_none() && self.listed {
            let numbers = cells.iter().map(|(name, value)| number_of(name, value));
            let numbers = numbers.collect::<Result<_, _>>()?;
            return Context::dense(numbers).map_err(|error| error.to_string());
        }
        let typed = |(name, value): (Arc<str>, FeatureValue)| {
            let value = match value {
                FeatureValue::Text(text) if self.text && !holds_words(self.schema, &name) => {
                    typed_cell(&text)
                }
                FeatureValue::Text(text) if self.text => text.trim().into(),
                other => other,
            };
            (name.to_string(), value)
        };
        let features: Features = cells.into_iter().map(typed).collect();
        // A sparse context looks like named features.
        match features.get("indices") {
            Some(_) => as_json(&FeatureValue::from(features)),
            None => Ok(Context::named(features)),
        }
    }
}

fn as_json(value: &FeatureValue) -> Result<Context, String> {
    let value = serde_json::to_value(value).map_err(|error| error.to_string())?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// The limits in a cell, as an object or as JSON text; none where it is empty.
fn limits_of(value: &FeatureValue) -> Result<Option<Limits>, String> {
    let read = match value {
        FeatureValue::Missing => return Ok(None),
        FeatureValue::Text(text) => serde_json::from_str(text),
        other => serde_json::to_value(other).and_then(serde_json::from_value),
    };
    read.map(Some).map_err(|error: serde_json::Error| {
        format!(
            r#"limits are as in {{"interval":{{"low":9,"high":11}}}}, and these are not: {error}"#
        )
    })
}

fn number_of(name: &str, value: &FeatureValue) -> Result<f64, String> {
    let number = match value {
        FeatureValue::Number(number) => Some(*number),
        FeatureValue::Integer(whole) => Some(*whole as f64),
        FeatureValue::Flag(flag) => Some(f64::from(u8::from(*flag))),
        FeatureValue::Text(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| {
        let found = serde_json::to_string(value).unwrap_or_default();
        format!("{name}: {found} is not a number, and the model takes numbers in the order of the columns")
    })
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
