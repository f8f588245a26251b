use crate::codec::LoadError;
use crate::event::ContextError;
use crate::measure::LineMeasure;
use crate::numeric::pool::Pool;
use crate::oracle::{Example, GrowError, MonotonePieces, RegressionOracle};

/// An oracle on [0, 1] that sees the quantile of an action under μ in its place.
///
/// f̂(x, a) = f̂′(x, u),  u = μ((−∞, a)), or the middle of a step
///
/// So f̂′ is as fine where μ is dense, and cells of equal width are cells of equal mass: of [10³, 10⁹] with a uniform
/// logarithm each decade has as many. On [`Steps`](crate::Steps) a cell holds whole steps, its mass is their number, and
/// sums over cells are exact.
pub struct OnQuantiles<X: ?Sized> {
    line: Box<dyn LineMeasure>,
    inner: Box<dyn RegressionOracle<X, f64>>,
    buffers: Pool<Vec<f64>>,
}

impl<X: ?Sized> OnQuantiles<X> {
    /// The oracle is one on [0, 1].
    pub fn new(line: Box<dyn LineMeasure>, inner: Box<dyn RegressionOracle<X, f64>>) -> Self {
        Self {
            line,
            inner,
            buffers: Pool::default(),
        }
    }

    fn pieces(&self) -> &dyn MonotonePieces {
        let pieces = self.inner.monotone_pieces();
        pieces.expect("asked only where the oracle inside knows them")
    }
}

/// What an oracle sees for an action.
fn quantile_of(line: &dyn LineMeasure, action: f64) -> f64 {
    match line.steps() {
        Some(steps) => steps.middle(action),
        None => line.cdf(action),
    }
}

impl<X: ?Sized> RegressionOracle<X, f64> for OnQuantiles<X> {
    fn prepare(&self, x: &X, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        self.inner.prepare(x, prepared)
    }

    fn predict(&self, x: &X, prepared: &[f64], actions: &Vec<f64>, out: &mut [f64]) {
        let line = &*self.line;
        self.buffers.with(|quantiles| {
            quantiles.clear();
            quantiles.extend(actions.iter().map(|&action| quantile_of(line, action)));
            self.inner.predict(x, prepared, quantiles, out);
        });
    }

    fn learn(&mut self, batch: &[Example<'_, X, f64>]) -> Result<(), ContextError> {
        let line = &*self.line;
        let quantiles: Vec<f64> = batch
            .iter()
            .map(|example| quantile_of(line, *example.action))
            .collect();
        let examples: Vec<Example<'_, X, f64>> = batch
            .iter()
            .zip(&quantiles)
            .map(|(example, action)| Example { action, ..*example })
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

    fn monotone_pieces(&self) -> Option<&dyn MonotonePieces> {
        self.inner.monotone_pieces()?;
        Some(self)
    }
}

impl<X: ?Sized> MonotonePieces for OnQuantiles<X> {
    fn argmin(&self, prepared: &[f64]) -> f64 {
        let mut argmin = [self.pieces().argmin(prepared)];
        self.line.quantiles(&mut argmin);
        argmin[0]
    }

    fn break_points(&self, prepared: &[f64], out: &mut Vec<f64>) {
        let start = out.len();
        self.pieces().break_points(prepared, out);
        let points = &mut out[start..];
        match self.line.steps() {
            // A piece begins with a step.
            Some(steps) => {
                for point in points {
                    *point = steps.first_from(*point);
                }
            }
            None => self.line.quantiles(points),
        }
    }

    fn is_flat(&self) -> bool {
        self.pieces().is_flat()
    }
}
