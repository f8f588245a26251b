use std::fs::File;
use std::io::BufRead as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, Schema};
use egret::{AnyAction, FeatureValue, Features, Item, KnobValue, MixedAction, Objective, Vector};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use serde_json::Value;

use crate::format::{ARROW_FILE, FEATHER_1};
use crate::input::Input;
use crate::parquet::{
    arrow_messages::ArrowMessages, memory_table::MemoryTable, table_column::TableColumn,
};
use crate::record::{
    bad_row::BadRow,
    draft::{ContextForm, Draft},
    field::{self, Access, FIELDS},
    mu_cache::MuCache,
    outcome,
};
use parquet::file::metadata::FileMetaData;

use crate::record::{Cells, Extra, Record, RowError, VERSION};

/// Rows that are decoded at once; fewer where they are wide.
const BATCH: usize = 4096;
/// Bytes that a batch may have, more or less.
const BATCH_BYTES: u64 = 64 << 20;

/// The records of one file of Parquet or Arrow, or of a table in memory, a batch at a time.
pub(crate) struct BatchSource {
    batches: Batches,
    columns: Vec<(Target, TableColumn)>,
    targets: Vec<Target>,
    names: Vec<Arc<str>>,
    /// The rows of the batch in hand, and the next of them.
    rows: usize,
    next: usize,
    /// Rows of earlier batches.
    before: u64,
    mu: Option<Arc<egret::Space>>,
    objective: Option<Objective>,
    cache: MuCache,
    ended: bool,
}

/// Where batches come from.
enum Batches {
    Parquet {
        reader: ParquetRecordBatchReader,
        rows: u64,
    },
    Arrow(Box<StreamReader<ArrowMessages>>),
    Memory {
        slices: Box<dyn Iterator<Item = RecordBatch> + Send>,
        rows: u64,
    },
}

impl Batches {
    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        match self {
            Self::Parquet { reader, .. } => reader.next(),
            Self::Arrow(reader) => reader.next(),
            Self::Memory { slices, .. } => slices.next().map(Ok),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Parquet { .. } => PARQUET,
            Self::Arrow(_) | Self::Memory { .. } => ARROW,
        }
    }
}

const PARQUET: &str = "Parquet";
const ARROW: &str = "Arrow";

/// What a column of the file is.
#[derive(Clone)]
enum Target {
    Field(usize),
    Context {
        /// Whether the file says that the features have names, by a column for the rest of them.
        named: bool,
    },
    Extra(Arc<str>),
}

/// An error where a file says that it is of another version.
pub(crate) fn check_version(metadata: &FileMetaData) -> Result<(), RowError> {
    version_is_known(entry(metadata, "egret.version"))
}

fn version_is_known(version: Option<&str>) -> Result<(), RowError> {
    match version {
        Some(text) if text != VERSION.to_string() => Err(RowError::Unreadable(format!(
            "egret.version is {text}, and this egret reads version {VERSION} only"
        ))),
        _ => Ok(()),
    }
}

/// Where the action space is that all rows of a file share.
pub(crate) const SPACE: &str = "egret.mu";
/// Where the objective is that all rows of a file share.
pub(crate) const OBJECTIVE: &str = "egret.objective";

/// The objective of all rows of a file, if it states one.
pub(crate) fn objective_of(metadata: &FileMetaData) -> Result<Option<Objective>, RowError> {
    entry(metadata, OBJECTIVE)
        .map(outcome::objective)
        .transpose()
}

/// A text of the metadata of a schema.
pub(crate) fn said<'a>(schema: &'a Schema, key: &str) -> Option<&'a str> {
    schema.metadata().get(key).map(String::as_str)
}

/// The objective of all rows, if the schema states one. An error where it says that it is of another version.
pub(crate) fn objective_said(schema: &Schema) -> Result<Option<Objective>, RowError> {
    version_is_known(said(schema, "egret.version"))?;
    said(schema, OBJECTIVE).map(outcome::objective).transpose()
}

/// A text of the file's metadata.
pub(crate) fn entry<'a>(metadata: &'a FileMetaData, key: &str) -> Option<&'a str> {
    let entries = metadata.key_value_metadata().into_iter().flatten();
    entries
        .filter(|entry| entry.key == key)
        .find_map(|entry| entry.value.as_deref())
}

