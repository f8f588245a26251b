//! The policy that made the log, segments, windows, further outcomes, quantiles: each is what a loop over the records says.

use std::path::Path;

use egret::{Context, Features, Loss, Objective, Propensity};
use egret_jobs::evaluate::{
    EvaluateReport, EvaluateRequest, EvaluationRow, FurtherOutcome, PartsBy, evaluate,
    rows_to_go_by,
};
use egret_jobs::{JobError, LogSource, Silent};
use egret_log::Record;
use egret_offline::{IntervalKind, VerdictKind};

use crate::{assert_near, assert_request, folder, records, write};

const SEGMENTS: [&str; 3] = ["bronze", "gold", "silver"];

/// The records with named contexts, a segment among them, and a further outcome.
fn with_segments(rows: u64) -> Vec<Record> {
    let mut records = records(rows);
    for (event, record) in records.iter_mut().enumerate() {
        let segment = SEGMENTS[event * 5 % 7 % 3];
        record.context = Context::named(Features::new().with("segment", segment));
        let returned = if event % 4 == 0 { 2.0 } else { 0.0 };
        record.set_extra("returns", returned).expect("its own name");
    }
    records
}

fn request(log: &Path, policies: &[&str]) -> EvaluateRequest {
    EvaluateRequest {
        log: LogSource {
            paths: vec![log.to_owned()],
            ..LogSource::default()
        },
        policies: policies
            .iter()
            .map(|policy| policy.parse().expect("a policy"))
            .collect(),
        intervals: vec![IntervalKind::Normal],
        ..EvaluateRequest::default()
    }
}

fn run(request: &EvaluateRequest) -> EvaluateReport {
    evaluate(request, &Silent).expect("a good log")
}

fn evaluated(records: &[Record], policies: &[&str]) -> EvaluateReport {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    write(&file, records);
    run(&request(&file, policies))
}

/// Equal but for what goes with the level.
fn assert_same_estimates<'r>(
    found: impl Iterator<Item = &'r EvaluationRow>,
    expected: &[EvaluationRow],
) {
    let found: Vec<&EvaluationRow> = found.collect();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.policy, expected.policy);
        assert_eq!(found.estimator, expected.estimator);
        assert_near(found.estimate, expected.estimate);
        assert_near(found.ess, expected.ess);
        assert_eq!(found.n, expected.n);
        assert!(found.low <= expected.low && expected.high <= found.high);
    }
}

#[test]
fn the_policy_of_the_log_has_weights_of_1_by_rows_and_by_columns() {
    let folder = folder();
    let records = records(1_000);
    let losses: Vec<f64> = records
        .iter()
        .filter_map(|record| Some(record.loss?.get()))
        .collect();
    let mean = losses.iter().sum::<f64>() / losses.len() as f64;
    let mut reports = Vec::new();
    for name in ["log.jsonl", "log.parquet"] {
        let file = folder.path().join(name);
        write(&file, &records);
        let report = run(&EvaluateRequest {
            against: Some("logged".to_owned()),
            ..request(&file, &["uniform"])
        });
        for row in report.rows.iter().filter(|row| row.policy == "logged") {
            assert_near(row.estimate, mean);
            assert_eq!((row.mean_weight, row.max_weight), (1.0, 1.0));
            assert_eq!(row.n, losses.len() as u64);
        }
        let value = |policy: &str| {
            let mut rows = report.rows.iter();
            let found = rows.find(|row| row.policy == policy && row.estimator == "snips");
            found.expect("it was asked for").estimate
        };
        let difference = value("uniform − logged");
        assert!((difference - (value("uniform") - mean)).abs() < 1e-9);
        reports.push(report.rows);
    }
    assert_eq!(reports[0], reports[1]);
}

