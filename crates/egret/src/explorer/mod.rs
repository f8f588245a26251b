pub(crate) mod capped_igw;
pub(crate) mod corral;
pub(crate) mod decision;
pub(crate) mod gamma_schedule;
pub(crate) mod greedy;

pub use capped_igw::{CappedIgw, Normalization, Workspace};
pub use corral::{Corral, CorralUpdate, geometric_taus};
pub use decision::{CappedDraw, DecideError, Decision, DensityKind, Observed, TauDraw};
pub use gamma_schedule::GammaSchedule;

use serde::{Deserialize, Serialize};

use self::capped_igw::{CappedSampler, DrawScope};
use self::greedy::GreedyMixture;
use crate::event::{Action, Batch, Density, Propensity};
use crate::explorer::greedy::epsilon_greedy::EpsilonGreedy;
use crate::explorer::greedy::{smooth_igw::SmoothIgw, square_cb::SquareCb};
use crate::measure::ReferenceMeasure;
use crate::normalizer::Certificate;
use crate::numeric::{EventRng, OutOfRange, Stream};
use crate::oracle::{LossCurve, RegressionOracle};
use crate::sampling::{
    Igw, NormalizingConstant,
    proposer::{Proposals, Proposer},
};

/// How an action is chosen, once f̂ is known.
///
/// | explorer        | uses    | needs                                            | every action has a density |
/// |-----------------|---------|--------------------------------------------------|----------------------------|
/// | `CappedIgw`     | τ and γ | nothing                                          | yes                        |
/// | `SmoothIgw`     | τ and γ | an argmin: a catalogue, or an oracle that tells it | on a catalogue           |
/// | `Uniform`       | neither | nothing                                          | yes                        |
/// | `EpsilonGreedy` | neither | an argmin                                        | on a catalogue             |
/// | `SquareCb`      | γ       | a catalogue                                      | yes                        |
///
/// Those without τ play at τ = 1 with probability 1, whatever grid the settings hold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Explorer {
    /// Algorithm 2 of the paper.
    CappedIgw(CappedIgw),
    /// Algorithm 1 of the paper: dM/dμ = τ/(τ + γ·gap), the rest on the greedy action.
    SmoothIgw,
    /// Always μ.
    Uniform,
    /// μ with probability ε, else the greedy action.
    EpsilonGreedy {
        /// In [0, 1].
        epsilon: f64,
    },
    /// 1/(K + γ·gap) for each of K items but the best, which has the rest.
    SquareCb,
}

/// An [`Explorer`] with its numbers checked.
pub(crate) enum Player {
    CappedIgw(CappedSampler),
    SmoothIgw,
    Uniform,
    EpsilonGreedy { epsilon: f64 },
    SquareCb,
}

impl Explorer {
    pub(crate) fn uses_tau(&self) -> bool {
        matches!(self, Self::CappedIgw(_) | Self::SmoothIgw)
    }

    pub(crate) fn player<X: ?Sized, A: Action>(
        &self,
        measure: &dyn ReferenceMeasure<X, A>,
        oracle: &dyn RegressionOracle<X, A>,
    ) -> Result<Player, ExplorerError> {
        let needs_argmin = |explorer| {
            if greedy::has_argmin(measure, oracle) {
                Ok(())
            } else {
                Err(ExplorerError::NoArgmin { explorer })
            }
        };
        Ok(match *self {
            Self::CappedIgw(capped) => {
                let budget = capped.budget as f64;
                OutOfRange::unless(1.0 <= budget, "budget", budget, "[1, inf)")?;
                if capped.normalization == Normalization::Exact
                    && !capped_igw::can_be_exact(measure, oracle)
                {
                    return Err(ExplorerError::NotExact);
                }
                Player::CappedIgw(CappedSampler::new(&capped)?)
            }
            Self::SmoothIgw => {
                needs_argmin("SmoothIGW")?;
                Player::SmoothIgw
            }
            Self::Uniform => Player::Uniform,
            Self::EpsilonGreedy { epsilon } => {
                OutOfRange::unless((0.0..=1.0).contains(&epsilon), "epsilon", epsilon, "[0, 1]")?;
                needs_argmin("epsilon-greedy")?;
                Player::EpsilonGreedy { epsilon }
            }
            Self::SquareCb => {
                if !greedy::has_list(measure) {
                    return Err(ExplorerError::NoCatalogue);
                }
                Player::SquareCb
            }
        })
    }
}

/// What is known about τ and γ when the action is chosen.
pub(crate) struct Smoothness<'a> {
    pub corral: &'a Corral,
    /// The place of the τ played.
    pub index: usize,
    pub schedule: &'a GammaSchedule,
    pub batches: u64,
    pub density: DensityKind,
}

