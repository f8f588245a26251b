//! The models that made a log, as they were at each of its events.

use std::path::PathBuf;
use std::sync::Arc;

use egret::{ActionKind, Context, Space};
use egret_log::Record;
use egret_offline::Replayer;

use crate::error::{JobError, Place};
use crate::saved_model::load_model;

/// What is known of the models given.
pub(crate) struct GivenModels {
    /// Whether they all take named features.
    pub(crate) take_names: bool,
    /// (batches learned, content hash, file) of each.
    hashes: Vec<(u64, String, PathBuf)>,
}

impl GivenModels {
    /// An error where the first event of a log was decided by another model than the one given for it.
    pub(crate) fn check(&self, place: &Place, record: &Record) -> Result<(), JobError> {
        // The hash is that of the model the loop began with, and only its first record is sure to be decided by it.
        let (Some(0), Some(batches), Some(hash)) =
            (record.seq, record.batches_learned, &record.model_hash)
        else {
            return Ok(());
        };
        let mut given = self.hashes.iter().filter(|(known, ..)| *known == batches);
        let matches = given.clone().any(|(_, own, _)| own == hash);
        match given.next() {
            Some((_, own, file)) if !matches => Err(JobError::field(
                place,
                "modelHash",
                format!(
                    "the log begins with the model {hash}, and {} is {own}: give the model from before the first event",
                    file.display()
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// The models, if there are any. Their space is the log's, or becomes it where the log does not say.
pub(crate) fn replayer<A: ActionKind>(
    files: &[PathBuf],
    relearn: bool,
    space: &mut Option<Arc<Space>>,
) -> Result<(Option<Replayer<Context, A>>, GivenModels), JobError> {
    let mut replayer: Option<Replayer<Context, A>> = None;
    let mut given = GivenModels {
        take_names: true,
        hashes: Vec::new(),
    };
    for file in files {
        let model = load_model(file)?;
        given.take_names &= model.spec().features.is_some();
        let (batches, hash) = (model.batches_learned(), model.content_hash());
        given.hashes.push((batches, hash, file.clone()));
        let own = &model.spec().space;
        let known = space.get_or_insert_with(|| Arc::new(own.clone()));
        if **known != *own {
            return Err(JobError::Log(format!(
                "{} is a model over {own}, and the log or another model is over {known}",
                file.display()
            )));
        }
        let Ok(model) = model.into_typed::<A>() else {
            return Err(JobError::Log(format!(
                "{} is a model over another kind of action than the log's",
                file.display()
            )));
        };
        match &mut replayer {
            None => replayer = Some(Replayer::new(model.into_learner(), relearn)),
            Some(replayer) => replayer.add(model.learner()).map_err(|error| {
                let (file, first) = (file.display(), files[0].display());
                JobError::Log(format!("{file} has another oracle than {first}: {error}"))
            })?,
        }
    }
    Ok((replayer, given))
}