impl BatchSource {
    /// The rows of a Parquet file.
    pub(crate) fn parquet(file: File) -> Result<Self, RowError> {
        guarded(PARQUET, || Self::open_parquet(file))
    }

    /// The rows of an Arrow file (Feather, version 2) or of an Arrow stream. A file is a stream between magic words, with an
    /// index after it that nobody needs who reads from the start.
    pub(crate) fn arrow(input: Input) -> Result<Self, RowError> {
        guarded(ARROW, || Self::open_arrow(input))
    }

    fn open_parquet(file: File) -> Result<Self, RowError> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(damaged)?;
        let metadata = builder.metadata().file_metadata();
        check_version(metadata)?;
        let (mu, objective) = (entry(metadata, SPACE), objective_of(metadata)?);
        let (mu, schema) = (mu.map(str::to_owned), builder.schema().clone());
        let total = builder.metadata().row_groups();
        let (rows, bytes) = total.iter().fold((0_u64, 0_u64), |(rows, bytes), group| {
            let count = |value: i64| u64::try_from(value).unwrap_or(0);
            (
                rows.saturating_add(count(group.num_rows())),
                bytes.saturating_add(count(group.total_byte_size())),
            )
        });
        let width = bytes / rows.max(1) + 1;
        let batch = (BATCH_BYTES / width).clamp(1, BATCH as u64) as usize;
        let reader = builder.with_batch_size(batch).build().map_err(damaged)?;
        let batches = Batches::Parquet { reader, rows };
        Self::new(batches, &schema, mu.as_deref(), objective)
    }

    fn open_arrow(mut input: Input) -> Result<Self, RowError> {
        let start = input.fill_buf().map_err(not_arrow)?;
        if start.starts_with(FEATHER_1) {
            return Err(RowError::Unreadable(
                "this is Feather of version 1, which nobody writes any more: write it again, as with pandas' to_feather"
                    .to_owned(),
            ));
        }
        if start.starts_with(ARROW_FILE) {
            input.consume(ARROW_FILE.len());
            // The magic word is padded with zeros, by eight bytes or more.
            while input.fill_buf().map_err(not_arrow)?.first() == Some(&0) {
                input.consume(1);
            }
        }
        let reader = StreamReader::try_new(ArrowMessages::new(input), None).map_err(not_arrow)?;
        let schema = reader.schema();
        let objective = objective_said(&schema)?;
        let batches = Batches::Arrow(Box::new(reader));
        Self::new(batches, &schema, said(&schema, SPACE), objective)
    }

    /// The rows of a table in memory.
    pub(crate) fn memory(table: &MemoryTable) -> Result<Self, RowError> {
        let schema = table.schema();
        let objective = objective_said(schema)?;
        let batches = Batches::Memory {
            slices: Box::new(table.slices(BATCH)),
            rows: table.rows(),
        };
        Self::new(batches, schema, said(schema, SPACE), objective)
    }

    fn new(
        batches: Batches,
        schema: &Schema,
        mu: Option<&str>,
        objective: Option<Objective>,
    ) -> Result<Self, RowError> {
        let mut cache = MuCache::default();
        let fields = schema.fields().iter();
        Ok(Self {
            batches,
            columns: Vec::new(),
            targets: targets_of(schema),
            names: fields.map(|field| field.name().as_str().into()).collect(),
            rows: 0,
            next: 0,
            before: 0,
            mu: mu.map(|text| cache.parse(text)).transpose()?,
            objective,
            cache,
            ended: false,
        })
    }

    /// The share of the file that was read.
    pub(crate) fn progress(&self) -> f64 {
        match &self.batches {
            Batches::Parquet { rows, .. } | Batches::Memory { rows, .. } => {
                self.row() as f64 / (*rows).max(1) as f64
            }
            Batches::Arrow(reader) => reader.get_ref().progress(),
        }
    }

    /// The place of the record that was read last, from 1.
    pub(crate) fn row(&self) -> u64 {
        self.before + self.next as u64
    }

    /// The names of the columns.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        self.names.clone()
    }

    /// The action space and the objective of all rows, if the file states them.
    pub(crate) fn stated(&self) -> (Option<Arc<egret::Space>>, Option<Objective>) {
        (self.mu.clone(), self.objective)
    }

    /// The record of the next row.
    pub(crate) fn next(&mut self) -> Option<Result<Record, BadRow>> {
        let row = match self.advance()? {
            Ok(row) => row,
            Err(bad) => return Some(Err(bad)),
        };
        let record = guarded(self.batches.name(), || self.record(row));
        Some(record.map_err(|error| self.bad(row, error)))
    }

    /// The values of the next row, by the names of their columns.
    pub(crate) fn next_cells(&mut self) -> Option<Result<Cells, BadRow>> {
        let row = match self.advance()? {
            Ok(row) => row,
            Err(bad) => return Some(Err(bad)),
        };
        let cells = guarded(self.batches.name(), || {
            let columns = self.names.iter().zip(&self.columns);
            columns
                .map(|(name, (_, column))| {
                    let value = column.feature(row).map_err(|mismatch| mismatch.of(name))?;
                    Ok((name.clone(), value.unwrap_or(FeatureValue::Missing)))
                })
                .collect()
        });
        Some(cells.map_err(|error| self.bad(row, error)))
    }

    fn bad(&self, row: usize, error: RowError) -> BadRow {
        BadRow {
            row: self.before + row as u64 + 1,
            error,
            content: self.content(row),
        }
    }

    /// Goes to the next row: its place in the batch.
    fn advance(&mut self) -> Option<Result<usize, BadRow>> {
        while self.next == self.rows {
            if self.ended {
                return None;
            }
            self.before += self.rows as u64;
            (self.rows, self.next) = (0, 0);
            let (batches, targets) = (&mut self.batches, &self.targets);
            let name = batches.name();
            let decoded = guarded(name, || match batches.next() {
                None => Ok(None),
                Some(batch) => {
                    let batch = batch.map_err(|error| unreadable(name, error))?;
                    Ok(Some(columns_of(targets, &batch)))
                }
            });
            match decoded {
                Ok(None) => self.ended = true,
                Ok(Some((rows, columns))) => (self.rows, self.columns) = (rows, columns),
                Err(error) => {
                    self.ended = true;
                    return Some(Err(BadRow {
                        row: self.before + 1,
                        error: RowError::Unreadable(format!(
                            "{error}; from here on nothing of the file can be read"
                        )),
                        content: Value::Null,
                    }));
                }
            }
        }
        self.next += 1;
        Some(Ok(self.next - 1))
    }

    fn record(&mut self, row: usize) -> Result<Record, RowError> {
        let mut draft = Draft::new();
        draft.record.mu.clone_from(&self.mu);
        draft.record.objective = self.objective;
        for (target, column) in &self.columns {
            match target {
                Target::Field(place) => {
                    read_field(*place, column, row, &mut draft, &mut self.cache)?
                }
                Target::Context { named } => draft.context = context_at(*named, column, row)?,
                Target::Extra(name) => {
                    if let Some(value) = extra_at(column, row) {
                        draft.record.extras.insert(name.clone(), value);
                    }
                }
            }
        }
        draft.finish()
    }

    /// A row as JSON, for the file of bad rows.
    fn content(&self, row: usize) -> Value {
        let columns = self.names.iter().zip(&self.columns);
        columns
            .map(|(name, (_, column))| (name.to_string(), column.json(row)))
            .filter(|(_, value)| !value.is_null())
            .collect()
    }
}

