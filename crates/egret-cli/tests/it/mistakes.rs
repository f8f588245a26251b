//! What is said of mistakes in flags and files: each message names the fix. `EGRET_BLESS=1` writes what is said now.

use std::fs;
use std::path::Path;

use crate::own_log::sales;
use crate::{egret, stdout};

#[test]
fn every_mistake_names_its_fix() {
    let (folder, table) = sales("mistakes", 200);
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("written");
    let header = "price,p,revenue,age\n";
    write("short.csv", &format!("{header}20,0.02,5,31\n20,0.02,5\n"));
    write("zero.csv", &format!("{header}20,0,5,31\n"));
    write("rows.jsonl", "{\"price\":20,\"p\":0.02,\"revenue\":5}\n");
    write("minus.csv", &format!("{header}20,-0.02,5,31\n"));
    fs::create_dir_all(folder.join("empty")).expect("made");
    write("words.csv", &format!("{header}cheap,0.02,5,31\n"));
    write("far.csv", &format!("{header}99,0.02,5,31\n"));
    write("rich.csv", &format!("{header}20,0.02,51,31\n"));
    write(
        "quote.csv",
        &format!("{header}20,0.02,5,\"31\n20,0.02,5,32\n"),
    );
    write("typo.csv", header);
    write("typo.csv.toml", "acton = \"price\"\n");
    write("empty.csv", "");
    write("broken.parquet", "PAR1 and nothing else");
    write("no-density.csv", "price,revenue\n20,5\n");
    fs::create_dir_all(folder.join("tables")).expect("made");
    write("tables/a.csv", header);
    let place = table.to_str().expect("plain letters");
    stdout(egret(&["log", "init", place]));
    let model = folder.join("m.egret");
    stdout(egret(&[
        "learn",
        place,
        "--oracle",
        "ridge",
        "-o",
        model.to_str().expect("plain letters"),
    ]));
    let columns = "--action price --density p --density-per-unit --reward revenue --reward-range 0,50 --space interval:5,50";
    let here = folder.canonicalize().expect("made");
    let here = format!("{}/", here.display());
    let mut said = String::new();
    for command in [
        "ope sales.csv --policy unifrom",
        "ope sales.csv --policy uniform --level 95",
        "ope sales.csv --policy uniform --against unifrom --policy low=uniform",
        "ope sales.csv --policy uniform --from-seq 100",
        "ope sales.csv --policy uniform --replicates 50",
        "ope sales.csv --policy uniform --model m.egret --estimators ips",
        "ope sales.csv --policy column:q",
        "ope sales.csv --policy best-of:m=8,model=sales.csv",
        "ope sales.csv --policy uniform --space interval:0,50 --density-per-unit --action prise",
        "ope no-density.csv --policy uniform --action price --reward revenue --reward-range 0,50",
        "ope no-density.csv --policy uniform --action price --reward revenue --reward-range 0,50 --density none --space interval:5,50",
        "ope sales.csv --policy uniform --density p --estimate-density",
        "ope no-density.csv --policy uniform --action price --reward revenue --reward-range 0,50 --estimate-density --space interval:5,50",
        "learn sales.csv --estimate-density --continue m.egret -o n.egret",
        "model new --objective maximize:0,50 -o n.egret",
        "ope sales.csv --policy uniform --reward-range 0-50",
        "ope typo.csv --policy uniform",
        "ope empty.csv --policy uniform",
        "ope broken.parquet --policy uniform",
        "ope missing.csv --policy uniform",
        "ope tables --policy uniform",
        "ope short.csv --policy uniform COLUMNS",
        "ope zero.csv --policy uniform COLUMNS",
        "ope words.csv --policy uniform COLUMNS",
        "ope far.csv --policy uniform COLUMNS",
        "ope rich.csv --policy uniform COLUMNS",
        "ope quote.csv --policy uniform COLUMNS",
        "ope short.csv --policy uniform --reward revenue --density p --action price",
        "learn sales.csv --method dm --clip 3 -o x.egret",
        "learn sales.csv --continue sales.csv -o x.egret",
        "learn sales.csv -o sales.csv",
        "decide sales.csv --model sales.csv",
        "decide missing.csv --model m.egret",
        "decide sales.csv --model m.egret --id customer",
        "log convert sales.csv -o sales.xlsx",
        "audit sales.csv --alpha 5",
        "select sales.csv --folds 3 --method dm -o x.egret",
        "ope minus.csv --policy uniform COLUMNS",
        "ope rows.jsonl --policy uniform",
        "ope sales.csv --policy uniform --simultaneous",
        "ope sales.csv --policy uniform --seed 3",
        "ope sales.csv --policy uniform --reward revenue --reward-range 0,50 --loss-range 0,1",
        "ope sales.csv --policy uniform --context colour",
        "ope sales.csv --policy uniform --skip-bad nowhere/bad.jsonl",
        "ope no-density.csv --policy uniform --estimate-density --density-per-unit",
        "audit sales.csv --replay-every 5",
        "learn sales.csv --paper --epochs 3 -o x.egret",
        "learn sales.csv --oracle ridge --patience 2 -o x.egret",
        "learn sales.csv -o nowhere/x.egret --oracle ridge",
        "select sales.csv --candidates few.json --clip 3 -o x.egret",
        "log check sales.csv --skip-bad bad.jsonl",
        "log convert sales.csv -o nowhere/x.jsonl",
        "log init empty",
        "log stats no-density.csv --density none --action price --space interval:5,50 --plot x.svg",
        "lab peers --peers none --python python3",
        "lab paper table1 --seeds 3",
        "lab paper --simulated --csv",
    ] {
        let flags = command.replace("COLUMNS", columns);
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_egret"))
            .args(flags.split(' '))
            .current_dir(&folder)
            .output()
            .expect("it starts");
        assert!(!output.status.success(), "{command}");
        let errors = String::from_utf8(output.stderr).expect("text");
        // Where they are refused by the parser of flags, its usage follows.
        let errors = errors
            .split("\n\nUsage")
            .next()
            .unwrap_or_default()
            .trim_end()
            .replace(&here, "");
        said += &format!("$ egret {command}\n{errors}\n\n");
    }
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mistakes.txt");
    if std::env::var_os("EGRET_BLESS").is_some() {
        fs::write(&kept, &said).expect("written");
    }
    let expected = fs::read_to_string(&kept).unwrap_or_default();
    assert_eq!(said, expected);
}
