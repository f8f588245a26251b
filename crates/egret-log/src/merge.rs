use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};

use egret::Objective;

use crate::reader::{OnBad, ReadError, Reader, expand};
use crate::record::{Record, RowError, named_context};

/// Reads many files as one log, in order of `seq`, then of `loop`. Each file must be in that order itself.
///
/// Where files overlap, a record that is in both comes out once. Two different records with one `seq` and `loop` are an
/// error: one of them is wrong, or they belong to two logs. So are records of two objectives.
///
/// Every file is open at once, with a few thousand rows in memory.
pub struct Merge {
    sources: Vec<Source>,
    heads: BinaryHeap<Reverse<(Key, usize)>>,
    last: Option<(Record, PathBuf, u64)>,
    /// The objective that was met first, and where.
    objective: Option<(Objective, PathBuf)>,
    duplicates: u64,
    started: bool,
    ended: bool,
}

type Key = (u64, Option<String>);

struct Source {
    file: PathBuf,
    reader: Reader,
    head: Option<Record>,
}

impl Merge {
    /// Finds the files.
    pub fn open<P: AsRef<Path>>(inputs: &[P]) -> Result<Self, ReadError> {
        let sources = expand(inputs)?.into_iter().map(|file| {
            Ok(Source {
                reader: Reader::open(&[&file], OnBad::Stop)?,
                file,
                head: None,
            })
        });
        Ok(Self {
            sources: sources.collect::<Result<_, ReadError>>()?,
            heads: BinaryHeap::new(),
            last: None,
            objective: None,
            duplicates: 0,
            started: false,
            ended: false,
        })
    }

    /// How many records came twice.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The share of the files that were read, for a progress bar.
    pub fn progress(&self) -> f64 {
        let shares = self.sources.iter().map(|source| source.reader.progress());
        shares.sum::<f64>() / self.sources.len().max(1) as f64
    }

    fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        if !self.started {
            self.started = true;
            for place in 0..self.sources.len() {
                self.advance(place, None)?;
            }
        }
        while let Some(Reverse((key, place))) = self.heads.pop() {
            let source = &mut self.sources[place];
            let record = source.head.take().expect("a key stands for a record");
            let (file, row) = (source.file.clone(), source.reader.row());
            self.advance(place, Some(&key))?;
            if let Some((last, other, other_row)) = &self.last
                && (last.seq, &last.loop_name) == (record.seq, &record.loop_name)
            {
                if same(last, &record) {
                    self.duplicates += 1;
                    continue;
                }
                let error = RowError::Unreadable(format!(
                    "seq {} is also that of another record, in {}, row {other_row} (event {}, here {}): \
                     leave one of the files out",
                    key.0,
                    other.display(),
                    named(last),
                    named(&record),
                ));
                return Err(ReadError::Row { file, row, error });
            }
            self.last = Some((record.clone(), file, row));
            return Ok(Some(record));
        }
        Ok(None)
    }

    /// Reads the next record of a file.
    fn advance(&mut self, place: usize, before: Option<&Key>) -> Result<(), ReadError> {
        let source = &mut self.sources[place];
        let Some(record) = source.reader.next().transpose()? else {
            return Ok(());
        };
        let refused = |error: RowError| ReadError::Row {
            file: source.file.clone(),
            row: source.reader.row(),
            error,
        };
        let seq = record.seq.ok_or(RowError::Missing { field: "seq" });
        let key = (seq.map_err(refused)?, record.loop_name.clone());
        if let Some(objective) = record.objective {
            let known = self
                .objective
                .get_or_insert((objective, source.file.clone()));
            if known.0 != objective {
                return Err(refused(RowError::Field {
                    field: "objective",
                    problem: format!(
                        "{objective} here and {} in {}: losses of two objectives do not make one log",
                        known.0,
                        known.1.display()
                    ),
                }));
            }
        }
        if let Some(before) = before
            && key < *before
        {
            return Err(refused(RowError::Unreadable(format!(
                "seq {} comes after {}: a file that is merged has to be in order of seq",
                key.0, before.0
            ))));
        }
        source.head = Some(record);
        self.heads.push(Reverse((key, place)));
        Ok(())
    }
}

/// Whether two records say the same, in whatever format they were.
fn same(one: &Record, other: &Record) -> bool {
    if one == other {
        return true;
    }
    let mut alike = one.clone();
    alike.context.clone_from(&other.context);
    named_context::same(&one.context, &other.context) && alike == *other
}

fn named(record: &Record) -> String {
    match (&record.event_id, record.event) {
        (Some(id), _) => format!("{id:?}"),
        (None, Some(event)) => event.to_string(),
        (None, None) => "without a name".to_owned(),
    }
}

impl Iterator for Merge {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_record().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}