fn targets_of(schema: &Schema) -> Vec<Target> {
    let named = schema.column_with_name("contextRest").is_some();
    let target = |field: &Arc<arrow_schema::Field>| {
        let name = field.name();
        match field::find(name, 0) {
            None => Target::Extra(Arc::from(name.as_str())),
            Some(place) if matches!(FIELDS[place].access, Access::Context) => {
                Target::Context { named }
            }
            Some(place) => Target::Field(place),
        }
    };
    schema.fields().iter().map(target).collect()
}

fn columns_of(targets: &[Target], batch: &RecordBatch) -> (usize, Vec<(Target, TableColumn)>) {
    let columns = batch.columns().iter().map(TableColumn::new);
    (
        batch.num_rows(),
        targets.iter().cloned().zip(columns).collect(),
    )
}

/// Runs what decodes a file: damage that the decoder does not expect is an error all the same.
fn guarded<T>(format: &str, work: impl FnOnce() -> Result<T, RowError>) -> Result<T, RowError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(RowError::Unreadable(format!(
            "the {format} file is damaged: its decoder gave up"
        )))
    })
}

/// As [`guarded`], of Parquet.
pub(crate) fn guarded_parquet<T>(
    work: impl FnOnce() -> Result<T, RowError>,
) -> Result<T, RowError> {
    guarded(PARQUET, work)
}

