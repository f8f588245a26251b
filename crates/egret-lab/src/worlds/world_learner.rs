use egret::{
    Action, Batch, Context, EventRng, Item, ItemSet, MixedAction, ReferenceMeasure, Stream, Vector,
};

use crate::environment::Environment;
use crate::learner::{Choice, EgretFactory, LearnerFactory, PlayError, Player, Preset, Round};
use crate::worlds::AnyWorld;
use crate::worlds::baselines::{
    BestItems, BestSets, Buckets, DrawnRidge, DrawnThompson, ItemRidges, ItemThompson, SetThompson,
    ShrinkingBox,
};

/// A learner that plays in noisy worlds.
#[derive(Debug, Clone, PartialEq)]
pub enum WorldLearner {
    /// One of egret's.
    Egret(Box<EgretFactory>),
    /// What one would write in forty lines. On intervals 16 buckets with ridge regression on (1, x, x²), ε = 5%; on boxes ridge
    /// regression on squares and products with a shrinking box around its minimum, ε = 2%; among items ridge regression on
    /// (1, x) ⊗ (1, e), one of the best 100, ε = 2%; on lists ridge regression of each item on (1, x, x²), ε = 5%; of sets ridge
    /// regression on (1, x) ⊗ (1, ē), some of the best 30 items, ε = 2%; else ridge regression on squares and products, the best of
    /// 256 drawn actions, ε = 2%.
    Naive,
    /// On boxes the naive learner by the last 2,000 events alone, for worlds that move.
    Window,
    /// Linear Thompson sampling over drawn actions, everywhere but on intervals and lists.
    Thompson,
    /// Actions at random: what is had without learning.
    Uniform,
}

impl WorldLearner {
    /// The names of all learners; `default` is egret's default, as `Model::new` makes it.
    pub const NAMES: [&'static str; 5] = ["default", "naive", "window", "thompson", "uniform"];

    /// The learner of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "default" => Some(Self::Egret(Box::new(Preset::Default.factory()))),
            "naive" => Some(Self::Naive),
            "window" => Some(Self::Window),
            "thompson" => Some(Self::Thompson),
            "uniform" => Some(Self::Uniform),
            _ => None,
        }
    }

    /// The name shown in tables.
    pub fn name(&self) -> &str {
        match self {
            Self::Egret(factory) => &factory.name,
            Self::Naive => "naive",
            Self::Window => "window",
            Self::Thompson => "thompson",
            Self::Uniform => "uniform",
        }
    }

    /// Whether it plays in a world.
    pub fn plays_in(&self, world: &AnyWorld) -> bool {
        match (self, world) {
            (Self::Window, AnyWorld::Vectors(world)) => world.sides().is_some(),
            (Self::Window, _) | (Self::Thompson, AnyWorld::Interval(_)) => false,
            (Self::Thompson, AnyWorld::Items(world)) => world.embeddings().is_some(),
            _ => true,
        }
    }

    /// The time of a decision as a multiple of the naive learner's on an interval, to estimate the time left.
    pub(super) fn cost(&self, world: &AnyWorld) -> f64 {
        let of_world = match world {
            AnyWorld::Interval(_) => 1.0,
            AnyWorld::Vectors(_) | AnyWorld::Mixed(_) => 3.0,
            AnyWorld::Items(_) | AnyWorld::Sets(_) => 10.0,
        };
        match self {
            Self::Egret(_) => 10.0 * of_world,
            Self::Naive | Self::Window | Self::Thompson => of_world * of_world,
            Self::Uniform => 1.0,
        }
    }

    fn batch(&self) -> usize {
        match self {
            Self::Egret(factory) => factory.batch,
            _ => 1,
        }
    }

    /// The baselines with all of their settings; egret's learners have more.
    fn settings(&self) -> String {
        match self {
            Self::Egret(factory) => LearnerFactory::<f64>::fingerprint(&**factory),
            Self::Naive => "naive 16 buckets, ridge 1, epsilon 0.05; boxes from n^-0.25 to 0.1, best 100, epsilon 0.02; best 256 drawn; best 30 of sets".to_owned(),
            Self::Window => format!("window {WINDOW}, box from n^-0.25 to 0.1, ridge 1, epsilon 0.02"),
            Self::Thompson => "thompson 256 draws, 1000 of items".to_owned(),
            Self::Uniform => "uniform".to_owned(),
        }
    }
}

