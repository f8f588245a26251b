//! The paper's oracle on an interval: a model of the best action, and a curve around it.
//!
//! f̂(x, a) = q + Σ_{k ∈ {1, 3/2, 2}} |w_k| · |z|ᵏ,  z = (â(x) − a) / (high − low)
//!
//! [`ArgminDispersion`](crate::ArgminDispersion) holds the curve and learns. â(x) comes from an [`ArgminModel`]: linear,
//! a network with two hidden layers, or your own.
//!
//! f̂ falls up to â and rises after it, so its monotone pieces are known and β can be computed exactly.

pub(crate) mod curve;
pub(crate) mod dispersion;
pub(crate) mod linear;
pub(crate) mod network;
pub(crate) mod network_of_eight;

use crate::event::Context;
use crate::oracle::argmin::network_of_eight::EIGHT;

/// A model y(x) of the best action â(x): [`ArgminDispersion`](crate::ArgminDispersion) puts a sigmoid after it.
///
/// A model holds only its shape. The oracle owns the parameters, a flat slice as long as `initial` returns, and the
/// scratch space, of length `scratch`. `backward` must be the gradient of `forward`, otherwise the oracle learns
/// something else.
///
/// ```
/// use egret::{ArgminDispersion, ArgminModel, Context, LearningRate};
///
/// /// The same for all contexts.
/// struct Constant;
///
/// impl ArgminModel for Constant {
///     fn shape(&self) -> String { "a constant".into() }
///     fn dim(&self) -> usize { 1 }
///     fn initial(&self) -> Vec<f64> { vec![0.0] }
///     fn scratch(&self) -> usize { 0 }
///     fn forward(&self, parameters: &[f64], _: &Context, _: &mut [f64]) -> f64 {
///         parameters[0]
///     }
///     fn backward(&self, _: &[f64], _: &Context, dy: f64, _: &mut [f64], gradient: &mut [f64]) {
///         gradient[0] += dy;
///     }
/// }
///
/// assert!(ArgminDispersion::new(Constant, (0.0, 1.0), LearningRate::default()).is_ok());
/// ```
pub trait ArgminModel: Send + Sync {
    /// Kind and size in words. A saved state loads only into the same shape.
    fn shape(&self) -> String;

    /// How many features a context has.
    fn dim(&self) -> usize;

    /// The parameters before anything is learned.
    fn initial(&self) -> Vec<f64>;

    /// Takes contexts of `dim` features from now on, the new ones last. Returns where in the parameters those of the new
    /// features go; they start at 0. None if the model cannot grow.
    fn grow(&mut self, _dim: usize) -> Option<usize> {
        None
    }

    /// How many numbers of scratch space `forward` and `backward` share.
    fn scratch(&self) -> usize;

    /// The model's value y. `scratch` starts with arbitrary content; leave in it what `backward` needs.
    fn forward(&self, parameters: &[f64], x: &Context, scratch: &mut [f64]) -> f64;

    /// Adds `dy` · ∂y/∂θ to `gradient`, right after `forward` at the same parameters and context.
    fn backward(
        &self,
        parameters: &[f64],
        x: &Context,
        dy: f64,
        scratch: &mut [f64],
        gradient: &mut [f64],
    );

    /// How many numbers of scratch space `forward_eight` and `backward_eight` share; 8 · `scratch` or more.
    fn scratch_of_eight(&self) -> usize {
        EIGHT * self.scratch()
    }

    /// The same bits as `forward` of each of eight contexts. Override it if you can do it faster.
    fn forward_eight(
        &self,
        parameters: &[f64],
        xs: [&Context; EIGHT],
        scratch: &mut [f64],
    ) -> [f64; EIGHT] {
        forward_each(self, parameters, xs, scratch)
    }

    /// The same bits as `backward` of each in order, right after `forward_eight`.
    fn backward_eight(
        &self,
        parameters: &[f64],
        xs: [&Context; EIGHT],
        dy: [f64; EIGHT],
        scratch: &mut [f64],
        gradient: &mut [f64],
    ) {
        backward_each(self, parameters, xs, dy, scratch, gradient);
    }
}

/// Eight contexts one by one, each in an eighth of the scratch space.
pub(crate) fn forward_each<M: ArgminModel + ?Sized>(
    model: &M,
    parameters: &[f64],
    xs: [&Context; EIGHT],
    scratch: &mut [f64],
) -> [f64; EIGHT] {
    let own = model.scratch();
    std::array::from_fn(|place| {
        model.forward(parameters, xs[place], &mut scratch[place * own..][..own])
    })
}

/// `backward` for [`forward_each`].
pub(crate) fn backward_each<M: ArgminModel + ?Sized>(
    model: &M,
    parameters: &[f64],
    xs: [&Context; EIGHT],
    dy: [f64; EIGHT],
    scratch: &mut [f64],
    gradient: &mut [f64],
) {
    let own = model.scratch();
    for (place, (x, dy)) in xs.into_iter().zip(dy).enumerate() {
        let scratch = &mut scratch[place * own..][..own];
        model.backward(parameters, x, dy, scratch, gradient);
    }
}
