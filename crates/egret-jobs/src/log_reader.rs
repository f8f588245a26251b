use std::sync::Arc;

use egret::{Context, Kind, Objective, Space};
use egret_log::{Reader, Record, Skipped};

use crate::error::{JobError, Place};
use crate::estimated_density::EstimatedDensity;
use crate::progress::{Progress, Step, tell, tell_rows};

/// The records of a log. The first is read at once, for its space and its kind of action.
pub(crate) struct LogReader {
    reader: Reader,
    first: Option<Record>,
    first_place: Place,
    /// The kind of action of the first record.
    pub kind: Kind,
    /// The space of the first record, if it says it.
    pub space: Option<Arc<Space>>,
    /// The objective of the first record: losses if it says none.
    pub objective: Objective,
    /// What densities of the first file were multiplied by: 1 unless they are per unit.
    pub unit: f64,
    rows: u64,
    estimated: Option<EstimatedDensity>,
}

impl LogReader {
    /// Reads the first record; an error where there is none. Records have these densities, if they are given.
    pub(crate) fn new(
        mut reader: Reader,
        estimated: Option<EstimatedDensity>,
    ) -> Result<Self, JobError> {
        let first = reader.next().transpose()?;
        let first = first.ok_or_else(|| JobError::Log("the log holds no record".to_owned()))?;
        Ok(Self {
            kind: first.action.kind(),
            space: first.mu.clone(),
            objective: first.objective.unwrap_or_default(),
            unit: reader.density_unit(),
            first_place: place_of(&reader),
            first: Some(first),
            reader,
            rows: 0,
            estimated,
        })
    }

    /// The context of the first record, before it is taken.
    pub(crate) fn first_context(&self) -> Option<&Context> {
        self.first.as_ref().map(|record| &record.context)
    }

    /// The next record and where it is; tells of progress now and then.
    pub(crate) fn next(
        &mut self,
        progress: &dyn Progress,
    ) -> Result<Option<(Place, Record)>, JobError> {
        let next = match self.first.take() {
            Some(record) => Some((self.first_place.clone(), record)),
            None => {
                let record = self.reader.next().transpose()?;
                record.map(|record| (place_of(&self.reader), record))
            }
        };
        let Some((place, mut record)) = next else {
            // Short logs are told of too, and can be cancelled.
            tell(progress, Step::Read(1.0))?;
            return Ok(None);
        };
        if let Some(estimated) = &self.estimated {
            estimated.set(self.rows, &place, &mut record)?;
        }
        self.rows += 1;
        tell_rows(progress, self.rows, || self.reader.progress())?;
        Ok(Some((place, record)))
    }

    /// How many features the first record has; before it is taken.
    pub(crate) fn context_dim(&self) -> usize {
        self.first.as_ref().map_or(0, |first| first.context.dim())
    }

    /// Records read so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn finish(self) -> Result<Skipped, JobError> {
        Ok(self.reader.finish()?)
    }
}

fn place_of(reader: &Reader) -> Place {
    Place {
        file: reader.file(),
        row: reader.row(),
        field: None,
    }
}

/// What no 1/p of an event exceeds, or ∞. Only where z was computed is that known before its action: an estimate of z is in
/// both the weight and the bound.
pub(crate) fn largest_inverse(bound: Option<f64>, z_draws: Option<f64>) -> f64 {
    bound
        .filter(|_| z_draws == Some(0.0))
        .unwrap_or(f64::INFINITY)
}
