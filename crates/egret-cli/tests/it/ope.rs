use std::fs;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::demo::check_tags;
use crate::{egret, figures, folder, stdout};

/// The folder of a demo, made once for all tests here.
static DEMO: LazyLock<String> = LazyLock::new(|| {
    figures(7, 4_000, "ope-demo");
    path("ope-demo")
});

fn path(name: &str) -> String {
    let path = folder(name);
    path.to_str().expect("a path in plain letters").to_owned()
}

fn log() -> String {
    format!("{}/log.parquet", *DEMO)
}

fn halfway() -> String {
    format!("{}/halfway.egret", *DEMO)
}

fn rows(arguments: &[&str]) -> Vec<Value> {
    let json: Value = serde_json::from_str(&stdout(egret(arguments))).expect("JSON");
    json.as_array().expect("a list").clone()
}

fn refused(arguments: &[&str]) -> String {
    let output = egret(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn json_is_a_list_with_the_promised_keys() {
    let rows = rows(&[
        "ope",
        &log(),
        "-p",
        "uniform",
        "-p",
        "column:q_rule",
        "--json",
    ]);
    // Two policies, ips with two intervals and snips with one.
    assert_eq!(rows.len(), 6);
    for row in &rows {
        for key in ["policy", "estimator", "interval", "verdict"] {
            assert!(row[key].is_string(), "{key}");
        }
        for key in [
            "estimate",
            "low",
            "high",
            "level",
            "ess",
            "max_weight",
            "mean_weight",
        ] {
            assert!(row[key].is_f64(), "{key}");
        }
        assert_eq!(row["n"], 4_000);
        let number = |key: &str| row[key].as_f64().expect("a number");
        assert!(number("low") < number("high"), "{row}");
        if row["interval"] == "normal" {
            assert!(number("low") < number("estimate") && number("estimate") < number("high"));
        }
    }
}

/// The demo knows the truth: its own log, by every kind of target and estimator, comes near it.
#[test]
fn every_kind_of_target_has_a_value_near_its_truth() {
    let model = halfway();
    let figures: Value = serde_json::from_str(&figures(7, 4_000, "ope-demo")).expect("JSON");
    let truth = |place: usize| figures["ope"][place]["truth"].as_f64().expect("a number");
    let targets = [
        ("uniform".to_owned(), Some(truth(0))),
        ("column:q_rule".to_owned(), Some(truth(4))),
        (format!("best-of:m=8,model={model}"), None),
        (format!("smooth:tau=8,model={model}"), None),
        (format!("capped-igw:model={model},tau=8,gamma=50"), None),
        (format!("kernel:model={model},bandwidth=9"), None),
        (format!("kernel:model={model},kernel=gaussian"), None),
    ];
    let log = log();
    for (target, truth) in targets {
        let rows = rows(&["ope", &log, "-p", &target, "--stabilize", "--json"]);
        for row in &rows {
            let number = |key: &str| row[key].as_f64().expect("a number");
            // Four standard errors, as far as the effective sample size tells them.
            let off = (number("mean_weight") - 1.0).abs();
            assert!(off < 4.0 / number("ess").sqrt(), "{row}");
            assert!((0.0..50.0).contains(&number("estimate")), "{row}");
            if let Some(truth) = truth {
                let slack = 0.5 * (number("high") - number("low"));
                assert!((number("estimate") - truth).abs() < 2.0 * slack, "{row}");
            }
        }
    }
}

#[test]
fn threads_and_the_split_into_files_change_nothing() {
    let parts = folder("ope-parts");
    fs::create_dir_all(&parts).expect("made");
    let text = path("ope-parts/whole.jsonl");
    stdout(egret(&["log", "convert", &log(), "-o", &text]));
    let lines = fs::read_to_string(&text).expect("written");
    let lines: Vec<&str> = lines.lines().collect();
    let (first, second) = lines.split_at(1_234);
    let files = [path("ope-parts/1.jsonl"), path("ope-parts/2.jsonl")];
    for (file, part) in files.iter().zip([first, second]) {
        fs::write(file, part.join("\n") + "\n").expect("written");
    }
    let target = format!("best-of:m=8,model={}", halfway());
    let options = [
        "-p",
        &target,
        "-p",
        "uniform",
        "--against",
        "uniform",
        "--intervals",
        "normal,bootstrap,betting",
        "--json",
    ];
    let with = |logs: &[&str], threads: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_egret"))
            .arg("ope")
            .args(logs)
            .args(options)
            .env("RAYON_NUM_THREADS", threads)
            .output()
            .expect("the command starts");
        stdout(output)
    };
    let whole = with(&[&log()], "1");
    assert_eq!(whole, with(&[&log()], "4"));
    assert_eq!(whole, with(&[&files[0], &files[1]], "2"));
}

#[test]
fn columns_and_records_give_the_same_bits() {
    let log = log();
    let fast = rows(&["ope", &log, "-p", "q=column:q_rule", "--json"]);
    let bad = path("ope-bad.jsonl");
    let slow = rows(&[
        "ope",
        &log,
        "-p",
        "q=column:q_rule",
        "--skip-bad",
        &bad,
        "--json",
    ]);
    assert_eq!(fast, slow);
    assert!(!folder("ope-bad.jsonl").exists(), "nothing was bad");
}

#[test]
fn doubly_robust_needs_predictions_and_takes_a_model() {
    let (log, model) = (log(), halfway());
    let errors = refused(&["ope", &log, "-p", "uniform", "--estimators", "dr"]);
    assert!(errors.contains("--model FILE"), "{errors}");
    let rows = rows(&[
        "ope",
        &log,
        "-p",
        "uniform",
        "--model",
        &model,
        "--estimators",
        "dm,dr,sndr,switch,drs",
        "--intervals",
        "normal",
        "--json",
    ]);
    assert_eq!(rows.len(), 5);
    assert!(
        rows[0]["verdict"]
            .as_str()
            .expect("words")
            .contains("direct method")
    );
    let errors = refused(&[
        "ope",
        &log,
        "-p",
        "uniform",
        "--predicted",
        "fhat",
        "--estimators",
        "dr",
    ]);
    assert!(errors.contains("--model"), "{errors}");
}

#[test]
fn differences_are_rows_of_their_own() {
    let target = format!("best=best-of:m=8,model={}", halfway());
    let log = log();
    let arguments = [
        "ope",
        &log,
        "-p",
        "blind=uniform",
        "-p",
        &target,
        "--against",
        "blind",
        "--stabilize",
        "--simultaneous",
        "--json",
    ];
    let rows = rows(&arguments);
    let difference = rows
        .iter()
        .find(|row| row["policy"] == "best − blind" && row["interval"] == "normal")
        .expect("a difference");
    assert!(
        0.0 < difference["low"].as_f64().expect("a number"),
        "{difference}"
    );
    assert_eq!(rows[0]["simultaneous"], json!(2));
    let errors = refused(&["ope", &log, "-p", "uniform", "--against", "nobody"]);
    assert!(
        errors.contains("--against: no policy is called \"nobody\"; there are uniform"),
        "{errors}"
    );
}

#[test]
fn the_picture_of_segments_has_them_and_the_text_goes_by_what_is_reliable() {
    let picture = path("segments.svg");
    let text = stdout(egret(&[
        "ope",
        &log(),
        "-p",
        "uniform",
        "-p",
        "column:q_rule",
        "--against",
        "logged",
        "--by",
        "segment",
        "--plot",
        &picture,
    ]));
    let drawn = fs::read_to_string(&picture).expect("a picture");
    for segment in ["business", "family", "student"] {
        let told = text.matches(&format!("segment = {segment}")).count();
        assert!(0 < told, "{text}");
        assert!(drawn.contains(&format!("segment = {segment}: uniform")));
    }
    // Of differences only the first estimator says how many events would settle them.
    let settled = text.matches("more events would settle it").count();
    assert!(settled <= 2, "{text}");
    assert!(!text.contains("NaN"), "{text}");
}

#[test]
fn plots_are_well_formed_and_offline() {
    let target = format!("best=best-of:m=8,model={}", halfway());
    for name in ["ope.svg", "ope.html"] {
        let file = path(name);
        let arguments = [
            "ope",
            &log(),
            "-p",
            "uniform",
            "-p",
            &target,
            "--plot",
            &file,
        ];
        let text = stdout(egret(&arguments));
        assert!(text.contains("reliable"), "{text}");
        let plot = fs::read_to_string(&file).expect("written");
        check_tags(&plot);
        // Links lead to places of the page itself.
        assert_eq!(
            plot.matches("href=").count(),
            plot.matches("href=\"#").count()
        );
        for reference in ["src=", "url(", "@import"] {
            assert!(!plot.contains(reference), "{reference}");
        }
    }
    let errors = refused(&["ope", &log(), "-p", "uniform", "--plot", "a.pdf"]);
    assert!(errors.contains(".svg, .png or .html"), "{errors}");
}

#[test]
fn bad_input_says_what_where_and_what_to_do() {
    let log = log();
    for (arguments, expected) in [
        (
            vec!["ope", "no-such.parquet", "-p", "uniform"],
            "no-such.parquet",
        ),
        (vec!["ope", &log, "-p", "greedy"], "no policy is called"),
        (vec!["ope", &log, "-p", "column:nobody"], "nobody"),
        (vec!["ope", &log, "-p", "uniform", "--level", "95"], "level"),
        (
            vec!["ope", &log, "-p", "uniform", "-p", "uniform"],
            "--policy: two are called",
        ),
        (
            vec!["ope", &log, "-p", "best-of:m=4,model=no-such.egret"],
            "no-such.egret",
        ),
        (
            vec!["ope", &log, "-p", &format!("best-of:m=4,model={log}")],
            "is not a model",
        ),
        (
            vec!["ope", &log, "-p", "uniform", "--intervals", "gauss"],
            "betting",
        ),
    ] {
        let errors = refused(&arguments);
        assert!(errors.contains(expected), "{arguments:?}: {errors}");
    }
}

#[test]
fn a_bad_row_is_named_or_set_aside() {
    let file = path("ope-bad-row.jsonl");
    let good = r#"{"v":1,"context":[0.5],"action":0.25,"propensity":"density","density":2.0,"loss":0.5,"q":1.0}"#;
    let bad = good.replace("\"loss\":0.5", "\"loss\":7");
    fs::write(&file, [good, &bad, good].join("\n")).expect("written");
    let errors = refused(&["ope", &file, "-p", "column:q"]);
    assert!(
        errors.contains("ope-bad-row.jsonl") && errors.contains("row 2"),
        "{errors}"
    );
    let aside = path("ope-aside.jsonl");
    let text = stdout(egret(&[
        "ope",
        &file,
        "-p",
        "column:q",
        "--skip-bad",
        &aside,
    ]));
    assert!(text.contains("Rows that are not records: 1;"), "{text}");
    let kept = fs::read_to_string(&aside).expect("written");
    assert_eq!(kept.lines().count(), 1);
    assert!(kept.contains("ope-bad-row.jsonl"), "{kept}");
}

/// A point mass counts with weight 0: half of the mass is uniform, so that its density is ½, and the other half is a point mass.
#[test]
fn point_masses_count_with_weight_zero_and_are_said() {
    let file = path("ope-point-masses.jsonl");
    let drawn = r#"{"v":1,"context":[0.5],"action":0.25,"propensity":"density","density":0.5,"loss":0.5,"q":1.0}"#;
    let point_mass =
        r#"{"v":1,"context":[0.5],"action":0.25,"propensity":"pointMass","loss":0.0,"q":1.0}"#;
    fs::write(&file, [drawn, point_mass, drawn, point_mass].join("\n")).expect("written");
    let table = path("ope-point-masses.parquet");
    stdout(egret(&["log", "convert", &file, "-o", &table]));
    for log in [&file, &table] {
        let rows = rows(&["ope", log, "-p", "column:q", "--json"]);
        let row = &rows[0];
        assert_eq!((&row["n"], &row["estimate"]), (&json!(4), &json!(0.5)));
        assert_eq!(row["mean_weight"], 1.0);
        let warning = row["warnings"][0].as_str().expect("words");
        assert!(
            warning.starts_with("2 events are point masses"),
            "{warning}"
        );
    }
    fs::write(&file, [point_mass, point_mass].join("\n")).expect("written");
    let errors = refused(&["ope", &file, "-p", "column:q"]);
    assert!(errors.contains("nothing to weigh"), "{errors}");
}

#[test]
fn what_cannot_be_weighed_is_refused_or_said() {
    let file = path("ope-unfit.jsonl");
    let line = |more: &str| {
        format!(
            r#"{{"v":1,"context":[0.5],"action":0.25,"propensity":"density","density":1.0,"q":1.0,"tau":2.0,"gamma":3.0{more}}}"#
        )
    };
    let log = |first: &str, second: &str| {
        fs::write(&file, [line(first), line(second)].join("\n")).expect("written");
    };
    log(
        r#","loss":0.5,"passProb":0.1"#,
        r#","loss":0.5,"passProb":1.0"#,
    );
    let text = stdout(egret(&["ope", &file, "-p", "column:q"]));
    assert!(text.contains("1/passProb"), "{text}");
    let marginal = r#","loss":0.5,"densityKind":"marginal""#;
    log(marginal, marginal);
    let errors = refused(&["ope", &file, "-p", "column:q", "--stabilize"]);
    assert!(errors.contains("--stabilize"), "{errors}");
    stdout(egret(&["ope", &file, "-p", "column:q"]));
    log(r#","loss":0.5"#, "");
    let row = &rows(&["ope", &file, "-p", "column:q", "--json"])[0];
    assert_eq!(row["n"], 1);
    let verdict = row["verdict"].as_str().expect("words");
    assert!(
        verdict.contains("50.0% of the log could not be weighed"),
        "{verdict}"
    );
    let errors = refused(&["ope", &file, "-p", "column:q", "--skip-bad", &file]);
    assert!(errors.contains("would overwrite an input file"), "{errors}");
}

/// A model that has seen the events is said to be flattered; one that has not is not.
#[test]
fn a_model_is_valued_on_later_events() {
    let (log, target) = (log(), format!("best-of:m=8,model={}", halfway()));
    let all = rows(&["ope", &log, "-p", &target, "--json"]);
    let warning = all[0]["warnings"][0].as_str().expect("words");
    assert!(warning.contains("--from-seq"), "{warning}");
    let later = rows(&["ope", &log, "-p", &target, "--from-seq", "2000", "--json"]);
    assert_eq!(
        (&later[0]["n"], &later[0]["warnings"]),
        (&json!(2_000), &json!([]))
    );
}

/// The bandwidth is chosen by normal intervals, also where they are not asked for.
#[test]
fn a_bandwidth_is_chosen_whatever_is_reported() {
    let target = format!("kernel:model={}", halfway());
    let arguments = [
        "ope",
        &log(),
        "-p",
        &target,
        "--intervals",
        "betting",
        "--json",
    ];
    for row in rows(&arguments) {
        assert_eq!(row["interval"], "betting");
        assert!(
            row["policy"]
                .as_str()
                .expect("a name")
                .contains("bandwidth")
        );
    }
}
