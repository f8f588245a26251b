//! Densities of policies against closed forms, and that draws follow them.

use egret::{
    Action, CappedIgw, Catalogue, Context, EventRng, Explorer, FunctionOnInterval, FunctionOracle,
    GammaSchedule, Igw, Interval, Item, Learner, Limits, Model, Normalization, OracleSpec,
    ReferenceMeasure, Settings, Stream,
};
use egret_offline::{
    BestOf, CappedIgwPolicy, GreedyPolicy, Kernel, KernelPolicy, KernelShape, PointPolicy, Policy,
    PolicyBuffers, PolicyError, PolicySeed, UniformPolicy, expected_loss,
};
use egret_testkit::kolmogorov_smirnov_p_value;

/// A mean with its standard error.
#[derive(Default)]
struct Mean {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.n += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    /// How many standard errors it is from `expected`: beyond 4.9 once in a million times.
    fn off(&self, expected: f64) -> f64 {
        let mean = self.sum / self.n;
        let variance = (self.squares / self.n - mean * mean).max(1e-300);
        (mean - expected) / (variance / self.n).sqrt()
    }
}

const LARGEST: f64 = 4.9;

fn unit() -> Interval {
    Interval::new(0.0, 1.0).expect("in order")
}

/// f̂(y, a) = |a − y|.
fn distance() -> impl egret::RegressionOracle<f64, f64> {
    FunctionOracle::new(|y: &f64, actions: &Vec<f64>, out: &mut [f64]| {
        for (out, action) in out.iter_mut().zip(actions) {
            *out = (action - y).abs();
        }
    })
}

fn distance_learner() -> Learner<f64, f64> {
    let (mu, oracle) = (Box::new(unit()), Box::new(distance()));
    Learner::new(mu, oracle, Settings::paper()).expect("good settings")
}

/// f̂(y, a) = a: what is not the policy's own idea of the loss.
fn identity() -> impl egret::RegressionOracle<f64, f64> {
    FunctionOracle::new(|_: &f64, actions: &Vec<f64>, out: &mut [f64]| {
        out.copy_from_slice(actions);
    })
}

/// The share of [0, 1] that is nearer to y than a is.
fn share_better(a: f64, y: f64) -> f64 {
    let gap = (a - y).abs();
    (y + gap).min(1.0) - (y - gap).max(0.0)
}

/// P(Bin(n, share) < k).
fn binomial_below(k: usize, n: usize, share: f64) -> f64 {
    let mut term = (1.0 - share).powi(n as i32);
    let mut sum = term;
    for j in 0..k - 1 {
        term *= (n - j) as f64 / (j + 1) as f64 * share / (1.0 - share);
        sum += term;
    }
    sum
}

/// The mean of q̂ at one action.
fn mean_density<X, A: Action>(policy: &dyn Policy<X, A>, x: &X, action: &A, events: u64) -> Mean {
    let mut buffers = PolicyBuffers::default();
    let mut mean = Mean::default();
    for event in 0..events {
        let seed = PolicySeed { seed: 11, event };
        let q = policy
            .density(seed, x, action, &mut buffers)
            .expect("a density");
        if let Some(largest) = policy.largest_density() {
            assert!((0.0..=largest).contains(&q), "{q} exceeds {largest}");
        }
        mean.add(q);
    }
    mean
}

