use serde::{Deserialize, Serialize};

use crate::argmin_model::initial_rng;
use crate::framed::Frame;
use crate::{
    Action, ActionFeatures, Batch, Context, Coordinates, Embeddings, Item, Learner, LoadError,
    Measure, OracleSpec, OracleSpecError, OutOfRange, RegressionOracle, Scaling, Settings,
    SettingsError, Space, SpaceError, Vector, Vectors, lanes,
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

    /// egret's default learner: one setting for every problem, with nothing to tune.
    ///
    /// | part        | what it is                                                                  |
    /// |-------------|-----------------------------------------------------------------------------|
    /// | oracle      | [`OracleSpec::untuned`] on intervals, else [`OracleSpec::untuned_features`]: networks that learn each event at once and again later |
    /// | exploration | [`Settings::untuned`]: CappedIGW with one τ, κ = 1 on intervals               |
    ///
    /// Contexts may be in any units. Give it each event as its loss becomes known; larger batches work too, with γ
    /// growing by batches. For items see [`untuned_items`](Self::untuned_items).
    ///
    /// ```
    /// use egret::{AnyLearner, Context, Loss, Model, Space};
    ///
    /// let mut model = Model::untuned(Space::Interval { low: 0.0, high: 1.0 }, 2, 7)?;
    /// let AnyLearner::Number(learner) = &mut model.learner else {
    ///     unreachable!("an interval has numbers");
    /// };
    /// let x = Context::dense(vec![1000.0, 0.001])?;
    /// for event in 0..10 {
    ///     let decision = learner.decide(event, &x)?;
    ///     let loss = Loss::new((decision.action - 0.3).abs())?;
    ///     learner.learn(&[decision.observed(&x, loss)])?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn untuned(space: Space, context_dim: usize, seed: u64) -> Result<Self, ModelError> {
        let blueprint = Blueprint::untuned(space, context_dim, None, seed);
        Self::new(blueprint, Settings::untuned(seed))
    }

    /// As [`untuned`](Self::untuned), for a catalogue: one row of `embeddings` for each item.
    pub fn untuned_items(
        embeddings: Table,
        context_dim: usize,
        seed: u64,
    ) -> Result<Self, ModelError> {
        let space = Space::Items {
            count: embeddings.rows.len() / embeddings.dim.max(1),
            weights: None,
        };
        let blueprint = Blueprint::untuned(space, context_dim, Some(embeddings), seed);
        Self::new(blueprint, Settings::untuned(seed))
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
    /// Of the learner that needs no tuning; see [`Model::untuned`]. `embeddings` are for catalogues.
    pub fn untuned(space: Space, context_dim: usize, embeddings: Option<Table>, seed: u64) -> Self {
        let oracle = match (&space, &embeddings) {
            (Space::Items { .. }, Some(table)) => {
                OracleSpec::untuned_features(context_dim, table.dim, seed)
            }
            _ if space.bounds().is_some() => OracleSpec::untuned(seed),
            _ => OracleSpec::untuned_features(context_dim, space.action_dim(), seed),
        };
        Self {
            space,
            context_dim,
            embeddings,
            oracle,
        }
    }

    /// The oracle for numbers, nothing learned.
    pub fn number_oracle(
        &self,
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        let bounds = self.space.bounds();
        self.oracle.on(
            bounds.ok_or(OracleSpecError::NotAnInterval)?,
            self.context_dim,
        )
    }

    /// The oracle for vectors, nothing learned.
    pub fn vector_oracle(
        &self,
    ) -> Result<Box<dyn RegressionOracle<Context, Vector>>, OracleSpecError> {
        let coordinates = Coordinates::new(self.space.action_dim())?;
        let mut draws = Vectors::default();
        if let Ok(Measure::Vector(measure)) = self.space.measure() {
            let x = Context::dense(Vec::new()).expect("no feature is not finite");
            measure.sample(&x, DRAWS, &mut initial_rng(0), &mut draws);
        }
        let scaling = scaling_of(&coordinates, &draws);
        self.oracle
            .build(self.context_dim, (&coordinates, &scaling), &|_| {
                Err(OracleSpecError::NotAnInterval)
            })
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
        let items = table.rows.len() / table.dim;
        let every = items.div_ceil(DRAWS);
        let draws: Vec<Item> = (0..items)
            .step_by(every)
            .map(|item| Item(item as u32))
            .collect();
        let scaling = scaling_of(&embeddings, &draws);
        self.oracle
            .build(self.context_dim, (&embeddings, &scaling), &|_| {
                Err(OracleSpecError::NotAnInterval)
            })
    }
}

/// How many actions a scaling is taken from.
const DRAWS: usize = 4096;

