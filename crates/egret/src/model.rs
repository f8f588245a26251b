use serde::{Deserialize, Serialize};

use crate::framed::Frame;
use crate::{
    Context, Coordinates, Embeddings, Item, Learner, LoadError, Measure, Number, OracleSpec,
    OracleSpecError, OutOfRange, RegressionOracle, Settings, SettingsError, Space, SpaceError,
    Vector,
};

// docs/model-format.md describes every byte.
const FRAME: Frame = Frame {
    magic: "egretpkg",
    version: 1,
};

/// What a model is made of before it learns: action space, context, oracle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blueprint {
    /// Which actions there are.
    pub space: Space,
    /// How many features a context has.
    pub context_dim: usize,
    /// What an oracle sees of each item of a catalogue.
    pub embeddings: Option<Table>,
    /// How losses are predicted.
    pub oracle: OracleSpec,
}

/// Rows of numbers, one for each item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Numbers in a row.
    pub dim: usize,
    /// Row after row.
    pub rows: Vec<f64>,
}

/// A learner that carries its own description: its file needs no program to be read.
///
/// ```
/// use egret::{AnyLearner, Blueprint, Context, Model, OracleSpec, Settings, Space};
///
/// let blueprint = Blueprint {
///     space: Space::Interval { low: 0.0, high: 1.0 },
///     context_dim: 2,
///     embeddings: None,
///     oracle: OracleSpec::default(),
/// };
/// let model = Model::new(blueprint, Settings::default())?;
/// let mut again = Model::load(&model.save())?;
/// let AnyLearner::Number(learner) = &mut again.learner else {
///     unreachable!("an interval has numbers");
/// };
/// let decision = learner.decide(1, &Context::dense(vec![0.5, 1.0])?)?;
/// assert!((0.0..=1.0).contains(&decision.action));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Model {
    blueprint: Blueprint,
    /// What decides and learns.
    pub learner: AnyLearner,
}

/// A learner over one of the kinds of action that files know.
pub enum AnyLearner {
    /// Over numbers.
    Number(Learner<Context, f64>),
    /// Over vectors.
    Vector(Learner<Context, Vector>),
    /// Over items.
    Item(Learner<Context, Item>),
}

/// Calls the same method of whichever learner there is.
macro_rules! each {
    ($any:expr, $learner:ident => $call:expr) => {
        match $any {
            AnyLearner::Number($learner) => $call,
            AnyLearner::Vector($learner) => $call,
            AnyLearner::Item($learner) => $call,
        }
    };
}

impl Model {
    /// Checks everything; nothing is learned yet.
    pub fn new(blueprint: Blueprint, settings: Settings) -> Result<Self, ModelError> {
        let learner = match blueprint.space.measure()? {
            Measure::Number(measure) => {
                AnyLearner::Number(Learner::new(measure, blueprint.number_oracle()?, settings)?)
            }
            Measure::Vector(measure) => {
                AnyLearner::Vector(Learner::new(measure, blueprint.vector_oracle()?, settings)?)
            }
            Measure::Item(measure) => {
                AnyLearner::Item(Learner::new(measure, blueprint.item_oracle()?, settings)?)
            }
        };
        Ok(Self { blueprint, learner })
    }

