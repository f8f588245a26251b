use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};

use crate::paper::{OfflineRecord, TrainingRecord};
use crate::run::{ResultsError, write_batch};

/// Writes the models trained on logs as one Parquet file, with a row for each log and training method.
pub fn write_offline(path: &Path, records: &[OfflineRecord]) -> Result<(), ResultsError> {
    let rows: Vec<(&OfflineRecord, &TrainingRecord)> = records
        .iter()
        .flat_map(|record| record.trainings.iter().map(move |one| (record, one)))
        .collect();
    let words = |of: fn(&(&OfflineRecord, &TrainingRecord)) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    let numbers = |of: fn(&TrainingRecord) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(
            rows.iter().map(|row| of(row.1)),
        ))
    };
    let seeds = UInt64Array::from_iter_values(rows.iter().map(|row| row.0.seed));
    let epochs = UInt32Array::from_iter_values(rows.iter().map(|row| row.1.epochs));
    let batch = RecordBatch::try_from_iter([
        ("environment", words(|row| row.0.environment.clone())),
        ("learner", words(|row| row.0.learner.clone())),
        ("seed", Arc::new(seeds) as ArrayRef),
        ("method", words(|row| row.1.method.name().to_owned())),
        ("validation_loss", numbers(|training| training.validation)),
        ("test_loss", numbers(|training| training.test)),
        ("epochs", Arc::new(epochs)),
        ("seconds", numbers(|training| training.seconds)),
    ])
    .expect("columns of one length");
    write_batch(path, &batch, Vec::new())
}
