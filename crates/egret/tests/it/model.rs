//! What a model promises: the best action, predictions, and the same decisions from any number of threads.

use std::{slice, thread};

use egret::{
    ActionKind, ActionSpace, Context, Density, EmbeddingRows, Igw, Interval, Item, Items, Loss,
    Model, ModelSpec, Observed, Propensity, Settings, UniformBox, Vector,
};

fn interval() -> Interval {
    Interval::new(-5.0, 15.0).expect("in order")
}

fn square() -> UniformBox {
    UniformBox::new(&[(0.0, 10.0), (-1.0, 1.0)]).expect("two sides")
}

/// Fifty items whose one number runs through [0, 1] out of order.
fn items() -> Items {
    let rows = (0..50).map(|item| f64::from(item * 17 % 50) / 49.0);
    Items::new(EmbeddingRows::new(1, rows.collect()).expect("one number each")).expect("items")
}

fn dense(values: &[f64]) -> Context {
    Context::dense(values.to_vec()).expect("finite")
}

fn loss(value: f64) -> Loss {
    Loss::new(value).expect("in range")
}

fn observed<A>(x: Context, action: A, loss: Loss) -> Observed<Context, A> {
    Observed {
        x,
        action,
        limits: None,
        loss,
        propensity: Propensity::Density(Density::new(1.0).expect("positive")),
        tau: None,
    }
}

/// Least squares that has seen these losses and fits them to nine digits, if they are quadratic.
fn fitted<A: ActionKind>(space: impl ActionSpace<Action = A>, examples: &[(A, f64)]) -> Model<A> {
    let mut spec = ModelSpec::new(space, 0);
    spec.oracle = "ridge:lambda=1e-9".parse().expect("an oracle");
    let mut model = Model::from_spec(spec, Settings::default()).expect("a model");
    let observed: Vec<Observed<Context, A>> = examples
        .iter()
        .map(|(action, value)| observed(dense(&[]), action.clone(), loss(*value)))
        .collect();
    model.learn_batch(&observed).expect("good events");
    model
}

#[test]
fn best_on_an_interval_is_within_a_quantile_of_the_minimum() {
    let truth = |a: f64| 0.1 + ((a - 3.7) / 15.0).powi(2);
    let examples: Vec<(f64, f64)> = (-5..=15)
        .map(|a| (f64::from(a), truth(f64::from(a))))
        .collect();
    let model = fitted(interval(), &examples);
    let fhat = model.predict(&dense(&[]), &[3.7, 12.5]).expect("numbers");
    assert!((fhat[0] - truth(3.7)).abs() < 1e-6 && (fhat[1] - truth(12.5)).abs() < 1e-6);
    let best = model.best(&dense(&[])).expect("an action");
    // 1,024 quantiles of an interval of length 20: half the distance between two, and the error of the fit.
    assert!((best - 3.7).abs() <= 10.0 / 1024.0 + 1e-6, "{best}");
}

#[test]
fn best_is_the_minimum_where_the_oracle_knows_it() {
    for oracle in ["argmin", "(latent-outcome+curves)@128"] {
        let mut spec = ModelSpec::new(interval(), 1);
        spec.oracle = oracle.parse().expect("an oracle");
        let mut model: Model<f64> = Model::from_spec(spec, Settings::default()).expect("a model");
        let x = dense(&[1.0]);
        for round in 0..400 {
            let action = f64::from(round * 7 % 21) - 5.0;
            let loss = loss((action - 9.0).abs() / 20.0);
            model
                .learn(&observed(x.clone(), action, loss))
                .expect("a good event");
        }
        let best = model.best(&x).expect("an action");
        assert!((best - 9.0).abs() < 1.0, "{oracle}: {best}");
        let mut actions = vec![best];
        actions.extend((0..=10_000).map(|place| -5.0 + f64::from(place) * 0.002));
        let fhat = model.predict(&x, &actions).expect("numbers");
        assert!(fhat.iter().all(|other| fhat[0] <= *other), "{oracle}");
    }
}

#[test]
fn best_in_a_box_is_near_the_minimum() {
    let truth =
        |a: [f64; 2]| 0.1 + 0.5 * ((a[0] - 3.0) / 10.0).powi(2) + 0.1 * (a[1] - 0.4).powi(2);
    let mut examples = Vec::new();
    for first in 0..=10 {
        for second in -2..=2 {
            let a = [f64::from(first), 0.5 * f64::from(second)];
            examples.push((Vector::new(&a).expect("finite"), truth(a)));
        }
    }
    let model = fitted(square(), &examples);
    let best = model.best(&dense(&[])).expect("an action");
    // An ellipse with these half axes has π/400 of the area: 4,096 draws all miss it with probability e⁻³².
    let (first, second) = ((best[0] - 3.0) / 0.5, (best[1] - 0.4) / 0.1);
    assert!(first * first + second * second < 1.0, "{best:?}");
}

