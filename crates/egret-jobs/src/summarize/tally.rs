use std::collections::BTreeMap;

use egret::{Density, FeatureValue, Objective};
use egret_log::{LossSource, Record, Time};
use egret_offline::RandomNumberCheck;

use super::effective_events::EffectiveTally;
use super::quantile_sketch::QuantileSketch;
use super::{Sequence, Spread, Summary};

/// The figures while records come.
#[derive(Default)]
pub(super) struct Tally {
    pub summary: Summary,
    times: Option<(Time, Time)>,
    densities: QuantileSketch,
    effective: EffectiveTally,
    /// Of the last record, and its text.
    objective: Option<Objective>,
    objective_text: String,
    outcomes: Mean,
    kappas: Mean,
    numbers: RandomNumberCheck,
    loops: BTreeMap<Option<String>, LoopTally>,
    without_seq: u64,
}

#[derive(Default)]
struct LoopTally {
    first: u64,
    last: u64,
    previous: Option<u64>,
    count: u64,
    out_of_order: u64,
}

#[derive(Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn get(&self) -> Option<f64> {
        (0 < self.count).then(|| self.sum / self.count as f64)
    }
}

impl Tally {
    /// Counts one record.
    pub(super) fn add(&mut self, record: &Record) {
        let summary = &mut self.summary;
        summary.rows += 1;
        if let Some(time) = record.time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        count(&mut summary.actions, record.action.kind().to_string());
        match record.context.as_named() {
            None => {
                let dim = record.context.dim();
                *summary.context_dims.entry(dim).or_default() += 1;
            }
            Some(features) => features.for_each_leaf(|name, value| {
                if !matches!(value, FeatureValue::Missing) {
                    count_name(&mut summary.features, name);
                }
            }),
        }
        match record.propensity().density() {
            Some(density) => self.densities.add(Density::get(density)),
            None => summary.point_masses += 1,
        }
        self.effective.add(record);
        if let Some(z) = record.z {
            self.kappas.add(1.0 / z);
        }
        let objective = record.objective.unwrap_or_default();
        if self.objective != Some(objective) {
            self.objective = Some(objective);
            self.objective_text = objective.to_string();
        }
        count_name(&mut summary.objectives, &self.objective_text);
        match record.loss {
            Some(loss) => self.outcomes.add(objective.value(loss.get())),
            None => summary.outcomes_missing += 1,
        }
        let outside = |value: f64| objective.is_outside(value);
        summary.outcomes_clipped += u64::from(record.outcome.is_some_and(outside));
        summary.outcomes_default += u64::from(record.loss_source == Some(LossSource::Default));
        summary.outcomes_late += u64::from(record.late == Some(true));
        if let Some(mode) = record.mode {
            count(&mut summary.modes, mode.as_str().to_owned());
        }
        if let Some(version) = record.settings_version {
            count(&mut summary.settings_versions, version.to_string());
        }
        for (name, _) in record.extras() {
            count_name(&mut summary.extras, name);
        }
        self.add_event(record);
        self.add_seq(record);
    }

    fn add_event(&mut self, record: &Record) {
        let Some(event) = record.event else { return };
        let next = event.saturating_add(1);
        self.summary.next_event = self.summary.next_event.max(Some(next));
        if let Some(seed) = record.seed {
            self.numbers
                .observe(record.loop_name.as_deref(), seed, event, || {
                    serde_json::to_string(&record.context).expect("a context is written to memory")
                });
        }
    }

    fn add_seq(&mut self, record: &Record) {
        let Some(seq) = record.seq else {
            self.without_seq += 1;
            return;
        };
        let own = match self.loops.get_mut(&record.loop_name) {
            Some(own) => own,
            None => self.loops.entry(record.loop_name.clone()).or_default(),
        };
        if own.count == 0 {
            (own.first, own.last) = (seq, seq);
        }
        own.first = own.first.min(seq);
        own.last = own.last.max(seq);
        own.count += 1;
        own.out_of_order += u64::from(own.previous.is_some_and(|previous| seq <= previous));
        own.previous = Some(seq);
    }

    /// What all records come to.
    pub(super) fn finish(self) -> Summary {
        let quantile = |share| self.densities.quantile(share);
        let density = quantile(0.0).map(|min| {
            let at = |share| quantile(share).unwrap_or(min);
            Spread {
                min,
                p01: at(0.01),
                p25: at(0.25),
                median: at(0.5),
                p75: at(0.75),
                p99: at(0.99),
                max: at(1.0),
            }
        });
        let mut seq: Option<Sequence> = None;
        for own in self.loops.values() {
            let all = seq.get_or_insert(Sequence {
                first: own.first,
                last: own.last,
                without: self.without_seq,
                ..Sequence::default()
            });
            all.first = all.first.min(own.first);
            all.last = all.last.max(own.last);
            let span = (own.last - own.first).saturating_add(1);
            all.missing += span.saturating_sub(own.count);
            all.out_of_order += own.out_of_order;
        }
        let loops = self.loops.into_iter();
        Summary {
            first_time: self.times.map(|(first, _)| first.to_string()),
            last_time: self.times.map(|(_, last)| last.to_string()),
            density,
            effective_events: self.effective.finish(),
            seq,
            random_numbers: self.numbers.found(),
            kappa_mean: self.kappas.get(),
            outcome_mean: self
                .outcomes
                .get()
                .filter(|_| self.summary.objectives.len() == 1),
            loops: loops
                .filter_map(|(name, own)| Some((name?, own.count)))
                .collect(),
            ..self.summary
        }
    }
}

fn count_name(counts: &mut BTreeMap<String, u64>, name: &str) {
    match counts.get_mut(name) {
        Some(count) => *count += 1,
        None => count(counts, name.to_owned()),
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: String) {
    *counts.entry(name).or_default() += 1;
}