fn unreadable(format: &str, error: impl std::fmt::Display) -> RowError {
    RowError::Unreadable(format!("the {format} file cannot be read: {error}"))
}

fn not_arrow(error: impl std::fmt::Display) -> RowError {
    unreadable(ARROW, error)
}

pub(crate) fn damaged(error: impl std::fmt::Display) -> RowError {
    unreadable(PARQUET, error)
}

fn read_field(
    place: usize,
    column: &TableColumn,
    row: usize,
    draft: &mut Draft,
    cache: &mut MuCache,
) -> Result<(), RowError> {
    let name = FIELDS[place].name;
    let record = &mut draft.record;
    let small = |value: u64| {
        u32::try_from(value).map_err(|_| RowError::Type {
            field: name.to_owned(),
            found: value.to_string(),
            expected: "a whole number below 2^32",
        })
    };
    match FIELDS[place].access {
        Access::Version => draft.version = column.count(row).map_err(|m| m.of(name))?,
        Access::Context => {}
        Access::ContextRest => {
            if let Some(text) = column.text(row).map_err(|m| m.of(name))? {
                draft.set_rest(text)?;
            }
        }
        Access::Mu => {
            if let Some(text) = column.text(row).map_err(|m| m.of(name))? {
                record.mu = Some(cache.parse(text)?);
            }
        }
        Access::Limits => {
            if let Some(text) = column.text(row).map_err(|m| m.of(name))? {
                let limits = serde_json::from_str(text).map_err(|error| RowError::Field {
                    field: name,
                    problem: error.to_string(),
                })?;
                record.limits = Some(limits);
            }
        }
        Access::Action => draft.action = action_at(column, row)?,
        Access::Propensity => {
            if let Some(word) = column.text(row).map_err(|m| m.of(name))? {
                draft.set_propensity(word)?;
            }
        }
        Access::Density => draft.density = column.number(row).map_err(|m| m.of(name))?,
        Access::Objective => {
            if let Some(text) = column.text(row).map_err(|m| m.of(name))? {
                record.objective = Some(outcome::objective(text)?);
            }
        }
        Access::Loss => draft.loss = column.number(row).map_err(|m| m.of(name))?,
        Access::Number { set, .. } => *set(record) = column.number(row).map_err(|m| m.of(name))?,
        Access::Count { set, .. } => *set(record) = column.count(row).map_err(|m| m.of(name))?,
        Access::Small { set, .. } => {
            let count = column.count(row).map_err(|m| m.of(name))?;
            *set(record) = count.map(small).transpose()?;
        }
        Access::Text { set, .. } => {
            let text = column.text(row).map_err(|m| m.of(name))?;
            *set(record) = text.map(str::to_owned);
        }
        Access::Flag { set, .. } => *set(record) = column.flag(row).map_err(|m| m.of(name))?,
        Access::Instant { set, .. } => *set(record) = column.instant_at(row, name)?,
        Access::Word { set, .. } => {
            if let Some(word) = column.text(row).map_err(|m| m.of(name))? {
                set(record, word)?;
            }
        }
    }
    Ok(())
}

fn action_at(column: &TableColumn, row: usize) -> Result<Option<AnyAction>, RowError> {
    if matches!(column, TableColumn::List { .. }) {
        let coordinates = column.numbers(row).map_err(|m| m.of("action"))?;
        let vector = coordinates.map(|values| Vector::new(&values)).transpose()?;
        return Ok(vector.map(AnyAction::from));
    }
    if matches!(column, TableColumn::Struct { .. }) {
        return mixed_at(column, row);
    }
    let number = column.number(row).map_err(|m| m.of("action"))?;
    Ok(number.map(|value| {
        let index = value as u32;
        if column.is_whole() && f64::from(index) == value {
            AnyAction::Item(Item(index))
        } else {
            AnyAction::Number(value)
        }
    }))
}

