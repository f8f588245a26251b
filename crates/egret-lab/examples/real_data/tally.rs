use egret_offline::{Estimate, IntervalKind};

use egret_lab::Supervised;

/// One estimate beside the truth.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub policy: &'static str,
    /// Whether g stood for the density.
    pub kappa_hat_1: bool,
    pub truth: f64,
    pub estimate: Estimate,
}

/// Error and coverage of each estimator for each policy.
pub struct Table {
    title: String,
    rows: Vec<Row>,
}

struct Row {
    policy: &'static str,
    by: String,
    truth: f64,
    /// With p = g/z, and with g.
    sides: [Side; 2],
}

#[derive(Debug, Clone, Copy, Default)]
struct Side {
    seeds: usize,
    mean: f64,
    rmse: f64,
    covered: usize,
    width: f64,
    effective: f64,
    reliable: usize,
}

impl Table {
    pub fn new(data: &Supervised, outcomes: &[Outcome]) -> Self {
        let key = |outcome: &Outcome| {
            let estimate = &outcome.estimate;
            (outcome.policy, estimate.estimator.name(), estimate.interval)
        };
        let mut keys: Vec<_> = Vec::new();
        for outcome in outcomes {
            if !keys.contains(&key(outcome)) {
                keys.push(key(outcome));
            }
        }
        let rows = keys.into_iter().map(|(policy, estimator, interval)| {
            let of = |kappa_hat_1| {
                let chosen: Vec<&Outcome> = outcomes
                    .iter()
                    .filter(|outcome| {
                        key(outcome) == (policy, estimator, interval)
                            && outcome.kappa_hat_1 == kappa_hat_1
                    })
                    .collect();
                (mean(&chosen, |outcome| outcome.truth), Side::of(&chosen))
            };
            let ((truth, correct), (_, as_if_1)) = (of(false), of(true));
            Row {
                policy,
                by: match interval {
                    IntervalKind::Normal => estimator.to_owned(),
                    other => format!("{estimator}, {other}"),
                },
                truth,
                sides: [correct, as_if_1],
            }
        });
        Self {
            title: format!(
                "{}: {} rows, {} features",
                data.name(),
                data.rows().len(),
                data.width()
            ),
            rows: rows.collect(),
        }
    }

    pub fn markdown(&self) -> String {
        let as_if_1 = self.rows.iter().any(|row| 0 < row.sides[1].seeds);
        let (titles, dashes) = match as_if_1 {
            true => (" κ̂ = 1: estimate | rmse | covers |", "--:|--:|--:|"),
            false => (" effective events | reliable |", "--:|--:|"),
        };
        let mut text = format!(
            "\n### {}\n\n\
             | policy | estimator | truth | estimate | rmse | half-width | covers |{titles}\n\
             |---|---|--:|--:|--:|--:|--:|{dashes}\n",
            self.title
        );
        for row in &self.rows {
            let [correct, wrong] = row.sides;
            text += &format!("| {} | {} | {:.4} |", row.policy, row.by, row.truth);
            text += &format!(" {:.4} | {:.4} |", correct.mean, correct.rmse);
            text += &format!(
                " {:.4} | {}% |",
                0.5 * correct.width,
                correct.percent(correct.covered)
            );
            text += &match (as_if_1, wrong.seeds) {
                (false, _) => format!(
                    " {:.0} | {}% |",
                    correct.effective,
                    correct.percent(correct.reliable)
                ),
                (true, 0) => " – | – | – |".to_owned(),
                (true, _) => format!(
                    " {:.4} | {:.4} | {}% |",
                    wrong.mean,
                    wrong.rmse,
                    wrong.percent(wrong.covered)
                ),
            };
            text.push('\n');
        }
        text
    }
}

impl Side {
    fn of(outcomes: &[&Outcome]) -> Self {
        let error = |outcome: &Outcome| outcome.estimate.estimate - outcome.truth;
        let covers = |outcome: &&&Outcome| {
            let estimate = &outcome.estimate;
            (estimate.low..=estimate.high).contains(&outcome.truth)
        };
        Self {
            seeds: outcomes.len(),
            mean: mean(outcomes, |outcome| outcome.estimate.estimate),
            rmse: mean(outcomes, |outcome| error(outcome).powi(2)).sqrt(),
            covered: outcomes.iter().filter(covers).count(),
            width: mean(outcomes, |outcome| {
                outcome.estimate.high - outcome.estimate.low
            }),
            effective: mean(outcomes, |outcome| outcome.estimate.ess),
            reliable: outcomes
                .iter()
                .filter(|outcome| outcome.estimate.verdict.is_reliable())
                .count(),
        }
    }

    /// So many of the seeds.
    fn percent(self, seeds: usize) -> usize {
        (100.0 * seeds as f64 / self.seeds as f64).round() as usize
    }
}

fn mean(outcomes: &[&Outcome], value: impl Fn(&Outcome) -> f64) -> f64 {
    outcomes.iter().map(|outcome| value(outcome)).sum::<f64>() / outcomes.len() as f64
}
