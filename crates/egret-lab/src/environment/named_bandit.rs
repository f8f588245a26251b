use egret::{
    Context, FeatureSchema, Features, ModelSpec, Objective, OracleSpec, OracleSpecError,
    ReferenceMeasure, RegressionOracle,
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

    fn objective(&self) -> Objective {
        self.bandit.objective()
    }

    fn world(&self, seed: u64, rounds: usize) -> Box<dyn World<f64> + '_> {
        Box::new(self.bandit.shuffled(seed, rounds).by_name(self.rows))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use egret::{FieldKind, OracleSpec};

    use crate::data::{Column, Encoding, Table, Values};
    use crate::environment::{Environment, LossFunction, SupervisedToBandit};
    use crate::learner::{EgretFactory, Preset};
    use crate::run::Run;

    /// Sizes, some missing, and colours; from `odd` on, all rows have a colour of their own.
    fn houses(rows: u32, odd: u32) -> SupervisedToBandit {
        let size = |row: u32| {
            if row.is_multiple_of(5) {
                f64::NAN
            } else {
                f64::from(row % 7)
            }
        };
        let numbers = |name: &str, values| Column {
            name: name.to_owned(),
            values: Values::Numbers(values),
        };
        let colours = Values::Categories {
            levels: ["red", "blue", "odd"].map(str::to_owned).to_vec(),
            codes: (0..rows)
                .map(|row| {
                    if row < odd {
                        (row % 3 != 0).then_some(row % 2)
                    } else {
                        Some(2)
                    }
                })
                .collect(),
        };
        let colours = Column {
            name: "colour".to_owned(),
            values: colours,
        };
        let columns = vec![
            numbers("size", (0..rows).map(size).collect()),
            colours,
            numbers("y", (0..rows).map(|row| f64::from(row % 2)).collect()),
        ];
        let table = Table::new("houses.csv", columns).expect("a table");
        let data = Encoding::default().encode("houses", &table);
        SupervisedToBandit::new(Arc::new(data.expect("sound")), LossFunction::Absolute)
    }

    #[test]
    fn both_views_have_the_same_rounds_and_names_keep_what_the_table_says() {
        let houses = houses(300, 300);
        let named = houses.named(3).expect("a table has names");
        let (numbers, names) = (houses.world(3, 300), named.world(3, 300));
        let mut missing = 0;
        for round in 0..300 {
            assert_eq!(numbers.loss(round, &0.25), names.loss(round, &0.25));
            let features = names.context(round).as_named().expect("names");
            match features.get("size") {
                // 0, 1, … 6 are scaled by 6 in the dense view.
                Some(size) => {
                    let dense = numbers.context(round).as_dense().expect("numbers")[0];
                    assert_eq!(*size, (6.0 * dense).round().into());
                }
                None => missing += 1,
            }
        }
        assert_eq!(missing, 60);
        assert!(named.oracle(&OracleSpec::paper()).is_ok());
    }

    #[test]
    fn the_schema_knows_only_the_first_contexts() {
        // Of 20,000 rows, a tenth with a colour is seen among the first thousand. Four are not, though they would be enough for
        // a column if all rows were known.
        let knows_odd = |odd: u32| {
            let houses = houses(20_000, odd);
            let rows = houses.data().named().expect("names");
            let schema = super::NamedBandit::new(&houses, rows, 1).schema;
            let (_, field) = schema
                .fields()
                .find(|(name, _)| *name == "colour")
                .expect("it");
            assert!(field.optional);
            let FieldKind::Category(colours) = &field.kind else {
                panic!("{field:?}");
            };
            colours.values.contains(&"odd".to_owned())
        };
        assert!(knows_odd(18_000) && !knows_odd(19_996));
    }

    #[test]
    fn runs_by_name_and_by_numbers_are_pairs_with_results_of_their_own() {
        let houses = houses(200, 200);
        let by_name = Preset::Default.factory();
        let dense = EgretFactory {
            by_name: false,
            ..by_name.clone()
        };
        let run = |learner| Run::<f64> {
            learner,
            environment: &houses,
            seed: 1,
            decisions: 100,
        };
        let (by_name, dense) = (run(&by_name), run(&dense));
        assert_ne!(by_name.key(), dense.key());
        let [one, other] = [&by_name, &dense].map(|run| run.play(|_| ()).expect("played"));
        assert_eq!(one.fingerprint, other.fingerprint);
        assert_ne!(one.loss, other.loss);
        // Without names there is nothing to choose.
        let simulator = crate::environment::Simulator::new(crate::environment::IntervalLossModel);
        assert!(simulator.named(1).is_none());
    }
}
