use serde::{Deserialize, Serialize};

use crate::event::{Action, Batch, Item, action::as_action};
use crate::explorer::{DecideError, zoom::ZoomBuffers};
use crate::measure::{Catalogue, LineMeasure, ReferenceMeasure};
use crate::normalizer::{
    BettingMartingale, Certificate, DrawBuffers, Draws, FixedSample, MixtureMartingale, Normalizer,
    Tolerance,
    exact::{
        self,
        catalogue::ExactCatalogue,
        line::{ExactLine, LineBuffers},
    },
};
use crate::numeric::{EventRng, OutOfRange, Stream};
use crate::oracle::{MonotonePieces, NanPrediction, RegressionOracle};
use crate::sampling::{
    Igw, NormalizingConstant, RelativeError, SampleError,
    normalizing_constant::{self, mean_weight},
    proposer::{Proposals, Proposer},
    rejection_sampler::{Accepted, RejectionSampler},
};

/// CappedIGW (Rucker et al. 2023, Algorithm 2): dP/dμ = g(·; β)/z(β), with β such that
/// z(β) ∈ [1/κ∞, 1].
///
/// Where z is computed, a share ε of the decisions may be drawn from μ: dP/dμ = (1 − ε)·g/z + ε. Then no density is below
/// ε, so that no importance weight against μ exceeds 1/ε, and 1,000 decisions say as much about uniform play as at
/// least 1000·ε draws of it. It costs at most ε of the difference between uniform play and the best. Where z is estimated
/// there is no such share: the density would not be linear in ẑ, and weights would be biased.
///
/// | field         | symbol | default | source                                      |
/// |---------------|--------|---------|---------------------------------------------|
/// | `normalization` |      | `Auto`  | exact where possible                        |
/// | `kappa_inf`   | κ∞     | 4       | the paper's online experiments              |
/// | `delta`       | δ      | 0.05    | the paper's online experiments              |
/// | `z_error`     | ε      | 0.5     | see [`RelativeError`]                       |
/// | `budget`      |        | 1,000,000 | enough for κτ ≤ 50,000, except with probability e⁻²⁰ |
/// | `uniform`     | ε      | 0       | the paper has none; [`Settings::default`](crate::Settings) has 0.02 |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CappedIgw {
    /// How β is found.
    pub normalization: Normalization,
    /// The bound on κ = 1/z, if z is not computed.
    pub kappa_inf: f64,
    /// The probability that the bound fails.
    pub delta: f64,
    /// The relative error allowed for ẑ, if z is not computed.
    pub z_error: RelativeError,
    /// The most proposals for one action.
    pub budget: usize,
    /// The share of decisions drawn from μ, where z is computed; in [0, 1].
    pub uniform: f64,
}

impl Default for CappedIgw {
    fn default() -> Self {
        Self {
            normalization: Normalization::Auto,
            kappa_inf: 4.0,
            delta: 0.05,
            z_error: RelativeError::default(),
            budget: 1_000_000,
            uniform: 0.0,
        }
    }
}

/// How β is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Normalization {
    /// Exact where that is possible at a sensible cost, otherwise a mixture.
    Auto,
    /// Solves z(β) = 1. Needs a catalogue, or an interval and an oracle with [`MonotonePieces`](crate::MonotonePieces).
    Exact,
    /// [`MixtureMartingale`].
    Mixture,
    /// [`BettingMartingale`].
    Betting,
    /// [`FixedSample`].
    FixedSample,
}

/// [`CappedIgw`] with its numbers checked and its normalizer built.
pub(crate) struct CappedSampler {
    normalization: Normalization,
    normalizer: Box<dyn Normalizer>,
    z_error: RelativeError,
    sampler: RejectionSampler,
    uniform: f64,
}

/// One draw of CappedIGW.
#[derive(Debug)]
pub(crate) struct Drawn<A> {
    pub action: A,
    pub fhat: f64,
    pub certificate: Certificate,
    pub proposals: usize,
    pub z: NormalizingConstant,
    /// ε, 0 where z is estimated.
    pub uniform: f64,
    /// What no f̂ exceeds: the largest, where all are known, otherwise 1.
    pub most: f64,
}

