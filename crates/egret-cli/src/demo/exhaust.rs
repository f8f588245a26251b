use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use egret::{Normalization, Settings};
use egret_log::{Format, LossSource, Mode, Record, Writer};
use egret_report::output;

use super::off_policy::Policy;
use super::online::{self, Run};
use super::pricing::Customer;

/// Writes what the other commands take: CappedIGW's log, and its model before, halfway and after.
///
/// The log has two columns of its own: the density of the rule of thumb, and f̂(x, a) when it was decided.
pub fn write(
    folder: &Path,
    seed: u64,
    run: &Run,
    customers: &[Customer],
    rule_of_thumb: &Policy,
) -> Result<Vec<PathBuf>> {
    let log = folder.join("exhaust.parquet");
    let mut writer = Writer::create(&log, Format::Parquet)?;
    let mu = Arc::new(online::SPACE);
    for (place, (logged, customer)) in run.exhaust.iter().zip(customers).enumerate() {
        let mut record = Record::new(customer.context.clone(), &logged.decision);
        record.loop_name = Some("prices".to_owned());
        record.event_id = Some(format!("customer-{place}"));
        record.seq = Some(place as u64);
        record.mu = Some(mu.clone());
        record.mode = Some(Mode::Online);
        record.loss = Some(logged.loss);
        record.loss_source = Some(LossSource::Observed);
        record.set_extra(
            "q_rule",
            rule_of_thumb.density(place, logged.decision.action),
        )?;
        record.set_extra("fhat", logged.fhat)?;
        writer.write(&record)?;
    }
    writer.finish()?;
    let mut files = vec![log];
    let settings: Settings = online::capped_igw(seed, Normalization::Mixture);
    let start = online::price_learner(settings)?.save();
    for (name, state) in [
        ("start.egret", &start),
        ("halfway.egret", &run.halfway.1),
        ("model.egret", &run.last),
    ] {
        let path = folder.join(name);
        output::write(&path, &online::model_file(state)?)?;
        files.push(path);
    }
    Ok(files)
}
