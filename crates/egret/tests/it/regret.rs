//! Theorem 1 on a problem where all is known: the class of losses, the true one, the best smooth policy.

use egret::{
    Aggregation, CappedIgw, EventRng, Explorer, FunctionOnInterval, GammaSchedule, Interval,
    Learner, Loss, Normalization, RegressionOracle, Settings, Stream,
};

use crate::worlds::SAMPLED;

/// The smoothness that is played and competed with.
const TAU: f64 = 4.0;
/// How many functions the class has; one is the true loss.
const MEMBERS: usize = 16;
const KAPPA_INF: f64 = 2.0;
const SEEDS: u64 = 6;

/// The loss in context x ∈ [0, 1] is 0.1 + 0.8 |a − y| with y = x + shift modulo 1.
fn target(x: f64, member: usize) -> f64 {
    (x + member as f64 / MEMBERS as f64).fract()
}

fn expected_loss(y: f64, a: f64) -> f64 {
    0.1 + 0.8 * (a - y).abs()
}

/// The least mean loss of a density of at most τ: uniform over the window of width 1/τ nearest to y.
fn smooth_loss(y: f64) -> f64 {
    let width = 1.0 / TAU;
    let start = (y - 0.5 * width).clamp(0.0, 1.0 - width);
    let (left, right) = (y - start, start + width - y);
    0.1 + 0.8 * 0.5 * (left * left + right * right) / width
}

/// Vovk's aggregation of the class: Reg_Sq ≤ ln(16)/2 on any data.
fn oracle() -> Aggregation<f64, f64> {
    let member = |member: usize| -> Box<dyn RegressionOracle<f64, f64>> {
        Box::new(FunctionOnInterval::new(
            move |x: &f64, actions: &Vec<f64>, out: &mut [f64]| {
                let y = target(*x, member);
                for (out, &a) in out.iter_mut().zip(actions) {
                    *out = expected_loss(y, a);
                }
            },
            move |x: &f64, points: &mut Vec<f64>| {
                points.push(target(*x, member));
                target(*x, member)
            },
        ))
    };
    Aggregation::new((0..MEMBERS).map(member).collect()).expect("sixteen")
}

fn reg_sq() -> f64 {
    0.5 * (MEMBERS as f64).ln()
}

/// √(4Tτκ∞Reg_Sq).
fn bound(horizon: usize) -> f64 {
    (4.0 * horizon as f64 * TAU * KAPPA_INF * reg_sq()).sqrt()
}

fn capped(normalization: Normalization) -> Explorer {
    Explorer::CappedIgw(CappedIgw {
        normalization,
        kappa_inf: KAPPA_INF,
        ..CappedIgw::default()
    })
}

/// Σ f*(x, a) − Smooth_τ(x) over the first and the second half of the rounds, the mean over seeds.
fn regret(explorer: Explorer, horizon: usize) -> [f64; 2] {
    let mut halves = [0.0; 2];
    for seed in 0..SEEDS {
        let settings = Settings {
            explorer,
            gamma: GammaSchedule::theorem1(horizon as f64, KAPPA_INF, reg_sq()).expect("in range"),
            taus: vec![TAU],
            seed,
            ..Settings::paper()
        };
        let measure = Interval::new(0.0, 1.0).expect("in order");
        let mut learner =
            Learner::new(Box::new(measure), Box::new(oracle()), settings).expect("good settings");
        let truth = EventRng::new(51, seed, Stream::World).unit() * MEMBERS as f64;
        for round in 0..horizon {
            let mut world = EventRng::new(52 + seed, round as u64, Stream::World);
            let x = world.unit();
            let y = target(x, truth as usize);
            let decision = learner.decide(round as u64, &x).expect("an action");
            let expected = expected_loss(y, decision.action);
            halves[2 * round / horizon] += (expected - smooth_loss(y)) / SEEDS as f64;
            // As noisy as a loss in [0, 1] can be: all or nothing.
            let loss = f64::from(u8::from(world.unit() < expected));
            let loss = Loss::new(loss).expect("0 or 1");
            learner
                .learn(&decision.observed(&x, loss))
                .expect("a good event");
        }
    }
    halves
}

fn total([first, second]: [f64; 2]) -> f64 {
    first + second
}

#[test]
fn it_is_below_the_bound_of_theorem_1() {
    let horizon = 2_000;
    let uniform = total(regret(Explorer::Uniform, horizon));
    // Power: playing at random is above it.
    assert!(bound(horizon) < uniform, "{uniform}");
    for normalization in SAMPLED {
        let regret = total(regret(capped(normalization), horizon));
        assert!(regret < bound(horizon), "{normalization:?}: {regret}");
        // It is far below, for the class is learned long before the horizon.
        assert!(
            regret < 0.2 * uniform,
            "{normalization:?}: {regret} {uniform}"
        );
    }
}

/// It may fall below 0: p may be κ times as large as a τ-smooth policy's density.
#[test]
fn it_falls_per_round() {
    let explorer = capped(Normalization::Mixture);
    let per_round = [300, 1_000, 4_000].map(|horizon| {
        let [first, second] = regret(explorer, horizon);
        assert!(second < first, "{horizon}: {first}, then {second}");
        (first + second) / horizon as f64
    });
    assert!(
        per_round.is_sorted_by(|short, long| long < short),
        "{per_round:?}"
    );
    assert!(per_round[2] < 0.2 * per_round[0], "{per_round:?}");
    // Power: playing at random learns nothing from a longer horizon.
    let short = total(regret(Explorer::Uniform, 300)) / 300.0;
    let long = total(regret(Explorer::Uniform, 4_000)) / 4_000.0;
    assert!(0.8 * short < long, "{short} {long}");
}
