use egret::{Action, Batch, Decision, LossCurve, Observed, RegressionOracle};
use rayon::prelude::*;

use super::SelectionSettings;
use crate::paired_events::{PairedTruncatedColumns, paired_truncated_means};
use crate::policy::{Policy, PolicyBuffers, PolicyError, PolicySeed, truncated_means};
use crate::weighted_events::TRUNCATIONS;

/// The decisions of held-out rows, made again by the model that made the log: what f̂ and each candidate say of them.
pub(super) struct DecidedAgain {
    /// f̂ of each, by row.
    fhats: Vec<Vec<f64>>,
    /// The weights of each candidate, by row.
    weights: Vec<Vec<Vec<f64>>>,
}

impl DecidedAgain {
    /// Before any candidate; `again` has the decisions of each of the rows.
    pub(super) fn new<X: Send + Sync, A: Action>(
        oracle: &dyn RegressionOracle<X, A>,
        examples: &[Observed<X, A>],
        rows: &[usize],
        again: &[Vec<Decision<A>>],
    ) -> Result<Self, PolicyError> {
        let fhats = rows.par_iter().zip(again).with_min_len(64);
        let fhats = fhats.map_init(PolicyBuffers::<A>::default, |buffers, (&row, again)| {
            let mut actions = A::Batch::default();
            again.iter().for_each(|again| actions.push(&again.action));
            let curve = LossCurve::new(oracle, &examples[row].x, &mut buffers.prepared)?;
            curve.predict(&actions, &mut buffers.fhats)?;
            Ok(buffers.fhats.clone())
        });
        Ok(Self {
            fhats: fhats.collect::<Result<_, PolicyError>>()?,
            weights: Vec::new(),
        })
    }

    /// Weighs the decisions for the next candidate.
    pub(super) fn weigh<X: Send + Sync, A: Action>(
        &mut self,
        policy: &dyn Policy<X, A>,
        examples: &[Observed<X, A>],
        rows: &[usize],
        settings: SelectionSettings<'_, A>,
    ) -> Result<(), PolicyError> {
        let weights = rows.par_iter().zip(settings.again).with_min_len(64);
        let weights = weights.map_init(PolicyBuffers::default, |buffers, (&row, again)| {
            let Observed { x, limits, .. } = &examples[row];
            let limited = limits.as_ref().map(|limits| policy.within(limits));
            let limited = limited.transpose()?;
            let policy = limited.as_deref().unwrap_or(policy);
            let seed = PolicySeed {
                seed: settings.seed,
                event: row as u64,
            };
            let again = again.iter().enumerate();
            let weights = again.map(|(time, again)| match again.propensity.density() {
                None => Ok(0.0),
                Some(p) => {
                    let seed = seed.again(time as u64);
                    let q = policy.density(seed, x, &again.action, buffers)?;
                    Ok(q / p.get())
                }
            });
            weights.collect()
        });
        let weights = weights.collect::<Result<Vec<Vec<f64>>, PolicyError>>()?;
        self.weights.push(weights);
        Ok(())
    }

    /// The columns of [`TruncatedMeans`](crate::TruncatedMeans) for a candidate.
    pub(super) fn truncated(&self, place: usize) -> [[Vec<f64>; TRUNCATIONS.len()]; 2] {
        let mut columns: [[Vec<f64>; TRUNCATIONS.len()]; 2] = Default::default();
        for (weights, fhats) in self.weights[place].iter().zip(&self.fhats) {
            let again = weights.iter().copied().zip(fhats.iter().copied());
            let means = truncated_means(again).into_iter().flatten();
            for (column, mean) in columns.iter_mut().flatten().zip(means) {
                column.push(mean);
            }
        }
        columns
    }

    /// Those for the difference of two.
    pub(super) fn paired(&self, [first, second]: [usize; 2]) -> PairedTruncatedColumns {
        let mut columns = PairedTruncatedColumns::default();
        let weights = self.weights[first].iter().zip(&self.weights[second]);
        for ((first, second), fhats) in weights.zip(&self.fhats) {
            let weights = first.iter().zip(second).map(|(&one, &two)| [one, two]);
            columns.push(&paired_truncated_means(weights.zip(fhats.iter().copied())));
        }
        columns
    }
}
