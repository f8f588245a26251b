use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::codec::{LoadError, saved_state};
use crate::event::{Action, Batch, Context, ContextError};
use crate::numeric::{OutOfRange, pool::Pool};
use crate::oracle::{
    ActionFeatures, Example, GrowError, ItemTree, RegressionOracle,
    features::{
        basis::{ActionBasis, Scaling},
        limits::{check_action, check_size},
    },
    network::{
        context::{self, ContextNetwork, InputState, NetworkSettings, STEEPEST},
        feature_scale,
        replay_memory::{Event, ReplayMemory, STEP, check_size_of_loss},
        wide_layer,
    },
};

/// A network that gives each context a curve of losses over actions of any kind.
///
/// f̂(x, a) = ½ + Σ_j y_j(x) ψ_j(a)
///
/// y are the outputs of a network with two hidden layers, ψ a fixed list of functions of the action:
///
/// | action      | ψ                                                   |
/// |-------------|-----------------------------------------------------|
/// | one number  | cos(πju)/(1 + j),  j = 0…F − 1                       |
/// | m numbers   | 1, uᵢ/√m, (uᵢ² − 1)/√m, and F random cosines of u    |
///
/// u are the [`ActionFeatures`] of the action, each scaled by a [`Scaling`]. The loss may have any shape, with many minima
/// or jumps. f̂ starts at ½ everywhere.
///
/// Each event is one step of Adam on the squared error of itself and of seven of the last 4,096 events, which are saved
/// with the oracle. Context features may be in any units: they are scaled as they arrive. Beyond 512 features, time grows
/// with those that are not 0, and memory with those that ever were.
///
/// ```
/// use egret::{
///     Context, CurveNetwork, CurveSettings, Example, Loss, LossCurve, ScalarFeatures, RegressionOracle, Scaling, Weight,
/// };
///
/// let settings = CurveSettings { context_dim: 1, ..CurveSettings::default() };
/// let unit = Scaling { shift: 0.0, factor: 0.1 };
/// let mut oracle = CurveNetwork::new(ScalarFeatures, vec![unit], settings)?;
/// let x = Context::dense(vec![1.0])?;
/// for round in 0..1_000 {
///     let action = f64::from(round % 11);
///     // What a price earns: nothing if it is above 7.
///     let loss = Loss::new(if action <= 7.0 { 1.0 - 0.1 * action } else { 1.0 })?;
///     oracle.learn(&[Example { x: &x, action: &action, loss: loss.into(), weight: Weight::ONE }])?;
/// }
/// let (mut buffer, mut fhat) = (Vec::new(), Vec::new());
/// LossCurve::<_, f64>::new(&oracle, &x, &mut buffer)?.predict(&vec![1.0, 7.0, 10.0], &mut fhat)?;
/// assert!(fhat[1] + 0.3 < fhat[0] && fhat[1] + 0.3 < fhat[2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CurveNetwork<E> {
    basis: ActionBasis<E>,
    scaling: Vec<Scaling>,
    settings: CurveSettings,
    network: ContextNetwork,
    memory: ReplayMemory,
    scratch: Scratch,
    buffers: Pool<Scratch>,
}

/// The numbers of actions, and ψ.
#[derive(Debug, Clone, Default)]
struct Scratch {
    u: Vec<f64>,
    psi: Vec<f64>,
}

/// Settings of a [`CurveNetwork`], checked when it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurveSettings {
    /// How many features a context has; may be 0.
    pub context_dim: usize,
    /// F, from 1 to 4,096; by default 16.
    pub cosines: usize,
    /// Widths of the hidden layers; by default 32 and 32.
    pub hidden: [usize; 2],
    /// Seed of the starting weights, of the random cosines, and of the choice of past events to learn again.
    pub seed: u64,
}

impl Default for CurveSettings {
    fn default() -> Self {
        Self {
            context_dim: 0,
            cosines: 16,
            hidden: [32, 32],
            seed: 0,
        }
    }
}

