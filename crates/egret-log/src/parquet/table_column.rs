use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float16Type, Float32Type, Int8Type, Int16Type, Int32Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, UInt64Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use egret::FeatureValue;
use serde_json::Value;

use crate::record::{RowError, Time};

/// A column of a table from anywhere, brought to one of a few types.
///
/// Each writer has its own idea of what a list or a text is, and pandas makes floats of whole numbers where some
/// are missing: what loses nothing is taken.
pub(crate) enum TableColumn {
    Null,
    Float(Float64Array),
    Int(Int64Array),
    Unsigned(UInt64Array),
    Flag(BooleanArray),
    Text(ArrayRef),
    Coded {
        keys: Vec<usize>,
        nulls: Option<NullBuffer>,
        values: Box<TableColumn>,
    },
    Instant {
        values: Int64Array,
        per_micro: PerMicro,
    },
    List {
        /// First and past-the-last element of each row.
        spans: Vec<(usize, usize)>,
        nulls: Option<NullBuffer>,
        values: Box<TableColumn>,
    },
    Struct {
        nulls: Option<NullBuffer>,
        fields: Vec<(String, TableColumn)>,
    },
    Other(String),
}

/// How a unit of time relates to the microsecond.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PerMicro {
    Times(i64),
    Over(i64),
}

/// Why there is no value: its type, and what was expected.
pub(crate) struct Mismatch {
    found: String,
    expected: &'static str,
}

impl Mismatch {
    pub(crate) fn of(self, field: &str) -> RowError {
        RowError::Type {
            field: field.to_owned(),
            found: self.found,
            expected: self.expected,
        }
    }
}

type Cell<T> = Result<Option<T>, Mismatch>;