/// The knobs of a struct; null means that this action has no such knob.
fn mixed_at(column: &TableColumn, row: usize) -> Result<Option<AnyAction>, RowError> {
    let Some(fields) = column.fields(row).map_err(|m| m.of("action"))? else {
        return Ok(None);
    };
    let mut knobs = Vec::new();
    for (name, column) in fields {
        let refused = |mismatch: crate::parquet::table_column::Mismatch| {
            mismatch.of(&format!("action.{name}"))
        };
        let value = match column.text(row) {
            Ok(category) => category.map(KnobValue::from),
            Err(_) => column.number(row).map_err(refused)?.map(KnobValue::from),
        };
        knobs.extend(value.map(|value| (name.as_str(), value)));
    }
    let action = MixedAction::new(knobs).map_err(|error| RowError::Field {
        field: "action",
        problem: error.to_string(),
    })?;
    Ok(Some(action.into()))
}

fn context_at(
    named: bool,
    column: &TableColumn,
    row: usize,
) -> Result<Option<ContextForm>, RowError> {
    let refused = |mismatch: crate::parquet::table_column::Mismatch| mismatch.of("context");
    if matches!(column, TableColumn::List { .. }) {
        let values = column.numbers(row).map_err(refused)?;
        return Ok(values.map(ContextForm::Dense));
    }
    let Some(fields) = column.fields(row).map_err(refused)? else {
        return Ok(None);
    };
    let part = |wanted: &str| {
        let found = fields.iter().find(|(name, _)| name == wanted);
        found.map(|(_, column)| column)
    };
    if let (false, 3, Some(dim), Some(indices @ TableColumn::List { .. }), Some(values)) = (
        named,
        fields.len(),
        part("dim"),
        part("indices"),
        part("values"),
    ) {
        let missing = |field: &'static str| RowError::Missing { field };
        let values = values.numbers(row).map_err(refused)?;
        let values = values.ok_or(missing("context.values"))?;
        let Some(indices) = indices.numbers(row).map_err(refused)? else {
            return Ok(Some(ContextForm::Dense(values)));
        };
        let dim = dim.count(row).map_err(refused)?;
        let dim = dim.ok_or(missing("context.dim"))?;
        let whole = |value: f64| {
            let index = value as u32;
            (f64::from(index) == value).then_some(index)
        };
        let indices: Option<Vec<u32>> = indices.into_iter().map(whole).collect();
        return Ok(Some(ContextForm::Sparse {
            dim: usize::try_from(dim).unwrap_or(usize::MAX),
            indices: indices.ok_or(RowError::Type {
                field: "context.indices".to_owned(),
                found: "a number that is not whole".to_owned(),
                expected: "whole numbers",
            })?,
            values,
        }));
    }
    let mut features = Features::new();
    for (name, column) in fields {
        let value = column.feature(row);
        match value.map_err(|m| m.of(&format!("context.{name}")))? {
            Some(value) if features.get(name).is_none() => features.set(name, value),
            Some(_) => {
                return Err(RowError::Field {
                    field: "context",
                    problem: format!("the feature {name} is given twice"),
                });
            }
            None => {}
        }
    }
    Ok(Some(ContextForm::Named(features)))
}

/// The value of a column of the user's own: numbers and text as they are, all else as JSON text.
fn extra_at(column: &TableColumn, row: usize) -> Option<Extra> {
    const EXACT: u64 = 1 << 53;
    match column.json(row) {
        Value::Null => None,
        Value::String(text) if column.number(row).is_ok() => {
            // NaN and infinities: the check of the record names them.
            Some(text.parse().map_or(Extra::Text(text), Extra::Number))
        }
        Value::String(text) => Some(Extra::Text(text)),
        Value::Bool(flag) => Some(Extra::Number(f64::from(u8::from(flag)))),
        Value::Number(number) => Some(match number.as_f64() {
            Some(value)
                if number.is_f64()
                    || number.as_i64().is_some_and(|n| n.unsigned_abs() <= EXACT) =>
            {
                Extra::Number(value)
            }
            _ => Extra::Text(number.to_string()),
        }),
        other => Some(Extra::Text(other.to_string())),
    }
}
