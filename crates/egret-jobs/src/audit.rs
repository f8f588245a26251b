//! Is the log what it says? Replays decisions and tests the logged propensities.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egret::{ActionKind, Context, ContextError, Space, for_kind};
use egret_log::{Mode, PHILOX, Record};
use egret_offline::{
    AuditReport as Findings, Audited, Auditor, Binnable, CappedIgwDraw, LogOrder,
    RandomNumberCheck, Recorded,
};
use serde::{Deserialize, Serialize};

use crate::error::{JobError, Place};
use crate::log_reader::LogReader;
use crate::log_source::LogSource;
use crate::logging_models::replayer;
use crate::progress::Progress;
use crate::sides::Sides;

/// What is to be audited, and with which models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditRequest {
    /// The log, in the order in which it was written.
    pub log: LogSource,
    /// Saved models.
    pub models: Vec<PathBuf>,
    /// A folder of saved models (*.egret).
    pub model_folder: Option<PathBuf>,
    /// Learn missing models from the log: the events that one model decided are the batch that makes the next.
    pub relearn: bool,
    /// Replay one in so many decisions.
    pub replay_every: u64,
    /// The probability with which a correct log ever raises an alarm.
    pub alpha: f64,
    /// No logged density can be smaller than this, whatever the action; the log's own bounds need not be given.
    pub least_density: Option<f64>,
}

impl Default for AuditRequest {
    fn default() -> Self {
        Self {
            log: LogSource::default(),
            models: Vec::new(),
            model_folder: None,
            relearn: false,
            replay_every: 1,
            alpha: 0.01,
            least_density: None,
        }
    }
}

/// What was found, and what was left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditReport {
    /// Verdict, replay, consistency, tests.
    #[serde(flatten)]
    pub findings: Findings,
    /// Events whose action was the caller's own.
    pub apprentice: u64,
    /// Events of which consistency and proposals were not checked.
    pub unchecked: Unchecked,
    /// Rows that are not records.
    pub skipped: u64,
}

/// Events whose record lacks what the checks of g and z need.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unchecked {
    /// How many.
    pub events: u64,
    /// What the first of them lacks.
    pub why: Option<String>,
}

/// Records that are looked at side by side.
const BATCH: usize = 4_096;

/// Audits the log.
pub fn audit(request: &AuditRequest, progress: &dyn Progress) -> Result<AuditReport, JobError> {
    if request.log.estimate_density {
        let problem =
            "an audit tests the densities that a log states, and these would be estimated";
        return Err(JobError::request("estimate_density", problem));
    }
    let log = request.log.open(progress)?;
    for_kind!(log.kind, A => audit_kind::<A>(request, log, progress))
}

fn audit_kind<A: ActionKind + Binnable>(
    request: &AuditRequest,
    mut log: LogReader,
    progress: &dyn Progress,
) -> Result<AuditReport, JobError> {
    let mut space = log.space.clone();
    let mut files = request.models.clone();
    if let Some(folder) = &request.model_folder {
        files.extend(models_in(folder)?);
    }
    if files.is_empty() && request.relearn {
        return Err(JobError::request(
            "relearn",
            "it needs the model from before the first event of the log (--model FILE)",
        ));
    }
    let (replayer, models) = replayer::<A>(&files, request.relearn, &mut space)?;
    let measure = match &log.space {
        Some(space) => A::measure(space).ok(),
        None => None,
    };
    if let Some(least) = request.least_density
        && !(0.0 < least && least <= 1.0)
    {
        return Err(JobError::request(
            "least_density",
            format!("{least}: give a number in (0, 1], for the mean of 1/density is 1"),
        ));
    }
    if request.replay_every == 0 {
        return Err(JobError::request("replay_every", "0: give 1 or more"));
    }
    let auditor = Auditor::new(measure, replayer, request.alpha)
        .map_err(|error| JobError::request("alpha", error))?;
    let mut sides = Sides::new(&log);
    let auditor = auditor.replaying_every(request.replay_every);
    let mut auditor = auditor.with_sides(sides.features());
    let mut numbers = RandomNumberCheck::default();
    let (mut ids, mut order) = (RandomNumberCheck::default(), LogOrder::default());
    let mut batch = Vec::with_capacity(BATCH);
    let (mut apprentice, mut unchecked) = (0, Unchecked::default());
    while let Some((place, record)) = log.next(progress)? {
        check_space(&mut space, &place, &record)?;
        models.check(&place, &record)?;
        if !models.take_names && record.context.as_named().is_some() {
            return Err(JobError::field(&place, "context", ContextError::Named));
        }
        if let (Some(seed), Some(event)) = (record.seed, record.event) {
            numbers.observe(record.loop_name.as_deref(), seed, event, || {
                serde_json::to_string(&record.context).expect("a context is written to memory")
            });
        }
        if let Some(id) = &record.event_id {
            ids.observe(Some(id), 0, 0, || ());
        }
        if let Some(time) = record.time {
            order.times.observe(time.micros() as f64);
        }
        if let Some(batches) = record.batches_learned {
            order.versions.observe(batches as f64);
        }
        if record.mode == Some(Mode::Apprentice) {
            apprentice += 1;
        } else {
            let of_event = sides.next(&record.context);
            let mut event = audited::<A>(record, &place, &mut unchecked)?;
            event.sides = of_event;
            let least = request.least_density.map(|least| 1.0 / least);
            event.largest_inverse = event.largest_inverse.or(least);
            batch.push(event);
        }
        if batch.len() == BATCH {
            auditor.observe(&batch);
            batch.clear();
        }
    }
    auditor.observe(&batch);
    auditor.note_random_numbers(numbers.found());
    auditor.note_order(order);
    let ids = ids.found();
    auditor.note_repeated_ids((0 < ids.compared).then_some(ids.twice));
    Ok(AuditReport {
        findings: auditor.report(),
        apprentice,
        unchecked,
        skipped: log.finish()?.rows,
    })
}

