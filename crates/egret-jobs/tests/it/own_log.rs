//! A stranger's table: prices in currency, densities per unit of it, revenue.

use std::fs;
use std::path::{Path, PathBuf};

use egret::{AnyModel, Objective};
use egret_jobs::check::{CheckRequest, check};
use egret_jobs::decide::{ContextSource, DecideRequest, decide, decide_each};
use egret_jobs::describe::{DescribeRequest, describe};
use egret_jobs::evaluate::{EvaluateRequest, Predictions, evaluate};
use egret_jobs::go_on::{GoOnRequest, go_on};
use egret_jobs::propose::{ProposeRequest, propose};
use egret_jobs::train::{CandidateRequest, TrainRequest, TrainingLog, train};
use egret_jobs::{LogSource, NamedPolicy, Silent};
use egret_log::LogMapping;
use egret_offline::VerdictKind;
use tempfile::TempDir;

use crate::{assert_place, folder, learned_log, learned_log_of};

/// Numbers in [0, 1) that are spread evenly.
fn even(row: u64, by: f64) -> f64 {
    (0.5 + row as f64 * by).fract()
}

/// Prices from 5 to 50, half of them uniform and half in the lower half; who buys pays the price. `q` is the density, per unit,
/// of prices in the lower half.
fn prices(rows: u64) -> String {
    let mut text = String::from("order,price,p,revenue,age,segment,q\n");
    for row in 0..rows {
        let (u, v) = (even(row, 0.754_877_666), even(row, 0.569_840_291));
        let price = if u < 0.5 {
            5.0 + 90.0 * u
        } else {
            5.0 + 45.0 * (u - 0.5)
        };
        let low = price < 27.5;
        let density = 0.5 / 45.0 + if low { 0.5 / 22.5 } else { 0.0 };
        let segment = if row % 2 == 0 { "frugal" } else { "rich" };
        let most = if row % 2 == 0 { 12.0 } else { 40.0 };
        let revenue = if price < most + 8.0 * (v - 0.5) {
            price
        } else {
            0.0
        };
        let q = if low { 1.0 / 22.5 } else { 0.0 };
        let age = 20 + row % 50;
        text += &format!("o{row},{price:.4},{density},{revenue:.4},{age},{segment},{q}\n");
    }
    text
}

fn table(folder: &TempDir, rows: u64) -> PathBuf {
    let file = folder.path().join("prices.csv");
    fs::write(&file, prices(rows)).expect("written");
    file
}

fn mapping() -> LogMapping {
    LogMapping::from_toml(
        "action = \"price\"\ndensity = \"p\"\ndensity_per_unit = true\nreward = \"revenue\"\nreward_range = \"0,50\"\n\
         context = [\"age\", \"segment\"]\nspace = \"interval:5,50\"\nid = \"order\"",
    )
    .expect("a mapping")
}

fn source(file: &Path, mapping: LogMapping) -> LogSource {
    LogSource {
        mapping,
        ..LogSource::new([file])
    }
}

fn policies(texts: &[&str]) -> Vec<NamedPolicy> {
    texts
        .iter()
        .map(|text| text.parse().expect("a policy"))
        .collect()
}

