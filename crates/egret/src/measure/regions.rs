use crate::numeric::EventRng;

/// Ever smaller regions around every point of a space whose actions have coordinates, with known densities: what [`Zoom`](crate::Zoom) plays in.
///
/// Region 0 is the whole space, with the distribution μ. Region k reaches about 2⁻ᵏ of the width of the space around the point.
pub trait Regions {
    /// How many coordinates a point has.
    fn dim(&self) -> usize;

    /// How many regions a point has, at least 1. The smallest still has a density that an `f64` can hold.
    fn count(&self) -> usize;

    /// Writes a draw from a region of the point.
    fn draw(&self, point: &[f64], region: usize, rng: &mut EventRng, out: &mut [f64]);

    /// The density of such a draw at an action, against μ; 0 outside the region.
    fn density(&self, point: &[f64], region: usize, action: &[f64]) -> f64;

    /// Writes the point moved by these shares of the width of the space, brought back where that leads outside.
    fn moved(&self, point: &[f64], by: &[f64], out: &mut [f64]);

    /// Writes a point in the middle of the space.
    fn middle(&self, out: &mut [f64]);

    /// All values of a coordinate that has no order, as a category; none for those that [move](Self::moved).
    fn choices(&self, _coordinate: usize) -> Vec<f64> {
        Vec::new()
    }
}

/// The most regions that are of use: 2⁻¹⁰ of the width is finer than any world that is learned from noise.
const MOST: usize = 11;

/// A density is at most 2 to the power of this: an `f64` with room for factors.
pub(crate) const MOST_BITS: usize = 1_000;

/// How many regions there are if each halving multiplies densities by at most 2^`dim`.
pub(crate) fn count_for(dim: usize) -> usize {
    count_within(MOST_BITS, dim)
}

/// The same if densities are at most 2^`bits`.
pub(crate) fn count_within(bits: usize, dim: usize) -> usize {
    MOST.min(1 + bits / dim.max(1))
}

/// A draw from a region of a box with these sides.
pub(crate) fn draw_in_box(
    sides: impl Iterator<Item = (f64, f64)>,
    point: &[f64],
    region: usize,
    rng: &mut EventRng,
    out: &mut [f64],
) {
    rng.fill_unit(out);
    for ((out, side), &point) in out.iter_mut().zip(sides).zip(point) {
        let (low, high) = side_of_region(side, point, region);
        *out = (low + *out * (high - low)).clamp(low, high);
    }
}

/// The density of such a draw against the uniform distribution on the box. A side with equal ends has no part in it.
pub(crate) fn density_in_box(
    sides: impl Iterator<Item = (f64, f64)>,
    point: &[f64],
    region: usize,
    action: &[f64],
) -> f64 {
    let mut density = 1.0;
    for ((side, &point), &action) in sides.zip(point).zip(action) {
        let (low, high) = side_of_region(side, point, region);
        if !(low..=high).contains(&action) {
            return 0.0;
        }
        if side.0 < side.1 {
            density *= (side.1 - side.0) / (high - low);
        }
    }
    density
}

/// The point moved by these shares of the sides, kept inside.
pub(crate) fn move_in_box(
    sides: impl Iterator<Item = (f64, f64)>,
    point: &[f64],
    by: &[f64],
    out: &mut [f64],
) {
    for (((out, (low, high)), &point), &by) in out.iter_mut().zip(sides).zip(point).zip(by) {
        *out = (point + by * (high - low)).clamp(low, high);
    }
}

/// The ends of one side of a region.
pub(crate) fn side_of_region((low, high): (f64, f64), point: f64, region: usize) -> (f64, f64) {
    if region == 0 {
        return (low, high);
    }
    let reach = (high - low) / (1_u64 << region) as f64;
    let (from, to) = ((point - reach).max(low), (point + reach).min(high));
    // A side may be so far from 0 that numbers do not tell the ends of its part apart.
    if from < to { (from, to) } else { (low, high) }
}

#[cfg(test)]
pub(crate) mod checks {
    use super::*;
    use crate::event::{Batch, Vector, Vectors};
    use crate::measure::ReferenceMeasure;
    use crate::numeric::Stream;

    /// Checks at this point that draws are in their region, that E[h(a)/p(a)] over a region is ∫ h dμ over it, by h = 1 and the
    /// first coordinate, and that a density a quarter off is seen to be wrong.
    pub(crate) fn check_regions<M>(measure: &M, point: &[f64])
    where
        M: ReferenceMeasure<(), Vector>,
    {
        let regions = measure.regions().expect("regions");
        let mut draws = Vectors::default();
        let n = 40_000;
        let mut rng = EventRng::new(1, 0, Stream::World);
        measure.sample(&(), n, &mut rng, &mut draws);
        for region in 0..regions.count().min(3) {
            let drawn = |rng: &mut EventRng| {
                let mut action = vec![0.0; point.len()];
                regions.draw(point, region, rng, &mut action);
                action
            };
            // By draws of the region, of h/p; by draws of μ, of h inside.
            let (mut by_region, mut by_measure) = (Vec::new(), Vec::new());
            for place in 0..n {
                let action = drawn(&mut rng);
                let density = regions.density(point, region, &action);
                assert!(0.0 < density, "{action:?} is outside of region {region}");
                by_region.push([1.0 / density, action[0] / density]);
                let action = draws.get(place);
                let inside = f64::from(0.0 < regions.density(point, region, &action));
                by_measure.push([inside, inside * action[0]]);
            }
            for h in 0..2 {
                let (one, one_error) = mean(&by_region, h);
                let (other, other_error) = mean(&by_measure, h);
                let error = one_error.hypot(other_error).max(1e-12);
                // Five standard errors: a false alarm below 1e-6 each.
                assert!(
                    (one - other).abs() < 5.0 * error,
                    "region {region}: {one} {other}"
                );
                if region == 1 && h == 0 {
                    assert!(
                        5.0 * error < (0.75 * one - other).abs(),
                        "no power: {error}"
                    );
                }
            }
        }
    }

    fn mean(values: &[[f64; 2]], h: usize) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().map(|value| value[h]).sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value[h] - mean).powi(2)).sum();
        (mean, (squares / n / n).sqrt())
    }
}
