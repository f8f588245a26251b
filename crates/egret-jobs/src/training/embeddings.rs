use std::path::Path;

use egret::EmbeddingRows;

use crate::error::{JobError, Place};

/// Reads a file with one line of numbers for each item.
pub(crate) fn read_embeddings(file: &Path) -> Result<EmbeddingRows, JobError> {
    let text = std::fs::read_to_string(file).map_err(|source| JobError::File {
        file: file.to_owned(),
        source,
    })?;
    let (mut dim, mut values) = (0, Vec::new());
    for (row, line) in text.lines().enumerate() {
        let place = Place {
            file: file.into(),
            row: row as u64 + 1,
            field: None,
        };
        let before = values.len();
        for number in line.split(',') {
            let value = number.trim().parse::<f64>();
            values
                .push(value.map_err(|_| {
                    JobError::record(&place, format!("{number:?} is not a number"))
                })?);
        }
        let found = values.len() - before;
        if row == 0 {
            dim = found;
        }
        if found != dim {
            let problem = format!("{found} numbers, expected {dim} as in row 1");
            return Err(JobError::record(&place, problem));
        }
    }
    EmbeddingRows::new(dim, values).map_err(|error| JobError::request("embeddings", error))
}
