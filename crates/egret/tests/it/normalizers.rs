//! Normalizers keep their tolerance, on the paper's Table 1 and on random problems.

use egret::{
    BettingMartingale, Certificate, DrawBuffers, Draws, EventRng, FixedSample, Igw,
    MixtureMartingale, Normalizer, SampleError, Stream, Tolerance,
};
use egret_testkit::{allowed_misses, kolmogorov_smirnov_p_value};
use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF};

use crate::curves::{Curve, FAMILIES, between};

/// Builds a normalizer for a tolerance.
type Build = fn(Tolerance) -> Box<dyn Normalizer>;

/// All that learn z from draws.
const NORMALIZERS: [(&str, Build); 3] = [
    ("betting", |tolerance| {
        Box::new(BettingMartingale::new(tolerance))
    }),
    ("mixture", |tolerance| {
        Box::new(MixtureMartingale::new(tolerance))
    }),
    ("fixed sample", |tolerance| {
        Box::new(FixedSample::new(tolerance))
    }),
];

fn tolerance(kappa_inf: f64, delta: f64) -> Tolerance {
    Tolerance::new(kappa_inf, delta).expect("in range")
}

fn certify(
    normalizer: &dyn Normalizer,
    igw: &Igw,
    curve: &Curve,
    seed: u64,
    event: u64,
) -> Certificate {
    let mut buffers = DrawBuffers::default();
    let mut rng = EventRng::new(seed, event, Stream::Beta);
    let mut more = |n: usize, rng: &mut EventRng, out: &mut Vec<f64>| {
        out.extend((0..n).map(|_| curve.at(rng.unit())));
        Ok(())
    };
    normalizer
        .certify(igw, &mut Draws::new(&mut buffers, &mut rng, &mut more))
        .expect("no NaN")
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

mod table_1 {
    use super::*;

    const RUNS: u64 = 250;
    const KAPPA_INF: f64 = 24.0;
    const DELTA: f64 = 0.025;

    /// τ, γ, and the paper's 95% bands of n and κ.
    const ROWS: [(f64, f64, [f64; 2], [f64; 2]); 3] = [
        (2.0, 16.0, [18.0, 24.0], [1.3, 3.0]),
        (20.0, 304.0, [123.0, 227.0], [10.2, 11.8]),
        (200.0, 6368.0, [2254.0, 2788.0], [1.8, 23.6]),
    ];

    /// (n, κ) of many runs on the needle.
    fn runs(build: Build, tau: f64, gamma: f64) -> (Vec<f64>, Vec<f64>) {
        let igw = Igw::new(tau, gamma).expect("in range");
        let curve = Curve::needle(tau);
        let normalizer = build(tolerance(KAPPA_INF, DELTA));
        (0..RUNS)
            .map(|run| certify(&*normalizer, &igw, &curve, 1, run))
            .map(|found| (found.draws as f64, 1.0 / curve.z(&igw, found.beta)))
            .unzip()
    }

    #[test]
    fn betting_is_in_the_paper_s_bands() {
        let (_, betting) = NORMALIZERS[0];
        for (tau, gamma, draws_band, kappa_band) in ROWS {
            let (draws, kappas) = runs(betting, tau, gamma);
            let typical = median(draws);
            assert!(
                (draws_band[0]..=draws_band[1]).contains(&typical),
                "{tau}: n = {typical}"
            );
            let kappa = median(kappas);
            // At τ = 20 the lower end of the paper's band is where its search for l stops short. egret solves
            // W⁻(l) = 2/δ to a thousandth of 1/γ: l is larger, so is z(l), and κ is lower, as one would want it.
            let least = if tau == 20.0 { 1.0 } else { kappa_band[0] };
            assert!(
                (least..=kappa_band[1]).contains(&kappa),
                "{tau}: kappa = {kappa}"
            );
        }
    }

    #[test]
    fn every_normalizer_keeps_its_tolerance_on_the_needle() {
        for (name, build) in NORMALIZERS {
            for (tau, gamma, ..) in ROWS {
                let (_, kappas) = runs(build, tau, gamma);
                let missed = |kappa: &&f64| !(1.0..=KAPPA_INF).contains(*kappa);
                let misses = kappas.iter().filter(missed).count() as u64;
                // False alarm: one in a million each.
                assert!(
                    misses <= allowed_misses(RUNS, DELTA),
                    "{name} {tau}: {misses}"
                );
            }
        }
    }

    #[test]
    fn mixture_takes_at_most_seven_tenths_of_betting_s_draws() {
        let [(_, betting), (_, mixture), _] = NORMALIZERS;
        for (tau, gamma, ..) in ROWS {
            let [betting, mixture] =
                [betting, mixture].map(|build| mean(&runs(build, tau, gamma).0));
            assert!(mixture <= 0.7 * betting, "{tau}: {mixture} {betting}");
        }
    }
}

mod fixed_sample {
    use super::*;

    const TRIALS: u64 = 20_000;

    /// (n, k): k is not public, but only one k keeps this tolerance with n draws.
    fn order(igw: &Igw, kappa_inf: f64, delta: f64) -> (u64, u64) {
        let n = FixedSample::new(tolerance(kappa_inf, delta)).draws(igw) as u64;
        let failure = |&k: &u64| {
            let (above, below) = tails(igw, kappa_inf, n, k);
            above + below <= delta
        };
        let good: Vec<u64> = (2..=n).filter(failure).collect();
        assert_eq!(good.len(), 1, "{good:?}");
        (n, good[0])
    }

    /// (P(z > 1), P(z < 1/κ∞)) = (P(Bin(n, 1/τ) < k), P(Bin(n, 1/(κ∞τ)) ≥ k)).
    fn tails(igw: &Igw, kappa_inf: f64, n: u64, k: u64) -> (f64, f64) {
        let binomial = |p| Binomial::new(p, n).expect("a probability");
        let above = binomial(1.0 / igw.tau()).cdf(k - 1);
        (above, binomial(1.0 / (kappa_inf * igw.tau())).sf(k - 1))
    }

    fn zs(igw: &Igw, kappa_inf: f64, delta: f64, curve: &Curve) -> Vec<f64> {
        let normalizer = FixedSample::new(tolerance(kappa_inf, delta));
        (0..TRIALS)
            .map(|trial| curve.z(igw, certify(&normalizer, igw, curve, 2, trial).beta))
            .collect()
    }

    /// Whether `count` of [`TRIALS`] is what a probability gives: one false alarm in a million on either side.
    fn fits(count: usize, probability: f64) -> bool {
        let count = count as u64;
        count <= allowed_misses(TRIALS, probability)
            && TRIALS - count <= allowed_misses(TRIALS, 1.0 - probability)
    }

    #[test]
    fn it_fails_exactly_as_often_as_the_binomial_says() {
        for (tau, gamma, kappa_inf, delta) in [
            (6.0, 50.0, 4.0, 0.3),
            (2.5, 900.0, 24.0, 0.2),
            (30.0, 3.0, 4.0, 0.05),
        ] {
            let igw = Igw::new(tau, gamma).expect("in range");
            let (n, k) = order(&igw, kappa_inf, delta);
            let (above, below) = tails(&igw, kappa_inf, n, k);
            // Whatever f̂ is.
            for curve in [
                Curve::needle(tau),
                Curve::vee(0.3, 0.2, 2.0, 0.7),
                Curve::steps(vec![(1.0, 0.4)]),
            ] {
                let zs = zs(&igw, kappa_inf, delta, &curve);
                let too_high = zs.iter().filter(|&&z| 1.0 < z).count();
                let too_low = zs.iter().filter(|&&z| z < 1.0 / kappa_inf).count();
                assert!(fits(too_high, above), "{tau}: {too_high} {above}");
                assert!(fits(too_low, below), "{tau}: {too_low} {below}");
                // Power: with half or twice the probability the check would fail.
                for wrong in [0.5 * above, 2.0 * above] {
                    assert!(!fits(too_high, wrong), "{tau}: {too_high} {wrong}");
                }
            }
        }
    }

    #[test]
    fn z_over_tau_is_the_kth_smallest_of_n_uniforms() {
        let (tau, kappa_inf, delta) = (6.0, 4.0, 0.3);
        let igw = Igw::new(tau, 50.0).expect("in range");
        let (n, k) = order(&igw, kappa_inf, delta);
        let mut shares = zs(&igw, kappa_inf, delta, &Curve::vee(0.6, 0.0, 1.0, 3.0));
        shares.iter_mut().for_each(|z| *z /= tau);
        let mut p_value = |k: u64, n: u64| {
            let kth = Beta::new(k as f64, (n - k + 1) as f64).expect("positive");
            kolmogorov_smirnov_p_value(&mut shares, |share| kth.cdf(share))
        };
        // False alarm: one in a million. Power: a draw more or a place less is seen.
        assert!(1e-6 < p_value(k, n));
        assert!(p_value(k, n + 1) < 1e-6);
        assert!(p_value(k - 1, n) < 1e-6);
    }
}

mod coverage {
    use super::*;

    const DELTA: f64 = 0.05;

    struct Trial {
        family: u64,
        kappa_inf: f64,
        z: f64,
        /// As a fraction of what [`FixedSample`] takes for the same tolerance.
        draws: f64,
    }

    impl Trial {
        fn missed(&self) -> bool {
            !(1.0 / self.kappa_inf..=1.0).contains(&self.z)
        }
    }

    /// Random τ, γ and f̂, the same for every normalizer, and each κ∞ of these in turn.
    fn trials(
        build: impl Fn(Tolerance) -> Box<dyn Normalizer>,
        kappas: &[f64],
        count: u64,
    ) -> Vec<Trial> {
        let normalizers: Vec<_> = kappas
            .iter()
            .map(|&kappa_inf| {
                let tolerance = tolerance(kappa_inf, DELTA);
                (kappa_inf, build(tolerance), FixedSample::new(tolerance))
            })
            .collect();
        (0..count)
            .map(|trial| {
                let mut rng = EventRng::new(3, trial, Stream::World);
                let (tau, gamma) = (between(1.2, 300.0, &mut rng), between(1.0, 1e5, &mut rng));
                let igw = Igw::new(tau, gamma).expect("in range");
                let family = trial % FAMILIES;
                let curve = Curve::random(family, &mut rng);
                let turn = (trial / FAMILIES) as usize % kappas.len();
                let (kappa_inf, normalizer, counting) = &normalizers[turn];
                let found = certify(&**normalizer, &igw, &curve, 4, trial);
                Trial {
                    family,
                    kappa_inf: *kappa_inf,
                    z: curve.z(&igw, found.beta),
                    draws: found.draws as f64 / counting.draws(&igw) as f64,
                }
            })
            .collect()
    }

    /// How many missed, and how many may, except with probability one in a million.
    fn misses<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> (u64, u64) {
        let missed: Vec<bool> = trials.into_iter().map(Trial::missed).collect();
        let misses = missed.iter().filter(|&&missed| missed).count();
        (misses as u64, allowed_misses(missed.len() as u64, DELTA))
    }

    fn check(build: Build, kappa_inf: f64) {
        let trials = trials(build, &[kappa_inf], 2_400);
        // False alarm: one in a million.
        let (misses, allowed) = misses(&trials);
        assert!(misses <= allowed, "{misses} of {allowed} allowed");
        // Power: neither drawing for ever nor an answer that is always low passes.
        for trial in &trials {
            assert!(trial.draws <= 2.0, "{} times as many draws", trial.draws);
        }
        for family in 0..FAMILIES {
            let of_family = trials.iter().filter(|trial| trial.family == family);
            let kappa = median(of_family.map(|trial| 1.0 / trial.z).collect());
            // Inside [1, κ∞], and not at its end.
            assert!(kappa < kappa_inf.powf(0.9), "family {family}: {kappa}");
        }
    }

    #[test]
    fn betting_at_2() {
        check(NORMALIZERS[0].1, 2.0);
    }

    #[test]
    fn betting_at_4() {
        check(NORMALIZERS[0].1, 4.0);
    }

    #[test]
    fn betting_at_24() {
        check(NORMALIZERS[0].1, 24.0);
    }

    #[test]
    fn mixture_at_2() {
        check(NORMALIZERS[1].1, 2.0);
    }

    #[test]
    fn mixture_at_4() {
        check(NORMALIZERS[1].1, 4.0);
    }

    #[test]
    fn mixture_at_24() {
        check(NORMALIZERS[1].1, 24.0);
    }

    #[test]
    fn fixed_sample_at_2() {
        check(NORMALIZERS[2].1, 2.0);
    }

    #[test]
    fn fixed_sample_at_4() {
        check(NORMALIZERS[2].1, 4.0);
    }

    #[test]
    fn fixed_sample_at_24() {
        check(NORMALIZERS[2].1, 24.0);
    }

    /// Shifts the β of another normalizer by a multiple of 1/γ.
    struct Shifted(Box<dyn Normalizer>, f64);

    impl Normalizer for Shifted {
        fn certify(&self, igw: &Igw, draws: &mut Draws<'_>) -> Result<Certificate, SampleError> {
            let found = self.0.certify(igw, draws)?;
            let beta = found.beta + self.1 / igw.gamma();
            Ok(Certificate { beta, ..found })
        }
    }

    /// Always where z ≤ 1 is certain.
    struct Lowest(FixedSample);

    impl Normalizer for Lowest {
        fn certify(&self, igw: &Igw, draws: &mut Draws<'_>) -> Result<Certificate, SampleError> {
            let found = self.0.certify(igw, draws)?;
            let beta = igw.beta_min();
            Ok(Certificate { beta, ..found })
        }
    }

    #[test]
    fn broken_normalizers_are_caught() {
        for (name, build) in NORMALIZERS {
            let loose = |of: Tolerance| build(tolerance(10.0 * of.kappa_inf(), of.delta()));
            let (found, allowed) = misses(&trials(loose, &[4.0], 900));
            assert!(
                2 * allowed < found,
                "{name} for ten times the kappa_inf: {found} {allowed}"
            );
            let high =
                |of: Tolerance| -> Box<dyn Normalizer> { Box::new(Shifted(build(of), 10.0)) };
            let (found, allowed) = misses(&trials(high, &[4.0], 900));
            assert!(allowed < found, "{name} ten steps up: {found} {allowed}");
        }
        let lowest =
            |of: Tolerance| -> Box<dyn Normalizer> { Box::new(Lowest(FixedSample::new(of))) };
        let (found, allowed) = misses(&trials(lowest, &[4.0], 2_400));
        assert!(2 * allowed < found, "the lowest: {found} {allowed}");
        // The martingales have room to spare, the order statistic has none: five times its δ is seen.
        let careless = |of: Tolerance| -> Box<dyn Normalizer> {
            Box::new(FixedSample::new(tolerance(
                of.kappa_inf(),
                5.0 * of.delta(),
            )))
        };
        let (found, allowed) = misses(&trials(careless, &[4.0], 2_400));
        assert!(
            2 * allowed < found,
            "at five times delta: {found} {allowed}"
        );
    }
}

/// Curves on which z jumps over the tolerance, or stays just outside it: a β there is a miss that looks almost right.
mod edges {
    use super::*;

    const TRIALS: u64 = 1_500;
    const DELTA: f64 = 0.1;

    /// Misses of z ≤ 1 and of 1/κ∞ ≤ z.
    fn misses(normalizer: &dyn Normalizer, igw: &Igw, curve: &Curve, kappa_inf: f64) -> [u64; 2] {
        let mut misses = [0; 2];
        for trial in 0..TRIALS {
            let z = curve.z(igw, certify(normalizer, igw, curve, 5, trial).beta);
            misses[0] += u64::from(1.0 < z);
            misses[1] += u64::from(z < 1.0 / kappa_inf);
        }
        misses
    }

    /// f̂ = 0 on the first share of actions, ½ up to the second, 1 elsewhere.
    fn two_steps(low: f64, high: f64) -> Curve {
        Curve::steps(vec![(low, 0.0), (high - low, 0.5), (1.0 - high, 1.0)])
    }

    /// The martingales use up to half of δ here, so that thresholds far too low are seen.
    #[test]
    fn a_z_just_outside_is_missed_no_more_often_than_delta() {
        for (name, build) in NORMALIZERS {
            for (kappa_inf, tau, gamma) in [(1.5, 3.0, 50.0), (4.0, 20.0, 200.0)] {
                let igw = Igw::new(tau, gamma).expect("in range");
                let normalizer = build(tolerance(kappa_inf, DELTA));
                let least = 1.0 / kappa_inf;
                for (place, curve) in [
                    ("near 1", two_steps(1.0 / tau, 1.02 / tau)),
                    (
                        "near 1/kappa_inf",
                        two_steps(0.9 * least / tau, 0.95 * least / tau),
                    ),
                    ("over both", two_steps(0.9 * least / tau, 1.02 / tau)),
                ] {
                    let found = misses(&*normalizer, &igw, &curve, kappa_inf);
                    // False alarm: one in a million each.
                    let allowed = allowed_misses(TRIALS, DELTA);
                    assert!(
                        found[0] + found[1] <= allowed,
                        "{name} {place}: {found:?} of {allowed}"
                    );
                }
            }
        }
    }

    /// At β = (1 − τ)/γ, where z ≤ 1 is certain, the mixture stops by one side alone. Here z is just below 1/κ∞ there, and
    /// so each such stop is a miss.
    ///
    /// A small δ tells: with the stop at 0.4 of its log threshold a look at 16 draws misses 16 times in 10,000, which
    /// is within many a δ and 16 times this one.
    #[test]
    fn one_side_is_no_excuse_for_stopping_early() {
        const TRIALS: u64 = 20_000;
        const DELTA: f64 = 1e-4;
        let [_, (_, mixture), _] = NORMALIZERS;
        for (kappa_inf, tau, gamma) in [(1.5, 10.0, 27.5), (1.5, 5.0, 25.0), (2.0, 5.0, 20.0)] {
            let igw = Igw::new(tau, gamma).expect("in range");
            let normalizer = mixture(tolerance(kappa_inf, DELTA));
            // g is 1 on a share of the actions, and `least` on the rest.
            let least = tau / (tau + gamma);
            let share = (0.99 / kappa_inf - least) / (1.0 - least);
            let curve = Curve::steps(vec![(share, 0.0), (1.0 - share, 1.0)]);
            assert!((curve.z(&igw, igw.beta_min()) * kappa_inf - 0.99).abs() < 1e-9);
            let missed = |trial: &u64| {
                let z = curve.z(&igw, certify(&*normalizer, &igw, &curve, 6, *trial).beta);
                !(1.0 / kappa_inf..=1.0).contains(&z)
            };
            let misses = (0..TRIALS).filter(missed).count() as u64;
            // 2 are expected at most. False alarm: one in a million each.
            let allowed = allowed_misses(TRIALS, DELTA);
            assert!(
                misses <= allowed,
                "{kappa_inf} {tau}: {misses} of {allowed}"
            );
        }
    }
}