fn check_space(
    space: &mut Option<Arc<Space>>,
    place: &Place,
    record: &Record,
) -> Result<(), JobError> {
    let Some(own) = &record.mu else { return Ok(()) };
    let space = space.get_or_insert_with(|| own.clone());
    if Arc::ptr_eq(space, own) || space == own {
        return Ok(());
    }
    let problem = format!(
        "the records before it, or the models, are over {space}, and this is over {own}: audit each space by itself"
    );
    Err(JobError::field(place, "mu", problem))
}

/// The models of a folder, in order of name.
fn models_in(folder: &Path) -> Result<Vec<PathBuf>, JobError> {
    let failed = |source| JobError::File {
        file: folder.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == "egret") {
            files.push(path);
        }
    }
    if files.is_empty() {
        let problem = format!(
            "{} holds no model: their names end in .egret",
            folder.display()
        );
        return Err(JobError::request("model_folder", problem));
    }
    files.sort();
    Ok(files)
}

/// A record as the audit takes it: all of the decision where a replay is possible, else what is known.
fn audited<A: ActionKind>(
    record: Record,
    place: &Place,
    unchecked: &mut Unchecked,
) -> Result<Audited<Context, A>, JobError> {
    let philox = record.rng.as_deref().is_none_or(|rng| rng == PHILOX);
    let decision = match record.decision::<A>() {
        Ok(decision) if philox => Recorded::Replayable(decision),
        _ => {
            let action =
                A::from_any(&record.action).map_err(|error| JobError::record(place, error))?;
            let draw = drawn(&record).unwrap_or_else(|missing| {
                unchecked.events += 1;
                unchecked
                    .why
                    .get_or_insert_with(|| format!("{missing} is missing"));
                None
            });
            Recorded::DensityOnly {
                action,
                limits: record.limits.clone(),
                propensity: record.propensity(),
                draw,
            }
        }
    };
    Ok(Audited {
        // An estimate of z is in both the density and the bound.
        largest_inverse: record
            .largest_inverse_density
            .filter(|_| record.z_draws == Some(0)),
        sides: Vec::new(),
        seq: record.seq,
        learned: record.mode != Some(Mode::Logging),
        loss: record.loss,
        x: record.context,
        decision,
    })
}

/// How CappedIGW came to the density, none where another explorer did; or the field that is missing to know it.
fn drawn(record: &Record) -> Result<Option<CappedIgwDraw>, &'static str> {
    let density_kind = record.density_kind.ok_or("densityKind")?;
    let tau = record.tau.ok_or("tau")?;
    let gamma = record.gamma.ok_or("gamma")?;
    let proposals = record.proposals.ok_or("proposals")?;
    if record.g.is_none() && record.beta.is_none() && record.z.is_none() {
        return Ok(None);
    }
    Ok(Some(CappedIgwDraw {
        density_kind,
        tau,
        gamma,
        g: record.g.ok_or("g")?,
        uniform: record.uniform.unwrap_or(0.0),
        beta: record.beta.ok_or("beta")?,
        certified_by: record.certificate.ok_or("certificate")?,
        z: record.z.ok_or("z")?,
        // Where nobody says, as if it was estimated: bets are then the more careful ones.
        z_computed: record.z_draws == Some(0),
        proposals,
        largest_inverse_density: record.largest_inverse_density,
    }))
}
