use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::data::table::CategoryBuilder;
use crate::data::{Column, Table, TableError, Values};

/// Reads a Parquet file.
///
/// Numbers, booleans (0 and 1), dates and times (days or ticks since 1970) are numbers. Strings and dictionaries of strings are
/// categories. The metadata of the file may name the label (`target_name`), the data set (`openml_data_id`) and the numbers
/// that are categories (`categorical_features`, a JSON list).
pub(crate) fn read(path: &Path) -> Result<Table, TableError> {
    guarded(path, || try_read(path))
}

/// The OpenML id in the metadata of a file. Only the end of the file is read.
pub(crate) fn openml_id(path: &Path) -> Result<Option<u32>, TableError> {
    guarded(path, || Ok(Roles::of(&open(path)?, path)?.openml_id))
}

/// Turns a panic into an error: the decoder panics on some damaged files.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T, TableError>) -> Result<T, TableError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(TableError::new(
            path.display(),
            "damaged: the Parquet decoder failed",
        ))
    })
}

fn open(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, TableError> {
    let file = File::open(path).map_err(|error| TableError::unreadable(path, &error))?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| damaged(path, error))
}

fn damaged(path: &Path, error: impl std::fmt::Display) -> TableError {
    TableError::new(path.display(), format!("not a valid Parquet file: {error}"))
}

fn try_read(path: &Path) -> Result<Table, TableError> {
    let builder = open(path)?;
    let roles = Roles::of(&builder, path)?;
    let schema = builder.schema().clone();
    let batches: Vec<RecordBatch> = builder
        .build()
        .map_err(|error| damaged(path, error))?
        .collect::<Result<_, _>>()
        .map_err(|error| damaged(path, error))?;
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (place, field) in schema.fields().iter().enumerate() {
        let name = field.name().clone();
        let mut gathered = Gathered::of(field.data_type()).ok_or_else(|| {
            let kind = field.data_type();
            let what = format!("column {name:?} has type {kind}, expected numbers or strings");
            TableError::new(path.display(), what)
        })?;
        for batch in &batches {
            gathered.extend(batch.column(place));
        }
        let mut values = gathered.finish();
        if roles.categorical.contains(&name) {
            values = values.into_categories();
        }
        columns.push(Column { name, values });
    }
    let target = roles.target.and_then(|target| {
        // A file may rename its label column to `target`, and keep the old name in the metadata.
        let called = |name: &str| columns.iter().any(|column| column.name == name);
        [target, "target".to_owned()]
            .into_iter()
            .find(|name| called(name))
    });
    let table = Table::new(path.display().to_string(), columns)?;
    Ok(table
        .with_roles(target, Vec::new())
        .with_openml_id(roles.openml_id))
}

/// What the metadata of a file says.
#[derive(Default)]
struct Roles {
    target: Option<String>,
    openml_id: Option<u32>,
    categorical: Vec<String>,
}

impl Roles {
    fn of(
        builder: &ParquetRecordBatchReaderBuilder<File>,
        path: &Path,
    ) -> Result<Self, TableError> {
        let bad = |key: &str, value: &str, expected: &str| {
            let what = format!("metadata {key} is {value:?}, expected {expected}");
            TableError::new(path.display(), what)
        };
        let mut roles = Self::default();
        for (key, value) in builder.schema().metadata() {
            match key.as_str() {
                "target_name" => roles.target = Some(value.clone()),
                "openml_data_id" => {
                    let id = value.parse();
                    roles.openml_id = Some(id.map_err(|_| bad(key, value, "a number"))?);
                }
                "categorical_features" => {
                    let names = serde_json::from_str(value);
                    roles.categorical = names.map_err(|_| bad(key, value, "a list of names"))?;
                }
                _ => {}
            }
        }
        Ok(roles)
    }
}

/// A column while its batches are read.
enum Gathered {
    Numbers(Vec<f64>),
    Words(CategoryBuilder),
}