#[test]
fn doubly_robust_leaves_the_logs_own_mean_alone() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    write(&file, &records(300));
    let report = run(&EvaluateRequest {
        predictions: Some(egret_jobs::evaluate::Predictions::Column(
            "predicted".to_owned(),
        )),
        ..request(&file, &["logged"])
    });
    let plain = run(&request(&file, &["logged"])).rows[0].estimate;
    assert!(report.rows.iter().any(|row| row.estimator == "dr"));
    for row in &report.rows {
        assert_near(row.estimate, plain);
    }
}

/// Records whose segment and loss are told by their place.
fn by_place(rows: u64, of: impl Fn(usize) -> (&'static str, f64)) -> Vec<Record> {
    let mut records = with_segments(rows);
    for (event, record) in records.iter_mut().enumerate() {
        let (segment, loss) = of(event);
        record.context = Context::named(Features::new().with("segment", segment));
        record.loss = Some(Loss::new(loss).expect("a loss"));
    }
    records
}

/// What is said of segments that lie apart, with the rows to go by.
fn apart(records: &[Record], intervals: &[IntervalKind]) -> (Vec<String>, Vec<EvaluationRow>) {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    write(&file, records);
    let report = run(&EvaluateRequest {
        parts: Some(PartsBy::Field("segment".to_owned())),
        intervals: intervals.to_vec(),
        ..request(&file, &["logged"])
    });
    let said = |remark: &&String| remark.contains("by more than chance explains");
    let remarks = report.remarks.iter().filter(said).cloned().collect();
    let rows = rows_to_go_by(&report.parts).into_iter().cloned().collect();
    (remarks, rows)
}

#[test]
fn a_part_of_one_event_hides_no_difference() {
    let records = by_place(3_000, |event| match event {
        0 => ("solo", 1.0),
        _ if event % 3 == 0 => ("gold", (event / 3 % 2) as f64),
        _ => ("silver", f64::from(u8::from(event % 10 == 1))),
    });
    let (remarks, rows) = apart(&records, &[IntervalKind::Normal, IntervalKind::Betting]);
    let expected =
        "logged: segment = silver lies below segment = gold, by more than chance explains.";
    assert_eq!(remarks, [expected]);
    // Of one event no normal interval is to be had, and the betting interval says what is known: nothing.
    let solo = rows.iter().find(|row| row.n == 1).expect("a segment");
    assert_eq!(solo.interval, "betting");
    assert_eq!((solo.low, solo.high), (0.0, 1.0));
    assert!(solo.can_be_relied_on());
    let others = rows.iter().filter(|row| 1 < row.n);
    assert!(others.clone().all(|row| row.interval == "normal"));
    assert_eq!(others.count(), 2);
}

#[test]
fn parts_that_cannot_be_relied_on_are_not_said_to_differ() {
    // Two segments of thirty events, all lost and none lost: intervals without width, which say nothing.
    let records = by_place(60, |event| match event % 2 {
        0 => ("gold", 1.0),
        _ => ("silver", 0.0),
    });
    let (remarks, rows) = apart(&records, &[IntervalKind::Normal]);
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| !row.can_be_relied_on()));
    assert!(rows[1].high < rows[0].low, "{rows:?}");
    assert_eq!(remarks, [""; 0]);
    // Bets do tell them apart.
    let (remarks, _) = apart(&records, &[IntervalKind::Normal, IntervalKind::Betting]);
    assert_eq!(remarks.len(), 1, "{remarks:?}");
}

#[test]
fn a_bound_for_other_policies_says_nothing_against_the_logs_own_mean() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let records = by_place(2_000, |event| {
        ("gold", f64::from(u8::from(event % 40 == 0)))
    });
    write(&file, &records);
    let own = |weight_bound| {
        let report = run(&EvaluateRequest {
            weight_bound,
            ..request(&file, &["logged"])
        });
        report.rows[0].clone()
    };
    assert_eq!(own(None).verdict_kind, VerdictKind::Reliable);
    assert_eq!(own(Some(25.0)), own(None));
}