impl Smoothness<'_> {
    /// (τ, γ) of the one played.
    pub(crate) fn played(&self) -> (f64, f64) {
        self.at(self.corral.taus()[self.index])
    }

    fn at(&self, tau: f64) -> (f64, f64) {
        (tau, self.schedule.gamma(self.batches, tau))
    }

    /// (w, τ, γ) of each τ of the grid.
    fn grid(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let weights = self.corral.weights().iter();
        weights.zip(self.corral.taus()).map(|(&weight, &tau)| {
            let (tau, gamma) = self.at(tau);
            (weight, tau, gamma)
        })
    }
}

/// An action with its propensity and what it came from.
pub(crate) struct Choice<A> {
    pub action: A,
    pub propensity: Propensity,
    pub capped_igw: Option<CappedDraw>,
    pub proposals: usize,
}

impl Player {
    /// Each use of chance has its own stream of `key`, the (seed, event).
    pub(crate) fn choose<X: ?Sized, A: Action>(
        &self,
        smoothness: &Smoothness<'_>,
        x: &X,
        measure: &dyn ReferenceMeasure<X, A>,
        oracle: &dyn RegressionOracle<X, A>,
        key: (u64, u64),
        work: &mut Workspace<A>,
    ) -> Result<Choice<A>, DecideError> {
        let curve = LossCurve::new(oracle, x, &mut work.prepared)?;
        let proposals = &mut work.proposals;
        let mut rng = EventRng::new(key.0, key.1, Stream::Action);
        match *self {
            Self::CappedIgw(ref sampler) => {
                let (tau, gamma) = smoothness.played();
                let igw = Igw::new(tau, gamma)?;
                let mut place = DrawScope {
                    proposer: Proposer {
                        x,
                        measure,
                        curve: &curve,
                    },
                    proposals,
                    seen: &mut work.seen,
                    line: &mut work.line,
                    masses: &mut work.masses,
                };
                let drawn = sampler.draw(&igw, &mut place, key)?;
                let g = igw.weight(drawn.fhat, drawn.certificate.beta);
                let density = match smoothness.density {
                    DensityKind::Conditional => g / drawn.z.value,
                    DensityKind::Marginal => {
                        sampler.marginal_density(smoothness.grid(), drawn.fhat, &mut place)?
                    }
                };
                Ok(Choice {
                    action: drawn.action,
                    propensity: Propensity::Density(Density::new(density)?),
                    capped_igw: Some(CappedDraw {
                        g,
                        certificate: drawn.certificate,
                        z: drawn.z,
                    }),
                    proposals: drawn.proposals,
                })
            }
            Self::Uniform => {
                proposals.actions.clear();
                measure.sample(x, 1, &mut rng, &mut proposals.actions);
                Ok(Choice {
                    action: proposals.actions.get(0),
                    propensity: Propensity::Density(Density::new(1.0)?),
                    capped_igw: Some(UNIFORM),
                    proposals: 1,
                })
            }
            Self::SmoothIgw => {
                let at = |tau, gamma| SmoothIgw { tau, gamma };
                choose_greedy(at, smoothness, x, measure, &curve, &mut rng, proposals)
            }
            Self::EpsilonGreedy { epsilon } => {
                let at = |_, _| EpsilonGreedy { epsilon };
                choose_greedy(at, smoothness, x, measure, &curve, &mut rng, proposals)
            }
            Self::SquareCb => {
                let at = |_, gamma| SquareCb { gamma };
                choose_greedy(at, smoothness, x, measure, &curve, &mut rng, proposals)
            }
        }
    }
}

/// Plays the greedy mixture that `at` gives for (τ, γ).
fn choose_greedy<X: ?Sized, A: Action, M: GreedyMixture>(
    at: impl Fn(f64, f64) -> M,
    smoothness: &Smoothness<'_>,
    x: &X,
    measure: &dyn ReferenceMeasure<X, A>,
    curve: &LossCurve<'_, X, A>,
    rng: &mut EventRng,
    work: &mut Proposals<A>,
) -> Result<Choice<A>, DecideError> {
    let (tau, gamma) = smoothness.played();
    let mixture = at(tau, gamma);
    let played = greedy::play(&mixture, x, measure, curve, rng, work)?;
    let mut density = |mixture| greedy::density(&mixture, &played, measure, work);
    let density = match smoothness.density {
        DensityKind::Conditional => density(mixture),
        DensityKind::Marginal => smoothness
            .grid()
            .map(|(weight, tau, gamma)| Some(weight * density(at(tau, gamma))?))
            .sum(),
    };
    Ok(Choice {
        propensity: match density {
            Some(density) => Propensity::Density(Density::new(density)?),
            None => Propensity::PointMass,
        },
        action: played.action,
        capped_igw: None,
        proposals: 1,
    })
}

/// CappedIGW at τ = 1.
const UNIFORM: CappedDraw = CappedDraw {
    g: 1.0,
    certificate: Certificate::UNIFORM,
    z: NormalizingConstant {
        value: 1.0,
        draws: 0,
    },
};