#[test]
fn values_are_in_currency_and_densities_of_policies_per_unit_too() {
    let folder = folder();
    let file = table(&folder, 4_000);
    let request = EvaluateRequest {
        log: source(&file, mapping()),
        policies: policies(&["uniform", "low=column:q"]),
        ..EvaluateRequest::default()
    };
    let report = evaluate(&request, &Silent).expect("evaluated");
    assert_eq!(
        report.objective,
        Objective::maximize(0.0, 50.0).expect("a range")
    );
    for row in &report.rows {
        assert!((row.mean_weight - 1.0).abs() < 0.05, "{row:?}");
        // Frugal ones pay up to 12, rich ones up to 40.
        let truth = match &*row.policy {
            "uniform" => 0.5 * (12.0_f64.powi(2) - 25.0 + 40.0_f64.powi(2) - 25.0) / 90.0,
            _ => 0.5 * (12.0_f64.powi(2) - 25.0 + 27.5_f64.powi(2) - 25.0) / 45.0,
        };
        assert!(row.low < truth && truth < row.high, "{truth}: {row:?}");
    }
    assert!(
        report
            .remarks
            .iter()
            .all(|remark| !remark.contains("per-unit")),
        "{:?}",
        report.remarks
    );
    // One number is left out, and it is noticed.
    let plain = LogMapping {
        density_per_unit: None,
        ..mapping()
    };
    let request = EvaluateRequest {
        log: source(&file, plain.clone()),
        policies: policies(&["uniform"]),
        ..EvaluateRequest::default()
    };
    let report = evaluate(&request, &Silent).expect("evaluated");
    let told = report
        .remarks
        .iter()
        .find(|remark| remark.contains("--density-per-unit"));
    assert!(told.expect("noticed").contains("near the width 45"));
    let found = check(
        &CheckRequest {
            log: source(&file, plain),
            ..CheckRequest::default()
        },
        &Silent,
    )
    .expect("checked");
    assert!(
        found
            .remarks
            .iter()
            .any(|remark| remark.contains("--density-per-unit")),
        "{:?}",
        found.remarks
    );
    // And so is one too many.
    let text = fs::read_to_string(&file).expect("there");
    let mut scaled = String::from("order,price,p,revenue,age,segment,q\n");
    for line in text.lines().skip(1) {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        cells[2] = (45.0 * cells[2].parse::<f64>().expect("a number")).to_string();
        scaled += &(cells.join(",") + "\n");
    }
    fs::write(&file, scaled).expect("written");
    let request = EvaluateRequest {
        log: source(&file, mapping()),
        policies: policies(&["uniform"]),
        ..EvaluateRequest::default()
    };
    let report = evaluate(&request, &Silent).expect("evaluated");
    assert!(
        report
            .remarks
            .iter()
            .any(|remark| remark.contains("Leave out --density-per-unit"))
    );
}

#[test]
fn dsjson_of_listed_actions_is_a_table_too() {
    // As Vowpal Wabbit writes decisions among actions: one was played with probability ½, the others with ¼ each. One in two of those that
    // cost nothing was dropped.
    let folder = folder();
    let mut text = String::new();
    let (mut sum, mut weight) = (0.0, 0.0);
    for row in 0..3_000_u64 {
        let (index, p) = match even(row, 0.754_877_666) {
            share if share < 0.5 => (0, 0.5),
            share if share < 0.75 => (1, 0.25),
            _ => (2, 0.25),
        };
        let cost = if even(row, 0.569_840_291) < 0.1 * f64::from(1 + index) {
            -1.0
        } else {
            0.0
        };
        let pdrop = if cost == 0.0 { 0.5 } else { 0.0 };
        if cost == 0.0 && row % 2 == 0 {
            continue;
        }
        let w = 1.0 / (3.0 * p * (1.0 - pdrop));
        (sum, weight) = (sum + w * cost, weight + w);
        let (age, action) = (20 + row % 40, index + 1);
        text += &format!(
            r#"{{"_label_cost":{cost},"_label_probability":{p},"_label_Action":{action},"_labelIndex":{index},"Timestamp":"2021-02-04T16:31:29Z","Version":"1","EventId":"e{row}","a":[{action}],"c":{{"User":{{"age":{age}}},"_multi":[{{"b":"1"}},{{"b":"2"}},{{"b":"3"}}]}},"p":[{p}],"pdrop":{pdrop}}}"#
        );
        text.push('\n');
    }
    let file = folder.path().join("cb.json");
    fs::write(&file, text).expect("written");
    let proposal = propose(&ProposeRequest::new(&file), &Silent).expect("looked at");
    assert_eq!(proposal.open, [""; 0], "{}", proposal.toml);
    let mapping = proposal.mapping;
    assert_eq!(mapping.action, ["_labelIndex"]);
    assert_eq!(mapping.context, ["c.User.age"]);
    assert_eq!(mapping.space, Some("items:3".parse().expect("a space")));
    let request = EvaluateRequest {
        log: source(&file, mapping),
        policies: policies(&["uniform"]),
        ..EvaluateRequest::default()
    };
    let report = evaluate(&request, &Silent).expect("evaluated");
    let first = &report.rows[0];
    assert_eq!(first.estimator, "snips");
    assert!((first.estimate - sum / weight).abs() < 1e-12, "{first:?}");
}

