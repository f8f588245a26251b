use egret::{
    ActionKind, AnyAction, Context, Contexts, Density, EmbeddingRows, EventRng, FeatureSchema,
    ModelSpec, Space, Stream, for_kind,
};
use egret_log::{ReadError, Reader, Record};
use egret_offline::{LoggingDensity, Played};

use crate::error::{JobError, Place};
use crate::progress::{Progress, tell_rows};

/// What is said wherever densities were estimated.
pub(crate) const ASSUMPTION: &str = "The densities of the log were estimated from it (--estimate-density), which is an assumption: that the features hold all that \
     the actions went by. No interval shows how wrong that is, so nothing here is called reliable.";

/// Densities of actions, estimated from the log that they are of.
pub(crate) struct EstimatedDensity(Box<Estimate>);

type Estimate = dyn Fn(u64, &Context, &AnyAction) -> Result<f64, String> + Send + Sync;

/// Events that are learned from; of a longer log, as many at random.
const MOST_EVENTS: usize = 20_000;

/// Items that can be told apart by their numbers alone.
const MOST_ITEMS: usize = 64;

impl EstimatedDensity {
    /// Reads the whole log, past bad rows if they are to be skipped: they are put aside when it is read for good.
    pub(crate) fn of(
        reader: Reader,
        skip_bad: bool,
        progress: &dyn Progress,
    ) -> Result<Self, JobError> {
        let mut rows = Rows {
            reader,
            skip_bad,
            rows: 0,
        };
        let Some((place, first)) = rows.next(progress)? else {
            return Err(JobError::Log("the log holds no record".to_owned()));
        };
        let Some(space) = first.mu.clone() else {
            return Err(JobError::request(
                "space",
                "the log does not say what its action space is: give it, as in interval:0,1",
            ));
        };
        for_kind!(space.kind(), A => Self::fit::<A>(&space, (place, first), rows, progress))
    }

    fn fit<A: ActionKind>(
        space: &Space,
        first: (Place, Record),
        mut rows: Rows,
        progress: &dyn Progress,
    ) -> Result<Self, JobError> {
        let context_dim = first.1.context.dim();
        let mut played: Vec<Played<A>> = Vec::new();
        let mut next = Some(first);
        let mut row = 0;
        while let Some((place, record)) = next {
            if record.limits.is_some() {
                let problem = "--estimate-density knows no limits: leave these events out";
                return Err(JobError::field(&place, "limits", problem));
            }
            let action = A::from_any(&record.action);
            let one = Played {
                row,
                x: record.context,
                action: action.map_err(|error| JobError::field(&place, "action", error))?,
            };
            if played.len() < MOST_EVENTS {
                played.push(one);
            } else {
                // Each event of a long log is kept with the same probability.
                let unit = EventRng::new(0, row, Stream::Smoothness).unit();
                let seat = (unit * (row + 1) as f64) as usize;
                if let Some(seat) = played.get_mut(seat) {
                    *seat = one;
                }
            }
            row += 1;
            next = rows.next(progress)?;
        }
        let named = || played.iter().filter_map(|one| one.x.as_named());
        let contexts = match named().next() {
            None => context_dim.into(),
            Some(_) => {
                let schema = FeatureSchema::infer(named());
                Contexts::from(schema.map_err(|error| JobError::Log(error.to_string()))?)
            }
        };
        let spec = ModelSpec::from_parts(space.clone(), told_apart(space)?, contexts);
        let density = LoggingDensity::fit(&spec, &played, 0).map_err(refused)?;
        Ok(Self(Box::new(move |row, x, action| {
            let action = A::from_any(action).map_err(|error| error.to_string())?;
            let density = density.density(row, x, &action);
            density.map_err(|error| error.to_string())
        })))
    }

    /// Gives the record of a row its density.
    pub(crate) fn set(&self, row: u64, place: &Place, record: &mut Record) -> Result<(), JobError> {
        let estimated = (self.0)(row, &record.context, &record.action);
        let estimated =
            estimated.and_then(|density| Density::new(density).map_err(|error| error.to_string()));
        let density = estimated.map_err(|problem| JobError::record(place, problem))?;
        *record = record.clone().with_density(density);
        Ok(())
    }
}

/// The records of a log, past bad rows where those are skipped.
struct Rows {
    reader: Reader,
    skip_bad: bool,
    rows: u64,
}

impl Rows {
    fn next(&mut self, progress: &dyn Progress) -> Result<Option<(Place, Record)>, JobError> {
        loop {
            let record = match self.reader.next_row() {
                None => return Ok(None),
                Some(Err(ReadError::Row { .. } | ReadError::File { .. })) if self.skip_bad => {
                    continue;
                }
                Some(record) => record?,
            };
            self.rows += 1;
            tell_rows(progress, self.rows, || self.reader.progress())?;
            let place = Place {
                file: self.reader.file(),
                row: self.reader.row(),
                field: None,
            };
            return Ok(Some((place, record)));
        }
    }
}

/// What items are told apart by: their numbers. None for other spaces.
fn told_apart(space: &Space) -> Result<Option<EmbeddingRows>, JobError> {
    let &Space::Items { count, .. } = space else {
        return Ok(None);
    };
    if MOST_ITEMS < count {
        return Err(refused(format!(
            "there are {count} items, and their probabilities can be estimated for up to {MOST_ITEMS}"
        )));
    }
    let one_hot =
        (0..count * count).map(|place| f64::from(u8::from(place / count == place % count)));
    let rows = EmbeddingRows::new(count, one_hot.collect());
    rows.map(Some).map_err(refused)
}

fn refused(problem: impl std::fmt::Display) -> JobError {
    JobError::request("estimate_density", problem)
}
