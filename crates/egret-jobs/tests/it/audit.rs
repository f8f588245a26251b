use std::path::{Path, PathBuf};
use std::sync::Arc;

use egret::{Context, Density, EventRng, FeatureValue, Features, Loss, Propensity, Stream};
use egret_jobs::audit::{AuditReport, AuditRequest, audit};
use egret_jobs::{JobError, LogSource, Silent};
use egret_log::{Record, Time};
use serde_json::json;

use crate::{
    assert_cancelled, assert_place, assert_report, assert_request, json_of, learned_log,
    learned_log_of, log, read, restarted, spoil, write,
};

fn request(log: &Path, model: Option<&PathBuf>) -> AuditRequest {
    AuditRequest {
        log: LogSource::new([log]),
        models: model.cloned().into_iter().collect(),
        relearn: model.is_some(),
        ..AuditRequest::default()
    }
}

fn audited(log: &Path, model: Option<&PathBuf>) -> AuditReport {
    audit(&request(log, model), &Silent).expect("a report")
}

/// The same decision, said to be twice as probable.
fn doubled(record: &Record) -> Record {
    let density = record.propensity().density().expect("drawn").get();
    let propensity = Propensity::Density(Density::new(2.0 * density).expect("positive"));
    let decision = record.decision::<f64>().expect("all of it");
    let changed = egret::Decision {
        propensity,
        ..decision
    };
    let mut wrong = Record::new(record.context.clone(), &changed);
    wrong.seq = record.seq;
    wrong.mu = record.mu.clone();
    wrong.loss = record.loss;
    wrong
}

#[test]
fn a_right_log_is_replayed_whole() {
    let (_folder, file, start) = learned_log(150);
    let report = audited(&file, Some(&start));
    let findings = &report.findings;
    assert!(!findings.alarm, "{}", findings.verdict);
    assert_eq!((findings.events, findings.replay.replayed), (150, 150));
    assert_eq!((findings.replay.equal, findings.replay.differing), (150, 0));
    assert_eq!(findings.consistency.inconsistent, 0);
    assert_eq!((report.apprentice, report.skipped), (0, 0));
}

#[test]
fn one_wrong_density_is_found() {
    let (_folder, file, start) = learned_log(60);
    let mut all = read(&file);
    all[41] = doubled(&all[41]);
    write(&file, &all);
    let findings = audited(&file, Some(&start)).findings;
    assert!(findings.alarm);
    assert_eq!((findings.replay.equal, findings.replay.differing), (59, 1));
    assert_eq!(findings.replay.first_differences[0].at, 42);
    // Without a model, the parts of the density do not agree.
    let findings = audited(&file, None).findings;
    assert!(findings.alarm);
    assert_eq!(findings.consistency.inconsistent, 1);
}

#[test]
fn a_model_folder_is_as_good_as_its_models() {
    let (folder, file, start) = learned_log(20);
    let by_file = audited(&file, Some(&start));
    let by_folder = AuditRequest {
        models: Vec::new(),
        model_folder: Some(folder.path().to_owned()),
        ..request(&file, Some(&start))
    };
    assert_eq!(audit(&by_folder, &Silent).expect("a report"), by_file);
}

#[test]
fn requests_and_reports_are_json() {
    let (_folder, file, start) = learned_log(20);
    assert_request(&request(&file, Some(&start)));
    let report = audited(&file, None);
    assert_report(&report.unchecked);
    let value = json_of(&report);
    assert_eq!(value["events"], 20);
    assert_eq!(value["alarm"], json!(false));
    assert_eq!(value["unchecked"]["events"], 0);
}

#[test]
fn cancelling_ends_it() {
    let (_folder, file, _) = learned_log(10);
    assert_cancelled(audit(&request(&file, None), &crate::cancel));
}

#[test]
fn a_bad_row_is_named() {
    let (_folder, file) = log("log.jsonl", 10);
    spoil(&file, &[("tau", json!(0))]);
    let bad = audit(&request(&file, None), &Silent);
    assert_place(bad, &file, 11, Some("tau"));
    let (_folder, file) = log("log.jsonl", 10);
    let mu = json!({"interval": {"low": 0.0, "high": 2.0}});
    spoil(&file, &[("mu", mu)]);
    let bad = audit(&request(&file, None), &Silent);
    assert_place(bad, &file, 11, Some("mu"));
}