#[test]
fn a_segment_is_what_a_log_of_it_alone_says() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let records = with_segments(1_500);
    write(&file, &records);
    let asked = EvaluateRequest {
        parts: Some(PartsBy::Field("segment".to_owned())),
        ..request(&file, &["uniform", "column:q"])
    };
    assert_request(&asked);
    let report = run(&asked);
    let whole = run(&EvaluateRequest {
        parts: None,
        ..asked
    });
    assert_eq!(report.rows, whole.rows);
    for (place, segment) in SEGMENTS.into_iter().enumerate() {
        let own = records.iter().filter(|record| {
            let x = record.context.as_named().expect("named");
            x.get("segment") == Some(&segment.into())
        });
        let own: Vec<Record> = own.cloned().collect();
        let alone = evaluated(&own, &["uniform", "column:q"]);
        let name = format!("segment = {segment}");
        let found = report
            .parts
            .iter()
            .filter(|row| row.part.as_ref() == Some(&name));
        assert_same_estimates(found, &alone.rows);
        let rows = report.parts.len() / SEGMENTS.len();
        assert_eq!(report.parts[place * rows].part, Some(name), "in order");
        assert_eq!(report.parts[place * rows].simultaneous, 3);
    }
}

#[test]
fn windows_follow_one_another() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let records: Vec<Record> = records(1_000)
        .into_iter()
        .filter(|record| record.loss.is_some())
        .collect();
    write(&file, &records);
    let report = run(&EvaluateRequest {
        parts: Some(PartsBy::Window(400)),
        ..request(&file, &["uniform"])
    });
    let names = ["events 1 to 400", "events 401 to 800", "events 801 to 900"];
    for (name, window) in names.into_iter().zip(records.chunks(400)) {
        let found = report
            .parts
            .iter()
            .filter(|row| row.part.as_deref() == Some(name));
        assert_same_estimates(found, &evaluated(window, &["uniform"]).rows);
    }
}

#[test]
fn parts_that_differ_are_told() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let mut records = with_segments(3_000);
    // Where some are left out, no interval can be relied on, nor by densities that are made up.
    records.retain(|record| record.loss.is_some());
    let asked = EvaluateRequest {
        parts: Some(PartsBy::Field("segment".to_owned())),
        ..request(&file, &["logged"])
    };
    let told = |records: &[Record]| {
        write(&file, records);
        let remarks = run(&asked).remarks;
        remarks
            .iter()
            .any(|remark| remark.contains("segment = gold lies below segment = "))
    };
    assert!(!told(&records));
    for record in &mut records {
        let gold = record.context.as_named().and_then(|x| x.get("segment")) == Some(&"gold".into());
        if let Some(loss) = record.loss.filter(|_| gold) {
            record.loss = Loss::new(0.1 * loss.get()).ok();
        }
    }
    assert!(told(&records));
}

#[test]
fn a_further_outcome_is_valued_by_the_same_weights() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let records = with_segments(1_000);
    write(&file, &records);
    let returns: FurtherOutcome = "returns=minimize:0,4".parse().expect("an outcome");
    assert_eq!(returns.to_string().parse(), Ok(returns.clone()));
    let report = run(&EvaluateRequest {
        outcomes: vec![returns],
        against: Some("logged".to_owned()),
        ..request(&file, &["uniform"])
    });
    let mut sums = (0.0, 0.0);
    for record in records.iter().filter(|record| record.loss.is_some()) {
        let density = record.propensity().density();
        let weight = density.map_or(0.0, |density| 1.0 / density.get());
        sums.0 += weight * record.number("returns").expect("set");
        sums.1 += weight;
    }
    let row = &report.outcomes[0];
    assert_eq!(
        (row.outcome.as_deref(), &*row.estimator),
        (Some("returns"), "snips")
    );
    assert_near(row.estimate, sums.0 / sums.1);
    assert_eq!(
        row.objective,
        Objective::minimize(0.0, 4.0).expect("in order").to_string()
    );
    let differences = report
        .outcomes
        .iter()
        .filter(|row| row.policy == "uniform − logged");
    assert!(0 < differences.count());
}

