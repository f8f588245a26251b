//! From predictions to a decision: which action to play, and with what propensity.
//!
//! [`Explorer`] lists the choices; [`CappedIgw`] is the paper's and the default. It plays an action with density
//!
//! p(a) = g(a; β)/z(β),  g(a; β) = τ / (1 + γ (f̂(x, a) − β)₊)
//!
//! and τ and γ say how greedy it is. Where z is exact, a share ε of the decisions may be drawn from μ; then p = (1 − ε)·g/z + ε.
//! γ grows as events are learned, by a [`GammaSchedule`]. τ is drawn from a grid by
//! [`Corral`], which learns which τ pays. The other explorers, under `greedy/`, are baselines; most of them put a point
//! mass on the greedy action.
//!
//! The answer is a [`Decision`]: the action, its propensity, and everything needed to replay it.

pub(crate) mod capped_igw;
pub(crate) mod corral;
pub(crate) mod decision;
pub(crate) mod gamma_schedule;
pub(crate) mod greedy;
pub(crate) mod zoom;

pub(crate) use capped_igw::Workspace;
pub use capped_igw::{CappedIgw, Normalization};
pub use corral::{Corral, CorralUpdate, geometric_taus};
pub use decision::{CappedDraw, DecideError, Decision, DensityKind, Observed, TauDraw};
pub use gamma_schedule::{GammaSchedule, Learned};
pub use zoom::Zoom;

use std::fmt;

use serde::{Deserialize, Serialize};

use self::capped_igw::{CappedSampler, DrawScope};
use self::greedy::GreedyMixture;
use crate::event::{Action, Batch, Density, Propensity};
use crate::explorer::greedy::epsilon_greedy::EpsilonGreedy;
use crate::explorer::greedy::{smooth_igw::SmoothIgw, square_cb::SquareCb};
use crate::measure::{Catalogue, ReferenceMeasure};
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
/// | `SmoothIgw`     | τ and γ | a catalogue, or an oracle that knows its argmin  | on a catalogue             |
/// | `Uniform`       | neither | nothing                                          | yes                        |
/// | `EpsilonGreedy` | neither | a catalogue, or an oracle that knows its argmin  | on a catalogue             |
/// | `SquareCb`      | γ       | a catalogue                                      | yes                        |
/// | `Zoom`          | neither | a box, a sphere, a simplex with uniform shares, a catalogue | yes             |
/// | `Auto`          | as the one it is | nothing                                 | yes                        |
///
/// Explorers without τ ignore the grid in the settings and state τ = 1. So does a decision that has one action to choose from,
/// whoever explores: it is played with density 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Explorer {
    /// Algorithm 2 of the paper.
    CappedIgw(CappedIgw),
    /// Algorithm 1 of the paper: density τ/(τ + γ·gap), and the remaining probability on the greedy action.
    SmoothIgw,
    /// Always μ.
    Uniform,
    /// A draw from μ with probability ε, otherwise the greedy action.
    EpsilonGreedy {
        /// In [0, 1].
        epsilon: f64,
    },
    /// Probability 1/(K + γ·gap) for each of K items except the best, which gets the rest.
    SquareCb,
    /// Ever smaller regions around the best vector, ever fewer of the best items.
    Zoom(Zoom),
    /// `Zoom` where the measure has regions, more than three of them, on catalogues of more than 64 items and among sets of items,
    /// otherwise `CappedIgw`.
    Auto {
        /// ε, the share of decisions drawn from μ; in [0, 1]. Where CappedIGW does not compute z there is none.
        uniform: f64,
    },
}

/// A checked [`Explorer`], ready to choose actions.
pub(crate) enum Player {
    CappedIgw(CappedSampler),
    SmoothIgw,
    Uniform,
    EpsilonGreedy { epsilon: f64 },
    SquareCb,
    Zoom(Zoom),
}

