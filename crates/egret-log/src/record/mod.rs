//! One event of the log, whatever the format.
//!
//! Start from [`Record`]. `field` lists its fields once: their names in files, their types and ranges. Every format reads
//! and writes by that list. A `draft` is a record that is being read; finishing it checks everything. What is wrong with
//! a row is a [`RowError`]. `named_context` says which named features files can hold, `outcome` how a loss follows from one.

pub(crate) mod bad_row;
pub(crate) mod draft;
pub(crate) mod extra;
pub(crate) mod field;
pub(crate) mod mu_cache;
pub(crate) mod named_context;
pub(crate) mod outcome;
pub(crate) mod row_error;
pub(crate) mod time;
pub(crate) mod write_error;

pub use extra::Extra;
pub use row_error::RowError;
pub use time::{Time, TimeError};
pub use write_error::WriteError;

use std::collections::BTreeMap;
use std::sync::Arc;

use egret::{
    ActionKind, AnyAction, CappedDraw, Certificate, CertifiedBy, Context, Decision, Density,
    DensityKind, FeatureValue, Limits, Loss, NormalizingConstant, Objective, Observed, OutOfRange,
    Propensity, Space, TauDraw,
};

use self::field::Access;

/// The version of the record that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// The values of a row of a table, by the names of their columns.
pub type Cells = Vec<(Arc<str>, FeatureValue)>;

/// The generator of egret's decisions.
pub const PHILOX: &str = "philox4x32-10";

/// One event of the log: a decision, all that replays it, and its loss once that is known.
///
/// Context, action and propensity are required. Every other field is optional, so that logs from elsewhere fit. Names in
/// files are in camel case: `event_id` is `eventId`; `loop_name` is `loop`. docs/log.md describes each.
///
/// ```
/// use egret::{Context, Density, Loss, Propensity};
/// use egret_log::Record;
///
/// let propensity = Propensity::Density(Density::new(2.5)?);
/// let mut record = Record::bare(Context::dense(vec![0.1])?, 0.75.into(), propensity);
/// record.loss = Some(Loss::new(0.2)?);
/// assert_eq!(record.propensity(), propensity);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Whose decision it is.
    pub loop_name: Option<String>,
    /// The event's name, unique in its loop.
    pub event_id: Option<String>,
    /// The number that opened the generator.
    pub event: Option<u64>,
    /// The place in the log: dense, so that a gap is a lost record.
    pub seq: Option<u64>,
    /// When it was decided, by the server's clock.
    pub time: Option<Time>,
    /// When it was decided, by the caller's clock.
    pub client_time: Option<Time>,
    /// What was known: named features, or numbers.
    pub context: Context,
    /// What densities are taken against.
    pub mu: Option<Arc<Space>>,
    /// What the request allowed: densities are against μ restricted to it.
    pub limits: Option<Limits>,
    /// What was done.
    pub action: AnyAction,
    pub(crate) propensity: Propensity,
    /// Whether the density is given τ, or over all of the grid.
    pub density_kind: Option<DensityKind>,
    /// An upper bound on the inverse of the density, for any action that could have been drawn; of the same kind as the density,
    /// and with the same z.
    pub largest_inverse_density: Option<f64>,
    /// g(a; β).
    pub g: Option<f64>,
    /// The share of decisions drawn from μ: 0 if it is absent.
    pub uniform: Option<f64>,
    /// The smoothness played.
    pub tau: Option<f64>,
    /// Its place in the grid.
    pub tau_index: Option<u32>,
    /// The probability Corral gave it.
    pub tau_prob: Option<f64>,
    /// The greediness in force.
    pub gamma: Option<f64>,
    /// β.
    pub beta: Option<f64>,
    /// κ∞.
    pub kappa_inf: Option<f64>,
    /// The largest probability that z(β) is not in [1/κ∞, 1].
    pub delta: Option<f64>,
    /// Draws of μ that β took.
    pub beta_draws: Option<u64>,
    /// What β rests on.
    pub certificate: Option<CertifiedBy>,
    /// Draws of μ that the action took.
    pub proposals: Option<u64>,
    /// z(β), or its unbiased estimate.
    pub z: Option<f64>,
    /// Draws of μ that z took; 0 where it was computed.
    pub z_draws: Option<u64>,
    /// The probability that the event was kept for the log: 1 if it is absent.
    pub pass_prob: Option<f64>,
    /// The seed of the generator.
    pub seed: Option<u64>,
    /// Which generator.
    pub rng: Option<String>,
    /// How many batches the model had learned.
    pub batches_learned: Option<u64>,
    /// The content hash of the model that the loop began with; with `batches_learned`, which model decided.
    pub model_hash: Option<String>,
    /// Which settings were in force.
    pub settings_version: Option<u32>,
    /// The hash of the schema that made numbers of the features.
    pub schema_hash: Option<String>,
    /// What the loop did with the decision.
    pub mode: Option<Mode>,
    /// Whether the event had to be activated to count.
    pub deferred: Option<bool>,
    /// What came of it, as it was sent: in the units of the objective.
    pub outcome: Option<f64>,
    /// What outcomes are.
    pub objective: Option<Objective>,
    /// What it cost, once known. Readers work it out from `outcome` and `objective` where it is absent.
    pub loss: Option<Loss>,
    /// Where the loss is from.
    pub loss_source: Option<LossSource>,
    /// Whether the loss came after the closing.
    pub late: Option<bool>,
    /// When the event was closed.
    pub close_time: Option<Time>,
    pub(crate) extras: BTreeMap<Arc<str>, Extra>,
}

