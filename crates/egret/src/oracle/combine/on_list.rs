use crate::codec::LoadError;
use crate::event::{ContextError, Item};
use crate::numeric::pool::Pool;
use crate::oracle::{Example, GrowError, RegressionOracle};

/// An oracle on [0, n] that sees the middle of its cell for each item of a list: ½ for the first, n − ½ for the last.
///
/// With a regression around each of these n numbers, as [`LocalRegression`](crate::LocalRegression) has, items share nothing.
pub(crate) struct OnList<X: ?Sized> {
    count: usize,
    inner: Box<dyn RegressionOracle<X, f64>>,
    buffers: Pool<Vec<f64>>,
}

impl<X: ?Sized> OnList<X> {
    pub(crate) fn new(count: usize, inner: Box<dyn RegressionOracle<X, f64>>) -> Self {
        Self {
            count,
            inner,
            buffers: Pool::default(),
        }
    }

    /// What the oracle inside sees; NaN for what is no item.
    fn number(&self, item: Item) -> f64 {
        match (item.0 as usize) < self.count {
            true => f64::from(item.0) + 0.5,
            false => f64::NAN,
        }
    }
}

impl<X: ?Sized> RegressionOracle<X, Item> for OnList<X> {
    fn prepare(&self, x: &X, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        self.inner.prepare(x, prepared)
    }

    fn predict(&self, x: &X, prepared: &[f64], actions: &Vec<Item>, out: &mut [f64]) {
        self.buffers.with(|numbers| {
            numbers.clear();
            numbers.extend(actions.iter().map(|&item| self.number(item)));
            self.inner.predict(x, prepared, numbers, out);
        });
    }

    fn learn(&mut self, batch: &[Example<'_, X, Item>]) -> Result<(), ContextError> {
        let numbers: Vec<f64> = (batch.iter())
            .map(|example| self.number(*example.action))
            .collect();
        let examples: Vec<Example<'_, X, f64>> = (batch.iter().zip(&numbers))
            .map(|(example, action)| Example {
                x: example.x,
                action,
                loss: example.loss,
                weight: example.weight,
            })
            .collect();
        self.inner.learn(&examples)
    }

    fn save(&self) -> Vec<u8> {
        self.inner.save()
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        self.inner.load(state)
    }

    fn grow(&mut self, dim: usize) -> Result<bool, GrowError> {
        self.inner.grow(dim)
    }

    fn squared_error(&self) -> Option<f64> {
        self.inner.squared_error()
    }

    fn forgotten(&self) -> f64 {
        self.inner.forgotten()
    }
}
