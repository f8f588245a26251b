//! Bets on terms that large weights are cut off from, where the policy that made the log is known.

use egret::{Context, EventRng, Interval, Loss, Model, Settings, Stream};
use egret_offline::{
    Confidence, Difference, Estimator, Evaluation, IntervalKind, PairedEvents,
    PairedTruncatedColumns, PathPoint, Plan, PolicyComparison, Report, TRUNCATIONS, TruncatedMeans,
    WeightedEvents, paired_truncated_means, truncated_means,
};
use egret_testkit::allowed_misses;

use crate::logs::{ever_missed, level};

const CUTS: usize = TRUNCATIONS.len();

/// A log that plays 98% on a sixteenth of the actions and 2% everywhere, weighed for the uniform policy: weights reach 50. A loss is
/// 1 with probability 0.1 + 0.4·a, and f̂ is 0.05 + 0.4·a. The value is 0.3.
#[derive(Clone, Default)]
struct Log {
    losses: Vec<f64>,
    weights: Vec<f64>,
    predicted: Vec<f64>,
    policy_predicted: Vec<f64>,
    truncated: [[Vec<f64>; CUTS]; 2],
    bounds: Vec<f64>,
    event_weights: Vec<f64>,
}

const VALUE: f64 = 0.3;

/// (a, w) of an action that the log might have played.
fn draw(rng: &mut EventRng) -> (f64, f64) {
    let a = match rng.unit() < 0.98 {
        true => rng.unit() / 16.0,
        false => rng.unit(),
    };
    let p = if a < 1.0 / 16.0 { 0.98 * 16.0 } else { 0.0 } + 0.02;
    (a, 1.0 / p)
}

fn fhat(a: f64) -> f64 {
    0.05 + 0.4 * a
}

/// `again` actions are drawn again at each event.
fn log(n: usize, trial: u64, again: usize) -> Log {
    let mut rng = EventRng::new(21, trial, Stream::World);
    let mut log = Log::default();
    for t in 0..n {
        let (a, w) = draw(&mut rng);
        log.weights.push(w);
        log.losses.push(f64::from(rng.unit() < 0.1 + 0.4 * a));
        log.predicted.push(fhat(a));
        log.policy_predicted.push(0.25);
        // What the largest density of a policy times the largest 1/p may say, and is no tight bound.
        log.bounds.push(800.0);
        log.event_weights.push(1.0 / (1 + t % 5) as f64);
        let drawn: Vec<(f64, f64)> = (0..again).map(|_| draw(&mut rng)).collect();
        let means = truncated_means(drawn.into_iter().map(|(a, w)| (w, fhat(a))));
        let columns = log.truncated.iter_mut().flatten();
        for (column, mean) in columns.zip(means.into_iter().flatten()) {
            column.push(mean);
        }
    }
    log
}

impl Log {
    fn mirrored(&self) -> Self {
        let flipped = |column: &Vec<f64>| column.iter().map(|value| 1.0 - value).collect();
        let [below, above] = self.truncated.clone();
        Self {
            losses: flipped(&self.losses),
            predicted: flipped(&self.predicted),
            policy_predicted: flipped(&self.policy_predicted),
            truncated: [above, below],
            ..self.clone()
        }
    }

    fn report(&self, truncated: bool, event_weights: bool) -> Report {
        let mut evaluation = Evaluation::new(Plan {
            estimators: vec!["dr".parse().expect("an estimator")],
            intervals: vec![IntervalKind::Betting],
            event_bounds: !truncated,
            truncated,
            ..Plan::default()
        })
        .expect("a plan");
        let columns = |side: usize| self.truncated[side].each_ref().map(|column| &column[..]);
        let events = WeightedEvents {
            losses: &self.losses,
            weights: &self.weights,
            predicted: Some(&self.predicted),
            policy_predicted: Some(&self.policy_predicted),
            truncated: Some(TruncatedMeans {
                below: columns(0),
                above: columns(1),
            }),
            weight_bounds: Some(&self.bounds),
            event_weights: event_weights.then_some(&self.event_weights),
        };
        evaluation.observe(&events).expect("in range");
        evaluation.report(confidence())
    }
}

fn confidence() -> Confidence {
    level(0.9)
}

