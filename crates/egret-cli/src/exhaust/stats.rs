use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use comfy_table::{Table, presets};
use egret::Density;
use egret_log::{LoggedAction, LossSource, Record, Time};
use serde::Serialize;

use super::InputArgs;
use super::head::short;
use super::quantile_sketch::QuantileSketch;
use crate::progress::reading;

pub const EXAMPLES: &str = "\
Examples:
  egret exhaust stats egret-demo/exhaust.parquet
  egret exhaust stats --json egret-demo/ exhaust.jsonl --skip-bad bad.jsonl";

/// What `egret exhaust stats` is told.
#[derive(Debug, Args)]
pub struct StatsArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Print one JSON object, and nothing else
    #[arg(long)]
    json: bool,
}

/// The figures, as `--json` prints them.
#[derive(Debug, Default, Serialize)]
struct Findings {
    rows: u64,
    skipped: u64,
    skipped_file: Option<PathBuf>,
    first_time: Option<String>,
    last_time: Option<String>,
    actions: BTreeMap<&'static str, u64>,
    context_dims: BTreeMap<usize, u64>,
    atoms: u64,
    density: Option<Spread>,
    kappa_mean: Option<f64>,
    loss_mean: Option<f64>,
    losses_missing: u64,
    losses_default: u64,
    losses_late: u64,
    seq: Option<Sequence>,
    loops: BTreeMap<String, u64>,
    modes: BTreeMap<String, u64>,
    epochs: BTreeMap<String, u64>,
    extras: BTreeMap<String, u64>,
}

/// How densities are spread; right to 0.1 %, the ends exact.
#[derive(Debug, Serialize)]
struct Spread {
    min: f64,
    p01: f64,
    p25: f64,
    median: f64,
    p75: f64,
    p99: f64,
    max: f64,
}

/// What sequence numbers tell; of each loop by itself, then added up.
#[derive(Debug, Default, Serialize)]
struct Sequence {
    first: u64,
    last: u64,
    /// Numbers between the first and the last that no record has.
    missing: u64,
    /// Records whose number is not above that of the one before: out of order, or twice.
    out_of_order: u64,
    without: u64,
}

/// The figures while records come.
#[derive(Default)]
struct Tally {
    found: Findings,
    times: Option<(Time, Time)>,
    densities: QuantileSketch,
    losses: Mean,
    kappas: Mean,
    loops: BTreeMap<Option<String>, LoopTally>,
    without_seq: u64,
}

#[derive(Default)]
struct LoopTally {
    first: u64,
    last: u64,
    previous: Option<u64>,
    count: u64,
    out_of_order: u64,
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn get(&self) -> Option<f64> {
        (0 < self.count).then(|| self.sum / self.count as f64)
    }
}

impl Tally {
    fn add(&mut self, record: &Record) {
        let found = &mut self.found;
        found.rows += 1;
        if let Some(time) = record.time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        let action = match record.action {
            LoggedAction::Number(_) => "number",
            LoggedAction::Vector(_) => "vector",
            LoggedAction::Item(_) => "item",
        };
        *found.actions.entry(action).or_default() += 1;
        *found.context_dims.entry(record.context.dim()).or_default() += 1;
        match record.propensity().density() {
            Some(density) => self.densities.add(Density::get(density)),
            None => found.atoms += 1,
        }
        if let Some(z) = record.z {
            self.kappas.add(1.0 / z);
        }
        match record.loss {
            Some(loss) => self.losses.add(loss.get()),
            None => found.losses_missing += 1,
        }
        found.losses_default += u64::from(record.loss_source == Some(LossSource::Default));
        found.losses_late += u64::from(record.late == Some(true));
        if let Some(mode) = record.mode {
            *found.modes.entry(mode.as_str().to_owned()).or_default() += 1;
        }
        if let Some(epoch) = record.epoch {
            *found.epochs.entry(epoch.to_string()).or_default() += 1;
        }
        for (name, _) in record.extras() {
            match found.extras.get_mut(name) {
                Some(count) => *count += 1,
                None => {
                    found.extras.insert(name.to_owned(), 1);
                }
            }
        }
        self.add_seq(record);
    }

    fn add_seq(&mut self, record: &Record) {
        let Some(seq) = record.seq else {
            self.without_seq += 1;
            return;
        };
        let own = match self.loops.get_mut(&record.loop_name) {
            Some(own) => own,
            None => self.loops.entry(record.loop_name.clone()).or_default(),
        };
        if own.count == 0 {
            (own.first, own.last) = (seq, seq);
        }
        own.first = own.first.min(seq);
        own.last = own.last.max(seq);
        own.count += 1;
        own.out_of_order += u64::from(own.previous.is_some_and(|previous| seq <= previous));
        own.previous = Some(seq);
    }

