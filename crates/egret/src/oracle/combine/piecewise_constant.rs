use crate::codec::{LoadError, saved_state};
use crate::event::ContextError;
use crate::numeric::{OutOfRange, bounds::Bounds, pool::Pool};
use crate::oracle::{Example, GrowError, MonotonePieces, RegressionOracle};

/// Turns any oracle on an interval into a step function, so that z can be computed and κ = 1.
///
/// f̂(x, a) = f(x, m(a)),  m(a) the middle of the cell of a
///
/// with cells of equal width. z is a sum over cells, so β and the action need no draws, and the cost does not grow with γ.
/// Actions within a cell look the same: with 128 cells an action is off by at most 1/256 of the interval. The interval may
/// lie far from 0, as long as each cell contains at least 1,024 distinct values of an `f64`.
///
/// The oracle inside learns from the actions as they were played.
///
/// ```
/// use egret::{FunctionOracle, LossCurve, PiecewiseConstant};
///
/// let slope = FunctionOracle::new(|_: &(), actions: &Vec<f64>, out: &mut [f64]| {
///     out.copy_from_slice(actions);
/// });
/// let oracle = PiecewiseConstant::new(Box::new(slope), (0.0, 1.0), 4)?;
/// let (mut buffer, mut fhat) = (Vec::new(), Vec::new());
/// let curve = LossCurve::new(&oracle, &(), &mut buffer)?;
/// curve.predict(&vec![0.0, 0.2, 0.3, 1.0], &mut fhat)?;
/// assert_eq!(fhat, [0.125, 0.125, 0.375, 0.875]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PiecewiseConstant<X: ?Sized> {
    oracle: Box<dyn RegressionOracle<X, f64>>,
    bounds: Bounds,
    width: f64,
    middles: Vec<f64>,
    buffers: Pool<Vec<f64>>,
}

impl<X: ?Sized> PiecewiseConstant<X> {
    /// For actions between `low` and `high`, with 2 to 65,536 cells. Cells so narrow that rounding would move actions
    /// between them are refused.
    pub fn new(
        oracle: Box<dyn RegressionOracle<X, f64>>,
        (low, high): (f64, f64),
        cells: usize,
    ) -> Result<Self, OutOfRange> {
        let bounds = Bounds::new(low, high)?;
        let allowed = (2..=1 << 16).contains(&cells);
        OutOfRange::unless(allowed, "cells", cells as f64, "[2, 65536]")?;
        let width = (high - low) / cells as f64;
        let largest = low.abs().max(high.abs());
        let apart = largest - largest.next_down();
        OutOfRange::unless(
            NUMBERS_IN_A_CELL * apart <= width,
            "width of a cell",
            width,
            "at least 1024 times the distance between neighbouring numbers",
        )?;
        Ok(Self {
            oracle,
            bounds,
            width,
            middles: (0..cells)
                .map(|cell| low + width * (cell as f64 + 0.5))
                .collect(),
            buffers: Pool::default(),
        })
    }

    /// Where a cell begins.
    fn edge(&self, cell: usize) -> f64 {
        self.bounds.low() + self.width * cell as f64
    }

    /// Which cell an action is in, by the same edges as the break points. Actions outside belong to the nearest cell.
    fn cell(&self, action: f64) -> usize {
        let last = self.middles.len() - 1;
        let cell = (((action - self.bounds.low()) / self.width) as usize).min(last);
        // The quotient is rounded.
        if action < self.edge(cell) {
            cell.saturating_sub(1)
        } else if cell < last && self.edge(cell + 1) <= action {
            cell + 1
        } else {
            cell
        }
    }
}

const KIND: &str = "steps";

/// With fewer, rounding would move more than a thousandth of a cell's actions into another.
const NUMBERS_IN_A_CELL: f64 = 1024.0;

impl<X: ?Sized> RegressionOracle<X, f64> for PiecewiseConstant<X> {
    /// The value of each cell.
    fn prepare(&self, x: &X, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        self.buffers.with(|buffer| {
            buffer.clear();
            self.oracle.prepare(x, buffer)?;
            prepared.resize(self.middles.len(), 0.0);
            self.oracle.predict(x, buffer, &self.middles, prepared);
            Ok(())
        })
    }

    fn predict(&self, _: &X, prepared: &[f64], actions: &Vec<f64>, out: &mut [f64]) {
        for (out, &action) in out.iter_mut().zip(actions) {
            *out = if action.is_nan() {
                f64::NAN
            } else {
                prepared[self.cell(action)]
            };
        }
    }

