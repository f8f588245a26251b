use crate::event::{Action, Batch, Vectors, action::as_vectors};
use crate::explorer::DecideError;
use crate::explorer::zoom::rows;
use crate::measure::{ReferenceMeasure, Regions};
use crate::numeric::EventRng;
use crate::oracle::LossCurve;
use crate::sampling::proposer::Proposals;

/// A descent of f̂(x, ·) over coordinates, from predictions alone.
///
/// Each step predicts at the point and a little to both sides of it in each coordinate. A parabola through the three says how
/// far to go in that coordinate; where there is none, it goes downhill. Of several lengths of this step, of the step with
/// half of the last one added, and of the best single coordinate, the one with the least f̂ is taken. The sides come closer from step to step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Descent {
    point: Vec<f64>,
    value: f64,
    /// The step, the last one, and the one under trial: in shares of the width of the space.
    step: Vec<f64>,
    last: Vec<f64>,
    trial: Vec<f64>,
    /// What is predicted, where actions are no vectors.
    rows: Vectors,
}

/// How many draws of μ it may start from, beside the middle.
const STARTS: usize = 32;

/// About how many coordinates are moved in all steps together: with more coordinates there are fewer steps, from 8 to 3.
const MOVES: usize = 160;

/// How far the sides are at first, as a share of the width of the space.
const FIRST_WIDTH: f64 = 0.25;

/// The lengths that a step is tried at.
const LENGTHS: [f64; 6] = [1.0, 0.5, 2.0, 0.25, 0.125, 0.03];

impl Descent {
    /// Where it ended.
    pub(crate) fn point(&self) -> &[f64] {
        &self.point
    }
}

/// Leaves the vector of least f̂ in `descent`. The same context finds the same.
pub(crate) fn best<X: ?Sized, A: Action>(
    x: &X,
    measure: &dyn ReferenceMeasure<X, A>,
    regions: &dyn Regions,
    curve: &LossCurve<'_, X, A>,
    descent: &mut Descent,
    work: &mut Proposals<A>,
) -> Result<(), DecideError> {
    let dim = regions.dim();
    work.actions.clear();
    if as_vectors::<A>(&mut work.actions).is_some() {
        let rng = &mut EventRng::before_events(0);
        measure.sample(x, STARTS, rng, &mut work.actions);
        let vectors = as_vectors::<A>(&mut work.actions).ok_or(DecideError::NoArgmin)?;
        regions.middle(vectors.extend(1, dim));
    } else {
        let mut rng = EventRng::before_events(0);
        let mut middle = vec![0.0; dim];
        regions.middle(&mut middle);
        rows::fill(
            (x, measure),
            (STARTS + 1, dim),
            &mut descent.rows,
            work,
            |rows| {
                let mut rows = rows.chunks_exact_mut(dim);
                for row in rows.by_ref().take(STARTS) {
                    regions.draw(&middle, 0, &mut rng, row);
                }
                rows.for_each(|row| row.copy_from_slice(&middle));
            },
        );
    }
    curve.predict(&work.actions, &mut work.fhats)?;
    let start = least(&work.fhats);
    descent.point.clear();
    let row = rows::row(start, &descent.rows, work);
    descent.point.extend_from_slice(row);
    descent.value = work.fhats[start];
    descent.last.clear();
    descent.last.resize(dim, 0.0);
    let mut width = FIRST_WIDTH;
    let place = (x, measure);
    descent.choose(place, regions, curve, work)?;
    for _ in 0..(MOVES / dim.max(1)).clamp(3, 8) {
        let moved = descent.advance(width, place, regions, curve, work)?;
        width *= if moved { 0.5 } else { 0.25 };
    }
    descent.choose(place, regions, curve, work)
}

