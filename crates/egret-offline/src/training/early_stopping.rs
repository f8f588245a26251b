use serde::{Deserialize, Serialize};

/// Ends training once the loss has not fallen for so many epochs in a row.
///
/// ```
/// use egret_offline::EarlyStopping;
///
/// let mut stopping = EarlyStopping::new(2);
/// for loss in [0.5, 0.3, 0.4, 0.2, 0.25, 0.2] {
///     assert!(!stopping.is_over());
///     stopping.observe(loss);
/// }
/// assert!(stopping.is_over());
/// assert_eq!(stopping.best(), Some(0.2));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EarlyStopping {
    patience: u32,
    best: Option<f64>,
    since: u32,
}

impl EarlyStopping {
    /// With a patience of 1, as in the paper, the first loss that does not fall ends training. 0 is taken as 1.
    pub fn new(patience: u32) -> Self {
        Self {
            patience: patience.max(1),
            best: None,
            since: 0,
        }
    }

    /// Takes the loss of the next epoch and says whether it is below all earlier ones. NaN never is.
    pub fn observe(&mut self, loss: f64) -> bool {
        let better = match self.best {
            Some(best) => loss < best,
            None => !loss.is_nan(),
        };
        if better {
            self.best = Some(loss);
            self.since = 0;
        } else {
            self.since += 1;
        }
        better
    }

    /// Whether patience has run out.
    pub fn is_over(&self) -> bool {
        self.patience <= self.since
    }

    /// The least loss so far.
    pub fn best(&self) -> Option<f64> {
        self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stops_at_the_first_that_does_not_fall() {
        let mut stopping = EarlyStopping::new(1);
        assert!(stopping.observe(0.5));
        assert!(stopping.observe(0.4));
        assert!(!stopping.is_over());
        assert!(!stopping.observe(0.4));
        assert!(stopping.is_over());
        assert_eq!(EarlyStopping::new(0), EarlyStopping::new(1));
    }

    #[test]
    fn what_is_not_a_number_is_never_best() {
        let mut stopping = EarlyStopping::new(2);
        assert!(!stopping.observe(f64::NAN));
        assert!(stopping.observe(0.7));
        assert!(!stopping.observe(f64::NAN));
        assert!(!stopping.observe(f64::NAN));
        assert!(stopping.is_over());
        assert_eq!(stopping.best(), Some(0.7));
    }
}
