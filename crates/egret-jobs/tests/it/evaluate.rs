use std::path::Path;
use std::sync::Arc;

use egret::{Density, EventRng, Loss, Objective, Propensity, Space, Stream};
use egret_jobs::evaluate::{
    EvaluateReport, EvaluateRequest, EvaluationRow, PartsBy, Predictions, evaluate,
};
use egret_jobs::train::{TrainRequest, TrainingLog, train};
use egret_jobs::{JobError, LogSource, Silent};
use egret_log::{Mode, Record};
use egret_offline::{Estimator, IntervalKind, VerdictKind};
use serde_json::json;

use crate::{
    assert_cancelled, assert_near, assert_place, assert_request, folder, json_of, log, names_in,
    records, spoil, write,
};

fn request(log: impl Into<std::path::PathBuf>, policies: &[&str]) -> EvaluateRequest {
    EvaluateRequest {
        log: LogSource::new([log]),
        policies: policies
            .iter()
            .map(|text| text.parse().expect("a policy"))
            .collect(),
        intervals: vec![IntervalKind::Normal],
        ..EvaluateRequest::default()
    }
}

fn row<'r>(report: &'r EvaluateReport, policy: &str, estimator: &str) -> &'r EvaluationRow {
    let mut rows = report.rows.iter();
    rows.find(|row| row.policy == policy && row.estimator == estimator)
        .expect("it was asked for")
}

/// (w, ℓ) of each event that has a loss, where `q` is the policy's density.
fn weighed(records: &[Record], q: impl Fn(&Record) -> f64) -> Vec<(f64, f64)> {
    let known = records.iter().filter_map(|record| {
        let density = record.propensity().density();
        let weight = density.map_or(0.0, |p| q(record) / p.get());
        Some((weight, record.loss?.get()))
    });
    known.collect()
}

fn ips(events: &[(f64, f64)]) -> f64 {
    events.iter().map(|(w, loss)| w * loss).sum::<f64>() / events.len() as f64
}

fn snips(events: &[(f64, f64)]) -> f64 {
    let sum: f64 = events.iter().map(|(w, loss)| w * loss).sum();
    sum / events.iter().map(|(w, _)| w).sum::<f64>()
}

/// Epanechnikov's density around 0.5, which the ends of [0, 1] do not cut.
fn around_half(record: &Record, bandwidth: f64) -> f64 {
    let u = (record.number("action").expect("a number") - 0.5) / bandwidth;
    (0.75 * (1.0 - u * u) / bandwidth).max(0.0)
}

#[test]
fn estimates_are_those_of_a_loop_over_the_records() {
    let policies = [
        "uniform",
        "q=column:q",
        "kernel=kernel:action=center,bandwidth=0.2",
    ];
    for (name, policies) in [
        ("log.jsonl", &policies[..]),
        ("log.parquet", &policies[..]),
        // Columns of numbers suffice here.
        ("log.parquet", &policies[..2]),
    ] {
        let (_folder, file) = log(name, 400);
        let report = evaluate(&request(&file, policies), &Silent).expect("a report");
        let all = records(400);
        let q = |record: &Record| record.number("q").expect("a column");
        for (policy, events) in [
            ("uniform", weighed(&all, |_| 1.0)),
            ("q", weighed(&all, q)),
            ("kernel", weighed(&all, |record| around_half(record, 0.2))),
        ]
        .into_iter()
        .take(policies.len())
        {
            assert_near(row(&report, policy, "ips").estimate, ips(&events));
            assert_near(row(&report, policy, "snips").estimate, snips(&events));
            let row = row(&report, policy, "ips");
            let zeros = events.iter().filter(|(w, _)| *w == 0.0).count();
            let sum: f64 = events.iter().map(|(w, _)| w).sum();
            let squares: f64 = events.iter().map(|(w, _)| w * w).sum();
            assert_eq!(row.n, events.len() as u64);
            assert_near(row.zero_share, zeros as f64 / events.len() as f64);
            assert_near(row.mean_weight, sum / events.len() as f64);
            assert!((row.ess - sum * sum / squares).abs() < 1e-9 * row.ess);
            assert!(row.low <= row.estimate && row.estimate <= row.high);
        }
        let warnings = &report.rows[0].warnings;
        // 400 events: 40 without a loss, 30 point masses of which three have no loss.
        assert!(warnings[0].starts_with("27 events"), "{warnings:?}");
        assert!(warnings[1].starts_with("40 events"), "{warnings:?}");
    }
}