impl<E> CurveNetwork<E> {
    /// `scaling` has one entry for each feature of an action.
    pub fn new<A: Action>(
        actions: E,
        scaling: Vec<Scaling>,
        settings: CurveSettings,
    ) -> Result<Self, OutOfRange>
    where
        E: ActionFeatures<A>,
    {
        let CurveSettings {
            context_dim,
            cosines,
            hidden,
            seed,
        } = settings;
        let basis = ActionBasis::new(actions, scaling.clone(), cosines, seed)?;
        let network = ContextNetwork::new(NetworkSettings {
            dim: context_dim,
            hidden,
            outputs: basis.len(),
            seed,
        })?;
        Ok(Self {
            basis,
            scaling,
            settings,
            network,
            memory: ReplayMemory::new(),
            scratch: Scratch::default(),
            buffers: Pool::default(),
        })
    }

    /// One step on an event and some past ones.
    fn step(&mut self, event: Event<'_>) {
        self.network.look_at(event.x);
        let places = self.memory.add(self.settings.seed, event);
        self.network.forward_past(&mut self.memory, places);
        let events = self.memory.events(places);
        let (basis, length) = (&self.basis, self.basis.len());
        let Scratch { u, psi } = &mut self.scratch;
        psi.resize(length, 0.0);
        self.network.backward_step(|outputs, slopes| {
            let rows = outputs
                .chunks_exact(length)
                .zip(slopes.chunks_exact_mut(length));
            for (event, (outputs, slopes)) in events.into_iter().zip(rows) {
                u.clear();
                u.extend(event.action.iter().map(|&u| f64::from(u)));
                basis.expand(u, psi);
                let terms = outputs.iter().zip(&*psi);
                let fhat = 0.5 + terms.map(|(y, psi)| f64::from(*y) * psi).sum::<f64>();
                let weight = f64::from(event.weight) / STEP as f64;
                let by_fhat = 2.0 * (fhat - f64::from(event.loss)) * weight;
                for (slope, psi) in slopes.iter_mut().zip(&*psi) {
                    *slope = (by_fhat * psi).clamp(-STEEPEST, STEEPEST) as f32;
                }
            }
        });
    }

    /// Loads a network whose first layer saved an `I`.
    fn load_as<I: DeserializeOwned>(&mut self, state: &[u8]) -> Result<(), LoadError>
    where
        InputState: From<I>,
    {
        let saved: Saved<I> = saved_state::from_bytes(KIND, state)?;
        saved_state::expect_same("settings", &saved.settings, &self.settings)?;
        saved_state::expect_same("scalings", &saved.scaling, &words(&self.scaling))?;
        let network = saved.network.either();
        self.network.check(&network)?;
        let inputs = self.basis.inputs();
        saved.memory.check(&self.network.lengths(), inputs)?;
        self.network.restore(network);
        self.memory = saved.memory;
        Ok(())
    }
}

impl<A: Action, E: ActionFeatures<A>> RegressionOracle<Context, A> for CurveNetwork<E> {
    /// y.
    fn prepare(&self, x: &Context, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        x.expect_dim(self.network.dim())?;
        check_size(x)?;
        self.network.forward(x, |y| {
            prepared.clear();
            prepared.extend(y.iter().map(|&y| f64::from(y)));
        });
        Ok(())
    }

    fn predict(&self, _: &Context, prepared: &[f64], actions: &A::Batch, out: &mut [f64]) {
        self.buffers.with(|Scratch { u, psi }| {
            self.basis.read::<A>(actions, u);
            self.basis.weigh(prepared, u, psi, out);
        });
        for out in out {
            *out += 0.5;
        }
    }

    fn check(&self, example: &Example<'_, Context, A>) -> Result<(), ContextError> {
        example.x.expect_dim(self.network.dim())?;
        check_size(example.x)?;
        check_size_of_loss(example)?;
        let mut actions = A::Batch::default();
        actions.push(example.action);
        self.buffers.with(|Scratch { u, .. }| {
            self.basis.read::<A>(&actions, u);
            check_action(u, example.action)
        })
    }