#[test]
fn best_of_is_unbiased() {
    let (mu, oracle, y) = (unit(), distance(), 0.3);
    for (k, m) in [(1, 2), (1, 16), (5, 40)] {
        let policy = BestOf::new(&mu, &oracle, k, m).expect("k of m");
        for a in [0.3, 0.33, 0.2, 0.7] {
            let share = share_better(a, y);
            let q = m as f64 / k as f64 * binomial_below(k, m - 1, share);
            let mean = mean_density(&policy, &y, &a, 20_000);
            if q < 1e-4 {
                // Too rare to be met: a mean has no standard error then.
                assert!(mean.sum / mean.n < 1e-2);
                continue;
            }
            if a == y {
                assert_eq!(mean.sum / mean.n, m as f64 / k as f64);
                continue;
            }
            assert!(
                mean.off(q).abs() < LARGEST,
                "{k} of {m} at {a}: {}",
                mean.off(q)
            );
            // Power: one draw too many among the others is seen where it matters.
            let biased = m as f64 / k as f64 * binomial_below(k, m, share);
            if 0.02 * q < q - biased && 0.1 < q {
                assert!(LARGEST < mean.off(biased).abs(), "{k} of {m} at {a}");
            }
        }
    }
}

#[test]
fn more_draws_make_the_density_steadier_and_no_less_right() {
    let (mu, oracle, y, a) = (unit(), distance(), 0.5, 0.54);
    let q = 16.0 * binomial_below(1, 15, share_better(a, y));
    let spread = |draws| {
        let policy = BestOf::m(&mu, &oracle, 16).expect("m").with_draws(draws);
        let mean = mean_density(&policy, &y, &a, 10_000);
        assert!(mean.off(q).abs() < LARGEST);
        mean.squares / mean.n - (mean.sum / mean.n).powi(2)
    };
    assert!(spread(240) < 0.1 * spread(15));
}

#[test]
fn the_smooth_optimum_is_nearly_that() {
    let (mu, oracle, y) = (unit(), distance(), 0.5);
    let policy = BestOf::smooth(&mu, &oracle, 8.0).expect("tau");
    assert_eq!(policy.largest_density(), Some(8.0));
    // The best eighth is within 1/16 of y.
    for (a, q, within) in [(0.52, 8.0, 1e-3), (0.62, 0.0, 1e-3)] {
        let mean = mean_density(&policy, &y, &a, 500);
        assert!(
            (mean.sum / mean.n - q).abs() < within,
            "{}",
            mean.sum / mean.n
        );
    }
    for tau in [1.0, 1.7, 33.3] {
        let policy = BestOf::smooth(&mu, &oracle, tau).expect("tau");
        let most = policy.largest_density().expect("known");
        assert!(most <= tau && 0.97 * tau < most, "{tau} {most}");
    }
}

#[test]
fn ties_are_broken_at_random() {
    // Items 0 and 1 are equally good, 2 is better, 3 is worst.
    let losses = [0.4, 0.4, 0.2, 0.9];
    let mu = Catalogue::weighted(vec![1.0, 3.0, 1.0, 5.0]).expect("positive");
    let oracle = FunctionOracle::new(move |(): &(), items: &Vec<Item>, out: &mut [f64]| {
        for (out, item) in out.iter_mut().zip(items) {
            *out = losses[item.0 as usize];
        }
    });
    let policy = BestOf::m(&mu, &oracle, 6).expect("m");
    let power = |share: f64| share.powi(6);
    // The best of six is in a class where all are as good or worse, and not all are worse.
    for (item, class, mass) in [
        (2, power(1.0) - power(0.9), 0.1),
        (0, power(0.9) - power(0.5), 0.4),
        (1, power(0.9) - power(0.5), 0.4),
        (3, power(0.5), 0.5),
    ] {
        let mean = mean_density(&policy, &(), &Item(item), 40_000);
        assert!(
            mean.off(class / mass).abs() < LARGEST,
            "item {item}: {}",
            mean.off(class / mass)
        );
        // Power: ties always won, or always lost.
        if item == 0 {
            for biased in [6.0 * 0.9_f64.powi(5), 6.0 * 0.5_f64.powi(5)] {
                assert!(LARGEST < mean.off(biased).abs());
            }
        }
    }
}

fn settings(normalization: Normalization, taus: &[f64], gamma: f64) -> Settings {
    Settings {
        explorer: Explorer::CappedIgw(CappedIgw {
            normalization,
            ..CappedIgw::default()
        }),
        gamma: GammaSchedule::constant(gamma).expect("positive"),
        taus: taus.to_vec(),
        seed: 3,
        ..Settings::paper()
    }
}