/// The buffers of a decision, reused so that no decision allocates.
pub(crate) struct Workspace<A: Action> {
    pub(crate) prepared: Vec<f64>,
    pub(crate) proposals: Proposals<A>,
    pub(crate) seen: DrawBuffers,
    pub(crate) line: LineBuffers,
    pub(crate) masses: Vec<f64>,
    pub(crate) zoom: ZoomBuffers,
}

impl<A: Action> Default for Workspace<A> {
    fn default() -> Self {
        Self {
            prepared: Vec::new(),
            proposals: Proposals::default(),
            seen: DrawBuffers::default(),
            line: LineBuffers::default(),
            masses: Vec::new(),
            zoom: ZoomBuffers::default(),
        }
    }
}

/// What drawing an action needs: a context, its f̂, and the buffers.
pub(crate) struct DrawScope<'a, X: ?Sized, A: Action> {
    pub proposer: Proposer<'a, X, A>,
    pub proposals: &'a mut Proposals<A>,
    pub seen: &'a mut DrawBuffers,
    pub line: &'a mut LineBuffers,
    pub masses: &'a mut Vec<f64>,
}

/// How z can be computed.
enum Exact<'a, X: ?Sized, A: Action> {
    Line(ExactLine<'a, X, A>),
    Catalogue(ExactCatalogue<'a, X, A>),
}

/// The most draws that β or ẑ may take: more would need gigabytes of memory.
const MOST_DRAWS: usize = 1 << 25;

/// Under `Auto`, a catalogue of up to this many items is always summed whole.
const FEW_ITEMS: f64 = 1_000.0;

/// A larger one is summed whole up to this many items per τ: drawing would take as many predictions.
const ITEMS_PER_TAU: f64 = 20.0;

impl CappedSampler {
    pub(crate) fn new(settings: &CappedIgw) -> Result<Self, OutOfRange> {
        let tolerance = Tolerance::new(settings.kappa_inf, settings.delta)?;
        Ok(Self {
            normalization: settings.normalization,
            normalizer: match settings.normalization {
                Normalization::Betting => Box::new(BettingMartingale::new(tolerance)),
                Normalization::FixedSample => Box::new(FixedSample::new(tolerance)),
                Normalization::Mixture | Normalization::Auto | Normalization::Exact => {
                    Box::new(MixtureMartingale::new(tolerance))
                }
            },
            z_error: settings.z_error,
            sampler: RejectionSampler {
                budget: settings.budget,
            },
            uniform: settings.uniform,
        })
    }

    pub(crate) fn set_normalizer(&mut self, normalizer: Box<dyn Normalizer>) {
        self.normalizer = normalizer;
    }

    /// Whether z is computed at every τ.
    pub(crate) fn always_exact<X: ?Sized, A: Action>(
        &self,
        measure: &dyn ReferenceMeasure<X, A>,
        oracle: &dyn RegressionOracle<X, A>,
    ) -> bool {
        match self.normalization {
            Normalization::Exact => true,
            Normalization::Auto => {
                let few = |catalogue: &Catalogue| catalogue.len() as f64 <= FEW_ITEMS;
                can_be_exact(measure, oracle) && measure.catalogue().is_none_or(few)
            }
            _ => false,
        }
    }

    /// Draws an action. Each use of random numbers has its own stream of `key`, the (seed, event).
    pub(crate) fn draw<X: ?Sized, A: Action>(
        &self,
        igw: &Igw,
        place: &mut DrawScope<'_, X, A>,
        key: (u64, u64),
    ) -> Result<Drawn<A>, SampleError> {
        match self.exact(igw.tau(), place) {
            // At τ = 1 there is nothing to compute.
            Some(exact) if 1.0 < igw.tau() => self.draw_exactly(igw, &exact, place, key),
            _ => self.draw_blindly(igw, place, key),
        }
    }

    /// Σ wᵢ gᵢ(a)/zᵢ over a grid of (w, τ, γ), at an action with this f̂, and the least that any action can have; an error if
    /// some z is not exact.
    pub(crate) fn marginal_densities<X: ?Sized, A: Action>(
        &self,
        grid: impl Iterator<Item = (f64, f64, f64)>,
        fhat: f64,
        place: &mut DrawScope<'_, X, A>,
    ) -> Result<(f64, f64), DecideError> {
        let (mut density, mut least) = (0.0, 0.0);
        let mut most = None;
        for (weight, tau, gamma) in grid {
            let igw = Igw::new(tau, gamma)?;
            if tau == 1.0 {
                density += weight;
                least += weight;
                continue;
            }
            let exact = self.exact(tau, place).ok_or(DecideError::NotExact)?;
            let most = match most {
                Some(most) => most,
                None => {
                    exact.prepare(place)?;
                    *most.insert(exact.most(place))
                }
            };
            let (beta, z) = exact.beta(&igw, place)?;
            density += weight * igw.weight(fhat, beta) / z;
            least += weight * igw.weight(most, beta) / z;
        }
        Ok((density, least))
    }

    fn exact<'a, X: ?Sized, A: Action>(
        &self,
        tau: f64,
        place: &DrawScope<'a, X, A>,
    ) -> Option<Exact<'a, X, A>> {
        let auto = match self.normalization {
            Normalization::Exact => false,
            Normalization::Auto => true,
            _ => return None,
        };
        let Proposer { measure, curve, .. } = place.proposer;
        if let Some(catalogue) = measure.catalogue() {
            let most = FEW_ITEMS.max(ITEMS_PER_TAU * tau);
            let whole = !auto || catalogue.len() as f64 <= most;
            return (whole && is_number::<Item, A>(Item(0)))
                .then_some(Exact::Catalogue(ExactCatalogue { catalogue, curve }));
        }
        let line = measure.as_line()?;
        let (pieces, prepared) = curve.monotone_pieces()?;
        (is_summable(line, pieces) && is_number::<f64, A>(0.0)).then_some(Exact::Line(ExactLine {
            line,
            pieces,
            prepared,
            curve,
        }))
    }

    fn draw_exactly<X: ?Sized, A: Action>(
        &self,
        igw: &Igw,
        exact: &Exact<'_, X, A>,
        place: &mut DrawScope<'_, X, A>,
        (seed, event): (u64, u64),
    ) -> Result<Drawn<A>, SampleError> {
        exact.prepare(place)?;
        let (beta, z) = exact.beta(igw, place)?;
        let mut rng = EventRng::new(seed, event, Stream::Action);
        let at_random = 0.0 < self.uniform && rng.unit() < self.uniform;
        let most = exact.most(place);
        let accepted = match exact {
            _ if at_random => draw_at_random(&place.proposer, &mut rng, place.proposals)?,
            Exact::Line(line) => line.sample(
                igw,
                beta,
                self.sampler.budget,
                &mut rng,
                place.line,
                place.proposals,
            )?,
            Exact::Catalogue(catalogue) => {
                catalogue.sample(igw, (beta, z), &mut rng, place.masses, place.proposals)
            }
        };
        Ok(Drawn {
            action: accepted.action,
            fhat: accepted.fhat,
            certificate: exact::certificate(beta, z),
            proposals: accepted.proposals,
            z: NormalizingConstant::exact(z),
            uniform: self.uniform,
            most,
        })
    }

    /// β, then the action, then ẑ.
    fn draw_blindly<X: ?Sized, A: Action>(
        &self,
        igw: &Igw,
        place: &mut DrawScope<'_, X, A>,
        (seed, event): (u64, u64),
    ) -> Result<Drawn<A>, SampleError> {
        let certificate = self.beta(igw, place, (seed, event))?;
        let beta = certificate.beta;
        let accepted = self.sampler.sample(
            igw,
            beta,
            &place.proposer,
            &mut EventRng::new(seed, event, Stream::Action),
            place.proposals,
        )?;
        let z = if place.seen.fhats.is_empty() {
            // At τ = 1, g = 1 needs no draw.
            NormalizingConstant::exact(1.0)
        } else {
            // The draws that chose β decide how many fresh ones ẑ takes, and nothing else: ẑ stays independent.
            let kappa = 1.0 / mean_weight(igw, beta, &place.seen.fhats);
            let kappa = kappa.clamp(1.0, certificate.kappa_inf);
            let draws = self.z_error.draws(kappa * igw.tau(), place.pieces());
            if MOST_DRAWS < draws {
                return Err(SampleError::DrawsSpent {
                    draws,
                    most: MOST_DRAWS,
                });
            }
            normalizing_constant::estimate(
                igw,
                beta,
                draws,
                &place.proposer,
                &mut EventRng::new(seed, event, Stream::Z),
                place.proposals,
            )?
        };
        Ok(Drawn {
            action: accepted.action,
            fhat: accepted.fhat,
            certificate,
            proposals: accepted.proposals,
            z,
            uniform: 0.0,
            most: 1.0,
        })
    }

    fn beta<X: ?Sized, A: Action>(
        &self,
        igw: &Igw,
        place: &mut DrawScope<'_, X, A>,
        (seed, event): (u64, u64),
    ) -> Result<Certificate, SampleError> {
        let mut rng = EventRng::new(seed, event, Stream::Beta);
        let (proposer, work) = (&place.proposer, &mut *place.proposals);
        let mut more = |n: usize, rng: &mut EventRng, out: &mut Vec<f64>| {
            proposer.draw(n, rng, work)?;
            out.extend_from_slice(&work.fhats);
            Ok(())
        };
        let draws = Draws::new(place.seen, &mut rng, &mut more);
        self.normalizer.certify(igw, &mut draws.within(MOST_DRAWS))
    }
}

