use egret::{Loss, Objective};

use crate::record::RowError;

/// How far a loss may be from that of its outcome: other writers round.
const TOLERANCE: f64 = 1e-9;

/// The loss of a row: as it is stated, or else that of the outcome. An error if the two disagree.
pub(crate) fn loss(
    stated: Option<Loss>,
    outcome: Option<f64>,
    objective: Option<&Objective>,
) -> Result<Option<Loss>, RowError> {
    let (Some(outcome), Some(objective)) = (outcome, objective) else {
        return Ok(stated);
    };
    let meant = objective.loss(outcome).map_err(|_| RowError::Outcome {
        outcome,
        objective: *objective,
    })?;
    match stated {
        None => Ok(Some(meant)),
        Some(stated) if (stated.get() - meant.get()).abs() <= TOLERANCE => Ok(Some(stated)),
        Some(stated) => Err(RowError::LossOfOutcome {
            loss: stated.get(),
            outcome,
            objective: *objective,
            meant: meant.get(),
        }),
    }
}

/// An objective from JSON text.
pub(crate) fn objective(text: &str) -> Result<Objective, RowError> {
    serde_json::from_str(text).map_err(|error| RowError::Field {
        field: "objective",
        problem: error.to_string(),
    })
}

/// An objective as JSON text.
pub(crate) fn objective_text(objective: &Objective) -> String {
    serde_json::to_string(objective).expect("an objective is numbers and words")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_gives_the_loss_or_agrees_with_it() {
        let revenue = Objective::maximize(0.0, 50.0).expect("a range");
        let stated = |value: f64| Some(Loss::new(value).expect("in range"));
        let found = |value, outcome| loss(value, Some(outcome), Some(&revenue));
        assert_eq!(found(None, 20.0), Ok(stated(0.6)));
        assert_eq!(found(stated(0.6 + 1e-10), 20.0), Ok(stated(0.6 + 1e-10)));
        let error = found(stated(0.5), 20.0).expect_err("another loss");
        assert_eq!(
            error.to_string(),
            "loss is 0.5, and the outcome 20 has the loss 0.6 by the objective maximize:0,50: one of the two is wrong"
        );
        let error = found(None, 51.0).expect_err("outside");
        assert_eq!(
            error.to_string(),
            "outcome: 51 is outside the range of the objective maximize:0,50: widen it, or cut off what is outside (0,50,clip)"
        );
        assert_eq!(loss(stated(0.5), Some(20.0), None), Ok(stated(0.5)));
        assert_eq!(loss(stated(0.5), None, Some(&revenue)), Ok(stated(0.5)));
    }

    #[test]
    fn text_that_is_no_objective_is_named() {
        let revenue = Objective::maximize(0.0, 50.0).expect("a range").clipped();
        assert_eq!(objective(&objective_text(&revenue)), Ok(revenue));
        let error =
            objective(r#"{"direction":"maximize","low":1,"high":0}"#).expect_err("no range");
        assert_eq!(error.field(), Some("objective"));
    }
}