/// What a loop did with a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Decided, played, learned from.
    Online,
    /// The caller's own action was played: a point mass.
    Apprentice,
    /// Decided and played, not learned from.
    Logging,
}

/// Where a loss is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LossSource {
    /// Somebody reported it.
    Observed,
    /// Nobody did in time: the loop's default.
    Default,
}

impl Record {
    /// The record of a decision. The caller sets what a decision does not know, such as `seq`, `mu` and `loss`.
    pub fn new<A: ActionKind>(context: Context, decision: &Decision<A>) -> Self {
        let capped = decision.capped_igw.as_ref();
        let proof = capped.map(|capped| &capped.certificate);
        Self {
            event: Some(decision.event),
            limits: decision.limits.clone(),
            density_kind: Some(decision.density_kind),
            largest_inverse_density: decision.largest_inverse_density,
            g: capped.map(|capped| capped.g),
            uniform: capped
                .map(|capped| capped.uniform)
                .filter(|&uniform| 0.0 < uniform),
            tau: Some(decision.tau),
            tau_index: Some(decision.tau_index),
            tau_prob: Some(decision.tau_probability),
            gamma: Some(decision.gamma),
            beta: proof.map(|proof| proof.beta),
            kappa_inf: proof.map(|proof| proof.kappa_inf),
            delta: proof.map(|proof| proof.delta),
            beta_draws: proof.map(|proof| proof.draws as u64),
            certificate: proof.map(|proof| proof.certified_by),
            proposals: Some(decision.proposals as u64),
            z: capped.map(|capped| capped.z.value),
            z_draws: capped.map(|capped| capped.z.draws as u64),
            seed: Some(decision.seed),
            rng: Some(PHILOX.to_owned()),
            batches_learned: Some(decision.batches_learned),
            settings_version: Some(decision.settings_version),
            ..Self::bare(context, decision.action.clone().into(), decision.propensity)
        }
    }

