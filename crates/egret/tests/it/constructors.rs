//! What constructors accept is what they say, for every number there is.

use egret::{
    Aggregation, CappedIgw, Corral, Density, ExampleWeight, Explorer, FixedSample,
    FunctionOnInterval, FunctionOracle, GammaSchedule, Igw, Interval, Learner, Loss, Normalization,
    RegressionOracle, RelativeError, Settings, Tolerance, Vector, Weight, geometric_taus,
};
use proptest::prelude::*;

/// Any number: NaN, infinities, zeros and subnormal ones, and ends of ranges with their neighbours.
fn number() -> impl Strategy<Value = f64> {
    let edge = prop::sample::select(vec![0.0, -0.0, 0.5, 1.0, 1.05, 2.0, 8.0, 1e200, f64::MAX]);
    prop_oneof![
        any::<f64>(),
        edge.clone(),
        edge.clone().prop_map(f64::next_up),
        edge.prop_map(f64::next_down),
        prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
        -10.0..10.0,
    ]
}

fn positive(value: f64) -> bool {
    0.0 < value && value.is_finite()
}

#[expect(clippy::ptr_arg, reason = "the batch of numbers is a Vec")]
fn ramp(_: &(), actions: &Vec<f64>, out: &mut [f64]) {
    out.copy_from_slice(actions);
}

/// Whether a learner on [0, 1] takes the settings.
fn taken_with(oracle: impl RegressionOracle<(), f64> + 'static, settings: Settings) -> bool {
    let measure = Interval::new(0.0, 1.0).expect("in order");
    Learner::new(Box::new(measure), Box::new(oracle), settings).is_ok()
}

fn taken(settings: Settings) -> bool {
    taken_with(
        FunctionOnInterval::new(ramp, |_: &(), _: &mut Vec<f64>| 0.0),
        settings,
    )
}

fn capped(capped: CappedIgw) -> Settings {
    Settings {
        explorer: Explorer::CappedIgw(capped),
        ..Settings::paper()
    }
}