    fn learn(&mut self, batch: &[Example<'_, Context, A>]) -> Result<(), ContextError> {
        let mut actions = A::Batch::default();
        for example in batch {
            self.check(example)?;
            actions.push(example.action);
        }
        let mut numbers = Vec::new();
        self.basis.read::<A>(&actions, &mut numbers);
        let numbers = numbers.chunks_exact(self.basis.inputs());
        for (example, numbers) in batch.iter().zip(numbers) {
            self.step(Event {
                x: example.x,
                action: numbers,
                loss: example.loss.get(),
                weight: example.weight.get(),
            });
        }
        Ok(())
    }

    fn item_tree(&self) -> Option<&ItemTree> {
        self.basis.item_tree()
    }

    fn save(&self) -> Vec<u8> {
        let saved = Saved {
            settings: self.settings,
            scaling: words(&self.scaling),
            network: self.network.state(),
            memory: self.memory.clone(),
        };
        saved_state::to_bytes(KIND, &saved)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        if self.network.is_wide() {
            self.load_as::<wide_layer::State>(state)
        } else {
            self.load_as::<feature_scale::State>(state)
        }
    }

    fn grow(&mut self, dim: usize) -> Result<bool, GrowError> {
        self.network.grow(dim)?;
        self.settings.context_dim = dim;
        Ok(true)
    }
}

/// Numbers as they are saved.
fn words(scaling: &[Scaling]) -> Vec<(f64, f64)> {
    scaling.iter().map(|s| (s.shift, s.factor)).collect()
}

const KIND: &str = "curve network";

#[derive(Serialize, Deserialize)]
struct Saved<I> {
    settings: CurveSettings,
    scaling: Vec<(f64, f64)>,
    network: context::State<I>,
    memory: ReplayMemory,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Loss, PseudoLoss, Vector, Weight};
    use crate::numeric::{EventRng, Stream};
    use crate::oracle::{LossCurve, ScalarFeatures, VectorFeatures};

    const DIM: usize = 2;

    fn settings() -> CurveSettings {
        CurveSettings {
            context_dim: DIM,
            cosines: 8,
            hidden: [16, 16],
            seed: 5,
        }
    }

    fn unit() -> Scaling {
        Scaling {
            shift: 0.0,
            factor: 1.0,
        }
    }

    fn on_the_line() -> CurveNetwork<ScalarFeatures> {
        CurveNetwork::new(ScalarFeatures, vec![unit()], settings()).expect("in range")
    }

    fn in_space() -> CurveNetwork<VectorFeatures> {
        let coordinates = VectorFeatures::new(2).expect("small");
        CurveNetwork::new(coordinates, vec![unit(); 2], settings()).expect("in range")
    }

    /// A context in odd units and two numbers for an action.
    fn event(number: u64) -> (Context, [f64; 2]) {
        let mut rng = EventRng::new(1, number, Stream::World);
        let features = vec![1000.0 * rng.unit(), rng.unit()];
        let x = Context::dense(features).expect("finite");
        (x, [rng.unit(), rng.unit()])
    }

    fn best(x: &Context) -> f64 {
        x.as_dense().expect("dense")[0] / 1000.0
    }

    fn learn<A: Action, E: ActionFeatures<A>>(
        oracle: &mut CurveNetwork<E>,
        x: &Context,
        action: &A,
        loss: f64,
    ) -> Result<(), ContextError> {
        oracle.learn(&[Example {
            x,
            action,
            loss: Loss::new(loss).expect("a loss").into(),
            weight: Weight::ONE,
        }])
    }

    fn predict<A: Action, E: ActionFeatures<A>>(
        oracle: &CurveNetwork<E>,
        x: &Context,
        actions: &A::Batch,
    ) -> Vec<f64> {
        let (mut buffer, mut out) = (Vec::new(), Vec::new());
        LossCurve::new(oracle, x, &mut buffer)
            .expect("readable")
            .predict(actions, &mut out)
            .expect("numbers");
        out
    }

    /// What a price earns: nothing above what the customer has.
    fn unsold(x: &Context, price: f64) -> f64 {
        if price <= best(x) { 1.0 - price } else { 1.0 }
    }

    fn teach(oracle: &mut CurveNetwork<ScalarFeatures>, events: std::ops::Range<u64>) {
        for number in events {
            let (x, [price, _]) = event(number);
            let loss = unsold(&x, price);
            learn(oracle, &x, &price, loss).expect("a good event");
        }
    }

