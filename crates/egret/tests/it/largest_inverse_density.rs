//! A decision says how large 1/p can be; no action has more, and some have nearly as much.

use egret::{
    Action, Batch, Catalogue, Decision, DensityKind, EventRng, Explorer, FunctionOnInterval,
    FunctionOracle, Igw, Interval, Item, Learner, Normalization, Settings, Stream, UniformBox,
    Vectors,
};

use crate::worlds::{Cube, Line, List, SAMPLED, World, settings};

const TAUS: [f64; 4] = [1.0, 2.0, 6.0, 24.0];

/// The bound that a decision states.
fn largest<A>(decision: &Decision<A>) -> f64 {
    decision
        .largest_inverse_density
        .expect("CappedIGW states it")
}

/// 1/p at an action with this f̂: p = Σ wᵢ gᵢ/zᵢ, by the β and z of decisions at each τ.
fn inverse<A>(fhat: f64, mixture: &[(f64, Decision<A>)]) -> f64 {
    let density: f64 = mixture
        .iter()
        .map(|(weight, decision)| {
            let parts = decision.capped_igw.expect("CappedIGW");
            let igw = Igw::new(decision.tau, decision.gamma).expect("in range");
            weight * igw.weight(fhat, parts.certificate.beta) / parts.z.value
        })
        .sum();
    1.0 / density
}

/// The largest share of its bound that 1/p has over draws of μ; none may exceed 1.
fn closest<W: World>(world: &W, normalization: Normalization, density: DensityKind) -> f64 {
    let learner = |taus: &[f64]| {
        world.learner(Settings {
            density,
            ..settings(normalization, taus, 5)
        })
    };
    let all = learner(&TAUS);
    let alone = TAUS.map(|tau| learner(&[tau]));
    let mut actions = <W::Action as Action>::Batch::default();
    let mut closest = 0.0_f64;
    for event in 0..200 {
        let decision = all.decide(event, &()).expect("an action");
        let mixture: Vec<(f64, Decision<W::Action>)> = match density {
            DensityKind::Conditional => vec![(1.0, decision.clone())],
            DensityKind::Marginal => {
                let alone = alone.iter().map(|learner| learner.decide(event, &()));
                let weights = all.corral().weights().iter().copied();
                weights
                    .zip(alone.map(|decided| decided.expect("an action")))
                    .collect()
            }
        };
        let own = decision.importance_weight(1.0).expect("a density");
        assert!(own <= largest(&decision), "{own} {decision:?}");
        actions.clear();
        let mut rng = EventRng::new(8, event, Stream::World);
        all.measure().sample(&(), 50, &mut rng, &mut actions);
        for place in 0..actions.len() {
            let action = actions.get(place);
            let share = inverse(world.fhat(&action), &mixture) / largest(&decision);
            // The sum above may be added up in another order.
            assert!(
                share <= 1.0 + 1e-12,
                "{normalization:?} {action:?} {decision:?}"
            );
            closest = closest.max(share);
        }
    }
    closest
}

#[test]
fn no_action_has_a_larger_inverse_density() {
    let [uniform, weighted] = [List::uniform(), List::weighted()];
    for normalization in SAMPLED.into_iter().chain([Normalization::Exact]) {
        let kind = DensityKind::Conditional;
        closest(&Line, normalization, kind);
        closest(&uniform, normalization, kind);
        closest(&weighted, normalization, kind);
        if normalization != Normalization::Exact {
            closest(&Cube, normalization, kind);
        }
    }
    closest(&Line, Normalization::Exact, DensityKind::Marginal);
}

/// On a list that is summed whole the worst item is known, and 200 × 50 draws meet it all but surely.
#[test]
fn on_a_list_the_bound_is_attained() {
    for kind in [DensityKind::Conditional, DensityKind::Marginal] {
        for list in [List::uniform(), List::weighted()] {
            let share = closest(&list, Normalization::Exact, kind);
            assert!(1.0 - 1e-12 < share, "{kind:?} {share}");
        }
    }
}

/// f̂ reaches 1 at an end of the interval, at a corner of the box, at one item: there 1/p is the bound to the bit.
#[test]
fn where_fhat_reaches_one_the_bound_is_attained() {
    let mean = |row: &[f64]| row.iter().sum::<f64>() / row.len() as f64;
    for normalization in [
        Normalization::Mixture,
        Normalization::Betting,
        Normalization::Auto,
    ] {
        let settings = settings(normalization, &TAUS, 3);
        let line = FunctionOnInterval::new(
            |(): &(), actions: &Vec<f64>, out: &mut [f64]| out.copy_from_slice(actions),
            |(): &(), _: &mut Vec<f64>| 0.0,
        );
        let unit = Interval::new(0.0, 1.0).expect("in order");
        let learner = Learner::new(Box::new(unit), Box::new(line), settings.clone());
        attained(&learner.expect("good settings"));
        let cube = FunctionOracle::new(move |(): &(), actions: &Vectors, out: &mut [f64]| {
            for (out, row) in out.iter_mut().zip(actions.rows().as_chunks::<2>().0) {
                *out = mean(row);
            }
        });
        let sides = UniformBox::new(&[(0.0, 1.0), (0.0, 1.0)]).expect("in order");
        let learner = Learner::new(Box::new(sides), Box::new(cube), settings.clone());
        attained(&learner.expect("good settings"));
        let list = FunctionOracle::new(|(): &(), items: &Vec<Item>, out: &mut [f64]| {
            for (out, item) in out.iter_mut().zip(items) {
                *out = f64::from(item.0) / 9.0;
            }
        });
        let items = Catalogue::uniform(10).expect("ten");
        let learner = Learner::new(Box::new(items), Box::new(list), settings);
        attained(&learner.expect("good settings"));
    }
}

fn attained<A: Action>(learner: &Learner<(), A>) {
    for event in 0..100 {
        let decision = learner.decide(event, &()).expect("an action");
        let bound = largest(&decision);
        assert_eq!(inverse(1.0, &[(1.0, decision)]).to_bits(), bound.to_bits());
    }
}

/// Uniform draws have density 1; greedy explorers, whose point masses no bound covers, say none.
#[test]
fn other_explorers_say_what_they_can() {
    let decide = |explorer| {
        let base = settings(Normalization::Auto, &TAUS, 3);
        let learner = Line.learner(Settings { explorer, ..base });
        let decision = learner.decide(0, &()).expect("an action");
        decision.largest_inverse_density
    };
    assert_eq!(decide(Explorer::Uniform), Some(1.0));
    assert_eq!(decide(Explorer::SmoothIgw), None);
    assert_eq!(decide(Explorer::EpsilonGreedy { epsilon: 0.5 }), None);
}
