use egret::{Action, Context, Decision, Learner, Objective};
use egret_log::Record;
use egret_offline::{Kernel, Policy, PolicyBuffers, PolicySeed, expected_loss};

use crate::error::{JobError, Place};

/// What a policy says of one event.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// How likely it would have played as the log did.
    pub likely: Likely,
    /// E_q f̂(x, ·), where there is an f̂.
    pub predicted: Option<f64>,
    /// Its weights at the decisions that were made again, where it tells them.
    pub again: Vec<f64>,
}

/// How likely a policy is to play a logged action.
#[derive(Debug, Clone, Copy)]
pub(super) enum Likely {
    /// q(a), or an unbiased estimate of it.
    Density(f64),
    /// As likely as the policy that did.
    AsLogged,
}

impl Likely {
    /// w. A point mass counts with weight 0 for all but the policy that played it: the part of a policy that has a density
    /// answers for all of q.
    pub(super) fn weight(self, logged: Option<f64>) -> f64 {
        match self {
            Self::Density(density) => logged.map_or(0.0, |logged| density * (1.0 / logged)),
            Self::AsLogged => 1.0,
        }
    }
}

/// What does not exceed something, at any event.
#[derive(Debug, Clone, Copy)]
pub(super) enum Largest {
    /// q.
    Density(f64),
    /// w.
    Weight(f64),
}

impl Largest {
    /// What w does not exceed where 1/p does not exceed `inverse`.
    pub(super) fn weight(self, inverse: f64) -> f64 {
        match self {
            Self::Density(density) => density * inverse,
            Self::Weight(weight) => weight,
        }
    }
}

/// What is wrong with a row that lacks a number.
pub(super) const NO_NUMBER: &str = "there is no number in this column";

/// What is wrong with a policy's density below 0.
pub(super) fn negative(density: f64) -> String {
    format!("{density} is no density: expected 0 or more")
}

/// Why an event cannot be weighed.
#[derive(Debug)]
pub(super) struct Problem {
    /// The column to blame, if it is one.
    pub field: Option<String>,
    /// What is wrong, and what to do.
    pub words: String,
}

impl From<String> for Problem {
    fn from(words: String) -> Self {
        Self { field: None, words }
    }
}

impl Problem {
    /// The error of a job, with the place of the event.
    pub(super) fn at(self, place: &Place) -> JobError {
        match self.field {
            Some(field) => JobError::field(place, &field, self.words),
            None => JobError::record(place, self.words),
        }
    }
}

/// Gives the density of a policy at logged actions, from a model or from columns.
pub(super) trait LoggedDensity<A: Action>: Send + Sync {
    /// q and E_q f̂ at one event.
    fn answer(
        &self,
        event: &Event<'_, A>,
        buffers: &mut PolicyBuffers<A>,
    ) -> Result<Answer, Problem>;

    /// What q or w does not exceed, if there is a bound.
    fn largest(&self) -> Option<Largest>;

    /// Whether q is known at other actions than the logged ones.
    fn tells_all(&self) -> bool {
        false
    }

    /// Whether E_q f̂ is known, where there is an f̂.
    fn predicts(&self) -> bool {
        true
    }

    /// What to know before the value is believed.
    fn caveat(&self) -> Option<String> {
        None
    }
}

/// A record with what weighing it needs.
pub(super) struct Event<'a, A: Action> {
    /// The whole record, for its columns.
    pub record: &'a Record,
    /// Its action.
    pub action: &'a A,
    /// What outcomes are, and predictions in columns.
    pub objective: Objective,
    /// Where random numbers come from.
    pub seed: PolicySeed,
    /// f̂, if estimators need it.
    pub predictor: Predictor<'a, A>,
    /// The log's decision, made again.
    pub again: &'a [Decision<A>],
}

