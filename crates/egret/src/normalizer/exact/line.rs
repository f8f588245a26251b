use std::convert::Infallible;

use crate::event::{Action, Batch, action::as_points};
use crate::measure::LineMeasure;
use crate::normalizer::exact::{self, Slope, TOLERANCE, solve};
use crate::numeric::{
    EventRng,
    lanes::{LANES, tree},
};
use crate::oracle::{LossCurve, MonotonePieces, NanPrediction};
use crate::sampling::{Igw, SampleError, proposer::Proposals, rejection_sampler::Accepted};

/// Solves z(β) = 1 on an interval, given the monotone pieces of f̂, and samples from the result.
///
/// In the quantile u of μ every measure on the line is uniform on [0, 1]. On a monotone piece g is τ up to the
/// point where f̂ = β and falls beyond it, over distances from 1/γ to 1. Cells start at that point and grow by a factor
/// of 4. An eight-point Gauss rule on each cell gives z, and its halves check it. g at the inner end of a cell is an
/// envelope; about half of the proposals under it are accepted, or more. The number of cells grows as ln γ, whatever τ is.
pub(crate) struct ExactLine<'a, X: ?Sized, A: Action> {
    pub line: &'a dyn LineMeasure,
    pub pieces: &'a dyn MonotonePieces,
    pub prepared: &'a [f64],
    pub curve: &'a LossCurve<'a, X, A>,
}

/// The buffers of pieces and cells.
#[derive(Debug, Default)]
pub(crate) struct LineBuffers {
    points: Vec<f64>,
    pieces: Vec<Piece>,
    cells: Vec<Cell>,
    good_cells: Vec<Cell>,
    sums: Vec<[f64; 2]>,
    nodes: Vec<f64>,
    masses: Vec<f64>,
    fhats: Vec<f64>,
}

/// A stretch of quantiles on which f̂ does not decrease from `inner` to `outer`; either end may be the smaller.
#[derive(Debug, Clone, Copy)]
struct Piece {
    inner: f64,
    outer: f64,
    least: f64,
    most: f64,
    /// Where f̂ = β was last found.
    crossing: f64,
}

/// Part of one piece. `start` is its end nearer to the minimum, where g is largest.
#[derive(Debug, Clone, Copy)]
struct Cell {
    start: f64,
    width: f64,
    /// f̂ at `start`.
    least: f64,
    /// ∫ g over it.
    z: f64,
}

impl Cell {
    /// The half next to the minimum, and the other.
    fn halves(&self) -> [Self; 2] {
        let width = 0.5 * self.width;
        [
            Self { width, ..*self },
            Self {
                start: self.start + width,
                width,
                ..*self
            },
        ]
    }
}

/// β with z(β) = 1, and z, if f̂ is constant on each piece: the pieces are the cells.
fn flat_beta(igw: &Igw, buffers: &mut LineBuffers) -> (f64, f64) {
    let LineBuffers {
        pieces,
        cells,
        masses,
        fhats,
        ..
    } = buffers;
    masses.clear();
    fhats.clear();
    for piece in pieces.iter() {
        masses.push((piece.outer - piece.inner).abs());
        fhats.push(piece.least);
    }
    let least = fhats.iter().copied().fold(1.0, f64::min);
    let at = |beta| exact::weighted(igw.tau(), igw.gamma(), beta, masses, fhats);
    let Ok((beta, z)) = solve::<Infallible>(igw, least, TOLERANCE, |beta| Ok(at(beta)));
    cells.clear();
    for piece in pieces.iter() {
        let width = piece.outer - piece.inner;
        cells.push(Cell {
            start: piece.inner,
            width,
            least: piece.least,
            z: width.abs() * igw.weight(piece.least, beta),
        });
    }
    (beta, z)
}

/// For the predictions on each cell, ∫ g/τ and its slope over γ, per width.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn cell_sums(gamma: f64, beta: f64, fhats: &[[f64; 9]], sums: &mut [[f64; 2]]) {
    for (sums, fhats) in sums.iter_mut().zip(fhats) {
        // The inner end has no weight: eight lanes.
        let (mut z, mut dz) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let gap = fhats[lane + 1] - beta;
            let share = 1.0 / (1.0 + gamma * gap.max(0.0));
            z[lane] = WEIGHTS[lane + 1] * share;
            dz[lane] = if 0.0 < gap { z[lane] * share } else { 0.0 };
        }
        *sums = [tree(z), tree(dz)];
    }
}

/// Where the Gauss rule looks, on [0, 1], and the inner end.
const NODES: [f64; 9] = [
    0.0,
    0.019_855_071_751_231_86,
    0.101_666_761_293_186_64,
    0.237_233_795_041_835_5,
    0.408_282_678_752_175_1,
    0.591_717_321_247_825,
    0.762_766_204_958_164_5,
    0.898_333_238_706_813_4,
    0.980_144_928_248_768_1,
];

