use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use egret::Objective;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::run::{LogSummary, RunRecord, Spread, Stretch};

/// The metadata key for the format of the results in a file.
const FORMAT_KEY: &str = "egret.results";
/// The format that is written, and the only one that is read.
const FORMAT: &str = "1";
/// The metadata key for the version of egret that wrote the file.
const VERSION_KEY: &str = "egret.version";

/// Columns that older versions wrote under another name.
const OLD_NAMES: [(&str, &str); 2] = [
    ("point_masses", "atoms"),
    ("curve_point_masses", "curve_atoms"),
];

/// The endings of the columns of a spread: its mean and its quantiles.
const SPREAD_ENDINGS: [&str; 6] = ["mean", "p05", "p25", "p50", "p75", "p95"];

/// Writes results as one Parquet file with a row for each run. The file appears only when it is complete.
///
/// | columns | type | contents |
/// |---|---|---|
/// | `environment`, `fingerprint`, `learner` | string | the problem by name and by content; the learner |
/// | `settings` | string | a hash of the learner's settings, in eight hex digits; may be null or missing |
/// | `seed`, `decisions` | integer | |
/// | `objective` | string | what losses stand for, such as `maximize:0,50`; may be missing if they are losses |
/// | `loss`, `regret`, `seconds` | number | means of loss and regret, and the time; `regret` is null if it is not known |
/// | `curve_until`, `curve_loss`, `curve_point_masses` | list | for each stretch its end, its mean loss and its share of point masses |
/// | `point_masses` | number | share of point masses; null if the learner has no propensities |
/// | `draws_mean`, `draws_p05`, … `draws_p95` | number | mean and five quantiles; likewise for `proposals`, `kappa`, `density`, `weight` and `distance` |
///
/// The metadata has the version of the format under `egret.results` and that of egret under `egret.version`.
///
/// ```
/// use egret_lab::{RunRecord, read_results, write_results};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("results.parquet");
/// let record = RunRecord {
///     environment: "house_sales".to_owned(),
///     fingerprint: "house_sales 1b2c3d4e absolute".to_owned(),
///     learner: "default".to_owned(),
///     settings: "0a1b2c3d".to_owned(),
///     seed: 1,
///     decisions: 20_000,
///     objective: "minimize:0,80000".parse()?,
///     loss: 0.031,
///     regret: None,
///     curve: Vec::new(),
///     log: None,
///     seconds: 0.4,
/// };
/// write_results(&path, &[record.clone()])?;
/// assert_eq!(read_results(&path)?, [record]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_results(path: &Path, records: &[RunRecord]) -> Result<(), ResultsError> {
    let entry = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let metadata = vec![
        entry(FORMAT_KEY, FORMAT),
        entry(VERSION_KEY, env!("CARGO_PKG_VERSION")),
    ];
    write_batch(path, &batch_of(records), metadata)
}

/// Writes a table as a Parquet file, completely or not at all.
pub(crate) fn write_batch(
    path: &Path,
    batch: &RecordBatch,
    metadata: Vec<KeyValue>,
) -> Result<(), ResultsError> {
    let failed = |error: &dyn std::fmt::Display| ResultsError::NotWritten {
        path: path.to_owned(),
        error: error.to_string(),
    };
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(metadata))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties))
        .map_err(|error| failed(&error))?;
    writer.write(batch).map_err(|error| failed(&error))?;
    writer.close().map_err(|error| failed(&error))?;
    Ok(egret_report::output::write(path, &bytes)?)
}

/// Reads the results that [`write_results`] wrote, in the same order.
///
/// Every other file is refused: one that is not Parquet, that holds no results, that has another format, or that is damaged.
pub fn read_results(path: &Path) -> Result<Vec<RunRecord>, ResultsError> {
    // The decoder panics on some damaged files.
    catch_unwind(AssertUnwindSafe(|| read(path)))
        .unwrap_or_else(|_| Err(damaged(path, "the decoder failed")))
}

