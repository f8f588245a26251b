use anyhow::{Context as _, Result, bail, ensure};
use egret_log::{ColumnBatch, Columns};

use super::Request;
use super::findings::{Evaluated, Findings};
use super::target_spec::TargetSpec;
use super::valuation::{Valuation, Weighted};
use crate::progress::reading;

/// Values the policies from columns of numbers alone: no record is made, and row groups are decoded in parallel.
pub fn evaluate(request: &Request<'_>) -> Result<Findings> {
    let places = Places::new(request)?;
    let required: Vec<&str> = places.required.iter().map(String::as_str).collect();
    let columns = Columns::open(&request.args.logs, &required, &["z"])?;
    let bar = reading("weighing events", request.args.json);
    let mut valuation = Valuation::new(request, places.targets.len(), request.against)?;
    let mut events = Weighted::new(places.targets.len());
    let mut rows = 0;
    columns.for_each(|mut batch| -> Result<()> {
        rows += batch.rows() as u64;
        valuation.atoms += batch.drop_missing(DENSITY) as u64;
        valuation.without_loss += batch.drop_missing(LOSS) as u64;
        places.weigh(&batch, &mut events)?;
        valuation.observe(&events)?;
        if let Some(all) = columns.rows() {
            bar.set_position(1_000 * rows / all.max(1));
        }
        Ok(())
    })?;
    bar.finish_and_clear();
    ensure!(
        0 < valuation.evaluations[0].events(),
        "no event of the log has both a density and a loss: there is nothing to weigh"
    );
    let evaluated: Vec<Evaluated> = (0..places.targets.len())
        .map(|target| Evaluated {
            target,
            bandwidth: None,
            caveat: None,
        })
        .collect();
    Findings::new(request, &evaluated, &mut valuation, Vec::new())
}

const LOSS: usize = 0;
const DENSITY: usize = 1;

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
        let densities = column(DENSITY)?;
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
        if let Some(z) = batch.column(self.required.len()).all() {
            events.kappas.extend(z.iter().map(|z| 1.0 / z));
        }
        for ((weights, baselines), &(q, baseline)) in events.targets.iter_mut().zip(&self.targets) {
            match q {
                Some(q) => {
                    let pairs = column(q)?.iter().zip(densities);
                    weights.extend(pairs.map(|(q, p)| q / p));
                }
                None => weights.extend(densities.iter().map(|p| 1.0 / p)),
            }
            if let Some(baseline) = baseline {
                baselines.extend_from_slice(column(baseline)?);
            }
        }
        Ok(())
    }
}