#[test]
fn they_hold_at_all_times() {
    for event_weights in [false, true] {
        let trials = 60;
        let missed = (0..trials).filter(|&trial| {
            ever_missed(
                &log(600, trial, 4).report(true, event_weights).path,
                600,
                VALUE,
            )
        });
        let missed = missed.count() as u64;
        // At most one in ten may ever miss; a right interval fails here once in a million.
        assert!(missed <= allowed_misses(trials, 0.1), "{missed}");
    }
    // Power: means that are twice too large are found out.
    let missed = (0..20).filter(|&trial| {
        let mut wrong = log(1_500, trial, 1);
        for column in wrong.truncated.iter_mut().flatten() {
            column.iter_mut().for_each(|mean| *mean *= 2.0);
        }
        ever_missed(&wrong.report(true, false).path, 1_500, VALUE)
    });
    let missed = missed.count();
    assert!(10 < missed, "{missed}");
}

#[test]
fn they_narrow_intervals() {
    let width = |log: &Log, truncated| {
        let report = log.report(truncated, false);
        report.estimates[0].high - report.estimates[0].low
    };
    let (mut with, mut bounds) = (0.0, 0.0);
    for trial in 0..3 {
        let mut log = log(3_000, trial, 16);
        // Losses without noise, of which f̂ is 0.05 short everywhere.
        let means = log.predicted.iter().map(|fhat| fhat + 0.05);
        log.losses = means.collect();
        with += width(&log, true);
        bounds += width(&log, false);
    }
    assert!(with < 0.7 * bounds, "{with} beside {bounds}");
}

#[test]
fn the_mirror_image_has_the_mirrored_interval() {
    let log = log(700, 3, 4);
    for event_weights in [false, true] {
        let found = &log.report(true, event_weights).estimates[0];
        let mirrored = &log.mirrored().report(true, event_weights).estimates[0];
        assert!((found.low - (1.0 - mirrored.high)).abs() < 1e-9);
        assert!((found.high - (1.0 - mirrored.low)).abs() < 1e-9);
        assert!(found.low < VALUE && VALUE < found.high);
    }
}

/// The same log for two policies: the uniform one, and one with a density of 4 on the first quarter of the actions. Or, alike but
/// for a tenth: one that plays [0.8, 0.9] where the uniform one plays [0.9, 1].
#[derive(Clone)]
struct Pair {
    losses: Vec<f64>,
    weights: [Vec<f64>; 2],
    predictions: [Vec<f64>; 3],
    truncated: PairedTruncatedColumns,
    bounds: [Vec<f64>; 2],
    event_weights: Vec<f64>,
}

#[derive(Clone, Copy)]
enum Second {
    FirstQuarter,
    AlikeButForATenth,
}

impl Second {
    fn density(self, a: f64) -> f64 {
        match self {
            Self::FirstQuarter if a < 0.25 => 4.0,
            Self::FirstQuarter => 0.0,
            Self::AlikeButForATenth if a < 0.8 => 1.0,
            Self::AlikeButForATenth if a < 0.9 => 2.0,
            Self::AlikeButForATenth => 0.0,
        }
    }

    fn mean_action(self) -> f64 {
        match self {
            Self::FirstQuarter => 0.125,
            Self::AlikeButForATenth => 0.49,
        }
    }

    /// v₁ − v₂.
    fn difference(self) -> f64 {
        0.4 * (0.5 - self.mean_action())
    }
}

fn pair(n: usize, trial: u64, second: Second) -> Pair {
    let mut rng = EventRng::new(22, trial, Stream::World);
    let mut pair = Pair {
        losses: Vec::new(),
        weights: Default::default(),
        predictions: Default::default(),
        truncated: PairedTruncatedColumns::default(),
        // Two bounds that hold, of which none is tight.
        bounds: [vec![100.0; n], vec![400.0; n]],
        event_weights: (0..n).map(|t| 1.0 / (1 + t % 5) as f64).collect(),
    };
    for _ in 0..n {
        let (a, w) = draw(&mut rng);
        pair.losses.push(f64::from(rng.unit() < 0.1 + 0.4 * a));
        pair.weights[0].push(w);
        pair.weights[1].push(w * second.density(a));
        let predictions = [fhat(a), fhat(0.5), fhat(second.mean_action())];
        for (column, predicted) in pair.predictions.iter_mut().zip(predictions) {
            column.push(predicted);
        }
        let again: Vec<(f64, f64)> = (0..8).map(|_| draw(&mut rng)).collect();
        let again = again.into_iter();
        let again = again.map(|(a, w)| ([w, w * second.density(a)], fhat(a)));
        pair.truncated.push(&paired_truncated_means(again));
    }
    pair
}

