use egret::{Blueprint, Context, LearningRate, OracleSpec, OutOfRange};
use rayon::prelude::*;

use crate::{
    Atoms, Criterion, KnownAction, LoggedExample, Method, Order, Parts, Recipe, RecipeError, Split,
    Trained, TrainingSettings,
};

/// A split and recipes to try on it; the one that does best on validation rows counts.
///
/// ```
/// use egret_offline::OfflineProtocol;
///
/// let protocol = OfflineProtocol::paper(10, 7)?;
/// let names: Vec<String> = protocol.recipes.iter().map(|recipe| recipe.name()).collect();
/// assert_eq!(names, ["network 10-10 dm", "network 10-10 ips"]);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct OfflineProtocol {
    /// How the log is cut.
    pub split: Split,
    /// In which order.
    pub order: Order,
    /// What is tried.
    pub recipes: Vec<Recipe>,
}

/// What a protocol came to.
pub struct Outcome<A: KnownAction> {
    /// The rows of each part; those of the test were not looked at.
    pub parts: Parts,
    /// What each recipe was trained to.
    pub trained: Vec<Trained<Context, A>>,
    /// Which has the lowest validated value, or the lowest squared error where none can be validated.
    pub best: usize,
}

impl OfflineProtocol {
    /// The paper's offline experiment (§4.2 and its appendix) for contexts of `context_dim` features.
    ///
    /// 80%, 10%, 10% at random. The direct method (rate 0.004, t₀ = 500) and clipped IPS (0.0075, 750, cap 5, point
    /// masses at the cap), each with two hidden layers as wide as the input, batches of 8, two gradient steps each, epochs
    /// while the validation loss falls; the better method counts. The paper has labels, and so the true loss of each action; from
    /// a log alone it is estimated, for the best of 8 in place of the greedy action, which has no density.
    pub fn paper(context_dim: usize, seed: u64) -> Result<Self, OutOfRange> {
        let recipe = |rate, t0, method| {
            Ok(Recipe {
                oracle: OracleSpec::Argmin {
                    hidden: Some([context_dim; 2]),
                    learning_rate: LearningRate::new(rate, t0)?,
                    seed,
                },
                training: TrainingSettings {
                    method,
                    criterion: Criterion::Value,
                    seed,
                    ..TrainingSettings::default()
                },
            })
        };
        let clipped = Method::ClippedIps {
            cap: 5.0,
            atoms: Atoms::Cap,
        };
        Ok(Self {
            split: Split::paper(),
            order: Order::Shuffled(seed),
            recipes: vec![
                recipe(0.004, 500.0, Method::DirectMethod)?,
                recipe(0.0075, 750.0, clipped)?,
            ],
        })
    }

    /// Trains every recipe, side by side. The blueprint's own oracle is not looked at.
    pub fn learn<A: KnownAction>(
        &self,
        blueprint: &Blueprint,
        examples: &[LoggedExample<Context, A>],
    ) -> Result<Outcome<A>, RecipeError> {
        let parts = self.split.parts(examples.len(), self.order);
        let trained = self
            .recipes
            .par_iter()
            .map(|recipe| recipe.train(blueprint, examples, &parts))
            .collect::<Result<Vec<_>, _>>()?;
        let score = |trained: &Trained<Context, A>| {
            let validation = trained.validation;
            // Values first: they are comparable, errors of different methods are not.
            let value = validation.value.map_or(f64::INFINITY, |value| value);
            let error = validation.squared_error.unwrap_or(f64::INFINITY);
            (value, error)
        };
        let mut best = 0;
        for place in 1..trained.len() {
            let (ours, theirs) = (score(&trained[place]), score(&trained[best]));
            if ours.0 < theirs.0 || (ours.0 == theirs.0 && ours.1 < theirs.1) {
                best = place;
            }
        }
        Ok(Outcome {
            parts,
            trained,
            best,
        })
    }
}
