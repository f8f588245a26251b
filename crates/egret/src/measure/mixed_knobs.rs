use crate::event::{KnobLimits, KnobValue, Limits, LimitsError, MixedAction, Vectors};
use crate::measure::{ReferenceMeasure, Regions, Steps, Support, regions, support_of};
use crate::numeric::EventRng;

/// Several knobs with names, each uniform over what it can be, independent of the others.
///
/// As [`Regions`] and oracles see it, an action has a coordinate for each knob, in the order of names: a number or step as it is, a
/// category as its place in the list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MixedKnobs {
    knobs: Vec<(String, KnobRange)>,
}

/// What a knob can be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KnobRange {
    /// From one number to another; equal, they fix the knob.
    Interval(f64, f64),
    /// Some steps.
    Steps(Steps),
    /// Some of these names: the places of those that are allowed, in order.
    Categories {
        names: Vec<String>,
        allowed: Vec<usize>,
    },
}

impl KnobRange {
    /// The coordinate that a part u ∈ [0, 1) of region k around a coordinate stands for.
    fn at(&self, point: f64, region: usize, u: f64) -> f64 {
        match self {
            Self::Interval(low, high) => {
                let (low, high) = regions::side_of_region((*low, *high), point, region);
                (low + u * (high - low)).clamp(low, high)
            }
            Self::Steps(steps) => {
                let (first, last) = steps_around(steps, point, region);
                let place = (u * f64::from(last - first + 1)) as u32;
                steps.value(first + place.min(last - first))
            }
            Self::Categories { allowed, .. } => {
                let others = share_of_others(region);
                match u < others {
                    true => {
                        let place = (u / others * allowed.len() as f64) as usize;
                        allowed[place.min(allowed.len() - 1)] as f64
                    }
                    false => point,
                }
            }
        }
    }

    /// The density of region k around a coordinate, at another; 0 outside.
    fn density(&self, point: f64, region: usize, action: f64) -> f64 {
        match self {
            Self::Interval(low, high) => {
                let side = std::iter::once((*low, *high));
                regions::density_in_box(side, &[point], region, &[action])
            }
            Self::Steps(steps) => {
                let (first, last) = steps_around(steps, point, region);
                match steps.index(action) {
                    Some(index) if (first..=last).contains(&index) => {
                        f64::from(steps.count()) / f64::from(last - first + 1)
                    }
                    _ => 0.0,
                }
            }
            Self::Categories { allowed, .. } => {
                let others = share_of_others(region);
                let same = f64::from(u8::from(point == action));
                match allowed.binary_search(&(action as usize)) {
                    Ok(_) => others + (1.0 - others) * same * allowed.len() as f64,
                    Err(_) => 0.0,
                }
            }
        }
    }

    fn moved(&self, point: f64, by: f64) -> f64 {
        match self {
            Self::Interval(low, high) => (point + by * (high - low)).clamp(*low, *high),
            Self::Steps(steps) => {
                let last = f64::from(steps.count() - 1);
                let index = f64::from(steps.index(point).unwrap_or(0));
                steps.value((index + by * last).round().clamp(0.0, last) as u32)
            }
            // No category is between others: [`Regions::choices`] has all of them.
            Self::Categories { .. } => point,
        }
    }

    fn middle(&self) -> f64 {
        match self {
            Self::Interval(low, high) => low + 0.5 * (high - low),
            Self::Steps(steps) => steps.value((steps.count() - 1) / 2),
            Self::Categories { allowed, .. } => allowed[0] as f64,
        }
    }

    fn value(&self, coordinate: f64) -> KnobValue {
        match self {
            Self::Categories { names, .. } => {
                KnobValue::Category(names[coordinate as usize].clone())
            }
            _ => KnobValue::Number(coordinate),
        }
    }

    /// NaN for what the knob cannot be.
    fn coordinate(&self, value: Option<&KnobValue>) -> f64 {
        match (self, value) {
            (Self::Interval(low, high), Some(KnobValue::Number(value)))
                if (low..=high).contains(&value) =>
            {
                *value
            }
            (Self::Steps(steps), Some(KnobValue::Number(value))) => steps
                .index(*value)
                .map_or(f64::NAN, |index| steps.value(index)),
            (Self::Categories { names, allowed }, Some(KnobValue::Category(name))) => {
                let place = names.iter().position(|of| of == name);
                place
                    .filter(|place| allowed.binary_search(place).is_ok())
                    .map_or(f64::NAN, |place| place as f64)
            }
            _ => f64::NAN,
        }
    }