impl Descent {
    /// Tries all values of each coordinate that has no order, one coordinate after another.
    fn choose<X: ?Sized, A: Action>(
        &mut self,
        place: (&X, &dyn ReferenceMeasure<X, A>),
        regions: &dyn Regions,
        curve: &LossCurve<'_, X, A>,
        work: &mut Proposals<A>,
    ) -> Result<(), DecideError> {
        let dim = self.point.len();
        for coordinate in 0..dim {
            let choices = regions.choices(coordinate);
            if choices.is_empty() {
                continue;
            }
            let point = &self.point;
            rows::fill(place, (choices.len(), dim), &mut self.rows, work, |rows| {
                for (row, choice) in rows.chunks_exact_mut(dim).zip(&choices) {
                    row.copy_from_slice(point);
                    row[coordinate] = *choice;
                }
            });
            curve.predict(&work.actions, &mut work.fhats)?;
            let best = least(&work.fhats);
            if work.fhats[best] < self.value {
                self.value = work.fhats[best];
                self.point[coordinate] = choices[best];
            }
        }
        Ok(())
    }

    /// One step; returns whether it found a better point.
    fn advance<X: ?Sized, A: Action>(
        &mut self,
        width: f64,
        measured: (&X, &dyn ReferenceMeasure<X, A>),
        regions: &dyn Regions,
        curve: &LossCurve<'_, X, A>,
        work: &mut Proposals<A>,
    ) -> Result<bool, DecideError> {
        let dim = self.point.len();
        self.trial.clear();
        self.trial.resize(dim, 0.0);
        let (point, trial) = (&self.point, &mut self.trial);
        rows::fill(measured, (2 * dim, dim), &mut self.rows, work, |rows| {
            for (place, row) in rows.chunks_exact_mut(dim).enumerate() {
                let side = if place % 2 == 0 { width } else { -width };
                trial[place / 2] = side;
                regions.moved(point, trial, row);
                trial[place / 2] = 0.0;
            }
        });
        curve.predict(&work.actions, &mut work.fhats)?;
        self.step.clear();
        let (mut single, mut gain) = (0, 0.0);
        for (place, sides) in work.fhats.chunks_exact(2).enumerate() {
            let (up, down) = (sides[0], sides[1]);
            let slope = 0.5 * (up - down);
            let curvature = up + down - 2.0 * self.value;
            let bend = if 1e-9 < curvature {
                (-slope / curvature).clamp(-2.0, 2.0)
            } else if slope == 0.0 {
                0.0
            } else {
                -slope.signum()
            };
            self.step.push(bend * width);
            if gain < self.value - up.min(down) {
                (single, gain) = (place, self.value - up.min(down));
            }
        }
        let side = if work.fhats[2 * single] < work.fhats[2 * single + 1] {
            width
        } else {
            -width
        };
        let mut tried = std::mem::take(&mut self.rows);
        rows::fill(
            measured,
            (LENGTHS.len() + 2, dim),
            &mut tried,
            work,
            |rows| {
                for (place, row) in rows.chunks_exact_mut(dim).enumerate() {
                    self.trial_of(place, (single, side));
                    regions.moved(&self.point, &self.trial, row);
                }
            },
        );
        self.rows = tried;
        curve.predict(&work.actions, &mut work.fhats)?;
        let best = least(&work.fhats);
        if self.value <= work.fhats[best] {
            return Ok(false);
        }
        self.trial_of(best, (single, side));
        self.value = work.fhats[best];
        self.point
            .copy_from_slice(rows::row(best, &self.rows, work));
        std::mem::swap(&mut self.last, &mut self.trial);
        Ok(true)
    }

    /// Makes `trial` one of the moves: the step at each length, the step with half of the last, the best single coordinate.
    fn trial_of(&mut self, place: usize, (single, side): (usize, f64)) {
        self.trial.clear();
        match LENGTHS.get(place) {
            Some(length) => self
                .trial
                .extend(self.step.iter().map(|step| length * step)),
            None if place == LENGTHS.len() => {
                let both = self.step.iter().zip(&self.last);
                self.trial
                    .extend(both.map(|(step, last)| step + 0.5 * last));
            }
            None => {
                self.trial.resize(self.point.len(), 0.0);
                self.trial[single] = side;
            }
        }
    }
}

