use egret::{Direction, Objective};
use egret_offline::{
    Confidence, DistributionEstimate, IntervalKind, OutcomeDistribution, VerdictKind, Worst,
};
use serde::Serialize;

use super::EvaluateRequest;

/// What outcomes are like under one policy, beyond their mean: a quantile, or the mean of the worst of them. Fields that an
/// [`EvaluationRow`](super::EvaluationRow) has too mean the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DistributionRow {
    /// Of which policy.
    pub policy: String,
    /// What it is, as in `quantile 0.9` and `mean of the worst 0.1`.
    pub estimator: String,
    /// How the interval was made.
    pub interval: IntervalKind,
    /// In the units of the objective.
    pub estimate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability with which the interval is to hold the value.
    pub level: f64,
    /// How many events it rests on: the effective sample size on the side of the quantile that has fewer.
    pub ess: f64,
    /// Whether to rely on it, as one word.
    pub verdict_kind: VerdictKind,
}

/// All that was asked of one policy, with what speaks against its weights, if anything does.
pub(super) fn of_policy(
    request: &EvaluateRequest,
    objective: Objective,
    (policy, doubt): (&str, Option<VerdictKind>),
    distribution: &OutcomeDistribution,
    confidence: Confidence,
) -> Vec<DistributionRow> {
    let worst = match objective.direction() {
        Direction::Maximize => Worst::Lowest,
        Direction::Minimize => Worst::Highest,
    };
    let row = |estimator: String, found: DistributionEstimate| {
        let units = |share: f64| objective.as_shares().value(share);
        DistributionRow {
            policy: policy.to_owned(),
            estimator,
            interval: IntervalKind::Normal,
            estimate: units(found.estimate),
            low: units(found.low),
            high: units(found.high),
            level: confidence.level(),
            ess: found.effective,
            verdict_kind: match (doubt, found.is_reliable()) {
                (Some(doubt), _) => doubt,
                (None, true) if request.log.estimate_density => VerdictKind::Biased,
                (None, true) => VerdictKind::Reliable,
                (None, false) if 5.0 < found.largest_weight => VerdictKind::HeavyTails,
                (None, false) => VerdictKind::TooFewEffective,
            },
        }
    };
    let quantiles = request.quantiles.iter().filter_map(|&level| {
        let found = distribution.quantile(level, confidence)?;
        Some(row(format!("quantile {level}"), found))
    });
    let means = request.worst.iter().filter_map(|&share| {
        let found = distribution.mean_of_worst(share, worst, confidence)?;
        Some(row(format!("mean of the worst {share}"), found))
    });
    quantiles.chain(means).collect()
}