impl Gathered {
    /// `None` for a type that is neither numbers nor strings.
    fn of(kind: &DataType) -> Option<Self> {
        match kind {
            DataType::Dictionary(_, values) => Self::of(values),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Some(Self::Words(CategoryBuilder::default()))
            }
            DataType::Null
            | DataType::Boolean
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::UInt64
            | DataType::Float16
            | DataType::Float32
            | DataType::Float64
            | DataType::Decimal128(_, _)
            | DataType::Date32
            | DataType::Date64
            | DataType::Timestamp(_, _) => Some(Self::Numbers(Vec::new())),
            _ => None,
        }
    }

    fn extend(&mut self, array: &ArrayRef) {
        match self {
            Self::Numbers(out) => out.extend(numbers(array)),
            Self::Words(out) => {
                for word in words(array) {
                    out.push(word);
                }
            }
        }
    }

    fn finish(self) -> Values {
        match self {
            Self::Numbers(values) => Values::Numbers(values),
            Self::Words(words) => words.finish(),
        }
    }
}

/// The numbers of an array of a numeric type.
fn numbers(array: &ArrayRef) -> Vec<f64> {
    match array.data_type() {
        DataType::Dictionary(_, _) => {
            let values = numbers(array.as_any_dictionary().values());
            let places = places(array);
            let at = |place: Option<usize>| place.map_or(f64::NAN, |place| values[place]);
            places.into_iter().map(at).collect()
        }
        DataType::Boolean => {
            let number =
                |flag: Option<bool>| flag.map_or(f64::NAN, |flag| f64::from(u8::from(flag)));
            array.as_boolean().iter().map(number).collect()
        }
        DataType::Int8 => primitive::<Int8Type>(array, f64::from),
        DataType::Int16 => primitive::<Int16Type>(array, f64::from),
        DataType::Int32 => primitive::<Int32Type>(array, f64::from),
        DataType::Int64 => primitive::<Int64Type>(array, |value| value as f64),
        DataType::UInt8 => primitive::<UInt8Type>(array, f64::from),
        DataType::UInt16 => primitive::<UInt16Type>(array, f64::from),
        DataType::UInt32 => primitive::<UInt32Type>(array, f64::from),
        DataType::UInt64 => primitive::<UInt64Type>(array, |value| value as f64),
        DataType::Float16 => primitive::<Float16Type>(array, |value| value.to_f64()),
        DataType::Float32 => primitive::<Float32Type>(array, f64::from),
        DataType::Float64 => primitive::<Float64Type>(array, |value| value),
        DataType::Decimal128(_, scale) => {
            let unit = libm::pow(10.0, f64::from(*scale));
            primitive::<Decimal128Type>(array, |value| value as f64 / unit)
        }
        DataType::Date32 => primitive::<Date32Type>(array, f64::from),
        DataType::Date64 => primitive::<Date64Type>(array, |value| value as f64),
        DataType::Timestamp(unit, _) => {
            let number = |value: i64| value as f64;
            match unit {
                TimeUnit::Second => primitive::<TimestampSecondType>(array, number),
                TimeUnit::Millisecond => primitive::<TimestampMillisecondType>(array, number),
                TimeUnit::Microsecond => primitive::<TimestampMicrosecondType>(array, number),
                TimeUnit::Nanosecond => primitive::<TimestampNanosecondType>(array, number),
            }
        }
        _ => vec![f64::NAN; array.len()],
    }
}

fn primitive<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    number: impl Fn(T::Native) -> f64,
) -> Vec<f64> {
    let values = array.as_primitive::<T>();
    let number = |value: Option<T::Native>| value.map_or(f64::NAN, &number);
    values.iter().map(number).collect()
}

/// The strings of an array of a string type.
fn words(array: &ArrayRef) -> Vec<Option<&str>> {
    match array.data_type() {
        DataType::Dictionary(_, _) => {
            let values = words(array.as_any_dictionary().values());
            let at = |place: Option<usize>| place.and_then(|place| values[place]);
            places(array).into_iter().map(at).collect()
        }
        DataType::LargeUtf8 => array.as_string::<i64>().iter().collect(),
        DataType::Utf8View => array.as_string_view().iter().collect(),
        _ => array.as_string::<i32>().iter().collect(),
    }
}