#[test]
fn what_cannot_be_asked_names_its_field() {
    let (folder, file) = log("log.jsonl", 10);
    for (request, field) in [
        (
            AuditRequest {
                relearn: true,
                ..request(&file, None)
            },
            "relearn",
        ),
        (
            AuditRequest {
                alpha: 0.0,
                ..request(&file, None)
            },
            "alpha",
        ),
        (
            AuditRequest {
                model_folder: Some(folder.path().to_owned()),
                ..request(&file, None)
            },
            "model_folder",
        ),
    ] {
        let error = audit(&request, &Silent).expect_err("it cannot be");
        let JobError::Request { field: found, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*found, field);
    }
}

#[test]
fn named_features_need_a_model_with_a_schema() {
    let (_folder, file, start) = learned_log(20);
    let lines = file.with_file_name("named.jsonl");
    let mut all = read(&file);
    all[11].context = Features::new().with("age", 3).into();
    write(&lines, &all);
    let done = audit(&request(&lines, Some(&start)), &Silent);
    assert!(format!("{done:?}").contains("FeatureSchema"), "{done:?}");
    assert_place(done, &lines, 12, Some("context"));
    // What needs no model is audited all the same.
    assert_eq!(audited(&lines, None).findings.events, 20);
}

#[test]
fn a_restart_that_uses_numbers_again_is_a_fault() {
    for (saved, reused) in [(true, 0), (false, 100)] {
        let (_folder, files) = restarted(saved);
        let request = AuditRequest {
            log: LogSource::new(&files),
            ..AuditRequest::default()
        };
        let findings = audit(&request, &Silent).expect("an audit").findings;
        let numbers = findings.random_numbers;
        assert_eq!(
            (numbers.compared, numbers.reused, numbers.twice),
            (250, reused, 0)
        );
        let accused = findings
            .verdict
            .contains("100 events share their random numbers");
        assert_eq!(accused, !saved, "{}", findings.verdict);
        assert!(!accused || findings.alarm);
    }
}

/// Densities and contexts alone: what is above ½ in the context is played 1.5 times as often in the lower half of [0, 1].
fn density_only(rows: u64, seed: u64) -> Vec<Record> {
    let mut rng = EventRng::new(seed, 0, Stream::World);
    let mu = Arc::new(crate::space());
    (0..rows)
        .map(|event| {
            let feature = rng.unit();
            let low = rng.unit() < if 0.5 < feature { 0.75 } else { 0.25 };
            let action = 0.5 * (rng.unit() + if low { 0.0 } else { 1.0 });
            let density = if low == (0.5 < feature) { 1.5 } else { 0.5 };
            let mut record = bare(feature, action, density);
            record.seq = Some(event);
            record.time = Some(Time::from_micros(1_000 * event as i64).expect("a time"));
            record.event_id = Some(format!("visit-{event}"));
            record.mu = Some(mu.clone());
            record.loss = Some(Loss::new(rng.unit()).expect("a loss"));
            record
        })
        .collect()
}

fn bare(feature: f64, action: f64, density: f64) -> Record {
    let x = Context::dense(vec![feature]).expect("finite");
    let propensity = Propensity::Density(Density::new(density).expect("positive"));
    Record::bare(x, action.into(), propensity)
}

/// The same records with other actions and densities.
fn changed(all: &[Record], change: impl Fn(usize, f64, f64) -> (f64, f64)) -> Vec<Record> {
    let one = |(place, record): (usize, &Record)| {
        let density = record.propensity().density().expect("drawn").get();
        let action = record.number("action").expect("a number");
        let (action, density) = change(place, action, density);
        let propensity = Propensity::Density(Density::new(density).expect("positive"));
        let x = record.context.clone();
        let mut other = match record.decision::<f64>() {
            Ok(decision) => {
                let changed = egret::Decision {
                    action,
                    propensity,
                    ..decision
                };
                Record::new(x, &changed)
            }
            Err(_) => Record::bare(x, action.into(), propensity),
        };
        (other.seq, other.time, other.loss) = (record.seq, record.time, record.loss);
        (other.event_id, other.mu) = (record.event_id.clone(), record.mu.clone());
        other.mode = record.mode;
        other
    };
    all.iter().enumerate().map(one).collect()
}

fn findings_of(records: &[Record], least_density: Option<f64>) -> egret_offline::AuditReport {
    let folder = crate::folder();
    let file = folder.path().join("log.jsonl");
    write(&file, records);
    let request = AuditRequest {
        least_density,
        ..request(&file, None)
    };
    audit(&request, &Silent).expect("a report").findings
}