/// Where predictions come from.
pub(super) enum Predictor<'a, A: Action> {
    /// From nowhere.
    Absent,
    /// A column of the log holds f̂(x, a).
    Column(&'a str),
    /// A model's f̂.
    Model(&'a Learner<Context, A>),
}

// By hand, since a derive would ask that actions can be copied, where references do.
impl<A: Action> Clone for Predictor<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Action> Copy for Predictor<'_, A> {}

impl<A: Action> Event<'_, A> {
    /// f̂(x, a).
    pub(super) fn predicted(&self) -> Result<Option<f64>, Problem> {
        match self.predictor {
            Predictor::Absent => Ok(None),
            Predictor::Column(name) => Ok(Some(self.loss_in(name)?)),
            Predictor::Model(model) => {
                let action = std::slice::from_ref(self.action);
                let predicted = model.predict(&self.record.context, action);
                Ok(Some(predicted.map_err(|error| error.to_string())?[0]))
            }
        }
    }

    /// f̂ at the decisions that were made again; none where f̂ is not known for all actions.
    pub(super) fn predicted_again(&self) -> Result<Vec<f64>, Problem> {
        let model = match self.predictor {
            Predictor::Model(model) if !self.again.is_empty() => model,
            _ => return Ok(Vec::new()),
        };
        let actions: Vec<A> = self
            .again
            .iter()
            .map(|again| again.action.clone())
            .collect();
        let predicted = model.predict(&self.record.context, &actions);
        Ok(predicted.map_err(|error| error.to_string())?)
    }

    /// The weights of a policy with these densities at the decisions that were made again.
    fn weights_again(
        &self,
        mut density: impl FnMut(PolicySeed, &A) -> Result<f64, String>,
    ) -> Result<Vec<f64>, Problem> {
        let mut weights = Vec::with_capacity(self.again.len());
        for (time, again) in self.again.iter().enumerate() {
            weights.push(match again.propensity.density() {
                Some(logged) => {
                    density(self.seed.again(time as u64), &again.action)? / logged.get()
                }
                None => 0.0,
            });
        }
        Ok(weights)
    }

    /// The loss of a prediction in a column, which is in the units of the objective.
    fn loss_in(&self, name: &str) -> Result<f64, Problem> {
        let loss = self.objective.loss(self.column(name)?);
        let loss = loss.map_err(|error| Problem {
            field: Some(name.to_owned()),
            words: error.to_string(),
        })?;
        Ok(loss.get())
    }

    fn column(&self, name: &str) -> Result<f64, Problem> {
        let number = self.record.number(name);
        number.ok_or_else(|| {
            let others = self
                .record
                .extras()
                .filter(|(_, value)| value.number().is_some());
            let others: Vec<&str> = others.map(|(name, _)| name).take(20).collect();
            Problem {
                field: Some(name.to_owned()),
                words: match others[..] {
                    [] => NO_NUMBER.to_owned(),
                    _ => format!("{NO_NUMBER}, but there are some in {}", others.join(", ")),
                },
            }
        })
    }
}

/// Of a policy that tells its density.
pub(super) struct OfPolicy<'a, A: Action> {
    pub policy: Box<dyn Policy<Context, A> + 'a>,
    /// How many draws its mean prediction is taken over.
    pub draws: usize,
}

impl<A: Action> LoggedDensity<A> for OfPolicy<'_, A> {
    fn answer(
        &self,
        event: &Event<'_, A>,
        buffers: &mut PolicyBuffers<A>,
    ) -> Result<Answer, Problem> {
        let x = &event.record.context;
        let limits = event.record.limits.as_ref();
        let limited = limits.map(|limits| self.policy.within(limits)).transpose();
        let limited = limited.map_err(|error| Problem {
            field: Some("limits".to_owned()),
            words: error.to_string(),
        })?;
        let policy = limited.as_deref().unwrap_or(&*self.policy);
        let density = policy.density(event.seed, x, event.action, buffers);
        let predicted = match event.predictor {
            Predictor::Absent => None,
            Predictor::Model(model) => {
                let (oracle, draws) = (model.oracle(), self.draws);
                let mean = expected_loss(policy, oracle, event.seed, x, draws, buffers);
                Some(mean.map_err(|error| error.to_string())?)
            }
            Predictor::Column(_) => {
                return Err(
                    "a column of predictions says nothing of the actions that this policy would play: give the model \
                     (--model)"
                        .to_owned()
                        .into(),
                );
            }
        };
        Ok(Answer {
            likely: Likely::Density(density.map_err(|error| error.to_string())?),
            predicted,
            again: event.weights_again(|seed, action| {
                let density = policy.density(seed, x, action, buffers);
                density.map_err(|error| error.to_string())
            })?,
        })
    }

    fn largest(&self) -> Option<Largest> {
        self.policy.largest_density().map(Largest::Density)
    }

    fn tells_all(&self) -> bool {
        true
    }

    fn caveat(&self) -> Option<String> {
        self.policy.caveat()
    }
}

