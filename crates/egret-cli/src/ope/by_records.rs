use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use egret::{Context, DensityKind, GammaSchedule, Interval, Item, Loss, Model, Space, Vector};
use egret_log::{LoggedAction, Mode, OnBad, Reader, Record};
use egret_offline::{
    BestOf, CappedTarget, Chance, GreedyPolicy, Kernel, KernelTarget, Target, TargetWork,
    UniformTarget, geometric_bandwidths, with_settings,
};
use rayon::prelude::*;

use super::findings::{Evaluated, Findings};
use super::target_spec::{Bandwidth, NamedTarget, PolicySource, TargetSpec};
use super::valuation::{Valuation, Weighted};
use super::weigher::{ByColumn, ByKernel, ByTarget, Event, Fhat, Predictions, Weigher};
use super::{Request, same_pass_prob};
use crate::kind::{Kind, learner_of};
use crate::model_file;
use crate::progress::reading;

/// Records that are weighed side by side.
const BATCH: usize = 4_096;

/// Bandwidths that SLOPE chooses among, from 1/64 of the interval to half of it.
const BANDWIDTHS: usize = 11;

/// Values the policies from whole records: what a saved model says of each context is worked out.
pub fn evaluate(request: &Request<'_>) -> Result<Findings> {
    let args = request.args;
    let on_bad = match &args.skip_bad {
        None => OnBad::Stop,
        Some(file) => OnBad::Skip(file.clone()),
    };
    let mut log = Log {
        reader: Reader::open(&args.logs, on_bad)?,
        first: None,
    };
    let first = log.reader.next().transpose()?;
    let first = first.context("the log holds no record")?;
    let (action, mu) = (first.action.clone(), first.mu.clone());
    log.first = Some(first);
    let models = load_models(request)?;
    if let Some(mu) = &mu {
        for (path, model) in &models {
            ensure!(
                model.blueprint().space == **mu,
                "{} is over another action space than the log",
                path.display()
            );
        }
    }
    let parts = Parts {
        request,
        models: &models,
        mu,
    };
    match action {
        LoggedAction::Number(_) => evaluate_number(&parts, log),
        LoggedAction::Vector(_) => {
            evaluate_kind::<Vector>(&parts, log, &|target, _| no_kernel(target))
        }
        LoggedAction::Item(_) => evaluate_kind::<Item>(&parts, log, &|target, _| no_kernel(target)),
    }
}

/// The records, the first of which was looked at already.
struct Log {
    reader: Reader,
    first: Option<Record>,
}

impl Log {
    fn next(&mut self) -> Result<Option<Record>> {
        match self.first.take() {
            Some(record) => Ok(Some(record)),
            None => Ok(self.reader.next().transpose()?),
        }
    }
}

/// What targets are made of.
struct Parts<'a> {
    request: &'a Request<'a>,
    models: &'a BTreeMap<PathBuf, Model>,
    mu: Option<Arc<Space>>,
}

/// A target, ready to weigh events.
struct Ready<'a, A: Kind> {
    evaluated: Evaluated,
    weigher: Box<dyn Weigher<A> + 'a>,
}

/// Makes the weighers of a kernel target; only intervals have any.
type Kernels<'k, A> = dyn Fn(&NamedTarget, usize) -> Result<Vec<Ready<'k, A>>> + 'k;

fn no_kernel<'a, A: Kind>(target: &NamedTarget) -> Result<Vec<Ready<'a, A>>> {
    bail!(
        "{}: a kernel smooths a number on an interval, and the log's actions are none",
        target.name
    )
}

fn load_models(request: &Request<'_>) -> Result<BTreeMap<PathBuf, Model>> {
    let of_target = |target: &NamedTarget| match &target.spec {
        TargetSpec::BestOf { model, .. }
        | TargetSpec::Smooth { model, .. }
        | TargetSpec::CappedIgw { model, .. }
        | TargetSpec::Kernel {
            policy: PolicySource::Model(model),
            ..
        } => Some(model.clone()),
        _ => None,
    };
    let mut models = BTreeMap::new();
    let paths = request.args.targets.iter().filter_map(of_target);
    for path in paths.chain(request.args.model.clone()) {
        if let Entry::Vacant(place) = models.entry(path) {
            let model = model_file::load(place.key())?;
            place.insert(model);
        }
    }
    Ok(models)
}

