use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use egret_offline::{Evaluation, OutcomeDistribution, Plan, PolicyComparison, thousands};

use super::Checked;
use super::density::Largest;
use super::pass_probs::PassProbs;
use super::weight_histogram::WeightHistogram;
use super::weighted_batch::WeightedBatch;
use crate::error::JobError;

/// The accumulators of everything that was asked for.
pub(super) struct Tally {
    /// One for each policy.
    pub evaluations: Vec<Evaluation>,
    /// How outcomes are distributed under each policy; none unless asked for.
    pub distributions: Vec<OutcomeDistribution>,
    /// Of each policy's weights.
    pub histograms: Vec<WeightHistogram>,
    /// Each other policy (its place) less the one it is compared with.
    pub comparisons: Vec<(usize, PolicyComparison)>,
    /// What was left out, and why.
    pub left_out: LeftOut,
    /// How likely events were to be kept.
    pub pass_probs: PassProbs,
    /// What bounds the weights of each policy, if anything does.
    largest: Vec<Option<Largest>>,
    against: Option<usize>,
    draws_histograms: bool,
    /// What event weights are counted in.
    unit: Option<f64>,
    /// Σ κ over the events that tell it, and how many they are.
    kappa: (f64, u64),
}

/// What a scan noticed besides the events it weighed.
#[derive(Debug, Clone, Default)]
pub(super) struct LeftOut {
    /// Events that are point masses: they count with weight 0.
    pub point_masses: u64,
    /// Events whose action was somebody else's.
    pub not_played: u64,
    /// Events whose loss is not known.
    pub without_loss: u64,
    /// Events before the first that is asked for, or after the last.
    pub outside: u64,
    /// Events without a number, where those from a number on are asked for.
    pub without_seq: u64,
    /// What each model has learned of the events.
    pub learned: BTreeMap<PathBuf, Learned>,
}

/// What a model has learned of the events that it is evaluated on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Learned {
    /// Whether it has learned more batches than had been learned when some of them were decided, by whatever model.
    pub ahead: bool,
    /// Whether that was this model, by its seed, and it has learned from more than the rows that it tells.
    pub online: bool,
    /// Of the rows that it can tell, how many it was trained on.
    pub known: u64,
    /// How many rows it can tell.
    pub told: u64,
}

/// A model that knows fewer rows of a log again may know them by chance.
const FEWEST_KNOWN: u64 = 20;

impl Learned {
    /// Whether it has learned from some. In a log of few distinct rows at most a third of new ones are like some trained on, by
    /// chance.
    fn some(&self) -> bool {
        self.online || (FEWEST_KNOWN <= self.known && self.told <= 2 * self.known)
    }
}

/// What is known of a policy before its events are weighed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// What bounds its weights, if anything does.
    pub largest: Option<Largest>,
    /// Whether E_q f̂ is known, where there is an f̂.
    pub predicted: bool,
    /// Whether truncated means are.
    pub truncated: bool,
}

impl Tally {
    /// Of policies of which this is known; `against` is the place of the one that others are compared with.
    pub(super) fn new(
        checked: &Checked<'_>,
        known: Vec<Known>,
        against: Option<usize>,
    ) -> Result<Self, JobError> {
        let plan = &checked.plan;
        let policies = known.len();
        let evaluations = known
            .iter()
            .map(|known| {
                let own = match known.largest {
                    Some(Largest::Weight(weight)) => weight,
                    _ => f64::INFINITY,
                };
                let mut plan = Plan {
                    // What is given holds for all policies, and the log's own has weights of 1.
                    weight_bound: plan.weight_bound.map(|bound| bound.min(own)),
                    event_bounds: known.largest.is_some(),
                    truncated: known.truncated,
                    ..plan.clone()
                };
                if !known.predicted {
                    plan.estimators.retain(|estimator| !estimator.needs_model());
                }
                Evaluation::new(plan)
            })
            .collect::<Result<_, _>>()
            .map_err(|error| JobError::request("estimators", error))?;
        let largest: Vec<Option<Largest>> = known.iter().map(|known| known.largest).collect();
        let others = (0..policies).filter(|policy| against.is_some_and(|one| one != *policy));
        let comparisons = others
            .map(|policy| {
                let mut comparison = PolicyComparison::new(plan.weight_bound)?;
                let both = |is: &dyn Fn(usize) -> bool| is(policy) && against.is_some_and(is);
                if both(&|policy| largest[policy].is_some()) {
                    comparison = comparison.with_event_bounds();
                }
                if checked.needs_predictions() && both(&|policy| known[policy].predicted) {
                    comparison = comparison.with_predictions();
                    if both(&|policy| known[policy].truncated) {
                        comparison = comparison.with_truncated_means();
                    }
                }
                Ok((policy, comparison))
            })
            .collect::<Result<_, _>>()
            .map_err(|error: egret_offline::PlanError| JobError::request("weight_bound", error))?;
        Ok(Self {
            evaluations,
            distributions: Vec::new(),
            histograms: vec![WeightHistogram::default(); policies],
            largest,
            comparisons,
            left_out: LeftOut::default(),
            pass_probs: PassProbs::default(),
            against,
            draws_histograms: checked.request.histograms,
            unit: None,
            kappa: (0.0, 0),
        })
    }