#[test]
fn words_are_actions_too() {
    // Red is shown half of the time and clicked one time in five; the others three times in ten and one time in ten.
    let folder = folder();
    let mut text = String::from("When,User_Age,Action,Propensity,Reward\n");
    for row in 0..2_000_u64 {
        let (action, p) = match even(row, 0.754_877_666) {
            share if share < 0.5 => ("red", 0.5),
            share if share < 0.8 => ("green", 0.3),
            _ => ("dark blue", 0.2),
        };
        let clicks = if action == "red" { 0.2 } else { 0.1 };
        let clicked = u8::from(even(row, 0.569_840_291) < clicks);
        let age = 20 + row % 40;
        text += &format!(
            "2026-01-02 03:{:02}:00,{age},{action},{p},{clicked}\n",
            row % 60
        );
    }
    let file = folder.path().join("colours.csv");
    fs::write(&file, text).expect("written");
    let proposal = propose(&ProposeRequest::new(&file), &Silent).expect("looked at");
    assert_eq!(proposal.open, [""; 0]);
    let mapping = proposal.mapping;
    assert_eq!(mapping.context, ["User_Age"]);
    let space = mapping.space.as_ref().expect("guessed").to_string();
    assert_eq!(space, "mixed:Action=dark blue|green|red");
    assert_eq!(mapping.density_per_unit, Some(true));
    assert_eq!(
        LogMapping::from_toml(&proposal.toml).expect("TOML"),
        mapping
    );
    let request = EvaluateRequest {
        log: source(&file, mapping),
        policies: policies(&["uniform"]),
        ..EvaluateRequest::default()
    };
    let report = evaluate(&request, &Silent).expect("evaluated");
    let first = &report.rows[0];
    // A third of each colour: (0.2 + 0.1 + 0.1)/3.
    assert!((first.estimate - 0.4 / 3.0).abs() < 0.02, "{first:?}");
    assert!((first.mean_weight - 1.0).abs() < 0.02, "{first:?}");
}

#[test]
fn words_with_quotes_are_toml_too() {
    let folder = folder();
    let file = folder.path().join("rims.csv");
    let rows = "\"15\"\"\",0.5,1\n\"17\"\" \\\",0.5,0\n".repeat(3);
    fs::write(&file, format!("action,p,reward\n{rows}")).expect("written");
    let proposal = propose(&ProposeRequest::new(&file), &Silent).expect("looked at");
    let space = proposal.mapping.space.as_ref().map(ToString::to_string);
    assert_eq!(space.as_deref(), Some("mixed:action=15\"|17\" \\"));
    let read = LogMapping::from_toml(&proposal.toml).expect("TOML");
    assert_eq!(read, proposal.mapping);
}

/// A model after one epoch of a log.
fn trained_on(log: LogSource) -> AnyModel {
    let request = TrainRequest {
        from: TrainingLog {
            log,
            ..TrainingLog::default()
        },
        candidate: CandidateRequest {
            epochs: Some(1),
            ..CandidateRequest::default()
        },
        ..TrainRequest::default()
    };
    train(&request, &Silent).expect("trained").0
}