    fn finish(self) -> Findings {
        let quantile = |share| self.densities.quantile(share);
        let density = quantile(0.0).map(|min| {
            let at = |share| quantile(share).unwrap_or(min);
            Spread {
                min,
                p01: at(0.01),
                p25: at(0.25),
                median: at(0.5),
                p75: at(0.75),
                p99: at(0.99),
                max: at(1.0),
            }
        });
        let mut seq: Option<Sequence> = None;
        for own in self.loops.values() {
            let all = seq.get_or_insert(Sequence {
                first: own.first,
                last: own.last,
                without: self.without_seq,
                ..Sequence::default()
            });
            all.first = all.first.min(own.first);
            all.last = all.last.max(own.last);
            let span = (own.last - own.first).saturating_add(1);
            all.missing += span.saturating_sub(own.count);
            all.out_of_order += own.out_of_order;
        }
        let counts = self.loops.into_iter();
        Findings {
            first_time: self.times.map(|(first, _)| first.to_string()),
            last_time: self.times.map(|(_, last)| last.to_string()),
            density,
            seq,
            kappa_mean: self.kappas.get(),
            loss_mean: self.losses.get(),
            loops: counts
                .filter_map(|(name, own)| Some((name?, own.count)))
                .collect(),
            ..self.found
        }
    }
}

/// Counts what is in logs.
pub fn stats(args: &StatsArgs) -> Result<String> {
    let mut reader = args.input.reader()?;
    let bar = reading("counting", args.json);
    let mut tally = Tally::default();
    while let Some(record) = reader.next() {
        tally.add(&record?);
        if tally.found.rows.is_multiple_of(4096) {
            bar.set_position((1_000.0 * reader.progress()) as u64);
        }
    }
    bar.finish_and_clear();
    let skipped = reader.finish()?;
    let mut findings = tally.finish();
    (findings.skipped, findings.skipped_file) = (skipped.rows, skipped.file);
    ensure!(
        0 < findings.rows || 0 < findings.skipped,
        "there is no record in what was given"
    );
    if args.json {
        return Ok(serde_json::to_string(&findings)? + "\n");
    }
    Ok(text(&findings))
}

fn text(found: &Findings) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let mut row = |name: &str, value: String| {
        table.add_row([name.to_owned(), value]);
    };
    row("records", found.rows.to_string());
    if let Some(file) = &found.skipped_file {
        let skipped = found.skipped;
        row("bad rows", format!("{skipped}, kept in {}", file.display()));
    }
    if let (Some(first), Some(last)) = (&found.first_time, &found.last_time) {
        row("time", format!("{first} to {last}"));
    }
    row("actions", counts(&found.actions));
    row("features", counts(&found.context_dims));
    row("atoms, of weight 0", found.atoms.to_string());
    if let Some(spread) = &found.density {
        row(
            "density",
            format!(
                "least {}, 1% {}, 25% {}, median {}, 75% {}, 99% {}, greatest {}",
                short(spread.min),
                short(spread.p01),
                short(spread.p25),
                short(spread.median),
                short(spread.p75),
                short(spread.p99),
                short(spread.max)
            ),
        );
    }
    if let Some(kappa) = found.kappa_mean {
        row("mean kappa = 1/z", format!("{kappa:.4}"));
    }
    if let Some(loss) = found.loss_mean {
        row("mean loss", format!("{loss:.6}"));
    }
    row(
        "losses",
        format!(
            "{} not known yet, {} by default, {} late",
            found.losses_missing, found.losses_default, found.losses_late
        ),
    );
    row(
        "seq",
        match &found.seq {
            None => "none has one: gaps cannot be told".to_owned(),
            Some(seq) => format!(
                "{} to {}, {} missing, {} out of order or twice, {} records without",
                seq.first, seq.last, seq.missing, seq.out_of_order, seq.without
            ),
        },
    );
    for (name, counted) in [
        ("loops", &found.loops),
        ("modes", &found.modes),
        ("epochs", &found.epochs),
        ("other columns", &found.extras),
    ] {
        if !counted.is_empty() {
            row(name, counts(counted));
        }
    }
    format!("{table}\n")
}

/// Names with how many records have them, the first few.
fn counts<K: std::fmt::Display>(counted: &BTreeMap<K, u64>) -> String {
    const SHOWN: usize = 8;
    let mut parts: Vec<String> = counted
        .iter()
        .take(SHOWN)
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    if SHOWN < counted.len() {
        parts.push(format!("and {} more", counted.len() - SHOWN));
    }
    parts.join(", ")
}