    fn learn(&mut self, batch: &[Example<'_, X, f64>]) -> Result<(), ContextError> {
        self.oracle.learn(batch)
    }

    /// How many cells, then the state of the oracle inside.
    fn save(&self) -> Vec<u8> {
        saved_state::to_bytes(KIND, &(self.middles.len(), self.oracle.save()))
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        let (cells, inside): (usize, Vec<u8>) = saved_state::from_bytes(KIND, state)?;
        saved_state::expect_same("cells:", &cells, &self.middles.len())?;
        self.oracle.load(&inside)
    }

    fn grow(&mut self, dim: usize) -> Result<bool, GrowError> {
        self.oracle.grow(dim)
    }

    fn squared_error(&self) -> Option<f64> {
        self.oracle.squared_error()
    }

    fn forgotten(&self) -> f64 {
        self.oracle.forgotten()
    }

    fn monotone_pieces(&self) -> Option<&dyn MonotonePieces> {
        Some(self)
    }
}

impl<X: ?Sized> MonotonePieces for PiecewiseConstant<X> {
    /// The middle of the first cell with the least value.
    fn argmin(&self, prepared: &[f64]) -> f64 {
        let mut best = 0;
        for (cell, value) in prepared.iter().enumerate() {
            if value.clamp(0.0, 1.0) < prepared[best].clamp(0.0, 1.0) {
                best = cell;
            }
        }
        self.middles[best]
    }

    fn break_points(&self, prepared: &[f64], out: &mut Vec<f64>) {
        out.extend((1..prepared.len()).map(|cell| self.edge(cell)));
    }