#[test]
fn a_model_knows_the_rows_it_was_trained_on() {
    let folder = folder();
    let all = prices(6_000);
    let (header, rows) = all.split_once('\n').expect("a header");
    let rows: Vec<&str> = rows.lines().collect();
    let write = |name: &str, rows: &[&str]| {
        let file = folder.path().join(name);
        fs::write(&file, format!("{header}\n{}\n", rows.join("\n"))).expect("written");
        file
    };
    let first = write("first.csv", &rows[..3_000]);
    let model = trained_on(source(&first, mapping()));
    let saved = folder.path().join("m.egret");
    fs::write(&saved, model.save()).expect("written");
    let warned = |file: &Path| {
        let request = EvaluateRequest {
            log: source(file, mapping()),
            policies: policies(&["uniform"]),
            predictions: Some(Predictions::Model(saved.clone())),
            ..EvaluateRequest::default()
        };
        let report = evaluate(&request, &Silent).expect("evaluated");
        let remarks = report.remarks.iter();
        let warned = remarks
            .filter(|remark| remark.contains("has learned from"))
            .count();
        // What uses its predictions is not reliable then; the weights are none of its.
        for row in &report.rows {
            let learned = row.verdict.contains("has learned from these events");
            assert_eq!(learned, warned == 1 && row.estimator.ends_with("dr"));
            assert!(!learned || row.verdict_kind == VerdictKind::Biased);
        }
        warned
    };
    assert_eq!(warned(&first), 1);
    // In another order, and with others among them.
    let mut mixed: Vec<&str> = rows[1_000..2_400].iter().rev().copied().collect();
    mixed.extend(&rows[3_000..3_600]);
    assert_eq!(warned(&write("mixed.csv", &mixed)), 1);
    // Rows that it has not seen, and those that training kept back to test on.
    assert_eq!(warned(&write("later.csv", &rows[3_000..])), 0);
    assert_eq!(warned(&write("test.csv", &rows[2_700..3_000])), 0);

    // It goes on from the later ones, and then knows them too.
    let request = GoOnRequest {
        model: saved.clone(),
        log: source(&folder.path().join("later.csv"), mapping()),
        batch: 500,
    };
    let (model, _) = go_on(&request, &Silent).expect("learned");
    fs::write(&saved, model.save()).expect("written");
    assert_eq!(warned(&folder.path().join("later.csv")), 1);
    // Once more, which repeats nothing within a log.
    let (model, _) = go_on(&request, &Silent).expect("learned");
    fs::write(&saved, model.save()).expect("written");
    assert_eq!(warned(&first), 1);
}

/// What is said of a policy that plays by a model: whether its rows are called biased, and whether a remark says that it may be.
fn accused(model: &Path, log: &Path) -> (bool, bool) {
    let policy = format!("best-of:m=2,model={}", model.display());
    let request = EvaluateRequest {
        log: LogSource::new([log]),
        policies: policies(&[&policy]),
        ..EvaluateRequest::default()
    };
    let report = evaluate(&request, &Silent).expect("evaluated");
    let mut rows = report.rows.iter();
    let mut remarks = report.remarks.iter();
    (
        rows.any(|row| row.verdict.contains("has learned from these events")),
        remarks.any(|remark| remark.contains("more batches than the models that made this log")),
    )
}

#[test]
fn a_model_is_not_accused_of_the_log_of_another() {
    let (folder, first, start) = learned_log(400);
    let (_folder, other, _) = learned_log_of(400, 8);
    let trained = trained_on(LogSource::new([&first]));
    let request = GoOnRequest {
        model: start,
        log: LogSource::new([&first]),
        batch: 8,
    };
    // As the loop of the first log left it.
    let (online, _) = go_on(&request, &Silent).expect("learned");
    let online = online.with_trained_rows(None);
    for (name, model) in [("trained.egret", trained), ("online.egret", online)] {
        assert!(0 < model.batches_learned(), "{name}");
        let saved = folder.path().join(name);
        fs::write(&saved, model.save()).expect("written");
        assert_eq!(accused(&saved, &first), (true, false), "{name}");
        assert_eq!(accused(&saved, &other), (false, true), "{name}");
    }
}