impl<'a> Parts<'a> {
    fn model(&self, path: &Path) -> &'a Model {
        &self.models[path]
    }

    /// An error where a record is over another space than the log's first: no weight compares the two.
    fn check(&self, record: &Record) -> Result<()> {
        if let (Some(mu), Some(found)) = (&self.mu, &record.mu)
            && !Arc::ptr_eq(mu, found)
        {
            ensure!(
                mu == found,
                "the reference measure changes within the log, at event {}: value each part by itself",
                record.seq.unwrap_or_default()
            );
        }
        Ok(())
    }

    /// Whether one of the models had already learned when this decision was made, and more than this decision's.
    fn learned_from(&self, record: &Record) -> bool {
        let version = record.batches_learned;
        let learned = |model: &Model| version.is_some_and(|version| version < model.version());
        self.models.values().any(learned)
    }

    /// The action space: the log's, or that of the first model.
    fn space(&self) -> Result<&Space> {
        let of_model = || {
            self.models
                .values()
                .next()
                .map(|model| &model.blueprint().space)
        };
        self.mu.as_deref().or_else(of_model).context(
            "the log does not say its reference measure (the field mu): a saved model would, give one with --model",
        )
    }
}

fn evaluate_number(parts: &Parts<'_>, log: Log) -> Result<Findings> {
    let interval = match parts.space() {
        Ok(&Space::Interval { low, high }) => Some(Interval::new(low, high)?),
        _ => None,
    };
    let mut greedy: BTreeMap<&Path, GreedyPolicy<'_, Context>> = BTreeMap::new();
    if let Some(interval) = &interval {
        for (path, model) in parts.models {
            let learner = learner_of::<f64>(&model.learner, path)?;
            greedy.insert(path, GreedyPolicy::new(learner.oracle(), interval));
        }
    }
    let kernels = |target: &NamedTarget, place: usize| -> Result<Vec<Ready<'_, f64>>> {
        let TargetSpec::Kernel {
            policy,
            kernel,
            bandwidth,
        } = &target.spec
        else {
            bail!("{} is no kernel", target.name);
        };
        let interval = interval.as_ref().with_context(|| {
            format!(
                "{}: a kernel needs an interval with uniform mu, and the log is over another space",
                target.name
            )
        })?;
        let width = {
            let (low, high) = egret::LineMeasure::bounds(interval);
            high - low
        };
        let widths = match bandwidth {
            Bandwidth::Width(width) => vec![*width],
            Bandwidth::Slope => geometric_bandwidths(width / 64.0, width / 2.0, BANDWIDTHS)?,
        };
        widths
            .into_iter()
            .map(|width| {
                let kernel = Kernel::new(*kernel, width, interval)?;
                let weigher: Box<dyn Weigher<f64> + '_> = match policy {
                    PolicySource::Column(action) => Box::new(ByKernel {
                        action: action.clone(),
                        kernel,
                    }),
                    PolicySource::Model(path) => by_target(
                        KernelTarget::new(&greedy[&**path], kernel),
                        parts.request.args.draws,
                    ),
                };
                let chosen = *bandwidth == Bandwidth::Slope;
                Ok(ready(place, chosen.then_some(width), weigher))
            })
            .collect()
    };
    evaluate_kind::<f64>(parts, log, &kernels)
}

fn by_target<'a, A: Kind>(
    target: impl Target<Context, A> + 'a,
    draws: usize,
) -> Box<dyn Weigher<A> + 'a> {
    let target = Box::new(target);
    Box::new(ByTarget { target, draws })
}

fn ready<'a, A: Kind>(
    target: usize,
    bandwidth: Option<f64>,
    weigher: Box<dyn Weigher<A> + 'a>,
) -> Ready<'a, A> {
    Ready {
        evaluated: Evaluated {
            target,
            bandwidth,
            caveat: weigher.caveat(),
        },
        weigher,
    }
}

