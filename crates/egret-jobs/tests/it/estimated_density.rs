//! A log whose densities are known, evaluated without them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use egret::{EventRng, Stream};
use egret_jobs::audit::{AuditRequest, audit};
use egret_jobs::evaluate::{EvaluateReport, EvaluateRequest, evaluate};
use egret_jobs::train::{CandidateRequest, TrainRequest, TrainingLog, train};
use egret_jobs::{JobError, LogSource, Silent};
use egret_log::LogMapping;
use egret_offline::VerdictKind;

/// Prices in [5, 50], high ones for the rich and low ones for others, and what they earned. The density is per μ.
fn log(folder: &Path) -> PathBuf {
    let mut text = String::from("price,density,revenue,rich,age\n");
    for row in 0..6_000 {
        let mut chance = EventRng::new(8, row, Stream::World);
        let (rich, age) = (chance.unit() < 0.5, 20.0 + 50.0 * chance.unit());
        let (share, density) = loop {
            let share = chance.unit();
            let density = 0.2 + 1.6 * if rich { share } else { 1.0 - share };
            if 1.8 * chance.unit() < density {
                break (share, density);
            }
        };
        let price = 5.0 + 45.0 * share;
        let most = if rich { 45.0 } else { 20.0 };
        let revenue = if price < most * (0.5 + chance.unit()) {
            price
        } else {
            0.0
        };
        writeln!(text, "{price},{density},{revenue},{rich},{age}").expect("in memory");
    }
    let file = folder.join("log.csv");
    fs::write(&file, text).expect("written");
    file
}

fn source(file: &Path) -> LogSource {
    LogSource {
        mapping: LogMapping {
            action: vec!["price".to_owned()],
            reward: Some("revenue".to_owned()),
            reward_range: Some("0,50".parse().expect("a range")),
            context: vec!["rich".to_owned(), "age".to_owned()],
            space: Some("interval:5,50".parse().expect("a space")),
            ..LogMapping::default()
        },
        ..LogSource::new([file])
    }
}

fn evaluated(log: LogSource) -> Result<EvaluateReport, JobError> {
    let request = EvaluateRequest {
        log,
        policies: vec!["uniform".parse().expect("a policy")],
        against: Some("logged".to_owned()),
        quantiles: vec![0.5],
        ..EvaluateRequest::default()
    };
    evaluate(&request, &Silent)
}

#[test]
fn what_is_estimated_is_near_and_never_reliable() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = log(folder.path());
    let known = evaluated(source(&file)).expect("evaluated");
    let estimated = LogSource {
        estimate_density: true,
        ..source(&file)
    };
    let found = evaluated(estimated.clone()).expect("evaluated");
    assert!(
        known
            .rows
            .iter()
            .any(|row| row.verdict_kind == VerdictKind::Reliable)
    );
    let (truth, snips) = (&known.rows[0], &found.rows[0]);
    println!(
        "known {} in [{}, {}], estimated {}",
        truth.estimate, truth.low, truth.high, snips.estimate
    );
    let logged = truth.logged.expect("the mean of the log");
    assert!((snips.estimate - truth.estimate).abs() < 0.25 * (logged - truth.estimate).abs());
    // Policies, differences, quantiles: all are labelled.
    assert!(found.rows.iter().any(|row| row.policy.contains('−')));
    for row in &found.rows {
        assert_ne!(row.verdict_kind, VerdictKind::Reliable, "{row:?}");
        assert!(
            row.verdict.contains("the weights are estimated"),
            "{}",
            row.verdict
        );
        assert!(!row.verdict.contains("reliable"), "{}", row.verdict);
    }
    assert!(!found.distribution.is_empty());
    assert!(
        found
            .distribution
            .iter()
            .all(|row| row.verdict_kind != VerdictKind::Reliable)
    );
    assert!(
        found
            .remarks
            .iter()
            .any(|remark| remark.contains("an assumption")),
        "{:?}",
        found.remarks
    );

    // So is a model that is judged by them.
    let request = TrainRequest {
        from: TrainingLog {
            log: estimated,
            ..TrainingLog::default()
        },
        candidate: CandidateRequest {
            oracle: Some("ridge".parse().expect("an oracle")),
            ..CandidateRequest::default()
        },
        ..TrainRequest::default()
    };
    let (_, report) = train(&request, &Silent).expect("trained");
    let tested = report.tested.expect("it has weights");
    assert!(!tested.interval.verdict.is_reliable());
    assert!(
        tested
            .interval
            .verdict
            .words
            .contains("the weights are estimated")
    );
}

#[test]
fn without_densities_a_log_says_what_cannot_be_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = log(folder.path());
    let bare = |log: LogSource| LogSource {
        mapping: LogMapping {
            density: Some("none".to_owned()),
            ..log.mapping
        },
        ..log
    };
    let error = evaluated(bare(source(&file)))
        .expect_err("nothing to weigh")
        .to_string();
    assert!(
        error.contains("none of the 6,000 events has a density"),
        "{error}"
    );
    assert!(error.contains("--estimate-density"), "{error}");

    let estimated = LogSource {
        estimate_density: true,
        ..source(&file)
    };
    let items = LogSource {
        mapping: LogMapping {
            space: Some("items:100".parse().expect("a space")),
            action: vec!["item".to_owned()],
            ..LogMapping::default()
        },
        ..LogSource::new([folder.path().join("items.csv")])
    };
    fs::write(folder.path().join("items.csv"), "item\n1\n2\n").expect("written");
    let piped = LogSource::new(["-"]);
    for (log, why) in [(items, "100 items"), (piped, "pipe")] {
        let log = LogSource {
            estimate_density: true,
            ..log
        };
        let error = evaluated(log).expect_err("refused").to_string();
        assert!(error.contains(why), "{error}");
    }
    let request = AuditRequest {
        log: estimated,
        ..AuditRequest::default()
    };
    let error = audit(&request, &Silent).expect_err("refused").to_string();
    assert!(
        error.contains("an audit tests the densities that a log states"),
        "{error}"
    );
}