    /// Only what every record has.
    pub fn bare(context: Context, action: AnyAction, propensity: Propensity) -> Self {
        Self {
            loop_name: None,
            event_id: None,
            event: None,
            seq: None,
            time: None,
            client_time: None,
            context,
            mu: None,
            limits: None,
            action,
            propensity,
            density_kind: None,
            largest_inverse_density: None,
            g: None,
            uniform: None,
            tau: None,
            tau_index: None,
            tau_prob: None,
            gamma: None,
            beta: None,
            kappa_inf: None,
            delta: None,
            beta_draws: None,
            certificate: None,
            proposals: None,
            z: None,
            z_draws: None,
            pass_prob: None,
            seed: None,
            rng: None,
            batches_learned: None,
            model_hash: None,
            settings_version: None,
            schema_hash: None,
            mode: None,
            deferred: None,
            outcome: None,
            objective: None,
            loss: None,
            loss_source: None,
            late: None,
            close_time: None,
            extras: BTreeMap::new(),
        }
    }

    /// The density of the action, or that it was a point mass.
    pub fn propensity(&self) -> Propensity {
        self.propensity
    }

    /// The same event with a density that was found otherwise. What goes with the logged one, z and the bound on 1/p, is gone.
    #[must_use]
    pub fn with_density(self, density: Density) -> Self {
        Self {
            propensity: Propensity::Density(density),
            density_kind: None,
            largest_inverse_density: None,
            g: None,
            z: None,
            z_draws: None,
            ..self
        }
    }

    /// What there is to learn from: none where the loss is not known yet.
    ///
    /// The one way from a log to learning, online, by replay and offline.
    pub fn observed<A: ActionKind>(&self) -> Result<Option<Observed<&Context, A>>, RowError> {
        let Some(loss) = self.loss else {
            return Ok(None);
        };
        Ok(Some(Observed {
            x: &self.context,
            action: A::from_any(&self.action)?,
            limits: self.limits.clone(),
            loss,
            propensity: self.propensity,
            tau: self
                .tau_index
                .zip(self.tau_prob)
                .map(|(index, probability)| TauDraw { index, probability }),
        }))
    }

    /// The decision, to the bit, as a replay needs it.
    pub fn decision<A: ActionKind>(&self) -> Result<Decision<A>, RowError> {
        Ok(Decision {
            event: needed(self.event, "event")?,
            action: A::from_any(&self.action)?,
            limits: self.limits.clone(),
            propensity: self.propensity,
            density_kind: needed(self.density_kind, "densityKind")?,
            tau: needed(self.tau, "tau")?,
            tau_index: needed(self.tau_index, "tauIndex")?,
            tau_probability: needed(self.tau_prob, "tauProb")?,
            gamma: needed(self.gamma, "gamma")?,
            capped_igw: self.capped_igw()?,
            largest_inverse_density: self.largest_inverse_density,
            proposals: count(needed(self.proposals, "proposals")?, "proposals")?,
            seed: needed(self.seed, "seed")?,
            batches_learned: needed(self.batches_learned, "batchesLearned")?,
            settings_version: needed(self.settings_version, "settingsVersion")?,
        })
    }

    /// All of what CappedIGW worked out, or nothing of it.
    fn capped_igw(&self) -> Result<Option<CappedDraw>, RowError> {
        let absent = self.g.is_none()
            && self.beta.is_none()
            && self.kappa_inf.is_none()
            && self.delta.is_none()
            && self.beta_draws.is_none()
            && self.certificate.is_none()
            && self.z.is_none()
            && self.z_draws.is_none();
        if absent {
            return Ok(None);
        }
        Ok(Some(CappedDraw {
            g: needed(self.g, "g")?,
            uniform: self.uniform.unwrap_or(0.0),
            certificate: Certificate {
                beta: needed(self.beta, "beta")?,
                certified_by: needed(self.certificate, "certificate")?,
                kappa_inf: needed(self.kappa_inf, "kappaInf")?,
                delta: needed(self.delta, "delta")?,
                draws: count(needed(self.beta_draws, "betaDraws")?, "betaDraws")?,
            },
            z: NormalizingConstant {
                value: needed(self.z, "z")?,
                draws: count(needed(self.z_draws, "zDraws")?, "zDraws")?,
            },
        }))
    }

