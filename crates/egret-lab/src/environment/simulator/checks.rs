//! What holds of every loss model.

use egret::{Action, Batch, Context, EventRng, Explorer, Learner, OracleSpec, Settings, Stream};

use crate::environment::{Environment, LossModel, Simulator};

/// Checks bounds, that a seed gives the same world again, and that no action beats the best one: neither `tries` draws from μ
/// nor actions `near` the best.
pub(super) fn check_model<M: LossModel>(
    model: M,
    tries: usize,
    near: impl Fn(&M::Action, &mut EventRng) -> M::Action,
) {
    let simulator = Simulator::new(model);
    let (world, again) = (simulator.world(3, 20), simulator.world(3, 20));
    let other = simulator.world(4, 20);
    let measure = simulator.measure();
    for round in 0..world.rounds() {
        let x = world.context(round);
        assert_eq!(x, again.context(round));
        assert_ne!(x, other.context(round));
        let mut rng = EventRng::new(9, round as u64, Stream::Action);
        let mut actions = <M::Action as Action>::Batch::default();
        measure.sample(x, tries, &mut rng, &mut actions);
        let best = simulator.model().best(x.as_dense().expect("dense"));
        assert_eq!(world.regret(round, &best), Some(0.0));
        for place in 0..tries {
            let action = if place % 2 == 0 {
                actions.get(place)
            } else {
                near(&best, &mut rng)
            };
            let regret = world.regret(round, &action).expect("known");
            assert!(
                -1e-12 <= regret,
                "{action:?} is better than {best:?} by {regret}"
            );
            let loss = world.loss(round, &action);
            assert_eq!(loss, again.loss(round, &action));
            // All actions of a round share its noise: differences of losses are differences of expected losses.
            let gap = loss.get() - world.loss(round, &best).get();
            assert!((gap - regret).abs() < 1e-9, "{gap} {regret}");
            let expected = simulator
                .model()
                .expected(x.as_dense().expect("dense"), &action);
            assert!(
                (0.1 - 1e-12..=0.9 + 1e-12).contains(&expected),
                "{expected}"
            );
        }
    }
}

/// Checks that the default oracle is that of `learner`, egret's default for these actions with seed 7. Its saved state
/// holds parameters, settings and the scaling of actions.
pub(super) fn check_default_oracle<M: LossModel>(model: M, learner: &Learner<Context, M::Action>) {
    let simulator = Simulator::new(model);
    let oracle = simulator
        .oracle(&simulator.default_oracle(7))
        .expect("it fits");
    assert!(oracle.save() == learner.oracle().save(), "another oracle");
}

/// The mean regret over the second half of a run: of a learner with this oracle, and of uniform play.
pub(super) fn regrets<M: LossModel>(model: M, oracle: &OracleSpec, rounds: usize) -> (f64, f64) {
    let simulator = Simulator::new(model);
    let play = |explorer: Explorer| {
        let settings = Settings {
            explorer,
            // A grid up to 1,024 takes seconds where a draw is expensive.
            taus: vec![32.0],
            ..Settings::paper()
        };
        let oracle = simulator.oracle(oracle).expect("it fits");
        let mut learner = Learner::new(simulator.measure(), oracle, settings).expect("settings");
        let world = simulator.world(1, rounds);
        let mut sum = 0.0;
        for round in 0..rounds {
            let x = world.context(round);
            let decision = learner.decide(round as u64, x).expect("a decision");
            if rounds / 2 <= round {
                sum += world.regret(round, &decision.action).expect("known");
            }
            let loss = world.loss(round, &decision.action);
            learner.learn(&decision.observed(x, loss)).expect("learned");
        }
        sum / (rounds - rounds / 2) as f64
    };
    (play(Settings::paper().explorer), play(Explorer::Uniform))
}
