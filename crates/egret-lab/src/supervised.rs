use std::sync::Arc;

use egret::{
    Blueprint, Context, EventRng, Interval, Loss, OracleSpec, OracleSpecError, ReferenceMeasure,
    RegressionOracle, Space, Stream,
};

use crate::{Environment, LossFunction, World};

/// A supervised data set as contexts and labels, the labels scaled to [0, 1].
#[derive(Debug, Clone)]
pub struct Supervised {
    name: String,
    fingerprint: u32,
    width: usize,
    rows: Vec<(Context, f64)>,
    dropped: usize,
}

impl Supervised {
    /// Checks that there is a row, that all contexts have one length, and that labels are in [0, 1].
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
            dropped: 0,
        })
    }

    pub(crate) fn with_dropped(mut self, dropped: usize) -> Self {
        self.dropped = dropped;
        self
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many features a context has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many rows of the file had no label, and were left out.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Contexts and labels, in the order of the file.
    pub fn rows(&self) -> &[(Context, f64)] {
        &self.rows
    }

    /// The first `at_most` rows of an order that the seed makes (Fisher and Yates).
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

/// A supervised data set to decide on: the action stands for the label, and is told only what it lost.
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

    fn blueprint(&self, oracle: OracleSpec) -> Blueprint {
        Blueprint {
            space: Space::Interval {
                low: 0.0,
                high: 1.0,
            },
            context_dim: self.data.width,
            embeddings: None,
            oracle,
        }
    }
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
        Box::new(Interval::new(0.0, 1.0).expect("0 < 1"))
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        self.blueprint(spec.clone()).number_oracle()
    }

    fn untuned(&self, seed: u64) -> OracleSpec {
        OracleSpec::untuned(seed)
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<f64> + '_> {
        Box::new(Shuffled {
            rows: &self.data.rows,
            order: self.data.shuffled(seed, rounds),
            loss: self.loss,
        })
    }
}

struct Shuffled<'a> {
    rows: &'a [(Context, f64)],
    order: Vec<u32>,
    loss: LossFunction,
}

impl World<f64> for Shuffled<'_> {
    fn rounds(&self) -> usize {
        self.order.len()
    }

    fn context(&self, round: usize) -> &Context {
        &self.rows[self.order[round] as usize].0
    }

    fn loss(&self, round: usize, action: &f64) -> Loss {
        self.loss
            .of(self.rows[self.order[round] as usize].1, *action)
    }
}

/// Why there is no data set.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SupervisedError {
    /// No rows.
    #[error("{name} has no rows")]
    Empty {
        /// Which.
        name: String,
    },
    /// A context is not as long as the first.
    #[error("row {row} of {name} has {found} features, expected {expected}")]
    Width {
        /// Which set.
        name: String,
        /// Which row, from 0.
        row: usize,
        /// How many it has.
        found: usize,
        /// How many the first has.
        expected: usize,
    },
    /// A label that no action stands for.
    #[error("row {row} of {name} has the label {label}, expected a number in [0, 1]")]
    Label {
        /// Which set.
        name: String,
        /// Which row, from 0.
        row: usize,
        /// What it is.
        label: f64,
    },
}
