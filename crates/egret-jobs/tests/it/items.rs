use std::fs;
use std::path::{Path, PathBuf};

use egret::{AnyAction, AnyModel, Item, TrainedRows};
use egret_jobs::create::{CreateRequest, create};
use egret_jobs::go_on::{GoOnRequest, go_on};
use egret_jobs::items::{ChangeItemsRequest, change_items};
use egret_jobs::{JobError, LogSource, Silent};
use tempfile::TempDir;

use crate::{assert_request, folder, fresh};

/// A model over four items that was trained on a row, and the folder it is in.
fn catalogue() -> (TempDir, PathBuf) {
    let folder = folder();
    let embeddings = folder.path().join("items.csv");
    fs::write(&embeddings, "0,1\n1,0\n0.5,0.5\n0.2,0.9\n").expect("written");
    let model = create(&CreateRequest {
        embeddings: Some(embeddings),
        ..CreateRequest::default()
    });
    let mut rows = TrainedRows::default();
    rows.add(b"a row");
    let model = model.expect("a model").with_trained_rows(Some(rows));
    let file = folder.path().join("model.egret");
    fs::write(&file, model.save()).expect("written");
    (folder, file)
}

fn change(model: &Path, add: Option<&Path>, remove: &[u32]) -> ChangeItemsRequest {
    ChangeItemsRequest {
        model: model.to_owned(),
        add: add.map(Path::to_owned),
        remove: remove.to_vec(),
    }
}

#[test]
fn items_come_and_go_and_what_was_learned_stays() {
    let (folder, file) = catalogue();
    let new = folder.path().join("new.csv");
    fs::write(&new, "0.3,0.3\n").expect("written");
    let (model, report) = change_items(&change(&file, Some(&new), &[1, 3])).expect("changed");
    assert_eq!((report.added, report.removed), (Some((4, 5)), 2));
    assert_eq!(report.space, model.spec().space.to_string());
    assert_eq!(model.trained_rows().map(TrainedRows::rows), Some(1));
    let contexts = egret::Context::from(egret::Features::new());
    let played: Vec<AnyAction> = (0..200)
        .map(|event| model.decide(event, &contexts).expect("an item").action)
        .collect();
    for item in 0..5 {
        let there = played.contains(&AnyAction::Item(Item(item)));
        assert_eq!(there, ![1, 3].contains(&item), "{item}");
    }
}

/// Items 1 and 3 are played, and then taken out. A table does not name the catalogue, and egret's own log names that of before.
#[test]
fn logs_of_before_items_were_removed_are_learned_from() {
    let (folder, file) = catalogue();
    let go_on = |model: &AnyModel, name: &str, text: &str| -> Result<AnyModel, JobError> {
        let [saved, log] = ["later.egret", name].map(|name| folder.path().join(name));
        fs::write(&saved, model.save()).expect("written");
        fs::write(&log, text).expect("written");
        let request = GoOnRequest {
            model: saved,
            log: LogSource::new([log]),
            batch: 1,
        };
        let (model, report) = go_on(&request, &Silent)?;
        assert_eq!((report.counts.used, report.batches_learned), (3, 3));
        Ok(model)
    };
    let table = "action,density,loss\n1,1.5,0.25\n0,1,1\n3,1,0.5\n";
    let own = [(1, 1.5, 0.25), (0, 1.0, 1.0), (3, 1.0, 0.5)].map(|(action, density, loss)| {
        format!(
            r#"{{"v":1,"context":{{}},"mu":{{"items":{{"count":4,"weights":null}}}},"action":{action},"propensity":"density","density":{density},"loss":{loss}}}"#
        )
    });
    let own = own.join("\n");
    let (later, _) = change_items(&change(&file, None, &[1, 3])).expect("changed");
    let of_table = go_on(&later, "log.csv", table).expect("learned");
    let of_own = go_on(&later, "log.jsonl", &own).expect("learned");
    assert_eq!(of_table.content_hash(), of_own.content_hash());
    assert_ne!(of_table.content_hash(), later.content_hash());
    // As a model that learned before the items were removed.
    let before = AnyModel::load(&fs::read(&file).expect("written")).expect("a model");
    let before = go_on(&before, "log.csv", table).expect("learned");
    fs::write(&file, before.save()).expect("written");
    let (before, _) = change_items(&change(&file, None, &[1, 3])).expect("changed");
    assert_eq!(before.content_hash(), of_table.content_hash());
    // What never was an item is none.
    let error = go_on(&later, "log.csv", &table.replace("\n3,", "\n4,"));
    let error = error.expect_err("four items").to_string();
    assert!(
        error.contains("row 4") && error.contains("items:4"),
        "{error}"
    );
}

#[test]
fn what_cannot_be_changed_is_refused_by_name() {
    let (folder, file) = catalogue();
    let new = folder.path().join("new.csv");
    fs::write(&new, "0.3\n").expect("written");
    assert_request(&change(&file, Some(&new), &[1]));
    let refused = |request: &ChangeItemsRequest| {
        let error = change_items(request).expect_err("refused");
        error.to_string()
    };
    let number = folder.path().join("number.egret");
    fs::write(&number, fresh().save()).expect("written");
    for (request, part) in [
        (change(&file, None, &[]), "nothing is added or removed"),
        (change(&file, None, &[9]), "9"),
        (change(&file, Some(&new), &[]), "add"),
        (change(&number, None, &[0]), "interval:0,1"),
    ] {
        let error = refused(&request);
        assert!(error.contains(part), "{error}");
    }
}
