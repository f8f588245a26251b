use std::path::{Path, PathBuf};
use std::sync::Arc;

use egret::{Density, FeatureValue, Propensity};
use egret_log::{Format, LossSource, Mode, Record, Writer, unit_of};
use egret_report::output;

use super::DemoError;
use super::learning::{Played, Run};
use super::policies::WindowPolicy;
use super::shop::{Customer, revenue};

/// The files that other commands read.
pub struct Files {
    /// The log of the recommended learner. Extra columns have the densities of the policies.
    pub log: PathBuf,
    /// The log of the learner with draws, as the paper would write it: g in place of the density.
    pub paper_log: PathBuf,
    /// The model before anything was learned.
    pub start: PathBuf,
    halfway: PathBuf,
    model: PathBuf,
    customers: PathBuf,
    /// The log again, as a shop would have it: a table in its own words.
    table: PathBuf,
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
            table: folder.join("prices.csv"),
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
            &self.table,
        ];
        all.map(PathBuf::clone).to_vec()
    }
}

/// Writes logs, models and a few customers to decide for.
pub fn write(
    folder: &Path,
    seed: u64,
    run: &Run,
    by_draws: &Run,
    customers: &[Customer],
    policies: &[WindowPolicy],
) -> Result<Files, DemoError> {
    let files = Files::new(folder);
    write_log(&files.log, run, customers, policies, Record::new)?;
    write_log(
        &files.paper_log,
        by_draws,
        customers,
        policies,
        |x, decision| {
            // The action with g in place of its density.
            let g = decision.capped_igw.map_or(1.0, |capped| capped.g);
            let propensity = Propensity::Density(Density::new(g).expect("g is positive"));
            let mut record = Record::bare(x, decision.action.into(), propensity);
            record.tau = Some(decision.tau);
            record.gamma = Some(decision.gamma);
            record.density_kind = Some(decision.density_kind);
            record
        },
    )?;
    for (path, model) in [
        (&files.start, &run.start),
        (&files.halfway, &run.halfway.1),
        (&files.model, &run.last),
    ] {
        output::write(path, &model.save())?;
    }
    output::write(
        &files.customers,
        next_customers(seed, customers.len()).as_bytes(),
    )?;
    output::write(&files.table, table(run, customers).as_bytes())?;
    Ok(files)
}

fn write_log(
    file: &Path,
    run: &Run,
    customers: &[Customer],
    policies: &[WindowPolicy],
    record: impl Fn(egret::Context, &egret::Decision<f64>) -> Record,
) -> Result<(), DemoError> {
    let spec = run.start.spec();
    let space = Arc::new(spec.space.clone());
    let schema = spec.features.as_ref().map(|schema| schema.content_hash());
    let model = run.start.content_hash();
    let mut log = Writer::create(file, Format::Parquet)?;
    for (place, (played, customer)) in run.played.iter().zip(customers).enumerate() {
        let Played { decision, outcome } = played;
        let mut record = record(customer.features.clone().into(), decision);
        record.mu = Some(space.clone());
        record.schema_hash = schema.map(str::to_owned);
        record.model_hash = Some(model.clone());
        record.loop_name = Some("prices".to_owned());
        record.event_id = Some(format!("customer-{place}"));
        record.seq = Some(place as u64);
        record.mode = Some(Mode::Online);
        record.objective = Some(revenue());
        record.outcome = Some(outcome.value);
        record.loss = Some(outcome.loss);
        record.loss_source = Some(LossSource::Observed);
        for policy in policies {
            if let Some(density) = policy.density(place, decision.action) {
                record.set_extra(policy.column, density)?;
            }
        }
        log.write(&record)?;
    }
    log.finish()?;
    Ok(())
}

/// What a shop knows of a customer.
const NAMES: [&str; 5] = ["segment", "country", "returning", "visits", "income"];

/// The features of a customer as cells of a CSV.
fn cells(customer: &Customer) -> String {
    let cell = |name: &&str| match customer.features.get(name) {
        Some(FeatureValue::Text(text)) => text.to_string(),
        Some(value) => serde_json::to_string(value).expect("a number or a flag"),
        None => String::new(),
    };
    NAMES.iter().map(cell).collect::<Vec<_>>().join(",")
}

/// A table of a hundred customers who come after those of the log.
fn next_customers(seed: u64, after: usize) -> String {
    let mut table = NAMES.join(",") + "\n";
    for event in 0..100 {
        let customer = Customer::new(seed, after as u64 + event);
        table += &format!("{}\n", cells(&customer));
    }
    table
}

/// The log as a shop would have it: prices, their densities per unit of money, and what was earned.
fn table(run: &Run, customers: &[Customer]) -> String {
    let width = unit_of(&run.start.spec().space).unwrap_or(1.0);
    let mut table = format!("order_id,price,p,revenue,{}\n", NAMES.join(","));
    for (place, (played, customer)) in run.played.iter().zip(customers).enumerate() {
        let Played { decision, outcome } = played;
        let density = decision.propensity.density();
        let density = density.map_or(String::new(), |density| (density.get() / width).to_string());
        let (price, earned) = (decision.action, outcome.value);
        table += &format!(
            "o{place:06},{price},{density},{earned},{}\n",
            cells(customer)
        );
    }
    table
}
