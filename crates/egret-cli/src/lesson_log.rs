use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use egret::{Blueprint, Context, Item, OracleSpec, Propensity, Space, Table, Vector};
use egret_log::{FromLogged, LoggedAction, OnBad, Reader, Record};
use egret_offline::LoggedExample;
use serde::Serialize;

use crate::progress::reading;

/// The log that is learned from.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Logs: files of Parquet, JSON lines or dsjson, and folders of them
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    /// The action space, where the log does not say it: interval:0,1 box:0,1,0,5 sphere:3 simplex:1,1,1 items:100
    #[arg(long, value_name = "SPACE", value_parser = parse_space)]
    pub space: Option<Space>,
    /// What an oracle sees of each item: one line of numbers with commas for each
    #[arg(long, value_name = "FILE")]
    pub embeddings: Option<PathBuf>,
    /// Go on past rows that are no records; keep them in this file
    #[arg(long, value_name = "FILE")]
    pub skip_bad: Option<PathBuf>,
}

impl LogArgs {
    /// The files and folders that are read.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        let logs = self.logs.iter().map(PathBuf::as_path);
        logs.chain(self.embeddings.as_deref())
    }
}

/// All events of a log that have a loss, in memory.
pub struct LessonLog {
    /// The space and how long contexts are; its oracle stands for none.
    pub blueprint: Blueprint,
    /// The events.
    pub rows: Rows,
    /// What there was.
    pub counts: Counts,
}

/// Events over one kind of action.
pub enum Rows {
    /// Numbers.
    Number(Vec<LoggedExample<Context, f64>>),
    /// Vectors.
    Vector(Vec<LoggedExample<Context, Vector>>),
    /// Items.
    Item(Vec<LoggedExample<Context, Item>>),
}

/// How many events of each sort a log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// With a loss: those that are used.
    pub used: u64,
    /// Of these, how many have no density.
    pub atoms: u64,
    /// Without a loss, and so of no use here.
    pub without_loss: u64,
    /// Rows that are no records.
    pub skipped: u64,
}

/// Reads all of it.
pub fn read(args: &LogArgs, quiet: bool) -> Result<LessonLog> {
    let on_bad = match &args.skip_bad {
        None => OnBad::Stop,
        Some(file) => OnBad::Skip(file.clone()),
    };
    let mut reader = Reader::open(&args.logs, on_bad)?;
    if let Some(Space::Interval { low, high }) = args.space {
        reader = reader.with_interval(low, high);
    }
    let first = reader.next().transpose()?;
    let first = first.context("the log holds no record")?;
    let space = match (&args.space, &first.mu) {
        (Some(space), _) => space.clone(),
        (None, Some(space)) => Space::clone(space),
        (None, None) => bail!(
            "the log does not say what its action space is: give it, as in --space interval:0,1"
        ),
    };
    let embeddings = args.embeddings.as_deref().map(read_table).transpose()?;
    let blueprint = Blueprint {
        space,
        context_dim: first.context.dim(),
        embeddings,
        oracle: OracleSpec::paper(),
    };
    let action = first.action.clone();
    let source = Source {
        reader,
        first: Some(first),
        space: &blueprint.space,
        quiet,
    };
    let (rows, counts) = match action {
        LoggedAction::Number(_) => {
            let (rows, counts) = source.examples()?;
            (Rows::Number(rows), counts)
        }
        LoggedAction::Vector(_) => {
            let (rows, counts) = source.examples()?;
            (Rows::Vector(rows), counts)
        }
        LoggedAction::Item(_) => {
            let (rows, counts) = source.examples()?;
            (Rows::Item(rows), counts)
        }
    };
    ensure!(
        0 < counts.used,
        "none of the {} records has a loss: there is nothing to learn from",
        counts.without_loss
    );
    Ok(LessonLog {
        blueprint,
        rows,
        counts,
    })
}

struct Source<'a> {
    reader: Reader,
    first: Option<Record>,
    space: &'a Space,
    quiet: bool,
}