/// One draw of μ.
fn draw_at_random<X: ?Sized, A: Action>(
    proposer: &Proposer<'_, X, A>,
    rng: &mut EventRng,
    work: &mut Proposals<A>,
) -> Result<Accepted<A>, SampleError> {
    proposer.draw(1, rng, work)?;
    Ok(Accepted {
        action: work.actions.get(0),
        fhat: work.fhats[0],
        proposals: 1,
    })
}

impl<X: ?Sized, A: Action> DrawScope<'_, X, A> {
    /// The number of monotone pieces of f̂ on an interval, if known.
    fn pieces(&mut self) -> Option<usize> {
        self.proposer.measure.as_line()?;
        let (pieces, prepared) = self.proposer.curve.monotone_pieces()?;
        Some(self.line.count_pieces(pieces, prepared))
    }
}

impl<X: ?Sized, A: Action> Exact<'_, X, A> {
    /// Computes what all τ share: the pieces, or the predictions for all items.
    fn prepare(&self, place: &mut DrawScope<'_, X, A>) -> Result<(), NanPrediction> {
        match self {
            Self::Line(line) => line.find_pieces(place.line, place.proposals),
            Self::Catalogue(catalogue) => catalogue.predict_all(place.masses, place.proposals),
        }
    }

    /// What no f̂ exceeds.
    fn most(&self, place: &DrawScope<'_, X, A>) -> f64 {
        match self {
            Self::Line(_) => 1.0,
            Self::Catalogue(_) => place.proposals.fhats.iter().copied().fold(0.0, f64::max),
        }
    }

    fn beta(&self, igw: &Igw, place: &mut DrawScope<'_, X, A>) -> Result<(f64, f64), SampleError> {
        match self {
            Self::Line(line) => line.beta(igw, place.line, place.proposals),
            Self::Catalogue(catalogue) => {
                Ok(catalogue.beta(igw, place.masses, &place.proposals.fhats))
            }
        }
    }
}

/// Whether z can be computed: on a catalogue, or on an interval with an oracle that knows its pieces.
pub(crate) fn can_be_exact<X: ?Sized, A: Action>(
    measure: &dyn ReferenceMeasure<X, A>,
    oracle: &dyn RegressionOracle<X, A>,
) -> bool {
    (measure.catalogue().is_some() && is_number::<Item, A>(Item(0)))
        || (oracle
            .monotone_pieces()
            .zip(measure.as_line())
            .is_some_and(|(pieces, line)| is_summable(line, pieces))
            && is_number::<f64, A>(0.0))
}

/// Whether g can be integrated over the pieces: between two steps it jumps, unless f̂ is constant there.
fn is_summable(line: &dyn LineMeasure, pieces: &dyn MonotonePieces) -> bool {
    line.steps().is_none() || pieces.is_flat()
}

fn is_number<T: 'static, A: Action>(value: T) -> bool {
    as_action::<T, A>(value).is_some()
}
