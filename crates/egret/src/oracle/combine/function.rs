use crate::codec::{LoadError, saved_state};
use crate::event::{Action, ContextError};
use crate::oracle::{Example, MonotonePieces, RegressionOracle};

/// f̂ given by your function: `f(x, actions, out)` writes one prediction for each action.
///
/// It learns nothing: `learn` accepts and ignores every batch, and the saved state is empty. For a model that learns,
/// implement [`RegressionOracle`].
///
/// ```
/// use egret::{FunctionOracle, LossCurve};
///
/// let oracle = FunctionOracle::new(|x: &f64, prices: &Vec<f64>, out: &mut [f64]| {
///     for (out, price) in out.iter_mut().zip(prices) {
///         *out = (price - x).abs();
///     }
/// });
/// let (mut buffer, mut fhat) = (Vec::new(), Vec::new());
/// let curve = LossCurve::<f64, f64>::new(&oracle, &0.5, &mut buffer)?;
/// curve.predict(&vec![0.25, 1.0], &mut fhat)?;
/// assert_eq!(fhat, [0.25, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FunctionOracle<F> {
    f: F,
}

impl<F> FunctionOracle<F> {
    /// `f` takes a context, a batch of actions, and a slice for as many predictions.
    pub fn new(f: F) -> Self {
        Self { f }
    }
}

impl<X: ?Sized, A: Action, F> RegressionOracle<X, A> for FunctionOracle<F>
where
    F: Fn(&X, &A::Batch, &mut [f64]) + Send + Sync,
{
    fn prepare(&self, _x: &X, _prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        Ok(())
    }

    fn predict(&self, x: &X, _prepared: &[f64], actions: &A::Batch, out: &mut [f64]) {
        (self.f)(x, actions, out);
    }

    fn learn(&mut self, _batch: &[Example<'_, X, A>]) -> Result<(), ContextError> {
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        saved_state::expect_same("bytes of state:", &state.len(), &0)
    }
}

/// A [`FunctionOracle`] on an interval that knows its minimum and its monotone pieces.
///
/// `pieces(x, out)` appends the break points, between which f̂(x, ·) is monotone and smooth, to the empty `out` in
/// increasing order, and returns where f̂(x, ·) is least. It is called once for each context. Points that are not finite
/// or out of order make the context an error. Whether f̂ is monotone between them is not fully checked: if it is not,
/// exact normalization may state wrong densities.
///
/// ```
/// use egret::{FunctionOnInterval, LossCurve};
///
/// let oracle = FunctionOnInterval::new(
///     |x: &f64, prices: &Vec<f64>, out: &mut [f64]| {
///         for (out, price) in out.iter_mut().zip(prices) {
///             *out = (price - x).abs();
///         }
///     },
///     |x: &f64, points: &mut Vec<f64>| {
///         points.push(*x);
///         *x
///     },
/// );
/// let mut buffer = Vec::new();
/// let curve = LossCurve::<f64, f64>::new(&oracle, &0.5, &mut buffer)?;
/// let (pieces, prepared) = curve.monotone_pieces().expect("it tells them");
/// assert_eq!(pieces.argmin(prepared), 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FunctionOnInterval<F, P> {
    f: F,
    pieces: P,
}

impl<F, P> FunctionOnInterval<F, P> {
    /// `f` as in [`FunctionOracle::new`], and a function that gives its pieces.
    pub fn new(f: F, pieces: P) -> Self {
        Self { f, pieces }
    }
}

