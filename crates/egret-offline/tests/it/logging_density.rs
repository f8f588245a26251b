//! Densities that are estimated, beside those that are known.

use egret::{
    ActionKind, Context, EventRng, FeatureSchema, Features, FieldKind, Interval, Item, ModelSpec,
    Stream,
};
use egret_offline::{LoggingDensity, LoggingDensityError, Played};

const ROWS: u64 = 4_000;

fn schema() -> FeatureSchema {
    let schema = FeatureSchema::new().with("rich", FieldKind::flag());
    let schema = schema.expect("a field").with("age", FieldKind::number());
    schema.expect("a field")
}

fn context(rich: bool, age: f64) -> Context {
    Context::named(Features::new().with("rich", rich).with("age", age))
}

/// A policy on [5, 50] that prefers high prices for the rich, and low ones for others: linear densities against μ.
fn true_density(rich: bool, price: f64) -> f64 {
    let share = (price - 5.0) / 45.0;
    0.2 + 1.6 * if rich { share } else { 1.0 - share }
}

/// A draw of that policy, by rejection.
fn price(rich: bool, chance: &mut EventRng) -> f64 {
    loop {
        let price = 5.0 + 45.0 * chance.unit();
        if 1.8 * chance.unit() < true_density(rich, price) {
            return price;
        }
    }
}

fn prices() -> Vec<(bool, Played<f64>)> {
    let one = |row| {
        let mut chance = EventRng::new(5, row, Stream::World);
        let (rich, age) = (chance.unit() < 0.5, 20.0 + 50.0 * chance.unit());
        let played = Played {
            row,
            x: context(rich, age),
            action: price(rich, &mut chance),
        };
        (rich, played)
    };
    (0..ROWS).map(one).collect()
}

fn fit<A: ActionKind>(
    spec: &ModelSpec,
    played: &[Played<A>],
) -> Result<LoggingDensity<A>, LoggingDensityError> {
    LoggingDensity::fit(spec, played, 0)
}

fn refusal<A: ActionKind>(spec: &ModelSpec, played: &[Played<A>]) -> LoggingDensityError {
    match fit(spec, played) {
        Ok(_) => panic!("it was estimated"),
        Err(error) => error,
    }
}

#[test]
fn estimates_are_near_the_truth() {
    let log = prices();
    let played: Vec<Played<f64>> = log.iter().map(|(_, played)| played.clone()).collect();
    let spec = ModelSpec::new(Interval::new(5.0, 50.0).expect("an interval"), schema());
    let density = fit(&spec, &played).expect("it can be estimated");
    let (mut error, mut blind) = (0.0, 0.0);
    let mut mean_weight = 0.0;
    for (rich, one) in &log {
        let truth = true_density(*rich, one.action);
        let estimate = density.density(one.row, &one.x, &one.action);
        let estimate = estimate.expect("a density");
        error += (estimate / truth).ln().abs() / ROWS as f64;
        blind += truth.ln().abs() / ROWS as f64;
        mean_weight += 1.0 / estimate / ROWS as f64;
    }
    println!(
        "off by {error:.3}, where 1 for all is off by {blind:.3}; mean weight {mean_weight:.3}"
    );
    assert!(error < 0.2 && 2.0 * error < blind, "{error} {blind}");
    assert!((0.9..1.1).contains(&mean_weight), "{mean_weight}");
    // Equal logs give equal densities.
    let again = fit(&spec, &played).expect("it can be estimated");
    let one = &played[7];
    assert_eq!(
        density.density(7, &one.x, &one.action),
        again.density(7, &one.x, &one.action)
    );
}

#[test]
fn probabilities_of_a_few_items_are_found() {
    let probabilities = |rich: bool| match rich {
        true => [0.7, 0.2, 0.1],
        false => [0.1, 0.3, 0.6],
    };
    let played: Vec<Played<Item>> = (0..ROWS)
        .map(|row| {
            let mut chance = EventRng::new(6, row, Stream::World);
            let rich = chance.unit() < 0.5;
            let [first, second, _] = probabilities(rich);
            let unit = chance.unit();
            let item = u32::from(first <= unit) + u32::from(first + second <= unit);
            Played {
                row,
                x: context(rich, 40.0),
                action: Item(item),
            }
        })
        .collect();
    let one_hot = vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let rows = egret::EmbeddingRows::new(3, one_hot).expect("three rows");
    let space = "items:3".parse().expect("a space");
    let spec = ModelSpec::from_parts(space, Some(rows), schema());
    let density = fit(&spec, &played).expect("it can be estimated");
    for rich in [true, false] {
        for (item, probability) in probabilities(rich).into_iter().enumerate() {
            let found = density.density(0, &context(rich, 40.0), &Item(item as u32));
            let found = found.expect("a density") / 3.0;
            assert!(
                (found - probability).abs() < 0.06,
                "{rich} {item}: {found} for {probability}"
            );
        }
    }
}

#[test]
fn it_is_refused_where_it_cannot_help() {
    let spec = ModelSpec::new(Interval::new(5.0, 50.0).expect("an interval"), schema());
    let played: Vec<Played<f64>> = prices().into_iter().map(|(_, played)| played).collect();
    let few = refusal(&spec, &played[..150]);
    assert!(
        matches!(few, LoggingDensityError::TooFewEvents { .. }),
        "{few}"
    );

    let mut repeated = played.clone();
    for one in repeated.iter_mut().step_by(4) {
        one.action = 9.99;
    }
    let error = refusal(&spec, &repeated);
    assert!(
        error
            .to_string()
            .contains("25% of the actions are exactly 9.99"),
        "{error}"
    );

    // A rule: the price follows from the age.
    let rule: Vec<Played<f64>> = (0..ROWS)
        .map(|row| {
            let age = 20.0 + 50.0 * EventRng::new(7, row, Stream::World).unit();
            Played {
                row,
                x: context(true, age),
                action: 5.0 + 0.6 * age,
            }
        })
        .collect();
    let error = refusal(&spec, &rule);
    println!("{error}");
    assert!(
        matches!(error, LoggingDensityError::Determined { .. }),
        "{error}"
    );
}
