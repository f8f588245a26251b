use std::path::{Path, PathBuf};

use egret::Objective;
use egret_jobs::evaluate::{EvaluateReport, EvaluateRequest, EvaluationRow, Predictions, evaluate};
use egret_jobs::select::{SelectRequest, select};
use egret_jobs::summarize::{SummarizeRequest, summarize};
use egret_jobs::train::{CandidateRequest, TrainRequest, TrainingLog, train};
use egret_jobs::{LogSource, Silent};
use egret_log::Record;
use egret_offline::IntervalKind;
use tempfile::TempDir;

use crate::{fresh, json_of, records, write};

fn revenue() -> Objective {
    Objective::maximize(0.0, 50.0).expect("a range")
}

/// The records of the other tests, with losses told as revenue, and predictions too.
fn in_currency(rows: u64) -> Vec<Record> {
    let mut all = records(rows);
    for record in &mut all {
        record.objective = Some(revenue());
        record.outcome = record.loss.map(|loss| revenue().value(loss.get()));
        for name in ["predicted", "q_predicted"] {
            let value = revenue().value(record.number(name).expect("a column"));
            record.set_extra(name, value).expect("its own name");
        }
    }
    all
}

/// The same events twice: as losses and in currency.
fn both(name: &str) -> (TempDir, [PathBuf; 2]) {
    let folder = crate::folder();
    let files = [("losses", records(300)), ("currency", in_currency(300))];
    let files = files.map(|(kind, records)| {
        let file = folder.path().join(format!("{kind}-{name}"));
        write(&file, &records);
        file
    });
    (folder, files)
}

fn evaluated(log: &Path, policies: &[&str], against: &str) -> EvaluateReport {
    let request = EvaluateRequest {
        log: LogSource::new([log]),
        policies: policies
            .iter()
            .map(|text| text.parse().expect("a policy"))
            .collect(),
        intervals: vec![IntervalKind::Normal, IntervalKind::Betting],
        predictions: Some(Predictions::Column("predicted".to_owned())),
        against: Some(against.to_owned()),
        ..EvaluateRequest::default()
    };
    evaluate(&request, &Silent).expect("a report")
}

fn ends(row: &EvaluationRow) -> [f64; 3] {
    [row.low, row.estimate, row.high]
}

#[test]
fn values_intervals_and_differences_are_in_the_users_units() {
    let policies = [
        "q=column:q,predicted=q_predicted",
        "r=column:center,predicted=q_predicted",
    ];
    let mut by_name = Vec::new();
    // By records, and by columns.
    for name in ["log.jsonl", "log.parquet"] {
        let (_folder, [losses, currency]) = both(name);
        let losses = evaluated(&losses, &policies, "r");
        let currency = evaluated(&currency, &policies, "r");
        assert_eq!(losses.rows.len(), currency.rows.len());
        let mut differences = 0;
        for (loss, value) in losses.rows.iter().zip(&currency.rows) {
            let [low, estimate, high] = ends(loss);
            let difference = loss.policy.contains('−');
            differences += usize::from(difference);
            let expected = if difference {
                [-50.0 * high, -50.0 * estimate, -50.0 * low]
            } else {
                [
                    50.0 - 50.0 * high,
                    50.0 - 50.0 * estimate,
                    50.0 - 50.0 * low,
                ]
            };
            // Importance weighting depends on where 0 is: it is that of a loop over revenue, below.
            if value.estimator != "ips" {
                for (found, expected) in ends(value).into_iter().zip(expected) {
                    assert!((found - expected).abs() < 1e-9, "{name} {value:?}");
                }
            }
            assert!(value.low <= value.estimate && value.estimate <= value.high);
            assert_eq!((value.ess, value.n), (loss.ess, loss.n));
            assert_eq!(value.objective, "maximize:0,50");
            assert_eq!(loss.objective, "minimize:0,1");
        }
        let terms: Vec<f64> = in_currency(300)
            .iter()
            .filter_map(|record| {
                let density = record.propensity().density();
                let q = record.number("q").expect("a column");
                Some(density.map_or(0.0, |p| q / p.get()) * record.outcome?)
            })
            .collect();
        let ips = currency.rows.iter().find(|row| row.estimator == "ips");
        let mean = terms.iter().sum::<f64>() / terms.len() as f64;
        assert!((ips.expect("asked for").estimate - mean).abs() < 1e-9);
        assert!(3 < differences);
        let path = currency.policies[0].path.last().expect("a path");
        let betting = |row: &&EvaluationRow| row.interval == "betting" && row.estimator == "ips";
        let row = currency.rows.iter().find(betting).expect("asked for");
        assert_eq!((path.low, path.high), (row.low, row.high));
        assert_eq!(currency.objective, revenue());
        by_name.push(currency.rows);
    }
    assert_eq!(by_name[0], by_name[1], "to the bit");
}