impl TableColumn {
    pub(crate) fn new(array: &ArrayRef) -> Self {
        match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Float64 => Self::Float(array.as_primitive().clone()),
            DataType::Float32 => Self::Float(array.as_primitive::<Float32Type>().unary(f64::from)),
            DataType::Float16 => {
                Self::Float(array.as_primitive::<Float16Type>().unary(|x| x.to_f64()))
            }
            &DataType::Decimal128(_, scale) => {
                let power = power_of_ten(scale);
                let decimal = array.as_primitive::<Decimal128Type>();
                Self::Float(decimal.unary(|value| value as f64 / power))
            }
            DataType::Int64 => Self::Int(array.as_primitive().clone()),
            DataType::Int32 => Self::signed::<Int32Type>(array),
            DataType::Int16 => Self::signed::<Int16Type>(array),
            DataType::Int8 => Self::signed::<Int8Type>(array),
            DataType::UInt64 => Self::Unsigned(array.as_primitive().clone()),
            DataType::UInt32 => Self::unsigned::<UInt32Type>(array),
            DataType::UInt16 => Self::unsigned::<UInt16Type>(array),
            DataType::UInt8 => Self::unsigned::<UInt8Type>(array),
            DataType::Boolean => Self::Flag(array.as_boolean().clone()),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text(array.clone()),
            DataType::Dictionary(..) => {
                let coded = array.as_any_dictionary();
                if coded.values().is_empty() {
                    return Self::Null;
                }
                Self::Coded {
                    keys: coded.normalized_keys(),
                    nulls: coded.keys().nulls().cloned(),
                    values: Box::new(Self::new(coded.values())),
                }
            }
            DataType::Timestamp(unit, _) => Self::instant(array, *unit),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let ends = list.offsets().iter().map(|&end| end as usize);
                Self::list(ends.collect(), list.nulls(), list.values())
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                let ends = list.offsets().iter().map(|&end| end as usize);
                Self::list(ends.collect(), list.nulls(), list.values())
            }
            DataType::FixedSizeList(..) => {
                let list = array.as_fixed_size_list();
                let size = list.value_length() as usize;
                let ends = (0..=list.len()).map(|row| row * size).collect();
                Self::list(ends, list.nulls(), list.values())
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct();
                let names = fields.iter().map(|field| field.name().clone());
                Self::Struct {
                    nulls: columns.nulls().cloned(),
                    fields: names.zip(columns.columns().iter().map(Self::new)).collect(),
                }
            }
            other => Self::Other(other.to_string()),
        }
    }

    fn signed<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef) -> Self {
        Self::Int(array.as_primitive::<T>().unary(Into::into))
    }

    fn unsigned<T: ArrowPrimitiveType<Native: Into<u64>>>(array: &ArrayRef) -> Self {
        Self::Unsigned(array.as_primitive::<T>().unary(Into::into))
    }

    fn instant(array: &ArrayRef, unit: TimeUnit) -> Self {
        fn ticks<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef) -> Int64Array {
            array.as_primitive::<T>().unary(|ticks| ticks)
        }
        let (values, per_micro) = match unit {
            TimeUnit::Second => (
                ticks::<TimestampSecondType>(array),
                PerMicro::Times(1_000_000),
            ),
            TimeUnit::Millisecond => (
                ticks::<TimestampMillisecondType>(array),
                PerMicro::Times(1_000),
            ),
            TimeUnit::Microsecond => (ticks::<TimestampMicrosecondType>(array), PerMicro::Times(1)),
            TimeUnit::Nanosecond => (
                ticks::<TimestampNanosecondType>(array),
                PerMicro::Over(1_000),
            ),
        };
        Self::Instant { values, per_micro }
    }

    fn list(ends: Vec<usize>, nulls: Option<&NullBuffer>, values: &ArrayRef) -> Self {
        // A slice of a column has the elements of all of it.
        let first = ends.first().copied().unwrap_or(0);
        let past = ends.last().copied().unwrap_or(0);
        Self::List {
            spans: ends
                .windows(2)
                .map(|pair| (pair[0] - first, pair[1] - first))
                .collect(),
            nulls: nulls.cloned(),
            values: Box::new(Self::new(&values.slice(first, past - first))),
        }
    }

    fn is_null(&self, row: usize) -> bool {
        let absent = |nulls: &Option<NullBuffer>| nulls.as_ref().is_some_and(|n| n.is_null(row));
        match self {
            Self::Null => true,
            Self::Float(values) => values.is_null(row),
            Self::Int(values) => values.is_null(row),
            Self::Unsigned(values) => values.is_null(row),
            Self::Flag(values) => values.is_null(row),
            Self::Text(values) => values.is_null(row),
            Self::Instant { values, .. } => values.is_null(row),
            Self::Coded {
                nulls,
                keys,
                values,
            } => absent(nulls) || values.is_null(keys[row]),
            Self::List { nulls, .. } | Self::Struct { nulls, .. } => absent(nulls),
            // Nobody can tell, and to say that it is there leads to an error.
            Self::Other(_) => false,
        }
    }

    fn kind(&self) -> String {
        match self {
            Self::Null => "nothing",
            Self::Float(_) => "a number",
            Self::Int(_) | Self::Unsigned(_) => "a whole number",
            Self::Flag(_) => "true or false",
            Self::Text(_) => "text",
            Self::Coded { values, .. } => return values.kind(),
            Self::Instant { .. } => "a time",
            Self::List { .. } => "a list",
            Self::Struct { .. } => "a struct",
            Self::Other(name) => return format!("of type {name}"),
        }
        .to_owned()
    }

    fn mismatch<T>(&self, expected: &'static str) -> Cell<T> {
        Err(Mismatch {
            found: self.kind(),
            expected,
        })
    }

    pub(crate) fn number(&self, row: usize) -> Cell<f64> {
        if self.is_null(row) {
            return Ok(None);
        }
        match self {
            Self::Float(values) => Ok(Some(values.value(row))),
            Self::Int(values) => Ok(Some(values.value(row) as f64)),
            Self::Unsigned(values) => Ok(Some(values.value(row) as f64)),
            Self::Coded { keys, values, .. } => values.number(keys[row]),
            _ => self.mismatch("a number"),
        }
    }

    /// The first `rows` numbers, missing ones included.
    pub(crate) fn all_numbers(&self, rows: usize) -> Result<Float64Array, Mismatch> {
        match self {
            Self::Null => Ok(Float64Array::new_null(rows)),
            Self::Float(values) => Ok(values.clone()),
            Self::Int(values) => Ok(values.unary(|value| value as f64)),
            Self::Unsigned(values) => Ok(values.unary(|value| value as f64)),
            _ => (0..rows).map(|row| self.number(row)).collect(),
        }
    }

    /// Whether the column holds whole numbers by type: items, not points.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Unsigned(_))
    }

    pub(crate) fn count(&self, row: usize) -> Cell<u64> {
        const EXPECTED: &str = "a whole number that is not negative";
        if self.is_null(row) {
            return Ok(None);
        }
        let count = match self {
            Self::Unsigned(values) => Some(values.value(row)),
            Self::Int(values) => u64::try_from(values.value(row)).ok(),
            Self::Float(values) => {
                let value = values.value(row);
                let whole = (0.0..9_007_199_254_740_992.0).contains(&value) && value.fract() == 0.0;
                whole.then_some(value as u64)
            }
            _ => return self.mismatch(EXPECTED),
        };
        match count {
            Some(count) => Ok(Some(count)),
            None => Err(Mismatch {
                found: self.json(row).to_string(),
                expected: EXPECTED,
            }),
        }
    }

    pub(crate) fn text(&self, row: usize) -> Cell<&str> {
        if self.is_null(row) {
            return Ok(None);
        }
        match self {
            Self::Text(values) => Ok(Some(match values.data_type() {
                DataType::LargeUtf8 => values.as_string::<i64>().value(row),
                DataType::Utf8View => values.as_string_view().value(row),
                _ => values.as_string::<i32>().value(row),
            })),
            Self::Coded { keys, values, .. } => values.text(keys[row]),
            _ => self.mismatch("text"),
        }
    }

    pub(crate) fn flag(&self, row: usize) -> Cell<bool> {
        if self.is_null(row) {
            return Ok(None);
        }
        match self {
            Self::Flag(values) => Ok(Some(values.value(row))),
            _ => self.mismatch("true or false"),
        }
    }

    pub(crate) fn instant_at(
        &self,
        row: usize,
        field: &'static str,
    ) -> Result<Option<Time>, RowError> {
        if self.is_null(row) {
            return Ok(None);
        }
        let time = match self {
            Self::Instant { values, per_micro } => {
                let ticks = values.value(row);
                let micros = match per_micro {
                    PerMicro::Times(factor) => ticks.saturating_mul(*factor),
                    PerMicro::Over(divisor) => ticks.div_euclid(*divisor),
                };
                Time::from_micros(micros)
            }
            _ => self
                .text(row)
                .map_err(|mismatch| {
                    Mismatch {
                        expected: "a time",
                        ..mismatch
                    }
                    .of(field)
                })?
                .unwrap_or_default()
                .parse(),
        };
        time.map(Some)
            .map_err(|error| RowError::Time { field, error })
    }

    /// A list of numbers, none of them null.
    pub(crate) fn numbers(&self, row: usize) -> Cell<Vec<f64>> {
        const EXPECTED: &str = "a list of numbers, none of them null";
        if self.is_null(row) {
            return Ok(None);
        }
        let Self::List { spans, values, .. } = self else {
            return self.mismatch(EXPECTED);
        };
        let (start, end) = spans[row];
        if let Self::Float(values) = &**values
            && values.null_count() == 0
        {
            return Ok(Some(values.values()[start..end].to_vec()));
        }
        let numbers: Option<Vec<f64>> = (start..end)
            .map(|place| values.number(place).ok().flatten())
            .collect();
        match numbers {
            Some(numbers) => Ok(Some(numbers)),
            None => Err(Mismatch {
                found: format!("{} with a null or another type in it", self.kind()),
                expected: EXPECTED,
            }),
        }
    }

    /// The columns of a struct, unless it is null.
    pub(crate) fn fields(&self, row: usize) -> Cell<&[(String, TableColumn)]> {
        if self.is_null(row) {
            return Ok(None);
        }
        match self {
            Self::Struct { fields, .. } => Ok(Some(fields)),
            _ => self.mismatch("a list of numbers, or a struct"),
        }
    }

    /// The value as a named feature. Null is none.
    pub(crate) fn feature(&self, row: usize) -> Cell<FeatureValue> {
        if self.is_null(row) {
            return Ok(None);
        }
        Ok(Some(match self {
            Self::Null => return Ok(None),
            Self::Float(values) => FeatureValue::Number(values.value(row)),
            Self::Int(values) => FeatureValue::Integer(values.value(row)),
            Self::Unsigned(values) => {
                let value = values.value(row);
                // As JSON has it: beyond 63 bits it is a name, and no digit is lost.
                let text = || FeatureValue::Text(value.to_string());
                i64::try_from(value).map_or_else(|_| text(), FeatureValue::Integer)
            }
            Self::Flag(values) => FeatureValue::Flag(values.value(row)),
            Self::Text(_) => return Ok(self.text(row)?.map(FeatureValue::from)),
            Self::Coded { keys, values, .. } => return values.feature(keys[row]),
            Self::Instant { values, .. } => match self.instant_at(row, "context") {
                Ok(Some(time)) => FeatureValue::Text(time.to_string()),
                _ => FeatureValue::Integer(values.value(row)),
            },
            Self::List { spans, values, .. } => {
                let (start, end) = spans[row];
                let element = |place| {
                    let value = values.feature(place)?;
                    Ok(value.unwrap_or(FeatureValue::Missing))
                };
                FeatureValue::List((start..end).map(element).collect::<Result<_, _>>()?)
            }
            Self::Struct { fields, .. } => {
                let mut members = BTreeMap::new();
                for (name, column) in fields {
                    if let Some(value) = column.feature(row)? {
                        members.insert(name.clone(), value);
                    }
                }
                FeatureValue::Object(members)
            }
            Self::Other(_) => return self.mismatch("a number, text, true or false, or a list"),
        }))
    }

    /// The value as JSON, as near to what it was as JSON can be.
    pub(crate) fn json(&self, row: usize) -> Value {
        if self.is_null(row) {
            return Value::Null;
        }
        match self {
            Self::Null => Value::Null,
            Self::Float(values) => number_or_text(values.value(row)),
            Self::Int(values) => values.value(row).into(),
            Self::Unsigned(values) => values.value(row).into(),
            Self::Flag(values) => values.value(row).into(),
            Self::Text(_) => self.text(row).ok().flatten().into(),
            Self::Coded { keys, values, .. } => values.json(keys[row]),
            Self::Instant { values, .. } => match self.instant_at(row, "time") {
                Ok(Some(time)) => time.to_string().into(),
                _ => values.value(row).into(),
            },
            Self::List { spans, values, .. } => {
                let (start, end) = spans[row];
                (start..end).map(|place| values.json(place)).collect()
            }
            Self::Struct { fields, .. } => fields
                .iter()
                .map(|(name, column)| (name.clone(), column.json(row)))
                .collect(),
            Self::Other(name) => Value::String(format!("a value of type {name}")),
        }
    }
}

/// NaN and infinities have no JSON: their names stand for them.
fn number_or_text(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or_else(|| value.to_string().into(), Value::Number)
}

fn power_of_ten(scale: i8) -> f64 {
    // Exact up to 10²², and so are the decimals that people write.
    (0..scale.unsigned_abs()).fold(1.0, |power, _| {
        if scale < 0 {
            power / 10.0
        } else {
            power * 10.0
        }
    })
}
