//! The same bits on any number of threads, and on any machine.

use egret::{
    ArgminDispersion, CappedIgw, Context, Decision, DensityKind, Explorer, Interval, Learner,
    LearningRate, LinearArgmin, Loss, Normalization, Settings,
};
use rayon::ThreadPoolBuilder;

use crate::worlds::{Cube, Line, List, World, settings};

const EVENTS: u64 = 400;

/// Every field of a decision, bit for bit: `Debug` writes enough digits to distinguish any two numbers.
fn bits<A: std::fmt::Debug>(decision: &Decision<A>) -> String {
    format!("{decision:?}")
}

fn check<W: World>(world: &W, settings: Settings) {
    let learner = world.learner(settings);
    let alone: Vec<String> = (0..EVENTS)
        .map(|event| bits(&learner.decide(event, &()).expect("an action")))
        .collect();
    let events: Vec<(u64, &())> = (0..EVENTS).map(|event| (event, &())).collect();
    for threads in [1, 2, 8] {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads");
        let together = pool.install(|| learner.decide_batch(&events));
        for (alone, together) in alone.iter().zip(together) {
            assert_eq!(
                alone,
                &bits(&together.expect("an action")),
                "on {threads} threads"
            );
        }
    }
    // Nor does it show what the memory was used for before.
    for event in (0..EVENTS).rev() {
        let decision = learner.decide(event, &()).expect("an action");
        assert_eq!(alone[event as usize], bits(&decision));
    }
    // Power: another seed, other decisions.
    let other = Settings {
        seed: learner.settings().seed + 1,
        ..learner.settings().clone()
    };
    let other = world.learner(other);
    let same = |event: &u64| {
        let decision = other.decide(*event, &()).expect("an action");
        alone[*event as usize] == bits(&decision)
    };
    assert_eq!((0..EVENTS).filter(same).count(), 0);
}

fn check_all<W: World>(world: &W) {
    let grid = [2.0, 6.0, 24.0];
    for normalization in world.normalizations() {
        check(world, settings(normalization, &grid, 61));
    }
    let uniform = Settings {
        explorer: Explorer::Uniform,
        ..Settings::paper()
    };
    check(world, uniform);
}

#[test]
fn on_the_line() {
    check_all(&Line);
}

#[test]
fn on_a_box() {
    check_all(&Cube);
}

#[test]
fn on_lists() {
    check_all(&List::uniform());
    check_all(&List::weighted());
    let marginal = Settings {
        density: DensityKind::Marginal,
        ..Settings::paper()
    };
    check(&List::weighted(), marginal);
}

/// The bits of actions, densities and counts, folded into one number, after some learning with each normalizer.
///
/// A change here is value-breaking: the same seed would give other actions. A machine that fails it where others
/// pass computes other bits, which none may.
#[test]
fn decisions_are_frozen() {
    let folded = [
        Normalization::Exact,
        Normalization::Mixture,
        Normalization::Betting,
        Normalization::FixedSample,
    ]
    .map(|normalization| {
        let model = LinearArgmin::new(2).expect("two features");
        let oracle = ArgminDispersion::new(model, (0.0, 1.0), LearningRate::default());
        let settings = Settings {
            explorer: Explorer::CappedIgw(CappedIgw {
                normalization,
                ..CappedIgw::default()
            }),
            seed: 11,
            ..Settings::paper()
        };
        let mut learner = Learner::new(
            Box::new(Interval::new(0.0, 1.0).expect("in order")),
            Box::new(oracle.expect("in order")),
            settings,
        )
        .expect("good settings");
        let mut fold = 0_u64;
        for event in 0..60 {
            let feature = f64::from(event as u32 % 7) / 7.0;
            let x = Context::dense(vec![feature, 1.0 - feature]).expect("finite");
            let decision = learner.decide(event, &x).expect("an action");
            let density = decision.propensity.density().expect("always one").get();
            let draws = decision.capped_igw.expect("CappedIGW").certificate.draws;
            for word in [decision.action.to_bits(), density.to_bits(), draws as u64] {
                fold = (fold.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
            let loss = Loss::new((decision.action - 0.3 - 0.4 * feature).abs()).expect("in range");
            learner
                .learn(&decision.observed(&x, loss))
                .expect("a good event");
        }
        fold
    });
    assert_eq!(
        folded,
        [
            1_973_261_107_336_392_517,
            8_987_788_915_896_890_888,
            14_712_585_195_988_728_907,
            2_213_954_782_736_435_215,
        ]
    );
}
