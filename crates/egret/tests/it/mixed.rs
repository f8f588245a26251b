//! Knobs with steps and categories among them, lists without features, sets of items: exact densities, and what is learned is played.

use std::collections::BTreeMap;

use egret::{
    AnyModel, Context, EmbeddingRows, EventRng, Item, ItemLimits, ItemList, ItemSet, Items,
    KnobLimits, KnobValue, Limits, Loss, MixedAction, Model, Sets, Settings, Space, Stream,
};

const SPACE: &str = "mixed:colour=red|green|blue;price=5..50/0.5;speed=0..2";

fn x(event: u64) -> Context {
    let unit = EventRng::new(5, event, Stream::World).unit();
    Context::dense(vec![unit]).expect("finite")
}

fn number(action: &MixedAction, name: &str) -> f64 {
    match action.get(name) {
        Some(KnobValue::Number(value)) => *value,
        _ => panic!("{action}"),
    }
}

/// Blue is best, a price that grows with the context, and a speed of 1.
fn loss(x: &Context, action: &MixedAction) -> f64 {
    let price = 15.0 + 20.0 * x.as_dense().expect("dense")[0];
    let colour = if action.get("colour") == Some(&"blue".into()) {
        0.0
    } else {
        0.3
    };
    let price = 0.4 * ((number(action, "price") - price) / 45.0).abs();
    colour + price + 0.1 * (number(action, "speed") - 1.0).abs()
}

fn model(events: u64) -> Model<MixedAction> {
    let space: Space = SPACE.parse().expect("a space");
    let spec = egret::ModelSpec::from_parts(space, None, 1);
    let mut model = Model::from_spec(spec, Settings::default()).expect("a model");
    for event in 1_000_000..1_000_000 + events {
        let x = x(event);
        let decision = model.decide(event, &x).expect("an action");
        let observed = decision.observed(&x, Loss::new(loss(&x, &decision.action)).expect("small"));
        model.learn(&observed).expect("a good event");
    }
    model
}

#[test]
fn knobs_of_all_kinds_are_learned() {
    let model = model(2_000);
    let late = (0..500).map(|event| {
        let x = x(event);
        loss(&x, &model.decide(event, &x).expect("an action").action)
    });
    let late = late.sum::<f64>() / 500.0;
    // Uniform play loses about 0.36, and 2% of it is at random.
    assert!(late < 0.06, "{late}");
    let best = model.best(&x(3)).expect("an action");
    assert_eq!(best.get("colour"), Some(&"blue".into()));
    assert!(loss(&x(3), &best) < 0.05, "{best}");
}

/// E[h(a)/p] = E_μ[h], without limits and with some.
#[test]
fn weights_are_unbiased() {
    let model = model(300);
    let space: Space = SPACE.parse().expect("a space");
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let limits = Limits::Mixed {
        knobs: BTreeMap::from([
            (
                "colour".to_owned(),
                KnobLimits::Categories(names(&["green", "blue"])),
            ),
            (
                "price".to_owned(),
                KnobLimits::Interval {
                    low: 10.0,
                    high: 29.5,
                },
            ),
        ]),
    };
    // Blue, a price below 20, and the speed: their means under μ, then within the limits.
    for (limits, means) in [
        (None, [1.0, 1.0 / 3.0, 30.0 / 91.0, 1.0]),
        (Some(&limits), [1.0, 0.5, 0.5, 1.0]),
    ] {
        let (mut sums, mut squares) = ([[0.0; 4]; 2], [[0.0; 4]; 2]);
        for event in 0..6_000 {
            let x = x(event);
            let decision = match limits {
                Some(limits) => model.decide_within(event, &x, limits),
                None => model.decide(event, &x),
            };
            let decision = decision.expect("an action");
            let action = &decision.action;
            assert!(limits.is_none_or(|of| of.allow(&space, &action.clone().into())));
            assert_eq!(space.check_action(&action.clone().into()), Ok(()));
            let weight = decision.importance_weight(1.0).expect("a density");
            assert!(weight <= decision.largest_inverse_density.expect("a bound") * (1.0 + 1e-9));
            let blue = f64::from(u8::from(action.get("colour") == Some(&"blue".into())));
            let cheap = f64::from(u8::from(number(action, "price") < 20.0));
            let h = [1.0, blue, cheap, number(action, "speed")];
            for (kind, weight) in [weight, 1.0].into_iter().enumerate() {
                for (at, (h, mean)) in h.into_iter().zip(means).enumerate() {
                    let error = h * weight - mean;
                    sums[kind][at] += error;
                    squares[kind][at] += error * error;
                }
            }
        }
        let score = |kind: usize, at: usize| {
            f64::abs(sums[kind][at]) / f64::sqrt(squares[kind][at]).max(1e-9)
        };
        for at in 0..4 {
            // False alarm: 6e-7 each.
            assert!(score(0, at) < 5.0, "{limits:?} {at}: {}", score(0, at));
        }
        // Power: without the density, the means are seen to be others.
        assert!(5.0 < score(1, 1), "{limits:?}: {}", score(1, 1));
    }
}

