pub(crate) mod certificate;
pub(crate) mod exact;
pub(crate) mod fixed_sample;
pub(crate) mod martingale;

pub use certificate::{Certificate, CertifiedBy};
pub use fixed_sample::FixedSample;
pub use martingale::betting::BettingMartingale;
pub use martingale::mixture::MixtureMartingale;

use crate::numeric::{EventRng, OutOfRange};
use crate::oracle::NanPrediction;
use crate::sampling::{Igw, SampleError};

/// Finds β with z(β) = ∫ g(a; β) dμ in [1/κ∞, 1], failing with probability at most δ.
///
/// It needs numbers alone, and so knows no context and no action; a test hands it a list.
pub trait Normalizer: Send + Sync {
    /// Draws as often as need be and returns β with what is certified about it.
    fn certify(&self, igw: &Igw, draws: &mut Draws<'_>) -> Result<Certificate, SampleError>;
}

/// κ∞ and δ, checked: what a normaliser promises.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    kappa_inf: f64,
    delta: f64,
}

impl Tolerance {
    /// z(β) ∈ [1/κ∞, 1] but for probability δ; κ∞ ∈ [1.05, 10⁶], δ ∈ [10⁻⁹, 1).
    ///
    /// Draws needed grow as 1/(κ∞ − 1)²: closer to 1, take the exact normaliser. Tails below 10⁻⁹ are not
    /// worked out well enough to promise them.
    pub fn new(kappa_inf: f64, delta: f64) -> Result<Self, OutOfRange> {
        OutOfRange::unless(
            (1.05..=1e6).contains(&kappa_inf),
            "kappa_inf",
            kappa_inf,
            "[1.05, 1e6]",
        )?;
        OutOfRange::unless((1e-9..1.0).contains(&delta), "delta", delta, "[1e-9, 1)")?;
        Ok(Self { kappa_inf, delta })
    }

    /// κ∞.
    pub fn kappa_inf(&self) -> f64 {
        self.kappa_inf
    }

    /// δ.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The same κ∞ at another δ.
    pub(crate) fn with_delta(self, delta: f64) -> Self {
        Self { delta, ..self }
    }

    /// The certificate for a β found in this way.
    pub(crate) fn certificate(
        &self,
        beta: f64,
        certified_by: CertifiedBy,
        draws: usize,
    ) -> Certificate {
        Certificate {
            beta,
            certified_by,
            kappa_inf: self.kappa_inf,
            delta: self.delta,
            draws,
        }
    }
}

/// What there is to know at τ = 1.
pub(crate) fn uniform_certificate(igw: &Igw) -> Option<Certificate> {
    (igw.tau() == 1.0).then_some(Certificate::UNIFORM)
}

/// f̂(x, a) for independent a ∼ μ: those drawn so far, and more on demand.
pub struct Draws<'a> {
    pub(crate) buffers: &'a mut DrawBuffers,
    rng: &'a mut EventRng,
    more: &'a mut MoreDraws<'a>,
    most: usize,
}

/// Appends so many fresh draws of f̂(x, a).
pub type MoreDraws<'a> =
    dyn FnMut(usize, &mut EventRng, &mut Vec<f64>) -> Result<(), NanPrediction> + 'a;

/// The memory of [`Draws`], to be kept from one search to the next.
#[derive(Debug, Clone, Default)]
pub struct DrawBuffers {
    pub(crate) fhats: Vec<f64>,
    /// A normaliser whose bets change keeps them here, one list for each side.
    pub(crate) bets: [Vec<f64>; 2],
}

impl<'a> Draws<'a> {
    /// Starts with no draws; `more` appends them.
    pub fn new(
        buffers: &'a mut DrawBuffers,
        rng: &'a mut EventRng,
        more: &'a mut MoreDraws<'a>,
    ) -> Self {
        buffers.fhats.clear();
        Self {
            buffers,
            rng,
            more,
            most: usize::MAX,
        }
    }

    /// The same with at most so many draws; what wants more is an error.
    pub fn within(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Draws until there are `n`.
    pub fn extend_to(&mut self, n: usize) -> Result<(), SampleError> {
        if self.most < n {
            return Err(SampleError::DrawsSpent {
                draws: n,
                most: self.most,
            });
        }
        let fhats = &mut self.buffers.fhats;
        let missing = n.saturating_sub(fhats.len());
        if 0 < missing {
            (self.more)(missing, self.rng, fhats)?;
        }
        Ok(())
    }

    /// Those drawn so far.
    pub fn seen(&self) -> &[f64] {
        &self.buffers.fhats
    }

    /// Those drawn so far, with the generator and some room, for a normaliser with chances of its own.
    pub(crate) fn seen_and_rng(&mut self) -> (&[f64], &mut EventRng, &mut Vec<f64>) {
        let DrawBuffers { fhats, bets } = &mut *self.buffers;
        (fhats, self.rng, &mut bets[0])
    }
}
