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

/// Cells of a line of CSV.
fn cells(line: &str) -> usize {
    let mut quoted = false;
    let ends = line.chars().filter(|letter| {
        quoted ^= *letter == '"';
        *letter == ',' && !quoted
    });
    1 + ends.count()
}

#[test]
fn every_report_is_to_be_had_in_every_form() {
    let (folder, file) = sales("forms", 400);
    let at = |name: &str| text(&folder.join(name)).to_owned();
    stdout(egret(&["log", "init", text(&file)]));
    let (model, winner) = (at("m.egret"), at("w.egret"));
    let [shown, run, played, beside, again] = ["demo", "run", "worlds", "peers", "paper"].map(at);
    let experiment = folder.join("experiment.toml");
    let example = stdout(egret(&["lab", "run", "--example"]));
    let shorter = example
        .replace("seeds = 5", "seeds = 2")
        .replace("decisions = 2000", "decisions = 100");
    fs::write(&experiment, shorter).expect("written");
    let (file, experiment) = (text(&file), text(&experiment));
    let customers = at("customers.csv");
    fs::write(&customers, "age,income,segment\n30,21000,rich\n").expect("written");
    let learn = ["learn", file, "--oracle", "ridge", "-o", &model];
    let went_on = ["learn", file, "--continue", &model, "-o", &winner];
    let select = [
        "select", file, "--oracle", "ridge", "--method", "dm", "-o", &winner,
    ];
    let demo = ["demo", "--decisions", "400", "--output", &shown];
    let worlds = [
        "lab",
        "worlds",
        "--worlds",
        "price",
        "--learners",
        "naive,uniform",
        "--seeds",
        "2",
        "--decisions",
        "200",
        "--results",
        &played,
    ];
    let peers = [
        "lab",
        "peers",
        "--peers",
        "none",
        "--decisions",
        "60",
        "--seeds",
        "2",
        "--results",
        &beside,
    ];
    let paper = [
        "lab",
        "paper",
        "greedy",
        "--simulated",
        "--seeds",
        "2",
        "--decisions",
        "80",
        "--results",
        &again,
    ];
    for (command, draws) in [
        (&["ope", file, "-p", "uniform", "--worst", "0.1"][..], true),
        (&["audit", file], true),
        (&["log", "check", file], false),
        (&["log", "stats", file], true),
        (&["log", "head", file], false),
        (&learn, true),
        (&went_on, false),
        (&select, true),
        (&["model", "show", &model, "--contexts", &customers], true),
        (&demo, false),
        (&["lab", "run", experiment, "--results", &run], false),
        (&["lab", "compare", &run], false),
        (&worlds, false),
        (&peers, false),
        (&paper, false),
    ] {
        let csv = stdout(egret(&[command, &["--csv"]].concat()));
        let mut lines = csv.lines();
        let columns = lines.next().map(cells);
        let is_check = command[1] == "check";
        assert!(
            is_check || lines.clone().next().is_some(),
            "{command:?}: {csv}"
        );
        assert!(
            lines.all(|line| Some(cells(line)) == columns),
            "{command:?}: {csv}"
        );
        let markdown = stdout(egret(&[command, &["--markdown"]].concat()));
        let sentence = command.contains(&"--continue");
        assert!(
            sentence || markdown.contains("| --- |") || markdown.contains("---: |"),
            "{command:?}: {markdown}"
        );
        assert!(!markdown.contains('│'), "{command:?}: {markdown}");
        if draws {
            for (ending, start) in [
                ("png", &b"\x89PNG"[..]),
                ("svg", b"<svg"),
                ("html", b"<!DOCTYPE html>"),
            ] {
                let plot = at(&format!("plot.{ending}"));
                stdout(egret(&[command, &["--plot", &plot]].concat()));
                let drawn = fs::read(&plot).expect("drawn");
                assert!(drawn.starts_with(start), "{command:?}");
                let dark = b"prefers-color-scheme: dark";
                let has_dark = drawn.windows(dark.len()).any(|part| part == dark);
                assert!(has_dark || ending == "png", "{command:?} {ending}");
            }
        }
    }
}