    /// The part that a request allows; `None` if there is none.
    fn within(&self, limits: &KnobLimits) -> Option<Self> {
        match (self, limits) {
            (Self::Interval(least, most), KnobLimits::Interval { low, high }) => {
                let part = least <= low && low <= high && high <= most;
                part.then_some(Self::Interval(*low, *high))
            }
            (Self::Steps(steps), KnobLimits::Interval { low, high }) => {
                steps.between(*low, *high).map(Self::Steps)
            }
            (Self::Categories { names, allowed }, KnobLimits::Categories(listed)) => {
                let left = allowed
                    .iter()
                    .copied()
                    .filter(|&place| listed.contains(&names[place]));
                let left: Vec<usize> = left.collect();
                (!left.is_empty()).then(|| Self::Categories {
                    names: names.clone(),
                    allowed: left,
                })
            }
            _ => None,
        }
    }

    fn support(&self) -> Support {
        match self {
            Self::Interval(low, high) if low < high => Support::Volume(high - low),
            Self::Interval(..) => Support::Count(1),
            Self::Steps(steps) => Support::Count(u64::from(steps.count())),
            Self::Categories { allowed, .. } => Support::Count(allowed.len() as u64),
        }
    }
}

/// The first and the last index of the steps within 2⁻ᵏ of all of them from one.
fn steps_around(steps: &Steps, point: f64, region: usize) -> (u32, u32) {
    let last = steps.count() - 1;
    if region == 0 {
        return (0, last);
    }
    let (index, reach) = (steps.index(point).unwrap_or(0), steps.count() >> region);
    (index.saturating_sub(reach), last.min(index + reach))
}

/// In region k a category is drawn from all with the share 2⁻ᵏ, and otherwise that of the point.
fn share_of_others(region: usize) -> f64 {
    1.0 / (1_u64 << region) as f64
}

impl MixedKnobs {
    /// In the order of their names; at least one.
    pub(crate) fn new(knobs: Vec<(String, KnobRange)>) -> Self {
        Self { knobs }
    }

    /// The coordinates of an action; NaN where it is none of the space.
    pub(crate) fn coordinates_of<'a>(
        &'a self,
        action: &'a MixedAction,
    ) -> impl Iterator<Item = f64> + 'a {
        let ranges = self.knobs.iter();
        ranges.map(|(name, range)| range.coordinate(action.get(name)))
    }

    /// How many categories each knob has, 0 for numbers.
    pub(crate) fn categories(&self) -> impl Iterator<Item = usize> {
        self.knobs.iter().map(|(_, range)| match range {
            KnobRange::Categories { names, .. } => names.len(),
            _ => 0,
        })
    }
}

impl<X: ?Sized> ReferenceMeasure<X, MixedAction> for MixedKnobs {
    fn sample(&self, x: &X, n: usize, rng: &mut EventRng, out: &mut Vec<MixedAction>) {
        let mut rows = Vectors::default();
        let mut middle = vec![0.0; self.dim()];
        self.middle(&mut middle);
        for row in rows.extend(n, self.dim()).chunks_exact_mut(self.dim()) {
            self.draw(&middle, 0, rng, row);
        }
        ReferenceMeasure::<X, _>::append_actions(self, x, &rows, out);
    }

    fn support(&self) -> Support {
        use Support::{Count, Unknown, Volume};
        (self.knobs.iter()).fold(Count(1), |all, (_, knob)| match (all, knob.support()) {
            (Count(m), Count(n)) => m.checked_mul(n).map_or(Unknown, Count),
            (Volume(v), Count(n)) | (Count(n), Volume(v)) => support_of(v * n as f64),
            (Volume(v), Volume(w)) => support_of(v * w),
            (Unknown, _) | (_, Unknown) => Unknown,
        })
    }

    fn regions(&self) -> Option<&dyn Regions> {
        Some(self)
    }

    fn append_actions(&self, _: &X, rows: &Vectors, out: &mut Vec<MixedAction>) {
        out.extend(rows.rows().chunks_exact(self.dim()).map(|row| {
            let values = self.knobs.iter().zip(row);
            MixedAction::new(
                values.map(|((name, range), &value)| (name.clone(), range.value(value))),
            )
            .expect("names are unique, and numbers finite")
        }));
    }

