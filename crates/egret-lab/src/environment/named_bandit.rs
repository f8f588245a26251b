use egret::{
    Context, FeatureSchema, Features, ModelSpec, OracleSpec, OracleSpecError, ReferenceMeasure,
    RegressionOracle,
};

use crate::environment::supervised::{SupervisedToBandit, unit_interval};
use crate::environment::{Environment, World};

/// The rows of a data set as named features.
pub(crate) trait NamedRows: std::fmt::Debug + Send + Sync {
    /// The features of a row; what is missing is left out.
    fn features(&self, row: usize) -> Features;

    /// A checksum of all names and values.
    fn fingerprint(&self) -> u32;
}

/// The schema is inferred from so many contexts: those that the run begins with, as a user may have them before the first
/// decision. Nothing is known of later ones, and no label is looked at.
const FIRST_CONTEXTS: usize = 1_000;

/// A supervised data set as a bandit problem whose contexts are named features, in the world of one seed.
pub(super) struct NamedBandit<'a> {
    bandit: &'a SupervisedToBandit,
    rows: &'a dyn NamedRows,
    schema: FeatureSchema,
}

impl<'a> NamedBandit<'a> {
    pub(super) fn new(bandit: &'a SupervisedToBandit, rows: &'a dyn NamedRows, seed: u64) -> Self {
        let first: Vec<Features> = (bandit.data().shuffled(seed, FIRST_CONTEXTS))
            .into_iter()
            .map(|row| rows.features(row as usize))
            .collect();
        Self {
            bandit,
            rows,
            schema: FeatureSchema::infer(&first).expect("names are unique, and few"),
        }
    }
}

impl Environment<f64> for NamedBandit<'_> {
    fn name(&self) -> &str {
        self.bandit.name()
    }

    fn fingerprint(&self) -> String {
        let (numbers, names) = (self.bandit.fingerprint(), self.rows.fingerprint());
        format!("{numbers} named {names:08x}")
    }

    fn context_dim(&self) -> usize {
        self.schema.width()
    }

    fn measure(&self) -> Box<dyn ReferenceMeasure<Context, f64>> {
        self.bandit.measure()
    }

    fn oracle(
        &self,
        spec: &OracleSpec,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        ModelSpec::new(unit_interval(), self.schema.clone())
            .with_oracle(spec.clone())
            .build_oracle()
    }

    fn default_oracle(&self, seed: u64) -> OracleSpec {
        self.bandit.default_oracle(seed)
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<f64> + '_> {
        Box::new(self.bandit.shuffled(seed, rounds).by_name(self.rows))
    }
}
