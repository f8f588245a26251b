use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use egret::{Density, Propensity};
use egret_log::{Format, LossSource, Mode, Record, Writer};
use egret_report::output;

use super::policies::WindowPolicy;
use super::shop::{self, Played, Run};
use super::{DemoError, NORMALIZATION};
use crate::environment::Customer;

/// The files that other commands read.
pub struct Files {
    /// CappedIGW's log. Extra columns have the densities of the policies, and f̂(x, a) of the halfway model.
    pub log: PathBuf,
    /// The same log as the paper would write it, with g in place of the density.
    pub paper_log: PathBuf,
    /// The model before anything was learned.
    pub start: PathBuf,
    halfway: PathBuf,
    model: PathBuf,
    customers: PathBuf,
}

impl Files {
    fn new(folder: &Path) -> Self {
        Self {
            log: folder.join("log.parquet"),
            paper_log: folder.join("paper-log.parquet"),
            start: folder.join("start.egret"),
            halfway: folder.join("halfway.egret"),
            model: folder.join("model.egret"),
            customers: folder.join("customers.csv"),
        }
    }

    pub fn all(&self) -> Vec<PathBuf> {
        let all = [
            &self.log,
            &self.paper_log,
            &self.start,
            &self.halfway,
            &self.model,
            &self.customers,
        ];
        all.map(PathBuf::clone).to_vec()
    }
}

/// Writes logs, models and a few customers to decide for.
pub fn write(
    folder: &Path,
    seed: u64,
    run: &Run,
    customers: &[Customer],
    policies: &[WindowPolicy],
) -> Result<Files, DemoError> {
    let files = Files::new(folder);
    let space = Arc::new(run.last.spec().space.clone());
    let mut log = Writer::create(&files.log, Format::Parquet)?;
    let mut paper_log = Writer::create(&files.paper_log, Format::Parquet)?;
    for (place, (played, customer)) in run.played.iter().zip(customers).enumerate() {
        let mut record = Record::new(customer.context.clone(), &played.decision);
        record.mu = Some(space.clone());
        let fhat = run
            .halfway
            .1
            .predict(&customer.context, &[played.decision.action])?[0];
        record.set_extra("fhat", fhat)?;
        log.write(&complete(record, place, played, policies)?)?;
        let mut record = as_in_the_paper(played, customer)?;
        record.mu = Some(space.clone());
        paper_log.write(&complete(record, place, played, policies)?)?;
    }
    log.finish()?;
    paper_log.finish()?;
    let start = shop::new_model(shop::capped_igw(seed, NORMALIZATION))?;
    for (path, model) in [
        (&files.start, &start),
        (&files.halfway, &run.halfway.1),
        (&files.model, &run.last),
    ] {
        output::write(path, &model.save())?;
    }
    output::write(
        &files.customers,
        next_customers(seed, customers.len()).as_bytes(),
    )?;
    Ok(files)
}

/// The fields that both logs share.
fn complete(
    mut record: Record,
    place: usize,
    played: &Played,
    policies: &[WindowPolicy],
) -> Result<Record, DemoError> {
    record.loop_name = Some("prices".to_owned());
    record.event_id = Some(format!("customer-{place}"));
    record.seq = Some(place as u64);
    record.mode = Some(Mode::Online);
    record.loss = Some(played.loss);
    record.loss_source = Some(LossSource::Observed);
    for policy in policies {
        if let Some(density) = policy.density(place, played.decision.action) {
            record.set_extra(policy.column, density)?;
        }
    }
    Ok(record)
}

/// The action with g in place of its density.
fn as_in_the_paper(played: &Played, customer: &Customer) -> Result<Record, DemoError> {
    let decision = &played.decision;
    let g = decision.capped_igw.map_or(1.0, |capped| capped.g);
    let propensity = Propensity::Density(Density::new(g)?);
    let mut record = Record::bare(customer.context.clone(), decision.action.into(), propensity);
    record.tau = Some(decision.tau);
    record.gamma = Some(decision.gamma);
    record.density_kind = Some(decision.density_kind);
    Ok(record)
}

/// A table of a hundred customers who come after those of the log.
fn next_customers(seed: u64, after: usize) -> String {
    let names: Vec<String> = (1..=Customer::FEATURES).map(|n| format!("x{n}")).collect();
    let mut table = names.join(",") + "\n";
    for event in 0..100 {
        let customer = Customer::new(seed, after as u64 + event);
        let mut line = Vec::new();
        customer
            .context
            .for_each(|_, value| line.push(value.to_string()));
        let _ = writeln!(table, "{}", line.join(","));
    }
    table
}
