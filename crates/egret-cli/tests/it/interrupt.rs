//! Ctrl-C says what was kept and how to go on, and the exit code is a shell's 130.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::log::text;
use crate::own_log::sales;
use crate::{egret, stdout};

fn started(arguments: &[&str], folder: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_egret"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

/// Starts a command, waits until it has come so far, and presses Ctrl-C.
fn interrupted(arguments: &[&str], folder: &Path, so_far: impl Fn() -> bool) -> Output {
    let mut child = started(arguments, folder);
    let begun = Instant::now();
    while !so_far() {
        let ended = child.try_wait().expect("a child");
        assert!(ended.is_none(), "it ended before it was interrupted");
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing happens");
        std::thread::sleep(Duration::from_millis(5));
    }
    press(&child);
    child.wait_with_output().expect("it ends")
}

fn press(child: &Child) {
    let pressed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(pressed.expect("kill is there").success());
}

fn told(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{errors}");
    assert_eq!(output.stdout, b"", "{errors}");
    errors
}

#[test]
fn training_goes_on_from_its_checkpoint() {
    let (folder, table) = sales("interrupt-learn", 3_000);
    stdout(egret(&["log", "init", text(&table)]));
    let learn = [
        "learn",
        "sales.csv",
        "--oracle",
        "fourier",
        "--epochs",
        "100000",
        "--patience",
        "100000",
        "--checkpoint",
        "state",
        "-o",
        "m.egret",
    ];
    let state = folder.join("state/training.checkpoint");
    let errors = told(&interrupted(&learn, &folder, || state.exists()));
    for part in ["interrupted: ", "training.checkpoint", "--resume"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    assert!(!folder.join("m.egret").exists());
    // What it says works, as long as it is let.
    let resume = [&learn[..], &["--resume"]].concat();
    let before = std::fs::metadata(&state).expect("kept").modified();
    let before = before.expect("a time");
    let later = || {
        let now = std::fs::metadata(&state).and_then(|state| state.modified());
        now.is_ok_and(|now| before < now)
    };
    assert!(told(&interrupted(&resume, &folder, later)).contains("--resume"));
}

#[test]
fn a_study_goes_on_from_its_journal() {
    let (folder, _) = sales("interrupt-lab", 10);
    let example = stdout(egret(&["lab", "run", "--example"]));
    std::fs::write(folder.join("experiment.toml"), example).expect("written");
    let run = ["lab", "run", "experiment.toml", "--results", "r"];
    let journal = folder.join("r/journal.jsonl");
    let some = || std::fs::metadata(&journal).is_ok_and(|journal| 0 < journal.len());
    let errors = told(&interrupted(&run, &folder, some));
    assert!(
        errors
            .contains("every run that was done is kept in r: the same command goes on from there"),
        "{errors}"
    );
}

#[test]
fn a_pipe_that_is_silent_is_left_at_once() {
    let (folder, _) = sales("interrupt-decide", 10);
    stdout(egret(&[
        "model",
        "new",
        "--space",
        "interval:5,50",
        "-o",
        text(&folder.join("m.egret")),
    ]));
    let mut child = started(&["decide", "-", "--model", "m.egret", "--json"], &folder);
    // A pipe that stays open, so that nothing but Ctrl-C ends the command.
    let mut input = child.stdin.take().expect("a pipe");
    writeln!(input, "{{}}").expect("sent");
    input.flush().expect("sent");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut answer = String::new();
    answers.read_line(&mut answer).expect("an answer");
    assert!(answer.contains("\"event\":0"), "{answer}");
    // The answer is there, so it waits for the next line.
    press(&child);
    let mut rest = String::new();
    answers.read_line(&mut rest).expect("the end");
    assert_eq!(rest, "", "nothing after the answer");
    let errors = told(&child.wait_with_output().expect("it ends"));
    drop(input);
    assert!(errors.contains("what was printed stands"), "{errors}");
}