    #[test]
    fn losses_that_jump_are_learned() {
        let mut oracle = on_the_line();
        assert_eq!(predict(&oracle, &event(0).0, &vec![0.1, 0.9]), [0.5, 0.5]);
        teach(&mut oracle, 0..4_000);
        let mut errors = 0.0;
        for number in 10_000..10_300 {
            let (x, [price, _]) = event(number);
            let error = predict(&oracle, &x, &vec![price])[0] - unsold(&x, price);
            errors += error * error;
        }
        // A constant is off by 0.08.
        assert!(errors / 300.0 < 0.02, "{}", errors / 300.0);
    }

    #[test]
    fn vectors_are_learned() {
        let mut oracle = in_space();
        let cost = |x: &Context, a: [f64; 2]| {
            let (b, c) = (a[0] - best(x), a[1] - 0.5);
            (b * b + c * c).min(1.0)
        };
        for number in 0..3_000 {
            let (x, numbers) = event(number);
            let action = Vector::new(&numbers).expect("finite");
            learn(&mut oracle, &x, &action, cost(&x, numbers)).expect("a good event");
        }
        let mut errors = 0.0;
        for number in 10_000..10_300 {
            let (x, numbers) = event(number);
            let mut actions = <Vector as Action>::Batch::default();
            actions.push(&Vector::new(&numbers).expect("finite"));
            let error = predict(&oracle, &x, &actions)[0] - cost(&x, numbers);
            errors += error * error;
        }
        // A constant is off by 0.033.
        assert!(errors / 300.0 < 0.003, "{}", errors / 300.0);
    }

    #[test]
    fn a_loaded_state_goes_on_to_the_bit() {
        let mut one = on_the_line();
        teach(&mut one, 0..50);
        let mut other = on_the_line();
        RegressionOracle::<_, f64>::load(&mut other, &save(&one)).expect("the same oracle");
        for oracle in [&mut one, &mut other] {
            teach(oracle, 50..100);
        }
        assert_eq!(save(&one), save(&other));
    }

    fn save(oracle: &CurveNetwork<ScalarFeatures>) -> Vec<u8> {
        RegressionOracle::<_, f64>::save(oracle)
    }

    #[test]
    fn what_cannot_be_learned_is_refused_and_changes_nothing() {
        let mut oracle = on_the_line();
        teach(&mut oracle, 0..10);
        let before = save(&oracle);
        let (good, _) = event(1);
        let short = Context::dense(vec![0.0]).expect("finite");
        let huge = Context::dense(vec![1e31; DIM]).expect("finite");
        assert!(learn(&mut oracle, &short, &0.5, 0.5).is_err());
        assert!(learn(&mut oracle, &huge, &0.5, 0.5).is_err());
        assert!(learn(&mut oracle, &good, &f64::NAN, 0.5).is_err());
        let heavy = Example {
            x: &good,
            action: &0.5,
            loss: PseudoLoss::new(-1e31).expect("finite"),
            weight: Weight::ONE,
        };
        assert!(oracle.learn(&[heavy]).is_err());
        assert_eq!(save(&oracle), before);
    }

    #[test]
    fn states_of_other_oracles_are_refused() {
        let mut oracle = on_the_line();
        let before = save(&oracle);
        let wider = Scaling {
            factor: 0.5,
            ..unit()
        };
        let other = CurveNetwork::new(ScalarFeatures, vec![wider], settings()).expect("in range");
        let longer = CurveSettings {
            cosines: 9,
            ..settings()
        };
        let longer = CurveNetwork::new(ScalarFeatures, vec![unit()], longer).expect("in range");
        for state in [save(&other), save(&longer), in_space_state()] {
            let error = RegressionOracle::<_, f64>::load(&mut oracle, &state);
            let error = error.expect_err("another oracle's");
            assert!(matches!(error, LoadError::Mismatch { .. }), "{error}");
        }
        assert_eq!(save(&oracle), before);
    }

    fn in_space_state() -> Vec<u8> {
        RegressionOracle::<_, Vector>::save(&in_space())
    }

    #[test]
    fn values_are_frozen() {
        // A change here is value-breaking: the same events would give another model.
        let mut oracle = on_the_line();
        teach(&mut oracle, 0..200);
        let found = predict(&oracle, &event(300).0, &vec![0.5])[0];
        assert_eq!(found.to_bits(), FROZEN);
    }

    const FROZEN: u64 = 4603894877468052373;
}
