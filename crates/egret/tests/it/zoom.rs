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
fn the_density_is_known_at_every_action_and_integrates_to_one() {
    let learner = Cube.learner(settings(0.02));
    for event in 0..50 {
        let decision = learner.decide(event, &()).expect("an action");
        let stated = decision.propensity.density().expect("a density").get();
        let known = learner
            .density(&(), &decision.action, None)
            .expect("no error");
        assert_eq!(known.map(f64::to_bits), Some(stated.to_bits()));
        learner.replay(&(), &decision).expect("the same bits");
    }
    let mut draws = Vectors::default();
    let mut rng = EventRng::new(5, 0, Stream::World);
    learner.measure().sample(&(), 200_000, &mut rng, &mut draws);
    // Regions below a thousandth of the space are met by too few draws: the rest is what μ sees of the others.
    let densities: Vec<f64> = (0..draws.len())
        .map(|place| {
            learner
                .density(&(), &draws.get(place), None)
                .expect("no error")
        })
        .map(|density| density.expect("known"))
        .collect();
    let least = densities.iter().copied().fold(f64::INFINITY, f64::min);
    let inverse = learner
        .decide(0, &())
        .expect("an action")
        .largest_inverse_density;
    assert!((least * inverse.expect("a bound") - 1.0).abs() < 1e-12);
    let other = Vector::new(&[0.5]).expect("finite");
    assert!(learner.density(&(), &other, None).is_err());
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

#[test]
fn a_space_without_regions_is_refused_or_played_by_capped_igw() {
    let zoom = Model::with_settings(
        egret::Interval::new(0.0, 1.0).expect("in order"),
        1,
        settings(0.02),
    );
    let error = zoom.expect_err("no regions").to_string();
    assert!(error.contains("choose Auto"), "{error}");
    let sphere = egret::UniformSphere::new(3).expect("positive");
    let model = Model::new(sphere, 1).expect("CappedIGW");
    let x = Context::dense(vec![0.5]).expect("finite");
    assert!(model.decide(0, &x).expect("an action").capped_igw.is_some());
}