/// In words, with the share of uniform decisions where there is one.
impl fmt::Display for Explorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, uniform) = match *self {
            Self::CappedIgw(CappedIgw { uniform, .. }) => ("CappedIGW", uniform),
            Self::SmoothIgw => ("SmoothIGW", 0.0),
            Self::Uniform => ("uniform draws", 0.0),
            Self::EpsilonGreedy { epsilon } => ("the greedy action", epsilon),
            Self::SquareCb => ("SquareCB", 0.0),
            Self::Zoom(Zoom { uniform }) => {
                ("ever smaller regions around the best action", uniform)
            }
            Self::Auto { uniform } => ("what suits the action space", uniform),
        };
        match 0.0 < uniform {
            true => write!(f, "{name}, and {}% of decisions uniform", 100.0 * uniform),
            false => f.write_str(name),
        }
    }
}

impl Explorer {
    /// The same explorer with a share `uniform` of decisions drawn from μ; as it is, if it knows no such share.
    pub fn with_uniform(mut self, share: f64) -> Self {
        match &mut self {
            Self::CappedIgw(CappedIgw { uniform, .. })
            | Self::Zoom(Zoom { uniform })
            | Self::Auto { uniform } => *uniform = share,
            Self::SmoothIgw | Self::Uniform | Self::EpsilonGreedy { .. } | Self::SquareCb => {}
        }
        self
    }

    /// The explorer that this one is on such a measure: `Auto` is another.
    pub(crate) fn on<X: ?Sized, A: Action>(self, measure: &dyn ReferenceMeasure<X, A>) -> Self {
        match self {
            Self::Auto { uniform }
                if FEW_REGIONS < regions(measure)
                    || has_many_items(measure)
                    || measure.sets().is_some() =>
            {
                Self::Zoom(Zoom { uniform })
            }
            Self::Auto { uniform } => Self::CappedIgw(CappedIgw {
                uniform,
                ..CappedIgw::default()
            }),
            other => other,
        }
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
                let uniform = capped.uniform;
                OutOfRange::unless((0.0..=1.0).contains(&uniform), "uniform", uniform, "[0, 1]")?;
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
            Self::Zoom(zoom) => {
                zoom.check()?;
                if greedy::has_list(measure) {
                    if measure.catalogue().is_some_and(zoom::items::is_searched) {
                        // The tree is made now and not in the first decision.
                        oracle.item_tree();
                    }
                } else if regions(measure) == 0 && measure.sets().is_none() {
                    return Err(ExplorerError::NoRegions);
                }
                Player::Zoom(zoom)
            }
            Self::Auto { .. } => return self.on(measure).player(measure, oracle),
        })
    }
}

/// With so few regions Zoom could not concentrate: boxes of more than 333 sides, whose smallest densities an `f64` cannot hold.
const FEW_REGIONS: usize = 3;

/// Whether the actions are items of a list that CappedIGW would have to spread over: at the default τ = 64 no item of a shorter one
/// is capped.
fn has_many_items<X: ?Sized, A: Action>(measure: &dyn ReferenceMeasure<X, A>) -> bool {
    let many = |catalogue: &Catalogue| 64 < catalogue.len();
    greedy::has_list(measure) && measure.catalogue().is_some_and(many)
}

/// How many regions the measure knows around each action.
fn regions<X: ?Sized, A: Action>(measure: &dyn ReferenceMeasure<X, A>) -> usize {
    measure.regions().map_or(0, |regions| regions.count())
}

impl Player {
    pub(crate) fn uses_tau(&self) -> bool {
        matches!(self, Self::CappedIgw(_) | Self::SmoothIgw)
    }
}

/// What is known about τ and γ when the action is chosen.
pub(crate) struct Smoothness<'a> {
    pub corral: &'a Corral,
    /// The index of the τ played.
    pub index: usize,
    pub schedule: &'a GammaSchedule,
    pub learned: Learned,
    pub density: DensityKind,
}

