use std::collections::HashMap;

use egret::{
    ActionKind, AnyAction, Batch as _, Context, ContextError, EventRng, Kind, Loss, LossCurve,
    ModelSpec, NanPrediction, Observed, Propensity, ReferenceMeasure, RegressionOracle, SpaceError,
    Stream, Support,
};

use crate::training::{CandidateError, SplitRows, TrainingCandidate, TrainingSettings};

/// An estimate of the density of the policy that made a log, where none was logged.
///
/// Beside each action that was played stands one drawn from μ for the same context, and an oracle learns to tell them apart:
/// f̂(x, a) is the probability that a was drawn from μ. Then
///
/// p̂(a | x) = r(x, a) / E_{a'∼μ} r(x, a'),  r = (1 − f̂) / f̂
///
/// The oracle is the default of the space. The log is dealt into two halves, row by row in turn, and the density of a row comes
/// from the oracle that learned from the other half: an action does not make itself likely.
///
/// It is an assumption, not a measurement. It holds if what the policy went by is in the context, and if the oracle can tell
/// what it did. Weights that rest on it carry an error that no interval shows.
pub struct LoggingDensity<A: ActionKind> {
    halves: [Box<dyn RegressionOracle<Context, A>>; 2],
    measure: Box<dyn ReferenceMeasure<Context, A>>,
    seed: u64,
}

/// An action that was played.
#[derive(Debug, Clone, PartialEq)]
pub struct Played<A> {
    /// Its place in the log: even and odd rows are the two halves.
    pub row: u64,
    /// What was known.
    pub x: Context,
    /// What was done.
    pub action: A,
}

/// With fewer, nothing can be told of contexts.
const LEAST_EVENTS: usize = 200;

/// The largest r: beyond it the two kinds of action are told apart as well as they can be from some thousand events.
const LARGEST_RATIO: f64 = 100.0;

/// Draws of μ, spread evenly, for the mean of r.
const DRAWS: usize = 128;

/// Where the same action comes up so often, it has a probability of its own and no density.
const MOST_OFTEN: f64 = 0.02;

/// Where half of the densities are above this, contexts all but determine actions: the others are too few to tell how likely
/// they were.
const DETERMINED: f64 = 8.0;

/// One event in so many says when training ends.
const VALIDATION: usize = 10;

impl<A: ActionKind> LoggingDensity<A> {
    /// Learns from what was played; `spec` has the space, what contexts are, and the oracle.
    pub fn fit(
        spec: &ModelSpec,
        played: &[Played<A>],
        seed: u64,
    ) -> Result<Self, LoggingDensityError> {
        let measure = A::measure(&spec.space)?;
        let each_half = |half: usize| played.iter().filter(move |one| half_of(one.row) == half);
        let least = each_half(0).count().min(each_half(1).count());
        if least < LEAST_EVENTS / 2 {
            return Err(LoggingDensityError::TooFewEvents {
                events: played.len(),
            });
        }
        if is_continuous(&*measure) {
            refuse_repeated(played)?;
        }
        let candidate = TrainingCandidate {
            training: TrainingSettings {
                seed,
                patience: 2,
                ..TrainingSettings::default()
            }
            .suited_to(&spec.oracle),
            oracle: spec.oracle.with_seed(seed),
        };
        let learned = |half: usize| {
            let (examples, parts) = told_apart(&*measure, each_half(half), seed);
            candidate.train(spec, &examples, &parts)
        };
        let (even, odd) = rayon::join(|| learned(0), || learned(1));
        let density = Self {
            halves: [even?.oracle, odd?.oracle],
            measure,
            seed,
        };
        density.refuse_determined(played)?;
        Ok(density)
    }

    /// The density of an action in a row, against μ.
    pub fn density(&self, row: u64, x: &Context, action: &A) -> Result<f64, LoggingDensityError> {
        let other = &*self.halves[1 - half_of(row)];
        let (mut prepared, mut fhats) = (Vec::new(), Vec::new());
        let curve = LossCurve::new(other, x, &mut prepared)?;
        let mut actions = A::Batch::default();
        actions.push(action);
        let mut rng = EventRng::new(self.seed, row, Stream::Z);
        let measure = &self.measure;
        measure.sample_stratified(x, DRAWS, &mut rng, &mut actions);
        curve.predict(&actions, &mut fhats)?;
        let ratio = |fhat: &f64| ((1.0 - fhat) / fhat).clamp(1.0 / LARGEST_RATIO, LARGEST_RATIO);
        let (own, drawn) = fhats.split_first().expect("the action was pushed");
        let mean = drawn.iter().map(ratio).sum::<f64>() / drawn.len() as f64;
        Ok(ratio(own) / mean)
    }

