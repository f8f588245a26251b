use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};

use super::offline_study::{LessonRecord, OfflineRecord};
use crate::ResultsError;
use crate::results_file::write_batch;

/// Writes what was learned from exhausts as one Parquet file: a row for each exhaust and way of teaching.
pub fn write_offline(path: &Path, records: &[OfflineRecord]) -> Result<(), ResultsError> {
    let rows: Vec<(&OfflineRecord, &LessonRecord)> = records
        .iter()
        .flat_map(|record| record.lessons.iter().map(move |lesson| (record, lesson)))
        .collect();
    let words = |of: fn(&(&OfflineRecord, &LessonRecord)) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    let numbers = |of: fn(&LessonRecord) -> f64| -> ArrayRef {
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
        ("taught", words(|row| row.1.taught.name().to_owned())),
        ("validation_loss", numbers(|lesson| lesson.validation)),
        ("test_loss", numbers(|lesson| lesson.test)),
        ("epochs", Arc::new(epochs)),
        ("seconds", numbers(|lesson| lesson.seconds)),
    ])
    .expect("columns of one length");
    write_batch(path, &batch, Vec::new())
}