impl Smoothness<'_> {
    /// (τ, γ) of the one played.
    pub(crate) fn played(&self) -> (f64, f64) {
        self.at(self.corral.taus()[self.index])
    }

    fn at(&self, tau: f64) -> (f64, f64) {
        (tau, self.schedule.gamma(&self.learned, tau))
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

/// An action, its propensity, and how it was drawn.
pub(crate) struct Choice<A> {
    pub action: A,
    pub propensity: Propensity,
    pub capped_igw: Option<CappedDraw>,
    /// The explorer's own γ, if it is not the schedule's.
    pub gamma: Option<f64>,
    pub largest_inverse_density: Option<f64>,
    pub proposals: usize,
}

impl Player {
    /// Each use of random numbers has its own stream of `key`, the (seed, event).
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
                let uniform = drawn.uniform;
                let (density, least) = match smoothness.density {
                    DensityKind::Conditional => {
                        let least = igw.weight(drawn.most, drawn.certificate.beta);
                        (g / drawn.z.value, least / drawn.z.value)
                    }
                    DensityKind::Marginal => {
                        sampler.marginal_densities(smoothness.grid(), drawn.fhat, &mut place)?
                    }
                };
                let [density, least] =
                    [density, least].map(|density| (1.0 - uniform) * density + uniform);
                Ok(Choice {
                    action: drawn.action,
                    propensity: Propensity::Density(Density::new(density)?),
                    capped_igw: Some(CappedDraw {
                        g,
                        uniform,
                        certificate: drawn.certificate,
                        z: drawn.z,
                    }),
                    gamma: None,
                    // Rounding keeps the order of f̂, so that no density's own inverse is above it. A γ beyond all
                    // measure makes the least density 0, which no action may have.
                    largest_inverse_density: Some((1.0 / least).min(f64::MAX)),
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
                    gamma: None,
                    largest_inverse_density: Some(1.0),
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
            Self::Zoom(zoom) => zoom.choose(
                &smoothness.learned,
                (x, measure),
                &curve,
                key,
                &mut work.zoom,
                proposals,
            ),
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
        gamma: None,
        largest_inverse_density: None,
        proposals: 1,
    })
}

/// CappedIGW at τ = 1.
const UNIFORM: CappedDraw = CappedDraw {
    g: 1.0,
    uniform: 0.0,
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
    /// A number is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The greedy action cannot be found.
    #[error(
        "{explorer} plays the greedy action, and so needs a catalogue, or an interval with an oracle that knows its \
         argmin: choose CappedIGW for this action space and oracle"
    )]
    NoArgmin {
        /// Which explorer.
        explorer: &'static str,
    },
    /// z cannot be computed with this measure and oracle.
    #[error(
        "exact normalization needs a catalogue, or an interval with an oracle that knows its monotone pieces: choose Auto \
         or Mixture"
    )]
    NotExact,
    /// SquareCB is for a list of items.
    #[error("SquareCB needs a catalogue of items: choose another explorer for this action space")]
    NoCatalogue,
    /// Zoom is for vectors and items.
    #[error(
        "Zoom needs a box, a sphere, a simplex with uniform shares, or a catalogue: choose Auto for this action space"
    )]
    NoRegions,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::{
        Learner, Settings, SettingsError,
        small_world::{Bowl, Table, interval_learner, interval_learner_of},
    };
    use crate::measure::{Catalogue, Interval, Product};
    use crate::oracle::FunctionOracle;
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
            for bad in [-1.0, f64::INFINITY, f64::NAN] {
                assert_eq!(uniform.importance_weight(bad), None);
            }
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
    fn a_line_without_break_points_has_no_argmin() {
        let interval = || Box::new(Interval::new(0.0, 1.0).expect("in order"));
        let oracle = FunctionOracle::new(|_: &f64, _: &Vec<f64>, out: &mut [f64]| out.fill(0.5));
        let refused = Learner::new(interval(), Box::new(oracle), settings(Explorer::SmoothIgw));
        assert!(matches!(
            refused.err(),
            Some(SettingsError::Explorer(ExplorerError::NoArgmin { .. }))
        ));
    }

    #[test]
    fn words_tell_the_share_of_uniform_decisions() {
        let capped = Explorer::CappedIgw(CappedIgw::default());
        assert_eq!(capped.with_uniform(0.0).to_string(), "CappedIGW");
        assert_eq!(
            capped.with_uniform(0.02).to_string(),
            "CappedIGW, and 2% of decisions uniform"
        );
        assert_eq!(Explorer::SmoothIgw.to_string(), "SmoothIGW");
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
