//! Off-policy evaluation on real data, where the truth is known: the tables of docs/offline.md.
//!
//! Each row of a supervised data set is a context and a label y; an action a ∈ [0, 1] costs |a − y|, both scaled. CappedIGW runs
//! online in the paper's setting, and five policies that were never played are evaluated from the second half of its log
//! with every estimator: once with the logged density p = g/z, once with g alone, as if κ were 1. The labels tell the truth.
//!
//!     cargo run --release -p egret-lab --example real_data -- DATA_DIR --seeds 100 --write docs/offline.md
//!
//! `--log default` has the log of the default learner in place of the paper's, with event by event what its weights can reach,
//! asymptotic intervals too, and how often intervals are called reliable.

mod tally;
mod world;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;
use egret_lab::{Encoding, Supervised};
use egret_offline::{
    Confidence, Estimator, Evaluation, Hyperparameter, IntervalKind, Plan, PolicyBuffers,
    PolicySeed, TRUNCATIONS, TruncatedMeans, WeightedEvents, expected_loss, truncated_means,
};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use tally::{Outcome, Table};
use world::{Log, World};

/// Evaluates policies from logs on real data, beside the truth.
#[derive(Debug, Parser)]
struct Args {
    /// The folder with the data sets
    data: PathBuf,
    /// Which of them, by a part of the name
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "42225_diamonds,44977_california_housing,41540_black_friday"
    )]
    sets: Vec<String>,
    /// Whose log policies are evaluated from: that of the paper's setting, or of the default learner
    #[arg(long, value_enum, default_value_t = Log::Paper)]
    log: Log,
    /// How many shuffles of each
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// Replace the tables in this file, between its two markers
    #[arg(long)]
    write: Option<PathBuf>,
}

const LEVEL: f64 = 0.95;
const BEGIN: &str = "<!-- real data: begin -->";
const END: &str = "<!-- real data: end -->";

fn main() -> Result<()> {
    let args = Args::parse();
    let start = Instant::now();
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}")?;
    let mut text = String::new();
    for name in &args.sets {
        let data = Supervised::read(&found(&args.data, name)?, &Encoding::default())?;
        let bar = ProgressBar::new(args.seeds)
            .with_style(style.clone())
            .with_message(data.name().to_owned());
        let outcomes = (0..args.seeds)
            .into_par_iter()
            .map(|seed| {
                let outcomes = outcomes(&data, args.log, seed);
                bar.inc(1);
                outcomes
            })
            .collect::<Result<Vec<_>>>()?;
        bar.finish_and_clear();
        text += &Table::new(&data, &outcomes.concat()).markdown();
    }
    eprintln!("{:.0} s", start.elapsed().as_secs_f64());
    match &args.write {
        None => println!("{text}"),
        Some(path) => replace(path, &text)?,
    }
    Ok(())
}

fn found(folder: &Path, name: &str) -> Result<PathBuf> {
    let files = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    for file in files {
        let path = file?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if stem.contains(name) {
            return Ok(path);
        }
    }
    bail!("no file in {} is called {name}", folder.display())
}

fn replace(path: &Path, tables: &str) -> Result<()> {
    let text = std::fs::read_to_string(path)?;
    let (before, rest) = text.split_once(BEGIN).context("no first marker")?;
    let (_, after) = rest.split_once(END).context("no second marker")?;
    std::fs::write(path, format!("{before}{BEGIN}\n{tables}{END}{after}"))?;
    Ok(())
}

