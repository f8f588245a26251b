mod audit;
mod exhaust;
mod off_policy;
mod one_decision;
mod online;
mod page;
mod picture;
mod pricing;
mod report;
mod steady_mean;

use std::path::PathBuf;
use std::{fs, thread};

use anyhow::{Context as _, Result};
use clap::Args;
use egret::Normalization;
use egret_report::output;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use self::audit::Audit;
use self::off_policy::{OffPolicy, Policy};
use self::one_decision::OneDecision;
use self::online::Run;
use self::pricing::Customer;

/// What `egret demo` is told.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// The same seed gives the same figures, on any machine and any number of cores
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
    /// How many customers each learner prices
    #[arg(long, value_name = "N", default_value_t = 20_000,
          value_parser = clap::value_parser!(u64).range(400..=1_000_000))]
    pub decisions: u64,
    /// Where the pictures and the page go; made if it is not there
    #[arg(long, value_name = "DIR", default_value = "egret-demo")]
    pub out: PathBuf,
    /// Print one JSON object with the same figures, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// The figures of the demo, as `--json` prints them.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// The seed of it all.
    pub seed: u64,
    /// How many customers each learner priced.
    pub decisions: usize,
    /// Mean true losses.
    pub loss: MeanLoss,
    /// τ of `loss.best_smooth`.
    pub best_smooth_tau: f64,
    /// Three policies valued from the exhaust.
    pub ope: Vec<OffPolicy>,
    /// The log's audit.
    pub audit: Audit,
    /// What was written.
    pub files: Vec<PathBuf>,
}

/// The mean of f*(x, a) over the prices played.
#[derive(Debug, Serialize)]
pub struct MeanLoss {
    /// CappedIGW that finds β by draws, κ up to 4.
    pub capped_igw: f64,
    /// CappedIGW that computes β, κ = 1.
    pub capped_igw_exact: f64,
    /// SmoothIGW.
    pub smooth_igw: f64,
    /// Blind prices.
    pub uniform: f64,
    /// The best policy that spreads each price over 1/τ of all: it knows what each customer is worth.
    pub best_smooth: f64,
}

/// The τ that the best smooth policy is stated for.
const TAU: f64 = 32.0;
/// How many models are kept to replay decisions with, 8 each.
const CHECKPOINTS: usize = 25;

/// Runs the demo and returns what to print.
pub fn demo(args: &DemoArgs) -> Result<String> {
    // Before the work: a folder that cannot be written is no surprise at the end.
    fs::create_dir_all(&args.out).with_context(|| {
        let out = args.out.display();
        format!("cannot make the folder {out}: name one that can be written with --out DIR")
    })?;
    let customers = (0..args.decisions)
        .map(|event| Customer::new(args.seed, event))
        .collect::<Result<Vec<_>, _>>()?;
    let progress = progress(args);
    let [capped, exact, smooth, uniform] = play(args.seed, &customers, &progress)?;
    progress.finish_and_clear();

    let mut learner = online::price_learner(online::capped_igw(args.seed, Normalization::Mixture))?;
    let audit = Audit::new(&capped, &smooth, &customers, &mut learner)?;
    let (first, halfway) = &capped.halfway;
    learner.load(halfway)?;
    let policies = [
        Policy::uniform(&customers),
        Policy::rule_of_thumb(&customers),
        Policy::learned(&learner, *first, &customers)?,
    ];
    let curves = Curves {
        capped_igw: mean_so_far(true_losses(&capped, &customers)),
        capped_igw_exact: mean_so_far(true_losses(&exact, &customers)),
        smooth_igw: mean_so_far(true_losses(&smooth, &customers)),
        uniform: mean_so_far(true_losses(&uniform, &customers)),
        best_smooth: mean_so_far(
            customers
                .iter()
                .map(|customer| customer.mean_loss(customer.best_window(TAU))),
        ),
    };
    let ope = off_policy::evaluate(&policies, &customers, &capped.exhaust);
    let (made, model) = capped.checkpoints.last().expect("one for the last batch");
    learner.load(model)?;
    let one = OneDecision::new(&learner, &customers[*made], &capped.exhaust[*made])?;
    let pictures = [
        ("learning.svg", picture::learning(&curves, TAU)?),
        ("policies.svg", picture::policies(&ope)?),
        ("decision.svg", picture::decision(&one)?),
    ];

    let page = args.out.join("index.html");
    let mut files = vec![page.clone()];
    files.extend(pictures.iter().map(|(name, _)| args.out.join(name)));
    files.extend(exhaust::write(
        &args.out,
        args.seed,
        &capped,
        &customers,
        &policies[1],
    )?);
    let findings = Findings {
        seed: args.seed,
        decisions: customers.len(),
        loss: curves.last(),
        best_smooth_tau: TAU,
        ope,
        audit,
        files,
    };
    for (name, svg) in &pictures {
        output::write(&args.out.join(name), svg.as_bytes())?;
    }
    let html = page::html(&findings, &pictures.map(|(_, svg)| svg));
    output::write(&page, html.as_bytes())?;
    Ok(if args.json {
        serde_json::to_string(&findings)? + "\n"
    } else {
        report::text(&findings)
    })
}

