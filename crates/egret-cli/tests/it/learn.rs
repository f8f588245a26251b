//! `egret learn` and `egret select` on the demo's log.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use egret::{AnyModel, Context};

use crate::{egret, figures, folder, stdout};

/// The demo's log, made once for all tests here.
fn log() -> &'static str {
    static LOG: OnceLock<String> = OnceLock::new();
    LOG.get_or_init(|| {
        figures(7, 2_000, "learn-demo");
        let path = folder("learn-demo").join("log.parquet");
        path.to_str().expect("a path in plain letters").to_owned()
    })
}

/// A fresh folder of the test's own.
fn empty(name: &str) -> PathBuf {
    let folder = folder(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn run(command: &str, arguments: &[&str]) -> String {
    stdout(egret(&[&[command, log()], arguments].concat()))
}

fn refused(arguments: &[&str]) -> String {
    let output = egret(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in plain letters")
}

#[test]
fn a_model_is_learned_and_decides() {
    let folder = empty("learn-a-model");
    let (model, picture) = (folder.join("model.egret"), folder.join("curve.svg"));
    let fast = ["--oracle", "argmin", "-o", text(&model)];
    let printed = run("learn", &[&fast[..], &["--plot", text(&picture)]].concat());
    assert!(
        printed.contains("argmin ips: best after epoch"),
        "{printed}"
    );
    assert!(
        printed.contains("mean reward on 200 test events"),
        "{printed}"
    );
    let loaded = AnyModel::load(&fs::read(&model).expect("written")).expect("a model");
    let x = Context::dense(vec![0.5; loaded.spec().context_dim]).expect("finite");
    loaded.decide(1, &x).expect("an action");
    let svg = fs::read_to_string(&picture).expect("drawn");
    assert!(svg.contains("Squared error on validation events"));
}

#[test]
fn the_same_seed_gives_the_same_model_and_breaks_change_nothing() {
    let folder = empty("learn-resume");
    let model = |name: &str| folder.join(name);
    let learn = |name: &str, more: &[&str]| {
        let path = model(name);
        let common = ["--oracle", "argmin:hidden=6x4", "--patience", "9"];
        run("learn", &[&common[..], &["-o", text(&path)], more].concat());
        fs::read(path).expect("written")
    };
    let training = folder.join("training");
    let kept = ["--checkpoint", text(&training)];
    let whole = learn("whole", &["--epochs", "4"]);
    assert_eq!(learn("again", &["--epochs", "4"]), whole);
    assert_ne!(learn("other", &["--epochs", "4", "--seed", "1"]), whole);
    // Two epochs, a break, and two more.
    let half = learn("half", &[&["--epochs", "2"], &kept[..]].concat());
    assert_ne!(half, whole);
    let resumed = [&["--epochs", "4", "--resume"], &kept[..]].concat();
    assert_eq!(learn("resumed", &resumed), whole);

    let no = model("no");
    let again = [&["learn", log(), "-o", text(&no)], &kept[..]].concat();
    let error = refused(&again);
    assert!(error.contains("--resume"), "{error}");
    let error = refused(&[&again[..], &["--seed", "5", "--resume"]].concat());
    assert!(error.contains("other settings"), "{error}");
    assert!(!no.exists());
}

#[test]
fn the_papers_protocol_is_a_flag() {
    let folder = empty("learn-paper");
    let model = folder.join("paper.egret");
    let printed = run("learn", &["--paper", "-o", text(&model), "--json"]);
    let found: serde_json::Value = serde_json::from_str(&printed).expect("one object");
    let name = found["name"].as_str().expect("a name");
    assert!(name.starts_with("argmin 13x13 "), "{name}");
    assert_eq!(found["train"], 1_600);
    let tested = &found["tested"]["interval"];
    assert!(tested["low"].as_f64() <= tested["high"].as_f64());
    assert!(model.exists());
}

#[test]
fn a_winner_is_selected_and_can_be_valued() {
    let folder = empty("select");
    let (best, page) = (folder.join("best.egret"), folder.join("page.html"));
    let printed = run(
        "select",
        &[
            "--oracle",
            "argmin",
            "--oracle",
            "ridge",
            "--method",
            "dm,ips",
            "--split",
            "0.5,0.1,0.4",
            "-o",
            text(&best),
            "--json",
        ],
    );
    let rows: Vec<serde_json::Value> = serde_json::from_str(&printed).expect("a list");
    assert_eq!(rows.len(), 4);
    let winners: Vec<_> = rows.iter().filter(|row| row["winner"] == true).collect();
    assert_eq!(winners.len(), 1);
    for row in &rows {
        assert!(row["estimate"].as_f64() <= winners[0]["estimate"].as_f64());
        assert!(row["low"].as_f64() < row["high"].as_f64());
        assert_eq!(row["n"], 800);
    }
    let model = AnyModel::load(&fs::read(&best).expect("written")).expect("a model");
    assert!(0 < model.batches_learned());
    assert_eq!(model.settings(), &egret::Settings::default());
    let policy = format!("best-of:m=8,model={}", text(&best));
    run("ope", &["--policy", &policy]);

    let list = folder.join("candidates.json");
    let candidates = r#"[{"oracle": {"least_squares": {"forecaster": "ridge", "lambda": 1.0, "squares": true}},
        "method": {"clipped_ips": {"cap": 5.0, "point_masses": "leave_out"}}, "epochs": 1, "steps": 1}]"#;
    fs::write(&list, candidates).expect("written");
    let printed = run(
        "select",
        &[
            "--candidates",
            text(&list),
            "-o",
            text(&best),
            "--plot",
            text(&page),
        ],
    );
    assert!(
        printed.contains("ridge with squares ips is the only candidate"),
        "{printed}"
    );
    assert!(fs::read_to_string(&page).expect("drawn").contains("<svg"));
}

#[test]
fn what_cannot_be_is_said_and_nothing_is_written() {
    let folder = empty("learn-refused");
    let out = folder.join("model.egret");
    let out = text(&out);
    for (arguments, expected) in [
        (
            vec!["learn", "nowhere.parquet", "-o", out],
            "nowhere.parquet",
        ),
        (
            vec!["learn", log(), "-o", out, "--split", "0.8,0.1"],
            "expected three",
        ),
        (
            vec!["learn", log(), "-o", out, "--split", "0.8,0.1,0.3"],
            "sum of the shares",
        ),
        (vec!["learn", log(), "-o", out, "--clip", "0"], "cap is 0"),
        (
            vec!["learn", log(), "-o", out, "--oracle", "argmin:hidden=3"],
            "cannot have hidden=3",
        ),
        (
            vec!["learn", log(), "-o", out, "--serve", "greedy"],
            "best-of:m=M",
        ),
        (
            vec!["learn", log(), "-o", out, "--plot", "a.pdf"],
            ".svg, .png or .html",
        ),
        (
            vec!["learn", log(), "-o", out, "--space", "interval:0,0.001"],
            "row 1: mu is interval:5,50, and interval:0,0.001 was given",
        ),
        (vec!["learn", log(), "-o", out, "--resume"], "--checkpoint"),
        (
            vec!["select", log(), "-o", out, "--candidates", "nowhere.json"],
            "nowhere.json",
        ),
        (
            vec!["select", log(), "-o", out, "--split", "1,0,0"],
            "held-out rows",
        ),
        (
            vec!["select", log(), "-o", out, "--level", "1"],
            "level is 1",
        ),
    ] {
        let error = refused(&arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    let left = fs::read_dir(&folder).expect("a folder").count();
    assert_eq!(left, 0);
}

#[test]
fn the_candidates_of_the_help_are_read() {
    let folder = empty("select-example");
    let help = stdout(egret(&["select", "--help"]));
    let start = help.find("  [{").expect("a list");
    let end = start + help[start..].find("}]").expect("its end") + 2;
    let file = folder.join("candidates.json");
    fs::write(&file, &help[start..end]).expect("written");
    let model = folder.join("best.egret");
    let flags = ["--candidates", text(&file), "-o", text(&model), "--csv"];
    assert_eq!(run("select", &flags).lines().count(), 3);
}