#[test]
fn doubly_robust_is_that_of_a_loop_over_the_records() {
    let (_folder, file) = log("log.parquet", 300);
    let request = EvaluateRequest {
        predictions: Some(Predictions::Column("predicted".to_owned())),
        ..request(&file, &["q=column:q,predicted=q_predicted"])
    };
    let report = evaluate(&request, &Silent).expect("a report");
    let all = records(300);
    let known: Vec<&Record> = all.iter().filter(|record| record.loss.is_some()).collect();
    let number = |record: &Record, name| record.number(name).expect("a column");
    let events = weighed(&all, |record| number(record, "q"));
    let terms = known.iter().zip(&events).map(|(record, (w, loss))| {
        number(record, "q_predicted") + w * (loss - number(record, "predicted"))
    });
    let expected = terms.sum::<f64>() / events.len() as f64;
    assert_near(row(&report, "q", "dr").estimate, expected);
}

#[test]
fn rows_and_columns_say_the_same() {
    let (folder, parquet) = log("log.parquet", 500);
    let lines = folder.path().join("log.jsonl");
    write(&lines, &records(500));
    // A folder of two halves, too.
    let halves = folder.path().join("halves");
    std::fs::create_dir(&halves).expect("made");
    for (name, part) in [("a.parquet", 0..200), ("b.parquet", 200..500)] {
        write(&halves.join(name), &records(500)[part]);
    }
    let asked = |file| EvaluateRequest {
        intervals: vec![
            IntervalKind::Normal,
            IntervalKind::Asymptotic,
            IntervalKind::Bootstrap,
            IntervalKind::Betting,
        ],
        against: Some("uniform".to_owned()),
        histograms: true,
        ..request(file, &["uniform", "q=column:q"])
    };
    let predicted = |file| EvaluateRequest {
        predictions: Some(Predictions::Column("predicted".to_owned())),
        weight_bound: Some(1e4),
        ..request(file, &["q=column:q,predicted=q_predicted"])
    };
    let stabilized = |file| EvaluateRequest {
        stabilize: true,
        ..request(file, &["q=column:q"])
    };
    let drawn: Vec<Record> = records(500)
        .into_iter()
        .filter(|record| record.tau.is_some())
        .collect();
    let [all_drawn, drawn_lines] =
        ["drawn.parquet", "drawn.jsonl"].map(|name| folder.path().join(name));
    write(&all_drawn, &drawn);
    write(&drawn_lines, &drawn);
    for [by_columns, by_records] in [
        [asked(&parquet), asked(&lines)],
        [asked(&halves), asked(&lines)],
        [predicted(&parquet), predicted(&lines)],
        [stabilized(&all_drawn), stabilized(&drawn_lines)],
    ] {
        let one = evaluate(&by_columns, &Silent).expect("a report");
        let two = evaluate(&by_records, &Silent).expect("a report");
        assert_eq!(one.rows, two.rows);
        assert_eq!(one, two);
    }
}

