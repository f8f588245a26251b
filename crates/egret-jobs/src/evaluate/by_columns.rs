use egret::{Direction, Objective};
use egret_log::{ColumnBatch, VERSION};

use super::density::{Largest, NO_NUMBER, negative};
use super::pass_probs::PassProbs;
use super::rows::{Evaluated, report};
use super::tally::{Known, Tally};
use super::weighted_batch::WeightedBatch;
use super::{Checked, EvaluateReport, Predictions};
use crate::error::{JobError, Place};
use crate::log_reader::largest_inverse;
use crate::policy_spec::PolicySpec;
use crate::progress::{Progress, Step, tell};

/// Evaluates from columns of numbers alone, with row groups decoded in parallel. None where columns of words, action
/// spaces or objectives have to be read too.
pub(super) fn evaluate(
    checked: &Checked<'_>,
    progress: &dyn Progress,
) -> Result<Option<EvaluateReport>, JobError> {
    let columns = Columns::new(checked)?;
    let required: Vec<&str> = columns.required.iter().map(String::as_str).collect();
    let scan = checked.request.log.columns(&required, &OPTIONAL)?;
    let played = scan.words_are_among("mode", &["online", "logging"])?;
    let stabilizable =
        !checked.request.stabilize || scan.words_are_among("densityKind", &["conditional"])?;
    let Some(objective) = scan.shared_objective()?.filter(|_| played && stabilizable) else {
        return Ok(None);
    };
    let policies = columns.policies.len();
    let predicted = columns.predicted.is_some();
    let known = columns.policies.iter().map(|(q, own)| Known {
        largest: match q {
            Q::Uniform => Some(Largest::Density(1.0)),
            Q::Logged => Some(Largest::Weight(1.0)),
            Q::Column(_) => None,
        },
        predicted: !predicted || own.is_some(),
        truncated: false,
    });
    let tally = Tally::new(checked, known.collect(), checked.against)?;
    let mut tally = tally.with_distributions(checked);
    let mut events = WeightedBatch::new(policies);
    let mut rows = 0;
    scan.for_each(|mut batch| -> Result<(), JobError> {
        rows += batch.rows() as u64;
        columns.check(&batch, &objective)?;
        tally.left_out.without_loss += batch.drop_missing(LOSS) as u64;
        tally.left_out.point_masses += batch.column(DENSITY).missing() as u64;
        columns.weigh(&batch, &objective, &mut tally.pass_probs, &mut events);
        tally.observe(&mut events)?;
        match scan.rows() {
            Some(all) => tell(progress, Step::Read(rows as f64 / all.max(1) as f64)),
            None => Ok(()),
        }
    })?;
    let evaluated: Vec<Evaluated> = (0..policies).map(Evaluated::alone).collect();
    let remarks = checked.without_predictions();
    report(checked, objective, &evaluated, tally, remarks).map(Some)
}

const LOSS: usize = 0;
const DENSITY: usize = 1;
/// After those that are required.
const OPTIONAL: [&str; 5] = ["z", "v", "passProb", "largestInverseDensity", "zDraws"];

/// Which column holds what.
struct Columns {
    required: Vec<String>,
    predicted: Option<usize>,
    /// τ and γ.
    stabilizers: Option<(usize, usize)>,
    /// q and E_q f̂.
    policies: Vec<(Q, Option<usize>)>,
}

/// Where the density of a policy comes from.
#[derive(Debug, Clone, Copy)]
enum Q {
    /// It is 1.
    Uniform,
    /// It is that of the log.
    Logged,
    /// A column.
    Column(usize),
}

impl Columns {
    fn new(checked: &Checked<'_>) -> Result<Self, JobError> {
        let mut required = vec!["loss".to_owned(), "density".to_owned()];
        let mut place = |name: &str| {
            let found = required.iter().position(|column| column == name);
            found.unwrap_or_else(|| {
                required.push(name.to_owned());
                required.len() - 1
            })
        };
        let predicted = match &checked.request.predictions {
            Some(Predictions::Column(name)) if checked.needs_predictions() => Some(place(name)),
            _ => None,
        };
        let stabilizers = checked
            .request
            .stabilize
            .then(|| (place("tau"), place("gamma")));
        let mut policies = Vec::new();
        for policy in &checked.request.policies {
            let PolicySpec::Column {
                density,
                predicted: own,
            } = &policy.policy
            else {
                let logged = policy.policy == PolicySpec::Logged;
                policies.push((if logged { Q::Logged } else { Q::Uniform }, None));
                continue;
            };
            let own = match (predicted, own) {
                (None, _) => None,
                (Some(_), Some(name)) => Some(place(name)),
                (Some(_), None) => None,
            };
            policies.push((Q::Column(place(density)), own));
        }
        Ok(Self {
            required,
            predicted,
            stabilizers,
            policies,
        })
    }

