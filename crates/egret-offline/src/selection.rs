use egret::{Blueprint, Context, Model, OutOfRange, Settings};
use rayon::prelude::*;
use serde::Serialize;

use crate::served_policy::weights;
use crate::{
    Columns, Comparison, Confidence, Difference, Estimate, Estimator, Evaluation, EvaluationError,
    IntervalKind, KnownAction, LearningError, LoggedExample, PairedColumns, Parts, Plan, PlanError,
    Recipe, RecipeError, TargetError, Trained,
};

/// Candidates trained on one part of a log and judged on another, the best first named.
///
/// The value of each is estimated on the same held-out rows, self-normalised. The interval beside it is a confidence sequence by
/// betting at α/K for K candidates: all intervals hold at once with probability 1 − α, so that the winner's holds although it won. That
/// one candidate is better than another is said only where the interval of the difference, at α/(K(K − 1)) for each
/// ordered pair, lies on one side of 0.
pub struct Selection<A: KnownAction> {
    /// In the order of the recipes.
    pub entries: Vec<Entry<A>>,
    /// The place of the one with the lowest estimate.
    pub winner: usize,
    blueprint: Blueprint,
}

/// A candidate, trained and judged.
pub struct Entry<A: KnownAction> {
    /// What was tried.
    pub recipe: Recipe,
    /// What it came to.
    pub trained: Trained<Context, A>,
    /// Its value on held-out rows.
    pub judged: Judged,
}

/// What held-out rows say of a candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The mean loss of the served policy, self-normalised; NaN where no row has weight.
    pub estimate: f64,
    /// The estimate by inverse propensities with its interval, which holds for all candidates at once.
    pub interval: Estimate,
    /// How it stands to the winner.
    pub standing: Standing,
    /// Its value less the winner's; none for the winner itself.
    pub behind: Option<Difference>,
}

/// How a candidate stands to the winner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It has the lowest estimate, and each other is worse.
    Best,
    /// It has the lowest estimate, and some other may be as good.
    LowestEstimate,
    /// It may be as good as the winner.
    NotToldApart,
    /// It is worse than the winner.
    Worse,
}

impl Standing {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Best => "best: each other is worse",
            Self::LowestEstimate => "lowest estimate, tied with others",
            Self::NotToldApart => "a tie: not told apart from the lowest",
            Self::Worse => "worse than the lowest",
        }
    }
}

/// How candidates are judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judging {
    /// The probability with which all intervals hold at once.
    pub level: f64,
    /// Of the draws behind densities.
    pub seed: u64,
}