/// What may be wrong with a log, and what the verdict says of it.
fn faults(right: &[Record]) -> Vec<(&'static str, Vec<Record>, &'static str)> {
    let rows = right.len();
    let density = |place: usize| right[place].propensity().density().expect("drawn").get();
    let renumbered = |mut records: Vec<Record>| {
        for (record, seq) in records.iter_mut().zip(0..) {
            record.seq = Some(seq);
        }
        records
    };
    vec![
        (
            "ten times too large",
            changed(right, |_, a, p| (a, 10.0 * p)),
            "densities are too large",
        ),
        (
            "a tenth too large",
            changed(right, |_, a, p| (a, 1.1 * p)),
            "densities are too large",
        ),
        ("constant", changed(right, |_, a, _| (a, 1.0)), "sides"),
        (
            "permuted",
            changed(right, |place, a, _| (a, density((place * 7 + 3) % rows))),
            "the densities do not match the actions",
        ),
        (
            "clipped",
            changed(right, |_, a, p| (a.clamp(0.1, 0.9), p)),
            "actions are exactly 0.",
        ),
        (
            "rows appended again",
            renumbered([right, &right[..1_000]].concat()),
            "1,000 events have the eventId of an earlier one",
        ),
        (
            "reversed",
            renumbered(right.iter().rev().cloned().collect()),
            "the log runs backwards",
        ),
    ]
}

#[test]
fn faults_that_were_silent_are_found() {
    let right = density_only(6_000, 1);
    let found = findings_of(&right, None);
    assert!(!found.alarm, "{}", found.verdict);
    for (fault, records, words) in faults(&right) {
        let found = findings_of(&records, None);
        assert!(found.alarm, "{fault}: {}", found.verdict);
        assert!(found.verdict.contains(words), "{fault}: {}", found.verdict);
    }
    // With a bound, bets find what is too large while the log grows.
    let large = changed(&right, |_, a, p| (a, 1.2 * p));
    let found = findings_of(&large, Some(0.5));
    assert!(found.together.alarm_at.is_some(), "{}", found.verdict);
    assert_eq!(findings_of(&large, None).together.alarm_at, None);
}

#[test]
fn features_with_names_show_densities_of_other_contexts() {
    let right = density_only(6_000, 4);
    let feature = |record: &Record| record.context.as_dense().expect("a number")[0];
    let older = |record: &Record| if feature(record) < 0.5 { "no" } else { "yes" };
    let numbers = |record: &Record| Features::new().with("age", feature(record));
    let words = |record: &Record| Features::new().with("older", older(record));
    let named = |records: &[Record], name: &dyn Fn(&Record) -> Features| {
        let mut records = records.to_vec();
        for record in &mut records {
            record.context = Context::from(name(record));
        }
        findings_of(&records, None)
    };
    for name in [&numbers as &dyn Fn(&Record) -> Features, &words] {
        let found = named(&right, name);
        assert!(!found.alarm, "{}", found.verdict);
        let said = found.not_checked.join("\n");
        assert!(!said.contains("other contexts"), "{said}");
        let found = named(&changed(&right, |_, a, _| (a, 1.0)), name);
        assert!(
            found.alarm && found.verdict.contains("sides"),
            "{}",
            found.verdict
        );
    }
    // A list says nothing of sides.
    let list = |_: &Record| {
        let value = FeatureValue::List(vec![FeatureValue::Number(1.0)]);
        Features::new().with("list", value)
    };
    // Nor does what is always the same, whether it is a number or a word.
    let same = |_: &Record| Features::new().with("age", 7.0).with("country", "nz");
    for features in [&list as &dyn Fn(&Record) -> Features, &same] {
        let said = named(&right, features).not_checked.join("\n");
        assert!(said.contains("other contexts"), "{said}");
    }
    // A feature that is always the same stands before one that is not.
    let second = |record: &Record| numbers(record).with("a", "same");
    let found = named(&right, &second);
    let sides = found.tests.iter().find(|row| row.test == "sides");
    assert!(sides.is_some_and(|row| 2_000 < row.events), "{found:?}");
}

#[test]
fn right_logs_of_densities_are_seldom_accused() {
    let accused = (0..100)
        .filter(|&seed| {
            let records = density_only(400, 100 + seed);
            findings_of(&records, Some(0.5)).alarm
        })
        .count();
    // At α = 0.01, and four standard errors.
    assert!(accused <= 6, "{accused}");
}