#[test]
fn rows_that_are_alike_are_not_taken_for_rows_trained_on() {
    // Four prices, ten ages, two segments, bought or not: 160 rows there can be, again and again.
    let folder = folder();
    let write = |name: &str, from: u64, rows: u64| {
        let mut text = String::from("order,price,p,revenue,age,segment,q\n");
        for row in from..from + rows {
            let price = 10 * (1 + (even(row, 0.754_877_666) * 4.0) as u64);
            let bought = even(row, 0.569_840_291) < 0.5;
            let revenue = if bought { price } else { 0 };
            let (age, segment) = (20 + row % 10, row % 3 % 2);
            text += &format!("o{row},{price},0.022,{revenue},{age},s{segment},0\n");
        }
        let file = folder.path().join(name);
        fs::write(&file, text).expect("written");
        file
    };
    let model = trained_on(source(&write("first.csv", 0, 1_000), mapping()));
    let saved = folder.path().join("m.egret");
    fs::write(&saved, model.save()).expect("written");
    let request = EvaluateRequest {
        log: source(&write("later.csv", 1_000, 1_000), mapping()),
        policies: policies(&["uniform"]),
        predictions: Some(Predictions::Model(saved)),
        ..EvaluateRequest::default()
    };
    let report = evaluate(&request, &Silent).expect("evaluated");
    let told = |remark: &String| remark.contains("has learned from");
    assert!(!report.remarks.iter().any(told), "{:?}", report.remarks);
}

#[test]
fn from_the_table_to_prices_without_a_conversion() {
    let folder = folder();
    let file = table(&folder, 3_000);
    // What the columns are is guessed right.
    let proposal = propose(&ProposeRequest::new(&file), &Silent).expect("guessed");
    let expected = LogMapping {
        // Another policy's density is no feature.
        context: vec!["age".to_owned(), "segment".to_owned()],
        ..mapping()
    };
    assert_eq!(proposal.mapping, expected);
    assert_eq!(
        LogMapping::from_toml(&proposal.toml).expect("a file"),
        expected
    );
    assert_eq!(proposal.open, Vec::<String>::new());
    fs::write(folder.path().join("prices.csv.toml"), &proposal.toml).expect("written");

    let request = TrainRequest {
        from: TrainingLog {
            log: LogSource::new([&file]),
            ..TrainingLog::default()
        },
        candidate: CandidateRequest {
            epochs: Some(3),
            ..CandidateRequest::default()
        },
        ..TrainRequest::default()
    };
    let (model, report) = train(&request, &Silent).expect("trained");
    assert_eq!(report.objective.to_string(), "maximize:0,50");
    let path = folder.path().join("m.egret");
    fs::write(&path, model.save()).expect("written");

    let customers = folder.path().join("customers.csv");
    fs::write(
        &customers,
        "customer,age,segment\nc1,30,frugal\nc2,30,rich\nc3,,rich\n",
    )
    .expect("written");
    let request = DecideRequest {
        model: path.clone(),
        contexts: ContextSource::Table(customers.clone()),
        first_event: None,
        event_numbers: Some(folder.path().join("m.egret.next-event")),
        id: Some("customer".to_owned()),
        limits: None,
        onnx: None,
    };
    let report = decide(&request, &Silent).expect("decided");
    let ids: Vec<_> = report
        .decisions
        .iter()
        .map(|one| one.id.as_deref())
        .collect();
    assert_eq!(ids, [Some("c1"), Some("c2"), Some("c3")]);
    assert_eq!(
        report.features.as_ref().expect("named").fields["age"].missing,
        1
    );
    let mut events: Vec<u64> = report.decisions.iter().map(|one| one.event).collect();
    // Numbers go on: no chance is used twice.
    let summary = decide_each(
        &request,
        &mut |one| {
            events.push(one.event);
            Ok(())
        },
        &Silent,
    )
    .expect("decided");
    assert_eq!(
        (summary.decisions, events),
        (3, (report.next_event - 3..report.next_event + 3).collect())
    );

    let shown = describe(&DescribeRequest {
        model: path.clone(),
        contexts: Some(ContextSource::Table(customers)),
        curves: 2,
    })
    .expect("described");
    assert_eq!(shown.space, "interval:5,50");
    let names: Vec<&str> = shown
        .features
        .as_ref()
        .expect("named")
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["age", "segment", "customer"][..2]);
    let best: Vec<f64> = shown
        .curves
        .iter()
        .map(|curve| curve.best.to_string().parse().expect("a price"))
        .collect();
    assert!(best[0] < 20.0 && 20.0 < best[1], "{best:?}");
    assert_eq!(shown.curves[0].points.len(), 65);

    // The model goes on from where it is.
    let (later, learned) = go_on(
        &GoOnRequest {
            model: path,
            log: LogSource::new([&file]),
            batch: 8,
        },
        &Silent,
    )
    .expect("learned");
    assert_eq!((learned.counts.used, learned.batches_learned), (3_000, 375));
    assert_eq!(later.batches_learned(), learned.batches_before + 375);
    assert!(learned.error < 12.0, "{}", learned.error);
}

