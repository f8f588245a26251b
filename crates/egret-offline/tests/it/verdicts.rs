//! Each verdict on a log that deserves it, and none on one that does not.

use egret::{EventRng, Objective, Stream};
use egret_offline::{
    Estimate, Estimator, Evaluation, IntervalKind, Plan, Standing, Verdict, VerdictKind,
    WeightedEvents,
};

use egret_testkit::allowed_misses;

use crate::logs::{Log, VALUE, Weights, level, log};

fn usual() -> Plan {
    Plan {
        estimators: vec![
            Estimator::Ips,
            Estimator::Snips,
            Estimator::Dm,
            "clipped-ips:2".parse().expect("a name"),
        ],
        ..Plan::default()
    }
}

fn rows(log: &Log, left_out: u64) -> Vec<Estimate> {
    let mut evaluation = Evaluation::new(usual()).expect("a plan");
    evaluation.observe(&log.events()).expect("in range");
    evaluation.leave_out(left_out);
    evaluation.report(level(0.95)).estimates
}

/// The verdict on IPS with an interval.
fn verdict(log: &Log, left_out: u64, interval: IntervalKind) -> (VerdictKind, String) {
    let row = rows(log, left_out)
        .into_iter()
        .find(|row| row.estimator == Estimator::Ips && row.interval == interval)
        .expect("planned");
    (row.verdict.kind, row.verdict.words)
}

use IntervalKind::{Betting, Normal};

#[test]
fn a_clean_log_is_reliable() {
    let reliable = (0..200)
        .filter(|&trial| {
            let log = log(Weights::Window(4.0), 4_000, trial);
            let rows = rows(&log, 0);
            let of = |estimator, interval| {
                rows.iter()
                    .find(|row| row.estimator == estimator && row.interval == interval)
                    .expect("planned")
            };
            of(Estimator::Snips, Normal).verdict.is_reliable()
                && of(Estimator::Ips, Betting).verdict.is_reliable()
        })
        .count();
    // A mean weight four standard errors off comes once in 16,000 logs.
    assert!(199 <= reliable, "{reliable}");
}

#[test]
fn a_log_whose_events_count_less_and_less_is_reliable_too() {
    let (mut reliable, mut missed) = (0, 0);
    for trial in 0..200 {
        let log = log(Weights::Narrowing, 4_000, trial);
        let rows = rows(&log, 0);
        let mut snips = rows.iter().filter(|row| row.estimator == Estimator::Snips);
        let row = snips.next().expect("planned");
        if row.verdict.is_reliable() {
            reliable += 1;
            missed += u64::from(!(row.low <= VALUE && VALUE <= row.high));
        }
    }
    assert!(190 <= reliable, "{reliable}");
    // A false alarm once in a million if 7% are missed.
    assert!(
        missed <= allowed_misses(reliable, 0.07),
        "{missed} of {reliable}"
    );
}

#[test]
fn wrong_densities_are_seen_in_the_mean_weight() {
    for factor in [0.8, 1.25] {
        let mut log = log(Weights::Window(4.0), 20_000, 1);
        for w in &mut log.weights {
            *w *= factor;
        }
        for interval in [Normal, Betting] {
            let (kind, words) = verdict(&log, 0, interval);
            // Weights that are too large may leave no value at all.
            let kinds = [VerdictKind::NoValue, VerdictKind::MeanWeightOff];
            assert!(kinds.contains(&kind), "{factor} {interval}");
            assert!(words.contains("the mean weight is"), "{words}");
            assert!(words.contains("densities"), "{words}");
        }
    }
}

#[test]
fn rounded_densities_are_not_wrong_until_they_move_the_value() {
    // 1.0009 for 1, which no event contradicts: 0.00045 of a value known to 0.02, and of one known to 0.0015.
    for (events, kind) in [
        (2_000, VerdictKind::Reliable),
        (400_000, VerdictKind::MeanWeightOff),
    ] {
        let mut log = log(Weights::Window(4.0), events, 1);
        log.weights.fill(1.0009);
        for (place, loss) in log.losses.iter_mut().enumerate() {
            *loss = (place % 2) as f64;
        }
        assert_eq!(verdict(&log, 0, Normal).0, kind, "{events}");
    }
}