#[test]
fn checks_that_could_not_be_made_are_named() {
    let mut records = density_only(300, 2);
    let said = |records: &[Record], least| findings_of(records, least).not_checked.join("\n");
    let words = said(&records, Some(0.5));
    for what in ["Replay: no model", "Losses: no log alone"] {
        assert!(words.contains(what), "{words}");
    }
    assert!(
        !words.contains("too large") && !words.contains("Gaps"),
        "{words}"
    );
    assert!(said(&records, None).contains("Densities that are too large"));
    for record in &mut records {
        (record.time, record.event_id, record.seq, record.mu) = (None, None, None, None);
    }
    let words = said(&records, None);
    for what in [
        "Gaps",
        "there twice",
        "The order of the log",
        "reference measure",
    ] {
        assert!(words.contains(what), "{what}: {words}");
    }
    let verdict = findings_of(&records, None).verdict;
    assert!(verdict.contains("checks could not be made"), "{verdict}");
}

#[test]
fn a_model_that_replays_almost_nothing_is_a_finding() {
    let (_folder, file, start) = learned_log(400);
    let mut all = read(&file);
    all.reverse();
    for (record, seq) in all.iter_mut().zip(0..) {
        record.seq = Some(seq);
        record.model_hash = None;
    }
    write(&file, &all);
    let findings = audited(&file, Some(&start)).findings;
    assert!(findings.alarm, "{}", findings.verdict);
    assert!(
        findings.verdict.contains("decisions could be replayed"),
        "{}",
        findings.verdict
    );
}

/// A table of docs/audit.md:
/// `LOGS=10 EVENTS=20000 cargo test -p egret-jobs --release --test it -- --ignored --nocapture how_soon_faults`
#[test]
#[ignore = "a table for the documentation, some minutes"]
fn how_soon_faults_of_densities_are_found() {
    let number = |name: &str, usual: u64| match std::env::var(name) {
        Ok(value) => value.parse().expect("a whole number"),
        Err(_) => usual,
    };
    let (logs, events) = (number("LOGS", 10), number("EVENTS", 20_000));
    // Without a reference measure and features, nothing is known but the densities.
    let alone = |records: &[Record]| {
        let mut records = changed(records, |_, a, p| (a, p));
        for record in &mut records {
            (record.mu, record.context) = (None, Context::dense(vec![]).expect("empty"));
        }
        records
    };
    println!(
        "| fault | densities alone | with a least density | with features and mu | with the model |\n|---|---|---|---|---|"
    );
    // A log of a model that learns, with what is needed to replay it; and whether, and when, a fault is found with the model.
    let learned = |fault: usize, events: u64| {
        let (_folder, file, start) = learned_log(events);
        let right = read(&file);
        let records = faults(&right).swap_remove(fault).1;
        write(&file, &records);
        audited(&file, Some(&start)).findings
    };
    let names: Vec<&str> = faults(&density_only(2_000, 0))
        .iter()
        .map(|fault| fault.0)
        .collect();
    for (place, name) in names.iter().enumerate() {
        let mut cells = Vec::new();
        for setting in 0..4 {
            // The log of the model is the same each time.
            let logs = if setting == 3 { 1 } else { logs };
            let mut when: Vec<u64> = (0..logs)
                .map(|seed| {
                    let (_, records, _) = faults(&density_only(events, seed)).swap_remove(place);
                    let least = (setting == 1).then_some(0.5);
                    let found = match setting {
                        2 => findings_of(&records, None),
                        3 => learned(place, events),
                        _ => findings_of(&alone(&records), least),
                    };
                    let replayed = found.replay.first_differences.first();
                    let at = replayed.map(|first| first.at).or(found.together.alarm_at);
                    match (found.alarm, at) {
                        (true, Some(at)) => at,
                        (true, None) => u64::MAX - 1,
                        (false, _) => u64::MAX,
                    }
                })
                .collect();
            when.sort_unstable();
            let alarms = when.iter().filter(|&&at| at < u64::MAX).count();
            cells.push(match when[when.len() / 2] {
                u64::MAX => format!("– ({alarms})"),
                at if at == u64::MAX - 1 => format!("at the end ({alarms})"),
                at => format!("{at} ({alarms})"),
            });
        }
        println!("| {name} | {} |", cells.join(" | "));
    }
    let accused =
        (0..400).filter(|&seed| findings_of(&density_only(1_000, 5_000 + seed), Some(0.5)).alarm);
    println!(
        "{} of 400 right logs of 1,000 events were accused",
        accused.count()
    );
    let accused = (0..400).filter(|&seed| {
        let (_folder, file, start) = learned_log_of(300, seed);
        audited(&file, Some(&start)).findings.alarm
    });
    println!(
        "{} of 400 right logs of 300 events, with the model, were accused",
        accused.count()
    );
}
