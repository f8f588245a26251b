mod picture;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use egret::{Context, Decision, DensityKind, Item, Model, Space, Vector};
use egret_log::{LoggedAction, Mode, OnBad, PHILOX, Reader, Record};
use egret_offline::{AuditReport, Audited, Auditor, Placed, Replayer, TestRow};
use egret_report::sheet::thousands;
use egret_report::{Section, output};
use serde::Serialize;

use crate::kind::{Kind, learner_of};
use crate::plot_kind::PlotKind;
use crate::progress::reading;
use crate::spare_inputs::spare_inputs;

/// What `egret audit` is told.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Logs in the order they were written: files of Parquet, JSON lines or dsjson, and folders of them
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    /// A saved model; may be given many times
    #[arg(long = "model", value_name = "FILE")]
    pub models: Vec<PathBuf>,
    /// A folder of saved models (*.egret)
    #[arg(long = "models", value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Learn the models that are not given from the log: the events decided by one are the batch that makes the next
    #[arg(long)]
    pub relearn: bool,
    /// Make only the first of every N decisions again
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub replay_every: u64,
    /// The probability with which a right log is accused by the tests, ever
    #[arg(long, default_value_t = 0.01)]
    pub alpha: f64,
    /// Go on past rows that are no records; keep them in this file
    #[arg(long, value_name = "FILE")]
    pub skip_bad: Option<PathBuf>,
    /// Print JSON and nothing else
    #[arg(long)]
    pub json: bool,
    /// The evidence over time (.svg), or a page with the table too (.html)
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// What `--help` adds.
pub const HELP: &str = "\
Exit code: 0 if no fault is found, 3 if there is one, 1 if the log could not be read.

Examples, after `egret demo`:
  egret audit egret-demo/exhaust.parquet
  egret audit egret-demo/exhaust.parquet --model egret-demo/start.egret --relearn
  egret audit egret-demo/exhaust.parquet --model egret-demo/start.egret \\
        --model egret-demo/halfway.egret --relearn --alpha 0.001 --plot evidence.html";

/// Audits the log: what to print, and whether a fault was found.
pub fn audit(args: &AuditArgs) -> Result<(String, bool)> {
    let plot = args.plot.as_deref().map(PlotKind::of).transpose()?;
    let outputs = [
        ("--plot", args.plot.as_deref()),
        ("--skip-bad", args.skip_bad.as_deref()),
    ];
    let inputs = args.logs.iter().chain(&args.models);
    spare_inputs(&outputs, inputs.map(PathBuf::as_path))?;
    let findings = look(args)?;
    if let (Some(kind), Some(path)) = (plot, &args.plot) {
        let picture = match kind {
            PlotKind::Svg => picture::evidence(&findings.report)?,
            PlotKind::Html => findings.html()?,
        };
        output::write(path, picture.as_bytes())?;
    }
    let text = if args.json {
        serde_json::to_string(&findings)? + "\n"
    } else {
        findings.text()
    };
    Ok((text, findings.report.alarm))
}

/// What was found, with what was left out.
#[derive(Serialize)]
struct Findings {
    #[serde(flatten)]
    report: AuditReport,
    /// Events whose action was the caller's own.
    apprentice: u64,
    /// Events of which consistency and proposals were not checked.
    unchecked: Unchecked,
    /// Rows that are no records.
    skipped: u64,
}

/// Events whose record lacks what the checks of g and z need.
#[derive(Default, Serialize)]
struct Unchecked {
    events: u64,
    /// What the first of them lacks.
    why: Option<String>,
}

/// Records that are looked at side by side.
const BATCH: usize = 4_096;

fn look(args: &AuditArgs) -> Result<Findings> {
    let on_bad = match &args.skip_bad {
        None => OnBad::Stop,
        Some(file) => OnBad::Skip(file.clone()),
    };
    let mut reader = Reader::open(&args.logs, on_bad)?;
    let first = reader.next().transpose()?;
    let first = first.context("the log holds no record")?;
    match first.action {
        LoggedAction::Number(_) => look_at::<f64>(args, reader, first),
        LoggedAction::Vector(_) => look_at::<Vector>(args, reader, first),
        LoggedAction::Item(_) => look_at::<Item>(args, reader, first),
    }
}