/// For each row the index into its dictionary; `None` means missing.
fn places(array: &ArrayRef) -> Vec<Option<usize>> {
    let dictionary = array.as_any_dictionary();
    if dictionary.values().is_empty() {
        return vec![None; array.len()];
    }
    let keys = dictionary.normalized_keys();
    let place = |(row, key)| array.is_valid(row).then_some(key);
    keys.into_iter().enumerate().map(place).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use arrow_array::{
        BooleanArray, DictionaryArray, Float32Array, Int64Array, ListArray, StringArray,
    };
    use arrow_schema::{Field, Schema};
    use parquet::arrow::ArrowWriter;

    use super::*;

    /// Writes one row group for each batch, with metadata.
    pub(crate) fn write(
        path: &Path,
        metadata: &[(&str, &str)],
        names: &[&str],
        batches: &[Vec<ArrayRef>],
    ) {
        let fields: Vec<Field> = (names.iter().zip(&batches[0]))
            .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
            .collect();
        let metadata: HashMap<String, String> = (metadata.iter())
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let schema = Arc::new(Schema::new(fields).with_metadata(metadata));
        let file = File::create(path).expect("a new file");
        let mut writer = ArrowWriter::try_new(file, schema.clone(), None).expect("a writer");
        for arrays in batches {
            let batch = RecordBatch::try_new(schema.clone(), arrays.clone()).expect("a batch");
            writer.write(&batch).expect("written");
            writer.flush().expect("a row group");
        }
        writer.close().expect("a footer");
    }

    fn colours(words: &[Option<&str>]) -> ArrayRef {
        Arc::new(
            words
                .iter()
                .copied()
                .collect::<DictionaryArray<Int32Type>>(),
        )
    }

    #[test]
    fn every_kind_of_column_is_read_across_row_groups() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mixed.parquet");
        let first: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![Some(1), None])),
            Arc::new(BooleanArray::from(vec![Some(true), Some(false)])),
            colours(&[Some("red"), None]),
            Arc::new(StringArray::from(vec!["b", "a"])),
            Arc::new(Int64Array::from(vec![7, 8])),
            Arc::new(Float32Array::from(vec![0.5, f32::NAN])),
        ];
        let second: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![3])),
            Arc::new(BooleanArray::from(vec![None])),
            colours(&[Some("blue")]),
            Arc::new(StringArray::from(vec!["b"])),
            Arc::new(Int64Array::from(vec![7])),
            Arc::new(Float32Array::from(vec![2.0])),
        ];
        let metadata = [
            ("target_name", "Price"),
            ("openml_data_id", "42"),
            ("categorical_features", "[\"code\"]"),
        ];
        let names = ["n", "flag", "colour", "word", "code", "target"];
        write(&path, &metadata, &names, &[first, second]);

        let table = Table::read(&path).expect("sound");
        assert_eq!((table.rows(), table.openml_id()), (3, Some(42)));
        // `Price` is the old name of `target`.
        assert_eq!(table.target(), Some("target"));
        assert_eq!(openml_id(&path), Ok(Some(42)));
        let is = |name: &str| {
            let found = table.columns().iter().find(|column| column.name == name);
            found.expect("a column").values.clone()
        };
        let categories = |levels: [&str; 2], codes: [Option<u32>; 3]| Values::Categories {
            levels: levels.map(str::to_owned).to_vec(),
            codes: codes.to_vec(),
        };
        let same = |values: Values, expected: [f64; 3]| match values {
            Values::Numbers(values) => assert_eq!(
                values.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
                expected.map(f64::to_bits).to_vec()
            ),
            categories => panic!("{categories:?}"),
        };
        same(is("n"), [1.0, f64::NAN, 3.0]);
        same(is("flag"), [1.0, 0.0, f64::NAN]);
        same(is("target"), [0.5, f64::NAN, 2.0]);
        assert_eq!(
            is("colour"),
            categories(["red", "blue"], [Some(0), None, Some(1)])
        );
        assert_eq!(
            is("word"),
            categories(["b", "a"], [Some(0), Some(1), Some(0)])
        );
        assert_eq!(
            is("code"),
            categories(["7", "8"], [Some(0), Some(1), Some(0)])
        );
    }

    #[test]
    fn a_column_of_lists_and_a_damaged_file_are_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lists.parquet");
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)])]);
        write(&path, &[], &["deep"], &[vec![Arc::new(lists)]]);
        let error = read(&path).expect_err("a list").to_string();
        assert!(
            error.contains("lists.parquet: column \"deep\" has type List"),
            "{error}"
        );

        let path = folder.path().join("damaged.parquet");
        std::fs::write(&path, b"PAR1 not at all PAR1").expect("written");
        let error = read(&path).expect_err("damaged").to_string();
        assert!(
            error.contains("damaged.parquet: not a valid Parquet file"),
            "{error}"
        );
        let error = read(&folder.path().join("none.parquet")).expect_err("missing");
        assert!(error.to_string().contains("cannot be read"), "{error}");
    }
}
