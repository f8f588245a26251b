//! The same bits on any number of threads.

use egret::{Decision, DensityKind, Explorer, Settings, Workspace};
use rayon::ThreadPoolBuilder;

use crate::worlds::{Cube, Line, List, World, settings};

const EVENTS: u64 = 400;

/// All that a decision says, to the bit: `Debug` writes every digit that tells two numbers apart.
fn bits<A: std::fmt::Debug>(decision: &Decision<A>) -> String {
    format!("{decision:?}")
}

fn check<W: World>(world: &W, settings: Settings) {
    let mut learner = world.learner(settings);
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
    let mut used = Workspace::default();
    for event in (0..EVENTS).rev() {
        let decision = learner
            .decide_with(event, &(), &mut used)
            .expect("an action");
        assert_eq!(alone[event as usize], bits(&decision));
    }
    // Power: another seed, other decisions.
    let other = Settings {
        seed: learner.settings().seed + 1,
        ..learner.settings().clone()
    };
    let mut other = world.learner(other);
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
        ..Settings::default()
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
        ..Settings::default()
    };
    check(&List::weighted(), marginal);
}