/// f̂ = 1{a > x} on [0, 1]: z(β) = τ (x/(1 + γ(−β)₊) + (1 − x)/(1 + γ(1 − β)₊)).
fn step_learner(settings: Settings) -> Learner<f64, f64> {
    let oracle = FunctionOnInterval::new(
        |x: &f64, actions: &Vec<f64>, out: &mut [f64]| {
            for (out, action) in out.iter_mut().zip(actions) {
                *out = if action > x { 1.0 } else { 0.0 };
            }
        },
        |x: &f64, points: &mut Vec<f64>| {
            points.push(*x);
            0.0
        },
    );
    Learner::new(Box::new(unit()), Box::new(oracle), settings).expect("good settings")
}

#[test]
fn capped_igw_is_unbiased_whatever_the_normalizer() {
    let x = 0.05;
    for (normalization, taus) in [
        (Normalization::Mixture, &[8.0][..]),
        (Normalization::Betting, &[8.0]),
        (Normalization::FixedSample, &[3.0, 12.0]),
        (Normalization::Exact, &[8.0]),
        (Normalization::Exact, &[3.0, 12.0]),
    ] {
        let learner = step_learner(settings(normalization, taus, 60.0));
        let policy = CappedIgwPolicy::new(&learner)
            .expect("densities")
            .with_repetitions(2);
        for a in [0.01, 0.5] {
            let fhat = if a > x { 1.0 } else { 0.0 };
            // E[g/z] and E[g] over other decisions, z in closed form.
            let (mut density, mut g_alone) = (Mean::default(), Mean::default());
            for event in 0..4_000 {
                let decision = learner
                    .decide_seeded(77, event, &x, None)
                    .expect("an action");
                let igw = Igw::new(decision.tau, decision.gamma).expect("in range");
                let beta = decision.capped_igw.expect("CappedIGW").certificate.beta;
                let z = x * igw.weight(0.0, beta) + (1.0 - x) * igw.weight(1.0, beta);
                density.add(igw.weight(fhat, beta) / z);
                g_alone.add(igw.weight(fhat, beta));
            }
            let q = density.sum / density.n;
            let found = mean_density(&policy, &x, &a, 4_000);
            // Both means vary: the difference in their common error.
            let error = |mean: &Mean| {
                let centre = mean.sum / mean.n;
                (mean.squares / mean.n - centre * centre).max(0.0) / mean.n
            };
            let scale = (error(&found) + error(&density)).sqrt() + 1e-6 * q;
            let off = (found.sum / found.n - q) / scale;
            assert!(off.abs() < LARGEST, "{normalization:?} at {a}: {off}");
            // Power: without 1/z, as if κ were 1, it is another number.
            if normalization != Normalization::Exact {
                let biased = g_alone.sum / g_alone.n;
                assert!(LARGEST < ((found.sum / found.n - biased) / scale).abs());
            }
        }
    }
}

#[test]
fn a_computed_density_is_that_of_the_decision() {
    let mut buffers = PolicyBuffers::default();
    let settings = || settings(Normalization::Exact, &[8.0], 60.0);
    let learners = [
        step_learner(settings()),
        step_learner(settings().with_effective_events(100.0)),
    ];
    for (learner, event) in learners
        .iter()
        .zip([0, 50])
        .flat_map(|(learner, first)| (first..first + 50).map(move |event| (learner, event)))
    {
        let x = 0.02 + 0.01 * (event % 50) as f64;
        let decision = learner.decide(event, &x).expect("an action");
        let policy = CappedIgwPolicy::new(learner).expect("densities");
        let seed = PolicySeed { seed: 5, event };
        let q = policy
            .density(seed, &x, &decision.action, &mut buffers)
            .expect("a density");
        let p = decision.propensity.density().expect("a density").get();
        assert!((q / p - 1.0).abs() < 1e-12, "{q} {p}");
    }
}

