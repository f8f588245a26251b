use std::path::PathBuf;
use std::sync::Arc;

use egret::{ActionKind, Context, Decision, Learner, Space};
use egret_log::{Mode, PHILOX, Record};
use egret_offline::{PolicySeed, Replayer, Version};
use rayon::prelude::*;

use crate::error::{JobError, Place};
use crate::logging_models::{GivenModels, replayer};

/// Makes the decisions of a log again, with the models that made them and other random numbers: what else might have been
/// played, as likely as what was.
pub(crate) struct DecidedAgain<A: ActionKind> {
    replayer: Replayer<Context, A>,
    models: GivenModels,
    seed: u64,
}

/// How often each decision is made again. What is drawn adds 1/16 of the variance of what it takes off.
const TIMES: u64 = 16;

impl<A: ActionKind> DecidedAgain<A> {
    /// By the model from before the first event, or by several; those between are learned from the log.
    pub(crate) fn new(
        files: &[PathBuf],
        space: Option<&Arc<Space>>,
        seed: u64,
    ) -> Result<Option<Self>, JobError> {
        let (replayer, models) = replayer::<A>(files, true, &mut space.cloned())?;
        Ok(replayer.map(|replayer| Self {
            replayer,
            models,
            seed,
        }))
    }

    /// Takes the next record of the log. Where it is wanted, returns decisions like its own.
    pub(crate) fn observe(
        &mut self,
        (row, place, record): (u64, &Place, &Record),
        wanted: bool,
    ) -> Result<Vec<Decision<A>>, JobError> {
        self.models.check(place, record)?;
        if record.mode == Some(Mode::Apprentice) {
            return Ok(Vec::new());
        }
        if record.rng.as_deref().is_some_and(|rng| rng != PHILOX) {
            let problem =
                "--logged-by cannot repeat decisions that were drawn by another generator";
            return Err(JobError::field(place, "rng", problem));
        }
        let decision = record.decision::<A>().map_err(|error| {
            JobError::record(place, format!("--logged-by needs whole decisions: {error}"))
        })?;
        let x = &record.context;
        let learner = self.replayer.go_to(Version::of(&decision));
        let learner =
            learner.map_err(|why| JobError::record(place, format!("--logged-by: {why}")))?;
        let again = match wanted {
            true => repeated(learner, x, &decision, |time| {
                let (seed, event) = (self.seed, row);
                PolicySeed { seed, event }.again(time).seed
            }),
            false => Ok(Vec::new()),
        };
        let again = again.map_err(|why| JobError::record(place, why))?;
        if record.mode != Some(Mode::Logging) {
            self.replayer.remember(x, &decision, record.loss);
        }
        Ok(again)
    }
}

/// The decision, made again with these seeds; an error unless the learner is the one that made it.
fn repeated<A: ActionKind>(
    learner: &Learner<Context, A>,
    x: &Context,
    decision: &Decision<A>,
    seed: impl Fn(u64) -> u64 + Sync,
) -> Result<Vec<Decision<A>>, String> {
    learner.replay(x, decision).map_err(|error| {
        format!(
            "--logged-by: the model given did not make this decision ({error}); egret audit has the details"
        )
    })?;
    let decisions = (0..TIMES).into_par_iter().map(|time| {
        let decision = learner.decide_again(seed(time), x, decision);
        decision.map_err(|error| error.to_string())
    });
    decisions.collect()
}