/// How many events the naive learner for worlds that move goes by.
const WINDOW: usize = 2_000;

/// A kind of action that world learners play.
trait WorldAction: Action {
    /// A baseline that learns: `None` where there is none for such actions.
    fn baseline(
        learner: &WorldLearner,
        environment: &dyn Environment<Self>,
        seed: u64,
    ) -> Option<Box<dyn Player<Self>>>;
}

impl WorldAction for f64 {
    fn baseline(
        learner: &WorldLearner,
        environment: &dyn Environment<Self>,
        seed: u64,
    ) -> Option<Box<dyn Player<Self>>> {
        let measure = environment.measure();
        let line = measure
            .as_line()
            .filter(|_| *learner == WorldLearner::Naive);
        line.map(|line| {
            let naive = Buckets::new(line.bounds(), environment.context_dim(), seed);
            Box::new(naive) as Box<dyn Player<Self>>
        })
    }
}

impl WorldAction for Vector {
    fn baseline(
        learner: &WorldLearner,
        environment: &dyn Environment<Self>,
        seed: u64,
    ) -> Option<Box<dyn Player<Self>>> {
        let features = environment.context_dim();
        match environment.sides() {
            Some(sides) if *learner == WorldLearner::Naive => {
                Some(Box::new(ShrinkingBox::new(sides.len(), features, seed)))
            }
            Some(sides) if *learner == WorldLearner::Window => Some(Box::new(
                ShrinkingBox::with_memory(sides.len(), features, seed, WINDOW),
            )),
            _ => drawn(learner, environment, seed),
        }
    }
}

impl WorldAction for MixedAction {
    fn baseline(
        learner: &WorldLearner,
        environment: &dyn Environment<Self>,
        seed: u64,
    ) -> Option<Box<dyn Player<Self>>> {
        drawn(learner, environment, seed)
    }
}

/// Baselines over drawn actions, where actions have coordinates.
fn drawn<A: Action>(
    learner: &WorldLearner,
    environment: &dyn Environment<A>,
    seed: u64,
) -> Option<Box<dyn Player<A>>> {
    let (measure, coordinates) = (environment.measure(), environment.coordinates()?);
    let of = (environment.context_dim(), seed);
    match learner {
        WorldLearner::Naive => Some(Box::new(DrawnRidge::new(measure, coordinates, of))),
        WorldLearner::Thompson => Some(Box::new(DrawnThompson::new(measure, coordinates, of))),
        _ => None,
    }
}

impl WorldAction for ItemSet {
    fn baseline(
        learner: &WorldLearner,
        environment: &dyn Environment<Self>,
        seed: u64,
    ) -> Option<Box<dyn Player<Self>>> {
        let (rows, features) = (environment.embeddings()?, environment.context_dim());
        let mut rng = EventRng::new(seed, 0, Stream::Action);
        let one = draw(&*environment.measure(), &mut rng);
        let size = one.items().len();
        match learner {
            WorldLearner::Naive => Some(Box::new(BestSets::new(rows, size, features, seed))),
            WorldLearner::Thompson => Some(Box::new(SetThompson::new(rows, size, features, seed))),
            _ => None,
        }
    }
}

impl WorldAction for Item {
    fn baseline(
        learner: &WorldLearner,
        environment: &dyn Environment<Self>,
        seed: u64,
    ) -> Option<Box<dyn Player<Self>>> {
        let features = environment.context_dim();
        let Some(rows) = environment.embeddings() else {
            let measure = environment.measure();
            let list = measure
                .catalogue()
                .filter(|_| *learner == WorldLearner::Naive);
            return list.map(|list| {
                Box::new(ItemRidges::new(list.len(), features, seed)) as Box<dyn Player<Self>>
            });
        };
        match learner {
            WorldLearner::Naive => Some(Box::new(BestItems::new(rows, features, seed))),
            WorldLearner::Thompson => Some(Box::new(ItemThompson::new(rows, features, seed))),
            _ => None,
        }
    }
}

