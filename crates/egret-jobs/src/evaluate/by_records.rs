use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use egret::{
    ActionKind, AnyModel, Context, Decision, Density, DensityKind, GammaSchedule, Interval, Item,
    ItemSet, LineMeasure, Loss, MixedAction, Model, Objective, ReferenceMeasure, Settings, Space,
    TrainedRows, Vector, for_kind,
};
use egret_log::{Mode, Record};
use egret_offline::{
    BestOf, CappedIgwPolicy, GreedyPolicy, Kernel, KernelPolicy, PairedMeans, Policy,
    PolicyBuffers, PolicySeed, TRUNCATIONS, UniformPolicy, geometric_bandwidths,
    paired_truncated_means, thousands, truncated_means,
};
use rayon::prelude::*;

use super::density::{
    AroundColumn, Event, LoggedDensity, OfColumns, OfLog, OfMeasure, OfPolicy, Predictor, Problem,
};
use super::fitted::Fitted;
use super::further_outcome::OutcomeTally;
use super::parts::PartTallies;
use super::rows::{Evaluated, report};
use super::tally::{Known, LeftOut, Tally};
use super::weighted_batch::WeightedBatch;
use super::{Checked, EvaluateReport, Predictions};
use crate::decided_again::DecidedAgain;
use crate::density_units;
use crate::error::{JobError, Place};
use crate::estimated_density::ASSUMPTION;
use crate::log_reader::{LogReader, largest_inverse};
use crate::onnx;
use crate::policy_spec::{Bandwidth, NamedPolicy, PointSource, PolicySpec};
use crate::progress::Progress;
use crate::row_bytes::row_bytes;
use crate::saved_model::load_model;

/// Records that are weighed side by side.
const BATCH: usize = 4_096;

/// Bandwidths that SLOPE chooses among, from 1/64 of the interval to half of it.
const BANDWIDTHS: usize = 11;

/// Evaluates from whole records: what a saved model says of each context is worked out.
pub(super) fn evaluate(
    checked: &Checked<'_>,
    progress: &dyn Progress,
) -> Result<EvaluateReport, JobError> {
    let log = checked.request.log.open(progress)?;
    let models = load_models(checked, log.space.as_deref(), log.objective)?;
    let scan = Scan {
        checked,
        models: &models,
        space: log.space.clone(),
        objective: log.objective,
        unit: log.unit,
    };
    for_kind!(log.kind, A => scan.evaluate::<A>(log, progress))
}

fn load_models(
    checked: &Checked<'_>,
    space: Option<&Space>,
    objective: Objective,
) -> Result<BTreeMap<PathBuf, AnyModel>, JobError> {
    let request = checked.request;
    let mut files: Vec<&PathBuf> = Vec::new();
    files.extend(
        request
            .policies
            .iter()
            .filter_map(|policy| policy.policy.predictor()),
    );
    if let Some(Predictions::Model(file)) = &request.predictions {
        files.push(file);
    }
    let mut models = BTreeMap::new();
    for file in files {
        if models.contains_key(file) {
            continue;
        }
        if onnx::is_onnx(file) {
            let space = space.ok_or_else(|| JobError::Onnx(format!(
                "{}: the log does not say its reference measure (the field mu), and a file of ONNX does not either",
                file.display()
            )))?;
            let model = onnx::model(file, space, objective, Settings::default())?;
            models.insert(file.clone(), model);
            continue;
        }
        let model = load_model(file)?;
        let own = &model.spec().space;
        if let Some(space) = space
            && own != space
        {
            return Err(JobError::Log(format!(
                "{} is a model over {own}, and the log is over {space}",
                file.display()
            )));
        }
        models.insert(file.clone(), model);
    }
    Ok(models)
}

/// Whether a model has learned from more than the rows of logs that it tells.
fn learned_online(model: &AnyModel) -> bool {
    let told = model.trained_rows().map_or(0, TrainedRows::rows);
    for_kind!(model.kind(), A => {
        let typed = model.typed::<A>().expect("its own kind");
        told < typed.learner().learned().events
    })
}

