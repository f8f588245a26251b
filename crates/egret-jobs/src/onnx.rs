//! Models of ONNX files, where this egret reads them: the feature `onnx`.

use std::ffi::OsStr;
use std::path::Path;

use egret::{AnyModel, Context, Objective, Settings, Space};
#[cfg(feature = "onnx")]
use egret_offline::PointPolicy;

use crate::error::JobError;

/// Whether a file is one of ONNX, by the ending of its name.
pub(crate) fn is_onnx(file: &Path) -> bool {
    let ending = file.extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("onnx"))
}

/// A model that explores by an ONNX file, which does not say itself what its actions are and what it predicts.
#[cfg(feature = "onnx")]
pub(crate) fn model(
    file: &Path,
    space: &Space,
    objective: Objective,
    settings: Settings,
) -> Result<AnyModel, JobError> {
    let model = load(file)?.into_model(space.clone(), objective, settings);
    model.map_err(|error| JobError::Onnx(format!("{}: {error}", file.display())))
}

/// The policy of an ONNX file: contexts in, numbers to play out.
#[cfg(feature = "onnx")]
pub(crate) fn policy(file: &Path) -> Result<impl PointPolicy<Context> + use<>, JobError> {
    Ok(OnnxPolicy(load(file)?))
}

#[cfg(feature = "onnx")]
fn load(file: &Path) -> Result<egret_onnx::OnnxModel, JobError> {
    egret_onnx::OnnxModel::load(file).map_err(|error| JobError::Onnx(error.to_string()))
}

#[cfg(feature = "onnx")]
struct OnnxPolicy(egret_onnx::OnnxModel);

#[cfg(feature = "onnx")]
impl PointPolicy<Context> for OnnxPolicy {
    fn action(&self, x: &Context) -> Result<f64, egret_offline::PolicyError> {
        let action = self.0.action(x);
        action.map_err(|error| egret::ContextError::Refused(error.to_string()).into())
    }
}

#[cfg(not(feature = "onnx"))]
pub(crate) fn model(
    file: &Path,
    _: &Space,
    _: Objective,
    _: Settings,
) -> Result<AnyModel, JobError> {
    Err(not_read(file))
}

#[cfg(not(feature = "onnx"))]
pub(crate) fn policy(file: &Path) -> Result<fn(&Context) -> f64, JobError> {
    Err(not_read(file))
}

#[cfg(not(feature = "onnx"))]
fn not_read(file: &Path) -> JobError {
    JobError::Onnx(format!(
        "{}: this egret does not read ONNX: build it with --features onnx",
        file.display()
    ))
}