proptest! {
    #[test]
    fn single_numbers(value in number()) {
        prop_assert_eq!(Loss::new(value).is_ok(), (0.0..=1.0).contains(&value));
        prop_assert_eq!(Density::new(value).is_ok(), positive(value));
        prop_assert_eq!(Weight::new(value).is_ok(), 0.0 <= value && value.is_finite());
        prop_assert_eq!(RelativeError::new(value).is_ok(), (0.001..=1.0).contains(&value));
        prop_assert_eq!(Vector::new(&[0.0, value]).is_ok(), value.is_finite());
        prop_assert_eq!(GammaSchedule::constant(value).is_ok(), positive(value));
    }

    #[test]
    fn errors_name_the_value(value in number()) {
        if let Err(error) = Loss::new(value) {
            prop_assert_eq!(error.value.to_bits(), value.to_bits());
            let start = format!("loss is {value}, expected");
            prop_assert!(error.to_string().starts_with(&start), "{}", error);
        }
    }

    #[test]
    fn pairs(tau in number(), gamma in number()) {
        let good_tau = (1.0..=1e9).contains(&tau);
        let (igw, good) = (Igw::new(tau, gamma), good_tau && positive(gamma));
        prop_assert!(igw.is_err() || good);
        // A least β beyond all numbers may be refused.
        prop_assert!(igw.is_ok() || !good || !(tau / gamma).is_finite());
        let tolerance = Tolerance::new(tau, gamma);
        prop_assert_eq!(tolerance.is_ok(), (1.05..=1e6).contains(&tau) && (1e-9..1.0).contains(&gamma));
        prop_assert_eq!(Corral::new(vec![2.0, tau], gamma).is_ok(), good_tau && positive(gamma));
        prop_assert_eq!(Corral::new(vec![], gamma).is_ok(), false);
    }

    #[test]
    fn weights_of_what_passes_are_numbers(
        tau in number(), gamma in number(), fhat in 0.0..=1.0, share in 0.0..=1.0,
    ) {
        // Beyond 1e200 the worst g would not be a number; no schedule goes there.
        if let Ok(igw) = Igw::new(tau, gamma) && gamma <= 1e200 && tau <= 1e100 {
            let beta = igw.beta_min() * (1.0 - share) + share;
            let g = igw.weight(fhat, beta);
            prop_assert!(0.0 < g && g <= tau, "{g} at {beta}");
        }
    }

    #[test]
    fn schedules(a in number(), b in number(), c in number()) {
        let power = positive(a) && 0.0 <= b && b.is_finite() && (0.0..=8.0).contains(&c);
        prop_assert_eq!(GammaSchedule::power(a, b, c).is_ok(), power);
        let theorem = positive(a) && 1.0 <= b && b.is_finite() && positive(c);
        prop_assert_eq!(GammaSchedule::theorem1(a, b, c).is_ok(), theorem);
    }

    #[test]
    fn grids(low in number(), high in number(), n in 0..20_usize) {
        let good = 1.0 <= low && low <= high && high <= 1e9 && 1 <= n;
        let grid = geometric_taus(low, high, n);
        prop_assert_eq!(grid.is_ok(), good);
        if let Ok(grid) = grid {
            prop_assert_eq!(grid.len(), n);
            prop_assert_eq!(grid[0], low);
            prop_assert!(grid.is_sorted(), "{grid:?}");
            prop_assert!(Corral::new(grid, 0.1).is_ok());
        }
    }

    #[test]
    fn settings_of_a_learner(value in number(), other in number()) {
        let base = CappedIgw::default();
        let kappa_inf = capped(CappedIgw { kappa_inf: value, delta: other, ..base });
        // Small numbers take long to work out: they have a test with a clock.
        let quick = (1.2..=1e6).contains(&value) && 1e-6 <= other;
        let tolerance = Tolerance::new(value, other);
        if quick || tolerance.is_err() {
            prop_assert_eq!(taken(kappa_inf), tolerance.is_ok());
        }
        let cap = Settings {
            example_weight: ExampleWeight::ClippedInverse { cap: value },
            ..Settings::paper()
        };
        prop_assert_eq!(taken(cap), positive(value));
        let taus = Settings { taus: vec![2.0, value], eta: other, ..Settings::paper() };
        prop_assert_eq!(taken(taus), Corral::new(vec![2.0, value], other).is_ok());
    }

    #[test]
    fn epsilon(value in number()) {
        let settings = Settings {
            explorer: Explorer::EpsilonGreedy { epsilon: value },
            ..Settings::paper()
        };
        prop_assert_eq!(taken(settings), (0.0..=1.0).contains(&value));
    }

    #[test]
    fn the_fixed_sample_is_enough_for_every_promise(
        kappa_inf in 1.1..100.0, delta in 1e-6..0.9, tau in 1.0..1e4,
    ) {
        let tolerance = Tolerance::new(kappa_inf, delta).expect("in range");
        let igw = Igw::new(tau, 1.0).expect("in range");
        let draws = FixedSample::new(tolerance).draws(&igw) as f64;
        // A probability of 1/(τκ∞) must be distinguished from 1/τ, and one draw is never enough for that.
        prop_assert!(1.0 <= draws && draws.is_finite());
        prop_assert!((1.0 / delta).ln() <= draws / tau + 1.0, "{draws}");
    }
}

#[test]
fn nothing_to_aggregate_is_refused() {
    assert!(Aggregation::<(), f64>::new(vec![]).is_err());
}

#[test]
fn a_budget_of_nothing_is_refused() {
    for budget in [0, 1] {
        let settings = capped(CappedIgw {
            budget,
            ..CappedIgw::default()
        });
        assert_eq!(taken(settings), budget == 1);
    }
}

#[test]
fn exact_needs_pieces() {
    for (normalization, allowed) in [(Normalization::Exact, false), (Normalization::Auto, true)] {
        let settings = capped(CappedIgw {
            normalization,
            ..CappedIgw::default()
        });
        assert!(taken(settings.clone()));
        assert_eq!(taken_with(FunctionOracle::new(ramp), settings), allowed);
    }
}
