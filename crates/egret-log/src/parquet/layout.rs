use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, UInt32Builder};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray, UInt32Array, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use egret::{AnyAction, Density, Item, KnobValue, Loss, Objective, Propensity, Space};

use serde::Serialize;

use crate::json::sparse_parts;
use crate::parquet::{
    list_type::{element, list_of},
    named_columns::NamedColumns,
};
use crate::record::{
    Extra, Record, RowError, VERSION,
    field::{Access, FIELDS},
    outcome,
};

/// What the columns of a Parquet file are, as far as the records decide it. It only grows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Layout {
    context: Option<ContextColumn>,
    action: Option<ActionColumn>,
    mu: Option<Place<Arc<Space>>>,
    objective: Option<Place<Objective>>,
    extras: BTreeMap<Arc<str>, PlainColumn>,
}

#[derive(Debug, Clone, PartialEq)]
enum ContextColumn {
    List,
    Sparse,
    /// Its columns are settled when the first batch is written.
    Named(Option<Arc<NamedColumns>>),
}

#[derive(Debug, Clone, PartialEq)]
enum ActionColumn {
    Number,
    Item,
    Vector,
    Set,
    /// One column for each knob.
    Mixed(BTreeMap<String, PlainColumn>),
}

/// Where something is that rows mostly share.
#[derive(Debug, Clone, PartialEq)]
enum Place<T> {
    /// The same on each row: in the file's metadata, or nowhere.
    File(Option<T>),
    /// In a column.
    Rows,
}

impl<T: Clone> Place<T> {
    /// Where it is with one more row.
    fn with(
        known: Option<Self>,
        row: &Option<T>,
        same: fn(&Option<T>, &Option<T>) -> bool,
    ) -> Self {
        match known {
            None => Self::File(row.clone()),
            Some(Self::File(all)) if same(&all, row) => Self::File(all),
            Some(_) => Self::Rows,
        }
    }

    /// Whether there is room for a row.
    fn fits(
        known: &Option<Self>,
        row: &Option<T>,
        same: fn(&Option<T>, &Option<T>) -> bool,
    ) -> bool {
        match known {
            None => false,
            Some(Self::File(all)) => same(all, row),
            Some(Self::Rows) => true,
        }
    }

