//! Decisions within the limits of a request: densities are against μ restricted to them.

use egret::{
    ActionKind, AnyModel, CappedIgw, Context, DecideError, Decision, EmbeddingRows, EventRng,
    Explorer, Item, ItemLimits, Limits, Loss, Model, ModelSpec, OracleSpec, ReplayError, Settings,
    Space, Stream, Vector,
};

const EVENTS: u64 = 3_000;

fn x(event: u64) -> Context {
    let unit = EventRng::new(5, event, Stream::World).unit();
    Context::dense(vec![unit]).expect("finite")
}

/// Two numbers of an event, the smaller first.
fn pair(event: u64) -> (f64, f64) {
    let mut rng = EventRng::new(9, event, Stream::World);
    let (a, b) = (rng.unit(), rng.unit());
    (a.min(b), a.max(b))
}

fn model<A: ActionKind>(space: Space, settings: Settings) -> Model<A> {
    let embeddings = match space {
        Space::Items { count, .. } => {
            let rows = (0..count).map(|item| item as f64 / count as f64).collect();
            Some(EmbeddingRows::new(1, rows).expect("a row for each"))
        }
        _ => None,
    };
    let spec = ModelSpec::from_parts(space, embeddings, 1);
    Model::from_spec(spec, settings).expect("a model")
}

/// Learns 1,000 events within limits; `place` is where an action lies, in [0, 1].
fn teach<A: ActionKind>(
    model: &mut Model<A>,
    limits: impl Fn(u64) -> Limits,
    place: impl Fn(&Limits, &A) -> f64,
) {
    for event in 1_000_000..1_001_000 {
        let (x, limits) = (x(event), limits(event));
        let decision = model.decide_within(event, &x, &limits).expect("an action");
        let best = 0.2 * x.as_dense().expect("dense")[0];
        let loss = (place(&limits, &decision.action) - best).abs();
        let observed = decision.observed(&x, Loss::new(loss).expect("in range"));
        model.learn(&observed).expect("a good event");
    }
}

/// E[h(a)/p] = E[h] under the restricted μ, for h = 1, the place and an indicator; `means` gives the last two.
fn check_weights<A: ActionKind + std::fmt::Debug>(
    model: &mut Model<A>,
    limits: impl Fn(u64) -> Limits,
    place: impl Fn(&Limits, &A) -> f64,
    means: impl Fn(&Limits) -> [f64; 2],
) {
    teach(model, &limits, &place);
    let space = model.spec().space.clone();
    let (mut sums, mut squares) = ([[0.0; 3]; 2], [[0.0; 3]; 2]);
    for event in 0..EVENTS {
        let (x, limits) = (x(event), limits(event));
        let decision = model.decide_within(event, &x, &limits).expect("an action");
        assert!(limits.allow(&space, &decision.action.clone().into()));
        assert_eq!(decision.limits.as_ref(), Some(&limits));
        let density = decision.propensity.density().expect("a density").get();
        if let Some(largest) = decision.largest_inverse_density {
            let least = 1.0 / largest;
            assert!(least <= density * (1.0 + 1e-9), "{least} {density}");
        }
        let place = place(&limits, &decision.action);
        let [mean, share] = means(&limits);
        let moments = [
            (1.0, 1.0),
            (place, mean),
            (f64::from(u8::from(place < 0.3)), share),
        ];
        for (weighted, weight) in [1.0 / density, 1.0].into_iter().enumerate() {
            for (at, (h, mean)) in moments.into_iter().enumerate() {
                let error = h * weight - mean;
                sums[weighted][at] += error;
                squares[weighted][at] += error * error;
            }
        }
    }
    let score = |weighted: usize, at: usize| -> f64 {
        f64::abs(sums[weighted][at]) / f64::sqrt(squares[weighted][at]).max(1e-9)
    };
    for at in 0..3 {
        // False alarm: 6e-7 for each of about forty.
        assert!(score(0, at) < 5.0, "{space} {at}: {}", score(0, at));
    }
    // Power: without the density, the means are seen to be others.
    let power = score(1, 1).max(score(1, 2));
    assert!(5.0 < power, "{space}: {power}");
}

#[test]
fn weights_are_unbiased_within_limits_of_numbers() {
    for text in [
        "interval:5,50",
        "log:1000,1000000000",
        "normal:3,2,0,10",
        "beta:2,3,0,1",
    ] {
        let space: Space = text.parse().expect("a space");
        let mut model = model::<f64>(space.clone(), Settings::default());
        let line = |limits: &Limits, a: f64| {
            let measure = f64::measure(&space).expect("numbers");
            let line = measure.as_line().expect("numbers");
            let &Limits::Interval { low, high } = limits else {
                panic!("numbers")
            };
            (line.cdf(a) - line.cdf(low)) / (line.cdf(high) - line.cdf(low))
        };
        let limits = |event| {
            let (low, high) = pair(event);
            let mut ends = [0.9 * low, 0.9 * high + 0.1];
            let measure = f64::measure(&space).expect("numbers");
            measure.as_line().expect("numbers").quantiles(&mut ends);
            let [low, high] = ends;
            Limits::Interval { low, high }
        };
        check_weights(
            &mut model,
            limits,
            |limits, a| line(limits, *a),
            |_| [0.5, 0.3],
        );
    }
}