/// Their weights: none for the end.
const WEIGHTS: [f64; 9] = [
    0.0,
    0.050_614_268_145_188_13,
    0.111_190_517_226_687_24,
    0.156_853_322_938_943_64,
    0.181_341_891_689_181,
    0.181_341_891_689_181,
    0.156_853_322_938_943_64,
    0.111_190_517_226_687_24,
    0.050_614_268_145_188_13,
];

/// By how much cells grow.
const RATIO: f64 = 4.0;

/// 1/g may grow by this fraction across the innermost cell.
const INNERMOST: f64 = 1.0 / 16.0;

/// How far the integral over a cell may be from the sum over its halves. The error of the halves is far smaller.
const CELL_TOLERANCE: f64 = 1e-8;

/// More cells than any smooth f̂ needs.
const MOST_CELLS: usize = 10_000;

/// Parts of a piece below this width are ignored: quantiles could not tell their ends apart.
const MIN_DISTANCE: f64 = 1e-12;

impl<X: ?Sized, A: Action> ExactLine<'_, X, A> {
    /// β with z(β) = 1, and z. Leaves the buffers ready for [`sample`](Self::sample).
    ///
    /// First it uses cells that suit most f̂, then it checks each cell against its halves. If a cell fails, it solves
    /// again on cells that are halved until they agree.
    pub(crate) fn beta(
        &self,
        igw: &Igw,
        buffers: &mut LineBuffers,
        work: &mut Proposals<A>,
    ) -> Result<(f64, f64), SampleError> {
        if self.pieces.is_flat() {
            return Ok(flat_beta(igw, buffers));
        }
        let guess = self.first_guess(igw, buffers, work)?;
        let (beta, _) = solve(igw, guess, TOLERANCE, |beta| {
            self.integrate(igw, beta, buffers, work)
        })?;
        let checked = self.refine(igw, beta, buffers, work)?;
        if (checked.z - 1.0).abs() <= 2.0 * TOLERANCE {
            return Ok((beta, checked.z));
        }
        solve(igw, beta, TOLERANCE, |beta| {
            self.integrate(igw, beta, buffers, work)?;
            self.refine(igw, beta, buffers, work)
        })
    }

    /// Finds the pieces; at most once for each context.
    pub(crate) fn find_pieces(
        &self,
        buffers: &mut LineBuffers,
        work: &mut Proposals<A>,
    ) -> Result<(), NanPrediction> {
        self.find_ends(buffers)?;
        if self.pieces.is_flat() {
            return self.find_flat_pieces(buffers, work);
        }
        self.find_monotone_pieces(buffers, work)?;
        self.split_where_clamped(buffers, work)
    }

    /// Makes `nodes` hold the two ends of each piece, in quantiles.
    fn find_ends(&self, buffers: &mut LineBuffers) -> Result<(), NanPrediction> {
        let LineBuffers { points, nodes, .. } = buffers;
        points.clear();
        self.pieces.break_points(self.prepared, points);
        if points.iter().any(|point| point.is_nan()) {
            return Err(NanPrediction);
        }
        for point in points.iter_mut() {
            *point = self.line.cdf(*point);
        }
        points.retain(|point| 0.0 < *point && *point < 1.0);
        points.insert(0, 0.0);
        points.push(1.0);
        if !points.is_sorted() {
            points.sort_unstable_by(f64::total_cmp);
        }
        // Just inside: f̂ may jump at a break point, whose own value then belongs to one side.
        nodes.clear();
        for ends in points.windows(2) {
            let inset = MIN_DISTANCE * (ends[1] - ends[0]);
            if ends[0] + inset < ends[1] - inset {
                nodes.extend([ends[0] + inset, ends[1] - inset]);
            }
        }
        Ok(())
    }

    /// Pieces on which f̂ is constant.
    fn find_flat_pieces(
        &self,
        buffers: &mut LineBuffers,
        work: &mut Proposals<A>,
    ) -> Result<(), NanPrediction> {
        let LineBuffers {
            points,
            pieces,
            nodes,
            fhats,
            ..
        } = buffers;
        let ends = nodes.as_chunks::<2>().0.iter();
        // The value in the middle: an end may round into the next piece.
        points.clear();
        points.extend(ends.clone().map(|[low, high]| low + 0.5 * (high - low)));
        self.predict(points, fhats, work)?;
        pieces.clear();
        pieces.extend(ends.zip(&*fhats).map(|(&[low, high], &fhat)| Piece {
            inner: low,
            outer: high,
            least: fhat,
            most: fhat,
            crossing: low,
        }));
        Ok(())
    }

    /// Pieces from the end with the smaller prediction to the other.
    fn find_monotone_pieces(
        &self,
        buffers: &mut LineBuffers,
        work: &mut Proposals<A>,
    ) -> Result<(), NanPrediction> {
        let LineBuffers {
            pieces,
            nodes,
            fhats,
            ..
        } = buffers;
        self.predict(nodes, fhats, work)?;
        pieces.clear();
        for (ends, fhats) in nodes
            .as_chunks::<2>()
            .0
            .iter()
            .zip(fhats.as_chunks::<2>().0)
        {
            let (inner, outer) = if fhats[0] <= fhats[1] { (0, 1) } else { (1, 0) };
            pieces.push(Piece {
                inner: ends[inner],
                outer: ends[outer],
                least: fhats[inner],
                most: fhats[outer],
                crossing: ends[inner],
            });
        }
        Ok(())
    }

    /// Splits pieces where predictions are clamped to 0 or to 1: f̂ is not smooth there.
    fn split_where_clamped(
        &self,
        buffers: &mut LineBuffers,
        work: &mut Proposals<A>,
    ) -> Result<(), NanPrediction> {
        let LineBuffers {
            points,
            pieces,
            fhats,
            ..
        } = buffers;
        for index in 0..pieces.len() {
            let piece = pieces[index];
            if piece.least == 0.0 && 0.0 < piece.most {
                let edge = self.edge(&piece, |fhat| fhat == 0.0, points, fhats, work)?;
                pieces[index].inner = edge;
                pieces[index].crossing = edge;
                pieces.push(Piece {
                    outer: edge,
                    most: 0.0,
                    ..piece
                });
            }
            let piece = pieces[index];
            if piece.least < 1.0 && piece.most == 1.0 {
                let edge = self.edge(&piece, |fhat| fhat < 1.0, points, fhats, work)?;
                pieces[index].outer = edge;
                pieces.push(Piece {
                    inner: edge,
                    crossing: edge,
                    least: 1.0,
                    ..piece
                });
            }
        }
        Ok(())
    }

    /// The first point, from the inner end, where the prediction is not `near`.
    fn edge(
        &self,
        piece: &Piece,
        near: impl Fn(f64) -> bool,
        points: &mut Vec<f64>,
        fhats: &mut Vec<f64>,
        work: &mut Proposals<A>,
    ) -> Result<f64, NanPrediction> {
        const PARTS: usize = 16;
        let (mut inner, mut outer) = (piece.inner, piece.outer);
        for _ in 0..9 {
            let width = (outer - inner) / PARTS as f64;
            points.clear();
            points.extend((1..PARTS).map(|part| inner + width * part as f64));
            self.predict(points, fhats, work)?;
            let inside = fhats.iter().take_while(|fhat| near(**fhat)).count();
            outer = points.as_slice().get(inside).copied().unwrap_or(outer);
            inner = inside.checked_sub(1).map_or(inner, |last| points[last]);
        }
        Ok(outer)
    }

    /// β from a few points on each piece, as if f̂ were constant around each.
    fn first_guess(
        &self,
        igw: &Igw,
        buffers: &mut LineBuffers,
        work: &mut Proposals<A>,
    ) -> Result<f64, NanPrediction> {
        let LineBuffers {
            pieces,
            nodes,
            masses,
            fhats,
            ..
        } = buffers;
        nodes.clear();
        masses.clear();
        for piece in pieces.iter() {
            let span = piece.outer - piece.inner;
            let mut outer = 1.0;
            while 0.3 < igw.gamma() * outer && MIN_DISTANCE < outer {
                nodes.push(piece.inner + 0.7 * outer * span);
                masses.push(0.5 * outer * span.abs());
                outer *= 0.5;
            }
            nodes.push(piece.inner + 0.5 * outer * span);
            masses.push(outer * span.abs());
        }
        self.predict(nodes, fhats, work)?;
        let least = fhats.iter().copied().fold(1.0, f64::min);
        let (beta, _) = solve(igw, least, 0.01, |beta| {
            Ok(exact::weighted(igw.tau(), igw.gamma(), beta, masses, fhats))
        })?;
        Ok(beta)
    }

    /// Lays out the cells for β and integrates g over them.
    fn integrate(
        &self,
        igw: &Igw,
        beta: f64,
        buffers: &mut LineBuffers,
        work: &mut Proposals<A>,
    ) -> Result<Slope, NanPrediction> {
        buffers.cells.clear();
        buffers.nodes.clear();
        buffers.masses.clear();
        for index in 0..buffers.pieces.len() {
            let piece = &mut buffers.pieces[index];
            let start = if piece.most <= beta {
                piece.outer
            } else if piece.least < beta {
                piece.crossing = self.crossing(igw, piece, beta, &mut buffers.fhats, work)?;
                piece.crossing
            } else {
                piece.inner
            };
            let piece = *piece;
            if start != piece.inner {
                buffers.push(piece.inner, start - piece.inner);
            }
            if start != piece.outer {
                let from = piece.least.max(beta);
                let change =
                    igw.gamma() * (piece.most - from) / (1.0 + igw.gamma() * (from - beta));
                buffers.push_growing(start, piece.outer - start, change);
            }
        }
        self.predict(&buffers.nodes, &mut buffers.fhats, work)?;
        for (cell, fhats) in buffers
            .cells
            .iter_mut()
            .zip(buffers.fhats.as_chunks::<9>().0)
        {
            cell.least = fhats[0];
        }
        Ok(exact::weighted(
            igw.tau(),
            igw.gamma(),
            beta,
            &buffers.masses,
            &buffers.fhats,
        ))
    }

    /// Integrates g over the cells again, halving each until its halves agree with it.
    fn refine(
        &self,
        igw: &Igw,
        beta: f64,
        buffers: &mut LineBuffers,
        work: &mut Proposals<A>,
    ) -> Result<Slope, SampleError> {
        let LineBuffers {
            cells,
            good_cells,
            nodes,
            fhats,
            sums,
            ..
        } = buffers;
        let (tau, gamma) = (igw.tau(), igw.gamma());
        let mut total = Slope {
            z: 0.0,
            dz: 0.0,
            capped: false,
        };
        good_cells.clear();
        sums.resize(cells.len(), [0.0; 2]);
        cell_sums(gamma, beta, fhats.as_chunks::<9>().0, sums);
        for (cell, sums) in cells.iter_mut().zip(sums.iter()) {
            cell.z = tau * cell.width.abs() * sums[0];
        }
        while !cells.is_empty() {
            nodes.clear();
            for half in cells.iter().flat_map(Cell::halves) {
                nodes.extend(NODES.map(|node| half.start + half.width * node));
            }
            self.predict(nodes, fhats, work)?;
            let fhats = fhats.as_chunks::<9>().0;
            sums.resize(fhats.len(), [0.0; 2]);
            cell_sums(gamma, beta, fhats, sums);
            let looked_at = cells.len();
            for index in 0..looked_at {
                let cell = cells[index];
                let mass = 0.5 * tau * cell.width.abs();
                let [[left, left_slope], [right, right_slope]] =
                    [sums[2 * index], sums[2 * index + 1]];
                if (mass * (left + right) - cell.z).abs() <= CELL_TOLERANCE {
                    total.z += mass * (left + right);
                    total.dz += gamma * mass * (left_slope + right_slope);
                    total.capped |= cell.least <= beta;
                    good_cells.push(cell);
                } else {
                    let [mut inner, mut outer] = cell.halves();
                    (inner.z, outer.z) = (mass * left, mass * right);
                    outer.least = fhats[2 * index + 1][0];
                    cells.extend([inner, outer]);
                }
            }
            cells.drain(..looked_at);
            if MOST_CELLS < good_cells.len() + cells.len() {
                return Err(SampleError::NotSmooth);
            }
        }
        std::mem::swap(cells, good_cells);
        Ok(total)
    }

    /// Where f̂ = β on a piece, to within 1e-5/γ in f̂: the secant method inside a bracket.
    fn crossing(
        &self,
        igw: &Igw,
        piece: &Piece,
        beta: f64,
        fhats: &mut Vec<f64>,
        work: &mut Proposals<A>,
    ) -> Result<f64, NanPrediction> {
        let mut below = (piece.inner, piece.least - beta);
        let mut above = (piece.outer, piece.most - beta);
        let mut point = piece.crossing;
        if point == piece.inner {
            point = below.0 + (above.0 - below.0) * below.1 / (below.1 - above.1);
        }
        // After a point on the same side twice, the other side's value is halved (the Illinois rule).
        let mut side = 0;
        for _ in 0..100 {
            self.predict(&[point], fhats, work)?;
            let excess = fhats[0] - beta;
            if excess.abs() <= 1e-5 / igw.gamma() {
                break;
            }
            if excess < 0.0 {
                below = (point, excess);
                above.1 *= if side == -1 { 0.5 } else { 1.0 };
                side = -1;
            } else {
                above = (point, excess);
                below.1 *= if side == 1 { 0.5 } else { 1.0 };
                side = 1;
            }
            let next = below.0 + (above.0 - below.0) * below.1 / (below.1 - above.1);
            if next == below.0 || next == above.0 {
                break;
            }
            point = next;
        }
        Ok(point)
    }

    /// Draws an action with density g/z: a cell by its envelope, then a uniform point in it, accepted with probability
    /// g/envelope. On flat pieces an action has the value of its own cell; cells are in the order of the pieces.
    pub(crate) fn sample(
        &self,
        igw: &Igw,
        beta: f64,
        budget: usize,
        rng: &mut EventRng,
        buffers: &mut LineBuffers,
        work: &mut Proposals<A>,
    ) -> Result<Accepted<A>, SampleError> {
        let top = |cell: &Cell| igw.weight(cell.least, beta);
        let LineBuffers { cells, masses, .. } = buffers;
        masses.clear();
        masses.extend(cells.iter().map(|cell| cell.width.abs() * top(cell)));
        let total: f64 = masses.iter().sum();
        for proposals in 1..=budget {
            let mut mass = rng.unit() * total;
            let last = buffers.cells.len() - 1;
            let index = buffers.masses[..last]
                .iter()
                .position(|envelope| {
                    mass -= envelope;
                    mass <= 0.0
                })
                .unwrap_or(last);
            let cell = buffers.cells[index];
            let point = cell.start + rng.unit() * cell.width;
            self.predict(&[point], &mut buffers.fhats, work)?;
            let fhat = buffers.fhats[0];
            if self.pieces.is_flat() && fhat != cell.least {
                // Rounding may carry an action over the edge of its piece, no further.
                let nearest = index.saturating_sub(1)..(index + 2).min(buffers.cells.len());
                if (buffers.cells[nearest].iter()).any(|other| other.least == fhat) {
                    continue;
                }
                return Err(SampleError::NotMonotone);
            }
            let (g, top) = (igw.weight(fhat, beta), top(&cell));
            if top * (1.0 + 1e-6) < g {
                return Err(SampleError::NotMonotone);
            }
            if rng.unit() * top <= g {
                return Ok(Accepted {
                    action: work.actions.get(0),
                    fhat,
                    proposals,
                });
            }
        }
        Err(SampleError::BudgetSpent { proposals: budget })
    }

    /// f̂ at quantiles.
    fn predict(
        &self,
        quantiles: &[f64],
        fhats: &mut Vec<f64>,
        work: &mut Proposals<A>,
    ) -> Result<(), NanPrediction> {
        let points = as_points::<A>(&mut work.actions).expect("actions on the line are numbers");
        points.clear();
        points.extend_from_slice(quantiles);
        self.line.quantiles(points);
        self.curve.predict(&work.actions, fhats)
    }
}

