use egret::{
    Action, Batch, EventRng, LossCurve, Observed, PseudoLoss, ReferenceMeasure, RegressionOracle,
    Stream, Weight,
};

use crate::policy::PolicyError;
use crate::training::{LearningError, TrainingMethod};

/// What an oracle is fitted to at some rows of a log. Each row has the same number of terms.
pub(crate) struct Terms<A> {
    /// The rows, by their number in the log.
    pub(crate) rows: Vec<usize>,
    /// How many terms each row has.
    pub(crate) per_row: usize,
    /// The terms, row after row.
    pub(crate) terms: Vec<Term<A>>,
}

/// weight · (f̂(x, action) − loss)².
pub(crate) struct Term<A> {
    pub(crate) action: A,
    pub(crate) loss: PseudoLoss,
    pub(crate) weight: Weight,
}

impl<A: Action> Terms<A> {
    /// One term for each row that counts: its own loss.
    pub(crate) fn losses<X>(
        method: TrainingMethod,
        examples: &[Observed<X, A>],
        rows: &[usize],
    ) -> Self {
        let mut kept = Vec::with_capacity(rows.len());
        let mut terms = Vec::with_capacity(rows.len());
        for &row in rows {
            let example = &examples[row];
            let weight = method.weight(example.propensity);
            if 0.0 < weight.get() {
                kept.push(row);
                terms.push(Term {
                    action: example.action.clone(),
                    loss: example.loss.into(),
                    weight,
                });
            }
        }
        Self {
            rows: kept,
            per_row: 1,
            terms,
        }
    }

    /// Doubly robust pseudo-losses: the logged action of each row, and K draws of μ. `first` gives ĝ for a row by its place in
    /// `rows`. ĝ should not have learned from that row; if the logging policy learned, the rows ĝ learned from may still
    /// depend on the row's loss.
    pub(crate) fn pseudo_losses<'o, X: 'o>(
        (method, draws): (TrainingMethod, usize),
        (examples, rows): (&[Observed<X, A>], &[usize]),
        measure: &dyn ReferenceMeasure<X, A>,
        first: impl Fn(usize) -> &'o dyn RegressionOracle<X, A>,
        seed: u64,
    ) -> Result<Self, LearningError> {
        let mut terms = Vec::with_capacity(rows.len() * (draws + 1));
        let (mut prepared, mut fhats) = (Vec::new(), Vec::new());
        let mut actions = A::Batch::default();
        for (place, &row) in rows.iter().enumerate() {
            let Observed {
                x,
                action,
                limits,
                propensity,
                loss,
                ..
            } = &examples[row];
            let part = limits.as_ref().map(|limits| measure.within(limits));
            let part = part.transpose().map_err(PolicyError::from)?;
            let measure = part.as_deref().unwrap_or(measure);
            actions.clear();
            actions.push(action);
            let mut rng = EventRng::new(seed, row as u64, Stream::World);
            measure.sample(x, draws, &mut rng, &mut actions);
            let at_row = |error| LearningError::Context { row, error };
            LossCurve::new(first(place), x, &mut prepared)
                .map_err(at_row)?
                .predict(&actions, &mut fhats)
                .map_err(|_| LearningError::NanPrediction { row })?;
            let correction = (draws + 1) as f64 * (loss.get() - fhats[0]);
            terms.push(Term {
                action: action.clone(),
                loss: finite(fhats[0] + correction),
                weight: method.weight(*propensity),
            });
            for (draw, &fhat) in fhats.iter().enumerate().skip(1) {
                terms.push(Term {
                    action: actions.get(draw),
                    loss: finite(fhat),
                    weight: Weight::ONE,
                });
            }
        }
        Ok(Self {
            rows: rows.to_vec(),
            per_row: draws + 1,
            terms,
        })
    }

    /// The terms of the row at this place.
    pub(crate) fn at(&self, place: usize) -> &[Term<A>] {
        &self.terms[place * self.per_row..][..self.per_row]
    }

    /// The mean over rows of Σ weight · (f̂ − loss)², f̂ clamped to [0, 1]; none without rows.
    pub(crate) fn squared_error<X>(
        &self,
        oracle: &dyn RegressionOracle<X, A>,
        examples: &[Observed<X, A>],
    ) -> Result<Option<f64>, LearningError> {
        let (mut prepared, mut fhats) = (Vec::new(), Vec::new());
        let mut actions = A::Batch::default();
        let mut sum = 0.0;
        for (place, &row) in self.rows.iter().enumerate() {
            let terms = self.at(place);
            actions.clear();
            terms.iter().for_each(|term| actions.push(&term.action));
            LossCurve::new(oracle, &examples[row].x, &mut prepared)
                .map_err(|error| LearningError::Context { row, error })?
                .predict(&actions, &mut fhats)
                .map_err(|_| LearningError::NanPrediction { row })?;
            for (term, fhat) in terms.iter().zip(&fhats) {
                let residual = fhat - term.loss.get();
                sum += term.weight.get() * residual * residual;
            }
        }
        Ok((!self.rows.is_empty()).then(|| sum / self.rows.len() as f64))
    }
}