impl<A: WorldAction> LearnerFactory<A> for WorldLearner {
    fn name(&self) -> &str {
        self.name()
    }

    fn fingerprint(&self) -> String {
        self.settings()
    }

    fn batch(&self) -> usize {
        self.batch()
    }

    fn player(
        &self,
        environment: &dyn Environment<A>,
        seed: u64,
    ) -> Result<Box<dyn Player<A>>, PlayError> {
        match self {
            Self::Egret(factory) => factory.player(environment, seed),
            Self::Uniform => Ok(Box::new(Uniform {
                measure: environment.measure(),
                seed,
            })),
            _ => A::baseline(self, environment, seed).ok_or_else(|| {
                let (learner, world) = (self.name(), environment.name());
                PlayError::Other(format!("the actions of {world} are not for {learner}"))
            }),
        }
    }
}

/// Draws each action from μ, and learns nothing.
struct Uniform<A> {
    measure: Box<dyn ReferenceMeasure<Context, A>>,
    seed: u64,
}

fn draw<A: Action>(measure: &dyn ReferenceMeasure<Context, A>, rng: &mut EventRng) -> A {
    let x = Context::dense(Vec::new()).expect("no feature is not finite");
    let mut drawn = A::Batch::default();
    measure.sample(&x, 1, rng, &mut drawn);
    drawn.get(0)
}

impl<A: Action> Player<A> for Uniform<A> {
    fn decide(&mut self, event: u64, _x: &Context) -> Result<Choice<A>, PlayError> {
        let mut rng = EventRng::new(self.seed, event, Stream::Action);
        Ok(Choice::Plain(draw(&*self.measure, &mut rng)))
    }

    fn learn(&mut self, _rounds: &[Round<'_, A>]) -> Result<(), PlayError> {
        Ok(())
    }

    fn mean_inverse_density(&self, _round: &Round<'_, A>) -> Result<Option<f64>, PlayError> {
        Ok(Some(1.0))
    }
}

#[cfg(test)]
mod tests {
    use egret::{ActionKind, Interval, Model, ModelSpec, Settings};

    use super::*;
    use crate::worlds::{
        BudgetLoss, ExamplesLoss, MixedKnobsLoss, NoisyWorld, SpaceLoss, SpaceWorld,
    };

    #[test]
    fn every_name_is_a_learner() {
        for name in WorldLearner::NAMES {
            assert_eq!(WorldLearner::named(name).expect("listed").name(), name);
        }
        assert_eq!(WorldLearner::named("other"), None);
    }

    #[test]
    fn default_is_the_model_that_users_make() {
        let prices = Interval::new(5.0, 50.0).expect("5 < 50");
        same_decisions(
            &NoisyWorld::named("price").expect("listed"),
            ModelSpec::new(prices, 3),
        );
        let budget = BudgetLoss::named("simplex_6").expect("listed");
        same_decisions(&SpaceWorld(budget), budget.spec());
        same_decisions(&SpaceWorld(MixedKnobsLoss), MixedKnobsLoss.spec());
        let sets = ExamplesLoss::named("sets_300").expect("listed");
        let spec = sets.spec();
        same_decisions(&SpaceWorld(sets), spec);
    }

    fn same_decisions<A: WorldAction + ActionKind>(
        environment: &dyn Environment<A>,
        spec: ModelSpec,
    ) {
        let learner = WorldLearner::named("default").expect("listed");
        let mut player = learner.player(environment, 7).expect("it fits");
        let settings = Settings::default().with_seed(7);
        let mut model = Model::<A>::from_spec(spec.with_seed(7), settings).expect("it fits");
        let rounds = environment.world(7, 200);
        for event in 0..200 {
            let x = rounds.context(event);
            let choice = player.decide(event as u64, x).expect("decided");
            let decision = model.decide(event as u64, x).expect("decided");
            assert_eq!(choice.decision(), Some(&decision));
            let loss = rounds.loss(event, &decision.action);
            model.learn(&decision.observed(x, loss)).expect("learned");
            let round = Round {
                event: event as u64,
                x,
                choice,
                loss,
            };
            player.learn(&[round]).expect("learned");
        }
    }
}