    fn refuse_determined(&self, played: &[Played<A>]) -> Result<(), LoggingDensityError> {
        let every = played.len().div_ceil(1_000);
        let some = played.iter().step_by(every);
        let densities = some.map(|one| self.density(one.row, &one.x, &one.action));
        let mut densities = densities.collect::<Result<Vec<f64>, _>>()?;
        densities.sort_unstable_by(f64::total_cmp);
        let median = densities[densities.len() / 2];
        match DETERMINED < median {
            true => Err(LoggingDensityError::Determined { median }),
            false => Ok(()),
        }
    }
}

fn half_of(row: u64) -> usize {
    (row % 2) as usize
}

/// Whether actions under μ never come twice.
fn is_continuous<A: ActionKind>(measure: &dyn ReferenceMeasure<Context, A>) -> bool {
    !matches!(measure.support(), Support::Count(_)) && A::KIND != Kind::Set
}

fn refuse_repeated<A: ActionKind>(played: &[Played<A>]) -> Result<(), LoggingDensityError> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for one in played {
        let action: AnyAction = one.action.clone().into();
        *counts.entry(action.to_string()).or_default() += 1;
    }
    let most = counts
        .into_iter()
        .max_by_key(|(action, count)| (*count, action.clone()));
    let (action, count) = most.unwrap_or_default();
    let share = count as f64 / played.len() as f64;
    match MOST_OFTEN < share {
        true => Err(LoggingDensityError::Repeated { action, share }),
        false => Ok(()),
    }
}

/// What was played, which has no loss, and beside each a draw of μ, which has loss 1; some of the pairs are for validation.
fn told_apart<'p, A: ActionKind>(
    measure: &dyn ReferenceMeasure<Context, A>,
    played: impl Iterator<Item = &'p Played<A>>,
    seed: u64,
) -> (Vec<Observed<Context, A>>, SplitRows) {
    let (mut examples, mut drawn) = (Vec::new(), A::Batch::default());
    let mut parts = SplitRows {
        train: Vec::new(),
        validation: Vec::new(),
        test: Vec::new(),
    };
    for (place, one) in played.enumerate() {
        drawn.clear();
        let mut rng = EventRng::new(seed, one.row, Stream::World);
        measure.sample(&one.x, 1, &mut rng, &mut drawn);
        let part = match place % VALIDATION {
            0 => &mut parts.validation,
            _ => &mut parts.train,
        };
        for (action, loss) in [(one.action.clone(), 0.0), (drawn.get(0), 1.0)] {
            part.push(examples.len());
            examples.push(Observed {
                x: one.x.clone(),
                action,
                limits: None,
                loss: Loss::new(loss).expect("0 and 1 are losses"),
                propensity: Propensity::PointMass,
                tau: None,
            });
        }
    }
    (examples, parts)
}

/// Why the density of a logging policy cannot be estimated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LoggingDensityError {
    /// Too few events.
    #[error(
        "{events} events are too few to estimate the density of their actions from: {LEAST_EVENTS} are needed"
    )]
    TooFewEvents {
        /// How many there are.
        events: usize,
    },
    /// An action has a probability of its own.
    #[error(
        "{:.0}% of the actions are exactly {action}, so they have probabilities and no density: say which actions there were, as \
         in --space steps:5,50,0.5 or items:10",
        100.0 * share
    )]
    Repeated {
        /// Which.
        action: String,
        /// Its share of the log.
        share: f64,
    },
    /// Contexts determine actions.
    #[error(
        "the actions all but follow from the contexts, as if a rule had set them (half of the densities are estimated above \
         {median:.1}): the log hardly shows what other actions would have done, and no estimate of its density helps"
    )]
    Determined {
        /// The median of the estimates.
        median: f64,
    },
    /// The action space is not valid, or holds other actions.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// The oracle cannot be trained.
    #[error(transparent)]
    Candidate(#[from] CandidateError),
    /// The oracle cannot use a context.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The oracle predicted no number.
    #[error(transparent)]
    Prediction(#[from] NanPrediction),
}
