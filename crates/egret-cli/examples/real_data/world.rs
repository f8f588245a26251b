use anyhow::{Result, bail};
use egret::{
    AnyLearner, Blueprint, CappedIgw, Context, Decision, Explorer, GammaSchedule, Interval,
    Learner, Loss, Model, Normalization, OracleSpec, Settings, Space,
};
use egret_offline::{
    BestOf, CappedIgwPolicy, GreedyPolicy, Kernel, KernelPolicy, KernelShape, PolicyBuffers,
    PolicySeed, Target, UniformPolicy, with_settings,
};

use crate::data::DataSet;

/// Decisions of a run; the second half is what policies are valued from.
pub const DECISIONS: usize = 20_000;
const BATCH: usize = 8;
/// The actions: predictions of the label.
const SPACE: Space = Space::Interval {
    low: 0.0,
    high: 1.0,
};

/// One event of the second half.
pub struct Logged<'a> {
    pub x: &'a Context,
    pub decision: Decision<f64>,
    pub loss: f64,
}

/// An online run of CappedIGW in the paper's setting, over one shuffle.
pub struct World<'a> {
    /// The model at half-time: what policies are made of, and f̂ of the doubly robust estimators.
    model: Model,
    /// The second half.
    pub events: Vec<Logged<'a>>,
    /// All rows that the model had not seen at half-time: what the truth is a mean over.
    unseen: Vec<&'a (Context, f64)>,
}

impl<'a> World<'a> {
    pub fn new(data: &'a DataSet, seed: u64) -> Result<Self> {
        let rows = data.shuffled(seed);
        let decisions = DECISIONS.min(rows.len());
        let half = decisions / 2 / BATCH * BATCH;
        let blueprint = Blueprint {
            space: SPACE,
            context_dim: data.features,
            embeddings: None,
            oracle: OracleSpec::paper(),
        };
        // β by draws, as for any action space; on an interval z could be computed, and κ would be 1.
        let settings = Settings {
            explorer: capped_igw(Normalization::Mixture),
            seed,
            ..Settings::paper()
        };
        let mut model = Model::new(blueprint, settings)?;
        let mut events = Vec::new();
        let mut halfway = None;
        for (batch, part) in rows[..decisions].chunks(BATCH).enumerate() {
            let first = batch * BATCH;
            if first == half {
                halfway = Some(Model::load(&model.save())?);
            }
            let learner = number(&mut model.learner)?;
            let mut played = Vec::with_capacity(BATCH);
            for (place, row) in part.iter().enumerate() {
                let (x, label) = *row;
                let decision = learner.decide((first + place) as u64, x)?;
                let loss = (decision.action - label).abs();
                played.push((x, decision, Loss::new(loss)?));
            }
            let learned: Vec<_> = played
                .iter()
                .map(|(x, decision, loss)| decision.observed(*x, *loss))
                .collect();
            learner.learn(&learned)?;
            if half <= first {
                events.extend(played.into_iter().map(|(x, decision, loss)| Logged {
                    x,
                    decision,
                    loss: loss.get(),
                }));
            }
        }
        let Some(model) = halfway else {
            bail!("there are too few rows for two halves");
        };
        Ok(Self {
            model,
            events,
            unseen: rows[half..].to_vec(),
        })
    }

    /// The policies with their densities; what they need lives in `parts`.
    pub fn policies<'p>(&'p self, parts: &'p Parts<'p>) -> Result<Vec<(&'static str, Policy<'p>)>> {
        let learner = self.learner()?;
        let (measure, oracle) = (learner.measure(), learner.oracle());
        let kernel = Kernel::new(KernelShape::Epanechnikov, 0.1, &parts.interval)?;
        Ok(vec![
            (
                "uniform",
                Box::new(UniformPolicy::new(measure)) as Policy<'p>,
            ),
            ("best of 16", Box::new(BestOf::m(measure, oracle, 16)?)),
            (
                "32-smooth",
                Box::new(BestOf::smooth(measure, oracle, 32.0)?),
            ),
            (
                "CappedIGW 16, 200",
                Box::new(CappedIgwPolicy::new(&parts.other)?),
            ),
            (
                "kernel 0.1",
                Box::new(KernelPolicy::new(&parts.greedy, kernel)),
            ),
        ])
    }

    /// The model's learner.
    pub fn learner(&self) -> Result<&Learner<Context, f64>> {
        match &self.model.learner {
            AnyLearner::Number(learner) => Ok(learner),
            _ => bail!("the actions are numbers"),
        }
    }

    /// What the policies are made of beside the model.
    pub fn parts(&self) -> Result<Parts<'_>> {
        let interval = Interval::new(0.0, 1.0)?;
        let settings = Settings {
            explorer: capped_igw(Normalization::Exact),
            gamma: GammaSchedule::constant(200.0)?,
            taus: vec![16.0],
            ..Settings::paper()
        };
        let AnyLearner::Number(other) = with_settings(&self.model, settings)? else {
            bail!("the actions are numbers");
        };
        Ok(Parts {
            greedy: GreedyPolicy::new(self.learner()?.oracle(), &interval),
            other,
            interval,
        })
    }

    /// The mean loss of a policy over all rows that the model had not seen, from the labels.
    pub fn truth(&self, policy: &dyn Target<Context, f64>, seed: u64) -> Result<f64> {
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
pub type Policy<'p> = Box<dyn Target<Context, f64> + 'p>;

/// What policies borrow.
pub struct Parts<'a> {
    interval: Interval,
    greedy: GreedyPolicy<'a, Context>,
    other: Learner<Context, f64>,
}

fn capped_igw(normalization: Normalization) -> Explorer {
    Explorer::CappedIgw(CappedIgw {
        normalization,
        ..CappedIgw::default()
    })
}

fn number(learner: &mut AnyLearner) -> Result<&mut Learner<Context, f64>> {
    match learner {
        AnyLearner::Number(learner) => Ok(learner),
        _ => bail!("the actions are numbers"),
    }
}
