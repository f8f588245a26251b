use egret::{Density, EventRng, Propensity, Stream};
use egret_jobs::summarize::{EffectiveBlock, EffectiveEvents, SummarizeRequest, summarize};
use egret_jobs::{LogSource, Silent};
use egret_log::{LossSource, Record, Time};
use serde_json::json;

use crate::{
    assert_cancelled, assert_near, assert_place, assert_report, assert_request, log, names_in,
    records, restarted, spoil, write, x,
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

/// A record whose action has this density, or is a point mass; with a bound on what the inverse could have been.
fn drawn(density: Option<f64>, largest_inverse: Option<f64>) -> Record {
    let density = density.map(|density| Density::new(density).expect("positive"));
    let propensity = density.map_or(Propensity::PointMass, Propensity::Density);
    let mut record = Record::bare(x(0), 0.5.into(), propensity);
    record.largest_inverse_density = largest_inverse;
    record
}

fn effective(records: &[Record]) -> EffectiveEvents {
    let (_folder, file) = log("log.parquet", 0);
    write(&file, records);
    let found = summarize(&request(&file), &Silent).expect("a summary");
    found.effective_events
}

#[test]
fn effective_events_are_those_of_a_log_counted_by_hand() {
    let block = |until, events, effective_per_1000, at_least_per_1000| EffectiveBlock {
        until,
        events,
        effective_per_1000,
        at_least_per_1000,
    };
    // Σ 1/p² = 0.25 + 16 + 4 over three densities, the bounds sum to 24, and a fourth record says nothing.
    let mut few = vec![
        drawn(Some(2.0), Some(8.0)),
        drawn(Some(0.25), Some(8.0)),
        drawn(Some(0.5), Some(8.0)),
        drawn(None, None),
    ];
    let found = effective(&few);
    let counted = block(
        4,
        4,
        Some(0.75 * 3_000.0 / 20.25),
        Some(0.75 * 3_000.0 / 24.0),
    );
    assert_eq!(found.overall, counted);
    assert_eq!(found.blocks, [counted]);
    // One density without a bound leaves none; the estimate stays.
    few[0].largest_inverse_density = None;
    let (bounded, counted) = (counted, effective(&few).overall);
    assert_eq!(counted.effective_per_1000, bounded.effective_per_1000);
    assert_eq!(counted.at_least_per_1000, None);
    let unknown = effective(&[drawn(None, None)]).overall;
    assert_eq!(unknown, block(1, 1, None, None));
    // An estimate that luck has put beyond what is possible is the bound.
    let lucky = effective(&[drawn(Some(4.0), Some(8.0))]).overall;
    assert_eq!(lucky, block(1, 1, Some(1_000.0), Some(125.0)));
    let unlucky = effective(&[drawn(Some(0.125), Some(8.0))]).overall;
    assert_eq!(unlucky, block(1, 1, Some(125.0), Some(125.0)));
}

#[test]
fn effective_events_are_told_by_blocks_that_grow_with_the_log() {
    let one = drawn(Some(1.0), Some(1.0));
    let half = drawn(Some(0.5), Some(4.0));
    // Ten blocks of 1,000 are full: the next record makes blocks of 2,000.
    for (records, length, blocks) in [(10_000, 1_000, 10), (10_001, 2_000, 6), (20_000, 2_000, 10)]
    {
        let log: Vec<Record> = (0..records)
            .map(|place| {
                if place < 6_000 {
                    one.clone()
                } else {
                    half.clone()
                }
            })
            .collect();
        let found = effective(&log);
        assert_eq!(found.blocks.len(), blocks);
        let mut until = 0;
        for block in &found.blocks {
            until += block.events;
            assert_eq!(block.until, until);
            assert!(block.events == length || until == records);
            let known = if until <= 6_000 { 1_000.0 } else { 250.0 };
            assert_eq!(block.effective_per_1000, Some(known));
            assert_eq!(block.at_least_per_1000, Some(known));
        }
        assert_eq!((until, found.overall.until), (records, records));
        let inverses = 6_000.0 + 4.0 * (records - 6_000) as f64;
        let overall = found.overall.effective_per_1000.expect("densities");
        assert_near(overall, 1_000.0 * records as f64 / inverses);
    }
}

/// The estimate from the densities of the actions played, against ∫ dμ/p of the policy that played them.
#[test]
fn effective_events_are_estimated_from_what_was_played() {
    // A tenth of the actions is played 19 in 20 times: p = 9.5 there, and 1/18 elsewhere. ∫ dμ/p = 0.1/9.5 + 0.9·18.
    let (events, inverse) = (40_000_u64, 0.1 / 9.5 + 0.9 * 18.0);
    let log: Vec<Record> = (0..events)
        .map(|event| {
            let unit = EventRng::new(3, event, Stream::World).unit();
            let density = if unit < 0.95 { 9.5 } else { 1.0 / 18.0 };
            drawn(Some(density), Some(18.0))
        })
        .collect();
    let found = effective(&log);
    // 1/p² is 324 with probability 0.05: in the mean of 40,000 the relative sd is √19/200 = 0.0218. 11% are five of them,
    // which is a false alarm below 1e-6.
    let about = found.overall.effective_per_1000.expect("densities");
    assert!((about * inverse / 1_000.0 - 1.0).abs() < 0.11, "{about}");
    let least = found.overall.at_least_per_1000.expect("bounds");
    assert_near(least, 1_000.0 / 18.0);
    assert!(
        found
            .blocks
            .iter()
            .all(|block| least <= block.effective_per_1000.expect("densities"))
    );
}

#[test]
fn random_numbers_that_come_again_are_counted() {
    for (saved, reused) in [(true, 0), (false, 100)] {
        let (folder, _) = restarted(saved);
        let found = summarize(&request(folder.path()), &Silent).expect("a summary");
        let numbers = found.random_numbers;
        assert_eq!(
            (numbers.compared, numbers.reused, numbers.twice),
            (250, reused, 0)
        );
        assert_eq!(found.next_event, Some(if saved { 250 } else { 150 }));
    }
    // Out of order is not reuse, a record that is there twice is not either.
    let (_folder, file) = log("log.parquet", 0);
    let mut all = records(26);
    all.reverse();
    all.push(all[5].clone());
    write(&file, &all);
    let numbers = summarize(&request(&file), &Silent)
        .expect("a summary")
        .random_numbers;
    assert_eq!(
        (numbers.compared, numbers.reused, numbers.twice),
        (25, 0, 1)
    );
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