/// What policies are made of.
struct Scan<'a> {
    checked: &'a Checked<'a>,
    models: &'a BTreeMap<PathBuf, AnyModel>,
    space: Option<Arc<Space>>,
    objective: Objective,
    /// What densities in columns are multiplied by.
    unit: f64,
}

/// A policy that is ready to weigh events.
struct Ready<'a, A: ActionKind> {
    evaluated: Evaluated,
    density: Box<dyn LoggedDensity<A> + 'a>,
}

impl<'a, A: ActionKind> Ready<'a, A> {
    fn new(policy: usize, bandwidth: Option<f64>, density: impl LoggedDensity<A> + 'a) -> Self {
        Self {
            evaluated: Evaluated {
                policy,
                bandwidth,
                caveat: density.caveat(),
            },
            density: Box::new(density),
        }
    }
}

/// All policies, and the place of the one that others are compared with.
type Weighers<'s, 'a, A> = (&'s [Ready<'a, A>], Option<usize>);

/// Actions that a kernel can smooth: numbers of an interval.
trait Smoothed: ActionKind {
    /// The policy at its bandwidth, or at each that is tried.
    fn around<'s>(scan: &'s Scan<'_>, place: usize) -> Result<Vec<Ready<'s, Self>>, String> {
        let _ = (scan, place);
        Err("a kernel smooths numbers of an interval, and the log's actions are none".to_owned())
    }
}

impl Smoothed for Vector {}

impl Smoothed for Item {}

impl Smoothed for MixedAction {}

impl Smoothed for ItemSet {}

impl Smoothed for f64 {
    fn around<'s>(scan: &'s Scan<'_>, place: usize) -> Result<Vec<Ready<'s, f64>>, String> {
        let PolicySpec::Kernel {
            from,
            kernel,
            bandwidth,
        } = &scan.checked.request.policies[place].policy
        else {
            return Err("is no kernel".to_owned());
        };
        let Space::Interval { low, high } = *scan.space()? else {
            return Err(
                "a kernel needs an interval with a uniform reference measure, and the log has another: its density would be \
                 against the length of the action, not against mu"
                    .to_owned(),
            );
        };
        let interval = Interval::new(low, high).map_err(|error| error.to_string())?;
        let (low, high) = interval.bounds();
        let tried = match bandwidth {
            Bandwidth::Width(width) => vec![*width],
            Bandwidth::Slope => {
                geometric_bandwidths((high - low) / 64.0, (high - low) / 2.0, BANDWIDTHS)
                    .map_err(|error| error.to_string())?
            }
        };
        let chosen = *bandwidth == Bandwidth::Slope;
        tried
            .into_iter()
            .map(|width| {
                let kernel =
                    Kernel::new(*kernel, width, &interval).map_err(|error| error.to_string())?;
                let width = chosen.then_some(width);
                Ok(match from {
                    PointSource::Action(column) => Ready::new(
                        place,
                        width,
                        AroundColumn {
                            action: column.clone(),
                            kernel,
                        },
                    ),
                    PointSource::Model(file) if onnx::is_onnx(file) => {
                        let played = onnx::policy(file).map_err(|error| error.to_string())?;
                        let policy = KernelPolicy::new(Box::new(played), kernel);
                        Ready::new(place, width, scan.of_policy(policy))
                    }
                    PointSource::Model(file) => {
                        let greedy = GreedyPolicy::new(scan.model::<f64>(file)?.learner());
                        let policy = KernelPolicy::new(Box::new(greedy), kernel);
                        Ready::new(place, width, scan.of_policy(policy))
                    }
                })
            })
            .collect()
    }
}