/// What brings each feature of these actions to mean 0 and deviation 1; one that does not vary becomes 0. A single
/// feature is brought to [0, 1].
fn scaling_of<A: Action>(features: &impl ActionFeatures<A>, actions: &A::Batch) -> Vec<Scaling> {
    let (n, m) = (actions.len(), features.dim());
    let mut columns = vec![0.0; n * m];
    features.fill(actions, 0..n, &mut columns);
    let inverse = |spread: f64, size: f64| {
        if 1e-12 * size < spread {
            1.0 / spread
        } else {
            0.0
        }
    };
    let mut scaling: Vec<Scaling> = columns
        .chunks(n.max(1))
        .map(|column| {
            let mean = lanes::sum(column) / n as f64;
            let squares: Vec<f64> = column.iter().map(|v| (v - mean) * (v - mean)).collect();
            let sd = (lanes::sum(&squares) / n as f64).sqrt();
            Scaling {
                shift: mean,
                factor: inverse(sd, mean.abs()),
            }
        })
        .collect();
    if m == 1 {
        let low = columns.iter().copied().fold(f64::INFINITY, f64::min);
        let high = columns.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        scaling[0] = Scaling {
            shift: low,
            factor: inverse(high - low, high.abs().max(low.abs())),
        };
    }
    scaling
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
    use crate::{EventRng, Forecaster, Loss, Stream};

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
        let untuned = |space, embeddings| Blueprint::untuned(space, 2, embeddings, 4);
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
            blueprint(
                items.clone(),
                fourier,
                Some(Table {
                    dim: 1,
                    rows: rows.clone(),
                }),
            ),
            untuned(
                Space::Beta {
                    a: 2.0,
                    b: 3.0,
                    low: -5.0,
                    high: 5.0,
                },
                None,
            ),
            untuned(
                Space::Simplex {
                    alpha: vec![1.0; 3],
                },
                None,
            ),
            untuned(items, Some(Table { dim: 1, rows })),
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

    /// Plays `rounds` of a pricing problem: x is what the customer would pay, in thousandths, beside a feature that
    /// says nothing.
    fn play(model: &mut Model, rounds: std::ops::Range<u64>) -> f64 {
        let AnyLearner::Number(learner) = &mut model.learner else {
            panic!("an interval has numbers");
        };
        let (count, mut total) = ((rounds.end - rounds.start) as f64, 0.0);
        for event in rounds {
            let mut rng = EventRng::new(77, event, Stream::World);
            let (worth, noise) = (rng.unit(), rng.unit());
            let x = Context::dense(vec![1000.0 * worth, noise]).expect("finite");
            let decision = learner.decide(event, &x).expect("an action");
            let loss = Loss::new((decision.action - worth).abs()).expect("in range");
            total += loss.get();
            learner
                .learn(&[decision.observed(&x, loss)])
                .expect("a good event");
        }
        total / count
    }

    fn unit_interval(seed: u64) -> Model {
        let space = Space::Interval {
            low: 0.0,
            high: 1.0,
        };
        Model::untuned(space, 2, seed).expect("nothing to get wrong")
    }

    #[test]
    fn what_is_not_tuned_learns_and_goes_on_from_its_file() {
        let mut model = unit_interval(1);
        let early = play(&mut model, 0..100);
        let later = play(&mut model, 100..1_000);
        // The middle for everybody would cost a quarter, and at random a third.
        assert!(later < 0.1 && later < early, "{early} {later}");
        let mut loaded = Model::load(&model.save()).expect("just saved");
        assert_eq!(loaded.settings(), &Settings::untuned(1));
        assert_eq!(
            play(&mut model, 1_000..1_050).to_bits(),
            play(&mut loaded, 1_000..1_050).to_bits()
        );
        assert_eq!(model.save(), loaded.save());
    }

    #[test]
    fn what_is_not_tuned_computes_every_z_on_an_interval() {
        let model = unit_interval(2);
        let AnyLearner::Number(learner) = &model.learner else {
            panic!("an interval has numbers");
        };
        assert!(learner.computes_z());
    }

    #[test]
    fn every_space_has_a_learner_without_tuning() {
        let sides = vec![(0.0, 100.0), (-1.0, 1.0)];
        for space in [
            Space::Box { sides },
            Space::Sphere { dim: 3 },
            Space::TruncatedNormal {
                mean: 0.0,
                sd: 1.0,
                low: -1.0,
                high: 1.0,
            },
        ] {
            let mut model = Model::untuned(space, 2, 3).expect("any space");
            step(&mut model, 0);
        }
        let rows = vec![0.0, 1.0, 5.0, 1.0, 0.0, 1.0];
        let mut model = Model::untuned_items(Table { dim: 2, rows }, 2, 3).expect("three items");
        step(&mut model, 0);
        assert!(
            Model::untuned(
                Space::Items {
                    count: 3,
                    weights: None
                },
                2,
                3
            )
            .is_err()
        );
        let broken = Table {
            dim: 2,
            rows: vec![0.0; 3],
        };
        assert!(Model::untuned_items(broken, 2, 3).is_err());
    }

    #[test]
    fn large_problems_leave_out_the_linear_forecaster() {
        let few = OracleSpec::untuned_features(10, 8, 0);
        assert!(matches!(few, OracleSpec::Aggregation(members) if members.len() == 2));
        let many = OracleSpec::untuned_features(100, 8, 0);
        assert!(matches!(many, OracleSpec::Curves { .. }));
        let most = OracleSpec::untuned_features(usize::MAX, usize::MAX, 0);
        assert!(matches!(most, OracleSpec::Curves { .. }));
    }

    #[test]
    fn actions_are_brought_to_one_scale() {
        let embeddings = Embeddings::new(2, vec![1.0, 7.0, 3.0, 7.0]).expect("two rows");
        let scaling = scaling_of(&embeddings, &vec![Item(0), Item(1)]);
        let expected = [(2.0, 1.0), (7.0, 0.0)];
        assert_eq!(scaling.len(), 2);
        for (found, (shift, factor)) in scaling.iter().zip(expected) {
            assert_eq!((found.shift, found.factor), (shift, factor));
        }
        let single = Embeddings::new(1, vec![10.0, 30.0]).expect("two rows");
        let scaling = scaling_of(&single, &vec![Item(0), Item(1)]);
        assert_eq!((scaling[0].shift, scaling[0].factor), (10.0, 0.05));
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