#[test]
fn asymptotic_intervals_are_of_all_that_normal_ones_are_of_and_explained() {
    let (_folder, file) = log("log.jsonl", 400);
    let asked = |intervals| {
        let request = EvaluateRequest {
            intervals,
            estimators: Estimator::ALL.to_vec(),
            predictions: Some(Predictions::Column("predicted".to_owned())),
            against: Some("logged".to_owned()),
            parts: Some(PartsBy::Window(100)),
            simultaneous: true,
            ..request(&file, &["q=column:q,predicted=q_predicted"])
        };
        evaluate(&request, &Silent).expect("a report")
    };
    let [normal, asymptotic] =
        [IntervalKind::Normal, IntervalKind::Asymptotic].map(|kind| asked(vec![kind]));
    for (normal, asymptotic) in [
        (&normal.rows, &asymptotic.rows),
        (&normal.parts, &asymptotic.parts),
    ] {
        assert_eq!(normal.len(), asymptotic.len());
        for (normal, asymptotic) in normal.iter().zip(asymptotic) {
            assert_eq!(asymptotic.interval, "asymptotic");
            assert_eq!(asymptotic.policy, normal.policy);
            assert_eq!(asymptotic.estimator, normal.estimator);
            assert_eq!(asymptotic.estimate, normal.estimate);
            assert_eq!(asymptotic.simultaneous, normal.simultaneous);
            let ratio = (asymptotic.high - asymptotic.low) / (normal.high - normal.low);
            assert!((1.3..2.2).contains(&ratio), "{ratio}: {asymptotic:?}");
        }
    }
    let said = |report: &EvaluateReport| {
        let about = |remark: &&String| remark.contains("hold at all numbers of events at once");
        report.remarks.iter().filter(about).count()
    };
    assert_eq!((said(&normal), said(&asymptotic)), (0, 1));
}

#[test]
fn requests_and_reports_are_json() {
    let (_folder, file) = log("log.jsonl", 60);
    let request = EvaluateRequest {
        estimators: vec![Estimator::Ips, "clipped-ips:5".parse().expect("one")],
        predictions: Some(Predictions::Column("predicted".to_owned())),
        from_seq: Some(3),
        level: 0.9,
        ..request(&file, &["q=column:q,predicted=q_predicted"])
    };
    assert_request(&request);
    assert_request(&request.policies[0]);
    assert_request(&request.log);
    let report = evaluate(&request, &Silent).expect("a report");
    let value = json_of(&report);
    assert_eq!(value["rows"][0]["policy"], "q");
    assert_eq!(value["rows"][0]["estimate"], json!(report.rows[0].estimate));
    assert_eq!(value["level"], 0.9);
    // What is not said is the default.
    let text =
        r#"{"log": {"paths": ["a.jsonl"]}, "policies": [{"name": "u", "policy": "uniform"}]}"#;
    let least: EvaluateRequest = serde_json::from_str(text).expect("a request");
    assert_eq!((least.level, least.replicates), (0.95, 200));
}

#[test]
fn cancelling_ends_it() {
    for name in ["log.jsonl", "log.parquet"] {
        let (folder, file) = log(name, 60);
        let mut request = request(&file, &["uniform"]);
        assert_cancelled(evaluate(&request, &crate::cancel));
        request.log.skip_bad = Some(folder.path().join("bad.jsonl"));
        assert_cancelled(evaluate(&request, &crate::cancel));
        assert_eq!(names_in(&folder), [name]);
    }
}

#[test]
fn a_bad_row_is_named_or_set_aside() {
    let (folder, file) = log("log.jsonl", 30);
    spoil(&file, &[("loss", json!(7))]);
    let mut request = request(&file, &["uniform"]);
    assert_place(evaluate(&request, &Silent), &file, 31, Some("loss"));
    let error = evaluate(&request, &Silent).expect_err("a bad row");
    assert!(error.can_skip());
    let bad = folder.path().join("bad.jsonl");
    request.log.skip_bad = Some(bad.clone());
    let report = evaluate(&request, &Silent).expect("a report");
    assert_eq!(report.rows[0].n, 27);
    let kept = std::fs::read_to_string(bad).expect("written");
    assert_eq!(kept.lines().count(), 1);
}

