use std::fs::File;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::types::{Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::DataType;
use egret::{Context, EventRng, Stream};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// A supervised data set as contexts and labels, both scaled to [0, 1] as in the paper's experiments.
#[derive(Debug)]
pub struct DataSet {
    pub name: String,
    /// What was shuffled: (context, label).
    pub rows: Vec<(Context, f64)>,
    pub features: usize,
}

impl DataSet {
    /// Reads a Parquet file whose last column is the label; numbers are min-max scaled, categories one-hot.
    pub fn read(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        let batches = ParquetRecordBatchReaderBuilder::try_new(file)?
            .build()?
            .collect::<Result<Vec<_>, _>>()?;
        let width = batches.first().context("no rows")?.num_columns();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for index in 0..width {
            let parts: Vec<&ArrayRef> = batches.iter().map(|batch| batch.column(index)).collect();
            match parts[0].data_type() {
                DataType::Dictionary(_, _) => columns.extend(one_hot(&parts)?),
                _ => columns.push(scaled(numbers(&parts)?)?),
            }
        }
        let labels = columns.pop().context("no label")?;
        let features = columns.len();
        let rows = labels
            .into_iter()
            .enumerate()
            .map(|(row, label)| {
                let x = columns.iter().map(|column| column[row]).collect();
                Ok((Context::dense(x)?, label))
            })
            .collect::<Result<_>>()?;
        let stem = path.file_stem().context("a file has a name")?;
        Ok(Self {
            name: stem.to_string_lossy().into_owned(),
            rows,
            features,
        })
    }

    /// The rows in an order of the seed's (Fisher and Yates).
    pub fn shuffled(&self, seed: u64) -> Vec<&(Context, f64)> {
        let mut rng = EventRng::new(seed, 0, Stream::World);
        let mut rows: Vec<_> = self.rows.iter().collect();
        for last in (1..rows.len()).rev() {
            let place = (rng.unit() * (last + 1) as f64) as usize;
            rows.swap(last, place);
        }
        rows
    }
}

fn numbers(parts: &[&ArrayRef]) -> Result<Vec<f64>> {
    let mut values = Vec::new();
    for part in parts {
        if 0 < part.null_count() {
            bail!("a column has missing values");
        }
        match part.data_type() {
            DataType::Int8 => extend(&mut values, part.as_primitive::<Int8Type>()),
            DataType::Int16 => extend(&mut values, part.as_primitive::<Int16Type>()),
            DataType::Int32 => extend(&mut values, part.as_primitive::<Int32Type>()),
            DataType::Int64 => values.extend(
                part.as_primitive::<Int64Type>()
                    .values()
                    .iter()
                    .map(|&value| value as f64),
            ),
            DataType::Float32 => extend(&mut values, part.as_primitive::<Float32Type>()),
            DataType::Float64 => extend(&mut values, part.as_primitive::<Float64Type>()),
            other => bail!("a column of type {other} is not numbers"),
        }
    }
    Ok(values)
}

fn extend<T: ArrowPrimitiveType>(values: &mut Vec<f64>, array: &PrimitiveArray<T>)
where
    T::Native: Into<f64>,
{
    values.extend(array.values().iter().map(|&value| value.into()));
}

fn scaled(mut values: Vec<f64>) -> Result<Vec<f64>> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for value in &mut values {
        *value = if least < most {
            (*value - least) / (most - least)
        } else {
            0.0
        };
    }
    Ok(values)
}

/// One column for each category, in the order of the dictionary.
fn one_hot(parts: &[&ArrayRef]) -> Result<Vec<Vec<f64>>> {
    let mut names: Vec<String> = Vec::new();
    let mut codes = Vec::new();
    for part in parts {
        let dictionary = part.as_dictionary::<Int32Type>();
        let values = dictionary.values();
        for key in dictionary.keys() {
            let place = key.context("a category is missing")? as usize;
            let word = match values.data_type() {
                DataType::Utf8 => values.as_string::<i32>().value(place),
                DataType::LargeUtf8 => values.as_string::<i64>().value(place),
                DataType::Utf8View => values.as_string_view().value(place),
                other => bail!("categories of type {other} are not words"),
            };
            let code = match names.iter().position(|name| name == word) {
                Some(code) => code,
                None => {
                    names.push(word.to_owned());
                    names.len() - 1
                }
            };
            codes.push(code);
        }
    }
    let column = |code| {
        let is = |&other: &usize| f64::from(u8::from(other == code));
        codes.iter().map(is).collect()
    };
    Ok((0..names.len()).map(column).collect())
}
