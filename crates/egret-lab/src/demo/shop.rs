use std::thread;

use egret::{
    CappedIgw, Decision, Explorer, GammaSchedule, Interval, Loss, Model, ModelSpec, Normalization,
    OracleSpec, OutOfRange, Settings, geometric_taus,
};

use super::{DemoError, NORMALIZATION};
use crate::environment::Customer;

/// The batch size, 8 as in the paper.
const BATCH: usize = 8;

/// One decision with its outcome.
#[derive(Debug, Clone)]
pub struct Played {
    pub decision: Decision<f64>,
    pub loss: Loss,
}

/// The result of a learner's run.
#[derive(Debug)]
pub struct Run {
    /// All decisions in order.
    pub played: Vec<Played>,
    /// The model halfway, with the decisions made until then.
    pub halfway: (usize, Model<f64>),
    /// The model that made the last batch, with the decisions made until then.
    pub before_last: (usize, Model<f64>),
    /// The model at the end.
    pub last: Model<f64>,
}

impl Run {
    /// The share of events without a density.
    pub fn share_of_point_masses(&self) -> f64 {
        let point_mass = |played: &&Played| played.decision.propensity.density().is_none();
        self.played.iter().filter(point_mass).count() as f64 / self.played.len() as f64
    }
}

/// Four learners on the same customers.
pub struct Runs {
    /// CappedIGW with β by draws. The demo shows its log.
    pub capped: Run,
    /// CappedIGW with β computed.
    pub exact: Run,
    /// SmoothIGW.
    pub smooth: Run,
    /// Prices at random.
    pub uniform: Run,
}

impl Runs {
    /// Side by side; each is a pure function of the seed.
    pub fn play(
        seed: u64,
        customers: &[Customer],
        tick: impl Fn(usize) + Sync,
    ) -> Result<Self, DemoError> {
        let play = |settings| play(settings, customers, &tick);
        let smooth = smooth_igw(seed)?;
        thread::scope(|scope| {
            let exact = scope.spawn(|| play(capped_igw(seed, Normalization::Exact)));
            let smooth = scope.spawn(|| play(smooth));
            let uniform = scope.spawn(|| play(uniform(seed)));
            let capped = play(capped_igw(seed, NORMALIZATION));
            let join = |thread: thread::ScopedJoinHandle<'_, Result<Run, DemoError>>| {
                let joined = thread.join();
                joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            Ok(Self {
                capped: capped?,
                exact: join(exact)?,
                smooth: join(smooth)?,
                uniform: join(uniform)?,
            })
        })
    }
}

/// CappedIGW as in the paper, κ∞ = 4.
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
fn smooth_igw(seed: u64) -> Result<Settings, OutOfRange> {
    Ok(Settings {
        explorer: Explorer::SmoothIgw,
        gamma: GammaSchedule::power(1.0, 100.0, 0.75)?,
        taus: geometric_taus(2.0, 2048.0, 12)?,
        seed,
        ..Settings::paper()
    })
}

fn uniform(seed: u64) -> Settings {
    Settings {
        explorer: Explorer::Uniform,
        seed,
        ..Settings::paper()
    }
}

/// A model that has learned nothing yet: prices from 0 to 1, and the paper's oracle.
pub fn new_model(settings: Settings) -> Result<Model<f64>, DemoError> {
    let mut spec = ModelSpec::new(Interval::new(0.0, 1.0)?, Customer::FEATURES);
    spec.oracle = OracleSpec::paper();
    Ok(Model::from_spec(spec, settings)?)
}

/// Lets a learner price all customers, batch by batch. `tick` is called after each batch.
fn play(
    settings: Settings,
    customers: &[Customer],
    tick: &(impl Fn(usize) + Sync),
) -> Result<Run, DemoError> {
    let mut model = new_model(settings)?;
    let batches = customers.len().div_ceil(BATCH);
    let copy = |model: &Model<f64>| Model::<f64>::load(&model.save());
    let mut played: Vec<Played> = Vec::with_capacity(customers.len());
    let (mut halfway, mut before_last) = (None, None);
    for (index, batch) in customers.chunks(BATCH).enumerate() {
        let made = played.len();
        if index == batches / 2 {
            halfway = Some((made, copy(&model)?));
        }
        if index + 1 == batches {
            before_last = Some((made, copy(&model)?));
        }
        for (place, customer) in batch.iter().enumerate() {
            let event = (made + place) as u64;
            let decision = model.decide(event, &customer.context)?;
            let loss = customer.loss(decision.action);
            played.push(Played { decision, loss });
        }
        let observed: Vec<_> = played[made..]
            .iter()
            .zip(batch)
            .map(|(played, customer)| played.decision.observed(&customer.context, played.loss))
            .collect();
        model.learn_batch(&observed)?;
        tick(batch.len());
    }
    Ok(Run {
        played,
        halfway: halfway.expect("there is a customer"),
        before_last: before_last.expect("there is a customer"),
        last: model,
    })
}
