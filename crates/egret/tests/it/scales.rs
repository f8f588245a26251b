//! Numbers on a logarithmic scale, in steps, or with a prior: densities are exact, weights unbiased, and ratios are learned.

use egret::{
    Context, DensityKind, EventRng, Igw, Interval, LogInterval, Loss, Model, ModelSpec, OracleSpec,
    Settings, Space, Steps, Stream,
};

const EVENTS: u64 = 4_000;

fn x(event: u64) -> Context {
    let unit = EventRng::new(5, event, Stream::World).unit();
    Context::dense(vec![unit]).expect("finite")
}

/// The cost of a quantile u of μ: least at a place that the context says.
fn loss(x: &Context, u: f64) -> Loss {
    let best = 0.2 + 0.6 * x.as_dense().expect("dense")[0];
    Loss::new((u - best).abs()).expect("in range")
}

/// A model over the space, after it has learned 400 events, with the quantile of an action.
fn taught(space: &str, oracle: Option<OracleSpec>, settings: Settings) -> Model<f64> {
    let space: Space = space.parse().expect("a space");
    let mut spec = ModelSpec::from_parts(space, None, 1);
    if let Some(oracle) = oracle {
        spec.oracle = oracle;
    }
    let mut model = Model::from_spec(spec, settings).expect("a model");
    for event in 1_000_000..1_000_400 {
        let x = x(event);
        let decision = model.decide(event, &x).expect("an action");
        let loss = loss(&x, quantile(&model, decision.action));
        model
            .learn(&decision.observed(&x, loss))
            .expect("a good event");
    }
    model
}

fn quantile(model: &Model<f64>, action: f64) -> f64 {
    let line = model.learner().measure().as_line().expect("numbers");
    match line.steps() {
        Some(steps) => {
            let index = steps.index(action).expect("a step");
            (f64::from(index) + 0.5) / f64::from(steps.count())
        }
        None => line.cdf(action),
    }
}

/// How far the mean of h(u)·w(density) is from the mean of h over quantiles, in standard errors, for several h.
fn scores(model: &Model<f64>, weight: impl Fn(f64) -> f64) -> [f64; 3] {
    let functions: [fn(f64) -> f64; 3] = [|_| 1.0, |u| u, |u| f64::from(u8::from(u < 0.3))];
    let line = model.learner().measure().as_line().expect("numbers");
    let count = line.steps().map_or(1_000_000, Steps::count);
    let means = functions.map(|h| {
        let middles = (0..count).map(|k| (f64::from(k) + 0.5) / f64::from(count));
        middles.map(h).sum::<f64>() / f64::from(count)
    });
    let (mut sums, mut squares) = ([0.0; 3], [0.0; 3]);
    for event in 0..EVENTS {
        let decision = model.decide(event, &x(event)).expect("an action");
        let density = decision.propensity.density().expect("a density").get();
        for place in 0..3 {
            let h = functions[place](quantile(model, decision.action));
            let error = h * weight(density) - means[place];
            sums[place] += error;
            squares[place] += error * error;
        }
    }
    std::array::from_fn(|place| f64::abs(sums[place]) / f64::sqrt(squares[place]))
}

const SPACES: [&str; 7] = [
    "log:1000,1000000000",
    "steps:5,50,0.5",
    "steps:500,5000,1",
    "steps:0,1000000,1",
    "steps:1,3,1",
    "normal:0,1,-1,30",
    "beta:0.5,0.2,0,10",
];

#[test]
fn weights_are_unbiased_on_every_scale() {
    for space in SPACES {
        for density in [DensityKind::Conditional, DensityKind::Marginal] {
            let settings = Settings {
                density,
                ..Settings::default()
            };
            let model = taught(space, None, settings);
            assert!(model.learner().computes_z(), "{space}");
            for score in scores(&model, |density| 1.0 / density) {
                // False alarm: 6e-7 for each of 42.
                assert!(score < 5.0, "{space} {density:?}: {score}");
            }
            // Power: without the density the mean is seen to be another.
            let plain = scores(&model, |_| 1.0);
            assert!(5.0 < plain[1].max(plain[2]), "{space}: {plain:?}");
        }
    }
}