/// μ itself, where nothing is predicted: its density is 1, over any space and within any limits.
pub(super) struct OfMeasure;

impl<A: Action> LoggedDensity<A> for OfMeasure {
    fn answer(&self, _: &Event<'_, A>, _: &mut PolicyBuffers<A>) -> Result<Answer, Problem> {
        Ok(Answer {
            likely: Likely::Density(1.0),
            predicted: None,
            again: Vec::new(),
        })
    }

    fn largest(&self) -> Option<Largest> {
        Some(Largest::Density(1.0))
    }
}

/// The policy that made the log. Its mean prediction is estimated from the one action that it played, which leaves of a
/// doubly robust estimate the mean outcome.
pub(super) struct OfLog;

impl<A: Action> LoggedDensity<A> for OfLog {
    fn answer(&self, event: &Event<'_, A>, _: &mut PolicyBuffers<A>) -> Result<Answer, Problem> {
        Ok(Answer {
            likely: Likely::AsLogged,
            predicted: event.predicted()?,
            again: vec![1.0; event.again.len()],
        })
    }

    fn tells_all(&self) -> bool {
        true
    }

    fn largest(&self) -> Option<Largest> {
        Some(Largest::Weight(1.0))
    }
}

/// Densities, and mean predictions, from columns.
pub(super) struct OfColumns {
    /// q(a).
    pub density: String,
    /// E_q f̂(x, ·).
    pub predicted: Option<String>,
    /// What q is multiplied by: it is per unit where the log's densities are.
    pub unit: f64,
}

impl<A: Action> LoggedDensity<A> for OfColumns {
    fn answer(&self, event: &Event<'_, A>, _: &mut PolicyBuffers<A>) -> Result<Answer, Problem> {
        let predicted = match (&self.predicted, event.predictor) {
            (_, Predictor::Absent) | (None, _) => None,
            (Some(name), _) => Some(event.loss_in(name)?),
        };
        let density = event.column(&self.density)?;
        if density < 0.0 {
            return Err(Problem {
                field: Some(self.density.clone()),
                words: negative(density),
            });
        }
        Ok(Answer {
            likely: Likely::Density(self.unit * density),
            predicted,
            again: Vec::new(),
        })
    }

    fn largest(&self) -> Option<Largest> {
        None
    }

    fn predicts(&self) -> bool {
        self.predicted.is_some()
    }
}

/// Of a kernel around the action in a column.
pub(super) struct AroundColumn {
    /// Where the policy's action is.
    pub action: String,
    /// What is played around it.
    pub kernel: Kernel,
}

/// Points that the mean of f̂ under a kernel is taken over, one from each of equal shares.
const POINTS: usize = 32;

impl LoggedDensity<f64> for AroundColumn {
    fn answer(
        &self,
        event: &Event<'_, f64>,
        _: &mut PolicyBuffers<f64>,
    ) -> Result<Answer, Problem> {
        let (mut kernel, mut center) = (self.kernel, event.column(&self.action)?);
        if let Some(limits) = &event.record.limits {
            kernel = kernel.within(limits).map_err(|error| error.to_string())?;
            center = kernel.nearest(center);
        }
        let predicted = match event.predictor {
            Predictor::Absent => None,
            Predictor::Model(model) => {
                let points = (0..POINTS)
                    .map(|part| {
                        let share = (part as f64 + 0.5) / POINTS as f64;
                        kernel.quantile(center, share)
                    })
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|error| error.to_string())?;
                let predicted = model.predict(&event.record.context, &points);
                let predicted = predicted.map_err(|error| error.to_string())?;
                Some(predicted.iter().sum::<f64>() / POINTS as f64)
            }
            Predictor::Column(_) => {
                return Err(
                    "a column of predictions says nothing of the actions around this policy's: give the model (--model)"
                        .to_owned()
                        .into(),
                );
            }
        };
        let density = |action: f64| {
            let density = kernel.density(center, action);
            density.map_err(|error| error.to_string())
        };
        Ok(Answer {
            likely: Likely::Density(density(*event.action)?),
            predicted,
            again: event.weights_again(|_, &action| density(action))?,
        })
    }

    fn tells_all(&self) -> bool {
        true
    }

    fn largest(&self) -> Option<Largest> {
        Some(Largest::Density(self.kernel.largest_density()))
    }

    fn caveat(&self) -> Option<String> {
        Some(self.kernel.caveat())
    }
}
