use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};

/// The mean squared error of predictions made before they were learned from: of all, and by what was predicted.
///
/// Errors are seldom the same everywhere. Losses of 0 and 1 vary by f(1 − f), least where the best actions are; and where f̂ has
/// not the shape of the loss, as beyond a cliff, it errs most. Least squares are best where every example counts in inverse
/// proportion to its variance, and this tells the variance of a loss from its prediction.
///
/// Means stand at eight equal steps of arccos(1 − 2f̂), which spreads predictions near 0 and near 1, and are linear in between.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Errors {
    all: f64,
    /// How many errors each place has seen, and the sum of their squares.
    places: [(f64, f64); PLACES],
}

const PLACES: usize = 9;

/// Means are over about so many events.
const HORIZON: u64 = 5_000;

/// The largest variance of losses in [0, 1], where the mean squared error starts.
const LARGEST: f64 = 0.25;

/// The mean of all is worth so many errors of each place.
const PRIOR: f64 = 20.0;

/// The places around a prediction, and how near each is.
fn around(predicted: f64) -> [(usize, f64); 2] {
    let angle = libm::acos(1.0 - 2.0 * predicted) / std::f64::consts::PI;
    let place = angle * (PLACES - 1) as f64;
    let low = (place as usize).min(PLACES - 2);
    let above = place - low as f64;
    [(low, 1.0 - above), (low + 1, above)]
}

impl Errors {
    pub(super) fn new() -> Self {
        Self {
            all: LARGEST,
            places: [(0.0, 0.0); PLACES],
        }
    }

    /// The mean squared error of all predictions.
    pub(super) fn all(&self) -> f64 {
        self.all
    }

    /// The squared error to expect of a prediction.
    pub(super) fn expected(&self, predicted: f64) -> f64 {
        let parts = around(predicted).map(|(place, part)| {
            let (count, sum) = self.places[place];
            part * (PRIOR * self.all + sum) / (PRIOR + count)
        });
        parts.iter().sum()
    }

    /// Counts the error of a prediction, the last of so many that count, and returns the squared error to expect of such a prediction.
    pub(super) fn count(&mut self, predicted: f64, loss: f64, events: u64) -> f64 {
        let square = (predicted - loss) * (predicted - loss);
        self.all += (square - self.all) / events.min(HORIZON) as f64;
        let expected = self.expected(predicted);
        for (place, part) in around(predicted) {
            let (count, sum) = &mut self.places[place];
            if HORIZON as f64 <= *count {
                (*count, *sum) = (0.5 * *count, 0.5 * *sum);
            }
            *count += part;
            *sum += part * square;
        }
        expected
    }

    /// Makes what was counted worth so many times less.
    pub(super) fn forget(&mut self, factor: f64) {
        for (count, sum) in &mut self.places {
            (*count, *sum) = (*count / factor, *sum / factor);
        }
    }

    /// An error unless these can be means of squared errors.
    pub(super) fn check(&self) -> Result<(), LoadError> {
        saved_state::expect_numbers("squared error", &[self.all], 1, |error| {
            (0.0..=1.0).contains(&error)
        })?;
        let counts = self.places.map(|(count, _)| count);
        saved_state::expect_numbers("count of errors", &counts, PLACES, |count| {
            (0.0..=HORIZON as f64 + 1.0).contains(&count)
        })?;
        if self
            .places
            .iter()
            .all(|(count, sum)| (0.0..=*count).contains(sum))
        {
            return Ok(());
        }
        Err(LoadError::Invalid(
            "a sum of squared errors is not between 0 and their number".into(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{EventRng, Stream};

    #[test]
    fn the_variance_of_zero_and_one_is_told_from_the_prediction() {
        let mut errors = Errors::new();
        let mut rng = EventRng::new(1, 0, Stream::World);
        for event in 1..=40_000 {
            let mean = rng.unit();
            errors.count(mean, f64::from(u8::from(rng.unit() < mean)), event);
        }
        for mean in [0.02, 0.1, 0.5, 0.9, 0.98] {
            let expected = errors.clone().count(mean, mean, 40_001);
            let variance = mean * (1.0 - mean);
            // Places near 0 and 1 see half of what is between them and the next: 0.02 is taken for 0.04. The mean of all errors is
            // 0.17, which would be off by 0.15 there.
            let off = (expected - variance).abs();
            assert!(off < 0.1 * variance + 0.025, "{mean}: {expected}");
        }
        // The mean of f(1 − f).
        assert!((errors.all() - 1.0 / 6.0).abs() < 0.02, "{}", errors.all());
    }

    #[test]
    fn what_was_never_predicted_is_expected_to_err_as_all() {
        let mut errors = Errors::new();
        for event in 1..=1_000 {
            errors.count(0.1, 0.2, event);
        }
        let found = errors.count(0.9, 0.9, 1_001);
        assert!((found - errors.all()).abs() < 1e-12, "{found}");
    }

    #[test]
    fn what_is_forgotten_says_less_of_the_next_error() {
        let [keeps, forgets] = [1.0, 16.0].map(|factor| {
            let mut errors = Errors::new();
            for event in 1..=2_000 {
                errors.count(0.1, 0.2, event);
            }
            errors.forget(factor);
            for event in 2_001..=2_100 {
                errors.count(0.1, 0.5, event);
            }
            errors.count(0.1, 0.1, 2_101)
        });
        // Of 2,000 squares of .01 and 100 of .16, and of 125 and 100.
        assert!(keeps < 0.02 && 0.05 < forgets, "{keeps} {forgets}");
        assert!(forgets < 0.1, "{forgets}");
    }

    #[test]
    fn only_means_of_squares_are_loaded() {
        let mut errors = Errors::new();
        errors.count(0.5, 1.0, 1);
        assert!(errors.check().is_ok());
        for (all, place) in [
            (f64::NAN, (1.0, 0.5)),
            (0.1, (1.0, 2.0)),
            (0.1, (-1.0, 0.0)),
            (0.1, (f64::INFINITY, 0.0)),
        ] {
            let mut places = errors.places;
            places[3] = place;
            assert!(Errors { all, places }.check().is_err(), "{all} {place:?}");
        }
    }
}