    /// A model whose oracle has learned already, elsewhere. `oracle` is what the blueprint's oracle saved, and `batches`
    /// how many batches that took: γ goes on from there.
    ///
    /// ```
    /// use egret::{Blueprint, Model, OracleSpec, Settings, Space};
    ///
    /// let blueprint = Blueprint {
    ///     space: Space::Interval { low: 0.0, high: 1.0 },
    ///     context_dim: 2,
    ///     embeddings: None,
    ///     oracle: OracleSpec::default(),
    /// };
    /// let oracle = blueprint.number_oracle()?;
    /// let model = Model::trained(blueprint, Settings::default(), &oracle.save(), 1_000)?;
    /// assert_eq!(model.version(), 1_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trained(
        blueprint: Blueprint,
        settings: Settings,
        oracle: &[u8],
        batches: u64,
    ) -> Result<Self, ModelError> {
        let mut model = Self::new(blueprint, settings)?;
        each!(&mut model.learner, learner => {
            learner.oracle.load(oracle)?;
            learner.batches = batches;
        });
        Ok(model)
    }

    /// What it is made of.
    pub fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        each!(&self.learner, learner => learner.settings())
    }

    /// How many batches were learned.
    pub fn version(&self) -> u64 {
        each!(&self.learner, learner => learner.model_version())
    }

    /// Blueprint, settings and all that was learned, as bytes that [`load`](Self::load) takes on to the bit.
    pub fn save(&self) -> Vec<u8> {
        let learner = each!(&self.learner, learner => learner.save());
        let content = postcard::to_stdvec(&(&self.blueprint, &learner[..]))
            .expect("numbers and lists of known length are written to memory");
        FRAME.around(&content)
    }

    /// A saved model.
    pub fn load(bytes: &[u8]) -> Result<Self, ModelError> {
        let content = FRAME.content_of(bytes)?;
        let (blueprint, learner): (Blueprint, &[u8]) =
            postcard::from_bytes(content).map_err(LoadError::from)?;
        let mut model = Self::new(blueprint, Settings::default())?;
        each!(&mut model.learner, own => own.load(learner))?;
        Ok(model)
    }
}

impl Blueprint {
    /// The oracle for numbers, nothing learned.
    pub fn number_oracle(
        &self,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        let bounds = self.space.bounds();
        self.oracle.build(self.context_dim, &Number, &|argmin| {
            argmin.on(bounds.ok_or(OracleSpecError::NotAnInterval)?)
        })
    }

    /// The oracle for vectors, nothing learned.
    pub fn vector_oracle(
        &self,
    ) -> Result<Box<dyn RegressionOracle<Context, Vector>>, OracleSpecError> {
        let coordinates = Coordinates::new(self.space.action_dim())?;
        self.oracle.over(self.context_dim, &coordinates)
    }

    /// The oracle for items, nothing learned.
    pub fn item_oracle(&self) -> Result<Box<dyn RegressionOracle<Context, Item>>, OracleSpecError> {
        let table = self
            .embeddings
            .as_ref()
            .ok_or(OracleSpecError::NoEmbeddings)?;
        if let Space::Items { count, .. } = self.space {
            OutOfRange::unless(
                table.dim.checked_mul(count) == Some(table.rows.len()),
                "numbers in the table of embeddings",
                table.rows.len() as f64,
                "one row for each item",
            )?;
        }
        let embeddings = Embeddings::new(table.dim, table.rows.clone())?;
        self.oracle.over(self.context_dim, &embeddings)
    }
}