#[test]
fn mixed_models_are_saved_replayed_and_know_the_density_of_any_action() {
    let mut model = model(50);
    let decision = model.decide(7, &x(7)).expect("an action");
    let loaded = AnyModel::load(&model.save()).expect("its own");
    let again = loaded.typed::<MixedAction>().expect("mixed");
    assert_eq!(again.decide(7, &x(7)).expect("an action"), decision);
    assert_eq!(model.replay(&x(7), &decision), Ok(()));
    let (pinned, limits) = ("red", |low: f64| Limits::Mixed {
        knobs: BTreeMap::from([
            (
                "colour".to_owned(),
                KnobLimits::Categories(vec!["red".to_owned()]),
            ),
            ("price".to_owned(), KnobLimits::Interval { low, high: low }),
            (
                "speed".to_owned(),
                KnobLimits::Interval {
                    low: 0.5,
                    high: 0.5,
                },
            ),
        ]),
    });
    let decision = model
        .decide_within(8, &x(8), &limits(9.5))
        .expect("an action");
    assert_eq!(decision.importance_weight(1.0), Some(1.0));
    let best = model.best_within(&x(8), &limits(9.5)).expect("an action");
    assert_eq!(
        (best.get("colour"), &best),
        (Some(&pinned.into()), &decision.action)
    );
    assert!(model.decide_within(8, &x(8), &limits(9.7)).is_err());
    // A value that the knob cannot have is not learned from.
    let wrong = MixedAction::new([
        ("colour", "black".into()),
        ("price", 9.5.into()),
        ("speed", 0.5.into()),
    ]);
    let context = x(8);
    let mut observed = decision.observed(&context, Loss::new(0.5).expect("in range"));
    observed.action = wrong.expect("three knobs");
    assert!(model.learn(&observed).is_err());
}

/// Lists of items without features, short and long: E[h(a)/p] = E_μ[h], and the best item is found for its context.
#[test]
fn lists_are_learned_with_unbiased_weights() {
    for count in [2, 10, 100] {
        let list = ItemList::new(count).expect("in range");
        let mut model = Model::with_settings(list, 1, Settings::default()).expect("a model");
        let best = |x: &Context| match x.as_dense().expect("dense")[0] < 0.5 {
            true => Item(0),
            false => Item(count as u32 - 1),
        };
        let loss = |x: &Context, item: Item| if item == best(x) { 0.1 } else { 0.7 };
        for event in 1_000_000..1_006_000 {
            let x = x(event);
            let decision = model.decide(event, &x).expect("an action");
            let loss = Loss::new(loss(&x, decision.action)).expect("in range");
            model
                .learn(&decision.observed(&x, loss))
                .expect("a good event");
        }
        let (mut right, mut sums, mut squares) = (0.0, [0.0; 3], [0.0; 3]);
        let events = 4_000;
        for event in 0..events {
            let x = x(event);
            let decision = model.decide(event, &x).expect("an action");
            right += f64::from(u8::from(decision.action == best(&x))) / events as f64;
            let weight = decision.importance_weight(1.0).expect("a density");
            let first = f64::from(u8::from(decision.action == Item(0)));
            let moments = [
                weight - 1.0,
                first * weight - 1.0 / count as f64,
                first - 1.0 / count as f64,
            ];
            for (at, error) in moments.into_iter().enumerate() {
                sums[at] += error;
                squares[at] += error * error;
            }
        }
        assert!(0.8 < right, "{count}: {right}");
        let score = |at: usize| f64::abs(sums[at]) / f64::sqrt(squares[at]);
        // False alarm: 6e-7 each. Power: without the density the first item is seen to be played too often.
        assert!(
            score(0) < 5.0 && score(1) < 5.0,
            "{count}: {} {}",
            score(0),
            score(1)
        );
        assert!(count == 2 || 5.0 < score(2), "{count}: {}", score(2));
        let loaded = Model::<Item>::load(&model.save()).expect("its own");
        assert_eq!(loaded.decide(3, &x(3)), model.decide(3, &x(3)));
        assert!(model.remove_items(&[Item(1)]).is_ok());
        assert!(
            (0..50).all(|event| model.decide(event, &x(event)).expect("some").action != Item(1))
        );
    }
    assert!(ItemList::new(1_025).is_err());
}

