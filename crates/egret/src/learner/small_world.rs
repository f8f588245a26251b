//! A learner small enough to see through, for tests.

use crate::codec::LoadError;
use crate::event::{ContextError, Item};
use crate::learner::{Learner, Settings};
use crate::measure::{Catalogue, Interval};
use crate::oracle::{Example, MonotonePieces, RegressionOracle};

/// f̂(x, a) = slope · |a − (x + offset)|, slope and offset learned; refuses negative contexts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bowl {
    pub offset: f64,
    pub slope: f64,
}

impl Bowl {
    fn check(x: f64) -> Result<(), ContextError> {
        if 0.0 <= x {
            Ok(())
        } else {
            Err(ContextError::Refused(format!(
                "the context is {x}, expected [0, inf)"
            )))
        }
    }
}

impl RegressionOracle<f64, f64> for Bowl {
    fn prepare(&self, x: &f64, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        Self::check(*x)?;
        prepared.push(x + self.offset);
        Ok(())
    }

    fn predict(&self, _: &f64, prepared: &[f64], actions: &Vec<f64>, out: &mut [f64]) {
        for (out, action) in out.iter_mut().zip(actions) {
            *out = self.slope * (action - prepared[0]).abs();
        }
    }

    fn learn(&mut self, batch: &[Example<'_, f64, f64>]) -> Result<(), ContextError> {
        for example in batch {
            Self::check(*example.x)?;
        }
        let rate = 0.1 / batch.len() as f64;
        for example in batch {
            let z = example.action - (example.x + self.offset);
            let error = self.slope * z.abs() - example.loss.get();
            let step = rate * example.weight.get() * error;
            self.offset += step * self.slope * z.signum();
            self.slope -= step * z.abs();
        }
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&(self.offset, self.slope)).expect("in memory")
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        let (offset, slope): (f64, f64) = postcard::from_bytes(state)?;
        if !(offset.is_finite() && slope.is_finite()) {
            return Err(LoadError::Invalid(format!("{offset} {slope}")));
        }
        *self = Self { offset, slope };
        Ok(())
    }

    fn monotone_pieces(&self) -> Option<&dyn MonotonePieces> {
        Some(self)
    }
}

impl MonotonePieces for Bowl {
    fn argmin(&self, prepared: &[f64]) -> f64 {
        prepared[0]
    }

    fn break_points(&self, prepared: &[f64], out: &mut Vec<f64>) {
        out.push(prepared[0]);
    }
}

/// A [`Bowl`] over [0, 1].
pub(crate) fn interval_learner_of(bowl: Bowl, settings: Settings) -> Learner<f64, f64> {
    let measure = Interval::new(0.0, 1.0).expect("in order");
    Learner::new(Box::new(measure), Box::new(bowl), settings).expect("good settings")
}

/// At first half flat and off by 0.3.
pub(crate) fn interval_learner(settings: Settings) -> Learner<f64, f64> {
    let bowl = Bowl {
        offset: 0.3,
        slope: 0.5,
    };
    interval_learner_of(bowl, settings)
}

/// A fixed loss for each item.
pub(crate) struct Table(pub Vec<f64>);

impl RegressionOracle<(), Item> for Table {
    fn prepare(&self, _: &(), _: &mut Vec<f64>) -> Result<(), ContextError> {
        Ok(())
    }

    fn predict(&self, _: &(), _: &[f64], actions: &Vec<Item>, out: &mut [f64]) {
        for (out, item) in out.iter_mut().zip(actions) {
            *out = self.0[item.0 as usize];
        }
    }

    fn learn(&mut self, _: &[Example<'_, (), Item>]) -> Result<(), ContextError> {
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    fn load(&mut self, _: &[u8]) -> Result<(), LoadError> {
        Ok(())
    }
}

/// The [`Table`] over items with these weights.
pub(crate) fn table_learner(
    weights: &[f64],
    losses: &[f64],
    settings: Settings,
) -> Learner<(), Item> {
    let measure = Catalogue::weighted(weights.to_vec()).expect("positive");
    Learner::new(
        Box::new(measure),
        Box::new(Table(losses.to_vec())),
        settings,
    )
    .expect("good settings")
}