#[test]
fn weights_are_unbiased_within_limits_of_steps() {
    let space: Space = "steps:5,50,0.1".parse().expect("a space");
    let mut model = model::<f64>(space, Settings::default());
    // Ends that are no steps: the allowed ones are 5 + k/10 for k from `first` to `last`.
    let ends = |limits: &Limits| {
        let &Limits::Interval { low, high } = limits else {
            panic!("numbers")
        };
        let first = ((low - 5.0) * 10.0).ceil();
        (first, ((high - 5.0) * 10.0).floor() - first + 1.0)
    };
    let place = |limits: &Limits, a: &f64| {
        let (first, count) = ends(limits);
        (((a - 5.0) * 10.0).round() - first + 0.5) / count
    };
    let limits = |event| {
        let (low, high) = pair(event);
        Limits::Interval {
            low: 5.03 + 40.0 * low,
            high: 5.53 + 40.0 * high,
        }
    };
    let means = |limits: &Limits| {
        let (_, count) = ends(limits);
        let below = (0..count as u32).filter(|k| (f64::from(*k) + 0.5) / count < 0.3);
        [0.5, below.count() as f64 / count]
    };
    check_weights(&mut model, limits, place, means);
}

#[test]
fn weights_are_unbiased_within_limits_of_a_box() {
    for pinned in [false, true] {
        let space: Space = "box:0,1,-5,5,10,20".parse().expect("a space");
        let mut model = model::<Vector>(space, Settings::default());
        let limits = |event| {
            let (low, high) = pair(event);
            let second = if pinned { (2.0, 2.0) } else { (-1.0, 2.0) };
            Limits::Box {
                sides: vec![(0.9 * low, 0.9 * high + 0.1), second, (10.0, 20.0)],
            }
        };
        let place = |limits: &Limits, a: &Vector| {
            let Limits::Box { sides } = limits else {
                panic!("a box")
            };
            (a[0] - sides[0].0) / (sides[0].1 - sides[0].0)
        };
        check_weights(&mut model, limits, place, |_| [0.5, 0.3]);
    }
}

#[test]
fn weights_are_unbiased_within_limits_of_items() {
    let capped = Settings::default().explorer;
    let greedy = Explorer::EpsilonGreedy { epsilon: 0.5 };
    for (weights, explorer) in [
        (None, capped),
        (Some((1..=40).map(f64::from).collect::<Vec<_>>()), capped),
        (None, greedy),
        (Some((1..=40).map(f64::from).collect()), Explorer::SquareCb),
    ] {
        let space = Space::Items {
            count: 40,
            weights: weights.clone(),
        };
        let settings = Settings {
            explorer,
            ..Settings::paper()
        };
        let mut model = model::<Item>(space, settings);
        let limits = |event| {
            let mut rng = EventRng::new(9, event, Stream::World);
            let listed = (0..40).filter(|_| rng.unit() < 0.5).map(Item);
            let mut listed: Vec<Item> = listed.collect();
            if listed.is_empty() {
                listed.push(Item(7));
            }
            Limits::Items(match event % 2 {
                0 => ItemLimits::Allowed(listed),
                _ => ItemLimits::Excluded(listed),
            })
        };
        let place = |_: &Limits, item: &Item| f64::from(item.0) / 40.0;
        let means = |limits: &Limits| {
            let space: Space = "items:40".parse().expect("a space");
            let (mut total, mut mean, mut share) = (0.0, 0.0, 0.0);
            for item in (0..40).map(Item) {
                if limits.allow(&space, &item.into()) {
                    let weight = weights.as_ref().map_or(1.0, |all| all[item.0 as usize]);
                    let place = f64::from(item.0) / 40.0;
                    total += weight;
                    mean += weight * place;
                    share += weight * f64::from(u8::from(place < 0.3));
                }
            }
            [mean / total, share / total]
        };
        check_weights(&mut model, limits, place, means);
    }
}