#[test]
fn impossible_weights_leave_no_value() {
    let mut log = log(Weights::Window(4.0), 20_000, 1);
    for w in &mut log.weights {
        *w *= 3.0;
    }
    let (kind, words) = verdict(&log, 0, Betting);
    assert_eq!(kind, VerdictKind::NoValue);
    assert!(words.contains("no value is possible"), "{words}");
    // What is wrong is said once.
    let times = |words: &str, what: &str| words.matches(what).count();
    assert_eq!(times(&words, "densities of the log"), 1, "{words}");
    let (kind, words) = verdict(&log, 0, Normal);
    assert_eq!(kind, VerdictKind::MeanWeightOff);
    assert_eq!(times(&words, "mean weight"), 1, "{words}");
    let report = log.report(&usual(), level(0.95));
    let row = report
        .estimates
        .iter()
        .find(|row| row.interval == Betting)
        .expect("planned");
    assert!(row.estimate.is_nan() && row.low.is_nan() && row.high.is_nan());
    let line = row.in_words(&Objective::LOSS);
    assert!(
        line.starts_with("no interval: no value is possible"),
        "{line}"
    );
    assert!(line.contains("egret audit"), "{line}");
    assert!(report.path.iter().all(|point| point.low <= point.high));
}

#[test]
fn events_left_out_are_named_with_their_share() {
    let log = log(Weights::Window(4.0), 7_500, 2);
    let (kind, words) = verdict(&log, 2_500, Normal);
    assert_eq!(kind, VerdictKind::LeftOut);
    assert!(words.contains("25.0%"), "{words}");
    assert_eq!(verdict(&log, 1, Normal).0, VerdictKind::Reliable);
}

#[test]
fn one_event_that_dominates_is_named() {
    let mut log = log(Weights::Window(2.0), 1_000, 3);
    log.weights[500] = 400.0;
    let (kind, words) = verdict(&log, 0, Normal);
    assert_eq!(kind, VerdictKind::OneEventDominates);
    assert!(words.contains("one event has 2"), "{words}");
}

#[test]
fn few_effective_events_are_counted() {
    let (kind, words) = verdict(&log(Weights::Window(20.0), 1_000, 4), 0, Normal);
    assert_eq!(kind, VerdictKind::TooFewEffective);
    assert!(words.contains("effective"), "{words}");
}

#[test]
fn heavy_tails_point_to_betting() {
    let heavy = log(Weights::Pareto(1.3), 50_000, 5);
    let (kind, words) = verdict(&heavy, 0, Normal);
    assert_eq!(kind, VerdictKind::HeavyTails, "{words}");
    assert!(words.contains("heavy tails"), "{words}");
    assert_eq!(verdict(&heavy, 0, Betting).0, VerdictKind::Reliable);
    let light = log(Weights::Pareto(5.0), 50_000, 5);
    assert_eq!(verdict(&light, 0, Normal).0, VerdictKind::Reliable);
}

#[test]
fn bias_is_named_where_there_is_some() {
    let log = log(Weights::Window(4.0), 4_000, 6);
    let kinds = |estimator: &str| {
        let rows = rows(&log, 0);
        let row = rows
            .iter()
            .find(|row| row.estimator.to_string() == estimator);
        row.expect("planned").verdict.kind
    };
    assert_eq!(kinds("dm"), VerdictKind::Biased);
    assert_eq!(kinds("clipped-ips:2"), VerdictKind::Biased);
    assert_eq!(kinds("ips"), VerdictKind::Reliable);
}

#[test]
fn a_wide_interval_is_called_so() {
    let (kind, words) = verdict(&log(Weights::Window(20.0), 200, 7), 0, Betting);
    assert_eq!(kind, VerdictKind::Uninformative);
    assert!(words.contains("of all possible values"), "{words}");
}

#[test]
fn no_overlap_and_no_events_are_told() {
    let mut log = log(Weights::Window(4.0), 500, 8);
    log.weights.fill(0.0);
    assert_eq!(verdict(&log, 0, Normal).0, VerdictKind::NoOverlap);
    assert_eq!(verdict(&log.part(0..0), 0, Normal).0, VerdictKind::NoEvents);
}

