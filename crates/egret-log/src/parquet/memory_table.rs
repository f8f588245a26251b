use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use egret::{Objective, Space};

use crate::parquet::source::{OBJECTIVE, SPACE};
use crate::record::outcome::objective_text;

/// A table in memory, in Arrow's layout: it is read as a file of Arrow is, as often as needed, and nothing is copied.
///
/// Its schema says in its metadata what a file says there: the action space and the objective of all rows.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryTable {
    schema: SchemaRef,
    batches: Arc<[RecordBatch]>,
}

/// What errors call it in place of a file.
const NAME: &str = "the table";

impl MemoryTable {
    /// The table of these batches, all of them of one schema.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self {
            schema,
            batches: batches.into(),
        }
    }

    /// The same rows, with this action space and this objective for all of them.
    pub fn stating(self, space: Option<&Space>, objective: Option<&Objective>) -> Self {
        let mut told: HashMap<String, String> = self.schema.metadata().clone();
        if let Some(space) = space {
            let text = serde_json::to_string(space).expect("a space is numbers and words");
            told.insert(SPACE.to_owned(), text);
        }
        if let Some(objective) = objective {
            told.insert(OBJECTIVE.to_owned(), objective_text(objective));
        }
        let schema = self.schema.as_ref().clone().with_metadata(told);
        Self {
            schema: schema.into(),
            batches: self.batches,
        }
    }

    /// How many rows.
    pub fn rows(&self) -> u64 {
        self.batches
            .iter()
            .map(|batch| batch.num_rows() as u64)
            .sum()
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Its rows in order, in batches of at most so many.
    pub(crate) fn slices(&self, most: usize) -> impl Iterator<Item = RecordBatch> + Send + use<> {
        let batches = self.batches.clone();
        (0..batches.len()).flat_map(move |place| {
            let batch = batches[place].clone();
            let starts = (0..batch.num_rows()).step_by(most);
            starts.map(move |start| batch.slice(start, most.min(batch.num_rows() - start)))
        })
    }

    /// What errors call it in place of a file.
    pub(crate) fn name() -> Arc<Path> {
        Path::new(NAME).into()
    }
}
