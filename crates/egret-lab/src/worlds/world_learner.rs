use egret::{Context, EventRng, Stream};

use crate::environment::Environment;
use crate::learner::{Choice, EgretFactory, LearnerFactory, PlayError, Player, Preset, Round};
use crate::worlds::naive::Naive;

/// A learner that plays in noisy worlds.
#[derive(Debug, Clone, PartialEq)]
pub enum WorldLearner {
    /// One of egret's.
    Egret(Box<EgretFactory>),
    /// 16 buckets with ridge regression on (1, x, x²), ε = 5%.
    Naive,
    /// Actions at random: what is had without learning.
    Uniform,
}

impl WorldLearner {
    /// The names of all learners; `default` is egret's default, as `Model::new` makes it.
    pub const NAMES: [&'static str; 3] = ["default", "naive", "uniform"];

    /// The learner of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "default" => Some(Self::Egret(Box::new(Preset::Default.factory()))),
            "naive" => Some(Self::Naive),
            "uniform" => Some(Self::Uniform),
            _ => None,
        }
    }

    /// The time of a decision as a multiple of the naive learner's, to estimate the time left.
    pub(super) fn cost(&self) -> f64 {
        match self {
            Self::Egret(_) => 10.0,
            Self::Naive | Self::Uniform => 1.0,
        }
    }
}

impl LearnerFactory<f64> for WorldLearner {
    fn name(&self) -> &str {
        match self {
            Self::Egret(factory) => &factory.name,
            Self::Naive => "naive",
            Self::Uniform => "uniform",
        }
    }

    fn fingerprint(&self) -> String {
        match self {
            Self::Egret(factory) => LearnerFactory::<f64>::fingerprint(&**factory),
            Self::Naive => "naive 16 buckets, ridge 1, epsilon 0.05".to_owned(),
            Self::Uniform => "uniform".to_owned(),
        }
    }

    fn batch(&self) -> usize {
        match self {
            Self::Egret(factory) => factory.batch,
            Self::Naive | Self::Uniform => 1,
        }
    }

    fn player(
        &self,
        environment: &dyn Environment<f64>,
        seed: u64,
    ) -> Result<Box<dyn Player<f64>>, PlayError> {
        let actions = || {
            let measure = environment.measure();
            let bounds = measure.as_line().map(|line| line.bounds());
            bounds.ok_or_else(|| {
                let name = environment.name();
                PlayError::Other(format!("the actions of {name} are no interval"))
            })
        };
        Ok(match self {
            Self::Egret(factory) => factory.player(environment, seed)?,
            Self::Naive => Box::new(Naive::new(actions()?, environment.context_dim(), seed)),
            Self::Uniform => Box::new(Uniform {
                actions: actions()?,
                seed,
            }),
        })
    }
}

/// Draws each action at random, and learns nothing.
struct Uniform {
    actions: (f64, f64),
    seed: u64,
}

impl Player<f64> for Uniform {
    fn decide(&mut self, event: u64, _x: &Context) -> Result<Choice<f64>, PlayError> {
        let (low, high) = self.actions;
        let share = EventRng::new(self.seed, event, Stream::Action).unit();
        Ok(Choice::Plain(low + (high - low) * share))
    }

    fn learn(&mut self, _rounds: &[Round<'_, f64>]) -> Result<(), PlayError> {
        Ok(())
    }

    fn mean_inverse_density(&self, _round: &Round<'_, f64>) -> Result<Option<f64>, PlayError> {
        Ok(Some(1.0))
    }
}

#[cfg(test)]
mod tests {
    use egret::{Interval, Model, Settings};

    use super::*;
    use crate::environment::World;
    use crate::worlds::{KnownWorld, NoisyWorld};

    #[test]
    fn every_name_is_a_learner() {
        for name in WorldLearner::NAMES {
            assert_eq!(WorldLearner::named(name).expect("listed").name(), name);
        }
        assert_eq!(WorldLearner::named("other"), None);
    }

    #[test]
    fn default_is_the_model_that_users_make() {
        let world = NoisyWorld::named("price").expect("listed");
        let learner = WorldLearner::named("default").expect("listed");
        let mut player = learner.player(&world, 7).expect("it fits");
        let prices = Interval::new(5.0, 50.0).expect("5 < 50");
        let settings = Settings::default().with_seed(7);
        let mut model = Model::<f64>::with_settings(prices, 3, settings).expect("it fits");
        let rounds = world.known_rounds(7, 200);
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