fn look_at<A: Kind + Placed>(
    args: &AuditArgs,
    mut reader: Reader,
    first: Record,
) -> Result<Findings> {
    let mut space = first.mu.as_deref().cloned();
    let replayer = replayer::<A>(args, &mut space)?;
    let measure = match &first.mu {
        Some(space) => A::measure(space)?,
        None => None,
    };
    let mut auditor =
        Auditor::new(measure, replayer, args.alpha)?.replaying_every(args.replay_every);
    let bar = reading("auditing", args.json);
    let (mut batch, mut apprentice, mut place) = (Vec::with_capacity(BATCH), 0, 0);
    let mut unchecked = Unchecked::default();
    let mut next = Some(first);
    while let Some(record) = next {
        if let Some(mu) = &record.mu {
            ensure!(
                **mu == *space.get_or_insert_with(|| Space::clone(mu)),
                "record {} has another action space than the records before it or the models: audit each space by itself",
                place + 1
            );
        }
        if record.mode == Some(Mode::Apprentice) {
            apprentice += 1;
        } else {
            batch.push(audited::<A>(record, place, &args.logs[0], &mut unchecked)?);
        }
        place += 1;
        if batch.len() == BATCH {
            auditor.observe(&batch);
            batch.clear();
            bar.set_position((1_000.0 * reader.progress()) as u64);
        }
        next = reader.next().transpose()?;
    }
    auditor.observe(&batch);
    bar.finish_and_clear();
    Ok(Findings {
        report: auditor.report(),
        apprentice,
        unchecked,
        skipped: reader.finish()?.rows,
    })
}

/// The models, if there are any. Their space is the log's, or becomes it where the log does not say.
fn replayer<A: Kind>(
    args: &AuditArgs,
    space: &mut Option<Space>,
) -> Result<Option<Replayer<Context, A>>> {
    let mut files = args.models.clone();
    if let Some(folder) = &args.folder {
        files.extend(models_in(folder)?);
    }
    ensure!(
        !files.is_empty() || !args.relearn,
        "--relearn begins with a model: give the one before the log's first event with --model FILE"
    );
    let mut replayer = None;
    for file in &files {
        let model: Model = crate::model_file::load(file)?;
        let own = &model.blueprint().space;
        let other = space.get_or_insert_with(|| own.clone());
        ensure!(
            other == own,
            "{} is a model over another space than the log's or another model's",
            file.display()
        );
        let learner = learner_of::<A>(&model.learner, file)?;
        match &mut replayer {
            None => {
                let learner = A::into_learner(model.learner).expect("its kind was looked at");
                replayer = Some(Replayer::new(learner, args.relearn));
            }
            Some(replayer) => replayer.add(learner).with_context(|| {
                format!(
                    "{} has another oracle than {}",
                    file.display(),
                    files[0].display()
                )
            })?,
        }
    }
    Ok(replayer)
}

/// The models of a folder, in order of name.
fn models_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let name = folder.display();
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot read the folder {name}"))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry
            .with_context(|| format!("cannot read the folder {name}"))?
            .path();
        if path
            .extension()
            .is_some_and(|extension| extension == "egret")
        {
            files.push(path);
        }
    }
    ensure!(
        !files.is_empty(),
        "{name} holds no model: their names end in .egret"
    );
    files.sort();
    Ok(files)
}

/// A record as the audit takes it; what a log from elsewhere lacks is left out.
fn audited<A: Kind>(
    mut record: Record,
    place: u64,
    log: &Path,
    unchecked: &mut Unchecked,
) -> Result<Audited<Context, A>> {
    let philox = record.rng.as_deref().is_none_or(|rng| rng == PHILOX);
    let whole = record.decision::<A>().ok();
    let replayable = philox && whole.is_some();
    let decision = match whole {
        Some(decision) => decision,
        None => {
            fill(&mut record, place);
            match record.decision::<A>() {
                Ok(decision) => decision,
                Err(error) => {
                    unchecked.events += 1;
                    unchecked.why.get_or_insert_with(|| error.to_string());
                    bare(&record, place, log)?
                }
            }
        }
    };
    Ok(Audited {
        seq: record.seq,
        learned: record.mode != Some(Mode::Logging),
        loss: record.loss,
        x: record.context,
        decision,
        replayable,
    })
}

/// What only a replay needs may be anything where there is no replay: the checks of g and z look at nothing of it.
fn fill(record: &mut Record, place: u64) {
    record.event.get_or_insert(place);
    record.seed.get_or_insert(0);
    record.batches_learned.get_or_insert(0);
    record.epoch.get_or_insert(0);
    record.tau_index.get_or_insert(0);
    record.tau_prob.get_or_insert(1.0);
    if record.g.is_some() {
        record.kappa_inf.get_or_insert(1.0);
        record.delta.get_or_insert(0.0);
        record.beta_draws.get_or_insert(0);
        // As if z was drawn: bets are then the more careful ones.
        record.z_draws.get_or_insert(1);
    }
}

