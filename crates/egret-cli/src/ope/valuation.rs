use anyhow::{Result, ensure};
use egret_offline::{Columns, Comparison, Evaluation, PairedColumns};

use super::Request;
use super::weights::Weights;

/// Weighed events of all targets at once, to be added to every evaluation.
#[derive(Debug, Default)]
pub struct Weighted {
    /// ℓ.
    pub losses: Vec<f64>,
    /// f̂(x, a), where there is an f̂.
    pub fhats: Vec<f64>,
    /// τ/(τ + γ), where events are to be steadied.
    pub shares: Vec<f64>,
    /// κ, of the events that tell z.
    pub kappas: Vec<f64>,
    /// For each target: w, and E_q f̂ where there is an f̂.
    pub targets: Vec<(Vec<f64>, Vec<f64>)>,
}

impl Weighted {
    /// Room for so many targets.
    pub fn new(targets: usize) -> Self {
        Self {
            targets: vec![Default::default(); targets],
            ..Self::default()
        }
    }

    /// Forgets the events and keeps the memory.
    pub fn clear(&mut self) {
        let Self {
            losses,
            fhats,
            shares,
            kappas,
            targets,
        } = self;
        for column in [losses, fhats, shares, kappas] {
            column.clear();
        }
        for (weights, baselines) in targets {
            weights.clear();
            baselines.clear();
        }
    }

    fn optional<'a>(&self, column: &'a [f64]) -> Option<&'a [f64]> {
        (column.len() == self.losses.len()).then_some(column)
    }

    fn columns(&self, target: usize) -> Columns<'_> {
        let (weights, baselines) = &self.targets[target];
        Columns {
            losses: &self.losses,
            weights,
            fhats: self.optional(&self.fhats),
            baselines: self.optional(baselines),
            shares: self.optional(&self.shares),
        }
    }

    fn paired(&self, first: usize, second: usize) -> PairedColumns<'_> {
        let (one, two) = (self.columns(first), self.columns(second));
        PairedColumns {
            losses: &self.losses,
            weights: [one.weights, two.weights],
            predictions: match (one.fhats, one.baselines, two.baselines) {
                (Some(fhats), Some(one), Some(two)) => Some([fhats, one, two]),
                _ => None,
            },
            shares: one.shares,
        }
    }
}

/// The accumulators of everything that was asked for.
pub struct Valuation {
    /// One for each target.
    pub evaluations: Vec<Evaluation>,
    /// Of each target's weights.
    pub weights: Vec<Weights>,
    /// Each other target (its place) less the one it is compared with.
    pub comparisons: Vec<(usize, Comparison)>,
    /// The place of that one.
    pub against: Option<usize>,
    /// Events that are point masses: they count with weight 0.
    pub atoms: u64,
    /// Events whose action was somebody else's.
    pub not_played: u64,
    /// Whether a model has learned from some of the events.
    pub seen_by_model: bool,
    /// Events whose loss is not known.
    pub without_loss: u64,
    /// Σ κ over the events that tell it, and how many they are.
    kappa: (f64, u64),
    /// Whether weights are drawn.
    histograms: bool,
}

impl Valuation {
    /// Of `targets` targets; `against` is the place of the one that others are compared with.
    pub fn new(request: &Request<'_>, targets: usize, against: Option<usize>) -> Result<Self> {
        let evaluations = (0..targets).map(|_| Evaluation::new(request.plan.clone()));
        let comparisons = match against {
            None => Vec::new(),
            Some(against) => (0..targets)
                .filter(|&target| target != against)
                .map(|target| Ok((target, Comparison::new(request.plan.weight_bound)?)))
                .collect::<Result<_>>()?,
        };
        Ok(Self {
            evaluations: evaluations.collect::<Result<_, _>>()?,
            weights: vec![Weights::default(); targets],
            comparisons,
            against,
            atoms: 0,
            not_played: 0,
            seen_by_model: false,
            without_loss: 0,
            kappa: (0.0, 0),
            histograms: request.args.plot.is_some(),
        })
    }

    /// Adds events to all.
    pub fn observe(&mut self, events: &Weighted) -> Result<()> {
        if events.losses.is_empty() {
            return Ok(());
        }
        for (target, evaluation) in self.evaluations.iter_mut().enumerate() {
            evaluation.observe(&events.columns(target))?;
        }
        self.kappa.0 += events.kappas.iter().sum::<f64>();
        self.kappa.1 += events.kappas.len() as u64;
        if self.histograms {
            for (histogram, (weights, _)) in self.weights.iter_mut().zip(&events.targets) {
                weights.iter().for_each(|&weight| histogram.add(weight));
            }
        }
        if let Some(against) = self.against {
            for (target, comparison) in &mut self.comparisons {
                comparison.observe(&events.paired(*target, against))?;
            }
        }
        Ok(())
    }

    /// The mean κ of the log, if it tells any.
    pub fn kappa(&self) -> Option<f64> {
        let (sum, events) = self.kappa;
        (0 < events).then(|| sum / events as f64)
    }

    /// Tells the evaluations what was left out.
    pub fn finish(&mut self) {
        let left_out = self.without_loss + self.not_played;
        for evaluation in &mut self.evaluations {
            evaluation.leave_out(left_out);
        }
        for (_, comparison) in &mut self.comparisons {
            comparison.leave_out(left_out);
        }
    }

    /// An error unless some event can be weighed.
    pub fn check_any(&self) -> Result<()> {
        let events = self.evaluations[0].events();
        ensure!(
            self.atoms < events,
            "no event of the log has both a density and a loss: there is nothing to weigh"
        );
        Ok(())
    }
}
