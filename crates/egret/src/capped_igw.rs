use serde::{Deserialize, Serialize};

use crate::normalizing_constant::{self, mean_weight};
use crate::rejection_sampler::{Proposals, RejectionSampler};
use crate::{
    Action, Batch, BettingMartingale, Certificate, DrawBuffers, Draws, EventRng, FixedSample, Igw,
    LossCurve, MixtureMartingale, Normalizer, NormalizingConstant, NotANumber, OutOfRange, Promise,
    ReferenceMeasure, RelativeError, SampleError, Stream,
};

/// CappedIGW (Rucker et al. 2023, Algorithm 2): dP/dμ = g(·; β)/z(β), with β such that
/// z(β) ∈ [1/κ∞, 1].
///
/// | field         | symbol | default | source                                      |
/// |---------------|--------|---------|---------------------------------------------|
/// | `normalization` |      | `Auto`  | exact where it can be had                   |
/// | `kappa_inf`   | κ∞     | 4       | the paper's online experiments              |
/// | `delta`       | δ      | 0.05    | the paper's online experiments              |
/// | `z_error`     | ε      | 0.5     | see [`RelativeError`]                       |
/// | `budget`      |        | 1,000,000 | κτ ≤ 50,000 ends within it but for e⁻²⁰   |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CappedIgw {
    /// How β is found.
    pub normalization: Normalization,
    /// The bound on κ = 1/z, where z is not computed exactly.
    pub kappa_inf: f64,
    /// The chance that the bound fails.
    pub delta: f64,
    /// How well ẑ is to be known, where z is not computed exactly.
    pub z_error: RelativeError,
    /// The most proposals for one action.
    pub budget: usize,
}

impl Default for CappedIgw {
    fn default() -> Self {
        Self {
            normalization: Normalization::Auto,
            kappa_inf: 4.0,
            delta: 0.05,
            z_error: RelativeError::default(),
            budget: 1_000_000,
        }
    }
}

/// How β is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Normalization {
    /// Exact where it can be had at a sensible cost, else a mixture.
    Auto,
    /// z(β) = 1 by computation: a catalogue, or an interval with an oracle that tells its pieces.
    Exact,
    /// [`MixtureMartingale`].
    Mixture,
    /// [`BettingMartingale`].
    Betting,
    /// [`FixedSample`].
    FixedSample,
}

/// [`CappedIgw`] with its numbers checked and its normaliser built.
pub(crate) struct CappedSampler {
    normalizer: Box<dyn Normalizer>,
    z_error: RelativeError,
    sampler: RejectionSampler,
}

/// One draw of CappedIGW.
#[derive(Debug)]
pub(crate) struct Drawn<A> {
    pub action: A,
    pub fhat: f64,
    pub certificate: Certificate,
    pub proposals: usize,
    pub z: NormalizingConstant,
}

/// The buffers of a decision, kept from one to the next so that none allocates.
pub struct Workspace<A: Action> {
    pub(crate) prepared: Vec<f64>,
    pub(crate) proposals: Proposals<A>,
    pub(crate) seen: DrawBuffers,
}

impl<A: Action> Default for Workspace<A> {
    fn default() -> Self {
        Self {
            prepared: Vec::new(),
            proposals: Proposals::default(),
            seen: DrawBuffers::default(),
        }
    }
}

impl CappedSampler {
    pub(crate) fn new(settings: &CappedIgw) -> Result<Self, OutOfRange> {
        let promise = Promise::new(settings.kappa_inf, settings.delta)?;
        Ok(Self {
            normalizer: match settings.normalization {
                Normalization::Betting => Box::new(BettingMartingale::new(promise)),
                Normalization::FixedSample => Box::new(FixedSample::new(promise)),
                _ => Box::new(MixtureMartingale::new(promise)),
            },
            z_error: settings.z_error,
            sampler: RejectionSampler {
                budget: settings.budget,
            },
        })
    }

    /// β, then the action, then ẑ, each from its own stream of the event.
    pub(crate) fn draw<X: ?Sized, A: Action>(
        &self,
        igw: &Igw,
        x: &X,
        measure: &dyn ReferenceMeasure<X, A>,
        curve: &LossCurve<'_, X, A>,
        (seed, event): (u64, u64),
        proposals: &mut Proposals<A>,
        seen: &mut DrawBuffers,
    ) -> Result<Drawn<A>, SampleError> {
        let certificate = self.beta(igw, x, measure, curve, (seed, event), proposals, seen)?;
        let beta = certificate.beta;
        let accepted = self.sampler.sample(
            igw,
            beta,
            x,
            measure,
            curve,
            &mut EventRng::new(seed, event, Stream::Action),
            proposals,
        )?;
        // The draws that chose β tell how many fresh ones ẑ needs, and nothing else.
        let kappa = if seen.fhats.is_empty() {
            1.0
        } else {
            (1.0 / mean_weight(igw, beta, &seen.fhats)).clamp(1.0, certificate.kappa_inf)
        };
        let z = if kappa == 1.0 && igw.tau() == 1.0 {
            NormalizingConstant::exact(1.0)
        } else {
            normalizing_constant::estimate(
                igw,
                beta,
                self.z_error.draws(kappa * igw.tau()),
                x,
                measure,
                curve,
                &mut EventRng::new(seed, event, Stream::Z),
                proposals,
            )?
        };
        Ok(Drawn {
            action: accepted.action,
            fhat: accepted.fhat,
            certificate,
            proposals: accepted.proposals,
            z,
        })
    }

    fn beta<X: ?Sized, A: Action>(
        &self,
        igw: &Igw,
        x: &X,
        measure: &dyn ReferenceMeasure<X, A>,
        curve: &LossCurve<'_, X, A>,
        (seed, event): (u64, u64),
        work: &mut Proposals<A>,
        seen: &mut DrawBuffers,
    ) -> Result<Certificate, NotANumber> {
        let mut rng = EventRng::new(seed, event, Stream::Beta);
        let mut more = |n: usize, rng: &mut EventRng, out: &mut Vec<f64>| {
            work.actions.clear();
            measure.sample(x, n, rng, &mut work.actions);
            curve.predict(&work.actions, &mut work.fhats)?;
            out.extend_from_slice(&work.fhats);
            Ok(())
        };
        self.normalizer
            .certify(igw, &mut Draws::new(seen, &mut rng, &mut more))
    }
}