/// An action with its density and nothing else.
fn bare<A: Kind>(record: &Record, place: u64, log: &Path) -> Result<Decision<A>> {
    let action = A::from_logged(&record.action).with_context(|| {
        let log = log.display();
        format!("record {} of the log that begins with {log}", place + 1)
    })?;
    Ok(Decision {
        event: record.event.unwrap_or(place),
        action,
        propensity: record.propensity(),
        density_kind: DensityKind::Conditional,
        tau: 1.0,
        tau_index: 0,
        tau_probability: 1.0,
        gamma: 1.0,
        capped_igw: None,
        proposals: 1,
        seed: 0,
        batches_learned: 0,
        epoch: 0,
    })
}

impl Findings {
    fn text(&self) -> String {
        self.section().text()
    }

    fn html(&self) -> Result<String> {
        let section = self.section().html(&picture::evidence(&self.report)?);
        Ok(egret_report::page(
            "egret audit",
            "Is the log what it says?",
            &section,
        ))
    }

    fn section(&self) -> Section {
        let report = &self.report;
        let cells = |row: &TestRow| {
            vec![
                row.test.to_owned(),
                row.hypothesis.to_owned(),
                thousands(row.events as f64),
                evidence(row.e_value),
                evidence(row.largest),
                evidence(row.threshold),
                row.alarm_at
                    .map_or("–".to_owned(), |at| thousands(at as f64)),
            ]
        };
        Section {
            title: format!("Verdict: {}", report.verdict),
            before: format!(
                "E-values: what a gambler who bets against the hypothesis has made of 1. Right, a log rings with probability {} at\n\
                 most, however long it grows and however often one looks.",
                report.alpha
            ),
            header: [
                "test",
                "hypothesis",
                "events",
                "e-value",
                "largest",
                "rings at",
                "rang after",
            ]
            .map(String::from)
            .to_vec(),
            words: 2,
            rows: report
                .tests
                .iter()
                .chain([&report.together])
                .map(cells)
                .collect(),
            after: self.remarks(),
        }
    }

    fn remarks(&self) -> Vec<String> {
        let report = &self.report;
        let count = |n: u64| thousands(n as f64);
        let replay = &report.replay;
        let mut lines = vec![format!(
            "Replay: {} decisions made again, {} equal to the bit, {} differ; {} had no model.",
            count(replay.replayed),
            count(replay.equal),
            count(replay.differing),
            count(replay.not_replayable),
        )];
        for (reason, events) in &replay.reasons {
            lines.push(format!("  {} events: {reason}.", count(*events)));
        }
        if 0 < replay.relearned {
            lines.push(format!(
                "  {} models were learned from the log.",
                count(replay.relearned)
            ));
        }
        let findings = replay.first_differences.iter();
        for finding in findings.chain(&report.consistency.first) {
            let seq = finding
                .seq
                .map_or(String::new(), |seq| format!(" (seq {seq})"));
            lines.push(format!("  Event {}{seq}: {}.", finding.event, finding.what));
        }
        if let Some(why) = &self.unchecked.why {
            lines.push(format!(
                "Consistency and proposals were not checked in {} events, which lack a number that this needs ({why}).",
                count(self.unchecked.events)
            ));
        }
        let proposals = &report.proposals;
        if 0 < proposals.events {
            lines.push(format!(
                "Proposals: {:.1} on average, where tau/z makes {:.1}.",
                proposals.mean, proposals.expected
            ));
        }
        let sequence = &report.sequence;
        lines.push(if sequence.numbered == 0 {
            "Sequence numbers: none, so that no gap would be seen.".to_owned()
        } else {
            format!(
                "Sequence numbers: {} missing, {} repeated or out of order.",
                count(sequence.missing),
                count(sequence.repeated)
            )
        });
        for (before, found) in &sequence.first {
            lines.push(format!("  After {before} comes {found}."));
        }
        lines.push(format!(
            "Events: {}, of which {} are point masses and {} have no loss.",
            count(report.events),
            count(report.atoms),
            count(report.without_loss)
        ));
        if 0 < self.apprentice {
            lines.push(format!(
                "{} events played the caller's own action and were left out.",
                count(self.apprentice)
            ));
        }
        if 0 < self.skipped {
            lines.push(format!("{} rows were no records.", count(self.skipped)));
        }
        lines
    }
}

/// An e-value, short.
fn evidence(value: f64) -> String {
    if value < 1e-3 {
        format!("{value:.1e}")
    } else if value < 1_000.0 {
        format!("{value:.3}")
    } else {
        format!("{value:.2e}")
    }
}
