//! A new user with a table of sales: from the data to an answer, and to prices, one command for each question.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::log::{refused, text};
use crate::{egret, folder, stdout};

/// Numbers in [0, 1) that are spread evenly.
fn even(row: u64, by: f64) -> f64 {
    (0.5 + row as f64 * by).fract()
}

/// An empty folder with a table as pandas writes it: prices from 5 to 50, uniform or in the lower half, with their density per
/// unit of money, and what they earned.
pub fn sales(name: &str, rows: u64) -> (PathBuf, PathBuf) {
    let folder = folder(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("made");
    let mut table = String::from(",order_id,ts,price,p,revenue,age,income,segment\n");
    for row in 0..rows {
        let (u, v) = (even(row, 0.754_877_666), even(row, 0.569_840_291));
        let price = if u < 0.5 {
            5.0 + 90.0 * u
        } else {
            5.0 + 45.0 * (u - 0.5)
        };
        let density = 0.5 / 45.0 + if price < 27.5 { 0.5 / 22.5 } else { 0.0 };
        let (segment, most) = if row % 2 == 0 {
            ("frugal", 12.0)
        } else {
            ("rich", 40.0)
        };
        let revenue = if price < most + 8.0 * (v - 0.5) {
            price
        } else {
            0.0
        };
        let income = if row % 7 == 0 {
            String::new()
        } else {
            (20_000 + 37 * (row % 900)).to_string()
        };
        let day = 1 + row * 28 / rows;
        table += &format!(
            "{row},A-{row:05},2026-02-{day:02} 10:00:00,{price:.4},{density},{revenue:.4},{},{income},{segment}\n",
            20 + row % 50
        );
    }
    let file = folder.join("sales.csv");
    fs::write(&file, table).expect("written");
    (folder, file)
}

#[test]
fn from_a_table_to_prices() {
    let (folder, table) = sales("own-log", 3_000);
    let sales = text(&table);
    // Which column is what?
    let told = stdout(egret(&["log", "init", sales]));
    for line in [
        "action = \"price\"",
        "space = \"interval:5,50\"",
        "density = \"p\"",
        "density_per_unit = true",
        "reward = \"revenue\"",
        "reward_range = \"0,50\"",
        "time = \"ts\"",
        "id = \"order_id\"",
        "context = [\"age\", \"income\", \"segment\"]",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    // Again it says the same; what somebody changed is not lost.
    stdout(egret(&["log", "init", sales]));
    let beside = folder.join("sales.csv.toml");
    let changed = fs::read_to_string(&beside).expect("written") + "# mine\n";
    fs::write(&beside, &changed).expect("written");
    assert!(refused(&["log", "init", sales]).contains("--force"));
    assert_eq!(fs::read_to_string(&beside).expect("there"), changed);

    // Is anything wrong with it?
    assert_eq!(
        stdout(egret(&["log", "check", sales])),
        "3,000 records, 0 bad rows\n"
    );

    // What would prices at random have earned? In money.
    let rows = stdout(egret(&["ope", sales, "--policy", "uniform", "--json"]));
    let rows: Value = serde_json::from_str(&rows).expect("JSON");
    let truth = 0.5 * (12.0_f64.powi(2) - 25.0 + 40.0_f64.powi(2) - 25.0) / 90.0;
    for row in rows.as_array().expect("a list") {
        let number = |key: &str| row[key].as_f64().expect("a number");
        assert!(
            number("low") < truth && truth < number("high"),
            "{truth} {row}"
        );
    }
    // For people in 80 columns, for others as they like.
    let shown = stdout(egret(&["ope", sales, "--policy", "uniform"]));
    let table_lines = shown.lines().filter(|line| line.starts_with(['│', '┌']));
    assert!(
        table_lines.clone().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    assert!(
        shown.contains("verdict") && !shown.contains("mean weight"),
        "{shown}"
    );
    assert!(stdout(egret(&["ope", sales, "-p", "uniform", "--wide"])).contains("mean weight"));
    let csv = stdout(egret(&["ope", sales, "-p", "uniform", "--csv"]));
    assert!(
        csv.starts_with("policy,estimator,interval,objective,estimate,low,high,"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 4);
    // What was asked for beside the values is in the table too.
    let spread = ["ope", sales, "-p", "uniform", "--csv", "--quantiles", "0.5"];
    assert_eq!(stdout(egret(&spread)).lines().count(), 5);
    let markdown = stdout(egret(&["ope", sales, "-p", "uniform", "--markdown"]));
    assert!(
        markdown.contains("| policy | verdict | by | estimate | low, high |"),
        "{markdown}"
    );

    // Which prices are better?
    let model = folder.join("m.egret");
    let learned = stdout(egret(&[
        "learn",
        sales,
        "-o",
        text(&model),
        "--epochs",
        "3",
    ]));
    assert!(
        learned.contains("mean reward") && learned.contains("3,000 events"),
        "{learned}"
    );
    let customers = folder.join("customers.csv");
    fs::write(
        &customers,
        "name,age,income,segment\nAnn,30,21000,frugal\n\"Bo, Jr\",30,21000,rich\n",
    )
    .expect("written");
    let show = [
        "model",
        "show",
        text(&model),
        "--contexts",
        text(&customers),
    ];
    let shown = stdout(egret(&show));
    for part in [
        "interval:5,50",
        "maximize:0,50",
        "feature segment",
        "category",
        "best ",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let plot = folder.join("curves.svg");
    stdout(egret(&[&show[..], &["--plot", text(&plot)]].concat()));
    assert!(fs::read_to_string(plot).expect("drawn").starts_with("<svg"));

    // Prices, and more prices: no event number comes twice.
    let prices = folder.join("prices.csv");
    let decide = [
        "decide",
        "--model",
        text(&model),
        text(&customers),
        "--id",
        "name",
        "-o",
        text(&prices),
    ];
    let (first, second) = (decided(&decide, &prices), decided(&decide, &prices));
    assert_eq!(first.len(), 2);
    assert_eq!(first[1].0, "\"Bo, Jr\"");
    assert!(
        first
            .iter()
            .all(|one| second.iter().all(|other| one.1 != other.1))
    );
    for (_, _, price) in first.iter().chain(&second) {
        assert!((5.0..=50.0).contains(price), "{price}");
    }

    // The model goes on learning, and what says nothing then is refused.
    let later = folder.join("later.egret");
    let go_on = [
        "learn",
        sales,
        "--continue",
        text(&model),
        "-o",
        text(&later),
    ];
    let told = stdout(egret(&go_on));
    assert!(
        told.contains("3,000 events with an outcome, learned once in 375 batches"),
        "{told}"
    );
    let error = refused(&[&go_on[..], &["--epochs", "3"]].concat());
    assert!(
        error.contains("--epochs") && error.contains("--continue"),
        "{error}"
    );
}

/// (name, event, price) of each decision in a file.
fn decided(arguments: &[&str], prices: &Path) -> Vec<(String, u64, f64)> {
    let output = egret(arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = fs::read_to_string(prices).expect("written");
    let mut lines = lines.lines();
    assert_eq!(lines.next(), Some("name,event,action,density"));
    lines
        .map(|line| {
            let mut cells = line.rsplitn(4, ',');
            let _density: f64 = cells.next().expect("a cell").parse().expect("a number");
            let price = cells.next().expect("a cell").parse().expect("a number");
            let event = cells.next().expect("a cell").parse().expect("a number");
            (cells.next().expect("a cell").to_owned(), event, price)
        })
        .collect()
}

#[test]
fn a_pipe_is_answered_line_by_line() {
    let (folder, table) = sales("own-log-pipe", 300);
    stdout(egret(&["log", "init", text(&table)]));
    let model = folder.join("m.egret");
    stdout(egret(&[
        "learn",
        text(&table),
        "--oracle",
        "ridge",
        "-o",
        text(&model),
    ]));
    let mut child = Command::new(env!("CARGO_BIN_EXE_egret"))
        .args(["decide", "-", "--model", text(&model), "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut events = Vec::new();
    for row in [
        "{\"age\": 30, \"segment\": \"rich\"}",
        "{\"age\": 40, \"segment\": \"frugal\"}",
    ] {
        writeln!(input, "{row}").expect("sent");
        input.flush().expect("sent");
        // The next line is not sent before this one is answered.
        let mut line = String::new();
        answers.read_line(&mut line).expect("an answer");
        let answer: Value = serde_json::from_str(&line).expect("an object");
        events.push(answer["event"].as_u64().expect("a number"));
    }
    assert_eq!(events, [0, 1]);
    drop(input);
    assert!(child.wait().expect("it ends").success());

    // A log from a pipe, compressed or not, is the same log.
    let piped = |bytes: &[u8]| {
        let flags = [
            "--action",
            "price",
            "--density",
            "p",
            "--density-per-unit",
            "--space",
            "interval:5,50",
        ];
        let mut child = Command::new(env!("CARGO_BIN_EXE_egret"))
            .args([
                "ope",
                "-",
                "-p",
                "uniform",
                "--json",
                "--reward",
                "revenue",
                "--reward-range",
                "0,50",
            ])
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        child
            .stdin
            .take()
            .expect("a pipe")
            .write_all(bytes)
            .expect("sent");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("text")
    };
    let whole = piped(&fs::read(&table).expect("there"));
    assert_eq!(
        whole,
        stdout(egret(&["ope", text(&table), "-p", "uniform", "--json"]))
    );
}

#[test]
fn a_log_without_features_or_densities_says_what_it_lacks() {
    let (folder, table) = sales("own-log-bare", 200);
    let model = folder.join("m.egret");
    let flags = [
        "--action",
        "price",
        "--reward",
        "revenue",
        "--reward-range",
        "0,50",
        "--space",
        "interval:5,50",
    ];
    let learn = [
        "learn",
        text(&table),
        "--oracle",
        "ridge",
        "--method",
        "dm",
        "--density",
        "none",
        "-o",
        text(&model),
    ];
    let told = stdout(egret(&[&learn[..], &flags].concat()));
    assert!(
        told.contains("decides alike for all: name their columns with --context"),
        "{told}"
    );
    assert!(told.contains("its mean reward was not estimated"), "{told}");
    assert!(told.contains("so this is a warm start"), "{told}");
    let named = [&learn[..], &flags, &["--context", "age,segment"]].concat();
    assert!(!stdout(egret(&named)).contains("decides alike"));
    let more = folder.join("more.egret");
    let on = [
        "learn",
        text(&table),
        "--density",
        "none",
        "--continue",
        text(&model),
        "-o",
        text(&more),
    ];
    let told = stdout(egret(&[&on[..], &flags].concat()));
    assert!(told.contains("so this is a warm start"), "{told}");
    let estimate = [
        "ope",
        text(&table),
        "-p",
        "uniform",
        "--density",
        "none",
        "--estimate-density",
    ];
    let told = stdout(egret(&[&estimate[..], &flags].concat()));
    assert!(
        told.contains("an assumption") && !told.contains("; reliable"),
        "{told}"
    );
    let check = ["log", "check", text(&table), "--density", "none"];
    let told = stdout(egret(&[&check[..], &flags].concat()));
    assert!(
        told.contains("no other policy can be evaluated from this log"),
        "{told}"
    );
}

#[cfg(unix)]
#[test]
fn devices_stay_devices() {
    use std::os::unix::fs::FileTypeExt as _;

    let (folder, table) = sales("own-log-devices", 60);
    stdout(egret(&["log", "init", text(&table)]));
    let link = folder.join("link.jsonl");
    std::os::unix::fs::symlink(folder.join("target.jsonl"), &link).expect("linked");
    stdout(egret(&["log", "convert", text(&table), "-o", text(&link)]));
    assert!(link.is_symlink());
    let lines = fs::read_to_string(folder.join("target.jsonl")).expect("written");
    assert_eq!(lines.lines().count(), 60);
    let model = folder.join("link.egret");
    std::os::unix::fs::symlink("target.egret", &model).expect("linked");
    let learn = ["learn", text(&table), "--oracle", "ridge", "-o"];
    stdout(egret(&[&learn[..], &[text(&model)]].concat()));
    assert!(model.is_symlink() && folder.join("target.egret").is_file());
    let convert = ["log", "convert", text(&table), "--format", "jsonl", "-o"];
    for command in [&convert[..], &learn] {
        let output = egret(&[command, &["/dev/null"]].concat());
        assert!(output.status.success() && !output.stdout.is_empty());
    }
    let null = fs::metadata("/dev/null").expect("there");
    assert!(null.file_type().is_char_device());
    // Where the standard output is a file, what is told does not write over it.
    for to in ["-", "/dev/stdout"] {
        let place = folder.join("redirected");
        let redirected = |command: &[&str]| {
            let done = Command::new(env!("CARGO_BIN_EXE_egret"))
                .args([command, &[to]].concat())
                .stdout(fs::File::create(&place).expect("made"))
                .status();
            assert!(done.expect("it starts").success());
            fs::read(&place).expect("written")
        };
        assert_eq!(redirected(&convert), lines.as_bytes());
        assert_eq!(redirected(&learn), fs::read(&model).expect("there"));
    }
    // Nor does the next program.
    let both = format!(
        "{{ '{}' {} -; echo done; }}",
        env!("CARGO_BIN_EXE_egret"),
        convert.join(" ")
    );
    let shared = fs::File::create(folder.join("shared")).expect("made");
    let done = Command::new("sh")
        .args(["-c", &both])
        .stdout(shared)
        .status();
    assert!(done.expect("it starts").success());
    let shared = fs::read_to_string(folder.join("shared")).expect("written");
    assert_eq!(shared, format!("{lines}done\n"));
}

#[test]
fn a_folder_of_tables_has_one_mapping() {
    let (folder, table) = sales("own-log-folder", 300);
    let days = folder.join("days");
    fs::create_dir_all(&days).expect("made");
    let rows = fs::read_to_string(&table).expect("there");
    let (header, rows) = rows.split_once('\n').expect("a header");
    let rows: Vec<&str> = rows.lines().collect();
    for (day, rows) in rows.chunks(100).enumerate() {
        let text = format!("{header}\n{}\n", rows.join("\n"));
        fs::write(days.join(format!("{day}.csv")), text).expect("written");
    }
    let told = stdout(egret(&["log", "init", text(&days)]));
    assert!(
        told.contains("density = \"p\"") && told.contains("days/log.toml"),
        "{told}"
    );
    let check = |path: &str| stdout(egret(&["log", "check", path]));
    assert_eq!(check(text(&days)), "300 records, 0 bad rows\n");
    assert_eq!(
        check(text(&days.join("*.csv"))),
        "300 records, 0 bad rows\n"
    );
}