fn evaluate_kind<'k, A: Kind>(
    parts: &Parts<'k>,
    mut log: Log,
    kernels: &Kernels<'k, A>,
) -> Result<Findings> {
    let request = parts.request;
    let args = request.args;
    let space = parts.space();
    let measure = match &space {
        Ok(space) => A::measure(space)?,
        Err(_) => None,
    };
    // Columns of densities need no measure; the targets that do say what is missing.
    let measure = || match (&measure, &space) {
        (Some(measure), _) => Ok(&**measure),
        (None, Ok(_)) => bail!("the actions of the log are not those of its reference measure"),
        (None, Err(missing)) => bail!("{missing}"),
    };
    let others = others::<A>(parts)?;
    let mut targets: Vec<Ready<'_, A>> = Vec::new();
    for (place, target) in args.targets.iter().enumerate() {
        let learner = |path: &Path| learner_of::<A>(&parts.model(path).learner, path);
        let made = || -> Result<Vec<Ready<'_, A>>> {
            let weigher: Box<dyn Weigher<A> + '_> = match &target.spec {
                TargetSpec::Uniform => by_target(UniformTarget::new(measure()?), args.draws),
                TargetSpec::BestOf { m, model } => {
                    let oracle = learner(model)?.oracle();
                    by_target(BestOf::m(measure()?, oracle, *m)?, args.draws)
                }
                TargetSpec::Smooth { tau, model } => {
                    let oracle = learner(model)?.oracle();
                    by_target(BestOf::smooth(measure()?, oracle, *tau)?, args.draws)
                }
                TargetSpec::CappedIgw { model, tau, gamma } => {
                    let learner = match (tau, gamma) {
                        (None, None) => learner(model)?,
                        _ => learner_of::<A>(&others[&place], model)?,
                    };
                    by_target(CappedTarget::new(learner)?, args.draws)
                }
                TargetSpec::Column { density, baseline } => Box::new(ByColumn {
                    density: density.clone(),
                    baseline: baseline.clone(),
                }),
                TargetSpec::Kernel { .. } => return kernels(target, place),
            };
            Ok(vec![ready(place, None, weigher)])
        };
        targets.extend(made().with_context(|| format!("--target {}", target.name))?);
    }
    let against = match request.against {
        None => None,
        Some(place) => {
            let mut of = (0..targets.len()).filter(|&one| targets[one].evaluated.target == place);
            let first = of.next();
            ensure!(
                of.next().is_none(),
                "--against {}: give its bandwidth, for one that is chosen from the log moves with it",
                args.targets[place].name
            );
            first
        }
    };
    let fhat = match (&args.model, &args.fhat) {
        _ if !request.needs_predictions() => Fhat::Absent,
        (Some(path), _) => {
            Fhat::Oracle(learner_of::<A>(&parts.model(path).learner, path)?.oracle())
        }
        (None, Some(column)) => Fhat::Column(column),
        (None, None) => Fhat::Absent,
    };

    let mut valuation = Valuation::new(request, targets.len(), against)?;
    let mut events = Weighted::new(targets.len());
    let bar = reading("weighing events", args.json);
    let mut row = 0_u64;
    let mut pass_prob = None;
    loop {
        let mut batch: Vec<(u64, Record, Loss)> = Vec::with_capacity(BATCH);
        while batch.len() < BATCH {
            let Some(record) = log.next()? else { break };
            row += 1;
            if args.from_seq.is_some_and(|from| record.seq < Some(from)) {
                continue;
            }
            parts.check(&record)?;
            if let Some(found) = record.pass_prob {
                same_pass_prob(&mut pass_prob, found)?;
            }
            let Some(loss) = record.loss else {
                valuation.without_loss += 1;
                continue;
            };
            if record.mode == Some(Mode::Apprentice) {
                valuation.not_played += 1;
                continue;
            }
            if record.propensity().density().is_none() {
                valuation.atoms += 1;
            }
            valuation.seen_by_model |= parts.learned_from(&record);
            batch.push((row - 1, record, loss));
        }
        if batch.is_empty() {
            break;
        }
        let weighed = batch
            .par_iter()
            .map_init(Default::default, |work, (row, record, loss)| {
                weighed(request, &targets, fhat, (*row, record, *loss), work).with_context(|| {
                    let seq = record.seq.unwrap_or(*row);
                    format!("event {seq} (row {row} of the log)")
                })
            })
            .collect::<Result<Vec<_>>>()?;
        events.clear();
        for event in weighed {
            events.losses.push(event.loss);
            events.fhats.extend(event.fhat);
            events.shares.extend(event.share);
            events.kappas.extend(event.kappa);
            for ((weights, baselines), (weight, baseline)) in
                events.targets.iter_mut().zip(event.targets)
            {
                weights.push(weight);
                baselines.extend(baseline);
            }
        }
        valuation.observe(&events)?;
        bar.set_position((1_000.0 * log.reader.progress()) as u64);
    }
    bar.finish_and_clear();
    valuation.check_any()?;
    let mut remarks = Vec::new();
    let skipped = log.reader.finish()?;
    if let Some(file) = skipped.file {
        remarks.push(format!(
            "{} rows were no records; they are in {}.",
            skipped.rows,
            file.display()
        ));
    }
    let evaluated: Vec<Evaluated> = targets.into_iter().map(|ready| ready.evaluated).collect();
    Findings::new(request, &evaluated, &mut valuation, remarks)
}