    /// An error where these rows cannot be weighed.
    fn check(&self, batch: &ColumnBatch, objective: &Objective) -> Result<(), JobError> {
        let losses = batch.column(LOSS);
        for column in (0..self.required.len()).map(|place| batch.column(place)) {
            if column.missing() == 0 || ["loss", "density"].contains(&column.name()) {
                continue;
            }
            let lacks = |row: &usize| losses.get(*row).is_some() && column.get(*row).is_none();
            if let Some(row) = (0..batch.rows()).find(lacks) {
                return Err(JobError::field(
                    &place(batch, row),
                    column.name(),
                    NO_NUMBER,
                ));
            }
        }
        let densities = self
            .policies
            .iter()
            .filter_map(|(density, _)| match density {
                Q::Column(place) => Some(*place),
                Q::Uniform | Q::Logged => None,
            });
        for column in densities.map(|place| batch.column(place)) {
            let all = column.all();
            if all.is_some_and(|values| values.iter().fold(true, |all, &q| all & (0.0 <= q))) {
                continue;
            }
            let below = |row: &usize| column.get(*row).is_some_and(|density| density < 0.0);
            if let Some(row) = (0..batch.rows()).find(below) {
                let problem = negative(column.get(row).unwrap_or_default());
                return Err(JobError::field(&place(batch, row), column.name(), problem));
            }
        }
        let own = self.policies.iter().filter_map(|(_, predicted)| *predicted);
        for column in own.chain(self.predicted).map(|place| batch.column(place)) {
            let within = |value: f64| (objective.low() <= value) & (value <= objective.high());
            let all = column.all();
            if all.is_some_and(|values| values.iter().fold(true, |all, &v| all & within(v))) {
                continue;
            }
            for row in (0..batch.rows()).filter(|row| losses.get(*row).is_some()) {
                let value = column.get(row).expect("none is missing");
                objective
                    .loss(value)
                    .map_err(|error| JobError::field(&place(batch, row), column.name(), error))?;
            }
        }
        let versions = batch.column(self.required.len() + 1);
        for version in (0..versions.len()).filter_map(|row| versions.get(row)) {
            if version != f64::from(VERSION) {
                return Err(JobError::Log(format!(
                    "{}: version {version} of the record is not known here, expected {VERSION}",
                    batch.file().display()
                )));
            }
        }
        Ok(())
    }

    /// Takes the numbers of rows that passed the check.
    fn weigh(
        &self,
        batch: &ColumnBatch,
        objective: &Objective,
        pass_probs: &mut PassProbs,
        events: &mut WeightedBatch,
    ) {
        events.clear();
        let inverses = inverses(batch);
        let losses = batch.all(LOSS).iter();
        events
            .shares
            .extend(losses.map(|&loss| objective.share(loss)));
        if let Some(predicted) = self.predicted {
            let values = batch.all(predicted).iter();
            events
                .predicted
                .extend(values.map(|&value| share_of(objective, value)));
        }
        if let Some((tau, gamma)) = self.stabilizers {
            let pairs = batch.all(tau).iter().zip(batch.all(gamma));
            let weights = pairs.map(|(tau, gamma)| tau / (tau + gamma));
            events.event_weights.extend(weights);
        }
        let kept = batch.column(self.required.len() + 2);
        let kept = (0..kept.len()).map(|row| kept.get(row));
        pass_probs.weigh(kept, batch.rows(), &mut events.event_weights);
        let [bound, draws] = [3, 4].map(|place| batch.column(self.required.len() + place));
        if 0 < bound.len() - bound.missing() {
            let rows = 0..batch.rows();
            let inverses = rows.map(|row| largest_inverse(bound.get(row), draws.get(row)));
            events.largest_inverses.extend(inverses);
        }
        let z = batch.column(self.required.len());
        if 0 < z.len() - z.missing() {
            let known = (0..z.len()).filter_map(|row| z.get(row));
            events.kappas.extend(known.map(|z| 1.0 / z));
        }
        for ((weights, own), &(q, predicted)) in events.policies.iter_mut().zip(&self.policies) {
            match q {
                Q::Column(q) => {
                    let pairs = batch.all(q).iter().zip(&inverses);
                    weights.extend(pairs.map(|(q, inverse)| q * inverse));
                }
                Q::Uniform => weights.extend_from_slice(&inverses),
                Q::Logged => weights.resize(inverses.len(), 1.0),
            }
            if let Some(predicted) = predicted {
                let values = batch.all(predicted).iter();
                own.extend(values.map(|&value| share_of(objective, value)));
            }
        }
    }
}

/// A prediction that passed the check, as a share of the range: by the arithmetic of [`Objective::loss`], without its
/// checks, which would take longer than all estimators.
fn share_of(objective: &Objective, value: f64) -> f64 {
    let (low, high) = (objective.low(), objective.high());
    let inside = value.clamp(low, high);
    let loss = match objective.direction() {
        Direction::Maximize => (high - inside) / (high - low),
        Direction::Minimize => (inside - low) / (high - low),
    };
    objective.share(loss.clamp(0.0, 1.0))
}

fn place(batch: &ColumnBatch, row: usize) -> Place {
    Place {
        file: batch.file().into(),
        row: batch.first_row() + row as u64,
        field: None,
    }
}

/// 1/p of each event, and 0 for a point mass.
fn inverses(batch: &ColumnBatch) -> Vec<f64> {
    let densities = batch.column(DENSITY);
    match densities.all() {
        Some(densities) => densities.iter().map(|p| 1.0 / p).collect(),
        None => (0..densities.len())
            .map(|row| densities.get(row).map_or(0.0, |p| 1.0 / p))
            .collect(),
    }
}
