use egret::{Action, Batch, LossCurve, Observed, RegressionOracle};
use rayon::prelude::*;

use crate::policy::{Policy, PolicyBuffers, PolicyError, PolicySeed, expected_loss};
use crate::training::{SplitRows, Trained};

/// How many draws of a policy its mean prediction is taken over.
const DRAWS: usize = 16;

/// Predicts held-out rows for all candidates alike: the oracle with the smallest squared error on the rows that ended
/// training, or on those trained on where none did. Held-out rows have no part in the choice.
pub(super) fn most_exact<'a, X: Send + Sync, A: Action>(
    trained: &'a [Trained<X, A>],
    examples: &[Observed<X, A>],
    parts: &SplitRows,
) -> Result<Option<&'a dyn RegressionOracle<X, A>>, PolicyError> {
    let rows = match parts.validation[..] {
        [] => &parts.train,
        _ => &parts.validation,
    };
    let mut best = None;
    let mut least = f64::INFINITY;
    for candidate in trained {
        let oracle = &*candidate.oracle;
        let predicted = of_logged(oracle, examples, rows)?;
        let residuals = rows.iter().zip(predicted);
        let squares =
            residuals.map(|(&row, predicted)| (predicted - examples[row].loss.get()).powi(2));
        let error = squares.sum();
        if error < least || best.is_none() {
            (best, least) = (Some(oracle), error);
        }
    }
    Ok(best)
}

/// f̂(x, a) of the logged actions.
pub(super) fn of_logged<X: Send + Sync, A: Action>(
    oracle: &dyn RegressionOracle<X, A>,
    examples: &[Observed<X, A>],
    rows: &[usize],
) -> Result<Vec<f64>, PolicyError> {
    rows.par_iter()
        .with_min_len(256)
        .map_init(PolicyBuffers::<A>::default, |buffers, &row| {
            let Observed { x, action, .. } = &examples[row];
            let mut actions = A::Batch::default();
            actions.push(action);
            let curve = LossCurve::new(oracle, x, &mut buffers.prepared)?;
            curve.predict(&actions, &mut buffers.fhats)?;
            Ok(buffers.fhats[0])
        })
        .collect()
}

/// E_q f̂(x, ·), within the limits of each row.
pub(super) fn of_policy<X: Send + Sync, A: Action>(
    policy: &dyn Policy<X, A>,
    oracle: &dyn RegressionOracle<X, A>,
    examples: &[Observed<X, A>],
    rows: &[usize],
    seed: u64,
) -> Result<Vec<f64>, PolicyError> {
    rows.par_iter()
        .with_min_len(256)
        .map_init(PolicyBuffers::default, |buffers, &row| {
            let Observed { x, limits, .. } = &examples[row];
            let limited = limits.as_ref().map(|limits| policy.within(limits));
            let limited = limited.transpose()?;
            let policy = limited.as_deref().unwrap_or(policy);
            let event = row as u64;
            let seed = PolicySeed { seed, event };
            expected_loss(policy, oracle, seed, x, DRAWS, buffers)
        })
        .collect()
}
