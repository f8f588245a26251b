use std::fs;

use crate::log::{log, refused, text};
use crate::own_log::sales;
use crate::{egret, folder, stdout};

#[test]
fn help_teaches_with_examples() {
    let help = stdout(egret(&["--help"]));
    assert!(
        help.contains("egret demo --seed 8 --output my-demo"),
        "{help}"
    );
    let help = stdout(egret(&["demo", "--help"]));
    assert!(help.contains("--decisions"), "{help}");
    assert!(help.contains("Examples:"), "{help}");
}

#[test]
fn it_knows_its_version() {
    let version = stdout(egret(&["--version"]));
    assert_eq!(version, format!("egret {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_are_a_script() {
    assert!(stdout(egret(&["completions", "bash"])).contains("complete"));
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let out = folder("manual").join("man1");
    let told = stdout(egret(&["man", text(&out)]));
    assert!(told.contains("egret.1"), "{told}");
    for (page, part) in [
        ("egret.1", "egret\\-ope"),
        ("egret-ope.1", "estimate\\-density"),
        ("egret-log-check.1", "bad rows"),
        ("egret-model-new.1", "objective"),
    ] {
        let page = fs::read_to_string(out.join(page)).expect(page);
        assert!(
            page.contains(".TH") && page.contains(part),
            "{part}: {page}"
        );
    }
    let errors = refused(&["man", "/dev/null/below"]);
    assert!(
        errors.contains("name a folder that can be written"),
        "{errors}"
    );
}

#[test]
fn pipes_have_no_colours() {
    let (_, file) = sales("no-colours", 500);
    stdout(egret(&["log", "init", text(&file)]));
    let shown = stdout(egret(&["ope", text(&file), "--policy", "uniform"]));
    assert!(
        shown.contains("reliable") && !shown.contains('\x1b'),
        "{shown:?}"
    );
}

#[test]
fn a_folder_that_cannot_be_made_says_what_to_do() {
    let file = folder("a-file");
    fs::write(&file, "in the way").expect("written");
    let out = file.join("below");
    let out = out.to_str().expect("a path in plain letters");
    let output = egret(&["demo", "--decisions", "400", "--output", out]);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("--output DIR"), "{errors}");
    assert!(errors.contains("a-file"), "{errors}");
}

#[test]
fn too_few_decisions_are_refused_with_the_range() {
    let output = egret(&["demo", "--decisions", "3"]);
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("400..=1000000"), "{errors}");
}

#[test]
fn every_command_has_an_example() {
    for command in [
        "demo", "ope", "evaluate", "audit", "learn", "train", "select", "decide",
    ] {
        let help = stdout(egret(&[command, "--help"]));
        assert!(help.contains("Examples"), "{help}");
    }
    for command in ["paper", "run", "compare", "peers", "worlds"] {
        let help = stdout(egret(&["lab", command, "--help"]));
        assert!(help.contains(&format!("egret lab {command}")), "{help}");
    }
}

#[test]
fn evaluate_and_train_are_other_names() {
    let (folder, file) = log("aliases", 100);
    let evaluated = |name| stdout(egret(&[name, text(&file), "-p", "uniform", "--json"]));
    assert_eq!(evaluated("evaluate"), evaluated("ope"));
    let trained = |name: &str| {
        let model = folder.join(name);
        let flags = ["--oracle", "ridge", "-o", text(&model)];
        stdout(egret(&[&[name, text(&file)][..], &flags].concat()));
        fs::read(&model).expect("written")
    };
    assert_eq!(trained("train"), trained("learn"));
}

#[test]
fn the_ending_of_a_plot_says_what_it_is() {
    let (folder, file) = log("plots", 100);
    for (name, start) in [
        ("plot.png", &b"\x89PNG"[..]),
        ("plot.svg", b"<svg"),
        ("plot.html", b"<!DOCTYPE html>"),
    ] {
        let plot = folder.join(name);
        let plotted = ["-p", "uniform", "--plot", text(&plot)];
        stdout(egret(&[&["ope", text(&file)][..], &plotted].concat()));
        let bytes = fs::read(&plot).expect("drawn");
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
        assert!(bytes.starts_with(start), "{head}");
    }
}

#[test]
fn errors_name_the_flag() {
    let (folder, file) = log("flags", 30);
    let model = folder.join("model.egret");
    let (file, model) = (text(&file), text(&model));
    for (arguments, flag) in [
        (
            vec!["ope", file, "-p", "uniform", "-p", "uniform"],
            "--policy: ",
        ),
        (
            vec!["ope", file, "-p", "uniform", "--level", "2"],
            "--level: ",
        ),
        (
            vec!["ope", file, "-p", "uniform", "--against", "x"],
            "--against: ",
        ),
        (
            vec!["ope", file, "-p", "uniform", "--estimators", "dr"],
            "--estimators: ",
        ),
        (vec!["audit", file, "--alpha", "2"], "--alpha: "),
        (vec!["audit", file, "--relearn"], "--relearn: "),
        (vec!["audit", file, "--models", text(&folder)], "--models: "),
        (
            vec!["learn", file, "-o", model, "--level", "2"],
            "--level: ",
        ),
        (
            vec!["learn", file, "-o", model, "--split", "0.5,0.6,0.7"],
            "--split: ",
        ),
        (vec!["log", "convert", file, "-o", "log.csv"], "-o: "),
        (
            vec![
                "learn",
                file,
                "-o",
                model,
                "--batch",
                "0",
                "--continue",
                file,
            ],
            "--batch: ",
        ),
    ] {
        let error = refused(&arguments);
        assert!(
            error.starts_with(&format!("error: {flag}")),
            "{arguments:?}: {error}"
        );
    }
}