#[test]
fn a_number_that_is_missing_is_named_by_rows_and_by_columns() {
    for name in ["log.jsonl", "log.parquet"] {
        let (_folder, file) = log(name, 0);
        let mut all = records(30);
        // Row 10 has no loss, so that its columns are of no use; row 20 neither.
        for row in [9, 19, 21] {
            let mut bare = Record::bare(
                all[row].context.clone(),
                all[row].action.clone(),
                all[row].propensity(),
            );
            bare.mode = Some(Mode::Online);
            bare.loss = all[row].loss;
            all[row] = bare;
        }
        write(&file, &all);
        let request = request(&file, &["column:q"]);
        assert_place(evaluate(&request, &Silent), &file, 22, Some("q"));
    }
}

#[test]
fn another_space_halfway_is_refused() {
    let (_folder, file) = log("log.jsonl", 5);
    let mu = json!({"interval": {"low": 0.0, "high": 2.0}});
    spoil(&file, &[("mu", mu)]);
    let request = request(&file, &["uniform"]);
    assert_place(evaluate(&request, &Silent), &file, 6, Some("mu"));

    // In Parquet, in one file and in two, where the columns of numbers do not show it.
    let (one, folder) = (records(5), folder());
    let mut other = one.clone();
    for record in &mut other {
        record.mu = Some(Arc::new(Space::Interval {
            low: 0.0,
            high: 2.0,
        }));
    }
    let [mixed, first, second] =
        ["mixed", "a", "b"].map(|name| folder.path().join(format!("{name}.parquet")));
    write(&mixed, &[one.as_slice(), &other].concat());
    write(&first, &one);
    write(&second, &other);
    let by_columns = request_of(&[&mixed]);
    assert_place(evaluate(&by_columns, &Silent), &mixed, 6, Some("mu"));
    let by_columns = request_of(&[&first, &second]);
    assert_place(evaluate(&by_columns, &Silent), &second, 1, Some("mu"));
}

#[test]
fn named_features_need_a_model_with_a_schema() {
    let (folder, file) = log("log.jsonl", 30);
    let model = folder.path().join("start.egret");
    std::fs::write(&model, crate::fresh().save()).expect("written");
    spoil(&file, &[("context", json!({"age": 3, "town": "Porto"}))]);
    let policy = format!("capped-igw:model={}", model.display());
    let done = evaluate(&request(&file, &[&policy]), &Silent);
    let error = done.as_ref().expect_err("no schema").to_string();
    assert!(error.contains("FeatureSchema"), "{error}");
    assert_place(done.map(|_| ()), &file, 31, None);
    // Columns know nothing of contexts.
    evaluate(&request(&file, &["column:q"]), &Silent).expect("a report");
}

