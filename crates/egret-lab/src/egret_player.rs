use std::any::Any;

use egret::{Action, Context, DecideError, Learner, OracleSpec, Settings};
use serde::{Deserialize, Serialize};

use crate::{Contender, Environment, Move, PlayError, Player, Turn};

/// One of egret's own learners, by its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EgretContender {
    /// What tables call it.
    pub name: String,
    /// How losses are predicted; if absent, as the learner that needs no tuning does it there. Each run moves its seeds by
    /// the run's own, so that the spread over runs has that of where oracles start in it.
    pub oracle: Option<OracleSpec>,
    /// How it plays and learns; the seed is each run's own.
    pub settings: Settings,
    /// After how many decisions it learns.
    pub batch: usize,
}

impl<A: Action> Contender<A> for EgretContender {
    fn name(&self) -> &str {
        &self.name
    }

    fn fingerprint(&self) -> String {
        serde_json::to_string(self).expect("settings are plain data")
    }

    fn batch(&self) -> usize {
        self.batch
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

impl EgretContender {
    /// One run's.
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
            None => environment.untuned(seed),
        };
        let oracle = environment.oracle(&spec)?;
        Ok(Learner::new(environment.measure(), oracle, settings)?)
    }
}

struct EgretPlayer<A: Action> {
    learner: Learner<Context, A>,
}

impl<A: Action> Player<A> for EgretPlayer<A> {
    fn decide(&mut self, event: u64, x: &Context) -> Result<Move<A>, PlayError> {
        Ok(Move::Decided(self.learner.decide(event, x)?))
    }

    fn learn(&mut self, turns: &[Turn<'_, A>]) -> Result<(), PlayError> {
        let events: Vec<_> = turns
            .iter()
            .filter_map(|turn| Some(turn.played.decision()?.observed(turn.x, turn.loss)))
            .collect();
        Ok(self.learner.learn(&events)?)
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
    use crate::{AnyEnvironment, Preset, simulator};

    #[test]
    fn each_run_starts_its_oracle_from_its_own_seed() {
        let AnyEnvironment::Number(environment) = simulator("interval").expect("known") else {
            unreachable!("its actions are numbers");
        };
        let implied = Preset::Default.contender();
        let told = EgretContender {
            oracle: Some(OracleSpec::untuned(0)),
            ..implied.clone()
        };
        let start = |contender: &EgretContender, seed| {
            let learner = contender.learner(&*environment, seed).expect("it fits");
            learner.oracle().save()
        };
        assert!(start(&told, 1) == start(&told, 1));
        assert!(start(&told, 1) != start(&told, 2));
        assert!(start(&told, 2) == start(&implied, 2));
    }
}