impl Scan<'_> {
    fn model<A: ActionKind>(&self, file: &Path) -> Result<&Model<A>, String> {
        self.models[file].typed().ok_or_else(|| {
            format!(
                "{} is a model over {}, and the log's actions are {}s: give a model over the same space",
                file.display(),
                self.models[file].spec().space,
                A::KIND
            )
        })
    }

    /// The action space: the log's, or that of the first model.
    fn space(&self) -> Result<&Space, String> {
        let of_model = || Some(&self.models.values().next()?.spec().space);
        self.space.as_deref().or_else(of_model).ok_or_else(|| {
            "the log does not say its reference measure (the field mu): give a saved model, which does (--model)"
                .to_owned()
        })
    }

    fn of_policy<'p, A: ActionKind>(
        &self,
        policy: impl Policy<Context, A> + 'p,
    ) -> OfPolicy<'p, A> {
        OfPolicy {
            policy: Box::new(policy),
            draws: self.checked.request.draws,
        }
    }

    fn evaluate<A: Smoothed>(
        &self,
        log: LogReader,
        progress: &dyn Progress,
    ) -> Result<EvaluateReport, JobError> {
        let measure = self
            .space()
            .and_then(|space| A::measure(space).map_err(|error| error.to_string()));
        let others = self.at_other_settings::<A>()?;
        let mut ready = Vec::new();
        for (place, policy) in self.checked.request.policies.iter().enumerate() {
            let made = self.ready(place, policy, &measure, &others);
            ready.extend(made.map_err(|problem| JobError::Policy {
                name: policy.name.clone(),
                problem,
            })?);
        }
        let predictor = match &self.checked.request.predictions {
            Some(_) if !self.checked.needs_predictions() => Predictor::Absent,
            Some(Predictions::Fit) => {
                let space = self.space();
                let space = space.map_err(|problem| JobError::request("predictions", problem))?;
                return self.run(log, &ready, Predicted::Fit(space), progress);
            }
            Some(Predictions::Model(file)) => {
                let model = self.model(file);
                let model = model.map_err(|problem| JobError::request("predictions", problem))?;
                let own = model.spec().objective;
                if own != self.objective {
                    let problem = format!(
                        "{} predicts outcomes of {own}, and those of the log are of {}: give a model of the same objective",
                        file.display(),
                        self.objective
                    );
                    return Err(JobError::request("predictions", problem));
                }
                Predictor::Model(model.learner())
            }
            Some(Predictions::Column(column)) => Predictor::Column(column),
            None => Predictor::Absent,
        };
        self.run(log, &ready, Predicted::By(predictor), progress)
    }

    /// Models at other settings than their own, by the place of the policy.
    fn at_other_settings<A: ActionKind>(&self) -> Result<BTreeMap<usize, Model<A>>, JobError> {
        let mut others = BTreeMap::new();
        for (place, policy) in self.checked.request.policies.iter().enumerate() {
            let PolicySpec::CappedIgw { model, tau, gamma } = &policy.policy else {
                continue;
            };
            if tau.is_none() && gamma.is_none() {
                continue;
            }
            let made = self
                .model::<A>(model)
                .and_then(|own| self.under(model, own, *tau, *gamma));
            let made = made.map_err(|problem| JobError::Policy {
                name: policy.name.clone(),
                problem,
            })?;
            others.insert(place, made);
        }
        Ok(others)
    }

    fn under<A: ActionKind>(
        &self,
        file: &Path,
        model: &Model<A>,
        tau: Option<f64>,
        gamma: Option<f64>,
    ) -> Result<Model<A>, String> {
        let settings = other_settings(model, tau, gamma)?;
        if onnx::is_onnx(file) {
            // What it predicts is in its file, and not in the state of the model.
            let spec = model.spec();
            let other = onnx::model(file, &spec.space, spec.objective, settings);
            let other = other.map_err(|error| error.to_string())?;
            return Ok(other.into_typed().expect("the same space"));
        }
        model.under(settings).map_err(|error| error.to_string())
    }

    fn ready<'s, A: Smoothed>(
        &'s self,
        place: usize,
        policy: &NamedPolicy,
        measure: &'s Result<Box<dyn ReferenceMeasure<Context, A>>, String>,
        others: &'s BTreeMap<usize, Model<A>>,
    ) -> Result<Vec<Ready<'s, A>>, String> {
        // Columns of densities need no measure; what needs one says what is missing.
        let measure = || measure.as_deref().map_err(Clone::clone);
        let words = |error: egret_offline::PolicyError| error.to_string();
        let ready = match &policy.policy {
            PolicySpec::Uniform if self.checked.request.predictions.is_none() => {
                self.space()?;
                Ready::new(place, None, OfMeasure)
            }
            PolicySpec::Uniform => {
                let uniform = UniformPolicy::new(measure()?);
                Ready::new(place, None, self.of_policy(uniform))
            }
            PolicySpec::Logged => Ready::new(place, None, OfLog),
            PolicySpec::BestOf { m, model } => {
                let oracle = self.model(model)?.learner().oracle();
                let best = BestOf::m(measure()?, oracle, *m).map_err(words)?;
                Ready::new(place, None, self.of_policy(best))
            }
            PolicySpec::Smooth { tau, model } => {
                let oracle = self.model(model)?.learner().oracle();
                let smooth = BestOf::smooth(measure()?, oracle, *tau).map_err(words)?;
                Ready::new(place, None, self.of_policy(smooth))
            }
            PolicySpec::CappedIgw { model, .. } => {
                let model = match others.get(&place) {
                    Some(other) => other,
                    None => self.model(model)?,
                };
                let capped = CappedIgwPolicy::new(model.learner()).map_err(words)?;
                Ready::new(place, None, self.of_policy(capped))
            }
            PolicySpec::Column { density, predicted } => {
                let columns = OfColumns {
                    density: density.clone(),
                    predicted: predicted.clone(),
                    unit: self.unit,
                };
                Ready::new(place, None, columns)
            }
            PolicySpec::Kernel { .. } => return A::around(self, place),
        };
        Ok(vec![ready])
    }

    fn run<A: ActionKind>(
        &self,
        mut log: LogReader,
        ready: &[Ready<'_, A>],
        predicted: Predicted<'_, A>,
        progress: &dyn Progress,
    ) -> Result<EvaluateReport, JobError> {
        let absent = matches!(predicted, Predicted::By(Predictor::Absent));
        let modelled = !matches!(
            predicted,
            Predicted::By(Predictor::Absent | Predictor::Column(_))
        );
        let (files, seed) = (&self.checked.request.logged_by, self.checked.request.seed);
        let mut again = DecidedAgain::<A>::new(files, self.space.as_ref(), seed)?;
        let known = ready.iter().map(|one| Known {
            largest: one.density.largest(),
            predicted: absent || one.density.predicts(),
            truncated: modelled && again.is_some() && one.density.tells_all(),
        });
        let (known, against): (Vec<Known>, _) = (known.collect(), self.against(ready)?);
        let request = self.checked.request;
        let tally = Tally::new(self.checked, known.clone(), against)?;
        let mut tally = tally.with_distributions(self.checked);
        let parts = request.parts.as_ref();
        let mut parts = parts.map(|by| PartTallies::new(by, known.clone(), against));
        let outcomes = request.outcomes.iter();
        let mut outcomes = outcomes
            .map(|outcome| OutcomeTally::new(self.checked, outcome, &known, against))
            .collect::<Result<Vec<_>, _>>()?;
        let mut events = WeightedBatch::new(ready.len());
        let mut fitted = None;
        loop {
            let batch = self.next_batch(&mut log, &mut again, &mut tally, progress)?;
            if batch.is_empty() {
                break;
            }
            events.clear();
            match predicted {
                Predicted::By(predictor) => {
                    self.weigh_all((ready, against), predictor, &batch, &mut events)?;
                }
                Predicted::Fit(space) => {
                    let fitted = match &mut fitted {
                        Some(fitted) => fitted,
                        None => fitted.insert(self.fitted(space, &batch)?),
                    };
                    let mut rest = &batch[..];
                    while !rest.is_empty() {
                        let block;
                        (block, rest) = rest.split_at(fitted.block().min(rest.len()));
                        let predictor = fitted.predictor();
                        self.weigh_all((ready, against), predictor, block, &mut events)?;
                        for used in block {
                            fitted.learn(&used.place, &used.record)?;
                        }
                    }
                }
            }
            let kept = batch.iter().map(|used| used.record.pass_prob);
            let event_weights = &mut events.event_weights;
            tally.pass_probs.weigh(kept, batch.len(), event_weights);
            let records = batch.iter().map(|used| (&used.place, &used.record));
            if let Some(parts) = &mut parts {
                parts.observe(self.checked, records.clone(), &events)?;
            }
            for outcome in &mut outcomes {
                outcome.observe(records.clone(), &events)?;
            }
            tally.observe(&mut events)?;
        }
        let mut remarks = self.checked.without_predictions();
        if request.log.estimate_density {
            remarks.push(ASSUMPTION.to_owned());
        }
        let skipped = log.finish()?;
        if let Some(file) = skipped.file {
            remarks.push(format!(
                "Rows that are not records: {}; they are in {}.",
                thousands(skipped.rows),
                file.display()
            ));
        }
        let evaluated: Vec<Evaluated> = ready.iter().map(|one| one.evaluated.clone()).collect();
        let parts = parts.map_or(Vec::new(), |parts| parts.finish(&tally));
        for outcome in &mut outcomes {
            outcome.tally.left_out.learned = tally.left_out.learned.clone();
            outcome.tally.pass_probs = tally.pass_probs;
        }
        let mut report = report(self.checked, self.objective, &evaluated, tally, remarks)?;
        report.add_parts(self.checked, &evaluated, parts)?;
        report.add_outcomes(self.checked, &evaluated, outcomes)?;
        let mean = report.rows.first().map(|row| row.mean_weight);
        let remark = self.space.as_deref().zip(mean);
        report
            .remarks
            .extend(remark.and_then(|(space, mean)| density_units::remark(space, self.unit, mean)));
        Ok(report)
    }

    /// The place among the evaluations of the policy that others are compared with.
    fn against<A: ActionKind>(&self, ready: &[Ready<'_, A>]) -> Result<Option<usize>, JobError> {
        let Some(place) = self.checked.against else {
            return Ok(None);
        };
        let mut of = (0..ready.len()).filter(|&one| ready[one].evaluated.policy == place);
        let first = of.next();
        match of.next() {
            None => Ok(first),
            Some(_) => Err(JobError::request(
                "against",
                format!(
                    "{}: give its bandwidth, for one that is chosen from the log moves with it",
                    self.checked.request.policies[place].name
                ),
            )),
        }
    }

    /// The next events that can be weighed; empty at the end of the log.
    fn next_batch<A: ActionKind>(
        &self,
        log: &mut LogReader,
        again: &mut Option<DecidedAgain<A>>,
        tally: &mut Tally,
        progress: &dyn Progress,
    ) -> Result<Vec<Used<A>>, JobError> {
        let request = self.checked.request;
        let asked = request.from_seq.unwrap_or(0)..request.to_seq.unwrap_or(u64::MAX);
        let by_seq = request.from_seq.is_some() || request.to_seq.is_some();
        let mut batch = Vec::with_capacity(BATCH);
        while batch.len() < BATCH {
            let Some((place, record)) = log.next(progress)? else {
                break;
            };
            let row = log.rows() - 1;
            let mut again = |wanted| match again {
                Some(again) => again.observe((row, &place, &record), wanted),
                None => Ok(Vec::new()),
            };
            if by_seq {
                let left_out = match record.seq {
                    None => Some(&mut tally.left_out.without_seq),
                    Some(seq) => (!asked.contains(&seq)).then_some(&mut tally.left_out.outside),
                };
                if let Some(count) = left_out {
                    *count += 1;
                    again(false)?;
                    continue;
                }
            }
            self.check_space(&place, &record)?;
            let Some(loss) = record.loss else {
                tally.left_out.without_loss += 1;
                again(false)?;
                continue;
            };
            if record.mode == Some(Mode::Apprentice) {
                tally.left_out.not_played += 1;
                continue;
            }
            if record.propensity().density().is_none() {
                tally.left_out.point_masses += 1;
            }
            self.note_training(&record, loss, &mut tally.left_out);
            let again = again(true)?;
            batch.push(Used {
                row,
                again,
                place,
                record,
                loss,
            });
        }
        Ok(batch)
    }

    /// An error where a record is over another space than the log's first, or has another objective: no weight compares
    /// the two.
    fn check_space(&self, place: &Place, record: &Record) -> Result<(), JobError> {
        let objective = record.objective.unwrap_or_default();
        if objective != self.objective {
            let problem = format!(
                "the log began with {}, and this has {objective}: evaluate each part by itself",
                self.objective
            );
            return Err(JobError::field(place, "objective", problem));
        }
        match (&self.space, &record.mu) {
            (Some(space), Some(found)) if !Arc::ptr_eq(space, found) && space != found => {
                Err(JobError::field(
                    place,
                    "mu",
                    format!(
                        "the log began over {space}, and this is over {found}: evaluate each part by itself"
                    ),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Notes whether a model has learned from this event: online, where the log says how much had been learned when it was
    /// decided, and more is now; or from a log, where it knows the row again. The batches of a model that learned from logs
    /// alone, or of another seed, are not to be compared with those of this log.
    fn note_training(&self, record: &Record, loss: Loss, left_out: &mut LeftOut) {
        let mut row = None;
        for (file, model) in self.models {
            let learned = left_out.learned.entry(file.clone()).or_default();
            let decided = record.batches_learned;
            let ahead = decided.is_some_and(|n| n < model.batches_learned());
            learned.ahead |= ahead;
            learned.online |= ahead
                && record.seed.is_none_or(|seed| seed == model.settings().seed)
                && learned_online(model);
            let Some(trained) = model.trained_rows() else {
                continue;
            };
            let bytes = || row_bytes(&record.context, &record.action, loss.get());
            if let Some(known) = trained.knows(row.get_or_insert_with(bytes))
                && trained.are_distinct()
            {
                learned.known += u64::from(known);
                learned.told += 1;
            }
        }
    }

    /// A model that is to learn from the log, before it has.
    fn fitted<A: ActionKind>(
        &self,
        space: &Space,
        first: &[Used<A>],
    ) -> Result<Fitted<A>, JobError> {
        let contexts = first.iter().map(|used| &used.record.context);
        Fitted::new(space, self.objective, self.checked.request.seed, contexts)
    }

    fn weigh_all<A: ActionKind>(
        &self,
        weighers: Weighers<'_, '_, A>,
        predictor: Predictor<'_, A>,
        batch: &[Used<A>],
        events: &mut WeightedBatch,
    ) -> Result<(), JobError> {
        let weighed = batch
            .par_iter()
            .map_init(PolicyBuffers::default, |buffers, used| {
                self.weigh(weighers, predictor, used, buffers)
            })
            .collect::<Result<Vec<_>, _>>()?;
        for event in weighed {
            event.add_to(events);
        }
        Ok(())
    }

    fn weigh<A: ActionKind>(
        &self,
        (ready, against): Weighers<'_, '_, A>,
        predictor: Predictor<'_, A>,
        used: &Used<A>,
        buffers: &mut PolicyBuffers<A>,
    ) -> Result<Weighed, JobError> {
        let problem = |problem: Problem| problem.at(&used.place);
        let record = &used.record;
        let logged = record.propensity().density().map(Density::get);
        let action = A::from_any(&record.action)
            .map_err(|error| JobError::field(&used.place, "action", error))?;
        let event = Event {
            record,
            action: &action,
            objective: self.objective,
            seed: PolicySeed {
                seed: self.checked.request.seed,
                event: used.row,
            },
            predictor,
            again: &used.again,
        };
        let share = |loss: f64| self.objective.share(loss);
        let answers = ready
            .iter()
            .map(|one| one.density.answer(&event, buffers))
            .collect::<Result<Vec<_>, _>>()
            .map_err(problem)?;
        let fhats = event.predicted_again().map_err(problem)?;
        let fhats: Vec<f64> = fhats.into_iter().map(share).collect();
        let again = |place: usize| {
            let weights = &answers[place].again;
            (!fhats.is_empty() && weights.len() == fhats.len()).then_some(weights)
        };
        let with_fhats = || fhats.iter().copied();
        let policies = answers
            .iter()
            .enumerate()
            .map(|(place, answer)| WeighedFor {
                weight: answer.likely.weight(logged),
                predicted: answer.predicted.map(share),
                truncated: again(place)
                    .map(|weights| truncated_means(weights.iter().copied().zip(with_fhats()))),
                beside: again(place)
                    .zip(against.and_then(again))
                    .map(|(own, other)| {
                        let pairs = own.iter().zip(other).map(|(&own, &other)| [own, other]);
                        paired_truncated_means(pairs.zip(with_fhats()))
                    }),
            });
        let policies = policies.collect();
        Ok(Weighed {
            share: share(used.loss.get()),
            predicted: event.predicted().map_err(problem)?.map(share),
            event_weight: match self.checked.request.stabilize {
                true => Some(stabilizer(record).map_err(|why| JobError::record(&used.place, why))?),
                false => None,
            },
            kappa: record.z.map(|z| 1.0 / z),
            largest_inverse: largest_inverse(
                record.largest_inverse_density,
                record.z_draws.map(|draws| draws as f64),
            ),
            policies,
        })
    }
}

/// Where predictions come from.
enum Predicted<'a, A: ActionKind> {
    /// From what is known before the log is read.
    By(Predictor<'a, A>),
    /// From a model over this space that learns as the log is read.
    Fit(&'a Space),
}

/// The same oracle at one τ and one γ.
fn other_settings<A: ActionKind>(
    model: &Model<A>,
    tau: Option<f64>,
    gamma: Option<f64>,
) -> Result<Settings, String> {
    let mut settings = model.settings().clone();
    match tau {
        Some(tau) => settings.taus = vec![tau],
        None if settings.taus.len() == 1 => {}
        None => {
            return Err(format!(
                "the model has {} values of tau, whose weights go with its own gamma: give one with tau=T",
                settings.taus.len()
            ));
        }
    }
    // γ as the model would have it now.
    let now = || {
        let learned = model.learner().learned();
        model.settings().gamma.gamma(&learned, settings.taus[0])
    };
    let constant = GammaSchedule::constant(gamma.unwrap_or_else(now));
    settings.gamma = constant.map_err(|error| error.to_string())?;
    Ok(settings)
}

/// τ/(τ + γ).
fn stabilizer(record: &Record) -> Result<f64, &'static str> {
    if record.density_kind == Some(DensityKind::Marginal) {
        return Err(
            "--stabilize weighs events by the tau they were drawn at, and this density is over all of the grid: leave \
             it out",
        );
    }
    let (tau, gamma) = record
        .tau
        .zip(record.gamma)
        .ok_or("--stabilize needs the fields tau and gamma, which this record lacks")?;
    Ok(tau / (tau + gamma))
}

/// A record that can be weighed.
struct Used<A: ActionKind> {
    /// Its place in the log, from 0.
    row: u64,
    place: Place,
    record: Record,
    loss: Loss,
    /// Its decision, made again; empty where that is not asked for.
    again: Vec<Decision<A>>,
}

/// One event as every policy weighs it.
struct Weighed {
    /// Where in its range the outcome lies.
    share: f64,
    predicted: Option<f64>,
    event_weight: Option<f64>,
    kappa: Option<f64>,
    largest_inverse: f64,
    policies: Vec<WeighedFor>,
}

/// As one policy weighs it.
struct WeighedFor {
    weight: f64,
    predicted: Option<f64>,
    /// Where decisions were made again.
    truncated: Option<[[f64; TRUNCATIONS.len()]; 2]>,
    /// The same beside the policy that it is compared with.
    beside: Option<PairedMeans>,
}

impl Weighed {
    fn add_to(self, events: &mut WeightedBatch) {
        events.shares.push(self.share);
        events.predicted.extend(self.predicted);
        events.event_weights.extend(self.event_weight);
        events.kappas.extend(self.kappa);
        events.largest_inverses.push(self.largest_inverse);
        let columns = events.policies.iter_mut().zip(&mut events.truncated);
        let columns = columns.zip(&mut events.beside);
        for ((((weights, own), columns), beside), policy) in columns.zip(self.policies) {
            if let Some(means) = &policy.beside {
                beside.push(means);
            }
            weights.push(policy.weight);
            own.extend(policy.predicted);
            let columns = columns.iter_mut().flatten();
            for (column, mean) in columns.zip(policy.truncated.iter().flatten().flatten()) {
                column.push(*mean);
            }
        }
    }
}