/// `n` events with weight w₁ with probability q and w₂ otherwise, and losses of 1 with probability `mean`.
fn two_weights(n: usize, (w1, q, w2): (f64, f64, f64), mean: f64, trial: u64) -> Log {
    let mut rng = EventRng::new(17, trial, Stream::World);
    let mut log = Log::default();
    for _ in 0..n {
        log.weights.push(if rng.unit() < q { w1 } else { w2 });
        log.losses.push(f64::from(rng.unit() < mean));
        log.predicted.push(mean);
        log.policy_predicted.push(mean);
    }
    log
}

#[test]
fn rare_losses_and_rare_weights_are_too_few_informative_losses() {
    for (n, weights, mean) in [
        (5_000, (50.0, 0.01, 0.505_050_505), 0.03),
        (300, (1.0, 1.0, 1.0), 0.01),
        (300, (1.0, 1.0, 1.0), 0.99),
    ] {
        let (mut reliable, mut held) = (0, 0);
        for trial in 0..150 {
            let rows = rows(&two_weights(n, weights, mean, trial), 0);
            let snips = rows
                .iter()
                .find(|row| row.estimator == Estimator::Snips && row.interval == Normal)
                .expect("planned");
            reliable += u64::from(snips.verdict.is_reliable());
            held += u64::from(snips.low <= mean && mean <= snips.high);
            let words = &snips.verdict.words;
            let warned = words.contains("too few informative losses");
            assert_eq!(warned, !snips.verdict.is_reliable(), "{words}");
        }
        assert!(reliable <= 1, "{n}: {reliable}");
        // What the verdict warns of: these 95% intervals cover fewer than 88%.
        assert!(held < 132, "{n}: {held}");
    }
    // The power beside it.
    let usual = two_weights(5_000, (5.0, 0.1, 0.555_555_555), 0.3, 0);
    let snips = rows(&usual, 0).swap_remove(2);
    assert_eq!(
        (snips.estimator, snips.interval),
        (Estimator::Snips, Normal)
    );
    assert!(snips.verdict.is_reliable());
}

#[test]
fn weights_of_few_values_have_no_tail_and_are_still_checked() {
    // As Open Bandit's: many values up to 19.6, each of them often. A fit calls that a heavy tail.
    let mut rng = EventRng::new(18, 0, Stream::World);
    let mut log = Log::default();
    let mean: f64 = (0..1_000)
        .map(|i| f64::from(1 + i % 14).powi(3))
        .sum::<f64>()
        / 1_000.0;
    for _ in 0..10_000 {
        let value = (1.0 + (14.0 * rng.unit()).floor()).powi(3);
        log.weights.push(value / mean);
        log.losses.push(f64::from(rng.unit() < 0.3));
        log.predicted.push(0.3);
        log.policy_predicted.push(0.3);
    }
    let report = log.report(&usual(), level(0.95));
    assert_eq!(report.diagnostics.pareto_k, None);
    // Densities that are 20% too large make weights too small.
    let mut wrong = log.clone();
    for w in &mut wrong.weights {
        *w /= 1.2;
    }
    for interval in [Normal, Betting] {
        assert_eq!(verdict(&wrong, 0, interval).0, VerdictKind::MeanWeightOff);
    }
}

#[test]
fn a_tail_does_not_silence_the_mean_weight() {
    // Weights with k of about 0.6 by chance of the fit, yet many of them: their mean is known well.
    let heavy = log(Weights::Pareto(2.2), 100_000, 5);
    let mut wrong = heavy.clone();
    for w in &mut wrong.weights {
        *w *= 0.8;
    }
    let (kind, _) = verdict(&wrong, 0, Normal);
    let report = wrong.report(&usual(), level(0.95));
    let informative = report.diagnostics.informative_weights;
    assert_eq!(
        kind == VerdictKind::MeanWeightOff,
        40.0 <= informative,
        "{informative}"
    );
}

