//! The demo: a shop learns its prices from customers who buy or do not. The truth is known. The log is audited, and tells
//! what other policies would have earned, by the same jobs that users run.
//!
//! | file       | what                                                                     |
//! |------------|--------------------------------------------------------------------------|
//! | `shop`     | the customers, what they would pay, and the best that a shop can do      |
//! | `learning` | the learners at work                                                     |
//! | `policies` | policies that nobody played, and what the log says of them               |
//! | `log`      | the files that are left behind                                           |
//! | `figures`, `report` | pictures, and the page around them                              |

mod figures;
mod learning;
mod log;
mod policies;
mod report;
mod shop;

pub use policies::{OffPolicy, Weights};

use std::path::{Path, PathBuf};
use std::thread;

use egret::{DecideError, LearnError, ModelError, OutOfRange, SchemaError};
use egret_jobs::audit::{AuditReport, AuditRequest, audit};
use egret_jobs::summarize::{EffectiveEvents, SummarizeRequest, summarize};
use egret_jobs::{JobError, LogSource, Silent};
use egret_log::{RowError, WriteError};
use egret_report::{ChartError, Page, output};
use serde::Serialize;

use self::learning::Run;
use self::shop::{Customer, PRICES, best_fixed_price, mean_of};

/// The figures of the demo, as `--json` prints them.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// The seed.
    pub seed: u64,
    /// How many customers came.
    pub customers: usize,
    /// Mean revenue from a customer.
    pub earned: Earned,
    /// The best price for all customers alike.
    pub fixed_price: f64,
    /// Policies evaluated from the log, with correct weights and with the paper's.
    pub ope: Vec<OffPolicy>,
    /// The log's audit, and that of the log as the paper would write it.
    pub audit: Audits,
    /// How many of 1,000 prices at random would say as much about prices at random as 1,000 of the last prices played.
    pub effective_per_1000: f64,
    /// The same over time, as the log alone tells it.
    pub effective_events: EffectiveEvents,
    /// The files that were written.
    pub files: Vec<PathBuf>,
}

/// The expected revenue from a customer, on average, at the prices of each policy.
#[derive(Debug, Serialize)]
pub struct Earned {
    /// egret's recommended learner, from its first customer on.
    pub egret: f64,
    /// The best price for all customers alike, chosen in hindsight.
    pub fixed: f64,
    /// Prices at random.
    pub uniform: f64,
    /// The best price for each customer. It takes knowing what each would pay.
    pub best: f64,
}

/// The audits of the two logs.
#[derive(Debug, Serialize)]
pub struct Audits {
    /// With the densities that egret logs.
    pub correct: Audited,
    /// With g in place of the density, as the paper logs it. This audit must fail.
    pub kappa_hat_1: Audited,
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

/// Sets a price for so many customers, by two learners, and leaves log, models, pictures and `index.html` in a folder
/// that is there. `tick` hears of every few prices that were set; there are twice as many as customers.
pub fn demo(
    seed: u64,
    customers: u64,
    folder: &Path,
    tick: impl Fn(usize) + Sync,
) -> Result<Demo, DemoError> {
    let customers: Vec<Customer> = (0..customers)
        .map(|event| Customer::new(seed, event))
        .collect();
    let [run, by_draws] = runs(seed, &customers, &tick)?;
    let (fixed_price, fixed) = best_fixed_price(&customers);
    let policies = policies::all(&run, &customers, fixed_price)?;
    let files = log::write(folder, seed, &run, &by_draws, &customers, &policies)?;
    let findings = Findings {
        seed,
        customers: customers.len(),
        earned: Earned {
            egret: earned(&run, &customers).sum::<f64>() / customers.len() as f64,
            fixed,
            uniform: mean_of(&customers, |customer| customer.expected_on(PRICES)),
            best: mean_of(&customers, Customer::best),
        },
        fixed_price,
        ope: policies::evaluate(&files, &policies, &customers)?,
        audit: Audits {
            correct: audited(&files.log, vec![files.start.clone()])?,
            kappa_hat_1: audited(&files.paper_log, Vec::new())?,
        },
        effective_per_1000: run.effective_per_1000,
        effective_events: effective_events(&files.log)?,
        files: files.all(),
    };
    let figures = figures::all(&findings, &run, &customers)?;
    let page = report::page(&findings, &figures);
    for figure in page.parts.iter().flat_map(|part| &part.figures) {
        figure.picture.write(folder, &figure.name)?;
    }
    output::write(&folder.join("index.html"), page.html().as_bytes())?;
    Ok(Demo { findings, page })
}

/// Both learners side by side; each is a pure function of the seed.
fn runs(
    seed: u64,
    customers: &[Customer],
    tick: &(impl Fn(usize) + Sync),
) -> Result<[Run; 2], DemoError> {
    thread::scope(|scope| {
        let by_draws = scope.spawn(|| learning::play(learning::by_draws(seed), customers, tick));
        let run = learning::play(learning::recommended(seed), customers, tick)?;
        let joined = by_draws.join();
        let by_draws = joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok([run, by_draws])
    })
}

/// The expected revenue of each price that was played.
fn earned<'a>(run: &'a Run, customers: &'a [Customer]) -> impl Iterator<Item = f64> + 'a {
    let pairs = run.played.iter().zip(customers);
    pairs.map(|(played, customer)| customer.expected(played.decision.action))
}

fn audited(log: &PathBuf, models: Vec<PathBuf>) -> Result<Audited, DemoError> {
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
}

fn effective_events(log: &PathBuf) -> Result<EffectiveEvents, DemoError> {
    let request = SummarizeRequest {
        log: LogSource::new([log]),
    };
    Ok(summarize(&request, &Silent)?.effective_events)
}

/// Why the demo failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// A model cannot be made.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A schema cannot be inferred.
    #[error(transparent)]
    Schema(#[from] SchemaError),
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
