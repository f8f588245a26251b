use egret::{Interval, LineMeasure, LossCurve, RegressionOracle};

use crate::kernel::PointPolicy;
use crate::target::{TargetError, TargetWork};

/// π(x) = the action on an interval where f̂(x, ·) is least.
///
/// An oracle that knows its argmin tells it. For others it is the best of a grid of evenly spaced actions, which is a
/// function of the context alone.
pub struct GreedyPolicy<'a, X: ?Sized> {
    oracle: &'a dyn RegressionOracle<X, f64>,
    low: f64,
    high: f64,
    grid: Vec<f64>,
}

/// Actions in the grid.
const GRID: usize = 1024;

impl<'a, X: ?Sized> GreedyPolicy<'a, X> {
    /// Greedy by this oracle.
    pub fn new(oracle: &'a dyn RegressionOracle<X, f64>, interval: &Interval) -> Self {
        let (low, high) = interval.bounds();
        let mut grid: Vec<f64> = (0..GRID)
            .map(|place| (place as f64 + 0.5) / GRID as f64)
            .collect();
        interval.quantiles(&mut grid);
        Self {
            oracle,
            low,
            high,
            grid,
        }
    }
}

impl<X: ?Sized> PointPolicy<X> for GreedyPolicy<'_, X> {
    fn action(&self, x: &X, work: &mut TargetWork<f64>) -> Result<f64, TargetError> {
        let curve = LossCurve::new(self.oracle, x, &mut work.prepared)?;
        if let Some((pieces, prepared)) = curve.monotone_pieces() {
            return Ok(pieces.argmin(prepared).clamp(self.low, self.high));
        }
        curve.predict(&self.grid, &mut work.fhats)?;
        let best = work
            .fhats
            .iter()
            .enumerate()
            .min_by(|a, b| a.1.total_cmp(b.1))
            .map_or(0, |(place, _)| place);
        Ok(self.grid[best])
    }
}
