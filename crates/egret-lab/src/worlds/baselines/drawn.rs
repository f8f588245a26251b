use egret::lanes::dot;
use egret::{Action, Batch, Context, EventRng, ReferenceMeasure, Stream};

use crate::learner::{Choice, PlayError, Player, Round};
use crate::worlds::baselines::{dense, posterior::Posterior, quadratic, ridge::Ridge};

/// Actions drawn from μ, as coordinates.
struct Draws<A> {
    measure: Box<dyn ReferenceMeasure<Context, A>>,
    coordinates: fn(&A) -> Vec<f64>,
    seed: u64,
}

const DRAWN: usize = 256;

impl<A: Action> Draws<A> {
    /// φ of an action, with squares and products of coordinates.
    fn features(&self, x: &[f64], action: &A) -> Vec<f64> {
        quadratic::features(x, &(self.coordinates)(action))
    }

    /// How many features there are.
    fn length(&self, features: usize) -> usize {
        let x = Context::dense(vec![0.0; features]).expect("zeros");
        let mut one = A::Batch::default();
        let mut rng = EventRng::new(self.seed, 0, Stream::Action);
        self.measure.sample(&x, 1, &mut rng, &mut one);
        self.features(&vec![0.0; features], &one.get(0)).len()
    }

    /// The best of some draws by ⟨θ, φ⟩.
    fn best(&self, theta: &[f64], x: &Context, rng: &mut EventRng) -> Result<A, PlayError> {
        let mut drawn = A::Batch::default();
        self.measure.sample(x, DRAWN, rng, &mut drawn);
        let numbers = dense(x)?;
        let scored = (0..DRAWN).map(|place| {
            let action = drawn.get(place);
            (dot(theta, &self.features(numbers, &action)), action)
        });
        let (_, best) = scored.min_by(|a, b| a.0.total_cmp(&b.0)).expect("some");
        Ok(best)
    }
}

/// Ridge regression on squares and products over drawn actions: the best of 256, and 2% at random.
pub(in crate::worlds) struct DrawnRidge<A> {
    draws: Draws<A>,
    ridge: Ridge,
}

/// Linear Thompson sampling over drawn actions: the best of 256 by a draw of θ, with squares and products.
pub(in crate::worlds) struct DrawnThompson<A> {
    draws: Draws<A>,
    posterior: Posterior,
}

const EPSILON: f64 = 0.02;

impl<A: Action> DrawnRidge<A> {
    pub fn new(
        measure: Box<dyn ReferenceMeasure<Context, A>>,
        coordinates: fn(&A) -> Vec<f64>,
        (features, seed): (usize, u64),
    ) -> Self {
        let draws = Draws {
            measure,
            coordinates,
            seed,
        };
        let ridge = Ridge::new(draws.length(features));
        Self { draws, ridge }
    }
}

impl<A: Action> DrawnThompson<A> {
    pub fn new(
        measure: Box<dyn ReferenceMeasure<Context, A>>,
        coordinates: fn(&A) -> Vec<f64>,
        (features, seed): (usize, u64),
    ) -> Self {
        let draws = Draws {
            measure,
            coordinates,
            seed,
        };
        let posterior = Posterior::new(draws.length(features));
        Self { draws, posterior }
    }
}

impl<A: Action> Player<A> for DrawnRidge<A> {
    fn decide(&mut self, event: u64, x: &Context) -> Result<Choice<A>, PlayError> {
        let mut rng = EventRng::new(self.draws.seed, event, Stream::Action);
        if rng.unit() < EPSILON {
            let mut one = A::Batch::default();
            self.draws.measure.sample(x, 1, &mut rng, &mut one);
            return Ok(Choice::Plain(one.get(0)));
        }
        let best = self.draws.best(&self.ridge.theta, x, &mut rng)?;
        Ok(Choice::Plain(best))
    }

    fn learn(&mut self, rounds: &[Round<'_, A>]) -> Result<(), PlayError> {
        for round in rounds {
            let phi = (self.draws).features(dense(round.x)?, round.choice.action());
            self.ridge.learn(&phi, round.loss.get());
        }
        Ok(())
    }
}

impl<A: Action> Player<A> for DrawnThompson<A> {
    fn decide(&mut self, event: u64, x: &Context) -> Result<Choice<A>, PlayError> {
        let mut rng = EventRng::new(self.draws.seed, event, Stream::Action);
        let theta = self.posterior.draw(&mut rng);
        Ok(Choice::Plain(self.draws.best(&theta, x, &mut rng)?))
    }

    fn learn(&mut self, rounds: &[Round<'_, A>]) -> Result<(), PlayError> {
        for round in rounds {
            let phi = (self.draws).features(dense(round.x)?, round.choice.action());
            self.posterior.learn(phi, round.loss.get());
        }
        Ok(())
    }
}
