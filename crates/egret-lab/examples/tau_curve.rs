//! How the time of a decision grows with τ: exact normalization beside the mixture, on an interval.
//!
//! The oracle has learned 4,000 losses of the paper's kind and knows its break points. So `exact` samples from an envelope
//! over monotone pieces, whatever τ is; `mixture` draws about 10τ actions from μ.
//!
//! `cargo run --release -p egret-lab --example tau_curve`

use std::error::Error;
use std::time::Instant;

use egret::{
    ArgminDispersion, CappedIgw, Context, EventRng, Example, Explorer, GammaSchedule, Interval,
    Learner, LearningRate, LinearArgmin, Loss, Normalization, RegressionOracle, Settings, Stream,
    Weight,
};

const FEATURES: usize = 10;
/// That of the paper's schedule after 500 batches.
const GAMMA: f64 = 9_001.0;
const DECISIONS: u64 = 50;
/// The fastest of this many short runs is shown, since others may use the machine.
const RUNS: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let oracle = taught()?;
    println!("microseconds per decision, gamma {GAMMA}\n");
    println!("{:>6} {:>8} {:>8}", "tau", "exact", "mixture");
    for power in 1..=11 {
        let tau = f64::from(1 << power);
        let exact = microseconds(&oracle, Normalization::Exact, tau)?;
        let mixture = microseconds(&oracle, Normalization::Mixture, tau)?;
        println!("{tau:>6} {exact:>8.2} {mixture:>8.2}");
    }
    Ok(())
}

fn microseconds(
    oracle: &ArgminDispersion<LinearArgmin>,
    normalization: Normalization,
    tau: f64,
) -> Result<f64, Box<dyn Error>> {
    let settings = Settings {
        explorer: Explorer::CappedIgw(CappedIgw {
            normalization,
            ..CappedIgw::default()
        }),
        gamma: GammaSchedule::constant(GAMMA)?,
        taus: vec![tau],
        ..Settings::paper()
    };
    let actions = Interval::new(0.0, 1.0)?;
    let learner = Learner::new(Box::new(actions), Box::new(oracle.clone()), settings)?;
    let contexts: Vec<Context> = (0..DECISIONS).map(context).collect::<Result<_, _>>()?;
    let mut least = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        for (event, x) in (0..).zip(&contexts) {
            learner.decide(event, x)?;
        }
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least * 1e6 / DECISIONS as f64)
}

/// An oracle that has learned from uniform actions a ∈ [0, 1] with loss |a − y(x)|.
fn taught() -> Result<ArgminDispersion<LinearArgmin>, Box<dyn Error>> {
    let model = LinearArgmin::new(FEATURES)?;
    let mut oracle = ArgminDispersion::new(model, (0.0, 1.0), LearningRate::default())?;
    let weights: [f64; FEATURES] = std::array::from_fn(|i| i as f64 - 4.5);
    for event in 0..4_000 {
        let x = context(event)?;
        let action = EventRng::new(2, event, Stream::World).unit();
        let y = 1.0 / (1.0 + (-x.dot(&weights)).exp());
        oracle.learn(&[Example {
            x: &x,
            action: &action,
            loss: Loss::new((action - y).abs())?.into(),
            weight: Weight::ONE,
        }])?;
    }
    Ok(oracle)
}

fn context(event: u64) -> Result<Context, egret::ContextError> {
    let mut x = vec![0.0; FEATURES];
    EventRng::new(1, event, Stream::World).fill_unit(&mut x);
    Context::dense(x)
}
