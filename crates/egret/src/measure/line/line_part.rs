use crate::event::{Limits, LimitsError};
use crate::measure::{
    LineMeasure, ReferenceMeasure, Support,
    line::{
        restricted,
        strata::{append_quantiles, fill_stratified},
    },
};
use crate::numeric::{EventRng, OutOfRange};

/// A continuous distribution restricted to a part of its interval, and renormalized.
#[derive(Debug, Clone)]
pub(crate) struct LinePart<M> {
    whole: M,
    low: f64,
    high: f64,
    /// The mass below `low`, and that between the ends.
    below: f64,
    mass: f64,
}

impl<M: LineMeasure> LinePart<M> {
    /// Ends within those of the whole, low < high. Of a mass below 10⁻⁶ quantiles would have too few digits.
    pub(crate) fn new(whole: M, low: f64, high: f64) -> Result<Self, OutOfRange> {
        let below = whole.cdf(low);
        let mass = whole.cdf(high) - below;
        let name = "probability of the limits under mu";
        OutOfRange::unless(1e-6 <= mass, name, mass, "[1e-6, 1]")?;
        Ok(Self {
            whole,
            low,
            high,
            below,
            mass,
        })
    }
}

impl<X: ?Sized, M: LineMeasure + Clone + 'static> ReferenceMeasure<X, f64> for LinePart<M> {
    fn sample(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vec<f64>) {
        append_quantiles(self, n, out, |units| rng.fill_unit(units));
    }

    fn sample_stratified(&self, _: &X, n: usize, rng: &mut EventRng, out: &mut Vec<f64>) {
        append_quantiles(self, n, out, |units| fill_stratified(rng, units));
    }

    fn support(&self) -> Support {
        Support::Volume(self.high - self.low)
    }

    fn as_line(&self) -> Option<&dyn LineMeasure> {
        Some(self)
    }

    fn within(&self, limits: &Limits) -> Result<Box<dyn ReferenceMeasure<X, f64>>, LimitsError> {
        restricted(self, limits, |low, high| {
            Self::new(self.whole.clone(), low, high)
        })
    }
}

impl<M: LineMeasure> LineMeasure for LinePart<M> {
    fn bounds(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    fn cdf(&self, a: f64) -> f64 {
        ((self.whole.cdf(a) - self.below) / self.mass).clamp(0.0, 1.0)
    }

    fn quantiles(&self, u: &mut [f64]) {
        for value in &mut *u {
            *value = (self.below + self.mass * *value).min(1.0);
        }
        self.whole.quantiles(u);
        for value in u {
            *value = value.clamp(self.low, self.high);
        }
    }
}

#[cfg(test)]
mod tests {
    use egret_testkit::kolmogorov_smirnov_p_value;

    use super::*;
    use crate::measure::BetaPrior;
    use crate::measure::checks::{check_replay, check_split, sampled};

    #[test]
    fn draws_are_those_of_the_whole_that_lie_in_the_part() {
        let whole = BetaPrior::new(2.0, 3.0, 0.0, 10.0).expect("a prior");
        let part = LinePart::new(whole.clone(), 1.0, 4.0).expect("enough mass");
        let mut kept = sampled(&whole, 100_000, 1);
        kept.retain(|a| (1.0..=4.0).contains(a));
        // False alarm: one in a million each.
        let cdf = |a| part.cdf(a);
        assert!(1e-6 < kolmogorov_smirnov_p_value(&mut kept, cdf));
        let mut draws = sampled(&part, 50_000, 1);
        assert!(draws.iter().all(|a| (1.0..=4.0).contains(a)));
        assert!(1e-6 < kolmogorov_smirnov_p_value(&mut draws, cdf));
        // Power: a part that begins a little earlier is seen.
        let wider = LinePart::new(whole, 0.9, 4.0).expect("enough mass");
        assert!(kolmogorov_smirnov_p_value(&mut draws, |a| wider.cdf(a)) < 1e-6);
        check_replay(&part);
        check_split(&part);
    }

    #[test]
    fn a_part_of_next_to_no_mass_is_refused() {
        let whole = BetaPrior::new(50.0, 50.0, 0.0, 1.0).expect("a prior");
        assert!(LinePart::new(whole.clone(), 0.0, 0.1).is_err());
        assert!(LinePart::new(whole, 0.4, 0.45).is_ok());
    }
}
