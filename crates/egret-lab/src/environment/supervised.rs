use std::sync::Arc;

use egret::{
    Context, EventRng, Interval, Loss, ModelSpec, Objective, OracleSpec, OracleSpecError,
    ReferenceMeasure, RegressionOracle, Stream,
};

use crate::environment::named_bandit::{NamedBandit, NamedRows};
use crate::environment::{Environment, LossFunction, World};

/// A supervised data set: contexts, and labels scaled to [0, 1].
#[derive(Debug, Clone)]
pub struct Supervised {
    name: String,
    fingerprint: u32,
    width: usize,
    rows: Vec<(Context, f64)>,
    named: Option<Arc<dyn NamedRows>>,
    objective: Objective,
    dropped: usize,
}

impl Supervised {
    /// Checks that there is at least one row, that all contexts have the same length, and that labels lie in [0, 1].
    pub fn new(
        name: impl Into<String>,
        rows: Vec<(Context, f64)>,
    ) -> Result<Self, SupervisedError> {
        let name = name.into();
        let Some(width) = rows.first().map(|(x, _)| x.dim()) else {
            return Err(SupervisedError::Empty { name });
        };
        let mut hash = crc32fast::Hasher::new();
        for (row, (x, label)) in rows.iter().enumerate() {
            if x.dim() != width {
                let found = x.dim();
                return Err(SupervisedError::Width {
                    name,
                    row,
                    found,
                    expected: width,
                });
            }
            if !(0.0..=1.0).contains(label) {
                return Err(SupervisedError::Label {
                    name,
                    row,
                    label: *label,
                });
            }
            if let Some(features) = x.as_named() {
                let features = serde_json::to_vec(features).expect("plain data");
                hash.update(&features);
            }
            x.for_each(|feature, value| {
                hash.update(&(feature as u64).to_le_bytes());
                hash.update(&value.to_le_bytes());
            });
            hash.update(&label.to_le_bytes());
        }
        Ok(Self {
            name,
            fingerprint: hash.finalize(),
            width,
            rows,
            named: None,
            objective: Objective::LOSS,
            dropped: 0,
        })
    }

    /// The rows as named features, if they have names.
    pub(super) fn named(&self) -> Option<&dyn NamedRows> {
        self.named.as_deref()
    }

    /// The same rows as named features.
    pub(crate) fn with_named(mut self, named: impl NamedRows + 'static) -> Self {
        self.named = Some(Arc::new(named));
        self
    }

    /// Losses 0 and 1 stand for the best and the worst outcome of this objective.
    pub fn with_objective(mut self, objective: Objective) -> Self {
        self.objective = objective;
        self
    }

    pub(crate) fn with_dropped(mut self, dropped: usize) -> Self {
        self.dropped = dropped;
        self
    }

    /// The name shown in tables.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of features of a context.
    pub fn width(&self) -> usize {
        self.width
    }

    /// A checksum of all contexts and labels.
    pub(crate) fn checksum(&self) -> u32 {
        self.fingerprint
    }

    /// How many rows of the file were left out because they had no label.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Contexts and labels, in the order of the file.
    pub fn rows(&self) -> &[(Context, f64)] {
        &self.rows
    }

    /// The first `at_most` rows of the order that the seed shuffles (Fisher and Yates).
    pub fn shuffled(&self, seed: u64, at_most: usize) -> Vec<u32> {
        let mut rng = EventRng::new(seed, 0, Stream::World);
        let mut order: Vec<u32> = (0..self.rows.len() as u32).collect();
        for last in (1..order.len()).rev() {
            let place = (rng.unit() * (last + 1) as f64) as usize;
            order.swap(last, place);
        }
        order.truncate(at_most);
        order
    }
}

/// A supervised data set as a bandit problem: the learner guesses the label, and sees only the loss of its guess.
#[derive(Debug, Clone)]
pub struct SupervisedToBandit {
    data: Arc<Supervised>,
    loss: LossFunction,
}

impl SupervisedToBandit {
    /// Actions in [0, 1].
    pub fn new(data: Arc<Supervised>, loss: LossFunction) -> Self {
        Self { data, loss }
    }

    /// The data.
    pub fn data(&self) -> &Supervised {
        &self.data
    }

    pub(super) fn shuffled(&self, seed: u64, rounds: usize) -> Shuffled<'_> {
        Shuffled {
            rows: &self.data.rows,
            order: self.data.shuffled(seed, rounds),
            named: Vec::new(),
            loss: self.loss,
        }
    }
}

pub(super) fn unit_interval() -> Interval {
    Interval::new(0.0, 1.0).expect("0 < 1")
}

impl Environment<f64> for SupervisedToBandit {
    fn name(&self) -> &str {
        &self.data.name
    }

    fn fingerprint(&self) -> String {
        let (name, sum, loss) = (&self.data.name, self.data.fingerprint, &self.loss);
        format!("{name} {sum:08x} {loss}")
    }

    fn context_dim(&self) -> usize {
        self.data.width
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, f64>> {
        Box::new(unit_interval())
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        let spec = ModelSpec {
            oracle: spec.clone(),
            ..ModelSpec::new(unit_interval(), self.data.width)
        };
        spec.build_oracle()
    }

    fn default_oracle(&self, seed: u64) -> OracleSpec {
        OracleSpec::default_on_interval(seed)
    }

    fn objective(&self) -> Objective {
        self.data.objective
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<f64> + '_> {
        Box::new(self.shuffled(seed, rounds))
    }

    fn named(&self, seed: u64) -> Option<Box<dyn Environment<f64> + '_>> {
        let rows = self.data.named()?;
        Some(Box::new(NamedBandit::new(self, rows, seed)))
    }
}

/// The rows of one world, in its order.
pub(super) struct Shuffled<'a> {
    rows: &'a [(Context, f64)],
    order: Vec<u32>,
    /// By round, where features have names; otherwise empty.
    named: Vec<Context>,
    loss: LossFunction,
}

impl Shuffled<'_> {
    /// With contexts by name.
    pub(super) fn by_name(mut self, rows: &dyn NamedRows) -> Self {
        let named = |&row: &u32| Context::named(rows.features(row as usize));
        self.named = self.order.iter().map(named).collect();
        self
    }
}

impl World<f64> for Shuffled<'_> {
    fn rounds(&self) -> usize {
        self.order.len()
    }

    fn context(&self, round: usize) -> &Context {
        let numbers = || &self.rows[self.order[round] as usize].0;
        self.named.get(round).unwrap_or_else(numbers)
    }

    fn loss(&self, round: usize, action: &f64) -> Loss {
        self.loss
            .of(self.rows[self.order[round] as usize].1, *action)
    }
}

/// Why rows are not a data set.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SupervisedError {
    /// There are no rows.
    #[error("{name} has no rows")]
    Empty {
        /// The data set.
        name: String,
    },
    /// A context has another length than the first.
    #[error("row {row} of {name} has {found} features, expected {expected}")]
    Width {
        /// The data set.
        name: String,
        /// The row, from 0.
        row: usize,
        /// The number of features of this row.
        found: usize,
        /// The number of features of the first row.
        expected: usize,
    },
    /// A label outside of [0, 1].
    #[error("row {row} of {name} has the label {label}, expected a number in [0, 1]")]
    Label {
        /// The data set.
        name: String,
        /// The row, from 0.
        row: usize,
        /// The label.
        label: f64,
    },
}