impl Pair {
    /// With truncated means, with bounds, and with event weights.
    fn compare(
        &self,
        truncated: bool,
        bounds: bool,
        event_weights: bool,
    ) -> (Difference, Vec<PathPoint>) {
        let mut comparison = PolicyComparison::new(None).expect("no bound");
        if bounds {
            comparison = comparison.with_event_bounds().with_predictions();
        }
        if truncated {
            comparison = comparison.with_truncated_means();
        }
        let events = PairedEvents {
            losses: &self.losses,
            weights: self.weights.each_ref().map(|column| &column[..]),
            predictions: Some(self.predictions.each_ref().map(|column| &column[..])),
            truncated: truncated.then(|| self.truncated.means()),
            weight_bounds: bounds.then(|| self.bounds.each_ref().map(|column| &column[..])),
            event_weights: event_weights.then_some(&self.event_weights),
        };
        comparison.observe(&events).expect("in range");
        let report = comparison.report(confidence());
        let mut rows = report.differences.into_iter();
        let row = rows.find(|row| row.interval == IntervalKind::Betting);
        (row.expect("there is one"), report.path)
    }

    /// The same with other means: times a factor, of what is common and of what differs, and with the two sides swapped.
    fn with_means(&self, [common, differing]: [f64; 2], swapped: bool) -> Self {
        let means = self.truncated.means();
        let [one, other] = match swapped {
            true => [means.above, means.below],
            false => [means.below, means.above],
        };
        let mut truncated = PairedTruncatedColumns::default();
        for event in 0..self.losses.len() {
            let sides = one.iter().chain(&other).map(|side| differing * side[event]);
            let mut numbers = std::iter::once(common * means.common[event]).chain(sides);
            truncated.push(&std::array::from_fn(|_| numbers.next().expect("as many")));
        }
        Self {
            truncated,
            ..self.clone()
        }
    }

    /// Losses as rewards.
    fn mirrored(&self) -> Self {
        let flipped = |column: &Vec<f64>| column.iter().map(|value| 1.0 - value).collect();
        Self {
            losses: flipped(&self.losses),
            predictions: self.predictions.each_ref().map(flipped),
            ..self.with_means([1.0, 1.0], true)
        }
    }

    /// The policies in the other order.
    fn swapped(&self) -> Self {
        let [first, second] = self.weights.clone();
        let [fhat, of_first, of_second] = self.predictions.clone();
        let [bound, other] = self.bounds.clone();
        Self {
            weights: [second, first],
            predictions: [fhat, of_second, of_first],
            bounds: [other, bound],
            // What one loses the other wins.
            ..self.with_means([1.0, 1.0], true)
        }
    }
}

fn width(row: &Difference) -> f64 {
    row.high - row.low
}

#[test]
fn differences_are_held_at_all_times() {
    for second in [Second::FirstQuarter, Second::AlikeButForATenth] {
        for event_weights in [false, true] {
            let trials = 60;
            let missed = (0..trials).filter(|&trial| {
                let (_, path) = pair(600, trial, second).compare(true, true, event_weights);
                ever_missed(&path, 600, second.difference())
            });
            let missed = missed.count() as u64;
            // At most one in ten may ever miss; a right interval fails here once in a million.
            assert!(missed <= allowed_misses(trials, 0.1), "{missed}");
        }
    }
    // Power: means that are three times too large are found out, those of what policies have in common and those of what
    // differs, where there is much of it.
    for (second, factors) in [
        (Second::AlikeButForATenth, [3.0, 1.0]),
        (Second::FirstQuarter, [1.0, 3.0]),
    ] {
        let missed = (0..20).filter(|&trial| {
            let wrong = pair(1_500, trial, second).with_means(factors, false);
            let (_, path) = wrong.compare(true, false, false);
            ever_missed(&path, 1_500, second.difference())
        });
        let missed = missed.count();
        assert!(15 < missed, "{missed}");
    }
}