#[test]
fn what_is_missing_is_said_by_its_true_reason() {
    let folder = folder();
    let file = table(&folder, 50);
    let base = EvaluateRequest {
        log: source(&file, mapping()),
        policies: policies(&["uniform"]),
        ..EvaluateRequest::default()
    };
    let refused = |request: EvaluateRequest| {
        evaluate(&request, &Silent)
            .expect_err("refused")
            .to_string()
    };
    let seq = refused(EvaluateRequest {
        from_seq: Some(3),
        ..base.clone()
    });
    assert!(
        seq.starts_with(
            "--from-seq and --to-seq take events by their seq, and none of the 50 has one"
        ),
        "{seq}"
    );
    let mut without = base.clone();
    (without.log.mapping.reward, without.log.mapping.reward_range) = (None, None);
    let outcome = refused(without);
    assert!(
        outcome.contains("none of the 50 events has an outcome") && outcome.contains("--reward"),
        "{outcome}"
    );
    let level = refused(EvaluateRequest {
        level: 95.0,
        ..base.clone()
    });
    assert_eq!(level, "level: 95 is no probability, did you mean 0.95?");
    let against = refused(EvaluateRequest {
        against: Some("unifrom".to_owned()),
        ..base.clone()
    });
    assert!(
        against.contains("\"unifrom\" (did you mean \"uniform\"?)"),
        "{against}"
    );
    let mut estimated = base;
    estimated.log.mapping.density = Some("none".to_owned());
    let masses = refused(estimated);
    assert!(
        masses.contains("none of the 50 events has a density")
            && masses.contains("--estimate-density"),
        "{masses}"
    );
}

#[test]
fn a_density_below_0_is_found_with_its_row() {
    let folder = folder();
    let file = table(&folder, 30);
    let text = fs::read_to_string(&file).expect("there");
    let spoiled = text.lines().enumerate().map(|(row, line)| match row {
        7 => format!("{},-0.5\n", line.rsplit_once(',').expect("cells").0),
        _ => format!("{line}\n"),
    });
    fs::write(&file, spoiled.collect::<String>()).expect("written");
    let request = EvaluateRequest {
        log: source(&file, mapping()),
        policies: policies(&["column:q"]),
        ..EvaluateRequest::default()
    };
    // The names are in row 1.
    assert_place(evaluate(&request, &Silent), &file, 8, Some("q"));
}

