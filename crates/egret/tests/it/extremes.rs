//! The largest and smallest τ and γ that settings allow: a decision or an error, and before long.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use egret::{
    BettingMartingale, CappedIgw, DecideError, Explorer, FixedSample, GammaSchedule, Igw,
    MixtureMartingale, Normalization, Settings, Tolerance,
};

use crate::worlds::{Cube, Line, List, World, settings};

const GAMMAS: [f64; 9] = [1e-300, 1e-20, 1e-3, 1.0, 1e6, 1e13, 1e16, 1e100, 1e200];

const TAUS: [f64; 8] = [
    1.0,
    1.0 + f64::EPSILON,
    1.0 + 1e-9,
    1.005,
    2.0,
    50.0,
    2e3,
    1e9,
];

/// Decides a few events; what is decided has a density, and what is not has a reason.
fn decide<W: World>(world: &W, normalization: Normalization, gamma: f64, tau: f64) {
    let settings = Settings {
        gamma: GammaSchedule::constant(gamma).expect("positive"),
        explorer: Explorer::CappedIgw(CappedIgw {
            normalization,
            budget: 10_000,
            ..CappedIgw::default()
        }),
        ..settings(normalization, &[tau], 71)
    };
    let learner = world.learner(settings);
    for event in 0..5 {
        match learner.decide(event, &()) {
            Ok(decision) => {
                let parts = decision.capped_igw.expect("CappedIGW");
                let density = decision.propensity.density().expect("always one").get();
                assert_eq!(density, parts.g / parts.z.value);
                assert!(parts.certificate.beta.is_finite(), "{parts:?}");
                assert!(0.0 < parts.g && parts.g <= tau, "{parts:?}");
                assert!(0.0 < parts.z.value && parts.z.value <= tau, "{parts:?}");
            }
            Err(DecideError::Sample(_) | DecideError::Density(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// As [`decide`], for every normalizer; a search that does not end is a failure and not a wait.
fn check<W: World + 'static>(world: fn() -> W, gammas: &[f64], taus: &[f64]) {
    let mut failures = Vec::new();
    'normalizations: for normalization in world().normalizations() {
        for &gamma in gammas {
            for &tau in taus {
                let (done, ended) = mpsc::channel();
                thread::spawn(move || {
                    decide(&world(), normalization, gamma, tau);
                    done.send(()).expect("somebody waits");
                });
                // Each takes milliseconds.
                if ended.recv_timeout(Duration::from_secs(10)).is_err() {
                    failures.push(format!("{normalization:?} at tau {tau}, gamma {gamma:e}"));
                    // The rest would have to share the processor with it.
                    continue 'normalizations;
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn on_the_line() {
    check(|| Line, &GAMMAS, &TAUS);
}

#[test]
fn on_a_box() {
    check(|| Cube, &GAMMAS, &TAUS);
}

#[test]
fn on_a_list() {
    check(List::weighted, &GAMMAS, &TAUS);
}

/// (1 − τ)/γ, the least β, is beyond all numbers.
#[test]
fn where_the_least_beta_is_infinite() {
    check(|| Line, &[f64::MIN_POSITIVE], &[1_000.0]);
}

/// A κ∞ near 1 or absurdly large, with a tiny δ: refused, or planned quickly.
#[test]
fn promises_are_worked_out_or_refused() {
    for kappa_inf in [1.05, 1.3, 2.0, 4.0, 24.0, 1e3, 1e6, 1e100] {
        for delta in [0.99, 0.5, 0.05, 1e-3, 1e-6, 1e-8, 1e-9, 1e-20] {
            let (done, ended) = mpsc::channel();
            thread::spawn(move || {
                let draws = Tolerance::new(kappa_inf, delta).map(|tolerance| {
                    BettingMartingale::new(tolerance);
                    MixtureMartingale::new(tolerance);
                    FixedSample::new(tolerance).draws(&Igw::new(2.0, 1.0).expect("in range"))
                });
                done.send(draws).expect("somebody waits");
            });
            let worked_out = ended.recv_timeout(Duration::from_secs(10));
            assert!(worked_out.is_ok(), "kappa_inf {kappa_inf}, delta {delta:e}");
        }
    }
}