    fn is_rows(known: &Option<Self>) -> bool {
        matches!(known, Some(Self::Rows))
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum PlainColumn {
    Number,
    Text,
}

impl PlainColumn {
    fn of(value: &KnobValue) -> Self {
        match value {
            KnobValue::Number(_) => Self::Number,
            KnobValue::Category(_) => Self::Text,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Number => DataType::Float64,
            Self::Text => DataType::Utf8,
        }
    }
}

impl Layout {
    /// Whether there is room for a record.
    pub(crate) fn fits(&self, record: &Record) -> bool {
        let named = record.context.as_named().is_some();
        let context = match &self.context {
            Some(ContextColumn::List) => record.context.as_dense().is_some(),
            Some(ContextColumn::Sparse) => !named,
            Some(ContextColumn::Named(_)) => named,
            None => false,
        };
        let action = matches!(
            (&self.action, &record.action),
            (
                Some(ActionColumn::Number),
                AnyAction::Number(_) | AnyAction::Item(_)
            ) | (Some(ActionColumn::Item), AnyAction::Item(_))
                | (Some(ActionColumn::Vector), AnyAction::Vector(_))
                | (Some(ActionColumn::Set), AnyAction::Set(_))
        ) || match (&self.action, &record.action) {
            (Some(ActionColumn::Mixed(knobs)), AnyAction::Mixed(action)) => action
                .iter()
                .all(|(name, value)| knobs.get(name) == Some(&PlainColumn::of(value))),
            _ => false,
        };
        let mu = Place::fits(&self.mu, &record.mu, same);
        let objective = Place::fits(&self.objective, &record.objective, Option::eq);
        let extra = |(name, value): (&Arc<str>, &Extra)| {
            matches!(
                (self.extras.get(name), value),
                (Some(PlainColumn::Text), _) | (Some(PlainColumn::Number), Extra::Number(_))
            )
        };
        context && action && mu && objective && record.extras.iter().all(extra)
    }

    /// Makes room for a record. On an error nothing has changed.
    pub(crate) fn admit(&mut self, record: &Record) -> Result<(), RowError> {
        let context = self.context_with(record)?;
        let action = self.action_with(record)?;
        let mu = Place::with(self.mu.take(), &record.mu, same);
        let objective = Place::with(self.objective.take(), &record.objective, Option::eq);
        for (name, value) in &record.extras {
            let known = self.extras.entry(name.clone());
            let known = known.or_insert(PlainColumn::Number);
            if let Extra::Text(_) = value {
                *known = PlainColumn::Text;
            }
        }
        self.context = Some(context);
        self.action = Some(action);
        self.mu = Some(mu);
        self.objective = Some(objective);
        Ok(())
    }

    fn context_with(&self, record: &Record) -> Result<ContextColumn, RowError> {
        let dense = record.context.as_dense().is_some();
        let named = record.context.as_named().is_some();
        let refused = |found: &str, expected| {
            Err(RowError::Type {
                field: "context".to_owned(),
                found: found.to_owned(),
                expected,
            })
        };
        match &self.context {
            None if named => Ok(ContextColumn::Named(None)),
            None | Some(ContextColumn::List) if dense => Ok(ContextColumn::List),
            Some(known @ ContextColumn::Named(_)) if named => Ok(known.clone()),
            Some(ContextColumn::Named(_)) => refused(
                "numbers without names",
                "named features as in the rows before: a Parquet file holds one of the two",
            ),
            Some(_) if named => refused(
                "named features",
                "numbers without names as in the rows before: a Parquet file holds one of the two",
            ),
            _ => Ok(ContextColumn::Sparse),
        }
    }

    /// Settles the columns of named features by the first records, if there are any yet to settle.
    pub(crate) fn settle(&mut self, first: &[Record]) {
        if let Some(ContextColumn::Named(columns @ None)) = &mut self.context {
            *columns = Some(Arc::new(NamedColumns::of(first)));
        }
    }

    /// The columns of named features.
    fn named(&self) -> Option<&NamedColumns> {
        match &self.context {
            Some(ContextColumn::Named(columns)) => columns.as_deref(),
            _ => None,
        }
    }

    fn action_with(&self, record: &Record) -> Result<ActionColumn, RowError> {
        use ActionColumn::{Item, Mixed, Number, Set, Vector};
        let refused = || RowError::Type {
            field: "action".to_owned(),
            found: record.action.to_string(),
            expected: "an action of the same kind as the rows before",
        };
        match (&self.action, &record.action) {
            (None | Some(Number | Item), AnyAction::Number(_))
            | (Some(Number), AnyAction::Item(_)) => Ok(Number),
            (None | Some(Item), AnyAction::Item(_)) => Ok(Item),
            (None | Some(Vector), AnyAction::Vector(_)) => Ok(Vector),
            (None | Some(Set), AnyAction::Set(_)) => Ok(Set),
            (None | Some(Mixed(_)), AnyAction::Mixed(action)) => {
                let mut knobs = match &self.action {
                    Some(Mixed(knobs)) => knobs.clone(),
                    _ => BTreeMap::new(),
                };
                for (name, value) in action.iter() {
                    let found = PlainColumn::of(value);
                    if *knobs.entry(name.to_owned()).or_insert(found) != found {
                        return Err(refused());
                    }
                }
                Ok(Mixed(knobs))
            }
            _ => Err(refused()),
        }
    }

    /// μ, where it is the same on each row.
    pub(crate) fn mu(&self) -> Option<&Space> {
        match &self.mu {
            Some(Place::File(mu)) => mu.as_deref(),
            _ => None,
        }
    }

    /// The objective, where it is the same on each row.
    pub(crate) fn objective(&self) -> Option<&Objective> {
        match &self.objective {
            Some(Place::File(objective)) => objective.as_ref(),
            _ => None,
        }
    }

    /// Columns whose values hardly ever come twice.
    pub(crate) fn unrepeated(&self) -> impl Iterator<Item = Vec<String>> {
        let own = [
            "action", "density", "g", "beta", "z", "outcome", "loss", "seq", "event", "eventId",
        ];
        let context = self.named().into_iter().flat_map(NamedColumns::unrepeated);
        let lists = [
            ["context", "list", "element"].map(str::to_owned).to_vec(),
            ["context", "values", "list", "element"]
                .map(str::to_owned)
                .to_vec(),
            ["action", "list", "element"].map(str::to_owned).to_vec(),
        ];
        let extras = self.extras.iter();
        let extras = extras.filter(|(_, kind)| **kind == PlainColumn::Number);
        own.into_iter()
            .map(|name| vec![name.to_owned()])
            .chain(context)
            .chain(lists)
            .chain(extras.map(|(name, _)| vec![name.to_string()]))
            .collect::<Vec<_>>()
            .into_iter()
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        let mut fields = Vec::new();
        for field in FIELDS {
            let (kind, nullable) = match field.access {
                Access::Version => (DataType::UInt32, false),
                Access::Context if self.named().is_some_and(NamedColumns::is_empty) => continue,
                Access::Context => (self.context_type(), false),
                Access::ContextRest if self.named().is_some() => (DataType::Utf8, true),
                Access::ContextRest => continue,
                Access::Mu if Place::is_rows(&self.mu) => (DataType::Utf8, true),
                Access::Objective if Place::is_rows(&self.objective) => (DataType::Utf8, true),
                Access::Mu | Access::Objective => continue,
                Access::Limits => (DataType::Utf8, true),
                Access::Action => (self.action_type(), false),
                Access::Propensity => (DataType::Utf8, false),
                Access::Density | Access::Loss | Access::Number { .. } => (DataType::Float64, true),
                Access::Count { .. } => (DataType::UInt64, true),
                Access::Small { .. } => (DataType::UInt32, true),
                Access::Text { .. } | Access::Word { .. } => (DataType::Utf8, true),
                Access::Flag { .. } => (DataType::Boolean, true),
                Access::Instant { .. } => (
                    DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
                    true,
                ),
            };
            fields.push(Field::new(field.name, kind, nullable));
        }
        for (name, kind) in &self.extras {
            fields.push(Field::new(&**name, kind.data_type(), true));
        }
        Arc::new(Schema::new(fields))
    }

    fn action_type(&self) -> DataType {
        match &self.action {
            None | Some(ActionColumn::Number) => DataType::Float64,
            Some(ActionColumn::Item) => DataType::UInt32,
            Some(ActionColumn::Vector) => list_of(DataType::Float64),
            Some(ActionColumn::Set) => list_of(DataType::UInt32),
            Some(ActionColumn::Mixed(knobs)) => DataType::Struct(knob_fields(knobs)),
        }
    }

    fn context_type(&self) -> DataType {
        match &self.context {
            None | Some(ContextColumn::List) => list_of(DataType::Float64),
            Some(ContextColumn::Sparse) => DataType::Struct(sparse_fields()),
            Some(ContextColumn::Named(columns)) => {
                let columns = columns.as_deref().map(NamedColumns::fields);
                DataType::Struct(columns.unwrap_or_default())
            }
        }
    }

    /// The records as a batch of the schema.
    pub(crate) fn batch(
        &self,
        schema: &SchemaRef,
        records: &[Record],
    ) -> Result<RecordBatch, ArrowError> {
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for field in FIELDS {
            let rows = records.iter();
            let array: ArrayRef = match field.access {
                Access::Version => Arc::new(UInt32Array::from_iter_values(rows.map(|_| VERSION))),
                Access::Context => match self.named() {
                    Some(columns) => {
                        let (typed, rest) = columns.arrays(records);
                        if !columns.is_empty() {
                            arrays.push(Arc::new(typed));
                        }
                        Arc::new(rest)
                    }
                    None => self.contexts(records),
                },
                // It came with the context.
                Access::ContextRest => continue,
                Access::Mu if Place::is_rows(&self.mu) => mu_column(records),
                Access::Objective if Place::is_rows(&self.objective) => {
                    let text = |r: &Record| r.objective.as_ref().map(outcome::objective_text);
                    Arc::new(StringArray::from_iter(rows.map(text)))
                }
                Access::Mu | Access::Objective => continue,
                Access::Limits => {
                    let text = |r: &Record| r.limits.as_ref().map(json_text);
                    Arc::new(StringArray::from_iter(rows.map(text)))
                }
                Access::Action => self.actions(records),
                Access::Propensity => {
                    Arc::new(StringArray::from_iter_values(rows.map(
                        |record| match record.propensity {
                            Propensity::Density(_) => "density",
                            Propensity::PointMass => "pointMass",
                        },
                    )))
                }
                Access::Density => {
                    let density = |record: &Record| record.propensity.density().map(Density::get);
                    Arc::new(Float64Array::from_iter(rows.map(density)))
                }
                Access::Loss => {
                    let loss = |record: &Record| record.loss.map(Loss::get);
                    Arc::new(Float64Array::from_iter(rows.map(loss)))
                }
                Access::Number { get, .. } => Arc::new(Float64Array::from_iter(rows.map(get))),
                Access::Count { get, .. } => Arc::new(UInt64Array::from_iter(rows.map(get))),
                Access::Small { get, .. } => Arc::new(UInt32Array::from_iter(rows.map(get))),
                Access::Text { get, .. } => {
                    Arc::new(StringArray::from_iter(rows.map(|r| get(r).as_deref())))
                }
                Access::Word { get, .. } => Arc::new(StringArray::from_iter(rows.map(get))),
                Access::Flag { get, .. } => {
                    Arc::new(rows.map(|r| *get(r)).collect::<BooleanArray>())
                }
                Access::Instant { get, .. } => {
                    let micros = rows.map(|r| get(r).map(|time| time.micros()));
                    Arc::new(TimestampMicrosecondArray::from_iter(micros).with_timezone(UTC))
                }
            };
            arrays.push(array);
        }
        for (name, kind) in &self.extras {
            let values = records.iter().map(|record| record.extras.get(name));
            arrays.push(match kind {
                PlainColumn::Number => Arc::new(Float64Array::from_iter(
                    values.map(|value| value.and_then(Extra::number)),
                )),
                PlainColumn::Text => Arc::new(StringArray::from_iter(values.map(|value| {
                    value.map(|value| match value {
                        Extra::Text(text) => text.clone(),
                        Extra::Number(number) => format!("{number:?}"),
                    })
                }))),
            });
        }
        RecordBatch::try_new(schema.clone(), arrays)
    }

    fn contexts(&self, records: &[Record]) -> ArrayRef {
        match &self.context {
            None | Some(ContextColumn::List) => {
                let mut lists =
                    ListBuilder::new(Float64Builder::new()).with_field(element(DataType::Float64));
                for record in records {
                    lists.values().append_slice(dense(record));
                    lists.append(true);
                }
                Arc::new(lists.finish())
            }
            Some(ContextColumn::Named(_)) => unreachable!("they have columns of their own"),
            Some(ContextColumn::Sparse) => {
                let mut indices =
                    ListBuilder::new(UInt32Builder::new()).with_field(element(DataType::UInt32));
                let mut values =
                    ListBuilder::new(Float64Builder::new()).with_field(element(DataType::Float64));
                for record in records {
                    if let Some(dense) = record.context.as_dense() {
                        indices.append(false);
                        values.values().append_slice(dense);
                    } else {
                        let (features, numbers) = sparse_parts(&record.context);
                        indices.values().append_slice(&features);
                        indices.append(true);
                        values.values().append_slice(&numbers);
                    }
                    values.append(true);
                }
                let dims = records.iter().map(|record| record.context.dim() as u64);
                let columns: Vec<ArrayRef> = vec![
                    Arc::new(UInt64Array::from_iter_values(dims)),
                    Arc::new(indices.finish()),
                    Arc::new(values.finish()),
                ];
                Arc::new(StructArray::new(
                    sparse_fields(),
                    columns,
                    None::<NullBuffer>,
                ))
            }
        }
    }

    fn actions(&self, records: &[Record]) -> ArrayRef {
        let actions = records.iter().map(|record| &record.action);
        match &self.action {
            Some(ActionColumn::Mixed(knobs)) => {
                let columns = knobs.iter().map(|(name, kind)| {
                    let values = actions.clone().map(|action| match action {
                        AnyAction::Mixed(action) => action.get(name),
                        _ => None,
                    });
                    knob_column(*kind, values)
                });
                Arc::new(StructArray::new(
                    knob_fields(knobs),
                    columns.collect(),
                    None::<NullBuffer>,
                ))
            }
            Some(ActionColumn::Set) => {
                let mut lists =
                    ListBuilder::new(UInt32Builder::new()).with_field(element(DataType::UInt32));
                for action in actions {
                    if let AnyAction::Set(set) = action {
                        let items = set.items().iter().map(|item| item.0);
                        lists.values().extend(items.map(Some));
                    }
                    lists.append(true);
                }
                Arc::new(lists.finish())
            }
            Some(ActionColumn::Vector) => {
                let mut lists =
                    ListBuilder::new(Float64Builder::new()).with_field(element(DataType::Float64));
                for action in actions {
                    if let AnyAction::Vector(vector) = action {
                        lists.values().append_slice(vector.as_slice());
                    }
                    lists.append(true);
                }
                Arc::new(lists.finish())
            }
            Some(ActionColumn::Item) => {
                let index = |action: &AnyAction| match action {
                    AnyAction::Item(Item(index)) => *index,
                    _ => unreachable!("the layout has room for each action"),
                };
                Arc::new(UInt32Array::from_iter_values(actions.map(index)))
            }
            _ => {
                let number = |action: &AnyAction| match action {
                    AnyAction::Number(value) => *value,
                    AnyAction::Item(Item(index)) => f64::from(*index),
                    _ => unreachable!("the layout has room for each action"),
                };
                Arc::new(Float64Array::from_iter_values(actions.map(number)))
            }
        }
    }
}

const UTC: &str = "UTC";

fn same(a: &Option<Arc<Space>>, b: &Option<Arc<Space>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
        (None, None) => true,
        _ => false,
    }
}

fn dense(record: &Record) -> &[f64] {
    record
        .context
        .as_dense()
        .expect("a sparse context makes a sparse column")
}

fn mu_column(records: &[Record]) -> ArrayRef {
    let texts = records
        .iter()
        .map(|record| record.mu.as_deref().map(json_text));
    Arc::new(StringArray::from_iter(texts))
}

/// A space or limits as JSON.
pub(crate) fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("spaces and limits are numbers and words")
}

fn knob_fields(knobs: &BTreeMap<String, PlainColumn>) -> Fields {
    knobs
        .iter()
        .map(|(name, kind)| Field::new(name, kind.data_type(), true))
        .collect()
}

fn knob_column<'a>(
    kind: PlainColumn,
    values: impl Iterator<Item = Option<&'a KnobValue>>,
) -> ArrayRef {
    match kind {
        PlainColumn::Number => Arc::new(Float64Array::from_iter(values.map(|value| match value {
            Some(KnobValue::Number(number)) => Some(*number),
            _ => None,
        }))),
        PlainColumn::Text => Arc::new(StringArray::from_iter(values.map(|value| match value {
            Some(KnobValue::Category(name)) => Some(name),
            _ => None,
        }))),
    }
}

fn sparse_fields() -> Fields {
    Fields::from(vec![
        Field::new("dim", DataType::UInt64, false),
        // Null where the context is dense.
        Field::new("indices", list_of(DataType::UInt32), true),
        Field::new("values", list_of(DataType::Float64), false),
    ])
}