/// A record that does not say otherwise was kept for certain; one that was kept with probability ½ stands for two.
#[test]
fn rows_weigh_by_1_over_pass_prob_and_null_is_1() {
    for name in ["log.jsonl", "log.parquet"] {
        let (_folder, file) = log(name, 30);
        let mut all = records(30);
        let betting = EvaluateRequest {
            intervals: IntervalKind::ALL[..3].to_vec(),
            ..request(&file, &["q=column:q"])
        };
        let certain = evaluate(&betting, &Silent).expect("a report");
        all[7].pass_prob = Some(1.0);
        write(&file, &all);
        assert_eq!(evaluate(&betting, &Silent).expect("a report"), certain);
        // Losses of 1 were kept one time in two, so that they are a third of the log and half of the truth.
        let mut kept = Vec::new();
        for event in 0..30 {
            let heavy = event % 3 == 0;
            let propensity = Propensity::Density(Density::new(1.0).expect("a density"));
            let mut record = Record::bare(crate::x(event), 0.5.into(), propensity);
            record.mu = Some(Arc::new(crate::space()));
            record.loss = Some(Loss::new(f64::from(u8::from(heavy))).expect("a loss"));
            record.pass_prob = heavy.then_some(0.5);
            kept.push(record);
        }
        write(&file, &kept);
        let request = EvaluateRequest {
            intervals: vec![
                IntervalKind::Normal,
                IntervalKind::Asymptotic,
                IntervalKind::Betting,
            ],
            ..request(&file, &["uniform"])
        };
        let report = evaluate(&request, &Silent).expect("a report");
        for row in &report.rows {
            assert_near(row.estimate, 0.5);
        }
        let kinds: Vec<&str> = report.rows.iter().map(|row| &*row.interval).collect();
        assert_eq!(kinds, ["normal", "asymptotic", "normal", "asymptotic"]);
        // Too few to rely on, and no betting interval to read instead.
        let row = &report.rows[0];
        assert!(row.verdict.contains("do not rely on it"), "{row:?}");
        assert!(
            !row.verdict.contains("read the betting interval"),
            "{row:?}"
        );
        let said = |what: &str| report.remarks.iter().any(|remark| remark.contains(what));
        assert!(said("counts 1/passProb times"), "{:?}", report.remarks);
        assert!(
            said("No betting interval for ips: events were kept"),
            "{:?}",
            report.remarks
        );
    }
}

#[test]
fn what_does_not_depend_on_where_0_is_comes_first() {
    let (_folder, file) = log("log.jsonl", 100);
    let first = |request: &EvaluateRequest| {
        let report = evaluate(request, &Silent).expect("a report");
        report.rows[0].estimator.clone()
    };
    let mut request = request(&file, &["q=column:q,predicted=q_predicted"]);
    assert_eq!(first(&request), "snips");
    request.predictions = Some(Predictions::Column("predicted".to_owned()));
    assert_eq!(first(&request), "dr");
}

/// A rule plays c(x), and losses rise from 0.78 at c to 0.95 within 0.15 of it.
#[test]
fn a_kernel_without_a_bandwidth_is_not_widened_by_uncentered_noise() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let (mu, mut rng) = (Arc::new(crate::space()), EventRng::new(3, 0, Stream::World));
    let all: Vec<Record> = (0..20_000)
        .map(|event| {
            let center = 0.2 + 0.6 * rng.unit();
            let action = rng.unit();
            let away = ((action - center).abs() / 0.15).min(1.0);
            let mean = 0.78 + 0.17 * away * away;
            let propensity = Propensity::Density(Density::new(1.0).expect("a density"));
            let mut record = Record::bare(crate::x(event), action.into(), propensity);
            record.mu = Some(mu.clone());
            record.loss = Some(Loss::new(f64::from(u8::from(rng.unit() < mean))).expect("a loss"));
            record.set_extra("rule", center).expect("its own name");
            record
        })
        .collect();
    write(&file, &all);
    let report = evaluate(&request(&file, &["rule=kernel:action=rule"]), &Silent);
    let report = report.expect("a report");
    let first = &report.rows[0];
    let bandwidth: f64 = first
        .policy
        .rsplit(' ')
        .next()
        .expect("said")
        .parse()
        .expect("a number");
    assert!(bandwidth < 0.3, "{bandwidth}");
    assert!((first.estimate - 0.78).abs() < 0.1, "{first:?}");
    // The interval is of the smoothed policy, and nobody asked for that.
    assert_eq!(first.verdict_kind, VerdictKind::Biased);
    assert!(
        first.verdict.contains("do not rely on it"),
        "{}",
        first.verdict
    );
    assert!(first.verdict.contains("smoothed by"), "{}", first.verdict);
    let given = request(&file, &["rule=kernel:action=rule,bandwidth=0.1"]);
    let given = evaluate(&given, &Silent).expect("a report");
    assert_eq!(given.rows[0].verdict_kind, VerdictKind::Reliable);
}

