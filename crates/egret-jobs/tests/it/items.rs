use std::fs;
use std::path::{Path, PathBuf};

use egret::{AnyAction, Item, TrainedRows};
use egret_jobs::create::{CreateRequest, create};
use egret_jobs::items::{ChangeItemsRequest, change_items};
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