/// The index of the first minimum; `values` is not empty.
pub(crate) fn least(values: &[f64]) -> usize {
    let mut place = 0;
    for (index, value) in values.iter().enumerate() {
        if *value < values[place] {
            place = index;
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{KnobValue, MixedAction, Vector};
    use crate::measure::UniformBox;
    use crate::measure::mixed_knobs::{KnobRange, MixedKnobs};
    use crate::oracle::FunctionOracle;

    /// f̂ where the descent ends.
    fn found(dim: usize, f: impl Fn(&[f64]) -> f64 + Send + Sync + 'static) -> f64 {
        let oracle = FunctionOracle::new(move |_: &(), points: &Vectors, out: &mut [f64]| {
            let points = points.rows().chunks_exact(points.dim());
            for (out, point) in out.iter_mut().zip(points) {
                *out = f(point);
            }
        });
        let measure = UniformBox::new(&vec![(0.0, 1.0); dim]).expect("intervals");
        let mut buffer = Vec::new();
        let curve = LossCurve::new(&oracle, &(), &mut buffer).expect("no context");
        let mut descent = Descent::default();
        let regions = ReferenceMeasure::<(), Vector>::regions(&measure).expect("a box has them");
        let mut work = Proposals::default();
        best(&(), &measure, regions, &curve, &mut descent, &mut work).expect("a point");
        descent.value
    }

    #[test]
    fn a_bowl_is_solved_and_a_valley_nearly() {
        for (dim, near) in [(2, 1e-7), (6, 1e-3), (20, 0.03)] {
            let bowl = found(dim, |a| a.iter().map(|a| (a - 0.3).powi(2)).sum());
            let ends = found(dim, |a| a.iter().sum::<f64>() / a.len() as f64);
            let valley = found(dim, |a| {
                let mean = a.iter().sum::<f64>() / a.len() as f64;
                let across = a
                    .windows(2)
                    .map(|two| (two[0] - two[1]).powi(2))
                    .sum::<f64>();
                (mean - 0.3).powi(2) + across
            });
            assert!(bowl < 1e-9 && ends < 1e-9, "{dim}: {bowl:e} {ends:e}");
            assert!(valley < near, "{dim}: {valley:e}");
        }
    }

    /// No draw of μ has the best of 500 names, and no step leads from one name to another.
    #[test]
    fn every_category_is_tried() {
        let names: Vec<String> = (0..500).map(|name| format!("n{name}")).collect();
        let knobs = MixedKnobs::new(vec![
            (
                "name".to_owned(),
                KnobRange::Categories {
                    allowed: (0..names.len()).collect(),
                    names,
                },
            ),
            ("speed".to_owned(), KnobRange::Interval(0.0, 1.0)),
        ]);
        let oracle = FunctionOracle::new(|_: &(), actions: &Vec<MixedAction>, out: &mut [f64]| {
            for (out, action) in out.iter_mut().zip(actions) {
                let speed = match action.get("speed") {
                    Some(KnobValue::Number(speed)) => *speed,
                    _ => panic!("{action}"),
                };
                let other = action.get("name") != Some(&"n321".into());
                *out = f64::from(u8::from(other)) * 0.5 + 0.4 * (speed - 0.7).abs();
            }
        });
        let mut buffer = Vec::new();
        let curve = LossCurve::new(&oracle, &(), &mut buffer).expect("no context");
        let mut descent = Descent::default();
        let regions = ReferenceMeasure::<(), MixedAction>::regions(&knobs).expect("it has them");
        let mut work = Proposals::default();
        best(&(), &knobs, regions, &curve, &mut descent, &mut work).expect("a point");
        assert_eq!(descent.point[0], 321.0);
        assert!(descent.value < 0.05, "{}", descent.value);
    }
}
