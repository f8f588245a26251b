//! Models of ONNX files as loss models and as policies: fitted in Python by scikit-learn or PyTorch, served in Rust without Python.
//!
//! ```no_run
//! use egret::{Context, Objective, Settings};
//! use egret_onnx::OnnxModel;
//!
//! // It takes two features and a price, and predicts the revenue.
//! let model = OnnxModel::load("revenue.onnx")?;
//! let revenue = Objective::maximize(0.0, 50.0)?;
//! let shop = model.into_model("interval:5,50".parse()?, revenue, Settings::default())?;
//! let decision = shop.decide(0, &Context::dense(vec![0.4, 1.0])?)?;
//! println!("{:?} with density {:?}", decision.action, decision.propensity.density());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The file has one input, rows of 32-bit floats, and its first output has one number for each row. Of a loss model a row is
//! the numbers of a context, then those of an action, and the output is the predicted outcome; of a policy a row is a context,
//! and the output is the action. Networks, and linear models that are exported as matrix products,
//! are made of operators that rten has; forests, boosted trees and others of `ai.onnx.ml` are not. Decisions are not equal to the bit on every machine, as those of egret's own
//! oracles are.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};

use egret::{
    Action, ActionKind, AnyModel, Batch, Context, ContextError, Example, Kind, LoadError, Model,
    ModelError, ModelSpec, Objective, RegressionOracle, Settings, Space, Vector,
};
use rten::{Dimension, Value};

/// A model from an ONNX file.
pub struct OnnxModel {
    model: rten::Model,
    width: usize,
}

impl OnnxModel {
    /// Reads the file. An error if it is no model, has operators that are not known here, or does not take rows of numbers.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, OnnxError> {
        let path = path.as_ref();
        let model = rten::Model::load_file(path).map_err(|error| OnnxError::File {
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
        let run = || self.model.run_one(rows.into(), None);
        let output = match rayon::current_thread_index() {
            None => run(),
            // A thread of rayon takes up other work while it waits for rten's threads, which may be another prediction, and so
            // on until its stack is full: another thread waits instead.
            Some(_) => std::thread::scope(|scope| scope.spawn(run).join())
                .unwrap_or_else(|panic| resume_unwind(panic)),
        };
        let output = output.map_err(|error| failed(error.to_string()))?;
        let numbers = output.into_tensor::<f32>().map(|tensor| tensor.into_data());
        match numbers {
            Some(numbers) if numbers.len() == count => Ok(numbers),
            _ => Err(failed(format!("the first output is not {count} numbers"))),
        }
    }

    /// The loss model of what it predicts: outcomes of this objective, and those outside its range count as its ends.
    ///
    /// Contexts have so many numbers, and the rest of a row is the action's. It learns nothing, and its saved state is empty.
    /// Where the model fails, the decision ends with an error.
    pub fn into_oracle<A: NumericAction>(
        self,
        context_dim: usize,
        objective: Objective,
    ) -> Box<dyn RegressionOracle<Context, A>> {
        Box::new(OnnxOracle {
            model: self,
            context_dim,
            objective: objective.clipped(),
        })
    }

    /// A model that explores by it, over numbers or vectors. It counts outcomes, with which exploration shrinks, and does not
    /// change what it predicts. Its file would not hold what the ONNX file has: it is not to be saved.
    pub fn into_model(
        self,
        space: Space,
        objective: Objective,
        settings: Settings,
    ) -> Result<AnyModel, OnnxError> {
        match space.kind() {
            Kind::Number => self.typed::<f64>(space, objective, settings),
            Kind::Vector => self.typed::<Vector>(space, objective, settings),
            _ => Err(OnnxError::Space { space }),
        }
    }

    fn typed<A: ActionKind + NumericAction>(
        self,
        space: Space,
        objective: Objective,
        settings: Settings,
    ) -> Result<AnyModel, OnnxError> {
        let (width, action) = (self.width, space.action_dim());
        let context_dim = width.checked_sub(action);
        let context_dim = context_dim.ok_or(OnnxError::Narrow { width, action })?;
        let oracle = self.into_oracle::<A>(context_dim, objective);
        let spec = ModelSpec::from_parts(space, None, context_dim).with_objective(objective);
        Ok(Model::with_oracle(spec, oracle, settings)?.into())
    }

    /// What it plays in a context, as a policy of numbers.
    pub fn action(&self, x: &Context) -> Result<f64, OnnxError> {
        let failed = |error: ContextError| OnnxError::Run {
            problem: error.to_string(),
        };
        let numbers = numbers_of(x, self.width).map_err(failed)?;
        let played = self.predict(numbers.into_iter().map(|value| value as f32).collect())?;
        Ok(played[0].into())
    }
}

/// The numbers of a context, which has so many of them.
fn numbers_of(x: &Context, dim: usize) -> Result<Vec<f64>, ContextError> {
    if x.as_named().is_some() {
        return Err(ContextError::Refused(
            "a model of ONNX takes contexts of numbers, and the features of this one have names"
                .to_owned(),
        ));
    }
    let (found, expected) = (x.dim(), dim);
    if found != expected {
        return Err(ContextError::Dimension { found, expected });
    }
    let mut numbers = vec![0.0; dim];
    x.for_each(|place, value| numbers[place] = value);
    Ok(numbers)
}

/// f̂ by a model of ONNX.
struct OnnxOracle {
    model: OnnxModel,
    context_dim: usize,
    objective: Objective,
}

impl OnnxOracle {
    fn losses<A: NumericAction>(&self, context: &[f64], actions: &A::Batch) -> Option<Vec<f64>> {
        let mut rows = Vec::with_capacity(actions.len() * self.model.width);
        for place in 0..actions.len() {
            rows.extend(context.iter().map(|&value| value as f32));
            actions.get(place).append_to(&mut rows);
            if rows.len() != (place + 1) * self.model.width {
                return None;
            }
        }
        let outcomes = self.model.predict(rows).ok()?;
        let loss = |outcome: f32| Some(self.objective.loss(outcome.into()).ok()?.get());
        outcomes.into_iter().map(loss).collect()
    }
}

impl<A: NumericAction> RegressionOracle<Context, A> for OnnxOracle {
    fn prepare(&self, x: &Context, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        prepared.extend(numbers_of(x, self.context_dim)?);
        Ok(())
    }

    fn predict(&self, _: &Context, prepared: &[f64], actions: &A::Batch, out: &mut [f64]) {
        match self.losses::<A>(prepared, actions) {
            Some(losses) => out.copy_from_slice(&losses),
            None => out.fill(f64::NAN),
        }
    }

    fn learn(&mut self, _: &[Example<'_, Context, A>]) -> Result<(), ContextError> {
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    fn load(&mut self, _: &[u8]) -> Result<(), LoadError> {
        Ok(())
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
#[derive(Debug, thiserror::Error)]
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
    /// Actions are no numbers.
    #[error(
        "a model of ONNX takes rows of numbers: actions of an interval, a box or a sphere, and not of {space}"
    )]
    Space {
        /// Which actions.
        space: Space,
    },
    /// Rows have no place for an action.
    #[error("the model takes rows of {width} numbers, and an action alone has {action}")]
    Narrow {
        /// Numbers of a row.
        width: usize,
        /// Numbers of an action.
        action: usize,
    },
    /// No model can be made with it.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// It failed on these rows.
    #[error("the model failed: {problem}")]
    Run {
        /// What it said.
        problem: String,
    },
}