fn read(path: &Path) -> Result<Vec<RunRecord>, ResultsError> {
    let file = File::open(path).map_err(|error| ResultsError::Unreadable {
        path: path.to_owned(),
        error,
    })?;
    let other = |found: String| ResultsError::NotResults {
        path: path.to_owned(),
        found,
    };
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|_| other("not a Parquet file".to_owned()))?;
    let metadata = builder.metadata().file_metadata().key_value_metadata();
    let value = |key: &str| {
        let mut entries = metadata.into_iter().flatten();
        let entry = entries.find(|entry| entry.key == key);
        entry.and_then(|entry| entry.value.clone())
    };
    match value(FORMAT_KEY).as_deref() {
        Some(FORMAT) => {}
        Some(format) => {
            return Err(ResultsError::OtherFormat {
                path: path.to_owned(),
                format: format.to_owned(),
                version: value(VERSION_KEY).unwrap_or_else(|| "unknown".to_owned()),
            });
        }
        None => return Err(other("a Parquet file without results".to_owned())),
    }
    let mut records = Vec::new();
    for batch in builder.build().map_err(|error| damaged(path, error))? {
        let batch = batch.map_err(|error| damaged(path, error))?;
        let rows = Rows {
            path,
            batch: &batch,
        };
        rows.append_to(&mut records)?;
    }
    Ok(records)
}

fn damaged(path: &Path, what: impl std::fmt::Display) -> ResultsError {
    ResultsError::Damaged {
        path: path.to_owned(),
        what: what.to_string(),
    }
}

/// Takes one spread from a summary.
type Pick = fn(&LogSummary) -> Option<Spread>;

/// Every spread of a summary, with the name that its columns begin with.
const SPREADS: [(&str, Pick); 6] = [
    ("draws", |summary| Some(summary.draws)),
    ("proposals", |summary| Some(summary.proposals)),
    ("kappa", |summary| summary.kappa),
    ("density", |summary| summary.density),
    ("weight", |summary| summary.weight),
    ("distance", |summary| summary.distance),
];

fn batch_of(records: &[RunRecord]) -> RecordBatch {
    let words = |of: fn(&RunRecord) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(records.iter().map(of)))
    };
    let whole = |of: fn(&RunRecord) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(records.iter().map(of)))
    };
    let number = |of: fn(&RunRecord) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(records.iter().map(of)))
    };
    let mut columns: Vec<(String, ArrayRef, bool)> = vec![
        ("environment".into(), words(|r| &r.environment), false),
        ("fingerprint".into(), words(|r| &r.fingerprint), false),
        ("learner".into(), words(|r| &r.learner), false),
        ("settings".into(), words(|r| &r.settings), true),
        ("seed".into(), whole(|r| r.seed), false),
        ("decisions".into(), whole(|r| r.decisions), false),
        ("loss".into(), number(|r| r.loss), false),
    ];
    let objectives = records.iter().map(|record| record.objective.to_string());
    let objectives = StringArray::from_iter_values(objectives);
    columns.push(("objective".into(), Arc::new(objectives), true));
    let regrets = Float64Array::from_iter(records.iter().map(|record| record.regret));
    columns.push(("regret".into(), Arc::new(regrets), true));
    columns.push(("seconds".into(), number(|r| r.seconds), false));

    let mut untils = ListBuilder::new(UInt64Builder::new());
    let mut losses = ListBuilder::new(Float64Builder::new());
    let mut point_masses = ListBuilder::new(Float64Builder::new());
    for record in records {
        for stretch in &record.curve {
            untils.values().append_value(stretch.until);
            losses.values().append_value(stretch.loss);
            point_masses.values().append_value(stretch.point_masses);
        }
        untils.append(true);
        losses.append(true);
        point_masses.append(true);
    }
    columns.push(("curve_until".into(), Arc::new(untils.finish()), false));
    columns.push(("curve_loss".into(), Arc::new(losses.finish()), false));
    columns.push((
        "curve_point_masses".into(),
        Arc::new(point_masses.finish()),
        false,
    ));

    let log_numbers = |of: &dyn Fn(&LogSummary) -> Option<f64>| -> ArrayRef {
        let values = records
            .iter()
            .map(|record| record.log.as_ref().and_then(of));
        Arc::new(Float64Array::from_iter(values))
    };
    columns.push((
        "point_masses".into(),
        log_numbers(&|summary| Some(summary.point_masses)),
        true,
    ));
    for (name, pick) in SPREADS {
        for (place, ending) in SPREAD_ENDINGS.into_iter().enumerate() {
            let column = log_numbers(&|summary| {
                let spread = pick(summary)?;
                Some(match place {
                    0 => spread.mean,
                    _ => spread.quantiles[place - 1],
                })
            });
            columns.push((format!("{name}_{ending}"), column, true));
        }
    }
    RecordBatch::try_from_iter_with_nullable(columns).expect("columns are of one length")
}