#[test]
fn best_of_items_is_the_least_of_all() {
    let examples: Vec<(Item, f64)> = (0..50)
        .map(|item| {
            let row = f64::from(item * 17 % 50) / 49.0;
            (Item(item), 0.1 + 0.8 * (row - 0.5).powi(2) + 0.1 * row)
        })
        .collect();
    let least = examples.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let model = fitted(items(), &examples);
    let best = model.best(&dense(&[])).expect("an item");
    assert_eq!(Some(best), least.map(|(item, _)| *item));
}

#[test]
fn predictions_are_clamped() {
    let model = fitted(interval(), &[(4.0, 0.0), (5.0, 0.5), (6.0, 1.0)]);
    let ends = model.predict(&dense(&[]), &[-5.0, 5.0, 15.0]);
    let ends = ends.expect("numbers");
    // The line through the examples is -4.5 and 5.5 at the ends.
    assert_eq!((ends[0], ends[2]), (0.0, 1.0));
    assert!((ends[1] - 0.5).abs() < 1e-3, "{ends:?}");
}

/// A model that has learned something, and the contexts of the events it is asked about.
fn trained<A: ActionKind>(
    space: impl ActionSpace<Action = A>,
    loss_of: impl Fn(&A) -> f64,
) -> (Model<A>, Vec<Context>) {
    let mut model = Model::new(space, 2).expect("a model");
    let contexts: Vec<Context> = (0..200)
        .map(|event| dense(&[(f64::from(event) * 0.37).fract(), f64::from(event % 3)]))
        .collect();
    for (event, x) in (1_000_000..).zip(&contexts) {
        let decision = model.decide(event, x).expect("an action");
        let loss = loss(loss_of(&decision.action));
        model
            .learn(&decision.observed(x, loss))
            .expect("a good event");
    }
    (model, contexts)
}

fn on_interval() -> (Model<f64>, Vec<Context>) {
    trained(interval(), |action| (action - 9.0).abs() / 20.0)
}

fn in_box() -> (Model<Vector>, Vec<Context>) {
    trained(square(), |action| {
        (action[0] / 10.0 - 0.3).abs() / 2.0 + (action[1] - 0.4).abs() / 4.0
    })
}

fn of_items() -> (Model<Item>, Vec<Context>) {
    trained(items(), |item| f64::from(item.0 * 17 % 50) / 49.0)
}

/// g is a function of f̂, τ, γ and β: the prediction gives the g that the decision states, to the bit.
fn check_predictions<A: ActionKind>((model, contexts): (Model<A>, Vec<Context>)) {
    let mut below_the_cap = 0;
    for (event, x) in (0..).zip(&contexts) {
        let decision = model.decide(event, x).expect("an action");
        let predicted = model
            .predict(x, slice::from_ref(&decision.action))
            .expect("a number");
        assert!((0.0..=1.0).contains(&predicted[0]), "{predicted:?}");
        let capped = decision.capped_igw.expect("CappedIGW");
        let igw = Igw::new(decision.tau, decision.gamma).expect("in range");
        let g = igw.weight(predicted[0], capped.certificate.beta);
        assert_eq!(g.to_bits(), capped.g.to_bits(), "event {event}");
        below_the_cap += usize::from(g < decision.tau);
    }
    // At the cap g says only that f̂ ≤ β.
    assert!(20 <= below_the_cap, "{below_the_cap}");
}

#[test]
fn predict_is_what_decide_saw() {
    check_predictions(on_interval());
    check_predictions(of_items());
}

/// Eight threads ask one model, each for all events from a different one on.
fn check_threads<A: ActionKind>((model, contexts): (Model<A>, Vec<Context>)) {
    // A decision's text has every field, and tells numbers apart to the bit.
    let decide = |event: usize| {
        let decision = model.decide(event as u64, &contexts[event]);
        format!("{:?}", decision.expect("an action"))
    };
    let alone: Vec<String> = (0..contexts.len()).map(decide).collect();
    assert_ne!(alone[0], alone[1]);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|place| {
                let (alone, decide) = (&alone, &decide);
                scope.spawn(move || {
                    for step in 0..alone.len() {
                        let event = (step + place * 25) % alone.len();
                        assert_eq!(decide(event), alone[event]);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("the same decisions");
        }
    });
}

#[test]
fn many_threads_decide_as_one() {
    check_threads(on_interval());
    check_threads(in_box());
    check_threads(of_items());
}
