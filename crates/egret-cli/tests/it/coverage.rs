use std::thread;

use egret_testkit::allowed_misses;
use serde_json::Value;

use crate::figures;

const SEEDS: u64 = 40;

/// How often the intervals of a kind of weights missed the truth, for each policy; and how many
/// audits of that kind failed.
fn misses(runs: &[Value], weights: &str) -> (Vec<u64>, u64) {
    let mut missed = vec![0; 3];
    let mut failed = 0;
    for json in runs {
        let rows = json["ope"].as_array().expect("a list");
        let rows = rows.iter().filter(|row| row["weights"] == weights);
        for (count, row) in missed.iter_mut().zip(rows) {
            let number = |key: &str| row[key].as_f64().expect("finite");
            let held = (number("low")..=number("high")).contains(&number("truth"));
            *count += u64::from(!held);
        }
        failed += u64::from(json["audit"][weights]["passed"] == false);
    }
    (missed, failed)
}

#[test]
fn correct_weights_cover_and_kappa_hat_one_does_not() {
    let runs: Vec<Value> = thread::scope(|scope| {
        let halves = [0, 1].map(|half| {
            scope.spawn(move || {
                (0..SEEDS)
                    .filter(|seed| seed % 2 == half)
                    .map(|seed| figures(seed, 3_000, &format!("coverage-{half}")))
                    .map(|text| serde_json::from_str(&text).expect("one object"))
                    .collect::<Vec<_>>()
            })
        });
        halves
            .into_iter()
            .flat_map(|half| half.join().expect("no run fails"))
            .collect()
    });
    // False alarm: one in a million for each policy, where the true rate is 5%. Intervals that miss half
    // the time pass with probability below 0.01.
    let allowed = allowed_misses(SEEDS, 0.05);
    let (missed, failed) = misses(&runs, "correct");
    assert!(missed.iter().all(|&count| count <= allowed), "{missed:?}");
    // Five checks, each wrong once in a thousand right logs.
    assert!(failed <= allowed_misses(SEEDS, 0.005), "{failed} audits");
    // Power: what the paper logs is told from the truth by every policy and every audit.
    let (missed, failed) = misses(&runs, "kappa_hat_1");
    assert!(missed.iter().all(|&count| allowed < count), "{missed:?}");
    assert_eq!(failed, SEEDS);
}