/// Whoever explores, what is pinned is played, with density 1.
#[test]
fn a_pinned_action_is_certain() {
    let pinned = |low: f64| Limits::Interval { low, high: low };
    let allowed = |item| Limits::Items(ItemLimits::Allowed(vec![Item(item)]));
    let sides = vec![(0.25, 0.25), (1.5, 1.5)];
    let explorers = [
        Settings::default().explorer,
        Explorer::CappedIgw(CappedIgw::default()),
        Explorer::SmoothIgw,
        Explorer::Uniform,
    ];
    for explorer in explorers {
        for (space, limits, action) in [
            ("interval:5,50", pinned(7.0), 7.0.into()),
            ("interval:5,50", pinned(50.0), 50.0.into()),
            ("log:1000,1000000000", pinned(12_345.0), 12_345.0.into()),
            ("normal:3,2,0,10", pinned(9.0), 9.0.into()),
            ("beta:2,3,0,1", pinned(0.0), 0.0.into()),
            ("steps:5,50,0.1", pinned(5.0 + 3.0 * 0.1), 5.3.into()),
            ("items:5", allowed(3), Item(3).into()),
            (
                "box:0,1,1,2",
                Limits::Box {
                    sides: sides.clone(),
                },
                Vector::new(&[0.25, 1.5]).expect("finite").into(),
            ),
        ] {
            let space: Space = space.parse().expect("a space");
            if explorer == Explorer::SmoothIgw && matches!(space, Space::Box { .. }) {
                continue;
            }
            let settings = Settings {
                explorer,
                ..Settings::default()
            };
            egret::for_kind!(space.kind(), A => {
                let model = AnyModel::from(model::<A>(space, settings));
                let decision = model.decide_within(3, &x(3), &limits).expect("an action");
                assert_eq!(decision.action, action);
                assert_eq!(decision.importance_weight(1.0), Some(1.0));
            });
        }
    }
}

#[test]
fn decisions_within_limits_replay_to_the_bit() {
    let explorers = [
        Settings::default().explorer,
        Settings::paper().explorer,
        Explorer::SmoothIgw,
        Explorer::EpsilonGreedy { epsilon: 0.5 },
    ];
    for explorer in explorers {
        for (text, limits) in [
            (
                "interval:0,1",
                Limits::Interval {
                    low: 0.125,
                    high: 0.25,
                },
            ),
            (
                "steps:0,100,1",
                Limits::Interval {
                    low: 20.5,
                    high: 40.0,
                },
            ),
            (
                "items:30",
                Limits::Items(ItemLimits::Excluded((0..20).map(Item).collect())),
            ),
        ] {
            let settings = Settings {
                explorer,
                ..Settings::paper()
            };
            let space: Space = text.parse().expect("a space");
            egret::for_kind!(space.kind(), A => {
                replays(&model::<A>(space, settings), &limits, text);
            });
        }
    }
}

fn replays<A: ActionKind>(model: &Model<A>, limits: &Limits, text: &str) {
    let loaded = Model::<A>::load(&model.save()).expect("just saved");
    let mut differing = 0;
    for event in 0..40 {
        let decision = model.decide_within(event, &x(event), limits);
        let decision = decision.expect("an action");
        loaded.replay(&x(event), &decision).expect("the same model");
        let free = Decision {
            limits: None,
            ..decision
        };
        let dropped = loaded.replay(&x(event), &free);
        differing += u32::from(matches!(dropped, Err(ReplayError::Differs { .. })));
    }
    assert!(20 < differing, "{text}: {differing}");
}

#[test]
fn limits_that_are_no_part_of_the_space_are_refused_by_name() {
    let limits = Limits::Interval {
        low: 4.0,
        high: 60.0,
    };
    let of = |space: &str| {
        let space: Space = space.parse().expect("a space");
        egret::for_kind!(space.kind(), A => {
            let model = model::<A>(space, Settings::default());
            let refused = model.decide_within(0, &x(0), &limits).expect_err("no part");
            assert!(matches!(refused, DecideError::Limits(_)));
            let plain = model.learner().decide_within(0, &x(0), &limits).err();
            assert!(matches!(plain, Some(DecideError::Limits(_))));
            refused.to_string()
        })
    };
    for space in [
        "interval:5,50",
        "log:5,50",
        "steps:5,50,1",
        "items:7",
        "box:0,100",
    ] {
        let words = of(space);
        assert!(
            words.contains("from 4 to 60") && words.contains(space),
            "{words}"
        );
    }
    for space in ["sphere:3", "simplex:1,1"] {
        let words = of(space);
        assert!(words.contains("numbers, boxes and items"), "{words}");
    }
}

/// Beyond the cells of f̂, and with an oracle that has its minimum outside of the limits.
#[test]
fn narrow_limits_are_exact_too() {
    for oracle in [None, Some(OracleSpec::paper())] {
        let mut spec = ModelSpec::from_parts("interval:0,1".parse().expect("a space"), None, 1);
        spec.oracle = oracle.unwrap_or(spec.oracle);
        let model: Model<f64> = Model::from_spec(spec, Settings::default()).expect("a model");
        for (event, width) in [1e-1, 1e-3, 1e-6, 1e-12].into_iter().enumerate() {
            let limits = Limits::Interval {
                low: 0.9,
                high: 0.9 + width,
            };
            let decision = model.decide_within(event as u64, &x(0), &limits);
            let decision = decision.expect("an action");
            assert_eq!(decision.capped_igw.expect("CappedIGW").z.draws, 0);
            let density = decision.propensity.density().expect("a density").get();
            // f̂ hardly changes within so little.
            assert!(
                1e-3 < width || (density - 1.0).abs() < 0.1,
                "{width}: {density}"
            );
        }
    }
}