impl Source<'_> {
    fn examples<A: FromLogged>(mut self) -> Result<(Vec<LoggedExample<Context, A>>, Counts)> {
        let bar = reading("reading the log", self.quiet);
        let mut examples = Vec::new();
        let (mut atoms, mut without_loss, mut row) = (0, 0, 0_u64);
        let mut kept = None;
        while let Some(record) = self.next()? {
            row += 1;
            if row.is_multiple_of(4_096) {
                bar.set_position((1_000.0 * self.reader.progress()) as u64);
            }
            if let Some(mu) = &record.mu
                && **mu != *self.space
            {
                bail!(
                    "record {row} has another action space than the rest: learn from each space by itself"
                );
            }
            record
                .action
                .check(Some(self.space))
                .with_context(|| format!("record {row}"))?;
            let pass = record.pass_prob.unwrap_or(1.0);
            ensure!(
                *kept.get_or_insert(pass) == pass,
                "record {row} was kept with probability {pass} and others with {}: such logs can be valued and not \
                 learned from, as oracles do not weigh for it",
                kept.unwrap_or(pass)
            );
            let Some(loss) = record.loss else {
                without_loss += 1;
                continue;
            };
            let propensity = record.propensity();
            atoms += u64::from(propensity == Propensity::PointMass);
            examples.push(LoggedExample {
                action: A::from_logged(&record.action).with_context(|| format!("record {row}"))?,
                propensity,
                loss,
                x: record.context,
            });
        }
        bar.finish_and_clear();
        let skipped = self.reader.finish()?.rows;
        let counts = Counts {
            used: examples.len() as u64,
            atoms,
            without_loss,
            skipped,
        };
        Ok((examples, counts))
    }

    fn next(&mut self) -> Result<Option<Record>> {
        match self.first.take() {
            Some(record) => Ok(Some(record)),
            None => Ok(self.reader.next().transpose()?),
        }
    }
}

impl Counts {
    /// In words.
    pub fn words(&self) -> String {
        let mut words = format!("{} events with a loss", self.used);
        for (count, what) in [
            (self.atoms, "of them without a density"),
            (self.without_loss, "more without a loss, left out"),
            (self.skipped, "rows skipped as bad"),
        ] {
            if 0 < count {
                words += &format!(", {count} {what}");
            }
        }
        words
    }
}

fn read_table(path: &Path) -> Result<Table> {
    let name = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    let mut table = Table {
        dim: 0,
        rows: Vec::new(),
    };
    for (row, line) in text.lines().enumerate() {
        let place = || format!("{name}, line {}", row + 1);
        let before = table.rows.len();
        for number in line.split(',') {
            table.rows.push(number.trim().parse().with_context(place)?);
        }
        let found = table.rows.len() - before;
        if row == 0 {
            table.dim = found;
        }
        ensure!(
            found == table.dim,
            "{}: {found} numbers, expected {} as in line 1",
            place(),
            table.dim
        );
    }
    Ok(table)
}

fn parse_space(text: &str) -> Result<Space, String> {
    let unknown = || {
        format!(
            "no space {text:?}, expected interval:LOW,HIGH, box:LOW,HIGH,LOW,HIGH…, sphere:DIM, simplex:ALPHA,… or items:COUNT"
        )
    };
    let (kind, rest) = text.split_once(':').ok_or_else(unknown)?;
    let numbers = rest
        .split(',')
        .map(|number| number.trim().parse::<f64>().map_err(|_| unknown()))
        .collect::<Result<Vec<_>, _>>()?;
    let whole = |number: f64| {
        let count = number as usize;
        (count as f64 == number)
            .then_some(count)
            .ok_or_else(unknown)
    };
    let space = match (kind, &numbers[..]) {
        ("interval", &[low, high]) => Space::Interval { low, high },
        ("box", sides) if sides.len().is_multiple_of(2) => Space::Box {
            sides: sides
                .chunks_exact(2)
                .map(|side| (side[0], side[1]))
                .collect(),
        },
        ("sphere", &[dim]) => Space::Sphere { dim: whole(dim)? },
        ("simplex", alpha) => Space::Simplex {
            alpha: alpha.to_vec(),
        },
        ("items", &[count]) => Space::Items {
            count: whole(count)?,
            weights: None,
        },
        _ => return Err(unknown()),
    };
    space.measure().map_err(|error| error.to_string())?;
    Ok(space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_written_plainly() {
        let sides = vec![(0.0, 1.0), (-2.0, 5.0)];
        for (text, expected) in [
            (
                "interval:0,10",
                Space::Interval {
                    low: 0.0,
                    high: 10.0,
                },
            ),
            ("box:0,1,-2,5", Space::Box { sides }),
            ("sphere:3", Space::Sphere { dim: 3 }),
            (
                "items:7",
                Space::Items {
                    count: 7,
                    weights: None,
                },
            ),
        ] {
            assert_eq!(parse_space(text), Ok(expected));
        }
        for text in [
            "interval",
            "interval:1,0",
            "interval:a,b",
            "box:1",
            "items:1.5",
            "ball:3",
        ] {
            assert!(parse_space(text).is_err(), "{text}");
        }
    }
}