fn finite(value: f64) -> PseudoLoss {
    PseudoLoss::new(value).expect("a sum of few numbers in [0, 1]")
}

#[cfg(test)]
mod tests {
    use egret::{Density, FunctionOracle, Interval, Loss, Propensity};

    use super::*;

    /// f*(x, a) = a²; logged with the density 2(1 − a) + something, so that weights stay below 5.
    fn log(n: u64, noise: f64) -> Vec<Observed<(), f64>> {
        (0..n)
            .map(|event| {
                let mut rng = EventRng::new(3, event, Stream::World);
                // dP/dμ = 1.75 on [0, 1/2) and 0.25 on [1/2, 1].
                let low = rng.unit() < 0.875;
                let action = 0.5 * rng.unit() + if low { 0.0 } else { 0.5 };
                let density = if low { 1.75 } else { 0.25 };
                let mean = 0.1 + 0.5 * action * action;
                let loss = mean + noise * (rng.unit() - 0.5);
                Observed {
                    x: (),
                    action,
                    propensity: Propensity::Density(Density::new(density).expect("positive")),
                    limits: None,
                    loss: Loss::new(loss).expect("in range"),
                    tau: None,
                }
            })
            .collect()
    }

    fn constant(value: f64) -> impl RegressionOracle<(), f64> {
        FunctionOracle::new(move |_: &(), _: &Vec<f64>, out: &mut [f64]| out.fill(value))
    }

    fn slope() -> impl RegressionOracle<(), f64> {
        FunctionOracle::new(|_: &(), actions: &Vec<f64>, out: &mut [f64]| {
            for (out, action) in out.iter_mut().zip(actions) {
                *out = 0.5 * action;
            }
        })
    }

    #[test]
    fn pseudo_losses_measure_the_error_under_mu_whatever_the_first_fit() {
        // Differences between two f̂ have no constant: E_μ (f − f*)² − E_μ (g − f*)² by integration.
        let truth = |a: f64| 0.1 + 0.5 * a * a;
        let mean = |f: &dyn Fn(f64) -> f64| {
            let n = 10_000;
            (0..n)
                .map(|i| f((f64::from(i) + 0.5) / f64::from(n)))
                .sum::<f64>()
                / f64::from(n)
        };
        let expected = mean(&|a| (0.5 * a - truth(a)).powi(2) - (0.1 - truth(a)).powi(2));

        let examples = log(200_000, 0.2);
        let rows: Vec<usize> = (0..examples.len()).collect();
        let measure = Interval::new(0.0, 1.0).expect("in order");
        let method = TrainingMethod::doubly_robust();
        for (first, draws) in [(0.9, 1), (0.25, 1), (0.9, 3)] {
            let first = constant(first);
            let terms =
                Terms::pseudo_losses((method, draws), (&examples, &rows), &measure, |_| &first, 5)
                    .expect("readable");
            let error = |oracle: &dyn RegressionOracle<(), f64>| {
                let error = terms.squared_error(oracle, &examples).expect("numbers");
                error.expect("there are rows") / (draws + 1) as f64
            };
            let found = error(&slope()) - error(&constant(0.1));
            // One standard error is below 0.002.
            assert!((found - expected).abs() < 0.008, "{found} {expected}");
        }
        // The direct method measures it where the log played, which is another number.
        let terms = Terms::losses(TrainingMethod::DirectMethod, &examples, &rows);
        let error = |oracle: &dyn RegressionOracle<(), f64>| {
            let error = terms.squared_error(oracle, &examples).expect("numbers");
            error.expect("there are rows")
        };
        let direct = error(&slope()) - error(&constant(0.1));
        assert!(0.025 < (direct - expected).abs(), "{direct} {expected}");
    }

    #[test]
    fn rows_that_count_nothing_are_no_terms() {
        let mut examples = log(4, 0.0);
        examples[2].propensity = Propensity::PointMass;
        let rows = [3, 2, 0];
        let ips = Terms::losses(TrainingMethod::clipped_ips(), &examples, &rows);
        assert_eq!(ips.rows, [3, 0]);
        let direct = Terms::losses(TrainingMethod::DirectMethod, &examples, &rows);
        assert_eq!(direct.rows, rows);
        // Doubly robust, the context of a point mass still counts, and its loss does not.
        let measure = Interval::new(0.0, 1.0).expect("in order");
        let first = constant(0.5);
        let method = TrainingMethod::doubly_robust();
        let terms = Terms::pseudo_losses((method, 1), (&examples, &rows), &measure, |_| &first, 5)
            .expect("readable");
        let weights: Vec<f64> = terms.at(1).iter().map(|term| term.weight.get()).collect();
        assert_eq!(weights, [0.0, 1.0]);
    }

    #[test]
    fn no_rows_have_no_error() {
        let terms = Terms::losses(TrainingMethod::DirectMethod, &log(2, 0.0), &[]);
        let found = terms.squared_error(&slope(), &log(2, 0.0)).expect("fine");
        assert_eq!(found, None);
    }
}