    fn coordinates(&self, action: &MixedAction) -> Option<Vec<f64>> {
        let coordinates: Vec<f64> = self.coordinates_of(action).collect();
        (!coordinates.iter().any(|value| value.is_nan())).then_some(coordinates)
    }

    fn within(
        &self,
        limits: &Limits,
    ) -> Result<Box<dyn ReferenceMeasure<X, MixedAction>>, LimitsError> {
        let outside = || LimitsError::outside(limits, "the knobs");
        let Limits::Mixed { knobs: limited } = limits else {
            return Err(outside());
        };
        let part = |(name, range): &(String, KnobRange)| {
            let range = match limited.get(name) {
                Some(limits) => range.within(limits).ok_or_else(outside)?,
                None => range.clone(),
            };
            Ok((name.clone(), range))
        };
        let knobs: Result<_, LimitsError> = self.knobs.iter().map(part).collect();
        Ok(Box::new(Self::new(knobs?)))
    }
}

/// Region k has numbers within 2⁻ᵏ of all from the point, and steps likewise; categories are that of the point, or with the share 2⁻ᵏ
/// any.
impl Regions for MixedKnobs {
    fn dim(&self) -> usize {
        self.knobs.len()
    }

    fn count(&self) -> usize {
        // A category multiplies densities by up to their number in any region but the first, a number by 2 in each.
        let bits: f64 = self
            .categories()
            .map(|count| (count.max(1) as f64).log2())
            .sum();
        let numbers = self.categories().filter(|&count| count == 0).count();
        match bits.ceil() as usize {
            bits if bits <= regions::MOST_BITS => {
                regions::count_within(regions::MOST_BITS - bits, numbers)
            }
            _ => 1,
        }
    }

    fn draw(&self, point: &[f64], region: usize, rng: &mut EventRng, out: &mut [f64]) {
        rng.fill_unit(out);
        for ((out, &point), (_, range)) in out.iter_mut().zip(point).zip(&self.knobs) {
            *out = range.at(point, region, *out);
        }
    }

    fn density(&self, point: &[f64], region: usize, action: &[f64]) -> f64 {
        let coordinates = point.iter().zip(action).zip(&self.knobs);
        let densities =
            coordinates.map(|((&point, &action), (_, range))| range.density(point, region, action));
        densities.product()
    }

    fn moved(&self, point: &[f64], by: &[f64], out: &mut [f64]) {
        let coordinates = out.iter_mut().zip(point).zip(by).zip(&self.knobs);
        for (((out, &point), &by), (_, range)) in coordinates {
            *out = range.moved(point, by);
        }
    }

    fn middle(&self, out: &mut [f64]) {
        for (out, (_, range)) in out.iter_mut().zip(&self.knobs) {
            *out = range.middle();
        }
    }

