//! Logs of the default learner on every kind of space: intervals for uniform play hold its loss as often as they say.

use egret::{
    ActionKind, ActionSpace, Context, Dirichlet, EmbeddingRows, EventRng, ItemList, Items, Knob,
    KnobValue, Knobs, Loss, Model, Sets, Settings, Stream, UniformBox, UniformSphere,
};
use egret_offline::{Estimate, IntervalKind, Plan};
use egret_testkit::allowed_misses;

use crate::logs::{Log, level};

const LOGS: u64 = 30;
const EVENTS: u64 = 250;

/// The log of a learner that meets losses of 0 and 1, whose probability is `mean` of the action.
fn learned<S: ActionSpace>(space: S, mean: fn(&S::Action) -> f64, trial: u64) -> Log
where
    S::Action: ActionKind,
{
    let settings = Settings::default().with_seed(trial);
    let mut model = Model::with_settings(space, 1, settings).expect("a default");
    let mut log = Log::default();
    for event in 0..EVENTS {
        let mut rng = EventRng::new(trial, event, Stream::World);
        let x = Context::dense(vec![rng.unit()]).expect("finite");
        let decision = model.decide(event, &x).expect("an action");
        let loss = f64::from(u8::from(rng.unit() < mean(&decision.action)));
        let observed = decision.observed(&x, Loss::new(loss).expect("0 or 1"));
        model.learn(&observed).expect("a good event");
        log.losses.push(loss);
        log.weights
            .push(decision.importance_weight(1.0).expect("a density"));
        log.predicted.push(0.5);
        log.policy_predicted.push(0.5);
    }
    log
}

fn rows(count: u32) -> EmbeddingRows {
    let features = (0..count).map(|item| f64::from(item) / f64::from(count - 1));
    EmbeddingRows::new(1, features.collect()).expect("finite")
}

fn knobs() -> Knobs {
    let price = Knob::Steps {
        low: 0.0,
        high: 10.0,
        step: 1.0,
    };
    let knobs = Knobs::new().with("price", price).expect("in order");
    let colours = Knob::categories(["red", "green", "blue"]);
    knobs.with("colour", colours).expect("several")
}

/// What a log of a space is made by, and the loss of uniform play.
type Case = (&'static str, fn(u64) -> Log, f64);

const CASES: [Case; 7] = [
    (
        "box",
        |trial| {
            let space = UniformBox::new(&[(0.0, 1.0); 3]).expect("in order");
            learned(space, |a| a.iter().sum::<f64>() / 3.0, trial)
        },
        0.5,
    ),
    (
        "simplex",
        |trial| learned(Dirichlet::new(&[1.0; 3]).expect("three"), |a| a[0], trial),
        1.0 / 3.0,
    ),
    (
        "sphere",
        |trial| {
            let space = UniformSphere::new(4).expect("positive");
            learned(space, |a| 0.5 + 0.5 * a[0], trial)
        },
        0.5,
    ),
    (
        "knobs",
        |trial| {
            let mean = |action: &egret::MixedAction| {
                let price = match action.get("price") {
                    Some(KnobValue::Number(price)) => 0.06 * price,
                    other => panic!("{other:?}"),
                };
                let red = action.get("colour") == Some(&"red".into());
                price + if red { 0.3 } else { 0.0 }
            };
            learned(knobs(), mean, trial)
        },
        0.4,
    ),
    (
        "sets",
        |trial| {
            let items = Items::new(rows(20)).expect("items");
            let mean = |set: &egret::ItemSet| {
                let sum: u32 = set.items().iter().map(|item| item.0).sum();
                f64::from(sum) / 38.0
            };
            learned(Sets::new(items, 2).expect("two of twenty"), mean, trial)
        },
        0.5,
    ),
    (
        "catalogue",
        |trial| {
            let items = Items::new(rows(100)).expect("items");
            learned(items, |item| f64::from(item.0) / 99.0, trial)
        },
        0.5,
    ),
    (
        "list",
        |trial| {
            let items = ItemList::new(10).expect("ten");
            learned(items, |item| f64::from(item.0) / 9.0, trial)
        },
        0.5,
    ),
];

fn estimate(log: &Log) -> Estimate {
    let plan = Plan {
        estimators: vec!["ips".parse().expect("a name")],
        intervals: vec![IntervalKind::Betting],
        ..Plan::default()
    };
    log.report(&plan, level(0.9)).estimates[0].clone()
}

#[test]
fn intervals_hold_the_loss_of_uniform_play_on_every_space() {
    let (mut missed, mut misled) = (0, 0);
    for (name, log, value) in CASES {
        let (mut here, mut learns) = (0, 0.0);
        for trial in 0..LOGS {
            let mut log = log(trial);
            let row = estimate(&log);
            here += u64::from(!(row.low <= value && value <= row.high));
            // The power of it: densities a quarter as large lead away from the truth.
            log.weights.iter_mut().for_each(|weight| *weight *= 4.0);
            let row = estimate(&log);
            misled += u64::from(!(row.low <= value && value <= row.high));
            let late = &log.losses[(EVENTS / 2) as usize..];
            learns += late.iter().sum::<f64>() / late.len() as f64 / LOGS as f64;
        }
        // A false alarm once in a million, here and below.
        assert!(here <= allowed_misses(LOGS, 0.1), "{name}: {here}");
        // These are logs of a learner, not of uniform play.
        assert!(learns < 0.8 * value, "{name}: {learns}");
        missed += here;
    }
    let logs = LOGS * CASES.len() as u64;
    assert!(missed <= allowed_misses(logs, 0.1), "{missed} of {logs}");
    assert!(allowed_misses(logs, 0.1) < misled, "{misled} of {logs}");
}
