use anyhow::{Context as _, Result, bail};
use egret::{
    AnyLearner, Blueprint, CappedIgw, Context, Decision, Explorer, GammaSchedule, Learner, Loss,
    LossCurve, Model, Normalization, OracleSpec, Settings, Space, geometric_taus,
};

use super::pricing::{Customer, FEATURES};

/// A learner that sets a price for each customer: linear argmin plus dispersion, as in the paper.
pub type PriceLearner = Learner<Context, f64>;

/// How many losses are learned from at once: the paper's 8.
pub const BATCH: usize = 8;

/// One line of the exhaust.
#[derive(Debug, Clone)]
pub struct Logged {
    /// What was decided, and how.
    pub decision: Decision<f64>,
    /// What it cost.
    pub loss: Loss,
    /// f̂(x, a) when it was decided.
    pub fhat: f64,
    /// E_μ f̂(x, ·) then.
    pub mean_fhat: f64,
}

impl Logged {
    /// τ/(τ + γ): how much the event counts, known before its price is drawn.
    ///
    /// A policy with density q ≤ c has weights w = q·z·(1 + γ·(f̂ − β)₊)/τ. Since z ≤ 1, f̂ ≤ 1 and
    /// β ≥ (1 − τ)/γ, E[w²] = E_q[w] ≤ c·(τ + γ)/τ. A mean has the least variance where each term counts
    /// by the inverse of its own: here, of what bounds it.
    pub fn steadiness(&self) -> f64 {
        let (tau, gamma) = (self.decision.tau, self.decision.gamma);
        tau / (tau + gamma)
    }
}

/// What is left of a learner's run.
#[derive(Debug)]
pub struct Run {
    /// All decisions in order.
    pub exhaust: Vec<Logged>,
    /// (decisions made, model) at even distances: each made the batch that follows.
    pub checkpoints: Vec<(usize, Vec<u8>)>,
    /// The model halfway, with the decisions made until then.
    pub halfway: (usize, Vec<u8>),
    /// The model at the end.
    pub last: Vec<u8>,
}

impl Run {
    /// The share of events without a density.
    pub fn share_of_atoms(&self) -> f64 {
        let atoms = self
            .exhaust
            .iter()
            .filter(|logged| logged.decision.propensity.density().is_none())
            .count();
        atoms as f64 / self.exhaust.len() as f64
    }
}

/// CappedIGW as in the paper, κ∞ = 4. Draws alone serve any action space; here β can be computed too.
pub fn capped_igw(seed: u64, normalization: Normalization) -> Settings {
    Settings {
        explorer: Explorer::CappedIgw(CappedIgw {
            normalization,
            ..CappedIgw::default()
        }),
        seed,
        ..Settings::paper()
    }
}

/// SmoothIGW as in the paper.
pub fn smooth_igw(seed: u64) -> Result<Settings> {
    Ok(Settings {
        explorer: Explorer::SmoothIgw,
        gamma: GammaSchedule::power(1.0, 100.0, 0.75)?,
        taus: geometric_taus(2.0, 2048.0, 12)?,
        seed,
        ..Settings::paper()
    })
}

/// A price drawn blindly.
pub fn uniform(seed: u64) -> Settings {
    Settings {
        explorer: Explorer::Uniform,
        seed,
        ..Settings::paper()
    }
}

/// Any price from 0 to 1, and the paper's oracle.
fn blueprint() -> Blueprint {
    Blueprint {
        space: SPACE,
        context_dim: FEATURES,
        embeddings: None,
        oracle: OracleSpec::paper(),
    }
}

/// The prices there are.
pub const SPACE: Space = Space::Interval {
    low: 0.0,
    high: 1.0,
};

/// A learner that knows nothing yet.
pub fn price_learner(settings: Settings) -> Result<PriceLearner> {
    match Model::new(blueprint(), settings)?.learner {
        AnyLearner::Number(learner) => Ok(learner),
        _ => bail!("prices are numbers"),
    }
}

/// The file of a model whose learner was saved.
pub fn model_file(state: &[u8]) -> Result<Vec<u8>> {
    let mut model = Model::new(blueprint(), Settings::paper())?;
    match &mut model.learner {
        AnyLearner::Number(learner) => learner.load(state)?,
        _ => bail!("prices are numbers"),
    }
    Ok(model.save())
}

/// Lets a learner price all customers, a batch at a time; `tick` hears of each batch.
pub fn run(
    settings: Settings,
    customers: &[Customer],
    checkpoints: usize,
    tick: impl Fn(usize),
) -> Result<Run> {
    let mut learner = price_learner(settings)?;
    let batches = customers.len().div_ceil(BATCH);
    let mut run = Run {
        exhaust: Vec::with_capacity(customers.len()),
        checkpoints: Vec::with_capacity(checkpoints),
        halfway: (0, Vec::new()),
        last: Vec::new(),
    };
    let mut buffer = Vec::new();
    for (index, batch) in customers.chunks(BATCH).enumerate() {
        let made = run.exhaust.len();
        // Whole numbers, so that exactly `checkpoints` of them step up, the last batch among them.
        if index * checkpoints / batches < (index + 1) * checkpoints / batches {
            run.checkpoints.push((made, learner.save()));
        }
        if index == batches / 2 {
            run.halfway = (made, learner.save());
        }
        for (place, customer) in batch.iter().enumerate() {
            let event = (made + place) as u64;
            let decision = learner
                .decide(event, &customer.context)
                .with_context(|| format!("no price for customer {event}"))?;
            let (fhat, mean_fhat) = predictions(&learner, customer, decision.action, &mut buffer)?;
            run.exhaust.push(Logged {
                loss: customer.loss(decision.action),
                decision,
                fhat,
                mean_fhat,
            });
        }
        let events: Vec<_> = run.exhaust[made..]
            .iter()
            .zip(batch)
            .map(|(logged, customer)| logged.decision.observed(&customer.context, logged.loss))
            .collect();
        learner.learn(&events)?;
        tick(batch.len());
    }
    run.last = learner.save();
    Ok(run)
}

/// f̂(x, a), and E_μ f̂(x, ·) by Simpson's rule on either side of the argmin.
fn predictions(
    learner: &PriceLearner,
    customer: &Customer,
    action: f64,
    buffer: &mut Vec<f64>,
) -> Result<(f64, f64)> {
    const STEPS: usize = 32;
    let curve = LossCurve::new(learner.oracle(), &customer.context, buffer)?;
    let (pieces, prepared) = curve
        .monotone_pieces()
        .context("the oracle tells its argmin")?;
    let argmin = pieces.argmin(prepared);
    let mut prices = vec![action];
    for (low, high) in [(0.0, argmin), (argmin, 1.0)] {
        prices.extend((0..=STEPS).map(|step| low + (high - low) * step as f64 / STEPS as f64));
    }
    let mut fhats = Vec::new();
    curve.predict(&prices, &mut fhats)?;
    let simpson = |values: &[f64]| {
        let inner: f64 = (1..STEPS)
            .map(|step| values[step] * if step % 2 == 1 { 4.0 } else { 2.0 })
            .sum();
        (values[0] + inner + values[STEPS]) / (3 * STEPS) as f64
    };
    let (left, right) = fhats[1..].split_at(STEPS + 1);
    Ok((
        fhats[0],
        argmin * simpson(left) + (1.0 - argmin) * simpson(right),
    ))
}