impl<X: ?Sized, F, P> RegressionOracle<X, f64> for FunctionOnInterval<F, P>
where
    F: Fn(&X, &Vec<f64>, &mut [f64]) + Send + Sync,
    P: Fn(&X, &mut Vec<f64>) -> f64 + Send + Sync,
{
    /// The break points, then the argmin.
    fn prepare(&self, x: &X, prepared: &mut Vec<f64>) -> Result<(), ContextError> {
        let argmin = (self.pieces)(x, prepared);
        let refused = |what: String| Err(ContextError::Refused(what));
        if !argmin.is_finite() {
            return refused(format!("the argmin is {argmin}, expected a finite number"));
        }
        for point in &*prepared {
            if !point.is_finite() {
                return refused(format!(
                    "a break point is {point}, expected a finite number"
                ));
            }
        }
        for pair in prepared.windows(2) {
            if pair[1] < pair[0] {
                let [first, second] = [pair[0], pair[1]];
                return refused(format!("break point {second} comes after {first}"));
            }
        }
        prepared.push(argmin);
        Ok(())
    }

    fn predict(&self, x: &X, _prepared: &[f64], actions: &Vec<f64>, out: &mut [f64]) {
        (self.f)(x, actions, out);
    }

    fn learn(&mut self, _batch: &[Example<'_, X, f64>]) -> Result<(), ContextError> {
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LoadError> {
        saved_state::expect_same("bytes of state:", &state.len(), &0)
    }

    fn monotone_pieces(&self) -> Option<&dyn MonotonePieces> {
        Some(&BreakPointsThenArgmin)
    }
}

/// How a [`FunctionOnInterval`] lays out what it prepares: nothing of it depends on the functions.
struct BreakPointsThenArgmin;

impl MonotonePieces for BreakPointsThenArgmin {
    fn argmin(&self, prepared: &[f64]) -> f64 {
        *prepared.last().expect("prepare ends with the argmin")
    }

    fn break_points(&self, prepared: &[f64], out: &mut Vec<f64>) {
        out.extend_from_slice(&prepared[..prepared.len() - 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Batch, Context, Item, Loss, Weight};
    use crate::oracle::LossCurve;

    /// f̂ = |a − x₀|, and the pieces given as the rest of the context.
    fn told_by_the_context() -> impl RegressionOracle<[f64], f64> {
        FunctionOnInterval::new(
            |x: &[f64], actions: &Vec<f64>, out: &mut [f64]| {
                for (out, action) in out.iter_mut().zip(actions) {
                    *out = (action - x[0]).abs();
                }
            },
            |x: &[f64], points: &mut Vec<f64>| {
                points.extend_from_slice(&x[1..]);
                x[0]
            },
        )
    }

    #[test]
    fn pieces_are_those_told() {
        let oracle = told_by_the_context();
        let (mut buffer, mut fhat, mut points) = (Vec::new(), Vec::new(), Vec::new());
        let x = [0.25, 0.1, 0.25, 0.25, 0.7];
        let curve = LossCurve::new(&oracle, &x[..], &mut buffer).expect("in order");
        curve.predict(&vec![0.0, 1.0], &mut fhat).expect("numbers");
        assert_eq!(fhat, [0.25, 0.75]);
        let (pieces, prepared) = curve.monotone_pieces().expect("told");
        assert_eq!(pieces.argmin(prepared), 0.25);
        pieces.break_points(prepared, &mut points);
        assert_eq!(points, x[1..]);
    }

    #[test]
    fn pieces_out_of_order_are_refused() {
        let oracle = told_by_the_context();
        let refuse = |x: &[f64]| {
            let error = oracle.prepare(x, &mut Vec::new()).expect_err("no pieces");
            error.to_string()
        };
        assert_eq!(refuse(&[0.5, 0.7, 0.6]), "break point 0.6 comes after 0.7");
        assert_eq!(
            refuse(&[0.5, 0.7, f64::NAN]),
            "a break point is NaN, expected a finite number"
        );
        assert_eq!(
            refuse(&[f64::INFINITY]),
            "the argmin is inf, expected a finite number"
        );
    }

    #[test]
    fn any_context_and_action_will_do() {
        let oracle = FunctionOracle::new(|x: &str, items: &Vec<Item>, out: &mut [f64]| {
            for (out, item) in out.iter_mut().zip(items) {
                *out = f64::from(item.0) / x.len() as f64;
            }
        });
        let oracle: &dyn RegressionOracle<str, Item> = &oracle;
        let (mut buffer, mut fhat, mut items) = (Vec::new(), Vec::new(), Vec::new());
        Batch::push(&mut items, &Item(2));
        let curve = LossCurve::new(oracle, "four", &mut buffer).expect("any");
        curve.predict(&items, &mut fhat).expect("a number");
        assert_eq!(fhat, [0.5]);
        assert!(curve.monotone_pieces().is_none());
    }

    #[test]
    fn there_is_no_state() {
        let mut oracle = FunctionOracle::new(|_: &Context, _: &Vec<f64>, out: &mut [f64]| {
            out.fill(0.5);
        });
        let oracle: &mut dyn RegressionOracle<Context, f64> = &mut oracle;
        let x = Context::dense(vec![]).expect("finite");
        let example = Example {
            x: &x,
            action: &0.0,
            loss: Loss::new(1.0).expect("in the unit interval").into(),
            weight: Weight::ONE,
        };
        oracle.learn(&[example]).expect("ignored");
        assert!(oracle.save().is_empty());
        assert!(oracle.load(&[]).is_ok());
        assert!(matches!(oracle.load(&[0]), Err(LoadError::Mismatch { .. })));
    }
}
