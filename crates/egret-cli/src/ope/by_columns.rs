use anyhow::{Context as _, Result, bail, ensure};
use egret_log::{ColumnBatch, Columns, VERSION};

use super::findings::{Evaluated, Findings};
use super::target_spec::TargetSpec;
use super::valuation::{Valuation, Weighted};
use super::{Request, same_pass_prob};
use crate::progress::reading;

/// Values the policies from columns of numbers alone: no record is made, and row groups are decoded in parallel. None
/// where the words of the log have to be read too.
pub fn evaluate(request: &Request<'_>) -> Result<Option<Findings>> {
    let places = Places::new(request)?;
    let required: Vec<&str> = places.required.iter().map(String::as_str).collect();
    let columns = Columns::open(&request.args.logs, &required, &OPTIONAL)?;
    let played = columns.words_are_among("mode", &["online", "logging"])?;
    let steady =
        !request.args.steady || columns.words_are_among("densityKind", &["conditional"])?;
    if !(played && steady) {
        return Ok(None);
    }
    let bar = reading("weighing events", request.args.json);
    let mut valuation = Valuation::new(request, places.targets.len(), request.against)?;
    let mut events = Weighted::new(places.targets.len());
    let mut rows = 0;
    let mut pass_prob = None;
    columns.for_each(|mut batch| -> Result<()> {
        rows += batch.rows() as u64;
        valuation.without_loss += batch.drop_missing(LOSS) as u64;
        valuation.atoms += batch.column(DENSITY).missing() as u64;
        places.check(&batch, &mut pass_prob)?;
        places.weigh(&batch, &mut events)?;
        valuation.observe(&events)?;
        if let Some(all) = columns.rows() {
            bar.set_position(1_000 * rows / all.max(1));
        }
        Ok(())
    })?;
    bar.finish_and_clear();
    valuation.check_any()?;
    let evaluated: Vec<Evaluated> = (0..places.targets.len())
        .map(|target| Evaluated {
            target,
            bandwidth: None,
            caveat: None,
        })
        .collect();
    Findings::new(request, &evaluated, &mut valuation, Vec::new()).map(Some)
}

const LOSS: usize = 0;
const DENSITY: usize = 1;
/// After those that are required.
const OPTIONAL: [&str; 3] = ["z", "v", "passProb"];

/// Which column holds what.
struct Places {
    required: Vec<String>,
    fhat: Option<usize>,
    /// τ and γ.
    steady: Option<(usize, usize)>,
    /// q, or none where it is 1; E_q f̂.
    targets: Vec<(Option<usize>, Option<usize>)>,
}

impl Places {
    fn new(request: &Request<'_>) -> Result<Self> {
        let mut required = vec!["loss".to_owned(), "density".to_owned()];
        let mut place = |name: &str| {
            let found = required.iter().position(|column| column == name);
            found.unwrap_or_else(|| {
                required.push(name.to_owned());
                required.len() - 1
            })
        };
        let predicted = request.needs_predictions();
        let fhat = request.args.fhat.as_deref().filter(|_| predicted);
        let fhat = fhat.map(&mut place);
        let steady = request.args.steady.then(|| (place("tau"), place("gamma")));
        let mut targets = Vec::new();
        for target in &request.args.targets {
            targets.push(match &target.spec {
                TargetSpec::Column { density, baseline } => {
                    let baseline = match (predicted, baseline) {
                        (false, _) => None,
                        (true, Some(name)) => Some(place(name)),
                        (true, None) => bail!(
                            "the mean prediction under {} is not known: name its column, as in column:{density},baseline=NAME",
                            target.name
                        ),
                    };
                    (Some(place(density)), baseline)
                }
                _ => (None, None),
            });
        }
        Ok(Self {
            required,
            fhat,
            steady,
            targets,
        })
    }

    /// Refuses what a column of numbers shows to be no log that can be weighed.
    fn check(&self, batch: &ColumnBatch, pass_prob: &mut Option<f64>) -> Result<()> {
        let [_, versions, pass_probs] = [0, 1, 2].map(|place| {
            let column = batch.column(self.required.len() + place);
            (0..column.len()).filter_map(move |row| column.get(row))
        });
        for version in versions {
            ensure!(
                version == f64::from(VERSION),
                "{}: version {version} of the record is not known here, expected {VERSION}",
                batch.file().display()
            );
        }
        pass_probs
            .into_iter()
            .try_for_each(|found| same_pass_prob(pass_prob, found))
    }

    fn weigh(&self, batch: &ColumnBatch, events: &mut Weighted) -> Result<()> {
        events.clear();
        let column = |place: usize| -> Result<&[f64]> {
            batch.column(place).all().with_context(|| {
                let name = &self.required[place];
                format!(
                    "the column {name:?} has no number in some of the events that are to be weighed"
                )
            })
        };
        let inverses = inverses(batch);
        events.losses.extend_from_slice(column(LOSS)?);
        if let Some(fhat) = self.fhat {
            events.fhats.extend_from_slice(column(fhat)?);
        }
        if let Some((tau, gamma)) = self.steady {
            let pairs = column(tau)?.iter().zip(column(gamma)?);
            events
                .shares
                .extend(pairs.map(|(tau, gamma)| tau / (tau + gamma)));
        }
        let z = batch.column(self.required.len());
        if 0 < z.len() - z.missing() {
            let known = (0..z.len()).filter_map(|row| z.get(row));
            events.kappas.extend(known.map(|z| 1.0 / z));
        }
        for ((weights, baselines), &(q, baseline)) in events.targets.iter_mut().zip(&self.targets) {
            match q {
                Some(q) => {
                    let pairs = column(q)?.iter().zip(&inverses);
                    weights.extend(pairs.map(|(q, inverse)| q * inverse));
                }
                None => weights.extend_from_slice(&inverses),
            }
            if let Some(baseline) = baseline {
                baselines.extend_from_slice(column(baseline)?);
            }
        }
        Ok(())
    }
}

/// 1/p of each event, and 0 for an atom.
fn inverses(batch: &ColumnBatch) -> Vec<f64> {
    let densities = batch.column(DENSITY);
    match densities.all() {
        Some(densities) => densities.iter().map(|p| 1.0 / p).collect(),
        None => (0..densities.len())
            .map(|row| densities.get(row).map_or(0.0, |p| 1.0 / p))
            .collect(),
    }
}
