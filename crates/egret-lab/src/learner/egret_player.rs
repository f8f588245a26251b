use std::any::Any;

use egret::{Action, Context, DecideError, Decision, Learner, OracleSpec, Settings};
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::learner::{Choice, LearnerFactory, PlayError, Player, Round, mean_inverse_density};

/// One of egret's learners, by its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EgretFactory {
    /// The name shown in tables.
    pub name: String,
    /// The oracle; if absent, the default for the environment. Each run adds its seed to the oracle's seeds, so that the spread
    /// over runs includes the random start of the oracle.
    pub oracle: Option<OracleSpec>,
    /// How it explores and learns. Each run uses its own seed in place of this one.
    pub settings: Settings,
    /// After how many decisions it learns.
    pub batch: usize,
    /// Whether it takes features by name where the environment has names, through a schema inferred from the first of them.
    /// Otherwise it gets the dense contexts of the paper's experiments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_name: bool,
}

impl<A: Action> LearnerFactory<A> for EgretFactory {
    fn name(&self) -> &str {
        &self.name
    }

    fn fingerprint(&self) -> String {
        serde_json::to_string(self).expect("settings are plain data")
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn by_name(&self) -> bool {
        self.by_name
    }

    fn player(
        &self,
        environment: &dyn Environment<A>,
        seed: u64,
    ) -> Result<Box<dyn Player<A>>, PlayError> {
        let learner = self.learner(environment, seed)?;
        Ok(Box::new(EgretPlayer { learner }))
    }
}

impl EgretFactory {
    /// The learner of one run.
    fn learner<A: Action>(
        &self,
        environment: &dyn Environment<A>,
        seed: u64,
    ) -> Result<Learner<Context, A>, PlayError> {
        let settings = Settings {
            seed,
            ..self.settings.clone()
        };
        let spec = match &self.oracle {
            Some(spec) => spec.with_seed(seed),
            None => environment.default_oracle(seed),
        };
        let oracle = environment.oracle(&spec)?;
        Ok(Learner::new(environment.measure(), oracle, settings)?)
    }
}

struct EgretPlayer<A: Action> {
    learner: Learner<Context, A>,
}

impl<A: Action> Player<A> for EgretPlayer<A> {
    fn decide(&mut self, event: u64, x: &Context) -> Result<Choice<A>, PlayError> {
        Ok(Choice::Decided(self.learner.decide(event, x)?))
    }

    fn learn(&mut self, rounds: &[Round<'_, A>]) -> Result<(), PlayError> {
        let events: Vec<_> = rounds
            .iter()
            .filter_map(|round| Some(round.choice.decision()?.observed(round.x, round.loss)))
            .collect();
        Ok(self.learner.learn_batch(&events)?)
    }

    fn mean_inverse_density(&self, round: &Round<'_, A>) -> Result<Option<f64>, PlayError> {
        let choice = &round.choice;
        let (Some(learner), Some(decision)) = (
            (&self.learner as &dyn Any).downcast_ref::<Learner<Context, f64>>(),
            (choice.decision()).and_then(|of| (of as &dyn Any).downcast_ref::<Decision<f64>>()),
        ) else {
            // No action has a smaller density, and on boxes and in long catalogues nearly all have this one.
            let decision = choice.decision();
            return Ok(decision.and_then(|of| of.largest_inverse_density));
        };
        Ok(mean_inverse_density(learner, round.x, decision)?)
    }

    fn distance(&self, x: &Context, action: &A) -> Result<Option<f64>, PlayError> {
        let oracle = self.learner.oracle();
        let (Some(line), Some(pieces), Some(action)) = (
            self.learner.measure().as_line(),
            oracle.monotone_pieces(),
            (action as &dyn Any).downcast_ref::<f64>(),
        ) else {
            return Ok(None);
        };
        let mut prepared = Vec::new();
        oracle
            .prepare(x, &mut prepared)
            .map_err(DecideError::from)?;
        let (low, high) = line.bounds();
        let best = pieces.argmin(&prepared).clamp(low, high);
        Ok(Some((action - best).abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{IntervalLossModel, Simulator};
    use crate::learner::Preset;

    #[test]
    fn each_run_starts_its_oracle_from_its_own_seed() {
        let environment = Simulator::new(IntervalLossModel);
        let implicit = Preset::Default.factory();
        let explicit = EgretFactory {
            oracle: Some(OracleSpec::default_on_interval(0)),
            ..implicit.clone()
        };
        let start = |factory: &EgretFactory, seed| {
            let learner = factory.learner(&environment, seed).expect("it fits");
            learner.oracle().save()
        };
        assert!(start(&explicit, 1) == start(&explicit, 1));
        assert!(start(&explicit, 1) != start(&explicit, 2));
        assert!(start(&explicit, 2) == start(&implicit, 2));
    }
}
