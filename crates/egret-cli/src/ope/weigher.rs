use anyhow::{Context as _, Result, bail};
use egret::{Action, Context, LossCurve, RegressionOracle};
use egret_log::Record;
use egret_offline::{Chance, Kernel, Target, TargetWork, expected_loss};

/// What a target says of one event.
#[derive(Debug, Clone, Copy)]
pub struct Weighed {
    /// q(a), or an unbiased estimate of it.
    pub q: f64,
    /// E_q f̂(x, ·), where there is an f̂.
    pub baseline: Option<f64>,
}

/// Weighs the events of a log for one target, whichever way its density comes about.
pub trait Weigher<A: Action>: Send + Sync {
    /// q and the baseline at one event.
    fn weigh(&self, event: &Event<'_, A>, work: &mut TargetWork<A>) -> Result<Weighed>;

    /// What to know before the value is believed.
    fn caveat(&self) -> Option<String> {
        None
    }
}

/// An event with what weighing it needs.
pub struct Event<'a, A: Action> {
    /// The whole record, for its columns.
    pub record: &'a Record,
    /// Its action.
    pub action: &'a A,
    /// Where the target's chances come from.
    pub chance: Chance,
    /// f̂, if estimators need it.
    pub fhat: Fhat<'a, A>,
}

/// Where predictions come from.
pub enum Fhat<'a, A: Action> {
    /// From nowhere.
    Absent,
    /// A column of the log holds f̂(x, a).
    Column(&'a str),
    /// A model's f̂.
    Oracle(&'a dyn RegressionOracle<Context, A>),
}

// By hand, since a derive would ask that actions can be copied, where references do.
impl<A: Action> Clone for Fhat<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Action> Copy for Fhat<'_, A> {}

impl<A: Action> Event<'_, A> {
    /// f̂(x, a).
    pub fn predicted(&self, work: &mut Predictions<A>) -> Result<Option<f64>> {
        match self.fhat {
            Fhat::Absent => Ok(None),
            Fhat::Column(name) => Ok(Some(self.column(name)?)),
            Fhat::Oracle(oracle) => {
                let curve = LossCurve::new(oracle, &self.record.context, &mut work.buffer)?;
                egret::Batch::clear(&mut work.action);
                egret::Batch::push(&mut work.action, self.action);
                curve.predict(&work.action, &mut work.fhats)?;
                Ok(Some(work.fhats[0]))
            }
        }
    }

    fn column(&self, name: &str) -> Result<f64> {
        self.record
            .number(name)
            .with_context(|| format!("the log has no number in the column {name:?} here"))
    }
}

/// Buffers for predictions.
pub struct Predictions<A: Action> {
    buffer: Vec<f64>,
    action: A::Batch,
    fhats: Vec<f64>,
}

impl<A: Action> Default for Predictions<A> {
    fn default() -> Self {
        Self {
            buffer: Vec::new(),
            action: A::Batch::default(),
            fhats: Vec::new(),
        }
    }
}

/// A target that tells its density.
pub struct ByTarget<'a, A: Action> {
    /// Which.
    pub target: Box<dyn Target<Context, A> + 'a>,
    /// How many draws a baseline is the mean of.
    pub draws: usize,
}

impl<A: Action> Weigher<A> for ByTarget<'_, A> {
    fn weigh(&self, event: &Event<'_, A>, work: &mut TargetWork<A>) -> Result<Weighed> {
        let x = &event.record.context;
        let q = self.target.density(event.chance, x, event.action, work)?;
        let baseline = match event.fhat {
            Fhat::Absent => None,
            Fhat::Oracle(oracle) => Some(expected_loss(
                &*self.target,
                oracle,
                event.chance,
                x,
                self.draws,
                work,
            )?),
            Fhat::Column(_) => bail!(
                "a column of predictions says nothing of the actions this policy would play: give the model with --model"
            ),
        };
        Ok(Weighed { q, baseline })
    }

    fn caveat(&self) -> Option<String> {
        self.target.caveat()
    }
}

/// Densities, and means of predictions, from columns.
pub struct ByColumn {
    /// q(a).
    pub density: String,
    /// E_q f̂(x, ·).
    pub baseline: Option<String>,
}

impl<A: Action> Weigher<A> for ByColumn {
    fn weigh(&self, event: &Event<'_, A>, _: &mut TargetWork<A>) -> Result<Weighed> {
        let baseline = match (&self.baseline, event.fhat) {
            (_, Fhat::Absent) => None,
            (Some(name), _) => Some(event.column(name)?),
            (None, _) => bail!(
                "the mean prediction under this policy is not known: name its column, as in column:{},baseline=NAME",
                self.density
            ),
        };
        Ok(Weighed {
            q: event.column(&self.density)?,
            baseline,
        })
    }
}

/// A kernel around the action in a column.
pub struct ByKernel {
    /// Where the policy's action is.
    pub action: String,
    /// What is played around it.
    pub kernel: Kernel,
}

/// Points that the mean of f̂ under a kernel is taken over, one from each of equal shares.
const POINTS: usize = 32;

impl Weigher<f64> for ByKernel {
    fn weigh(&self, event: &Event<'_, f64>, _: &mut TargetWork<f64>) -> Result<Weighed> {
        let center = event.column(&self.action)?;
        let baseline = match event.fhat {
            Fhat::Absent => None,
            Fhat::Oracle(oracle) => {
                let points = (0..POINTS)
                    .map(|part| {
                        let share = (part as f64 + 0.5) / POINTS as f64;
                        self.kernel.quantile(center, share)
                    })
                    .collect::<Result<Vec<_>, _>>()?;
                let (mut buffer, mut fhats) = (Vec::new(), Vec::new());
                LossCurve::new(oracle, &event.record.context, &mut buffer)?
                    .predict(&points, &mut fhats)?;
                Some(fhats.iter().sum::<f64>() / POINTS as f64)
            }
            Fhat::Column(_) => bail!(
                "a column of predictions says nothing of the actions around this policy's: give the model with --model"
            ),
        };
        Ok(Weighed {
            q: self.kernel.density(center, *event.action)?,
            baseline,
        })
    }

    fn caveat(&self) -> Option<String> {
        Some(format!(
            "this is the value of the policy smoothed over about {:.4} either way, which is not that of the policy itself",
            self.kernel.bandwidth()
        ))
    }
}
