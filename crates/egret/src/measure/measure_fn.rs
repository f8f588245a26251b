use std::fmt;
use std::marker::PhantomData;

use crate::event::{Action, Batch};
use crate::measure::{ReferenceMeasure, Support};
use crate::numeric::{EventRng, OutOfRange};

/// A measure given by a function that draws from it.
///
/// The function appends n independent draws to the batch. All randomness must come from the generator it is given,
/// otherwise decisions cannot be replayed. Stratified draws are independent draws.
///
/// ```
/// use egret::{EventRng, Support, ReferenceMeasure, MeasureFn, Stream};
///
/// // A dose of at most what the patient's weight allows.
/// let mu = MeasureFn::<f64, _>::new(Support::Unknown, |weight: &f64, n, rng, doses| {
///     doses.extend((0..n).map(|_| 0.1 * weight * rng.unit()));
/// })?;
/// let mut doses = Vec::new();
/// mu.sample(&70.0, 100, &mut EventRng::new(7, 0, Stream::World), &mut doses);
/// assert!(doses.iter().all(|dose| (0.0..=7.0).contains(dose)));
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Clone)]
pub struct MeasureFn<A, F> {
    extent: Support,
    sample: F,
    action: PhantomData<fn() -> A>,
}

impl<A: Action, F> MeasureFn<A, F> {
    /// Refuses a count of zero, and volumes that are zero, negative, infinite or NaN.
    pub fn new<X: ?Sized>(extent: Support, sample: F) -> Result<Self, OutOfRange>
    where
        F: Fn(&X, usize, &mut EventRng, &mut A::Batch),
    {
        match extent {
            Support::Volume(volume) => OutOfRange::unless(
                0.0 < volume && volume.is_finite(),
                "volume",
                volume,
                "(0, inf)",
            )?,
            Support::Count(count) => {
                OutOfRange::unless(0 < count, "count", count as f64, "[1, inf)")?;
            }
            Support::Unknown => {}
        }
        Ok(Self {
            extent,
            sample,
            action: PhantomData,
        })
    }
}

impl<X, A, F> ReferenceMeasure<X, A> for MeasureFn<A, F>
where
    X: ?Sized,
    A: Action,
    F: Fn(&X, usize, &mut EventRng, &mut A::Batch) + Send + Sync,
{
    /// # Panics
    /// If the function appends more or fewer than `n`.
    fn sample(&self, x: &X, n: usize, rng: &mut EventRng, out: &mut A::Batch) {
        let before = out.len();
        (self.sample)(x, n, rng, out);
        assert_eq!(
            out.len(),
            before + n,
            "the function appends as many draws as it was asked for"
        );
    }

    fn support(&self) -> Support {
        self.extent
    }
}

impl<A, F> fmt::Debug for MeasureFn<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeasureFn")
            .field("extent", &self.extent)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::kolmogorov_smirnov_p_value;
    use proptest::prelude::*;

    use super::*;
    use crate::event::Context;
    use crate::measure::checks::{check_replay, check_split, check_stratified};
    use crate::numeric::Stream;

    #[test]
    fn draws_depend_on_the_context() {
        let mu: MeasureFn<f64, _> = MeasureFn::new(
            Support::Unknown,
            |x: &Context, n, rng, out: &mut Vec<f64>| {
                let power = x.dot(&[1.0]);
                out.extend((0..n).map(|_| rng.unit().powf(power)));
            },
        )
        .expect("an unknown extent");
        for power in [0.5, 1.0, 3.0] {
            let x = Context::dense(vec![power]).expect("finite");
            let mut draws = Vec::new();
            mu.sample(
                &x,
                20_000,
                &mut EventRng::new(1, 0, Stream::World),
                &mut draws,
            );
            // False alarm: one in a million each. Power: another context is seen.
            let p_value = |draws: &mut Vec<f64>, power: f64| {
                kolmogorov_smirnov_p_value(draws, |a| a.powf(1.0 / power))
            };
            assert!(1e-6 < p_value(&mut draws, power));
            assert!(p_value(&mut draws, 1.1 * power) < 1e-6);
        }
    }

    fn uniform() -> impl ReferenceMeasure<(), f64> {
        MeasureFn::<f64, _>::new(Support::Volume(1.0), |_: &(), n, rng, out| {
            out.extend((0..n).map(|_| rng.unit()));
        })
        .expect("a positive volume")
    }

    #[test]
    fn draws_replay() {
        check_replay(&uniform());
        check_split(&uniform());
        check_stratified(&uniform(), |a| a, 0.5, 1.1);
    }

    #[test]
    #[should_panic(expected = "as many draws as it was asked for")]
    fn a_function_that_draws_too_few_is_stopped() {
        let mu = MeasureFn::<f64, _>::new(Support::Unknown, |_: &(), _, _, _| {})
            .expect("an unknown extent");
        mu.sample(
            &(),
            1,
            &mut EventRng::new(1, 0, Stream::World),
            &mut Vec::new(),
        );
    }

    proptest! {
        #[test]
        fn bad_extents_are_refused(volume in any::<f64>(), count in 0_u64..3) {
            let accepts = |extent| MeasureFn::<f64, _>::new(extent, |_: &(), _, _, _| {}).is_ok();
            prop_assert_eq!(accepts(Support::Volume(volume)), 0.0 < volume && volume.is_finite());
            prop_assert_eq!(accepts(Support::Count(count)), 0 < count);
        }
    }
}
