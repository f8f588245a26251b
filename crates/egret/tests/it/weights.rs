//! The logged density makes every weight unbiased; what the paper logs, g, does not.

use egret::{
    Action, Batch, Decision, DensityKind, EventRng, Learner, Loss, Normalization, Observed,
    Settings, Stream,
};

use crate::worlds::{Cube, Line, List, SAMPLED, World, settings};

const EVENTS: u64 = 5_000;

type Function<'a, A> = Box<dyn Fn(&A) -> f64 + 'a>;

/// A function of the action, its name and its mean under μ.
type Moment<'a, A> = (&'static str, Function<'a, A>, f64);

/// Plain functions, and q·ℓ for policies with density q: E[ℓ q/p] is the value of the policy.
fn moments<W: World>(world: &W) -> Vec<Moment<'_, W::Action>> {
    let unit = |a: &W::Action| world.unit(a);
    let loss = move |a: &W::Action| loss(world, a);
    // Linear in the first coordinate, and uniform over what looks best.
    let (sloped, best) = (
        move |a: &W::Action| 1.0 - 0.9 * unit(a),
        move |a: &W::Action| f64::from(u8::from(world.fhat(a) < 0.25)),
    );
    let (slopes, bests) = (world.mean(&sloped), world.mean(&best));
    let functions: [(&'static str, Function<'_, W::Action>); 8] = [
        ("1", Box::new(|_| 1.0)),
        ("a", Box::new(unit)),
        ("a²", Box::new(move |a| unit(a) * unit(a))),
        (
            "a < 0.3",
            Box::new(move |a| f64::from(u8::from(unit(a) < 0.3))),
        ),
        ("cos 9a", Box::new(move |a| (9.0 * unit(a)).cos())),
        ("fhat", Box::new(move |a| world.fhat(a))),
        (
            "a sloped policy",
            Box::new(move |a| sloped(a) / slopes * loss(a)),
        ),
        ("the best", Box::new(move |a| best(a) / bests * loss(a))),
    ];
    functions
        .into_iter()
        .map(|(name, h)| {
            let mean = world.mean(&h);
            (name, h, mean)
        })
        .collect()
}

/// What actions really cost: not what f̂ says.
fn loss<W: World>(world: &W, action: &W::Action) -> f64 {
    (world.unit(action) - 0.6).abs()
}

/// A sum of errors over its standard error.
#[derive(Default)]
struct Score {
    sum: f64,
    squares: f64,
}

impl Score {
    fn add(&mut self, error: f64) {
        self.sum += error;
        self.squares += error * error;
    }

    fn get(&self) -> f64 {
        self.sum.abs() / self.squares.sqrt()
    }
}

