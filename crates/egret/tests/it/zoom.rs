//! Zoom: exact densities in ever smaller regions, and knobs that are learned.

use egret::{
    Batch, Context, Decision, EventRng, Explorer, Loss, Model, Settings, Stream, UniformBox,
    Vector, Vectors, Zoom,
};

use crate::worlds::{Cube, World};

fn settings(uniform: f64) -> Settings {
    Settings {
        explorer: Explorer::Zoom(Zoom { uniform }),
        ..Settings::default()
    }
}

type Moment = (&'static str, fn(&Cube, &Vector) -> f64);

const MOMENTS: [Moment; 4] = [
    ("1", |_, _| 1.0),
    ("a", |cube, a| cube.unit(a)),
    ("a < 0.3", |cube, a| f64::from(u8::from(cube.unit(a) < 0.3))),
    ("fhat", |cube, a| cube.fhat(a)),
];

/// (mean of h·w − E_μ[h]) in standard errors.
fn score(weight: impl Fn(&Decision<Vector>) -> f64, (_, h): &Moment, events: u64) -> f64 {
    let learner = Cube.learner(settings(0.1));
    let mean = Cube.mean(&|a| h(&Cube, a));
    let (mut sum, mut squares) = (0.0, 0.0);
    for event in 0..events {
        let decision = learner.decide(event, &()).expect("an action");
        let error = h(&Cube, &decision.action) * weight(&decision) - mean;
        sum += error;
        squares += error * error;
    }
    sum / squares.sqrt()
}

#[test]
fn weights_are_unbiased() {
    for moment in &MOMENTS {
        let weight = |decision: &Decision<Vector>| {
            let weight = decision.importance_weight(1.0).expect("a density");
            let largest = decision.largest_inverse_density.expect("a bound");
            assert!(weight <= largest && largest <= 10.0);
            weight
        };
        let found = score(weight, moment, 20_000);
        // False alarm: 6e-7 each.
        assert!(found.abs() < 5.0, "{}: {found}", moment.0);
        // Power: densities 20% too large are seen through.
        let off = score(|decision| weight(decision) / 1.2, moment, 20_000);
        assert!(5.0 < off.abs(), "{}: {off}", moment.0);
    }
}

#[test]
fn the_density_is_known_at_every_action() {
    let learner = Cube.learner(settings(0.02));
    let mut bound = None;
    for event in 0..50 {
        let decision = learner.decide(event, &()).expect("an action");
        let stated = decision.propensity.density().expect("a density").get();
        let known = learner.density(&(), &decision.action, None);
        assert_eq!(
            known.expect("no error").map(f64::to_bits),
            Some(stated.to_bits())
        );
        learner.replay(&(), &decision).expect("the same bits");
        bound = decision.largest_inverse_density;
    }
    // Far from the best there is the share of the whole space alone: the bound is reached.
    let mut draws = Vectors::default();
    let mut rng = EventRng::new(5, 0, Stream::World);
    learner.measure().sample(&(), 1_000, &mut rng, &mut draws);
    let least = (0..draws.len())
        .map(|place| learner.density(&(), &draws.get(place), None))
        .map(|density| density.expect("no error").expect("known"))
        .fold(f64::INFINITY, f64::min);
    assert!((least * bound.expect("a bound") - 1.0).abs() < 1e-12);
    let other = Vector::new(&[0.5]).expect("finite");
    assert!(learner.density(&(), &other, None).is_err());
}

#[test]
fn the_best_is_found() {
    // A valley across the axes, with its minimum inside or outside of the box, in odd units.
    let sides = [(-1e6, 1e6), (5.0, 5.001), (1e9, 1e9 + 1.0), (0.0, 3.0)];
    let unit = move |a: &[f64]| -> [f64; 4] {
        std::array::from_fn(|i| (a[i] - sides[i].0) / (sides[i].1 - sides[i].0))
    };
    for (middle, least) in [(0.3, 0.0), (1.2, 0.0008)] {
        let loss = move |u: [f64; 4]| {
            let (along, across) = (u[0] + u[1] - 2.0 * middle, u[0] - u[1]);
            0.1 * along * along
                + 0.01 * across * across
                + 0.2 * (u[2] - 0.9).powi(2)
                + 0.2 * (u[3] - middle).powi(2).min(0.5)
        };
        let oracle =
            egret::FunctionOracle::new(move |(): &(), actions: &Vectors, out: &mut [f64]| {
                for (out, row) in out.iter_mut().zip(actions.rows().chunks_exact(4)) {
                    *out = loss(unit(row));
                }
            });
        let measure = UniformBox::new(&sides).expect("in order");
        let learner = egret::Learner::new(Box::new(measure), Box::new(oracle), settings(0.02));
        let best = learner
            .expect("good settings")
            .best(&())
            .expect("an action");
        let found = loss(unit(&best));
        // Uniform play loses 0.05 and 0.2 on average.
        let possible = if middle < 1.0 {
            least
        } else {
            0.1 * 0.4 * 0.4 + 0.2 * 0.04
        };
        assert!(found < possible + 1e-3, "{middle}: {found} {best:?}");
    }
}

#[test]
fn sides_far_from_zero_are_played() {
    // Some thousand numbers in all: the smallest regions have none but their ends.
    let low = 1e12;
    let sides = [(low, low + 0.5), (0.0, 1.0)];
    let mut model = Model::new(UniformBox::new(&sides).expect("in order"), 0).expect("a model");
    let x = Context::dense(vec![]).expect("empty");
    for event in 0..200 {
        let decision = model.decide(event, &x).expect("an action");
        assert!((low..=low + 0.5).contains(&decision.action[0]));
        let loss = Loss::new(decision.action[1]).expect("in range");
        model
            .learn(&decision.observed(&x, loss))
            .expect("a good event");
    }
}

#[test]
fn very_many_knobs_and_features_have_a_default() {
    // Regions of so many sides would be too few, and least squares too large.
    let sides = vec![(0.0, 1.0); 2_000];
    let mut model = Model::new(UniformBox::new(&sides).expect("in order"), 1).expect("a model");
    let x = Context::dense(vec![0.5]).expect("finite");
    let decision = model.decide(0, &x).expect("an action");
    assert!(decision.capped_igw.is_some());
    let loss = Loss::new(0.5).expect("in range");
    model
        .learn(&decision.observed(&x, loss))
        .expect("a good event");
    // A user's id among the features of a context.
    let square = UniformBox::new(&[(0.0, 1.0); 2]).expect("in order");
    let model = Model::new(square, 1 << 20).expect("a model");
    let id = Context::sparse(1 << 20, vec![(77_777, 1.0)]).expect("in range");
    assert!(
        model
            .decide(0, &id)
            .expect("an action")
            .capped_igw
            .is_none()
    );
}

/// A bowl whose middle moves with the context, with noise; returns the mean loss of the last quarter.
fn late_loss(knobs: usize, events: u64, settings: Settings) -> f64 {
    let space = UniformBox::new(&vec![(-1.0, 1.0); knobs]).expect("intervals");
    let mut model = Model::with_settings(space, 2, settings).expect("good settings");
    let mut late = 0.0;
    for event in 0..events {
        let mut rng = EventRng::new(9, event, Stream::World);
        let x = [rng.unit(), rng.unit()];
        let context = Context::dense(x.to_vec()).expect("finite");
        let decision = model.decide(event, &context).expect("an action");
        let mean = (decision.action.iter().enumerate())
            .map(|(knob, a)| (a - 0.4 * (x[knob % 2] - 0.5)).powi(2))
            .sum::<f64>()
            / knobs as f64;
        let loss = (mean + 0.2 * rng.unit() - 0.1).clamp(0.0, 1.0);
        let loss = Loss::new(loss).expect("in range");
        model
            .learn(&decision.observed(&context, loss))
            .expect("a good event");
        if 3 * events <= 4 * event {
            late += mean;
        }
    }
    late / (events as f64 / 4.0)
}

#[test]
fn knobs_are_learned() {
    // Uniform play loses 0.346. CappedIGW at τ = 64 loses 0.063 with six knobs even after 20,000 events.
    let six = late_loss(6, 4_000, Settings::default());
    assert!(six < 0.02, "{six}");
    let twenty = late_loss(20, 4_000, Settings::default());
    assert!(twenty < 0.05, "{twenty}");
}

/// A model that has learned on the sphere in so many coordinates that its loss is least at a direction that x moves.
fn directed(dim: usize, events: u64) -> (Model<Vector>, f64) {
    let sphere = egret::UniformSphere::new(dim).expect("positive");
    let mut model = Model::new(sphere, 1).expect("a default");
    let mut late = 0.0;
    for event in 0..events {
        let mut rng = EventRng::new(9, event, Stream::World);
        let x = rng.unit();
        let context = Context::dense(vec![x]).expect("finite");
        let decision = model.decide(event, &context).expect("an action");
        let (sin, cos) = (2.0 * x).sin_cos();
        let mean = 0.5 - 0.4 * (cos * decision.action[0] + sin * decision.action[1]);
        if 3 * events <= 4 * event {
            late += mean;
        }
        let loss = Loss::new(mean + 0.2 * rng.unit() - 0.1).expect("in range");
        model
            .learn(&decision.observed(&context, loss))
            .expect("a good event");
    }
    (model, late / (events as f64 / 4.0))
}

#[test]
fn directions_are_learned_and_their_weights_are_unbiased() {
    let (model, late) = directed(8, 4_000);
    // Of uniform play 0.5, of the best directions 0.1, with 2% at random 0.108. CappedIGW at τ = 64 was above 0.2.
    assert!(late < 0.125, "{late}");
    let x = Context::dense(vec![0.3]).expect("finite");
    // E_μ[h] by symmetry: of 1, of a coordinate, of its square, of a half.
    type Moment = (fn(&[f64]) -> f64, f64);
    let moments: [Moment; 4] = [
        (|_| 1.0, 1.0),
        (|a| a[0], 0.0),
        (|a| a[0] * a[0], 0.125),
        (|a| f64::from(u8::from(0.0 < a[0])), 0.5),
    ];
    let (mut sums, mut squares) = ([[0.0; 2]; 4], [[0.0; 2]; 4]);
    for event in 0..20_000 {
        let decision = model.decide(100_000 + event, &x).expect("an action");
        let weight = decision.importance_weight(1.0).expect("a density");
        assert!(weight <= decision.largest_inverse_density.expect("a bound"));
        for (place, (h, mean)) in moments.iter().enumerate() {
            // As it is, and with densities 40% too large.
            for (bias, factor) in [1.0, 1.0 / 1.4].into_iter().enumerate() {
                let error = h(&decision.action) * weight * factor - mean;
                sums[place][bias] += error;
                squares[place][bias] += error * error;
            }
        }
        if event < 20 {
            model.replay(&x, &decision).expect("the same bits");
        }
    }
    for place in 0..moments.len() {
        let score = |bias: usize| sums[place][bias] / f64::sqrt(squares[place][bias]);
        // False alarm: 6e-7 each.
        assert!(score(0).abs() < 5.0, "{place}: {}", score(0));
        // Power, but for the mean of 0, whose error has none.
        if place != 1 {
            assert!(5.0 < score(1).abs(), "{place}: {}", score(1));
        }
    }
}

#[test]
fn a_space_without_regions_is_refused_or_played_by_capped_igw() {
    let zoom = Model::with_settings(
        egret::Interval::new(0.0, 1.0).expect("in order"),
        1,
        settings(0.02),
    );
    let error = zoom.expect_err("no regions").to_string();
    assert!(error.contains("choose Auto"), "{error}");
    let shares = egret::Dirichlet::new(&[0.5, 0.5, 0.5]).expect("positive");
    let model = Model::new(shares, 1).expect("CappedIGW");
    let x = Context::dense(vec![0.5]).expect("finite");
    assert!(model.decide(0, &x).expect("an action").capped_igw.is_some());
}
