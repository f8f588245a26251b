//! Contexts of very many features, few of them present: what a hashed category gives.

use egret::{Context, EventRng, Interval, Loss, Model, Stream};

const WIDTH: usize = 1_000_000;
const KINDS: u64 = 200;

fn model() -> Model<f64> {
    Model::new(Interval::new(0.0, 1.0).expect("in order"), WIDTH).expect("a model")
}

/// One of 200 features alone, and the action that is best for it.
fn event(number: u64) -> (Context, f64) {
    let kind = (EventRng::new(1, number, Stream::World).unit() * KINDS as f64) as u64;
    let mut rng = EventRng::new(2, kind, Stream::World);
    let feature = (rng.unit() * WIDTH as f64) as u32;
    let x = Context::sparse(WIDTH, vec![(feature, 1.0)]).expect("one feature");
    (x, rng.unit())
}

/// Decides and learns; the mean loss.
fn play(model: &mut Model<f64>, events: std::ops::Range<u64>) -> f64 {
    let mut sum = 0.0;
    let count = (events.end - events.start) as f64;
    for number in events {
        let (x, best) = event(number);
        let decision = model.decide(number, &x).expect("an action");
        let loss = Loss::new((decision.action - best).abs()).expect("in range");
        model
            .learn(&decision.observed(&x, loss))
            .expect("a good event");
        sum += loss.get();
    }
    sum / count
}

#[test]
fn each_of_many_categories_gets_its_own_action() {
    let mut model = model();
    play(&mut model, 0..5_000);
    let found = play(&mut model, 5_000..6_000);
    let bests: Vec<f64> = (5_000..6_000).map(|number| event(number).1).collect();
    let cost = |action: f64| bests.iter().map(|best| (action - best).abs()).sum::<f64>() / 1_000.0;
    let constant = (0..=100)
        .map(|i| cost(f64::from(i) / 100.0))
        .fold(1.0, f64::min);
    assert!(found < 0.2 * constant, "{found} {constant}");
}

#[test]
fn a_saved_model_goes_on_to_the_bit_and_is_small() {
    let mut one = model();
    play(&mut one, 0..100);
    let saved = one.save();
    // At most 100 features, each with two rows of 32 weights, beside the networks, the past events and the regressions
    // around 16 actions.
    assert!(saved.len() < 100 * 2 * 40 * 8 + 350_000, "{}", saved.len());
    let mut other = Model::load(&saved).expect("as saved");
    assert_eq!(other.save(), saved);
    play(&mut one, 100..200);
    play(&mut other, 100..200);
    assert_eq!(one.save(), other.save());
    let mut again = model();
    play(&mut again, 0..200);
    assert_eq!(again.save(), one.save());
}