/// The rows of a file, column by column.
struct Rows<'a> {
    path: &'a Path,
    batch: &'a RecordBatch,
}

impl Rows<'_> {
    fn append_to(&self, records: &mut Vec<RunRecord>) -> Result<(), ResultsError> {
        let (environments, fingerprints, learners) = (
            self.words("environment")?,
            self.words("fingerprint")?,
            self.words("learner")?,
        );
        let settings = self.words_if_any("settings")?;
        let objectives = self.words_if_any("objective")?;
        let (seeds, decisions) = (
            self.whole::<UInt64Type>("seed")?,
            self.whole::<UInt64Type>("decisions")?,
        );
        let (losses, seconds) = (
            self.whole::<Float64Type>("loss")?,
            self.whole::<Float64Type>("seconds")?,
        );
        let regrets = self.numbers("regret")?;
        let untils = self.lists::<UInt64Type>("curve_until")?;
        let curve_losses = self.lists::<Float64Type>("curve_loss")?;
        let curve_point_masses = self.lists::<Float64Type>("curve_point_masses")?;
        let point_masses = self.numbers("point_masses")?;
        let spreads: Vec<Vec<Option<Spread>>> = SPREADS
            .iter()
            .map(|(name, _)| self.spreads(name))
            .collect::<Result<_, _>>()?;
        for row in 0..self.batch.num_rows() {
            let (untils, losses_of, point_masses_of) =
                (&untils[row], &curve_losses[row], &curve_point_masses[row]);
            if untils.len() != losses_of.len() || untils.len() != point_masses_of.len() {
                return Err(damaged(self.path, "the lists of a curve differ in length"));
            }
            let curve = untils.iter().zip(losses_of).zip(point_masses_of);
            let spread = |place: usize| spreads[place][row];
            let log = match (point_masses[row], spread(0), spread(1)) {
                (Some(point_masses), Some(draws), Some(proposals)) => Some(LogSummary {
                    point_masses,
                    draws,
                    proposals,
                    kappa: spread(2),
                    density: spread(3),
                    weight: spread(4),
                    distance: spread(5),
                }),
                _ => None,
            };
            let objective = match objectives[row] {
                "" => Objective::LOSS,
                text => (text.parse()).map_err(|error| damaged(self.path, error))?,
            };
            records.push(RunRecord {
                environment: environments.value(row).to_owned(),
                fingerprint: fingerprints.value(row).to_owned(),
                learner: learners.value(row).to_owned(),
                settings: settings[row].to_owned(),
                seed: seeds[row],
                decisions: decisions[row],
                objective,
                loss: losses[row],
                regret: regrets[row],
                curve: curve
                    .map(|((&until, &loss), &point_masses)| Stretch {
                        until,
                        loss,
                        point_masses,
                    })
                    .collect(),
                log,
                seconds: seconds[row],
            });
        }
        Ok(())
    }

    fn column(&self, name: &str) -> Result<&ArrayRef, ResultsError> {
        let old = OLD_NAMES.iter().find(|(new, _)| *new == name);
        self.batch
            .column_by_name(name)
            .or_else(|| self.batch.column_by_name(old?.1))
            .ok_or_else(|| damaged(self.path, format!("column {name} is missing")))
    }

    fn wrong_type(&self, name: &str) -> ResultsError {
        damaged(self.path, format!("column {name} has the wrong type"))
    }

    fn words(&self, name: &str) -> Result<&StringArray, ResultsError> {
        let column = self.column(name)?;
        let words = column.as_string_opt::<i32>();
        let words = words.ok_or_else(|| self.wrong_type(name))?;
        if words.null_count() != 0 {
            return Err(damaged(self.path, format!("column {name} has a null")));
        }
        Ok(words)
    }

    /// A column that old files lack; missing values are empty.
    fn words_if_any(&self, name: &str) -> Result<Vec<&str>, ResultsError> {
        let Some(column) = self.batch.column_by_name(name) else {
            return Ok(vec![""; self.batch.num_rows()]);
        };
        let words = column.as_string_opt::<i32>();
        let words = words.ok_or_else(|| self.wrong_type(name))?;
        Ok(words.iter().map(Option::unwrap_or_default).collect())
    }

    /// A column in which every row has a value.
    fn whole<T: ArrowPrimitiveType>(&self, name: &str) -> Result<Vec<T::Native>, ResultsError> {
        let column = self.column(name)?;
        let column = column.as_primitive_opt::<T>();
        let column = column.ok_or_else(|| self.wrong_type(name))?;
        column
            .iter()
            .collect::<Option<_>>()
            .ok_or_else(|| damaged(self.path, format!("column {name} has a null")))
    }

    fn numbers(&self, name: &str) -> Result<Vec<Option<f64>>, ResultsError> {
        let column = self.column(name)?;
        let column = column.as_primitive_opt::<Float64Type>();
        Ok(column
            .ok_or_else(|| self.wrong_type(name))?
            .iter()
            .collect())
    }

    fn lists<T: ArrowPrimitiveType>(
        &self,
        name: &str,
    ) -> Result<Vec<Vec<T::Native>>, ResultsError> {
        let column = self.column(name)?;
        let lists = column.as_list_opt::<i32>();
        let lists = lists.ok_or_else(|| self.wrong_type(name))?;
        let list = |values: Option<ArrayRef>| -> Option<Vec<T::Native>> {
            values?.as_primitive_opt::<T>()?.iter().collect()
        };
        lists
            .iter()
            .map(|values| list(values).ok_or_else(|| self.wrong_type(name)))
            .collect()
    }

    fn spreads(&self, name: &str) -> Result<Vec<Option<Spread>>, ResultsError> {
        let columns: Vec<Vec<Option<f64>>> = SPREAD_ENDINGS
            .iter()
            .map(|ending| self.numbers(&format!("{name}_{ending}")))
            .collect::<Result<_, _>>()?;
        let spread = |row: usize| {
            let [mean, quantiles @ ..] = columns.as_slice() else {
                return None;
            };
            let quantiles: Option<Vec<f64>> = quantiles.iter().map(|column| column[row]).collect();
            Some(Spread {
                mean: mean[row]?,
                quantiles: quantiles?.try_into().ok()?,
            })
        };
        Ok((0..self.batch.num_rows()).map(spread).collect())
    }
}

