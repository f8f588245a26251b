//! Quantiles and means of the worst, under a policy that did not make the log, lie in their intervals as often as promised.

use egret::{EventRng, Stream};
use egret_offline::{Confidence, DistributionEstimate, OutcomeDistribution, WeightedEvents, Worst};
use egret_testkit::allowed_misses;

/// Actions on [0, 1]: the log plays a with density ½ + a, the policy with 2(1 − a). A loss is (a + u)/2, u even on [0, 1].
fn played(n: usize, trial: u64) -> OutcomeDistribution {
    let mut rng = EventRng::new(5, trial, Stream::World);
    let (mut losses, mut weights) = (Vec::new(), Vec::new());
    for _ in 0..n {
        // a² + a = 2u solved for a.
        let a = (0.25 + 2.0 * rng.unit()).sqrt() - 0.5;
        losses.push(0.5 * (a + rng.unit()));
        weights.push(2.0 * (1.0 - a) / (0.5 + a));
    }
    let mut found = OutcomeDistribution::default();
    found.observe(&WeightedEvents {
        losses: &losses,
        weights: &weights,
        ..WeightedEvents::default()
    });
    found
}

type Density = fn(f64) -> f64;

const POLICY: Density = |a| 2.0 * (1.0 - a);

const LOGGED: Density = |a| 0.5 + a;

/// P(loss ≤ v), by the midpoints of many strips.
fn share_up_to(v: f64, density: Density) -> f64 {
    let strips = 1_000;
    let at = |strip: usize| {
        let a = (strip as f64 + 0.5) / strips as f64;
        density(a) * (2.0 * v - a).clamp(0.0, 1.0)
    };
    (0..strips).map(at).sum::<f64>() / strips as f64
}

fn quantile(level: f64, density: Density) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if share_up_to(middle, density) < level {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The mean of the values beyond a quantile: an integral over quantiles.
fn mean_of_worst(share: f64, worst: Worst, density: Density) -> f64 {
    let parts = 200;
    let at = |part: usize| {
        let level = share * (part as f64 + 0.5) / parts as f64;
        let level = match worst {
            Worst::Lowest => level,
            Worst::Highest => 1.0 - level,
        };
        quantile(level, density)
    };
    (0..parts).map(at).sum::<f64>() / parts as f64
}

type Truth = fn(Density) -> f64;

type Ask = fn(&OutcomeDistribution, Confidence) -> Option<DistributionEstimate>;

#[test]
fn intervals_cover_and_are_narrow_enough_to_exclude_the_logs_own() {
    let (trials, n) = (1_000, 3_000);
    let confidence = Confidence::new(0.95).expect("a level");
    let asked: [(Ask, Truth); 5] = [
        (|d, c| d.quantile(0.1, c), |q| quantile(0.1, q)),
        (|d, c| d.quantile(0.5, c), |q| quantile(0.5, q)),
        (|d, c| d.quantile(0.9, c), |q| quantile(0.9, q)),
        (
            |d, c| d.mean_of_worst(0.1, Worst::Highest, c),
            |q| mean_of_worst(0.1, Worst::Highest, q),
        ),
        (
            |d, c| d.mean_of_worst(0.2, Worst::Lowest, c),
            |q| mean_of_worst(0.2, Worst::Lowest, q),
        ),
    ];
    let logs: Vec<OutcomeDistribution> = (0..trials).map(|trial| played(n, trial)).collect();
    for (place, (ask, truth)) in asked.into_iter().enumerate() {
        let found: Vec<DistributionEstimate> = logs
            .iter()
            .map(|log| ask(log, confidence).expect("events"))
            .collect();
        let missing = |value: f64| {
            let outside = found
                .iter()
                .filter(|one| value < one.low || one.high < value);
            outside.count() as u64
        };
        assert!(found.iter().all(DistributionEstimate::is_reliable));
        let misses = missing(truth(POLICY));
        assert!(misses <= allowed_misses(trials, 0.07), "{place}: {misses}");
        // Weights that are left out must show.
        let excluded = missing(truth(LOGGED));
        assert!(9 * trials / 10 < excluded, "{place}: {excluded}");
    }
}

/// The log plays a with density k·a^(k − 1), the policy all alike; losses as above. The lowest losses have the largest
/// weights, without variance for k ≥ 2.
fn skewed(k: f64, n: usize, trial: u64) -> OutcomeDistribution {
    let mut rng = EventRng::new(6, trial, Stream::World);
    let (mut losses, mut weights) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let a = (1.0 - rng.unit()).powf(1.0 / k);
        losses.push(0.5 * (a + rng.unit()));
        weights.push(a.powf(1.0 - k) / k);
    }
    let mut found = OutcomeDistribution::default();
    found.observe(&WeightedEvents {
        losses: &losses,
        weights: &weights,
        ..WeightedEvents::default()
    });
    found
}

#[test]
fn skewed_weights_are_relied_on_only_where_intervals_cover() {
    let trials = 400;
    let confidence = Confidence::new(0.95).expect("a level");
    let even: Density = |_| 1.0;
    let asked: [(Ask, f64); 3] = [
        (|d, c| d.quantile(0.1, c), quantile(0.1, even)),
        (|d, c| d.quantile(0.5, c), quantile(0.5, even)),
        (
            |d, c| d.mean_of_worst(0.2, Worst::Lowest, c),
            mean_of_worst(0.2, Worst::Lowest, even),
        ),
    ];
    let (mut doubted, mut missed) = (0, 0);
    for k in [1.3, 1.6, 1.9, 2.5] {
        for n in [100, 300, 1_000, 3_000] {
            let logs: Vec<OutcomeDistribution> =
                (0..trials).map(|trial| skewed(k, n, trial)).collect();
            for (place, (ask, truth)) in asked.iter().enumerate() {
                let found = logs.iter().map(|log| ask(log, confidence).expect("events"));
                let (sure, unsure): (Vec<_>, Vec<_>) =
                    found.partition(DistributionEstimate::is_reliable);
                let misses = |of: &[DistributionEstimate]| {
                    let outside = of
                        .iter()
                        .filter(|one| *truth < one.low || one.high < *truth);
                    outside.count() as u64
                };
                (doubted, missed) = (doubted + unsure.len() as u64, missed + misses(&unsure));
                if 200 <= sure.len() {
                    let allowed = allowed_misses(sure.len() as u64, 0.07);
                    assert!(misses(&sure) <= allowed, "{k} {n} {place}");
                }
            }
        }
    }
    // Those that are not relied on miss more often than they should: the doubt has a reason.
    assert!(
        allowed_misses(doubted, 0.05) < missed,
        "{missed} of {doubted}"
    );
}