    /// The value of a column that is not one of the record's own.
    pub fn extra(&self, name: &str) -> Option<&Extra> {
        self.extras.get(name)
    }

    /// All such columns, by name.
    pub fn extras(&self) -> impl Iterator<Item = (&str, &Extra)> {
        self.extras.iter().map(|(name, value)| (&**name, value))
    }

    /// Adds such a column, or replaces its value. An error for the name of a field, NaN and infinities.
    pub fn set_extra(
        &mut self,
        name: impl Into<Arc<str>>,
        value: impl Into<Extra>,
    ) -> Result<(), RowError> {
        let (name, value) = (name.into(), value.into());
        if field::find(&name, 0).is_some() {
            let name = name.to_string();
            return Err(RowError::Reserved { name });
        }
        check_extra(&name, &value)?;
        self.extras.insert(name, value);
        Ok(())
    }

    /// The number in a column, the record's own or the user's. None if it is absent, as the density of a point mass is.
    pub fn number(&self, name: &str) -> Option<f64> {
        let Some(place) = field::find(name, 0) else {
            return self.extra(name).and_then(Extra::number);
        };
        match field::FIELDS[place].access {
            Access::Number { get, .. } => *get(self),
            Access::Count { get, .. } => get(self).map(|count| count as f64),
            Access::Small { get, .. } => get(self).map(f64::from),
            Access::Density => self.propensity.density().map(Density::get),
            Access::Loss => self.loss.map(Loss::get),
            Access::Action => f64::from_any(&self.action).ok(),
            _ => None,
        }
    }

    /// An error unless a reader would take it.
    pub fn check(&self) -> Result<(), RowError> {
        match (&self.mu, &self.action) {
            (Some(space), action) => space.check_action(action)?,
            (None, AnyAction::Number(value)) => {
                OutOfRange::unless(value.is_finite(), "action", *value, "(-inf, inf)")?;
            }
            // Without a space it would be read as a vector.
            (None, AnyAction::Set(_)) => return Err(RowError::Missing { field: "mu" }),
            (None, _) => {}
        }
        if let Some(limits) = &self.limits {
            let refused = |problem| RowError::Field {
                field: "limits",
                problem,
            };
            let space = self
                .mu
                .as_deref()
                .ok_or(RowError::Missing { field: "mu" })?;
            let checked = limits.check(space);
            checked.map_err(|error| refused(error.to_string()))?;
            if !limits.allow(space, &self.action) {
                let action = &self.action;
                return Err(refused(format!("they do not allow the action {action}")));
            }
        }
        if let (Some(Mode::Apprentice), Some(density)) = (self.mode, self.propensity.density()) {
            let density = density.get();
            return Err(RowError::ApprenticeWithDensity { density });
        }
        if let Some(features) = self.context.as_named() {
            named_context::check(features)?;
        }
        for field in field::FIELDS {
            if let Access::Number { get, range, .. } = field.access
                && let Some(value) = *get(self)
            {
                range.check(field.name, value)?;
            }
        }
        outcome::loss(self.loss, self.outcome, self.objective.as_ref())?;
        self.extras
            .iter()
            .try_for_each(|(name, value)| check_extra(name, value))
    }
}

fn needed<T>(value: Option<T>, field: &'static str) -> Result<T, RowError> {
    value.ok_or(RowError::Missing { field })
}

fn count(value: u64, name: &'static str) -> Result<usize, RowError> {
    usize::try_from(value).map_err(|_| {
        RowError::Number(OutOfRange {
            name,
            value: value as f64,
            expected: "a count that fits in memory",
        })
    })
}

fn check_extra(name: &str, value: &Extra) -> Result<(), RowError> {
    match value {
        Extra::Number(number) if !number.is_finite() => Err(RowError::Type {
            field: name.to_owned(),
            found: number.to_string(),
            expected: "a finite number",
        }),
        _ => Ok(()),
    }
}