#[test]
fn a_policy_without_a_mean_prediction_goes_without_dr() {
    let folder = folder();
    let file = table(&folder, 400);
    let text = fs::read_to_string(&file).expect("there");
    let predicted = text.lines().enumerate().map(|(row, line)| match row {
        0 => format!("{line},f,e\n"),
        _ => format!("{line},10,11\n"),
    });
    fs::write(&file, predicted.collect::<String>()).expect("written");
    let request = EvaluateRequest {
        log: source(&file, mapping()),
        policies: policies(&["one=column:q", "two=column:q,predicted=e"]),
        predictions: Some(Predictions::Column("f".to_owned())),
        against: Some("one".to_owned()),
        ..EvaluateRequest::default()
    };
    let report = evaluate(&request, &Silent).expect("evaluated");
    let of = |policy: &str| {
        let rows = report.rows.iter().filter(|row| row.policy == policy);
        rows.map(|row| row.estimator.as_str()).collect::<Vec<_>>()
    };
    assert!(
        !of("one").is_empty() && !of("one").contains(&"dr"),
        "{:?}",
        of("one")
    );
    assert!(of("two").contains(&"dr") && of("two").contains(&"snips"));
    assert!(
        report
            .remarks
            .iter()
            .any(|remark| remark.starts_with("one: no estimate that uses predictions")),
        "{:?}",
        report.remarks
    );
}

#[test]
fn a_check_tells_everything_at_once_and_what_to_do() {
    let folder = folder();
    let file = folder.path().join("bad.csv");
    let rows = "\
order,price,p,revenue,age,segment
a,20,0.02,5,31,x
b,99,0.02,5,31,x
c,20,0,5,31,x
d,20,0.02,51,31,x
e,cheap,0.02,5,31,x
f,20,,5,31,x
g,20,0.02,5,31
h,99,0.02,5,31,x
";
    fs::write(&file, rows).expect("written");
    let request = CheckRequest {
        log: source(&file, mapping()),
        ..CheckRequest::default()
    };
    let report = check(&request, &Silent).expect("checked");
    assert_eq!((report.rows, report.bad), (1, 7));
    let found: Vec<(&str, u64, Option<u64>)> = report
        .mistakes
        .iter()
        .map(|mistake| (mistake.kind, mistake.rows, mistake.first[0].row))
        .collect();
    assert_eq!(found[0], ("action outside its space", 2, Some(3)));
    assert_eq!(found.len(), 6);
    for mistake in &report.mistakes {
        assert!(!mistake.advice.is_empty(), "{mistake:?}");
    }
    let wide = report
        .mistakes
        .iter()
        .find(|one| one.kind == "outcome outside its range")
        .expect("found");
    assert!(
        wide.advice.contains("--reward-range") && wide.first[0].reason.contains("column revenue"),
        "{wide:?}"
    );
}

#[test]
fn a_column_of_limits_is_found() {
    let folder = folder();
    for (name, allowed) in [
        ("log.csv", r#""{""interval"":{""low"":10,""high"":20}}""#),
        ("log.jsonl", r#"{"interval":{"low":10,"high":20}}"#),
    ] {
        let file = folder.path().join(name);
        let mut text = String::new();
        if name == "log.csv" {
            text += "price,density,loss,limits\n";
        }
        for row in 0..40 {
            let price = 10.0 + 0.2 * row as f64;
            text += &match (name, row % 4) {
                ("log.csv", 0) => format!("{price},1,0.5,\n"),
                ("log.csv", _) => format!("{price},1,0.5,{allowed}\n"),
                (_, 0) => format!("{{\"price\":{price},\"density\":1,\"loss\":0.5}}\n"),
                _ => format!(
                    "{{\"price\":{price},\"density\":1,\"loss\":0.5,\"limits\":{allowed}}}\n"
                ),
            };
        }
        fs::write(&file, text).expect("written");
        let proposal = propose(&ProposeRequest::new(&file), &Silent).expect("looked at");
        assert_eq!(proposal.mapping.limits.as_deref(), Some("limits"), "{name}");
        assert!(
            proposal.toml.contains("\nlimits = \"limits\"\n"),
            "{}",
            proposal.toml
        );
        assert!(proposal.mapping.context.is_empty());
    }
}