    fn is_flat(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Loss;
    use crate::learner::{Learner, Settings};
    use crate::measure::{Interval, TruncatedNormal};
    use crate::oracle::{FunctionOracle, LossCurve};

    /// Two valleys, told to nobody.
    fn valleys(x: f64, a: f64) -> f64 {
        ((a - x).abs().min((a + x - 1.0).abs() + 0.05)).min(1.0)
    }

    fn oracle(cells: usize) -> PiecewiseConstant<f64> {
        let inside = FunctionOracle::new(|x: &f64, actions: &Vec<f64>, out: &mut [f64]| {
            for (out, &a) in out.iter_mut().zip(actions) {
                *out = valleys(*x, a);
            }
        });
        PiecewiseConstant::new(Box::new(inside), (0.0, 1.0), cells).expect("in range")
    }

    #[test]
    fn a_cell_has_one_value() {
        let (oracle, mut buffer, mut fhat) = (oracle(10), Vec::new(), Vec::new());
        let curve = LossCurve::new(&oracle, &0.23, &mut buffer).expect("any context");
        let actions = vec![-1.0, 0.0, 0.0999, 0.2001, 0.2999, 1.0, 2.0];
        curve.predict(&actions, &mut fhat).expect("numbers");
        let middles = [0.05, 0.05, 0.05, 0.25, 0.25, 0.95, 0.95];
        for (fhat, middle) in fhat.iter().zip(middles) {
            assert!((fhat - valleys(0.23, middle)).abs() < 1e-12);
        }
        assert!(curve.predict(&vec![f64::NAN], &mut fhat).is_err());
        let (pieces, prepared) = curve.monotone_pieces().expect("steps");
        assert!((pieces.argmin(prepared) - 0.25).abs() < 1e-12);
        let mut points = Vec::new();
        pieces.break_points(prepared, &mut points);
        assert_eq!(points.len(), 9);
    }

    /// A break point is in the cell after it and the number before it in the cell before, wherever the interval lies.
    #[test]
    fn cells_begin_at_the_break_points() {
        for (low, high) in [
            (0.0, 1.0),
            (0.1, 0.7),
            (2_020.0, 2_025.0),
            (-1e9, -1e9 + 7.0),
        ] {
            for cells in [3, 10, 128, 1_000] {
                let inside = FunctionOracle::new(|_: &f64, actions: &Vec<f64>, out: &mut [f64]| {
                    out.copy_from_slice(actions);
                });
                let oracle =
                    PiecewiseConstant::new(Box::new(inside), (low, high), cells).expect("in range");
                let mut middles = Vec::new();
                oracle.prepare(&0.0, &mut middles).expect("any context");
                let mut points = Vec::new();
                oracle.break_points(&middles, &mut points);
                for (place, point) in points.into_iter().enumerate() {
                    let mut out = [0.0; 2];
                    let actions = vec![point.next_down(), point];
                    oracle.predict(&0.0, &middles, &actions, &mut out);
                    assert_eq!(
                        out,
                        middles[place..place + 2],
                        "{place} of {cells} from {low}"
                    );
                }
            }
        }
    }

    /// Decisions state g/z with z = 1, and fall into each cell as often as it says: 16 cells, so a χ² with 15 degrees
    /// of freedom, above 44.3 with probability 1e-4.
    #[test]
    fn densities_are_exact_and_draws_follow_them() {
        let measures: [Box<dyn crate::measure::ReferenceMeasure<f64, f64>>; 2] = [
            Box::new(Interval::new(0.0, 1.0).expect("in range")),
            Box::new(TruncatedNormal::new(0.4, 0.3, 0.0, 1.0).expect("in range")),
        ];
        for measure in measures {
            let settings = Settings {
                taus: vec![5.0],
                gamma: crate::explorer::GammaSchedule::constant(40.0).expect("in range"),
                ..Settings::paper()
            };
            let learner =
                Learner::new(measure, Box::new(oracle(16)), settings).expect("a good learner");
            assert!(learner.computes_z());
            let line = |learner: &Learner<f64, f64>, a: f64| {
                learner.measure().as_line().expect("an interval").cdf(a)
            };
            let (mut counts, mut densities) = ([0.0; 16], [0.0; 16]);
            let decisions = 20_000;
            for event in 0..decisions {
                let decision = learner.decide(event, &0.3).expect("an action");
                let cell = ((decision.action * 16.0) as usize).min(15);
                counts[cell] += 1.0;
                densities[cell] = decision.propensity.density().expect("a density").get();
                let capped = decision.capped_igw.expect("CappedIGW says how it drew");
                assert!((capped.z.value - 1.0).abs() < 1e-6 && capped.z.draws == 0);
                assert_eq!(decision.proposals, 1);
            }
            let (mut chi_squared, mut total) = (0.0, 0.0);
            for cell in 0..16 {
                let edge = |cell: usize| line(&learner, cell as f64 / 16.0);
                let mass = (edge(cell + 1) - edge(cell)) * densities[cell];
                let expected = mass * decisions as f64;
                chi_squared += (counts[cell] - expected) * (counts[cell] - expected) / expected;
                total += mass;
            }
            assert!((total - 1.0).abs() < 1e-6, "{total}");
            assert!(chi_squared < 44.3, "{chi_squared}");
        }
    }

    #[test]
    fn what_is_inside_learns_and_is_saved() {
        struct Counts(u8);
        impl RegressionOracle<f64, f64> for Counts {
            fn prepare(&self, _: &f64, _: &mut Vec<f64>) -> Result<(), ContextError> {
                Ok(())
            }
            fn predict(&self, _: &f64, _: &[f64], _: &Vec<f64>, out: &mut [f64]) {
                out.fill(f64::from(self.0) / 10.0);
            }
            fn learn(&mut self, batch: &[Example<'_, f64, f64>]) -> Result<(), ContextError> {
                self.0 += batch.len() as u8;
                Ok(())
            }
            fn save(&self) -> Vec<u8> {
                vec![self.0]
            }
            fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
                self.0 = state[0];
                Ok(())
            }
        }
        let mut oracle =
            PiecewiseConstant::new(Box::new(Counts(0)), (0.0, 1.0), 4).expect("in range");
        let example = Example {
            x: &0.5,
            action: &0.5,
            loss: Loss::new(0.5).expect("a loss").into(),
            weight: crate::event::Weight::ONE,
        };
        oracle.learn(&[example, example]).expect("two more");
        let saved = oracle.save();
        let steps = |cells| {
            PiecewiseConstant::new(Box::new(Counts(7)), (0.0, 1.0), cells).expect("in range")
        };
        let mut other = steps(4);
        other.load(&saved).expect("as saved");
        let mut prepared = Vec::new();
        other.prepare(&0.5, &mut prepared).expect("any context");
        assert_eq!(prepared, [0.2; 4]);
        assert_eq!(other.save(), saved);
        // Other cells, or no steps at all, are another oracle.
        let error = steps(8).load(&saved).expect_err("four cells");
        assert_eq!(
            error.to_string(),
            "saved from cells: 4, but loaded into cells: 8"
        );
        assert!(other.load(&[7]).is_err());
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let inside = || FunctionOracle::new(|_: &f64, _: &Vec<f64>, out: &mut [f64]| out.fill(0.5));
        for (bounds, cells) in [
            ((0.0, 1.0), 1),
            ((0.0, 1.0), 100_000),
            ((1.0, 0.0), 8),
            ((f64::NAN, 1.0), 8),
            // 10 numbers in a cell.
            ((1e15, 1e15 + 10.0), 8),
        ] {
            assert!(PiecewiseConstant::new(Box::new(inside()), bounds, cells).is_err());
        }
    }
}