#[test]
fn point_masses_are_refused_with_advice() {
    for explorer in [
        Explorer::SmoothIgw,
        Explorer::EpsilonGreedy { epsilon: 0.1 },
    ] {
        let learner = step_learner(Settings {
            explorer,
            ..Settings::paper()
        });
        let error = CappedIgwPolicy::new(&learner).err().expect("refused");
        assert!(matches!(error, PolicyError::PointMass { .. }));
        assert!(error.to_string().contains("best of m"), "{error}");
    }
    let (mu, oracle) = (unit(), distance());
    for (k, m) in [(0, 4), (5, 4), (1, 0), (1, 1 << 40)] {
        assert!(BestOf::new(&mu, &oracle, k, m).is_err());
    }
    for tau in [0.5, f64::NAN, 1e9] {
        assert!(BestOf::smooth(&mu, &oracle, tau).is_err());
    }
}

/// All policies over [0, 1] with their contexts in [0, 1].
fn each_policy(check: &mut dyn FnMut(&dyn Policy<f64, f64>)) {
    let (mu, oracle) = (unit(), distance());
    check(&UniformPolicy::new(&mu));
    check(&BestOf::m(&mu, &oracle, 4).expect("m"));
    check(&BestOf::new(&mu, &oracle, 3, 12).expect("k of m"));
    for normalization in [Normalization::Mixture, Normalization::Exact] {
        let learner = step_learner(settings(normalization, &[2.0, 6.0], 20.0));
        check(&CappedIgwPolicy::new(&learner).expect("densities"));
    }
    let policy = |x: &f64| 1.0 - x;
    let learner = distance_learner();
    for shape in [KernelShape::Epanechnikov, KernelShape::Gaussian] {
        let kernel = Kernel::new(shape, 0.2, &mu).expect("positive");
        check(&KernelPolicy::new(Box::new(policy), kernel));
        check(&KernelPolicy::new(
            Box::new(GreedyPolicy::new(&learner)),
            kernel,
        ));
    }
}

#[test]
fn densities_are_one_on_average_and_draws_follow_them() {
    let (mu, action) = (unit(), identity());
    each_policy(&mut |policy| {
        let mut buffers = PolicyBuffers::default();
        let mut actions = Vec::new();
        let (mut one, mut difference) = (Mean::default(), Mean::default());
        let mut uniform_instead = Mean::default();
        for event in 0..6_000 {
            let mut world = EventRng::new(1, event, Stream::World);
            let x = 0.5 * world.unit();
            actions.clear();
            mu.sample(&x, 1, &mut world, &mut actions);
            let seed = PolicySeed { seed: 2, event };
            let q = policy
                .density(seed, &x, &actions[0], &mut buffers)
                .expect("a density");
            one.add(q);
            let predicted =
                expected_loss(policy, &action, seed, &x, 4, &mut buffers).expect("draws");
            difference.add(q * actions[0] - predicted);
            uniform_instead.add(q * actions[0] - actions[0]);
        }
        let name = policy.name();
        if name != "uniform" {
            assert!(one.off(1.0).abs() < LARGEST, "{name}: {}", one.off(1.0));
            // Power: draws of μ in place of the policy's.
            assert!(LARGEST < uniform_instead.off(0.0).abs(), "{name}");
        }
        assert!(
            difference.off(0.0).abs() < LARGEST,
            "{name}: {}",
            difference.off(0.0)
        );
    });
}