/// Why results cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// The file cannot be opened.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file holds no results.
    #[error("{} is {found}, expected results.parquet of egret lab", path.display())]
    NotResults {
        /// The file.
        path: PathBuf,
        /// What it is.
        found: String,
    },
    /// The results have another format.
    #[error(
        "{} has results in format {format}, written by egret {version}; this egret reads format {FORMAT}",
        path.display()
    )]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// The format.
        format: String,
        /// The version of egret that wrote the file.
        version: String,
    },
    /// The file is damaged.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The results cannot be encoded.
    #[error("cannot write {}: {error}", path.display())]
    NotWritten {
        /// The file.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Place(#[from] egret_report::output::WriteError),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(from: f64) -> Spread {
        Spread {
            mean: from,
            quantiles: [from, from + 0.1, from + 0.2, from + 0.3, from + 0.4],
        }
    }

    fn records() -> Vec<RunRecord> {
        let bare = RunRecord {
            environment: "väder, \"2\"".to_owned(),
            fingerprint: "väder 00000000 absolute".to_owned(),
            learner: "κ∞ = 4".to_owned(),
            settings: "0a1b2c3d".to_owned(),
            seed: u64::MAX,
            decisions: 0,
            objective: Objective::LOSS,
            loss: 0.1 + 0.2,
            regret: None,
            curve: Vec::new(),
            log: None,
            seconds: 1e-9,
        };
        let stretch = |until, loss| Stretch {
            until,
            loss,
            point_masses: loss / 3.0,
        };
        let full = RunRecord {
            decisions: 16,
            objective: Objective::maximize(0.0, 50.0).expect("a range"),
            regret: Some(0.01),
            curve: vec![stretch(8, 0.5), stretch(16, 1.0 / 3.0)],
            log: Some(LogSummary {
                point_masses: 0.25,
                draws: spread(100.0),
                proposals: spread(7.0),
                kappa: Some(spread(1.0)),
                density: Some(spread(0.5)),
                weight: None,
                distance: Some(spread(0.0)),
            }),
            ..bare.clone()
        };
        vec![bare.clone(), full, bare]
    }

    #[test]
    fn results_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.parquet");
        for records in [records(), Vec::new()] {
            write_results(&path, &records).expect("written");
            assert_eq!(read_results(&path).expect("read"), records);
        }
    }

    #[test]
    fn a_file_without_settings_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.parquet");
        let batch = batch_of(&records());
        let kept: Vec<usize> = (0..batch.num_columns())
            .filter(|&column| batch.schema().field(column).name() != "settings")
            .collect();
        assert_eq!(kept.len() + 1, batch.num_columns());
        let batch = batch.project(&kept).expect("those columns");
        let format = KeyValue::new(FORMAT_KEY.to_owned(), FORMAT.to_owned());
        write_batch(&path, &batch, vec![format]).expect("written");
        let unknown = |record: RunRecord| RunRecord {
            settings: String::new(),
            ..record
        };
        let expected: Vec<_> = records().into_iter().map(unknown).collect();
        assert_eq!(read_results(&path).expect("read"), expected);
    }

    #[test]
    fn a_file_with_old_column_names_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.parquet");
        let batch = batch_of(&records());
        let columns = batch
            .schema()
            .fields()
            .iter()
            .zip(batch.columns())
            .map(|(field, column)| {
                let old = OLD_NAMES.iter().find(|(new, _)| new == field.name());
                let name = old.map_or(field.name().as_str(), |(_, old)| old).to_owned();
                (name, column.clone(), field.is_nullable())
            })
            .collect::<Vec<_>>();
        let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("one length");
        assert!(batch.column_by_name("curve_atoms").is_some());
        let format = KeyValue::new(FORMAT_KEY.to_owned(), FORMAT.to_owned());
        write_batch(&path, &batch, vec![format]).expect("written");
        assert_eq!(read_results(&path).expect("read"), records());
    }

    #[test]
    fn other_files_are_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("other.parquet");
        let refused = |expected: &str| {
            let error = read_results(&path).expect_err("no results").to_string();
            assert!(error.contains("other.parquet"), "{error}");
            assert!(error.contains(expected), "{error}");
        };
        refused("cannot read");
        std::fs::write(&path, "seed,loss\n1,0.5\n").expect("written");
        refused("not a Parquet file");

        let batch = batch_of(&records());
        let write = |metadata: Option<(&str, &str)>, batch: &RecordBatch| {
            let entries =
                metadata.map(|(key, value)| vec![KeyValue::new(key.to_owned(), value.to_owned())]);
            let properties = WriterProperties::builder()
                .set_key_value_metadata(entries)
                .build();
            let file = File::create(&path).expect("made");
            let mut writer =
                ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("opens");
            writer.write(batch).expect("written");
            writer.close().expect("closed");
        };
        write(None, &batch);
        refused("a Parquet file without results");
        write(Some((FORMAT_KEY, "2")), &batch);
        refused("format 2");
        write(
            Some((FORMAT_KEY, FORMAT)),
            &batch.project(&[0, 1]).expect("two columns"),
        );
        refused("column learner is missing");

        write_results(&path, &records()).expect("written");
        let whole = std::fs::read(&path).expect("there");
        std::fs::write(&path, &whole[..whole.len() / 2]).expect("written");
        refused("not a Parquet file");
    }
}
