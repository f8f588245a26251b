use std::ops::Range;

use crate::codec::LoadError;
use crate::event::Context;
use crate::numeric::hash::mix;
use crate::oracle::network::feature_scale::{self, FeatureScale};

/// Some features of a context as few numbers, scaled: up to 127 features as they are, more as 31 sums with signs that a hash gives.
#[derive(Debug, Clone)]
pub(crate) struct ScaledColumns {
    features: Range<usize>,
    scale: FeatureScale,
}

/// Features are summed beyond: learning costs the square of their number.
const MOST: usize = 127;

/// Into how many sums: a user's ids among many features are for networks, least squares keeps to the rest.
const SUMS: usize = 31;

impl ScaledColumns {
    /// Of these features.
    pub(crate) fn new(features: Range<usize>) -> Self {
        let scaled = if features.len() <= MOST {
            features.clone()
        } else {
            0..SUMS
        };
        Self {
            features,
            scale: FeatureScale::new(scaled),
        }
    }

    /// How many numbers so many features become.
    pub(crate) fn count(features: usize) -> usize {
        if features <= MOST { features } else { SUMS }
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> usize {
        self.scale.dim()
    }

    /// Updates the scale with one more context; `scratch` has room for the numbers.
    pub(crate) fn look_at(&mut self, x: &Context, scratch: &mut [f64]) {
        let count = self.len();
        match self.summed(x) {
            Some(sums) => self.scale.add_values(&sums),
            None => self.scale.add(x, &mut scratch[..count]),
        }
    }

    /// Writes the numbers.
    pub(crate) fn fill(&self, x: &Context, out: &mut [f64]) {
        let mut scaled = [0.0; MOST];
        let scaled = &mut scaled[..self.len()];
        match self.summed(x) {
            Some(sums) => self.scale.apply_to(&sums, scaled),
            None => self.scale.apply(x, scaled),
        }
        for (out, &value) in out.iter_mut().zip(&*scaled) {
            *out = f64::from(value);
        }
    }

    /// The sums of too many features; none if there are few.
    fn summed(&self, x: &Context) -> Option<[f64; SUMS]> {
        if self.features.len() <= MOST {
            return None;
        }
        let mut sums = [0.0; SUMS];
        x.for_each(|feature, value| {
            if self.features.contains(&feature) {
                let (sum, sign) = hashed(feature, SUMS);
                sums[sum] += sign * value;
            }
        });
        Some(sums)
    }

    pub(crate) fn state(&self) -> &feature_scale::State {
        self.scale.state()
    }

    pub(crate) fn check(&self, state: &feature_scale::State) -> Result<(), LoadError> {
        self.scale.check(state)
    }

    pub(crate) fn restore(&mut self, state: feature_scale::State) {
        self.scale.restore(state);
    }
}

/// The sum that a feature belongs to, and its sign there.
pub(crate) fn hashed(feature: usize, sums: usize) -> (usize, f64) {
    let bits = mix(feature as u64);
    let sign = if bits >> 63 == 0 { 1.0 } else { -1.0 };
    (bits as usize % sums, sign)
}