/// For each moment, how far the mean of h·w is from E_μ[h], in standard errors.
fn scores<W: World>(
    world: &W,
    learner: &mut Learner<(), W::Action>,
    moments: &[Moment<'_, W::Action>],
    weight: impl Fn(&Decision<W::Action>) -> f64,
) -> Vec<(&'static str, f64)> {
    let mut scores: Vec<Score> = moments.iter().map(|_| Score::default()).collect();
    for event in 0..EVENTS {
        let decision = learner.decide(event, &()).expect("an action");
        check_parts(world, learner, &decision);
        let weight = weight(&decision);
        for (score, (_, h, mean)) in scores.iter_mut().zip(moments) {
            score.add(h(&decision.action) * weight - mean);
        }
    }
    let names = moments.iter().map(|(name, ..)| *name);
    names.zip(scores.iter().map(Score::get)).collect()
}

/// The density is made of the parts that the decision carries.
fn check_parts<W: World>(
    world: &W,
    learner: &Learner<(), W::Action>,
    decision: &Decision<W::Action>,
) {
    let parts = decision.capped_igw.expect("CappedIGW");
    let igw = egret::Igw::new(decision.tau, decision.gamma).expect("in range");
    let g = igw.weight(world.fhat(&decision.action), parts.certificate.beta);
    assert!((parts.g - g).abs() <= 1e-12 * g, "{} {g}", parts.g);
    assert!(0.0 < parts.g && parts.g <= decision.tau);
    let density = decision.propensity.density().expect("always one").get();
    if decision.density_kind == DensityKind::Conditional {
        let (g, uniform) = (parts.g / parts.z.value, parts.uniform);
        assert_eq!(density, (1.0 - uniform) * g + uniform);
    }
    let index = decision.tau_index as usize;
    assert_eq!(decision.tau_probability, learner.corral().weights()[index]);
}

/// With one τ; with Corral at its start; and with Corral after it has learned from what was played.
fn learners<W: World>(world: &W, base: impl Fn(&[f64]) -> Settings) -> [Learner<(), W::Action>; 3] {
    let grid = [2.0, 6.0, 12.0];
    let mut taught = world.learner(base(&grid));
    for batch in 0..40 {
        let decisions: Vec<Decision<W::Action>> = (0..8)
            .map(|i| {
                taught
                    .decide(1_000_000 + 8 * batch + i, &())
                    .expect("an action")
            })
            .collect();
        let events: Vec<Observed<&(), W::Action>> = decisions
            .iter()
            .map(|decision| {
                let loss = Loss::new(loss(world, &decision.action)).expect("in range");
                decision.observed(&(), loss)
            })
            .collect();
        taught.learn_batch(&events).expect("good events");
    }
    let weights = taught.corral().weights();
    assert!(
        weights
            .iter()
            .any(|weight| 0.03 < (weight - 1.0 / 3.0).abs()),
        "{weights:?}"
    );
    [
        world.learner(base(&[8.0])),
        world.learner(base(&grid)),
        taught,
    ]
}

fn check<W: World>(world: &W, normalization: Normalization, density: DensityKind) {
    let base = |taus: &[f64]| Settings {
        density,
        ..settings(normalization, taus, 21)
    };
    let moments = moments(world);
    let inverse_density =
        |decision: &Decision<W::Action>| decision.importance_weight(1.0).expect("a density");
    let inverse_g =
        |decision: &Decision<W::Action>| 1.0 / decision.capped_igw.expect("CappedIGW").g;
    for (corral, mut learner) in learners(world, base).into_iter().enumerate() {
        for (name, score) in scores(world, &mut learner, &moments, inverse_density) {
            // False alarm: 6e-7 for each, and there are some 300 of them.
            assert!(score < 5.0, "{normalization:?} {corral} {name}: {score}");
        }
        // Power: κ̂ = 1 is far off for each. Where z was computed it is 1, and g is the density.
        if SAMPLED.contains(&normalization) {
            for (name, score) in scores(world, &mut learner, &moments, inverse_g) {
                // A mean near 0 is a poor witness.
                let witness = name != "cos 9a";
                assert!(
                    !witness || 10.0 < score,
                    "{normalization:?} {corral} {name}: {score}"
                );
            }
        }
    }
}

#[test]
fn weights_are_unbiased_on_the_line() {
    for normalization in Line.normalizations() {
        check(&Line, normalization, DensityKind::Conditional);
    }
    check(&Line, Normalization::Exact, DensityKind::Marginal);
}

#[test]
fn weights_are_unbiased_on_a_box() {
    for normalization in Cube.normalizations() {
        check(&Cube, normalization, DensityKind::Conditional);
    }
}

#[test]
fn weights_are_unbiased_on_a_list() {
    let list = List::uniform();
    for normalization in list.normalizations() {
        check(&list, normalization, DensityKind::Conditional);
    }
}

#[test]
fn weights_are_unbiased_on_a_weighted_list() {
    let list = List::weighted();
    for normalization in list.normalizations() {
        check(&list, normalization, DensityKind::Conditional);
    }
    check(&list, Normalization::Exact, DensityKind::Marginal);
}

/// A share of the decisions is drawn from μ, where z is computed.
fn check_at_random<W: World>(world: &W, density: DensityKind) {
    let base = |taus: &[f64]| {
        let settings = settings(Normalization::Exact, taus, 23).with_effective_events(150.0);
        Settings {
            density,
            ..settings
        }
    };
    let moments = moments(world);
    let inverse_density = |decision: &Decision<W::Action>| {
        let inverse = decision.importance_weight(1.0).expect("a density");
        let largest = decision.largest_inverse_density.expect("a bound");
        assert!(inverse <= largest && largest < 1.0 / 0.15);
        inverse
    };
    // As if nothing had been drawn from μ.
    let without = |decision: &Decision<W::Action>| {
        let p = decision.propensity.density().expect("a density").get();
        0.85 / (p - 0.15)
    };
    for (corral, mut learner) in learners(world, base).into_iter().enumerate() {
        for (name, score) in scores(world, &mut learner, &moments, inverse_density) {
            // False alarm: 6e-7 for each of 72.
            assert!(score < 5.0, "{corral} {name}: {score}");
        }
        // Power: the densities without ε are seen through.
        let found = scores(world, &mut learner, &moments, without);
        let largest = found.iter().map(|(_, score)| *score).fold(0.0, f64::max);
        assert!(7.0 < largest, "{corral}: {found:?}");
    }
}

#[test]
fn weights_are_unbiased_with_a_share_at_random() {
    check_at_random(&Line, DensityKind::Conditional);
    check_at_random(&Line, DensityKind::Marginal);
    check_at_random(&List::weighted(), DensityKind::Conditional);
}

#[test]
fn where_z_is_estimated_nothing_is_drawn_at_random() {
    for normalization in SAMPLED {
        let settings = settings(normalization, &[8.0], 24);
        let [with, without] = [150.0, 0.0].map(|effective| {
            let learner = Cube.learner(settings.clone().with_effective_events(effective));
            learner.decide(3, &()).expect("an action")
        });
        assert_eq!(with, without);
        assert_eq!(with.capped_igw.expect("CappedIGW").uniform, 0.0);
    }
}

/// ẑ is the mean of g over draws that chose neither β nor the action: of the stream of its own, of no other's.
fn check_fresh_draws<W: World>(world: &W) {
    for normalization in SAMPLED {
        let learner = world.learner(settings(normalization, &[12.0], 22));
        for event in 0..50 {
            let decision = learner.decide(event, &()).expect("an action");
            let parts = decision.capped_igw.expect("CappedIGW");
            let igw = egret::Igw::new(decision.tau, decision.gamma).expect("in range");
            let is_mean_over = |stream: Stream, draws: usize, stratified: bool| {
                let mut rng = EventRng::new(decision.seed, event, stream);
                let mut actions = <W::Action as Action>::Batch::default();
                if stratified {
                    let measure = learner.measure();
                    measure.sample_stratified(&(), draws, &mut rng, &mut actions);
                } else {
                    learner.measure().sample(&(), draws, &mut rng, &mut actions);
                }
                let g = |i| igw.weight(world.fhat(&actions.get(i)), parts.certificate.beta);
                let mean = (0..draws).map(g).sum::<f64>() / draws as f64;
                (parts.z.value - mean).abs() < 1e-9 * mean
            };
            let draws = parts.z.draws;
            assert!(is_mean_over(Stream::Z, draws, true), "{normalization:?}");
            for stream in [Stream::Beta, Stream::Action] {
                for draws in [draws, parts.certificate.draws] {
                    for stratified in [false, true] {
                        let taken = is_mean_over(stream, draws, stratified);
                        assert!(!taken, "{normalization:?}: the draws of {stream:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn z_has_draws_of_its_own_on_a_box() {
    check_fresh_draws(&Cube);
}

#[test]
fn z_has_draws_of_its_own_on_a_list() {
    check_fresh_draws(&List::uniform());
    check_fresh_draws(&List::weighted());
}