impl LineBuffers {
    /// One more than there are break points; those outside count too.
    pub(crate) fn count_pieces(&mut self, pieces: &dyn MonotonePieces, prepared: &[f64]) -> usize {
        self.points.clear();
        pieces.break_points(prepared, &mut self.points);
        self.points.len() + 1
    }

    fn push(&mut self, start: f64, width: f64) {
        self.cells.push(Cell {
            start,
            width,
            least: 0.0,
            z: 0.0,
        });
        self.nodes.extend(NODES.map(|node| start + width * node));
        self.masses
            .extend(WEIGHTS.map(|weight| width.abs() * weight));
    }

    /// Cells from `start` on, each four times as far as the one before, the first so small that g changes
    /// little across it if 1/g grows by the part `change` over all of `width`.
    fn push_growing(&mut self, start: f64, width: f64, change: f64) {
        let mut outer = 1.0;
        while INNERMOST < change * outer && MIN_DISTANCE < outer {
            let inner = outer / RATIO;
            self.push(start + inner * width, (outer - inner) * width);
            outer = inner;
        }
        self.push(start, outer * width);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;
    use crate::event::Context;
    use crate::measure::{BetaPrior, Interval, TruncatedNormal};
    use crate::numeric::Stream;
    use crate::oracle::{
        ArgminDispersion, FunctionOnInterval, FunctionOracle, LearningRate, LinearArgmin,
        PiecewiseConstant, RegressionOracle,
    };

    /// Calls `test` with the exact line of an oracle at a context.
    fn with_line<X>(
        oracle: &dyn RegressionOracle<X, f64>,
        x: &X,
        line: &dyn LineMeasure,
        test: impl FnOnce(ExactLine<'_, X, f64>),
    ) {
        let mut prepared = Vec::new();
        let curve = LossCurve::new(oracle, x, &mut prepared).expect("a context");
        let (pieces, prepared) = curve.monotone_pieces().expect("it tells them");
        test(ExactLine {
            line,
            pieces,
            prepared,
            curve: &curve,
        });
    }

    /// z(β) by a million midpoints of quantiles.
    fn brute_force(exact: &ExactLine<'_, impl Sized, f64>, igw: &Igw, beta: f64) -> f64 {
        by_midpoints(1_000_000, exact, igw, beta)
    }

    fn by_midpoints(n: u32, exact: &ExactLine<'_, impl Sized, f64>, igw: &Igw, beta: f64) -> f64 {
        let nodes: Vec<f64> = (0..n)
            .map(|i| (f64::from(i) + 0.5) / f64::from(n))
            .collect();
        let mut fhats = Vec::new();
        exact
            .predict(&nodes, &mut fhats, &mut Proposals::default())
            .expect("no NaN");
        crate::sampling::normalizing_constant::mean_weight(igw, beta, &fhats)
    }

    /// A function whose minimum, turn and plateau at 1 are all inside.
    fn bumpy() -> impl RegressionOracle<f64, f64> {
        FunctionOnInterval::new(
            |x: &f64, actions: &Vec<f64>, out: &mut [f64]| {
                for (out, a) in out.iter_mut().zip(actions) {
                    let z = (a - x).abs();
                    *out = if *a < 0.8 {
                        0.1 + 2.0 * z
                    } else {
                        0.1 + 2.0 * (0.8 - x) - 0.5 * (a - 0.8)
                    };
                }
            },
            |x: &f64, out: &mut Vec<f64>| {
                out.extend([*x, 0.8]);
                *x
            },
        )
    }

    #[test]
    fn z_is_one_by_brute_force_too() {
        let unit = Interval::new(0.0, 1.0).expect("in order");
        let normal = TruncatedNormal::new(0.7, 0.2, 0.0, 1.0).expect("in range");
        let lines: [&dyn LineMeasure; 2] = [&unit, &normal];
        let bumpy = bumpy();
        for line in lines {
            for x in [0.0, 0.1, 0.35, 0.5] {
                for (tau, gamma) in [
                    (1.5, 0.5),
                    (2.0, 16.0),
                    (6.0, 9_000.0),
                    (40.0, 700.0),
                    (200.0, 6_368.0),
                    (2_048.0, 10.0),
                ] {
                    with_line(&bumpy, &x, line, |exact| {
                        let igw = Igw::new(tau, gamma).expect("in range");
                        let mut buffers = LineBuffers::default();
                        let mut work = Proposals::default();
                        exact.find_pieces(&mut buffers, &mut work).expect("no NaN");
                        let (beta, z) = exact.beta(&igw, &mut buffers, &mut work).expect("no NaN");
                        assert!((z - 1.0).abs() <= TOLERANCE, "{z} at {x} {tau} {gamma}");
                        // Midpoints of width h = 1e-6 miss by about (γh)² at the kinks.
                        let brute = brute_force(&exact, &igw, beta);
                        assert!(
                            (brute - z).abs() < 1e-5,
                            "{brute} at {x} {tau} {gamma}: beta {beta}"
                        );
                    });
                }
            }
        }
    }

    /// The first guess, the search for where f̂ = β and Newton's slope change no density; what they save is predictions.
    #[test]
    fn about_a_thousand_predictions_are_enough() {
        let predictions = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&predictions);
        let oracle = FunctionOnInterval::new(
            move |x: &f64, actions: &Vec<f64>, out: &mut [f64]| {
                counted.fetch_add(actions.len(), Ordering::Relaxed);
                for (out, a) in out.iter_mut().zip(actions) {
                    *out = 0.1 + (a - x).powi(2);
                }
            },
            |x: &f64, out: &mut Vec<f64>| {
                out.push(*x);
                *x
            },
        );
        let unit = Interval::new(0.0, 1.0).expect("in order");
        let (mut buffers, mut work) = Default::default();
        let mut per_decision = Vec::new();
        for (tau, gamma) in [(2.0, 16.0), (24.0, 1_945.0), (64.0, 1e5), (200.0, 6_368.0)] {
            let igw = Igw::new(tau, gamma).expect("in range");
            predictions.store(0, Ordering::Relaxed);
            for x in [0.1, 0.3, 0.45, 0.8] {
                with_line(&oracle, &x, &unit, |exact| {
                    exact.find_pieces(&mut buffers, &mut work).expect("no NaN");
                    exact.beta(&igw, &mut buffers, &mut work).expect("smooth");
                });
            }
            per_decision.push(predictions.load(Ordering::Relaxed) / 4);
        }
        // 489, 821, 1,288 and 668.
        let most = [510, 860, 1_350, 700];
        assert!(
            per_decision.iter().zip(most).all(|(&n, most)| n <= most),
            "{per_decision:?}"
        );
    }

    /// f̂ = f on [0, 1], with these break points.
    fn function(f: fn(f64) -> f64, breaks: &'static [f64]) -> impl RegressionOracle<(), f64> {
        FunctionOnInterval::new(
            move |(): &(), actions: &Vec<f64>, out: &mut [f64]| {
                for (out, a) in out.iter_mut().zip(actions) {
                    *out = f(*a);
                }
            },
            move |(): &(), out: &mut Vec<f64>| {
                out.extend(breaks);
                0.0
            },
        )
    }

    #[test]
    fn cut_off_values_steps_and_jumps_are_followed() {
        // Below 0 in the middle; a steep rise far from the minimum; a jump; a jump down to the minimum.
        let oracles: [Box<dyn RegressionOracle<(), f64>>; 4] = [
            Box::new(function(|a| 2.0 * (a - 0.4).abs() - 0.3, &[0.4])),
            Box::new(function(
                |a| 0.1 + 0.8 / (1.0 + ((0.6 - a) / 0.003).exp()),
                &[],
            )),
            Box::new(function(|a| if a < 0.3 { 0.2 + a } else { 0.7 }, &[0.3])),
            Box::new(function(
                |a| if a <= 0.5 { 0.9 } else { 0.3 + 0.4 * a },
                &[0.5],
            )),
        ];
        let unit = Interval::new(0.0, 1.0).expect("in order");
        for (index, oracle) in oracles.iter().enumerate() {
            for (tau, gamma) in [(1.5, 0.5), (8.0, 200.0), (24.0, 1_945.0), (100.0, 1_000.0)] {
                with_line(&**oracle, &(), &unit, |exact| {
                    let igw = Igw::new(tau, gamma).expect("in range");
                    let (mut buffers, mut work) = Default::default();
                    exact.find_pieces(&mut buffers, &mut work).expect("no NaN");
                    let (beta, z) = exact.beta(&igw, &mut buffers, &mut work).expect("smooth");
                    let brute = brute_force(&exact, &igw, beta);
                    // A million midpoints miss a jump of g ≤ τ by τ/2e6 at most.
                    let missed = 1e-6 + tau / 2e6;
                    assert!(
                        (brute - z).abs() < missed,
                        "{index}: {brute} {z} at {tau} {gamma}"
                    );
                    assert!((z - 1.0).abs() <= 2.0 * TOLERANCE, "{index}: {z}");
                    // E[1/p] = 1 within five standard errors, a false alarm in two million.
                    let mut rng = EventRng::new(7, index as u64, Stream::Action);
                    let (n, mut sum, mut squares) = (20_000, 0.0, 0.0);
                    for _ in 0..n {
                        let fhat = exact
                            .sample(&igw, beta, 1_000, &mut rng, &mut buffers, &mut work)
                            .expect("an action")
                            .fhat;
                        let weight = z / igw.weight(fhat, beta);
                        sum += weight;
                        squares += weight * weight;
                    }
                    let n = f64::from(n);
                    let error = ((squares / n - (sum / n).powi(2)) / n).sqrt();
                    assert!(
                        (sum / n - 1.0).abs() < 5.0 * error + 1e-9,
                        "{index}: {}",
                        sum / n
                    );
                });
            }
        }
    }

    /// f̂ = f at a share of the interval, in 128 steps.
    fn steps((low, high): (f64, f64), f: fn(f64) -> f64) -> PiecewiseConstant<()> {
        let inside = FunctionOracle::new(move |(): &(), actions: &Vec<f64>, out: &mut [f64]| {
            for (out, a) in out.iter_mut().zip(actions) {
                *out = f((a - low) / (high - low));
            }
        });
        PiecewiseConstant::new(Box::new(inside), (low, high), 128).expect("in range")
    }

    /// However narrow an interval is beside its offset, and however light the tails of μ.
    #[test]
    fn steps_are_weighed_by_their_own_values() {
        let uniform = |low, high| -> Box<dyn LineMeasure> {
            Box::new(Interval::new(low, high).expect("in order"))
        };
        let normal = |mean, sd, low, high| -> Box<dyn LineMeasure> {
            Box::new(TruncatedNormal::new(mean, sd, low, high).expect("in range"))
        };
        let beta = |a, b, low, high| -> Box<dyn LineMeasure> {
            Box::new(BetaPrior::new(a, b, low, high).expect("in range"))
        };
        let lines = [
            uniform(0.0, 1.0),
            uniform(1_000.0, 1_001.0),
            uniform(2_020.0, 2_025.0),
            uniform(-1e6 - 100.0, -1e6),
            uniform(1e6, 1e6 + 100.0),
            uniform(1.7e9, 1.7e9 + 86_400.0),
            // 1,311 numbers in a cell.
            uniform(1e12, 1e12 + 20.5),
            beta(40.0, 60.0, 2_020.0, 2_025.0),
            beta(0.5, 0.5, 1e6, 1e6 + 100.0),
            normal(0.3, 0.02, 0.0, 1.0),
            // Within a cell lies nearly all of it.
            normal(0.3, 1e-3, 0.0, 1.0),
            normal(2_021.0, 0.1, 2_020.0, 2_025.0),
            normal(1e6 + 150.0, 10.0, 1e6, 1e6 + 100.0),
        ];
        // A comb, a slope, waves.
        let functions: [fn(f64) -> f64; 3] = [
            |share| 0.9 * ((128.0 * share) as usize % 2) as f64,
            |share| share,
            |share| 0.5 + 0.5 * (40.0 * share).sin(),
        ];
        for (index, line) in lines.iter().enumerate() {
            for f in functions {
                let oracle = steps(line.bounds(), f);
                with_line(&oracle, &(), &**line, |exact| {
                    let igw = Igw::new(4.0, 40.0).expect("in range");
                    let (mut buffers, mut work) = Default::default();
                    exact.find_pieces(&mut buffers, &mut work).expect("no NaN");
                    let (beta, z) = exact.beta(&igw, &mut buffers, &mut work).expect("flat");
                    assert!((z - 1.0).abs() <= TOLERANCE, "{index}: {z}");
                    // Each of 127 jumps of g ≤ 4 is missed by 4/4e4 at most; more than 0.4 is to be seen.
                    let brute = by_midpoints(20_000, &exact, &igw, beta);
                    assert!((brute - z).abs() < 0.0127, "{index}: {brute} {z}");
                    // E[1/p] = 1, by Bernstein's inequality: a false alarm in a million, ln 2e6 < 14.6.
                    let (mut variance, mut most) = (-1.0, 1.0_f64);
                    for cell in &buffers.cells {
                        let weight = z / igw.weight(cell.least, beta);
                        variance += cell.width * weight;
                        most = most.max(weight);
                    }
                    let mut rng = EventRng::new(7, index as u64, Stream::Action);
                    let (n, mut sum) = (4_000, 0.0);
                    for _ in 0..n {
                        let drawn = exact
                            .sample(&igw, beta, 10, &mut rng, &mut buffers, &mut work)
                            .expect("an action");
                        sum += z / igw.weight(drawn.fhat, beta);
                    }
                    let (mean, per_draw) = (sum / f64::from(n), 14.6 / f64::from(n));
                    let allowed =
                        (2.0 * variance.max(0.0) * per_draw).sqrt() + most * per_draw / 3.0;
                    assert!((mean - 1.0).abs() < allowed, "{index}: {mean} {allowed}");
                });
            }
        }
    }

    #[test]
    fn break_points_that_do_not_tell_all_are_an_error() {
        let unit = Interval::new(0.0, 1.0).expect("in order");
        let igw = Igw::new(50.0, 5_000.0).expect("in range");
        // A hundred waves, none of them told; and noise that no number of cells follows.
        let waves = function(|a| 0.5 + 0.4 * (600.0 * a).sin(), &[]);
        let noise = function(|a| (a * 1e7).sin().abs(), &[]);
        let oracles: [Box<dyn RegressionOracle<(), f64>>; 2] = [Box::new(waves), Box::new(noise)];
        for oracle in &oracles {
            with_line(&**oracle, &(), &unit, |exact| {
                let (mut buffers, mut work) = Default::default();
                exact.find_pieces(&mut buffers, &mut work).expect("no NaN");
                let mut rng = EventRng::new(7, 0, Stream::Action);
                let outcome = exact
                    .beta(&igw, &mut buffers, &mut work)
                    .and_then(|(beta, _)| {
                        (0..1_000).try_for_each(|_| {
                            exact
                                .sample(&igw, beta, 1_000, &mut rng, &mut buffers, &mut work)
                                .map(|_| ())
                        })
                    });
                assert!(matches!(
                    outcome,
                    Err(SampleError::NotSmooth | SampleError::NotMonotone)
                ));
            });
        }
    }

    #[test]
    fn eight_points_are_enough_for_the_paper_s_oracle() {
        // f̂ = 3-term dispersion around ½; at γ = 10 brute force is good to 1e-9.
        let model = LinearArgmin::new(1).expect("one feature");
        let oracle =
            ArgminDispersion::new(model, (0.0, 1.0), LearningRate::default()).expect("in order");
        let x = Context::dense(vec![0.3]).expect("finite");
        let unit = Interval::new(0.0, 1.0).expect("in order");
        for (tau, gamma) in [(1.5, 2.0), (6.0, 10.0), (30.0, 40.0)] {
            with_line(&oracle, &x, &unit, |exact| {
                let igw = Igw::new(tau, gamma).expect("in range");
                let (mut buffers, mut work) = Default::default();
                exact.find_pieces(&mut buffers, &mut work).expect("no NaN");
                let (beta, z) = exact.beta(&igw, &mut buffers, &mut work).expect("no NaN");
                let brute = brute_force(&exact, &igw, beta);
                assert!((brute - z).abs() < 1e-8, "{brute} {z} at {tau} {gamma}");
            });
        }
    }

    #[test]
    fn at_least_a_third_of_the_proposals_is_accepted() {
        let bumpy = bumpy();
        let unit = Interval::new(0.0, 1.0).expect("in order");
        for (tau, gamma) in [(2.0, 16.0), (200.0, 6_368.0), (2_048.0, 180_000.0)] {
            with_line(&bumpy, &0.3, &unit, |exact| {
                let igw = Igw::new(tau, gamma).expect("in range");
                let (mut buffers, mut work) = Default::default();
                exact.find_pieces(&mut buffers, &mut work).expect("no NaN");
                let (beta, _) = exact.beta(&igw, &mut buffers, &mut work).expect("no NaN");
                let mut rng = EventRng::new(7, 0, Stream::Action);
                let proposals: usize = (0..1_000)
                    .map(|_| {
                        exact
                            .sample(&igw, beta, 1_000, &mut rng, &mut buffers, &mut work)
                            .expect("an action")
                            .proposals
                    })
                    .sum();
                assert!(proposals < 3_000, "{proposals} at {tau} {gamma}");
            });
        }
    }
}