/// Why an explorer cannot play on this measure with this oracle.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExplorerError {
    /// A number is not where it has to be.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// Nobody can tell the greedy action.
    #[error(
        "{explorer} plays the action that looks best, which is known on a catalogue, or on an interval with an \
         oracle that tells its argmin; here is neither"
    )]
    NoArgmin {
        /// Which.
        explorer: &'static str,
    },
    /// z cannot be computed here.
    #[error(
        "exact normalisation needs a catalogue, or an interval with an oracle that tells its monotone pieces; \
         take Auto or Mixture"
    )]
    NotExact,
    /// SquareCB is for a list of items.
    #[error("SquareCB plays the items of a catalogue, and the measure is not one")]
    NoCatalogue,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::{
        Learner, Settings, SettingsError,
        small_world::{Bowl, Table, interval_learner, interval_learner_of},
    };
    use crate::measure::{Catalogue, Interval, Product};
    use crate::sampling::SampleError;

    fn settings(explorer: Explorer) -> Settings {
        Settings {
            explorer,
            ..Settings::paper()
        }
    }

    #[test]
    fn uniform_is_capped_igw_at_tau_one() {
        let uniform = interval_learner(settings(Explorer::Uniform));
        let capped = interval_learner(Settings {
            taus: vec![1.0],
            ..Settings::paper()
        });
        for event in 0..20 {
            let uniform = uniform.decide(event, &0.5).expect("an action");
            let capped = capped.decide(event, &0.5).expect("an action");
            let parts = uniform.capped_igw.expect("as of CappedIGW");
            assert_eq!((parts.g, parts.z.value, uniform.tau), (1.0, 1.0, 1.0));
            assert_eq!(uniform.importance_weight(1.0), Some(1.0));
            assert_eq!(uniform.capped_igw, capped.capped_igw);
            assert_eq!(uniform.propensity, capped.propensity);
            assert_eq!(uniform.tau_probability, 1.0);
        }
    }

    #[test]
    fn a_greedy_action_needs_an_argmin() {
        let greedy = [
            Explorer::SmoothIgw,
            Explorer::EpsilonGreedy { epsilon: 0.5 },
        ];
        for explorer in greedy {
            interval_learner(settings(explorer));
            let catalogue = Catalogue::uniform(3).expect("three");
            let table = Table(vec![0.0; 3]);
            assert!(Learner::new(Box::new(catalogue), Box::new(table), settings(explorer)).is_ok());
            // A pair is neither on the line nor in the catalogue.
            let pairs = Product::new(
                Interval::new(0.0, 1.0).expect("in order"),
                Interval::new(0.0, 1.0).expect("in order"),
            );
            let refused = Learner::<f64, (f64, f64)>::new(
                Box::new(pairs),
                Box::new(Pairs),
                settings(explorer),
            );
            assert!(matches!(
                refused.err(),
                Some(SettingsError::Explorer(ExplorerError::NoArgmin { .. }))
            ));
        }
    }

    #[test]
    fn nan_is_an_error_whoever_explores() {
        for explorer in [
            Settings::paper().explorer,
            Explorer::SmoothIgw,
            Explorer::EpsilonGreedy { epsilon: 0.5 },
        ] {
            let bowl = Bowl {
                offset: 0.0,
                slope: f64::NAN,
            };
            let learner = interval_learner_of(bowl, settings(explorer));
            assert!(matches!(
                learner.decide(0, &0.5),
                Err(DecideError::Sample(SampleError::NanPrediction(_)))
            ));
        }
    }

    #[test]
    fn the_greediest_schedule_still_gives_densities() {
        let settings = Settings {
            gamma: GammaSchedule::constant(f64::MAX).expect("positive"),
            explorer: Explorer::CappedIgw(CappedIgw {
                budget: 10_000,
                ..CappedIgw::default()
            }),
            ..Settings::paper()
        };
        let learner = interval_learner(settings);
        for event in 0..50 {
            match learner.decide(event, &0.5) {
                Ok(decision) => assert!(decision.propensity.density().is_some()),
                Err(error) => assert!(matches!(error, DecideError::Sample(_)), "{error}"),
            }
        }
    }

    struct Pairs;

    impl RegressionOracle<f64, (f64, f64)> for Pairs {
        fn prepare(&self, _: &f64, _: &mut Vec<f64>) -> Result<(), crate::event::ContextError> {
            Ok(())
        }

        fn predict(&self, _: &f64, _: &[f64], _: &(Vec<f64>, Vec<f64>), out: &mut [f64]) {
            out.fill(0.5);
        }

        fn learn(
            &mut self,
            _: &[crate::oracle::Example<'_, f64, (f64, f64)>],
        ) -> Result<(), crate::event::ContextError> {
            Ok(())
        }

        fn save(&self) -> Vec<u8> {
            Vec::new()
        }

        fn load(&mut self, _: &[u8]) -> Result<(), crate::codec::LoadError> {
            Ok(())
        }
    }
}