    fn choices(&self, coordinate: usize) -> Vec<f64> {
        match &self.knobs[coordinate].1 {
            KnobRange::Categories { allowed, .. } => {
                allowed.iter().map(|&place| place as f64).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use egret_testkit::chi_square_p_value;

    use super::*;
    use crate::numeric::Stream;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn knobs() -> MixedKnobs {
        let colours = KnobRange::Categories {
            names: names(&["red", "green", "blue"]),
            allowed: vec![0, 1, 2],
        };
        let price = KnobRange::Steps(Steps::new(5.0, 50.0, 0.5).expect("91 steps"));
        MixedKnobs::new(vec![
            ("colour".to_owned(), colours),
            ("price".to_owned(), price),
            ("speed".to_owned(), KnobRange::Interval(0.0, 2.0)),
        ])
    }

    #[test]
    fn each_knob_is_uniform() {
        let mut drawn = Vec::new();
        let mut rng = EventRng::new(1, 0, Stream::World);
        ReferenceMeasure::<(), _>::sample(&knobs(), &(), 30_000, &mut rng, &mut drawn);
        let mut counts = [0; 3 * 4];
        for action in &drawn {
            let point = ReferenceMeasure::<(), _>::coordinates(&knobs(), action).expect("its own");
            assert!(
                Steps::new(5.0, 50.0, 0.5)
                    .expect("steps")
                    .index(point[1])
                    .is_some()
            );
            counts[4 * point[0] as usize + (2.0 * point[2]) as usize] += 1;
        }
        // False alarm: one in a million.
        assert!(1e-6 < chi_square_p_value(&counts, &[1.0 / 12.0; 12]));
    }

    /// E over a region of h/p is E_μ of h where p is positive, by three h; a density a quarter off is seen to be wrong.
    #[test]
    fn densities_of_regions_are_exact() {
        let n = 40_000;
        let pinned = knobs().knobs.into_iter().map(|(name, range)| match range {
            KnobRange::Interval(..) => (name, KnobRange::Interval(1.5, 1.5)),
            KnobRange::Categories { names, .. } => {
                let allowed = vec![0, 2];
                (name, KnobRange::Categories { names, allowed })
            }
            steps => (name, steps),
        });
        for mu in [knobs(), MixedKnobs::new(pinned.collect())] {
            let point = [2.0, 49.0, 1.5];
            let mut rng = EventRng::new(2, 0, Stream::World);
            let draw = |region, rng: &mut EventRng| {
                let mut action = [0.0; 3];
                mu.draw(&point, region, rng, &mut action);
                action
            };
            let h = |a: &[f64; 3]| [1.0, a[1], f64::from(u8::from(a[0] == 2.0)) + a[2]];
            for region in 0..4 {
                let (mut by_region, mut by_measure) = (Vec::new(), Vec::new());
                for _ in 0..n {
                    let action = draw(region, &mut rng);
                    let density = mu.density(&point, region, &action);
                    assert!(0.0 < density, "{action:?} is outside of region {region}");
                    by_region.push(h(&action).map(|h| h / density));
                    let action = draw(0, &mut rng);
                    let inside = 0.0 < mu.density(&point, region, &action);
                    by_measure.push(h(&action).map(|h| f64::from(u8::from(inside)) * h));
                }
                for of in 0..3 {
                    let (one, one_error) = mean(&by_region, of);
                    let (other, other_error) = mean(&by_measure, of);
                    let error = one_error.hypot(other_error).max(1e-12);
                    // Five standard errors: a false alarm below 1e-6 each.
                    assert!(
                        (one - other).abs() < 5.0 * error,
                        "{region}, {of}: {one} {other}"
                    );
                    // Power: a density a quarter too large.
                    assert!(
                        5.0 * error < (0.75 * one - other).abs(),
                        "{region}, {of}: {error}"
                    );
                }
            }
        }
    }

    fn mean(values: &[[f64; 3]], of: usize) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().map(|value| value[of]).sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value[of] - mean).powi(2)).sum();
        (mean, (squares / n / n).sqrt())
    }

    #[test]
    fn limits_leave_a_part_of_each_knob_and_none_is_an_error() {
        let limits = |knobs: &[(&str, KnobLimits)]| Limits::Mixed {
            knobs: BTreeMap::from_iter(
                knobs
                    .iter()
                    .cloned()
                    .map(|(name, of)| (name.to_owned(), of)),
            ),
        };
        let some = limits(&[
            ("colour", KnobLimits::Categories(names(&["blue"]))),
            (
                "price",
                KnobLimits::Interval {
                    low: 6.2,
                    high: 7.6,
                },
            ),
        ]);
        let part = ReferenceMeasure::<(), _>::within(&knobs(), &some).expect("a part");
        let mut drawn = Vec::new();
        part.sample(
            &(),
            200,
            &mut EventRng::new(1, 0, Stream::World),
            &mut drawn,
        );
        for action in &drawn {
            assert_eq!(action.get("colour"), Some(&"blue".into()));
            let Some(KnobValue::Number(price)) = action.get("price") else {
                panic!("{action}");
            };
            assert!([6.5, 7.0, 7.5].contains(price), "{price}");
        }
        for none in [
            limits(&[("colour", KnobLimits::Categories(names(&["black"])))]),
            limits(&[(
                "price",
                KnobLimits::Interval {
                    low: 6.1,
                    high: 6.4,
                },
            )]),
            limits(&[(
                "speed",
                KnobLimits::Interval {
                    low: 1.0,
                    high: 3.0,
                },
            )]),
        ] {
            assert!(ReferenceMeasure::<(), _>::within(&knobs(), &none).is_err());
        }
    }
}