#[test]
fn answers_depend_on_nothing_else() {
    each_policy(&mut |policy| {
        let ask = |event: u64, buffers: &mut PolicyBuffers<f64>| {
            let seed = PolicySeed { seed: 9, event };
            let q = policy
                .density(seed, &0.3, &0.4, buffers)
                .expect("a density");
            let mut drawn = Vec::new();
            policy
                .draw(seed, &0.3, 3, buffers, &mut drawn)
                .expect("draws");
            assert!(3 <= drawn.len());
            let bits: Vec<u64> = drawn.iter().map(|action| action.to_bits()).collect();
            (q.to_bits(), bits)
        };
        let mut buffers = PolicyBuffers::default();
        let forward: Vec<_> = (0..8).map(|event| ask(event, &mut buffers)).collect();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let answers = (0..8).rev();
                answers
                    .map(|event| ask(event, &mut PolicyBuffers::default()))
                    .collect::<Vec<_>>()
            });
            let mut backward = other.join().expect("no panic");
            backward.reverse();
            assert_eq!(forward, backward, "{}", policy.name());
        });
    });
}

#[test]
fn kernels_are_densities_near_the_ends_too() {
    let interval = Interval::new(2.0, 6.0).expect("in order");
    let steps = 40_000;
    for shape in [KernelShape::Epanechnikov, KernelShape::Gaussian] {
        for bandwidth in [0.05, 0.7, 30.0] {
            let kernel = Kernel::new(shape, bandwidth, &interval).expect("positive");
            for center in [2.0, 2.03, 3.9, 6.0] {
                let at = |step: usize| 2.0 + 4.0 * (step as f64 + 0.5) / steps as f64;
                let density = |a| kernel.density(center, a).expect("inside");
                let mass: f64 = (0..steps).map(|step| density(at(step))).sum();
                assert!(
                    (mass / steps as f64 - 1.0).abs() < 1e-5,
                    "{shape:?} {center}"
                );
                let most = (0..steps).map(|step| density(at(step))).fold(0.0, f64::max);
                assert!(most <= kernel.largest_density() * (1.0 + 1e-12));
                // At an end the half that is left counts twice: without that it would not be a density.
                if center == 2.0 && bandwidth == 0.05 {
                    let inside = kernel.density(3.9, 3.9).expect("inside");
                    assert!((density(2.0) / inside - 2.0).abs() < 1e-12);
                }
                let mut drawn: Vec<f64> = (0..2_000)
                    .map(|event| {
                        let u = EventRng::new(4, event, Stream::World).unit();
                        kernel.quantile(center, u).expect("inside")
                    })
                    .collect();
                // False alarm: one in a million for each.
                let cdf = |a: f64| {
                    let below = (0..400).map(|i| 2.0 + (a - 2.0) * (f64::from(i) + 0.5) / 400.0);
                    below.map(density).sum::<f64>() / 400.0 * (a - 2.0) / 4.0
                };
                assert!(1e-6 < kolmogorov_smirnov_p_value(&mut drawn, cdf));
            }
            for bad in [1.9, 6.1, f64::NAN] {
                assert!(kernel.density(bad, 3.0).is_err());
            }
            assert_eq!(kernel.density(3.0, 7.0), Ok(0.0));
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Kernel::new(shape, bad, &interval).is_err());
        }
    }
}

#[test]
fn the_greedy_policy_finds_the_minimum() {
    let learner = distance_learner();
    let policy = GreedyPolicy::new(&learner);
    for x in [0.0, 0.31, 1.0] {
        let action = policy.action(&x).expect("an action");
        assert!((action - x).abs() <= 0.5 / 1024.0 + 1e-12);
    }
    let learner = step_learner(settings(Normalization::Exact, &[2.0], 1.0));
    let told = GreedyPolicy::new(&learner);
    assert_eq!(told.action(&0.4), Ok(0.0));
}

#[test]
fn other_settings_keep_what_was_learned() {
    let spec = egret::ModelSpec::new(Interval::new(0.0, 1.0).expect("in order"), 1)
        .with_oracle(OracleSpec::paper());
    let mut model = Model::<f64>::from_spec(spec, Settings::paper()).expect("a good model");
    let x = Context::dense(vec![0.5]).expect("finite");
    let decision = model.decide(1, &x).expect("an action");
    let loss = egret::Loss::new(0.7).expect("in range");
    model
        .learn(&decision.observed(&x, loss))
        .expect("a good event");
    let saved = model.learner().oracle().save();
    let other = model
        .under(settings(Normalization::Mixture, &[4.0], 9.0))
        .expect("good settings");
    assert_eq!(other.learner().oracle().save(), saved);
    assert_eq!(other.settings().taus, [4.0]);
}