/// Three of forty items: E[h(S)/p] = E_μ[h], within limits too, the density is known at every set, and good sets are found.
#[test]
fn sets_are_learned_with_unbiased_weights() {
    let rows = EmbeddingRows::new(1, (0..40).map(f64::from).collect()).expect("forty rows");
    let sets = Sets::new(Items::new(rows).expect("forty items"), 3).expect("three of forty");
    let mut model = Model::with_settings(sets, 1, Settings::default()).expect("a model");
    let mean = |set: &ItemSet| {
        set.items()
            .iter()
            .map(|item| f64::from(item.0))
            .sum::<f64>()
            / 120.0
    };
    // What is best moves with the context.
    let loss = |x: &Context, set: &ItemSet| (mean(set) - x.as_dense().expect("dense")[0]).abs();
    for event in 1_000_000..1_002_000 {
        let x = x(event);
        let decision = model.decide(event, &x).expect("an action");
        let loss = Loss::new(loss(&x, &decision.action).min(1.0)).expect("in range");
        model
            .learn(&decision.observed(&x, loss))
            .expect("a good event");
    }
    let late = (0..500).map(|event| {
        loss(
            &x(event),
            &model.decide(event, &x(event)).expect("a set").action,
        )
    });
    // Uniform play loses about 0.27.
    let late = late.sum::<f64>() / 500.0;
    assert!(late < 0.15, "{late}");
    let limits = Limits::Items(ItemLimits::Excluded(
        (10..40).step_by(3).map(Item).collect(),
    ));
    let space = model.spec().space.clone();
    for limits in [None, Some(&limits)] {
        let allowed: Vec<f64> = (0..40)
            .filter(|item| limits.is_none() || *item < 10 || (item - 10) % 3 != 0)
            .map(f64::from)
            .collect();
        let expected = allowed.iter().sum::<f64>() / allowed.len() as f64 / 40.0;
        let (mut sums, mut squares) = ([0.0; 3], [0.0; 3]);
        // Low items are best.
        let x = Context::dense(vec![0.1]).expect("finite");
        for event in 0..6_000 {
            let decision = match limits {
                Some(limits) => model.decide_within(event, &x, limits),
                None => model.decide(event, &x),
            };
            let decision = decision.expect("an action");
            assert!(limits.is_none_or(|of| of.allow(&space, &decision.action.clone().into())));
            let weight = decision.importance_weight(1.0).expect("a density");
            assert!(weight <= decision.largest_inverse_density.expect("a bound") * (1.0 + 1e-9));
            let h = mean(&decision.action);
            let errors = [weight - 1.0, h * weight - expected, h - expected];
            for (at, error) in errors.into_iter().enumerate() {
                sums[at] += error;
                squares[at] += error * error;
            }
            if event < 20 {
                let known = (model.learner()).density(&x, &decision.action, limits);
                let known = known.expect("a set").expect("Zoom knows it");
                assert!((known * weight - 1.0).abs() < 1e-9, "{known} {weight}");
            }
        }
        let score = |at: usize| f64::abs(sums[at]) / f64::sqrt(squares[at]);
        // False alarm: 6e-7 each. Power: without the density the mean is seen to be another.
        assert!(
            score(0) < 5.0 && score(1) < 5.0,
            "{} {}",
            score(0),
            score(1)
        );
        assert!(5.0 < score(2), "{}", score(2));
    }
    let best = model.best_within(&x(12), &limits).expect("a set");
    assert!(limits.allow(&space, &best.into()));
    let loaded = Model::<ItemSet>::load(&model.save()).expect("its own");
    assert_eq!(loaded.decide(3, &x(3)), model.decide(3, &x(3)));
}