#[test]
fn another_objective_halfway_is_refused() {
    let (one, folder) = (records(5), folder());
    let mut other = one.clone();
    for record in &mut other {
        record.objective = Some(Objective::maximize(0.0, 50.0).expect("a range"));
        record.outcome = record.loss.map(|loss| 50.0 * (1.0 - loss.get()));
    }
    for ending in ["parquet", "jsonl"] {
        let [mixed, first, second] =
            ["mixed", "a", "b"].map(|name| folder.path().join(format!("{name}.{ending}")));
        write(&mixed, &[one.as_slice(), &other].concat());
        write(&first, &one);
        write(&second, &other);
        let found = evaluate(&request_of(&[&mixed]), &Silent);
        assert_place(found, &mixed, 6, Some("objective"));
        let found = evaluate(&request_of(&[&first, &second]), &Silent);
        assert_place(found, &second, 1, Some("objective"));
        evaluate(&request_of(&[&second]), &Silent).expect("one objective");
        let training = TrainingLog {
            log: LogSource::new([&mixed]),
            ..TrainingLog::default()
        };
        let request = TrainRequest {
            from: training,
            ..TrainRequest::default()
        };
        assert_place(train(&request, &Silent), &mixed, 6, Some("objective"));
    }
}

fn request_of(files: &[&Path]) -> EvaluateRequest {
    let mut request = request(files[0], &["uniform"]);
    request.log.paths = files.iter().map(|file| file.to_path_buf()).collect();
    request
}

#[test]
fn what_cannot_be_asked_names_its_field() {
    let (_folder, file) = log("log.jsonl", 20);
    let good = request(&file, &["uniform"]);
    for (request, field) in [
        (request(&file, &[]), "policies"),
        (request(&file, &["uniform", "uniform"]), "policies"),
        (
            EvaluateRequest {
                level: 1.5,
                ..good.clone()
            },
            "level",
        ),
        (
            EvaluateRequest {
                against: Some("nobody".to_owned()),
                ..good.clone()
            },
            "against",
        ),
        (
            EvaluateRequest {
                estimators: vec![Estimator::Dr],
                ..good.clone()
            },
            "estimators",
        ),
        (
            EvaluateRequest {
                log: LogSource::default(),
                ..good.clone()
            },
            "log",
        ),
    ] {
        let error = evaluate(&request, &Silent).expect_err("it cannot be");
        let JobError::Request { field: found, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*found, field, "{error}");
    }
    let narrow = request(&file, &["kernel:action=center,bandwidth=0"]);
    let error = evaluate(&narrow, &Silent).expect_err("no width");
    assert!(matches!(error, JobError::Policy { .. }), "{error}");
}

#[test]
fn a_difference_is_settled_by_the_first_of_the_rows_that_were_asked_for() {
    let (_folder, file) = log("log.jsonl", 400);
    let asked = |intervals: &[IntervalKind]| {
        let request = EvaluateRequest {
            intervals: intervals.to_vec(),
            against: Some("logged".to_owned()),
            ..request(&file, &["uniform"])
        };
        let rows = evaluate(&request, &Silent).expect("a report").rows;
        let rows = rows.into_iter().filter(|row| row.logged.is_none());
        rows.collect::<Vec<EvaluationRow>>()
    };
    for intervals in [
        &[IntervalKind::Betting][..],
        &[IntervalKind::Normal, IntervalKind::Betting],
    ] {
        let rows = asked(intervals);
        let difference = rows[0].estimate;
        assert!(rows.iter().any(|row| row.settles_after.is_some()));
        for row in rows.iter().filter(|row| row.low <= 0.0 && 0.0 <= row.high) {
            let reach = match 0.0 < difference {
                true => difference - row.low,
                false => row.high - difference,
            };
            let expected = row.n as f64 * ((reach / difference).powi(2) - 1.0);
            let found = row.settles_after.expect("it can be settled") as f64;
            assert!((found / expected - 1.0).abs() < 1e-3, "{row:?}");
        }
    }
}