/// The four learners on the same customers, side by side. Each is a pure function of the seed.
fn play(seed: u64, customers: &[Customer], progress: &ProgressBar) -> Result<[Run; 4]> {
    let tick = |prices: usize| progress.inc(prices as u64);
    let run = |settings| online::run(settings, customers, CHECKPOINTS, tick);
    let smooth = online::smooth_igw(seed)?;
    thread::scope(|scope| {
        let exact = scope.spawn(|| run(online::capped_igw(seed, Normalization::Exact)));
        let smooth = scope.spawn(|| run(smooth));
        let uniform = scope.spawn(|| run(online::uniform(seed)));
        let capped = run(online::capped_igw(seed, Normalization::Mixture));
        let join = |thread: thread::ScopedJoinHandle<'_, Result<Run>>| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        Ok([capped?, join(exact)?, join(smooth)?, join(uniform)?])
    })
}

/// A bar on the terminal, if there is one to look at.
fn progress(args: &DemoArgs) -> ProgressBar {
    if args.json {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}")
        .expect("the template is well formed");
    ProgressBar::new(4 * args.decisions)
        .with_style(style)
        .with_message("four learners set prices")
}

/// The mean true loss after each decision.
#[derive(Debug)]
pub struct Curves {
    /// CappedIGW that finds β by draws.
    pub capped_igw: Vec<f64>,
    /// CappedIGW that computes β.
    pub capped_igw_exact: Vec<f64>,
    /// SmoothIGW.
    pub smooth_igw: Vec<f64>,
    /// Blind prices.
    pub uniform: Vec<f64>,
    /// The best smooth policy.
    pub best_smooth: Vec<f64>,
}

impl Curves {
    fn last(&self) -> MeanLoss {
        let last = |curve: &[f64]| *curve.last().expect("one customer or more");
        MeanLoss {
            capped_igw: last(&self.capped_igw),
            capped_igw_exact: last(&self.capped_igw_exact),
            smooth_igw: last(&self.smooth_igw),
            uniform: last(&self.uniform),
            best_smooth: last(&self.best_smooth),
        }
    }
}

fn true_losses<'a>(run: &'a Run, customers: &'a [Customer]) -> impl Iterator<Item = f64> + 'a {
    let pairs = run.exhaust.iter().zip(customers);
    pairs.map(|(logged, customer)| customer.expected_loss(logged.decision.action))
}

fn mean_so_far(losses: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sum = 0.0;
    losses
        .enumerate()
        .map(|(before, loss)| {
            sum += loss;
            sum / (before + 1) as f64
        })
        .collect()
}
