use anyhow::{Context as _, Result};
use egret::{
    CappedIgw, Context, Decision, Explorer, GammaSchedule, Interval, Loss, Model, ModelSpec,
    Normalization, OracleSpec, Settings,
};
use egret_lab::Supervised;
use egret_offline::{
    BestOf, CappedIgwPolicy, GreedyPolicy, Kernel, KernelPolicy, KernelShape, Policy,
    PolicyBuffers, PolicySeed, UniformPolicy,
};

/// Decisions of a run; the second half is what policies are evaluated from.
pub const DECISIONS: usize = 20_000;
const BATCH: usize = 8;

/// How often each decision of the second half is made again.
const AGAIN: u64 = 16;

/// Whose log it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Log {
    /// CappedIGW in the paper's setting, with z estimated by draws.
    Paper,
    /// egret's default learner.
    Default,
}

/// One event of the second half.
pub struct Logged<'a> {
    pub x: &'a Context,
    pub decision: Decision<f64>,
    /// The decision, made again: what else might have been played.
    pub again: Vec<Decision<f64>>,
    pub loss: f64,
}

/// An online run over one shuffle.
pub struct World<'a> {
    /// The model at half-time: what policies are made of, and f̂ of the doubly robust estimators.
    model: Model<f64>,
    /// The second half.
    pub events: Vec<Logged<'a>>,
    /// All rows that the model had not seen at half-time: what the truth is a mean over.
    unseen: Vec<&'a (Context, f64)>,
}

impl<'a> World<'a> {
    pub fn new(data: &'a Supervised, log: Log, seed: u64) -> Result<Self> {
        let order = data.shuffled(seed, data.rows().len());
        let rows: Vec<&(Context, f64)> = order
            .into_iter()
            .map(|row| &data.rows()[row as usize])
            .collect();
        let decisions = DECISIONS.min(rows.len());
        let half = decisions / 2 / BATCH * BATCH;
        // Actions are predictions of the label.
        let mut spec = ModelSpec::new(Interval::new(0.0, 1.0)?, data.width());
        let settings = match log {
            Log::Paper => {
                spec.oracle = OracleSpec::paper();
                // β by draws, as for any action space; on an interval z could be computed, and κ would be 1.
                Settings {
                    explorer: capped_igw(Normalization::Mixture),
                    ..Settings::paper()
                }
            }
            Log::Default => Settings::default(),
        };
        let mut model: Model<f64> = Model::from_spec(spec, Settings { seed, ..settings })?;
        let mut events = Vec::new();
        let mut halfway = None;
        for (batch, part) in rows[..decisions].chunks(BATCH).enumerate() {
            let first = batch * BATCH;
            if first == half {
                halfway = Some(Model::load(&model.save())?);
            }
            let mut played = Vec::with_capacity(BATCH);
            for (place, row) in part.iter().enumerate() {
                let (x, label) = *row;
                let decision = model.decide((first + place) as u64, x)?;
                let loss = (decision.action - label).abs();
                let times = if half <= first { AGAIN } else { 0 };
                let again = (0..times)
                    .map(|time| {
                        let (seed, event) = (seed, decision.event);
                        let seed = PolicySeed { seed, event }.again(time).seed;
                        model.learner().decide_again(seed, x, &decision)
                    })
                    .collect::<Result<Vec<_>, _>>()?;
                played.push((x, decision, again, Loss::new(loss)?));
            }
            let learned: Vec<_> = played
                .iter()
                .map(|(x, decision, _, loss)| decision.observed(*x, *loss))
                .collect();
            model.learn_batch(&learned)?;
            if half <= first {
                events.extend(played.into_iter().map(|(x, decision, again, loss)| Logged {
                    x,
                    decision,
                    again,
                    loss: loss.get(),
                }));
            }
        }
        Ok(Self {
            model: halfway.context("there are too few rows for two halves")?,
            events,
            unseen: rows[half..].to_vec(),
        })
    }

    /// The policies with their densities; `other` is the model at other settings.
    pub fn policies<'p>(
        &'p self,
        other: &'p Model<f64>,
    ) -> Result<Vec<(&'static str, BoxedPolicy<'p>)>> {
        let learner = self.model.learner();
        let (measure, oracle) = (learner.measure(), learner.oracle());
        let kernel = Kernel::new(KernelShape::Epanechnikov, 0.1, &Interval::new(0.0, 1.0)?)?;
        let greedy = Box::new(GreedyPolicy::new(learner));
        Ok(vec![
            (
                "uniform",
                Box::new(UniformPolicy::new(measure)) as BoxedPolicy<'p>,
            ),
            ("best of 16", Box::new(BestOf::m(measure, oracle, 16)?)),
            (
                "32-smooth",
                Box::new(BestOf::smooth(measure, oracle, 32.0)?),
            ),
            (
                "CappedIGW 16, 200",
                Box::new(CappedIgwPolicy::new(other.learner())?),
            ),
            ("kernel 0.1", Box::new(KernelPolicy::new(greedy, kernel))),
        ])
    }

    /// The model at half-time.
    pub fn model(&self) -> &Model<f64> {
        &self.model
    }

    /// The same model with τ = 16 and γ = 200.
    pub fn at_other_settings(&self) -> Result<Model<f64>> {
        Ok(self.model.under(Settings {
            explorer: capped_igw(Normalization::Exact),
            gamma: GammaSchedule::constant(200.0)?,
            taus: vec![16.0],
            ..Settings::paper()
        })?)
    }

    /// The mean loss of a policy over all rows that the model had not seen, from the labels.
    pub fn truth(&self, policy: &dyn Policy<Context, f64>, seed: u64) -> Result<f64> {
        const DRAWS: usize = 4;
        let mut work = PolicyBuffers::default();
        let (mut drawn, mut sum) = (Vec::new(), 0.0);
        for (event, (x, label)) in self.unseen.iter().enumerate() {
            let event = event as u64;
            drawn.clear();
            policy.draw(PolicySeed { seed, event }, x, DRAWS, &mut work, &mut drawn)?;
            let losses = drawn.iter().map(|action: &f64| (action - label).abs());
            sum += losses.sum::<f64>() / drawn.len() as f64;
        }
        Ok(sum / self.unseen.len() as f64)
    }
}

/// A policy with a density.
pub type BoxedPolicy<'p> = Box<dyn Policy<Context, f64> + 'p>;

fn capped_igw(normalization: Normalization) -> Explorer {
    Explorer::CappedIgw(CappedIgw {
        normalization,
        ..CappedIgw::default()
    })
}