#[test]
fn they_narrow_differences() {
    // Measured: 0.60, with bounds 0.47, with truncated means 0.42, with both 0.42; and 0.50, 0.24, 0.24, 0.20 of policies that
    // are alike.
    for (second, beside_none, beside_bounds) in [
        (Second::FirstQuarter, 0.75, 0.95),
        (Second::AlikeButForATenth, 0.5, 0.9),
    ] {
        let [mut none, mut bounds, mut means, mut both] = [0.0; 4];
        for trial in 0..6 {
            let pair = pair(6_000, trial, second);
            let width = |truncated, bounds| width(&pair.compare(truncated, bounds, false).0);
            none += width(false, false);
            bounds += width(false, true);
            means += width(true, false);
            both += width(true, true);
        }
        assert!(means < beside_none * none, "{means} beside {none}");
        assert!(both < beside_bounds * bounds, "{both} beside {bounds}");
    }
}

#[test]
fn differences_have_mirror_images() {
    for second in [Second::FirstQuarter, Second::AlikeButForATenth] {
        let pair = pair(700, 3, second);
        for event_weights in [false, true] {
            let (found, _) = pair.compare(true, true, event_weights);
            assert_eq!(found.estimator, Estimator::Dr);
            assert!(width(&found) < 1.9, "{found:?}");
            for other in [pair.mirrored(), pair.swapped()] {
                let (other, _) = other.compare(true, true, event_weights);
                assert!((found.low + other.high).abs() < 1e-9, "{found:?} {other:?}");
                assert!((found.high + other.low).abs() < 1e-9, "{found:?} {other:?}");
            }
        }
    }
}

#[test]
fn a_comparison_with_them_needs_them() {
    let comparison = PolicyComparison::new(None).expect("no bound");
    let mut comparison = comparison.with_truncated_means();
    let column: &[f64] = &[0.5];
    let events = PairedEvents {
        losses: column,
        weights: [column; 2],
        predictions: Some([column; 3]),
        ..PairedEvents::default()
    };
    let error = comparison.observe(&events).expect_err("none are given");
    assert!(error.to_string().contains("truncated"), "{error}");
}

#[test]
fn a_plan_with_them_needs_them() {
    let mut evaluation = Evaluation::new(Plan {
        estimators: vec!["dr".parse().expect("an estimator")],
        truncated: true,
        ..Plan::default()
    })
    .expect("a plan");
    let events = WeightedEvents {
        losses: &[0.5],
        weights: &[1.0],
        predicted: Some(&[0.5]),
        policy_predicted: Some(&[0.5]),
        ..WeightedEvents::default()
    };
    let error = evaluation.observe(&events).expect_err("none are given");
    assert!(error.to_string().contains("truncated"), "{error}");
}

#[test]
fn a_decision_made_again_is_like_the_first() {
    let settings = Settings {
        taus: vec![2.0, 8.0],
        ..Settings::default().with_seed(5)
    };
    let interval = Interval::new(0.0, 1.0).expect("an interval");
    let mut model: Model<f64> = Model::with_settings(interval, 1, settings).expect("a model");
    let x = Context::dense(vec![0.3]).expect("finite");
    for event in 0..40 {
        let decision = model.decide(event, &x).expect("an action");
        let loss = Loss::new((decision.action - 0.7).abs()).expect("in [0, 1]");
        model
            .learn(&decision.observed(x.clone(), loss))
            .expect("it learns");
    }
    let learner = model.learner();
    let decision = model.decide(40, &x).expect("an action");
    let same = learner.decide_again(decision.seed, &x, &decision);
    assert_eq!(same.as_ref(), Ok(&decision));
    let n = 4_000;
    let again = (0..n).map(|seed| {
        let again = learner.decide_again(1_000 + seed, &x, &decision);
        again.expect("an action")
    });
    let again: Vec<_> = again.collect();
    assert!(
        again
            .iter()
            .all(|again| again.tau_index == decision.tau_index)
    );
    // E[1{a < 1/2}/p] is 1/2; six standard errors. The share of such actions is not.
    let terms = again.iter().map(|again| {
        let p = again.propensity.density().expect("a density").get();
        f64::from(u8::from(again.action < 0.5)) / p
    });
    let terms: Vec<f64> = terms.collect();
    let mean = terms.iter().sum::<f64>() / n as f64;
    let variance = terms.iter().map(|term| (term - mean).powi(2)).sum::<f64>() / n as f64;
    assert!(
        (mean - 0.5).abs() < 6.0 * (variance / n as f64).sqrt(),
        "{mean}"
    );
    let low = again.iter().filter(|again| again.action < 0.5).count();
    assert!(low < n as usize / 3, "{low}");
}