impl<A: KnownAction> Selection<A> {
    /// Trains every recipe on the training rows, side by side, and judges them on the test rows.
    ///
    /// `on_trained` is told of each as it is done, in no order. The result does not depend on threads.
    pub fn new(
        blueprint: &Blueprint,
        examples: &[LoggedExample<Context, A>],
        parts: &Parts,
        recipes: &[Recipe],
        judging: Judging,
        on_trained: impl Fn(&Recipe) + Sync,
    ) -> Result<Self, SelectionError> {
        let trained = recipes
            .par_iter()
            .map(|recipe| {
                let trained = recipe.train(blueprint, examples, parts);
                on_trained(recipe);
                trained.map_err(|error| SelectionError::Recipe {
                    name: recipe.name(),
                    error,
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        Self::judge(blueprint, examples, parts, recipes, trained, judging)
    }

    /// Judges what each recipe was trained to already, on the test rows. There is as much trained as there are recipes.
    pub fn judge(
        blueprint: &Blueprint,
        examples: &[LoggedExample<Context, A>],
        parts: &Parts,
        recipes: &[Recipe],
        trained: Vec<Trained<Context, A>>,
        judging: Judging,
    ) -> Result<Self, SelectionError> {
        let measure = A::measure(&blueprint.space).map_err(SelectionError::Space)?;
        let confidence = Confidence::new(judging.level)?;
        let rows = &parts.test;
        let mut judged = Vec::new();
        let mut held_out = HeldOut::default();
        for (recipe, trained) in recipes.iter().zip(&trained) {
            let policy = recipe.training.policy;
            let target = policy.target(&*measure, &*trained.oracle)?;
            let weights = weights(&target, examples, rows, judging.seed)?;
            held_out.add(examples, rows, &weights);
        }
        if recipes.is_empty() {
            return Err(SelectionError::NoRecipe);
        }
        if !held_out
            .weights
            .iter()
            .flatten()
            .any(|&weight| 0.0 < weight)
        {
            return Err(SelectionError::NothingToJudgeBy { rows: rows.len() });
        }
        let candidates = recipes.len() as u64;
        for weights in &held_out.weights {
            judged.push(held_out.value(weights, confidence.simultaneous(candidates))?);
        }
        // One that no row speaks of does not win by it.
        let known = |place: usize| match judged[place].0 {
            estimate if estimate.is_nan() => f64::INFINITY,
            estimate => estimate,
        };
        let winner = (0..judged.len())
            .min_by(|&a, &b| known(a).total_cmp(&known(b)))
            .ok_or(SelectionError::NoRecipe)?;
        let pairs = confidence.simultaneous(candidates * (candidates - 1));
        let behind = (0..judged.len())
            .map(|place| held_out.difference(place, winner, pairs))
            .collect::<Result<Vec<_>, _>>()?;
        let standing = |behind: &Option<Difference>| match behind {
            Some(behind) if 0.0 < behind.low => Standing::Worse,
            Some(_) => Standing::NotToldApart,
            None => Standing::LowestEstimate,
        };
        let mut standings: Vec<Standing> = behind.iter().map(standing).collect();
        if !standings.contains(&Standing::NotToldApart) {
            standings[winner] = Standing::Best;
        }
        let judged = judged.into_iter().zip(behind).zip(standings);
        let entries = recipes.iter().zip(trained).zip(judged);
        Ok(Self {
            entries: entries
                .map(
                    |((recipe, trained), (((estimate, interval), behind), standing))| Entry {
                        recipe: recipe.clone(),
                        trained,
                        judged: Judged {
                            estimate,
                            interval,
                            standing,
                            behind,
                        },
                    },
                )
                .collect(),
            winner,
            blueprint: blueprint.clone(),
        })
    }

    /// The winner.
    pub fn best(&self) -> &Entry<A> {
        &self.entries[self.winner]
    }

    /// The winner as a model that decides under these settings and goes on learning.
    pub fn model(&self, settings: Settings) -> Result<Model, RecipeError> {
        let Entry {
            recipe, trained, ..
        } = self.best();
        let blueprint = recipe.blueprint(&self.blueprint);
        let state = trained.oracle.save();
        Ok(Model::trained(
            blueprint,
            settings,
            &state,
            trained.batches,
        )?)
    }

    /// Who won and what may be as good, in a sentence.
    pub fn sentence(&self) -> String {
        let Entry { recipe, judged, .. } = self.best();
        let name = recipe.name();
        let Estimate { low, high, .. } = judged.interval;
        let ties: Vec<String> = self
            .entries
            .iter()
            .filter(|entry| entry.judged.standing == Standing::NotToldApart)
            .map(|entry| entry.recipe.name())
            .collect();
        let value = format!("{:.4}, in [{low:.4}, {high:.4}]", judged.estimate);
        if self.entries.len() == 1 {
            return format!("{name} is the only candidate: its loss is {value}");
        }
        if ties.is_empty() {
            return format!("{name} is better than each other: its loss is {value}");
        }
        let others = match ties.len() {
            ..=NAMED => ties.join(", "),
            many => format!("{} and {} more", ties[..NAMED].join(", "), many - NAMED),
        };
        format!("{name} has the lowest loss, {value}; the rows do not tell it apart from {others}")
    }
}

/// So many ties are named in a sentence.
const NAMED: usize = 3;

/// Held-out rows: their losses, and the weights of each candidate. A point mass weighs 0 and counts as a row: densities are
/// those of the rest of the logging policy, which does not sum to 1 without it, so that Σ wℓ/n over all n rows is
/// unbiased, and over those with a density is not.
#[derive(Default)]
struct HeldOut {
    losses: Vec<f64>,
    weights: Vec<Vec<f64>>,
}

impl HeldOut {
    fn add<X, A>(
        &mut self,
        examples: &[LoggedExample<X, A>],
        rows: &[usize],
        weights: &[Option<f64>],
    ) {
        let losses = rows.iter().map(|&row| examples[row].loss.get());
        self.losses.clear();
        self.losses.extend(losses);
        let own = weights.iter().map(|weight| weight.unwrap_or(0.0));
        self.weights.push(own.collect());
    }

    /// The self-normalised estimate, and the other with its betting interval.
    fn value(
        &self,
        weights: &[f64],
        confidence: Confidence,
    ) -> Result<(f64, Estimate), SelectionError> {
        let mut evaluation = Evaluation::new(Plan {
            estimators: vec![Estimator::Ips, Estimator::Snips],
            intervals: vec![IntervalKind::Normal, IntervalKind::Betting],
            ..Plan::default()
        })?;
        evaluation.observe(&Columns {
            losses: &self.losses,
            weights,
            ..Columns::default()
        })?;
        let estimates = evaluation.report(confidence).estimates;
        let of = |estimator, interval| {
            let found = estimates
                .iter()
                .find(|found| found.estimator == estimator && found.interval == interval);
            found.expect("the plan has it").clone()
        };
        let betting = of(Estimator::Ips, IntervalKind::Betting);
        Ok((of(Estimator::Snips, IntervalKind::Normal).estimate, betting))
    }

    /// The value of one candidate less that of another; none for the same.
    fn difference(
        &self,
        of: usize,
        to: usize,
        confidence: Confidence,
    ) -> Result<Option<Difference>, SelectionError> {
        if of == to {
            return Ok(None);
        }
        let mut comparison = Comparison::new(None)?;
        comparison.observe(&PairedColumns {
            losses: &self.losses,
            weights: [&self.weights[of], &self.weights[to]],
            ..PairedColumns::default()
        })?;
        let differences = comparison.report(confidence).differences;
        Ok(differences
            .into_iter()
            .find(|found| found.interval == IntervalKind::Betting))
    }
}

/// Why nothing was selected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// A candidate cannot be trained.
    #[error("candidate {name}: {error}")]
    Recipe {
        /// Which.
        name: String,
        /// Why.
        error: RecipeError,
    },
    /// Not an action space, or not one of such actions.
    #[error(transparent)]
    Space(RecipeError),
    /// A policy has no density.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A number is not in its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// The evaluation cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A row cannot be weighed.
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    /// Training failed.
    #[error(transparent)]
    Learning(#[from] LearningError),
    /// There is no candidate.
    #[error("there is no candidate: name one at least")]
    NoRecipe,
    /// There are no held-out rows, all are point masses, or none is what a candidate would play.
    #[error(
        "none of the {rows} held-out rows has weight: hold out more, log densities, or serve a policy that plays what was logged"
    )]
    NothingToJudgeBy {
        /// How many there are.
        rows: usize,
    },
}
