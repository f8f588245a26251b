pub(crate) mod curve;
pub(crate) mod dispersion;
pub(crate) mod linear;
pub(crate) mod network;
pub(crate) mod network_of_eight;

use crate::event::Context;
use crate::oracle::argmin::network_of_eight::EIGHT;

/// Where on the interval the best action is, as a function of the context: the part of
/// [`ArgminDispersion`](crate::ArgminDispersion) before the sigmoid.
///
/// A model is its shape alone. Its parameters lie in one flat slice that the oracle owns, always as long
/// as what `initial` gives; so does the scratch space, always of length `scratch`. If `backward`
/// is not the gradient of `forward`, the oracle learns something else.
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
    /// Kind and size in words. A saved state is taken on by the same shape alone.
    fn shape(&self) -> String;

    /// How many features a context has.
    fn dim(&self) -> usize;

    /// The parameters before anything is learned.
    fn initial(&self) -> Vec<f64>;

    /// How many numbers of scratch space `forward` and `backward` share.
    fn scratch(&self) -> usize;

    /// The model's value y. Leaves in `scratch`, whose content is arbitrary before, what `backward` needs.
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

    /// `forward` of each of eight contexts, to the bit. Worth its own code where that is faster.
    fn forward_eight(
        &self,
        parameters: &[f64],
        xs: [&Context; EIGHT],
        scratch: &mut [f64],
    ) -> [f64; EIGHT] {
        forward_each(self, parameters, xs, scratch)
    }

    /// `backward` of each in order, to the bit, right after `forward_eight`.
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

/// The way back of [`forward_each`].
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
