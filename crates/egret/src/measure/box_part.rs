use crate::event::{Vector, Vectors};
use crate::measure::{BoxError, ReferenceMeasure, Regions, Support, UniformBox, regions};
use crate::numeric::EventRng;

/// The uniform distribution on a part of a box in which some coordinates are fixed: they have no part in the density.
pub(crate) struct BoxPart {
    sides: Vec<(f64, f64)>,
    /// The box of the coordinates that are not fixed; none if all are.
    free: Option<UniformBox>,
}

impl BoxPart {
    /// Sides with equal ends are fixed.
    pub(crate) fn new(sides: &[(f64, f64)]) -> Result<Self, BoxError> {
        let free: Vec<(f64, f64)> = sides.iter().copied().filter(is_free).collect();
        Ok(Self {
            sides: sides.to_vec(),
            free: match free.is_empty() {
                true => None,
                false => Some(UniformBox::new(&free)?),
            },
        })
    }

    /// Appends `n` rows, in which `draw` fills the coordinates that are free.
    fn append(&self, n: usize, out: &mut Vectors, draw: impl FnOnce(&UniformBox, &mut Vectors)) {
        let mut drawn = Vectors::default();
        if let Some(free) = &self.free {
            draw(free, &mut drawn);
        }
        let mut free = drawn.rows().iter();
        for row in out
            .extend(n, self.sides.len())
            .chunks_exact_mut(self.sides.len())
        {
            for (value, side) in row.iter_mut().zip(&self.sides) {
                *value = match is_free(side) {
                    true => *free.next().expect("as many as are free"),
                    false => side.0,
                };
            }
        }
    }
}

fn is_free((low, high): &(f64, f64)) -> bool {
    low < high
}

impl<X: ?Sized> ReferenceMeasure<X, Vector> for BoxPart {
    fn sample(&self, x: &X, n: usize, rng: &mut EventRng, out: &mut Vectors) {
        self.append(n, out, |free, drawn| free.sample(x, n, rng, drawn));
    }

    fn sample_stratified(&self, x: &X, n: usize, rng: &mut EventRng, out: &mut Vectors) {
        self.append(n, out, |free, drawn| {
            free.sample_stratified(x, n, rng, drawn);
        });
    }

    fn support(&self) -> Support {
        match &self.free {
            Some(free) => ReferenceMeasure::<X, Vector>::support(free),
            None => Support::Count(1),
        }
    }

    fn regions(&self) -> Option<&dyn Regions> {
        Some(self)
    }
}

/// Those of the coordinates that are free.
impl Regions for BoxPart {
    fn dim(&self) -> usize {
        self.sides.len()
    }

    fn count(&self) -> usize {
        regions::count_for(self.free.as_ref().map_or(0, UniformBox::dim))
    }

    fn draw(&self, point: &[f64], region: usize, rng: &mut EventRng, out: &mut [f64]) {
        regions::draw_in_box(self.sides.iter().copied(), point, region, rng, out);
    }

    fn density(&self, point: &[f64], region: usize, action: &[f64]) -> f64 {
        regions::density_in_box(self.sides.iter().copied(), point, region, action)
    }

    fn moved(&self, point: &[f64], by: &[f64], out: &mut [f64]) {
        regions::move_in_box(self.sides.iter().copied(), point, by, out);
    }

    fn middle(&self, out: &mut [f64]) {
        for (out, (low, high)) in out.iter_mut().zip(&self.sides) {
            *out = low + 0.5 * (high - low);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Batch;
    use crate::measure::checks::{check_replay, check_split, sampled, stratified};
    use crate::measure::regions::checks::check_regions;

    #[test]
    fn free_coordinates_are_those_of_the_smaller_box() {
        let part = BoxPart::new(&[(0.0, 1.0), (7.0, 7.0), (-2.0, 3.0)]).expect("two are free");
        let free = UniformBox::new(&[(0.0, 1.0), (-2.0, 3.0)]).expect("two sides");
        for (drawn, expected) in [
            (sampled(&part, 10, 1), sampled(&free, 10, 1)),
            (stratified(&part, 10, 1), stratified(&free, 10, 1)),
        ] {
            for row in 0..10 {
                let (drawn, expected) = (drawn.get(row), expected.get(row));
                assert_eq!(*drawn, [expected[0], 7.0, expected[1]]);
            }
        }
        check_replay(&part);
        check_split(&part);
        check_regions(&part, &[0.3, 7.0, 2.9]);
        let fixed = BoxPart::new(&[(1.0, 1.0), (2.0, 2.0)]).expect("a point");
        assert_eq!(*sampled(&fixed, 3, 1).get(2), [1.0, 2.0]);
        assert_eq!(
            ReferenceMeasure::<(), _>::support(&fixed),
            Support::Count(1)
        );
    }
}