#[test]
fn a_known_bound_leaves_no_tail_and_asks_for_losses() {
    let plan = |weight_bound| Plan {
        weight_bound,
        ..usual()
    };
    let heavy = log(Weights::Pareto(1.3), 5_000, 5);
    let most = heavy.weights.iter().copied().fold(0.0, f64::max);
    let bounded = heavy.report(&plan(Some(most)), level(0.95));
    assert_eq!(bounded.diagnostics.pareto_k, None);
    assert!(!bounded.estimates[0].verdict.is_reliable());
    // Weights of 1, of which a bound says that they could be 100.
    let even = two_weights(2_000, (1.0, 1.0, 1.0), 0.3, 1);
    for (bound, reliable) in [(None, true), (Some(2.0), true), (Some(100.0), false)] {
        let row = &even.report(&plan(bound), level(0.95)).estimates[0];
        assert_eq!(row.verdict.is_reliable(), reliable, "{bound:?}");
    }
}

#[test]
fn the_value_of_a_betting_interval_is_in_it() {
    for (trial, flip) in (0..40).flat_map(|trial| [(trial, false), (trial, true)]) {
        // Large weights with few events: IPS of losses near 1 is far off.
        let mut log = two_weights(2_000, (19.6, 0.02, 0.620_408_163), 0.02, trial);
        if flip {
            log.losses.iter_mut().for_each(|loss| *loss = 1.0 - *loss);
        }
        let rows = rows(&log, 0);
        let row = rows
            .iter()
            .find(|row| row.interval == Betting)
            .expect("planned");
        assert!(
            row.low <= row.estimate && row.estimate <= row.high,
            "{row:?}"
        );
        let snips = rows.iter().find(|row| row.estimator == Estimator::Snips);
        let away = row.estimate - snips.expect("planned").estimate;
        assert!(away.abs() < 0.25, "{away}");
    }
}

#[test]
fn a_line_says_what_the_interval_says_and_whether_to_rely_on_it() {
    // The policy plays the half of the actions that costs less.
    let mut rng = EventRng::new(19, 0, Stream::World);
    let mut log = Log::default();
    for _ in 0..4_000 {
        let good = rng.unit() < 0.5;
        log.weights.push(if good { 2.0 } else { 0.0 });
        log.losses
            .push(f64::from(rng.unit() < if good { 0.2 } else { 0.6 }));
    }
    let report = |log: &Log| {
        let mut evaluation = Evaluation::new(Plan::default()).expect("a plan");
        let events = WeightedEvents {
            losses: &log.losses,
            weights: &log.weights,
            ..WeightedEvents::default()
        };
        evaluation.observe(&events).expect("in range");
        evaluation.report(level(0.95))
    };
    let first = report(&log).estimates.remove(0);
    assert_eq!(first.estimator, Estimator::Snips);
    assert_eq!(first.standing, Standing::Lower);
    let line = first.in_words(&Objective::LOSS);
    let expected = format!(
        "between {:.4} and {:.4}: better than the logging policy ({:.4}); reliable",
        first.low, first.high, first.logged
    );
    assert_eq!(line, expected);
    // The same numbers as rewards: less is worse.
    let rewards = Objective::maximize(0.0, 1.0).expect("a range");
    assert!(
        first
            .in_words(&rewards)
            .contains("worse than the logging policy")
    );
    let turned = first.clone().in_units(&rewards);
    assert_eq!(turned.standing, Standing::Higher);
    assert!(
        turned
            .in_words(&rewards)
            .contains("better than the logging policy")
    );
    log.weights.fill(1.0);
    let line = report(&log).estimates[0].in_words(&Objective::LOSS);
    assert!(
        line.contains("not shown better or worse than the logging policy"),
        "{line}"
    );
    assert!(
        line.ends_with("reliable; about 12,000 more events would halve the interval"),
        "{line}"
    );
}

#[test]
fn no_interval_of_events_that_a_model_has_learned_from_helps() {
    for (kind, audited) in [
        (VerdictKind::HeavyTails, false),
        (VerdictKind::TooFewInformative, false),
        (VerdictKind::MeanWeightOff, true),
    ] {
        let found = Verdict {
            kind,
            words: "found".to_owned(),
            help: Some("read the betting interval".to_owned()),
        };
        let verdict = found.clone().with_learned_events();
        assert_eq!(verdict.kind, kind);
        assert!(verdict.words.starts_with("found; a model behind it"));
        assert_eq!(verdict.help == found.help, audited, "{verdict:?}");
    }
}