/// Why there is no such model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Not an action space.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// Not an oracle, or not one for this space.
    #[error(transparent)]
    Oracle(#[from] OracleSpecError),
    /// Not settings, or not for this oracle.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The bytes are not a saved model.
    #[error(transparent)]
    Load(#[from] LoadError),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Forecaster, Loss};

    fn argmin(hidden: Option<[usize; 2]>) -> OracleSpec {
        OracleSpec::Argmin {
            hidden,
            learning_rate: crate::LearningRate::default(),
            seed: 3,
        }
    }

    fn linear() -> OracleSpec {
        OracleSpec::Linear {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: true,
        }
    }

    fn blueprints() -> Vec<Blueprint> {
        let blueprint = |space, oracle, embeddings| Blueprint {
            space,
            context_dim: 2,
            embeddings,
            oracle,
        };
        let interval = Space::Interval {
            low: 0.0,
            high: 1.0,
        };
        let fourier = OracleSpec::Fourier {
            features: 16,
            scale: 1.0,
            seed: 5,
        };
        let both = OracleSpec::Aggregation(vec![argmin(None), linear()]);
        let items = Space::Items {
            count: 3,
            weights: None,
        };
        let rows = vec![0.0, 0.5, 1.0];
        vec![
            blueprint(interval.clone(), argmin(None), None),
            blueprint(interval.clone(), argmin(Some([4, 3])), None),
            blueprint(interval, both, None),
            blueprint(
                Space::Box {
                    sides: vec![(0.0, 1.0), (0.0, 2.0)],
                },
                fourier.clone(),
                None,
            ),
            blueprint(Space::Sphere { dim: 3 }, linear(), None),
            blueprint(items, fourier, Some(Table { dim: 1, rows })),
        ]
    }

    /// Decides once, learns it, and says what was decided.
    fn step(model: &mut Model, event: u64) -> String {
        let x = Context::dense(vec![0.25, event as f64]).expect("finite");
        let loss = Loss::new(0.5).expect("in range");
        each!(&mut model.learner, learner => {
            let decision = learner.decide(event, &x).expect("an action");
            learner.learn(&[decision.observed(&x, loss)]).expect("a good event");
            format!("{decision:?}")
        })
    }

    #[test]
    fn a_loaded_model_goes_on_to_the_bit() {
        for blueprint in blueprints() {
            let mut first = Model::new(blueprint, Settings::default()).expect("a good model");
            step(&mut first, 0);
            let mut second = Model::load(&first.save()).expect("just saved");
            assert_eq!(second.blueprint(), first.blueprint());
            assert_eq!((second.version(), second.save()), (1, first.save()));
            assert_eq!(step(&mut first, 1), step(&mut second, 1));
        }
    }

    #[test]
    fn an_oracle_that_has_learned_is_taken_on() {
        for blueprint in blueprints() {
            let mut first =
                Model::new(blueprint.clone(), Settings::default()).expect("a good model");
            step(&mut first, 0);
            let state = each!(&first.learner, learner => learner.oracle().save());
            let settings = Settings::default();
            let second = Model::trained(blueprint, settings, &state, 7).expect("its own oracle");
            let again = each!(&second.learner, learner => learner.oracle().save());
            assert_eq!((again, second.version()), (state, 7));
            let loaded = Model::load(&second.save()).expect("just saved");
            assert_eq!(loaded.save(), second.save());
        }
        let blueprint = blueprints().remove(0);
        let other = blueprints().remove(1).number_oracle().expect("good").save();
        let refused = Model::trained(blueprint, Settings::default(), &other, 1).err();
        assert!(matches!(refused, Some(ModelError::Load(_))), "{refused:?}");
    }

    /// As docs/model-format.md has it.
    #[test]
    fn the_description_is_frozen() {
        let model = Model::new(blueprints().remove(0), Settings::default()).expect("good");
        let bytes = model.save();
        let mut expected = b"egretpkg\x01\x00".to_vec();
        expected.extend((bytes.len() as u64 - 22).to_le_bytes());
        expected.push(0); // an interval
        expected.extend(0.0_f64.to_le_bytes());
        expected.extend(1.0_f64.to_le_bytes());
        expected.push(2); // features
        expected.push(0); // no embeddings
        expected.extend([0, 0]); // an argmin, without hidden layers
        expected.extend(0.02_f64.to_le_bytes());
        expected.extend(100.0_f64.to_le_bytes());
        expected.push(3); // its seed
        assert_eq!(bytes[..expected.len()], expected);
        let AnyLearner::Number(learner) = &model.learner else {
            panic!("an interval has numbers");
        };
        // The learner's state, its length before it, then the checksum.
        let state = learner.save();
        assert!(bytes[..bytes.len() - 4].ends_with(&state));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut blueprint = blueprints().remove(3);
        blueprint.oracle = argmin(None);
        let error = Model::new(blueprint, Settings::default()).err();
        let expected = ModelError::Oracle(OracleSpecError::NotAnInterval);
        assert_eq!(error, Some(expected));
        let mut blueprint = blueprints().remove(5);
        blueprint.embeddings = None;
        let error = Model::new(blueprint, Settings::default()).err();
        let expected = ModelError::Oracle(OracleSpecError::NoEmbeddings);
        assert_eq!(error, Some(expected));
    }

    proptest! {
        #[test]
        fn damaged_bytes_are_refused(cut in 0_usize..200, place in 0_usize..200, bit in 0_u8..8) {
            let model = Model::new(blueprints().remove(0), Settings::default()).expect("good");
            let bytes = model.save();
            let cut = cut.min(bytes.len() - 1);
            prop_assert!(Model::load(&bytes[..cut]).is_err());
            let mut flipped = bytes;
            let place = place.min(flipped.len() - 1);
            flipped[place] ^= 1 << bit;
            prop_assert!(Model::load(&flipped).is_err());
        }
    }
}
