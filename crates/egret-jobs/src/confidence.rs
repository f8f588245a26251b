use egret_offline::Confidence;

use crate::error::JobError;

/// The level of an interval. An error that knows percentages, before any long work.
pub(crate) fn confidence(level: f64) -> Result<Confidence, JobError> {
    Confidence::new(level).map_err(|error| {
        let problem = if 1.0 < level && level < 100.0 {
            format!("{level} is no probability, did you mean {}?", level / 100.0)
        } else {
            error.to_string()
        };
        JobError::request("level", problem)
    })
}
