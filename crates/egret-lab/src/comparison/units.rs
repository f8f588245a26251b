use egret::{Direction, Objective};

use crate::comparison::Problem;

/// How results are shown: losses as they are, or values in the units of an objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Units(Objective);

impl Units {
    pub(super) fn of(problem: &Problem) -> Self {
        Self(problem.objective)
    }

    /// The units that all problems share; otherwise losses.
    pub(super) fn shared(problems: &[Problem]) -> Self {
        let first = problems
            .first()
            .map_or(Objective::LOSS, |first| first.objective);
        let same = problems.iter().all(|problem| problem.objective == first);
        Self(if same { first } else { Objective::LOSS })
    }

    pub(super) fn are_losses(self) -> bool {
        self.0 == Objective::LOSS
    }

    /// What a number is called: a loss or a reward.
    pub(super) fn word(self) -> &'static str {
        self.0.noun()
    }

    /// Which numbers are better.
    pub(super) fn better(self) -> &'static str {
        match self.0.direction() {
            Direction::Maximize => "higher is better",
            Direction::Minimize => "lower is better",
        }
    }

    /// A mean loss in these units.
    pub(super) fn value(self, loss: f64) -> f64 {
        self.0.value(loss)
    }

    /// An interval of mean losses in these units.
    pub(super) fn interval(self, low: f64, high: f64) -> (f64, f64) {
        self.0.interval(low, high)
    }

    /// A difference of mean losses in these units; above 0 stays above 0.
    pub(super) fn difference(self, losses: f64) -> f64 {
        losses * (self.0.high() - self.0.low())
    }

    /// How many digits after the point tell as much as four do of a loss.
    pub(super) fn digits(self) -> usize {
        self.0.decimals()
    }

    /// A sentence on what the numbers are; none for losses.
    pub(super) fn sentence(self) -> String {
        if self.are_losses() {
            String::new()
        } else {
            format!(
                " Mean outcomes of the objective {}: {}.",
                self.0,
                self.better()
            )
        }
    }
}