/// Every policy by every estimator, with both kinds of weights, on one shuffle.
fn outcomes(data: &Supervised, log: Log, seed: u64) -> Result<Vec<Outcome>> {
    let world = World::new(data, log, seed)?;
    let other = world.at_other_settings()?;
    let oracle = world.model().learner().oracle();
    let mut buffers = PolicyBuffers::default();
    let mut predicted = Vec::with_capacity(world.events.len());
    for event in &world.events {
        predicted.extend(world.model().predict(event.x, &[event.decision.action])?);
    }
    let mut again_predicted = Vec::with_capacity(world.events.len());
    for event in &world.events {
        let actions: Vec<f64> = event.again.iter().map(|again| again.action).collect();
        again_predicted.push(world.model().predict(event.x, &actions)?);
    }
    let losses: Vec<f64> = world.events.iter().map(|event| event.loss).collect();
    // γ of the paper's schedule grows, and with it the spread of late weights.
    let event_weights: Option<Vec<f64>> = (log == Log::Paper).then(|| {
        let decisions = world.events.iter().map(|event| &event.decision);
        decisions
            .map(|played| played.tau / (played.tau + played.gamma))
            .collect()
    });
    // Bets are chosen for event weights around 1.
    let event_weights = event_weights.map(|weights| {
        let first = weights[0];
        weights.into_iter().map(|h| h / first).collect::<Vec<f64>>()
    });
    let mut outcomes = Vec::new();
    for (name, policy) in world.policies(&other)? {
        let truth = world.truth(&*policy, seed)?;
        let (mut correct, mut as_if_1) = (Vec::new(), Vec::new());
        let (mut policy_predicted, mut bounds) = (Vec::new(), Vec::new());
        let mut truncated: [[Vec<f64>; TRUNCATIONS.len()]; 2] = Default::default();
        for (event, fhats) in world.events.iter().zip(&again_predicted) {
            let seed = PolicySeed {
                seed,
                event: event.decision.event,
            };
            let decision = &event.decision;
            let q = policy.density(seed, event.x, &decision.action, &mut buffers)?;
            let p = decision.propensity.density().context("a density")?;
            correct.push(q / p.get());
            as_if_1.extend(decision.capped_igw.map(|capped| q / capped.g));
            let most = policy
                .largest_density()
                .zip(decision.largest_inverse_density);
            bounds.extend(most.map(|(density, inverse)| density * inverse));
            let mut again = Vec::with_capacity(event.again.len());
            for ((time, made), &fhat) in (0..).zip(&event.again).zip(fhats) {
                let q = policy.density(seed.again(time), event.x, &made.action, &mut buffers)?;
                let p = made.propensity.density().context("a density")?;
                again.push((q / p.get(), fhat));
            }
            let means = truncated_means(again.into_iter());
            let columns = truncated.iter_mut().flatten();
            for (column, mean) in columns.zip(means.into_iter().flatten()) {
                column.push(mean);
            }
            policy_predicted.push(expected_loss(
                &*policy,
                oracle,
                seed,
                event.x,
                16,
                &mut buffers,
            )?);
        }
        let sides = match log {
            Log::Paper => vec![(false, &correct), (true, &as_if_1)],
            Log::Default => vec![(false, &correct)],
        };
        for (kappa_hat_1, weights) in sides {
            let bounded = !kappa_hat_1 && bounds.len() == weights.len();
            let events = WeightedEvents {
                losses: &losses,
                weights,
                predicted: Some(&predicted),
                policy_predicted: Some(&policy_predicted),
                truncated: (!kappa_hat_1).then(|| TruncatedMeans {
                    below: truncated[0].each_ref().map(|column| &column[..]),
                    above: truncated[1].each_ref().map(|column| &column[..]),
                }),
                weight_bounds: bounded.then_some(&bounds),
                event_weights: event_weights.as_deref(),
            };
            for estimate in estimates(log, &events)? {
                outcomes.push(Outcome {
                    policy: name,
                    kappa_hat_1,
                    truth,
                    estimate,
                });
            }
        }
    }
    Ok(outcomes)
}

fn estimates(log: Log, events: &WeightedEvents<'_>) -> Result<Vec<egret_offline::Estimate>> {
    use IntervalKind::{Asymptotic, Betting, Normal};
    let (estimators, intervals) = match log {
        Log::Paper => {
            let estimators = Estimator::ALL.map(|estimator| match estimator {
                // The paper's cap.
                Estimator::ClippedIps(_) => Estimator::ClippedIps(Hyperparameter::Given(5.0)),
                other => other,
            });
            (estimators.to_vec(), vec![Normal, Betting])
        }
        Log::Default => (
            vec![Estimator::Ips, Estimator::Snips, Estimator::Dr],
            vec![Normal, Asymptotic, Betting],
        ),
    };
    let mut evaluation = Evaluation::new(Plan {
        estimators,
        intervals,
        event_bounds: events.weight_bounds.is_some(),
        truncated: events.truncated.is_some(),
        ..Plan::default()
    })?;
    evaluation.observe(events)?;
    let report = evaluation.report(Confidence::new(LEVEL)?);
    ensure!(!report.estimates.is_empty(), "nothing was estimated");
    Ok(report.estimates)
}
