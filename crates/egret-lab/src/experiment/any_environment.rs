use egret::Action;

use crate::environment::{
    BimodalLossModel, BoxLossModel, CatalogueLossModel, Environment, IntervalLossModel,
    MixedLossModel, PricingSimulator, Simulator, SphereLossModel,
};
use crate::experiment::{Experiment, ExperimentError};
use crate::learner::LearnerFactory;
use crate::run::{Run, RunRecord, Task};

/// An environment whose type of action is known at run time only, as in a file.
///
/// ```
/// use egret_lab::{AnyEnvironment, SIMULATORS};
///
/// for name in SIMULATORS {
///     assert_eq!(AnyEnvironment::simulator(name)?.name(), name);
/// }
/// # Ok::<(), egret_lab::UnknownSimulator>(())
/// ```
pub struct AnyEnvironment(Box<dyn ErasedEnvironment>);

/// The names that [`AnyEnvironment::simulator`] knows.
pub const SIMULATORS: [&str; 7] = [
    "interval",
    "interval_bimodal",
    "box",
    "sphere",
    "catalogue",
    "mixed",
    "pricing",
];

impl AnyEnvironment {
    /// Erases the type of action.
    pub fn new<A: Action>(environment: impl Environment<A> + 'static) -> Self {
        let environment: Box<dyn Environment<A>> = Box::new(environment);
        Self(Box::new(environment))
    }

    /// The simulator of this name, one of [`SIMULATORS`].
    pub fn simulator(name: &str) -> Result<Self, UnknownSimulator> {
        Ok(match name {
            "interval" => Self::new(Simulator::new(IntervalLossModel)),
            "interval_bimodal" => Self::new(Simulator::new(BimodalLossModel)),
            "box" => Self::new(Simulator::new(BoxLossModel::new())),
            "sphere" => Self::new(Simulator::new(SphereLossModel::new())),
            "catalogue" => Self::new(Simulator::new(CatalogueLossModel::new(100_000))),
            "mixed" => Self::new(Simulator::new(MixedLossModel)),
            "pricing" => Self::new(PricingSimulator),
            _ => {
                return Err(UnknownSimulator {
                    name: name.to_owned(),
                });
            }
        })
    }

    /// The name shown in tables.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The runs of all learners of an experiment in this environment. An error names the first learner that does not fit.
    pub(super) fn tasks<'a>(
        &'a self,
        experiment: &'a Experiment,
    ) -> Result<Vec<Task<'a, RunRecord>>, ExperimentError> {
        self.0.tasks(experiment)
    }
}

/// What an experiment needs of an environment, without the type of its actions.
trait ErasedEnvironment: Send + Sync {
    fn name(&self) -> &str;
    fn tasks<'a>(
        &'a self,
        experiment: &'a Experiment,
    ) -> Result<Vec<Task<'a, RunRecord>>, ExperimentError>;
}

impl<A: Action> ErasedEnvironment for Box<dyn Environment<A>> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn tasks<'a>(
        &'a self,
        experiment: &'a Experiment,
    ) -> Result<Vec<Task<'a, RunRecord>>, ExperimentError> {
        let (environment, decisions) = (&**self, experiment.decisions);
        let mut tasks = Vec::new();
        for learner in &experiment.learners {
            let learner: &dyn LearnerFactory<A> = learner;
            let run = |seed| Run {
                learner,
                environment,
                seed,
                decisions,
            };
            run(0).check().map_err(|error| ExperimentError::Unfit {
                learner: learner.name().to_owned(),
                data: environment.name().to_owned(),
                error,
            })?;
            for &seed in &experiment.seeds {
                let run = run(seed);
                tasks.push(Task {
                    key: run.key(),
                    label: run.label(),
                    cost: decisions as f64 * (16 + environment.context_dim()) as f64,
                    work: Box::new(move || run.play(|_| ())),
                });
            }
        }
        Ok(tasks)
    }
}

/// There is no simulator of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown simulator {name:?}, expected {}", SIMULATORS.join(", "))]
pub struct UnknownSimulator {
    /// The name.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_makes_its_simulator_and_no_other_does() {
        for name in SIMULATORS {
            let environment = AnyEnvironment::simulator(name).expect("known");
            assert_eq!(environment.name(), name);
        }
        let error = AnyEnvironment::simulator("moon").err().expect("unknown");
        assert_eq!(
            error.to_string(),
            "unknown simulator \"moon\", expected interval, interval_bimodal, box, sphere, catalogue, mixed, pricing"
        );
    }
}