/// Oracles that are not constant on cells: z is computed where μ is continuous, and estimated on steps.
#[test]
fn weights_are_unbiased_with_a_smooth_oracle() {
    for space in ["log:1000,1000000000", "steps:5,50,0.5"] {
        let model = taught(space, Some(OracleSpec::paper()), Settings::paper());
        assert_eq!(model.learner().computes_z(), space.starts_with("log"));
        for score in scores(&model, |density| 1.0 / density) {
            assert!(score < 5.0, "{space}: {score}");
        }
        let plain = scores(&model, |_| 1.0);
        assert!(5.0 < plain[1].max(plain[2]), "{space}: {plain:?}");
    }
}

/// The density is P/μ: over all steps it has mean 1, whatever their number.
#[test]
fn probabilities_of_steps_add_up() {
    for (low, high, step) in [(5.0, 50.0, 0.5), (500.0, 5_000.0, 1.0), (0.0, 2.0, 1.0)] {
        let space = format!("steps:{low},{high},{step}");
        let steps = Steps::new(low, high, step).expect("steps");
        let model = taught(&space, None, Settings::default());
        let all: Vec<f64> = (0..steps.count()).map(|k| steps.value(k)).collect();
        for event in 0..20 {
            let x = x(event);
            let decision = model.decide(event, &x).expect("an action");
            let parts = decision.capped_igw.expect("CappedIGW");
            assert_eq!(parts.z.draws, 0);
            let igw = Igw::new(decision.tau, decision.gamma).expect("in range");
            let g = |fhat: &f64| igw.weight(*fhat, parts.certificate.beta) / parts.z.value;
            let fhats = model.predict(&x, &all).expect("steps");
            let mean = fhats.iter().map(g).sum::<f64>() / all.len() as f64;
            // The ends of a cell leave out 1e-12 of it.
            assert!((mean - 1.0).abs() < 1e-11, "{space}: {mean}");
            let played = steps.index(decision.action).expect("a step");
            let expected = (1.0 - parts.uniform) * g(&fhats[played as usize]) + parts.uniform;
            let density = decision.propensity.density().expect("a density").get();
            assert!((density - expected).abs() < 1e-12 * expected);
        }
    }
}

/// The best of the steps is found, also where cells and steps do not line up.
#[test]
fn the_best_action_is_a_step() {
    for (low, high, step) in [(5.0, 50.0, 0.5), (0.0, 190.0, 1.0), (0.0, 1.0, 1.0)] {
        let space = format!("steps:{low},{high},{step}");
        let steps = Steps::new(low, high, step).expect("steps");
        let model = taught(&space, None, Settings::default());
        let all: Vec<f64> = (0..steps.count()).map(|k| steps.value(k)).collect();
        for event in 0..20 {
            let x = x(event);
            let best = model.best(&x).expect("an action");
            assert!(steps.index(best).is_some(), "{best}");
            let fhats = model.predict(&x, &all).expect("steps");
            let least = fhats.iter().copied().fold(1.0, f64::min);
            assert_eq!(model.predict(&x, &[best]).expect("a step"), [least]);
        }
    }
}

/// Where ratios matter, a logarithmic scale finds what an interval cannot tell apart: its first cell has four decades.
#[test]
fn ratios_are_learned() {
    let mean_loss = |model: &mut Model<f64>| {
        let mut sum = 0.0;
        for event in 0..2_000 {
            let x = x(event);
            let decision = model.decide(event, &x).expect("an action");
            let loss = loss(&x, (decision.action.log10() - 3.0) / 6.0);
            sum += loss.get();
            model
                .learn(&decision.observed(&x, loss))
                .expect("a good event");
        }
        sum / 2_000.0
    };
    let log = LogInterval::new(1e3, 1e9).expect("in order");
    let raw = Interval::new(1e3, 1e9).expect("in order");
    let log = mean_loss(&mut Model::new(log, 1).expect("a model"));
    let raw = mean_loss(&mut Model::new(raw, 1).expect("a model"));
    assert!(log < 0.06 && 0.15 < raw, "{log} {raw}");
}
