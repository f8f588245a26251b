//! What a model would do: contexts in, actions with densities out.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use egret::{AnyAction, Context};
use serde::{Deserialize, Serialize};

use crate::error::{JobError, Place};
use crate::progress::{Progress, Step, tell};
use crate::saved_model::load_model;

/// Which model decides, and for which contexts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecideRequest {
    /// A saved model.
    pub model: PathBuf,
    /// The contexts.
    pub contexts: ContextSource,
    /// The number of the first event; the others follow. Never use a number twice: its random numbers would repeat.
    #[serde(default)]
    pub first_event: u64,
}

/// Where contexts come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextSource {
    /// In the request itself.
    Given(Vec<Context>),
    /// A table: `.csv` with a line of names and then lines of numbers, or JSON lines, each a list of numbers.
    Table(PathBuf),
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DecideReport {
    /// In the order of the contexts.
    pub decisions: Vec<Decided>,
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decided {
    /// Its number.
    pub event: u64,
    /// What to do.
    pub action: AnyAction,
    /// dP/dμ at the action; none for a point mass.
    pub density: Option<f64>,
}

/// Contexts that are decided side by side.
const BATCH: usize = 4_096;

/// Decides for each context. The model does not learn.
pub fn decide(request: &DecideRequest, progress: &dyn Progress) -> Result<DecideReport, JobError> {
    let model = load_model(&request.model)?;
    let (contexts, places) = match &request.contexts {
        ContextSource::Given(contexts) => (contexts.clone(), None),
        ContextSource::Table(file) => {
            let (contexts, places) = read_table(file)?;
            (contexts, Some(places))
        }
    };
    let all = contexts.len().max(1) as f64;
    let mut decisions = Vec::with_capacity(contexts.len());
    for (part, contexts) in contexts.chunks(BATCH).enumerate() {
        let first = request.first_event + (part * BATCH) as u64;
        let events: Vec<(u64, &Context)> = (first..).zip(contexts).collect();
        for (row, decided) in model.decide_batch(&events).into_iter().enumerate() {
            let decision = decided.map_err(|error| match &places {
                Some(places) => JobError::record(&places[part * BATCH + row], error),
                None => error.into(),
            })?;
            decisions.push(Decided {
                event: decision.event,
                density: decision.propensity.density().map(egret::Density::get),
                action: decision.action,
            });
        }
        tell(progress, Step::Read(decisions.len() as f64 / all))?;
    }
    Ok(DecideReport { decisions })
}

fn read_table(file: &Path) -> Result<(Vec<Context>, Vec<Place>), JobError> {
    let failed = |source| JobError::File {
        file: file.to_owned(),
        source,
    };
    let csv = file.extension().is_some_and(|ending| ending == "csv");
    let (mut contexts, mut places) = (Vec::new(), Vec::new());
    let lines = BufReader::new(File::open(file).map_err(failed)?).lines();
    for (row, line) in lines.enumerate() {
        let line = line.map_err(failed)?;
        if line.trim().is_empty() || (csv && row == 0) {
            continue;
        }
        let place = Place {
            file: file.into(),
            row: row as u64 + 1,
            field: None,
        };
        let numbers = if csv {
            numbers_of(&line)
        } else {
            serde_json::from_str(&line).map_err(|error| error.to_string())
        };
        let numbers = numbers.map_err(|problem| JobError::record(&place, problem))?;
        let context = Context::dense(numbers);
        contexts.push(context.map_err(|error| JobError::record(&place, error))?);
        places.push(place);
    }
    Ok((contexts, places))
}

fn numbers_of(line: &str) -> Result<Vec<f64>, String> {
    line.split(',')
        .map(|cell| {
            let number = cell.trim().parse();
            number.map_err(|_| format!("{cell:?} is not a number"))
        })
        .collect()
}
