use crate::{Certificate, Draws, FixedSample, Igw, Normalizer, NotANumber, Promise};

/// Placeholder.
pub struct BettingMartingale(FixedSample);

impl BettingMartingale {
    /// Placeholder.
    pub fn new(promise: Promise) -> Self {
        Self(FixedSample::new(promise))
    }
}

impl Normalizer for BettingMartingale {
    fn certify(&self, igw: &Igw, draws: &mut Draws<'_>) -> Result<Certificate, NotANumber> {
        self.0.certify(igw, draws)
    }
}