    /// With how outcomes are distributed, if that is asked for: of the whole log alone.
    pub(super) fn with_distributions(mut self, checked: &Checked<'_>) -> Self {
        if checked.request.asks_for_distributions() {
            self.distributions = vec![OutcomeDistribution::default(); self.evaluations.len()];
        }
        self
    }

    /// Adds events to all.
    pub(super) fn observe(&mut self, events: &mut WeightedBatch) -> Result<(), JobError> {
        if events.shares.is_empty() {
            return Ok(());
        }
        self.unit = events.scale_event_weights(self.unit);
        events.bound(&self.largest);
        for (policy, evaluation) in self.evaluations.iter_mut().enumerate() {
            evaluation.observe(&events.of(policy))?;
        }
        for (policy, distribution) in self.distributions.iter_mut().enumerate() {
            distribution.observe(&events.of(policy));
        }
        // One by one: then the sum does not depend on where batches end.
        for kappa in &events.kappas {
            self.kappa.0 += kappa;
            self.kappa.1 += 1;
        }
        if self.draws_histograms {
            for (histogram, (weights, _)) in self.histograms.iter_mut().zip(&events.policies) {
                weights.iter().for_each(|&weight| histogram.add(weight));
            }
        }
        if let Some(against) = self.against {
            for (policy, comparison) in &mut self.comparisons {
                comparison.observe(&events.paired(*policy, against))?;
            }
        }
        Ok(())
    }

    /// The mean κ of the log, if it tells any.
    pub(super) fn kappa(&self) -> Option<f64> {
        let (sum, events) = self.kappa;
        (0 < events).then(|| sum / events as f64)
    }

    /// Tells the evaluations what was left out; an error unless some event can be weighed.
    pub(super) fn finish(&mut self) -> Result<(), JobError> {
        if self.evaluations[0].events() <= self.left_out.point_masses {
            return Err(JobError::Log(self.left_out.nothing_to_weigh()));
        }
        let left_out = self.left_out.without_loss + self.left_out.not_played;
        let unequal = self.pass_probs.unequal();
        for evaluation in &mut self.evaluations {
            evaluation.leave_out(left_out);
            if unequal {
                evaluation.sampled_unequally();
            }
        }
        for (_, comparison) in &mut self.comparisons {
            comparison.leave_out(left_out);
            if unequal {
                comparison.sampled_unequally();
            }
        }
        Ok(())
    }
}

impl LeftOut {
    /// Whether this model has learned from some of the events.
    pub(super) fn was_learned_by(&self, model: &Path) -> bool {
        self.learned.get(model).is_some_and(Learned::some)
    }

    /// Whether any model has.
    pub(super) fn was_learned(&self) -> bool {
        self.learned.values().any(Learned::some)
    }

    /// Whether any model may have, for all that the log says.
    pub(super) fn may_be_learned(&self) -> bool {
        self.learned.values().any(|learned| learned.ahead)
    }

    fn nothing_to_weigh(&self) -> String {
        let others = self.without_loss + self.not_played + self.point_masses;
        if 0 < self.without_seq && others + self.outside == 0 {
            return format!(
                "--from-seq and --to-seq take events by their seq, and none of the {} has one: leave it out, and give the files of later \
                 events alone",
                thousands(self.without_seq)
            );
        }
        if 0 < self.outside && others == 0 {
            return format!(
                "all {} events come before --from-seq or after --to-seq, or have no seq, so nothing is left to weigh: give \
                 other numbers",
                thousands(self.outside + self.without_seq)
            );
        }
        if 0 < self.without_loss && self.without_loss == others {
            return format!(
                "none of the {} events has an outcome, so there is nothing to weigh: name its column with --reward or --loss, or \
                 wait for outcomes",
                thousands(self.without_loss)
            );
        }
        if 0 < self.point_masses && self.point_masses == others {
            return format!(
                "none of the {} events has a density, so there is nothing to weigh: a log that does not say how likely its actions were \
                 cannot tell what others would have done. Name their column with --density; if they were not kept, \
                 --estimate-density estimates them from the log, which is an assumption and never called reliable",
                thousands(self.point_masses)
            );
        }
        let mut why = Vec::new();
        for (events, what) in [
            (
                self.outside + self.without_seq,
                "come before --from-seq or after --to-seq, or have no seq",
            ),
            (self.without_loss, "have no loss"),
            (self.not_played, "are of apprentice mode"),
            (self.point_masses, "are point masses, without a density"),
        ] {
            if 0 < events {
                why.push(format!("{} {what}", thousands(events)));
            }
        }
        format!(
            "no event of the log has both a density and a loss, so there is nothing to weigh ({})",
            why.join(", ")
        )
    }
}