#[test]
fn quantiles_are_those_of_weighted_outcomes() {
    let folder = folder();
    let records = records(2_000);
    let mut weighed: Vec<(f64, f64)> = records
        .iter()
        .filter_map(|record| {
            let density = record.propensity().density()?;
            Some((record.loss?.get(), 1.0 / density.get()))
        })
        .collect();
    weighed.sort_by(|one, other| one.0.total_cmp(&other.0));
    let all: f64 = weighed.iter().map(|event| event.1).sum();
    let quantile = |level: f64| {
        let mut below = 0.0;
        let mut events = weighed.iter();
        events
            .find(|(_, weight)| {
                below += weight;
                level * all <= below
            })
            .expect("shares end at 1")
            .0
    };
    let beyond = quantile(0.8);
    let excess: f64 = weighed.iter().map(|(s, w)| w * (s - beyond).max(0.0)).sum();
    for name in ["log.jsonl", "log.parquet"] {
        let file = folder.path().join(name);
        write(&file, &records);
        let report = run(&EvaluateRequest {
            quantiles: vec![0.5, 0.9],
            worst: vec![0.2],
            ..request(&file, &["uniform"])
        });
        let found: Vec<f64> = report.distribution.iter().map(|row| row.estimate).collect();
        let expected = [quantile(0.5), quantile(0.9), beyond + excess / all / 0.2];
        for ((found, expected), row) in found.iter().zip(expected).zip(&report.distribution) {
            assert!(
                (found - expected).abs() < 1.0 / 1_000.0,
                "{row:?}: {expected}"
            );
            assert!(row.low <= row.estimate && row.estimate <= row.high);
        }
    }
}

#[test]
fn quantiles_of_weights_that_are_wrong_are_not_relied_on() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    let mut kept = records(2_000);
    kept.retain(|record| record.loss.is_some() && record.propensity() != Propensity::PointMass);
    let verdicts = |policy: &str| -> Vec<VerdictKind> {
        let report = run(&EvaluateRequest {
            quantiles: vec![0.5],
            worst: vec![0.5],
            ..request(&file, &[policy])
        });
        let rows = report.distribution.iter();
        rows.map(|row| row.verdict_kind).collect()
    };
    write(&file, &kept);
    assert_eq!(verdicts("column:q"), [VerdictKind::Reliable; 2]);
    for record in &mut kept {
        let doubled = 2.0 * record.number("q").expect("set");
        record.set_extra("q", doubled).expect("its own name");
    }
    write(&file, &kept);
    assert_eq!(verdicts("column:q"), [VerdictKind::MeanWeightOff; 2]);
}

#[test]
fn what_cannot_be_cut_names_its_field() {
    let folder = folder();
    let file = folder.path().join("log.jsonl");
    write(&file, &with_segments(300));
    let refused = |request: EvaluateRequest| match evaluate(&request, &Silent) {
        Err(error @ JobError::Request { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let asked = request(&file, &["uniform"]);
    for (asked, words) in [
        (
            EvaluateRequest {
                parts: Some(PartsBy::Window(0)),
                ..asked.clone()
            },
            "window",
        ),
        (
            EvaluateRequest {
                parts: Some(PartsBy::Window(2)),
                ..asked.clone()
            },
            "more than 64 parts",
        ),
        (
            EvaluateRequest {
                parts: Some(PartsBy::Field("center".to_owned())),
                quantiles: vec![1.5],
                ..asked.clone()
            },
            "quantiles",
        ),
        (
            EvaluateRequest {
                outcomes: vec!["nowhere=maximize:0,1".parse().expect("an outcome")],
                ..asked.clone()
            },
            "nowhere",
        ),
    ] {
        let error = refused(asked);
        assert!(error.contains(words), "{error}");
    }
}