/// Within limits every policy is a density against μ restricted to them: it integrates to 1, draws follow it and stay inside,
/// and what is pinned has density 1.
#[test]
fn policies_obey_limits() {
    let (mu, oracle, learner) = (unit(), distance(), distance_learner());
    let kernel = |shape, h| Kernel::new(shape, h, &unit()).expect("a bandwidth");
    let far = |_: &f64| 0.9; // outside of the limits below
    let policies: Vec<Box<dyn Policy<f64, f64>>> = vec![
        Box::new(UniformPolicy::new(&mu)),
        Box::new(BestOf::m(&mu, &oracle, 4).expect("a policy")),
        Box::new(BestOf::smooth(&mu, &oracle, 4.0).expect("a policy")),
        Box::new(CappedIgwPolicy::new(&learner).expect("a policy")),
        Box::new(KernelPolicy::new(
            Box::new(far),
            kernel(KernelShape::Epanechnikov, 0.05),
        )),
        Box::new(KernelPolicy::new(
            Box::new(|y: &f64| *y),
            kernel(KernelShape::Gaussian, 0.2),
        )),
    ];
    let (low, high) = (0.25, 0.5);
    let limits = Limits::Interval { low, high };
    let pinned = Limits::Interval { low, high: low };
    let mut buffers = PolicyBuffers::default();
    for policy in &policies {
        let name = policy.name();
        let within = policy.within(&limits).expect("a part");
        let largest = policy.largest_density().map_or(f64::INFINITY, |q| q + 1e-9);
        // E over the restricted μ of q and of q·a, and E under the policy of 1 and of a.
        let (mut mass, mut mean, mut drawn) = (Mean::default(), Mean::default(), Mean::default());
        let mut out = Vec::new();
        for event in 0..4_000 {
            let seed = PolicySeed { seed: 5, event };
            let y = EventRng::new(3, event, Stream::World).unit();
            let a = low + (high - low) * EventRng::new(4, event, Stream::World).unit();
            let q = within
                .density(seed, &y, &a, &mut buffers)
                .expect("a density");
            assert!((0.0..=largest).contains(&q), "{name}: {q}");
            mass.add(q);
            mean.add(q * a);
            out.clear();
            within
                .draw(seed, &y, 1, &mut buffers, &mut out)
                .expect("draws");
            assert!(
                out.iter().all(|a| (low..=high).contains(a)),
                "{name}: {out:?}"
            );
            drawn.add(out.iter().sum::<f64>() / out.len() as f64);
            let one = policy.within(&pinned).expect("a point");
            let q = one
                .density(seed, &y, &low, &mut buffers)
                .expect("a density");
            assert!((q - 1.0).abs() < 1e-9, "{name}: {q}");
        }
        if name != "uniform" {
            assert!(mass.off(1.0).abs() < LARGEST, "{name}: {}", mass.off(1.0));
        }
        // Two estimates of the same mean, each with its own error.
        let (by_weight, by_draw) = (mean.sum / mean.n, drawn.sum / drawn.n);
        let error = |mean: &Mean| (mean.squares / mean.n - (mean.sum / mean.n).powi(2)) / mean.n;
        let error = (error(&mean) + error(&drawn)).sqrt();
        assert!(
            (by_weight - by_draw).abs() < LARGEST * error,
            "{name}: {by_weight} {by_draw}"
        );
    }
    let outside = Limits::Interval {
        low: -1.0,
        high: 0.5,
    };
    for policy in &policies[..3] {
        let refused = policy.within(&outside).err().expect("no part of [0, 1]");
        assert!(refused.to_string().contains("from -1 to 0.5"), "{refused}");
    }
}
