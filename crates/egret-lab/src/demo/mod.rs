//! The demo: learners set prices in a world whose truth is known. The log of one of them is audited, and evaluates other
//! policies, with the same jobs that users run.

mod figures;
mod log;
mod policies;
mod report;
mod shop;

pub use policies::{OffPolicy, Weights};

use std::path::{Path, PathBuf};

use egret::{DecideError, LearnError, ModelError, Normalization, OutOfRange};
use egret_jobs::audit::{AuditReport, AuditRequest, audit};
use egret_jobs::{JobError, LogSource, Silent};
use egret_log::{RowError, WriteError};
use egret_report::{ChartError, Page, output};
use serde::Serialize;

use self::shop::{Run, Runs};
use crate::environment::Customer;

/// The figures of the demo, as `--json` prints them.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// The seed.
    pub seed: u64,
    /// How many customers each learner priced.
    pub decisions: usize,
    /// Mean expected losses.
    pub loss: MeanLoss,
    /// τ of `loss.best_smooth`.
    pub best_smooth_tau: f64,
    /// Three policies evaluated from the log, with correct weights and with the paper's.
    pub ope: Vec<OffPolicy>,
    /// The log's audit, and that of the log as the paper would write it.
    pub audit: Audits,
    /// The files that were written.
    pub files: Vec<PathBuf>,
}

/// The mean of f*(x, a) over the prices played.
#[derive(Debug, Serialize)]
pub struct MeanLoss {
    /// CappedIGW with β by draws, κ up to 4.
    pub capped_igw: f64,
    /// CappedIGW with β computed, κ = 1.
    pub capped_igw_exact: f64,
    /// SmoothIGW.
    pub smooth_igw: f64,
    /// Prices at random.
    pub uniform: f64,
    /// The best policy that spreads each price over 1/τ of all. It knows each customer's worth.
    pub best_smooth: f64,
}

/// The audits of the two logs.
#[derive(Debug, Serialize)]
pub struct Audits {
    /// With the densities that egret logs.
    pub correct: Audited,
    /// With g in place of the density, as the paper logs it. This audit must fail.
    pub kappa_hat_1: Audited,
    /// The share of SmoothIGW's events without a density. They cannot be reused.
    pub smooth_igw_share_of_point_masses: f64,
}

/// One audit.
#[derive(Debug, Serialize)]
pub struct Audited {
    /// Whether no fault was found.
    pub passed: bool,
    /// The whole report.
    #[serde(flatten)]
    pub report: AuditReport,
}

/// The result of the demo: figures, and a page that shows them.
pub struct Demo {
    /// The figures.
    pub findings: Findings,
    /// Tables and pictures.
    pub page: Page,
}

/// The τ that the best smooth policy is stated for.
const TAU: f64 = 32.0;

/// The normalizer of the logged CappedIGW. Draws work in any action space.
const NORMALIZATION: Normalization = Normalization::Mixture;

/// Prices so many customers with four learners and leaves log, models, pictures and `index.html` in a folder that is
/// there. `tick` hears of every few prices that were set; there are four times as many as customers.
pub fn demo(
    seed: u64,
    decisions: u64,
    folder: &Path,
    tick: impl Fn(usize) + Sync,
) -> Result<Demo, DemoError> {
    let customers: Vec<Customer> = (0..decisions)
        .map(|event| Customer::new(seed, event))
        .collect();
    let runs = Runs::play(seed, &customers, tick)?;
    let policies = policies::all(&runs.capped, &customers)?;
    let files = log::write(folder, seed, &runs.capped, &customers, &policies)?;
    let curves = Curves::new(&runs, &customers);
    let findings = Findings {
        seed,
        decisions: customers.len(),
        loss: curves.last(),
        best_smooth_tau: TAU,
        ope: policies::evaluate(&files, &policies, &customers)?,
        audit: audits(&files, &runs)?,
        files: files.all(),
    };
    let figures = figures::all(&curves, &findings, &runs, &customers)?;
    let page = report::page(&findings, &figures);
    for figure in page.parts.iter().flat_map(|part| &part.figures) {
        figure.picture.write(folder, &figure.name)?;
    }
    output::write(&folder.join("index.html"), page.html().as_bytes())?;
    Ok(Demo { findings, page })
}

fn audits(files: &log::Files, runs: &Runs) -> Result<Audits, DemoError> {
    let run = |log: &PathBuf, models: Vec<PathBuf>| -> Result<Audited, DemoError> {
        let request = AuditRequest {
            log: LogSource::new([log]),
            relearn: !models.is_empty(),
            models,
            ..AuditRequest::default()
        };
        let report = audit(&request, &Silent)?;
        Ok(Audited {
            passed: !report.findings.alarm,
            report,
        })
    };
    Ok(Audits {
        correct: run(&files.log, vec![files.start.clone()])?,
        kappa_hat_1: run(&files.paper_log, Vec::new())?,
        smooth_igw_share_of_point_masses: runs.smooth.share_of_point_masses(),
    })
}

/// The mean expected loss after each decision.
struct Curves {
    capped_igw: Vec<f64>,
    capped_igw_exact: Vec<f64>,
    smooth_igw: Vec<f64>,
    uniform: Vec<f64>,
    best_smooth: Vec<f64>,
}

impl Curves {
    fn new(runs: &Runs, customers: &[Customer]) -> Self {
        let of = |run: &Run| {
            let pairs = run.played.iter().zip(customers);
            mean_so_far(
                pairs.map(|(played, customer)| customer.expected_loss(played.decision.action)),
            )
        };
        let best = |customer: &Customer| customer.mean_loss(customer.best_window(TAU));
        Self {
            capped_igw: of(&runs.capped),
            capped_igw_exact: of(&runs.exact),
            smooth_igw: of(&runs.smooth),
            uniform: of(&runs.uniform),
            best_smooth: mean_so_far(customers.iter().map(best)),
        }
    }

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

/// Why the demo failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// A model cannot be made.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A number is not in its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A model cannot decide.
    #[error(transparent)]
    Decide(#[from] DecideError),
    /// A model cannot learn.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A record is not valid.
    #[error(transparent)]
    Record(#[from] RowError),
    /// A log cannot be written.
    #[error(transparent)]
    Log(#[from] WriteError),
    /// A job failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A picture cannot be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] output::WriteError),
}
