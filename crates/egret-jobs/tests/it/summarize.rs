use egret_jobs::summarize::{SummarizeRequest, summarize};
use egret_jobs::{LogSource, Silent};
use egret_log::{LossSource, Time};
use serde_json::json;

use crate::{
    assert_cancelled, assert_near, assert_place, assert_report, assert_request, log, names_in,
    records, spoil, write,
};

fn request(log: impl Into<std::path::PathBuf>) -> SummarizeRequest {
    SummarizeRequest {
        log: LogSource::new([log]),
    }
}

#[test]
fn counts_are_those_of_a_loop_over_the_records() {
    let (_folder, file) = log("log.parquet", 0);
    let mut all = records(300);
    let time = |text: &str| text.parse::<Time>().expect("a time");
    all[3].time = Some(time("2024-05-01T10:00:00Z"));
    all[7].time = Some(time("2024-04-01T10:00:00Z"));
    all[5].loss_source = Some(LossSource::Default);
    all[6].late = Some(true);
    for record in &mut all[..100] {
        record.loop_name = Some("prices".to_owned());
        record.settings_version = Some(2);
    }
    // One is lost, two change places.
    all.remove(40);
    all.swap(60, 61);
    write(&file, &all);

    let found = summarize(&request(&file), &Silent).expect("a summary");
    let losses: Vec<f64> = all.iter().filter_map(|r| Some(r.loss?.get())).collect();
    let mut densities: Vec<f64> = all
        .iter()
        .filter_map(|record| Some(record.propensity().density()?.get()))
        .collect();
    densities.sort_by(f64::total_cmp);
    let kappas: Vec<f64> = all.iter().filter_map(|r| Some(1.0 / r.z?)).collect();
    let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
    assert_eq!(found.rows, 299);
    assert_eq!(found.outcomes_missing, 299 - losses.len() as u64);
    assert_eq!(found.point_masses, 299 - densities.len() as u64);
    assert_eq!((found.outcomes_default, found.outcomes_late), (1, 1));
    assert_near(found.outcome_mean.expect("losses"), mean(&losses));
    assert_near(found.kappa_mean.expect("z"), mean(&kappas));
    let spread = found.density.expect("densities");
    let last = densities.len() - 1;
    assert_eq!((spread.min, spread.max), (densities[0], densities[last]));
    for (quantile, share) in [
        (spread.p01, 0.01),
        (spread.p25, 0.25),
        (spread.median, 0.5),
        (spread.p75, 0.75),
        (spread.p99, 0.99),
    ] {
        let exact = densities[(share * last as f64).round() as usize];
        assert!((quantile / exact - 1.0).abs() < 1.01e-3, "{share}");
    }
    let seq = found.seq.expect("numbers");
    assert_eq!((seq.first, seq.last, seq.without), (0, 299, 0));
    assert_eq!((seq.missing, seq.out_of_order), (1, 1));
    assert_eq!(found.loops["prices"], 99);
    assert_eq!(found.modes["online"], 299);
    assert_eq!(found.context_dims[&2], 299);
    assert_eq!(found.actions["number"], 299);
    assert_eq!(found.extras["q"], 299);
    let plain = all[99..].iter().filter(|r| r.settings_version.is_some());
    assert_eq!(found.settings_versions["2"], 99);
    assert_eq!(found.settings_versions["0"], plain.count() as u64);
    assert_eq!(
        found.first_time.as_deref(),
        Some(&*time("2024-04-01T10:00:00Z").to_string())
    );
    assert_eq!(
        found.last_time.as_deref(),
        Some(&*time("2024-05-01T10:00:00Z").to_string())
    );
    assert_report(&found);
}

#[test]
fn requests_are_json() {
    assert_request(&request("log.jsonl"));
}

#[test]
fn cancelling_ends_it() {
    let (folder, file) = log("log.jsonl", 20);
    let mut request = request(&file);
    request.log.skip_bad = Some(folder.path().join("bad.jsonl"));
    assert_cancelled(summarize(&request, &crate::cancel));
    assert_eq!(names_in(&folder), ["log.jsonl"]);
}

#[test]
fn a_bad_row_is_named_or_counted() {
    let (folder, file) = log("log.jsonl", 20);
    spoil(&file, &[("density", json!(-1))]);
    let mut request = request(&file);
    assert_place(summarize(&request, &Silent), &file, 21, Some("density"));
    request.log.skip_bad = Some(folder.path().join("bad.jsonl"));
    let found = summarize(&request, &Silent).expect("a summary");
    assert_eq!((found.rows, found.skipped), (20, 1));
    assert_eq!(found.skipped_file, request.log.skip_bad);
}