/// Learners at other settings than their model's, by the place of the target.
fn others<A: Kind>(parts: &Parts<'_>) -> Result<BTreeMap<usize, egret::AnyLearner>> {
    let mut others = BTreeMap::new();
    for (place, target) in parts.request.args.targets.iter().enumerate() {
        let TargetSpec::CappedIgw { model, tau, gamma } = &target.spec else {
            continue;
        };
        if tau.is_none() && gamma.is_none() {
            continue;
        }
        let model = parts.model(model);
        let mut settings = model.settings().clone();
        match tau {
            Some(tau) => settings.taus = vec![*tau],
            None => ensure!(
                settings.taus.len() == 1,
                "{}: the model has {} values of tau, whose weights go with its own gamma: give one with tau=T",
                target.name,
                settings.taus.len()
            ),
        }
        let gamma = match gamma {
            Some(gamma) => *gamma,
            // γ as the model would have it now: the copy counts its batches anew.
            None => settings.gamma.gamma(model.version(), settings.taus[0]),
        };
        settings.gamma = GammaSchedule::constant(gamma)?;
        others.insert(place, with_settings(model, settings)?);
    }
    Ok(others)
}

/// One event as every target weighs it.
struct OneEvent {
    loss: f64,
    fhat: Option<f64>,
    share: Option<f64>,
    kappa: Option<f64>,
    targets: Vec<(f64, Option<f64>)>,
}

/// The buffers of one thread.
struct Work<A: Kind>(TargetWork<A>, Predictions<A>);

impl<A: Kind> Default for Work<A> {
    fn default() -> Self {
        Self(TargetWork::default(), Predictions::default())
    }
}

fn weighed<A: Kind>(
    request: &Request<'_>,
    targets: &[Ready<'_, A>],
    fhat: Fhat<'_, A>,
    (row, record, loss): (u64, &Record, Loss),
    Work(work, predictions): &mut Work<A>,
) -> Result<OneEvent> {
    // An atom counts with weight 0: the part of the policy that has a density answers for all of q.
    let inverse = record
        .propensity()
        .density()
        .map_or(0.0, |density| 1.0 / density.get());
    let action = A::from_logged(&record.action)?;
    let event = Event {
        record,
        action: &action,
        chance: Chance {
            seed: request.args.seed,
            event: row,
        },
        fhat,
    };
    let share = if request.args.steady {
        ensure!(
            record.density_kind != Some(DensityKind::Marginal),
            "--steady counts events by the tau they were drawn at, and this density is over all of the grid: leave it out"
        );
        let (tau, gamma) = record
            .tau
            .zip(record.gamma)
            .context("--steady needs the fields tau and gamma, which this event lacks")?;
        Some(tau / (tau + gamma))
    } else {
        None
    };
    let targets = targets
        .iter()
        .map(|target| {
            let weighed = target.weigher.weigh(&event, work)?;
            Ok((weighed.q * inverse, weighed.baseline))
        })
        .collect::<Result<_>>()?;
    Ok(OneEvent {
        loss: loss.get(),
        fhat: event.predicted(predictions)?,
        share,
        kappa: record.z.map(|z| 1.0 / z),
        targets,
    })
}
