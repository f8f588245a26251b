//! Models of ONNX files as loss models: fitted in Python by scikit-learn or PyTorch, served in Rust without Python.
//!
//! ```no_run
//! use egret::{Context, Interval, Learner, Objective, Settings};
//! use egret_onnx::OnnxModel;
//!
//! // It takes two features and a price, and predicts the revenue.
//! let model = OnnxModel::load("revenue.onnx")?;
//! let oracle = model.into_oracle(Objective::maximize(0.0, 50.0)?);
//! let shop = Learner::<Context, f64>::new(Box::new(Interval::new(5.0, 50.0)?), oracle, Settings::default())?;
//! let decision = shop.decide(0, &Context::dense(vec![0.4, 1.0])?)?;
//! println!("{} with density {:?}", decision.action, decision.propensity.density());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The file has one input, rows of 32-bit floats: the numbers of a context, then those of an action. Its first output has one
//! number for each row, the predicted outcome. Networks, and linear models that are exported as matrix products,
//! are made of operators that rten has; forests, boosted trees and others of `ai.onnx.ml` are not. Decisions are not equal to the bit on every machine, as those of egret's own
//! oracles are.

use std::path::{Path, PathBuf};

use egret::{Action, Batch, Context, FunctionOracle, Objective, RegressionOracle, Vector};
use rten::{Dimension, Model, Value};

/// A model from an ONNX file.
pub struct OnnxModel {
    model: Model,
    width: usize,
}

impl OnnxModel {
    /// Reads the file. An error if it is no model, has operators that are not known here, or does not take rows of numbers.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, OnnxError> {
        let path = path.as_ref();
        let model = Model::load_file(path).map_err(|error| OnnxError::File {
            path: path.to_owned(),
            problem: error.to_string(),
        })?;
        let shape = match model.input_ids() {
            [_] => model.input_shape(0),
            _ => None,
        };
        match shape.as_deref() {
            Some([_, Dimension::Fixed(width)]) if 0 < *width => Ok(Self {
                width: *width,
                model,
            }),
            _ => Err(OnnxError::NotRows {
                path: path.to_owned(),
            }),
        }
    }

    /// How many numbers a row has: those of the context and of the action.
    pub fn width(&self) -> usize {
        self.width
    }

    /// A number for each row; `rows` has them one after the other.
    pub fn predict(&self, rows: Vec<f32>) -> Result<Vec<f32>, OnnxError> {
        let failed = |problem: String| OnnxError::Run { problem };
        let count = rows.len() / self.width;
        let rows = Value::from_shape([count, self.width], rows);
        let rows = rows.map_err(|error| failed(error.to_string()))?;
        let output = self.model.run_one(rows.into(), None);
        let output = output.map_err(|error| failed(error.to_string()))?;
        let numbers = output.into_tensor::<f32>().map(|tensor| tensor.into_data());
        match numbers {
            Some(numbers) if numbers.len() == count => Ok(numbers),
            _ => Err(failed(format!("the first output is not {count} numbers"))),
        }
    }

    /// The loss model of what it predicts: outcomes of this objective, and those outside its range count as its ends.
    ///
    /// Where the model fails, as on a context of another length, the decision ends with an error.
    pub fn into_oracle<A: NumericAction>(
        self,
        objective: Objective,
    ) -> Box<dyn RegressionOracle<Context, A>> {
        let objective = objective.clipped();
        Box::new(FunctionOracle::new(
            move |x: &Context, actions: &A::Batch, out: &mut [f64]| {
                let losses = self.losses::<A>(objective, x, actions);
                match losses.filter(|losses| losses.len() == out.len()) {
                    Some(losses) => out.copy_from_slice(&losses),
                    None => out.fill(f64::NAN),
                }
            },
        ))
    }

    fn losses<A: NumericAction>(
        &self,
        objective: Objective,
        x: &Context,
        actions: &A::Batch,
    ) -> Option<Vec<f64>> {
        let mut context = vec![0.0; x.dim()];
        x.for_each(|place, value| context[place] = value as f32);
        let mut rows = Vec::with_capacity(actions.len() * self.width);
        for place in 0..actions.len() {
            rows.extend_from_slice(&context);
            actions.get(place).append_to(&mut rows);
            if rows.len() != (place + 1) * self.width {
                return None;
            }
        }
        let outcomes = self.predict(rows).ok()?;
        let loss = |outcome: f32| Some(objective.loss(outcome.into()).ok()?.get());
        outcomes.into_iter().map(loss).collect()
    }
}

/// Actions that are numbers.
pub trait NumericAction: Action {
    /// Appends its numbers to a row.
    fn append_to(&self, row: &mut Vec<f32>);
}

impl NumericAction for f64 {
    fn append_to(&self, row: &mut Vec<f32>) {
        row.push(*self as f32);
    }
}

impl NumericAction for Vector {
    fn append_to(&self, row: &mut Vec<f32>) {
        row.extend(self.iter().map(|&value| value as f32));
    }
}

/// Why a model cannot be read or run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// The file is no model, or has operators that are not known here.
    #[error("{}: {problem}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the reader said.
        problem: String,
    },
    /// It takes something else than rows of numbers.
    #[error(
        "{} does not take rows of a fixed number of numbers: export it with one input of the shape [rows, numbers]",
        path.display()
    )]
    NotRows {
        /// Which.
        path: PathBuf,
    },
    /// It failed on these rows.
    #[error("the model failed: {problem}")]
    Run {
        /// What it said.
        problem: String,
    },
}