#[test]
fn a_prediction_outside_the_range_is_named_by_rows_and_by_columns() {
    for name in ["log.jsonl", "log.parquet"] {
        let folder = crate::folder();
        let file = folder.path().join(name);
        let request = EvaluateRequest {
            log: LogSource::new([&file]),
            policies: vec![
                "q=column:q,predicted=q_predicted"
                    .parse()
                    .expect("a policy"),
            ],
            predictions: Some(Predictions::Column("predicted".to_owned())),
            ..EvaluateRequest::default()
        };
        for (column, value) in [("predicted", 50.5), ("q_predicted", -0.5)] {
            // The 10th has no outcome, and is counted all the same.
            let mut all = in_currency(20);
            all[14].set_extra(column, value).expect("its own name");
            write(&file, &all);
            let error = evaluate(&request, &Silent).expect_err("refused");
            let told = format!("row 15, {column}: the outcome {value} is outside the range");
            assert!(error.to_string().contains(&told), "{error}");
        }
    }
}

#[test]
fn a_model_of_another_objective_predicts_nothing_here() {
    let (folder, [losses, currency]) = both("log.jsonl");
    let model = folder.path().join("model.egret");
    std::fs::write(&model, fresh().save()).expect("written");
    let request = |log: &Path| EvaluateRequest {
        log: LogSource::new([log]),
        policies: vec!["uniform".parse().expect("a policy")],
        predictions: Some(Predictions::Model(model.clone())),
        ..EvaluateRequest::default()
    };
    assert!(evaluate(&request(&losses), &Silent).is_ok());
    let error = evaluate(&request(&currency), &Silent).expect_err("refused");
    assert!(error.to_string().contains("maximize:0,50"), "{error}");
}

#[test]
fn training_and_selection_report_in_the_users_units() {
    let (_folder, [losses, currency]) = both("log.parquet");
    let from = |log: &Path| TrainingLog {
        log: LogSource::new([log]),
        ..TrainingLog::default()
    };
    let candidate = CandidateRequest {
        epochs: Some(2),
        ..CandidateRequest::default()
    };
    let trained = |log: &Path| {
        let request = TrainRequest {
            from: from(log),
            candidate: candidate.clone(),
            ..TrainRequest::default()
        };
        train(&request, &Silent).expect("a model")
    };
    let ((_, loss), (model, value)) = (trained(&losses), trained(&currency));
    assert_eq!(model.spec().objective, revenue());
    let (tested, found) = (loss.tested.expect("rows"), value.tested.expect("rows"));
    assert!((found.estimate - (50.0 - 50.0 * tested.estimate)).abs() < 1e-6);
    assert!(found.interval.low < found.interval.high);
    let error = |report: &egret_offline::Validation| report.squared_error.expect("rows");
    let ratio = error(&value.validated) / error(&loss.validated);
    assert!((ratio - 2_500.0).abs() < 1e-3, "{ratio}");

    let selected = |log: &Path| {
        let request = SelectRequest {
            from: from(log),
            candidates: vec![candidate.clone(); 2],
            ..SelectRequest::default()
        };
        select(&request, &Silent).expect("a model").1
    };
    let (loss, value) = (selected(&losses), selected(&currency));
    for (loss, value) in loss.candidates.iter().zip(&value.candidates) {
        assert!((value.estimate - (50.0 - 50.0 * loss.estimate)).abs() < 1e-6);
        assert!((value.low - (50.0 - 50.0 * loss.high)).abs() < 1e-6);
        assert_eq!(value.winner, loss.winner);
    }
    assert!(value.sentence.contains("mean reward"), "{}", value.sentence);
    assert_eq!(json_of(&value)["objective"]["direction"], "maximize");
}

#[test]
fn a_summary_has_the_mean_outcome_of_one_objective_only() {
    let (folder, [losses, currency]) = both("log.jsonl");
    let of = |log: &Path| {
        let request = SummarizeRequest {
            log: LogSource::new([log]),
        };
        summarize(&request, &Silent).expect("a summary")
    };
    let (loss, value) = (of(&losses), of(&currency));
    let mean = loss.outcome_mean.expect("losses");
    assert!((value.outcome_mean.expect("outcomes") - (50.0 - 50.0 * mean)).abs() < 1e-9);
    let mut clipped = in_currency(20);
    for record in &mut clipped {
        record.objective = Some(revenue().clipped());
    }
    clipped[3].outcome = Some(51.0);
    clipped[3].loss = None;
    let file = folder.path().join("clipped.jsonl");
    write(&file, &clipped);
    assert_eq!(of(&file).outcomes_clipped, 1);
    assert_eq!((value.outcomes_clipped, value.outcomes_missing), (0, 30));
    std::fs::remove_file(file).expect("written above");
    let both = of(folder.path());
    assert_eq!(both.outcome_mean, None);
    assert_eq!(both.objectives["maximize:0,50"], 300);
}
