use crate::numeric::bounds::Bounds;

/// How many parameters the head has: q, then three weights for z ≥ 0, then three for z < 0.
pub(crate) const HEAD: usize = 7;

/// How many numbers [`Dispersion::write`] appends.
const PREPARED: usize = 9;

/// Where q and all weights start.
pub(crate) const START: [f64; HEAD] = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// The paper's curve of losses around the best action â, for one context.
///
/// f̂(x, a) = q + Σ_{k ∈ {1, 3/2, 2}} |w_k| · |z|ᵏ,  z = (â(x) − a) / width
///
/// One set of weights for z ≥ 0, another for z < 0: too little and too much may cost differently. Weights count by
/// absolute value, so â is the minimum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Dispersion {
    argmin: f64,
    inverse_width: f64,
    q: f64,
    /// |w| for z ≥ 0, which is a ≤ â.
    below: [f64; 3],
    /// |w| for z < 0.
    above: [f64; 3],
}

impl Dispersion {
    /// The curve with its argmin at low + `share` · width.
    #[inline(always)]
    pub(crate) fn new(head: &[f64; HEAD], bounds: &Bounds, share: f64) -> Self {
        let [q, a, b, c, d, e, f] = *head;
        let argmin = bounds.low() + bounds.width() * share;
        Self {
            // Rounding may lead past the end; NaN has to stay NaN.
            argmin: if argmin > bounds.high() {
                bounds.high()
            } else {
                argmin
            },
            inverse_width: 1.0 / bounds.width(),
            q,
            below: [a.abs(), b.abs(), c.abs()],
            above: [d.abs(), e.abs(), f.abs()],
        }
    }

    /// Appends the curve to what is prepared for a context.
    pub(crate) fn write(&self, prepared: &mut Vec<f64>) {
        prepared.extend_from_slice(&[self.argmin, self.inverse_width, self.q]);
        prepared.extend_from_slice(&self.below);
        prepared.extend_from_slice(&self.above);
    }

    /// What [`write`](Self::write) has written.
    pub(crate) fn read(prepared: &[f64]) -> Self {
        let prepared: &[f64; PREPARED] = prepared
            .try_into()
            .expect("prepared holds the nine numbers of the curve");
        let [argmin, inverse_width, q, a, b, c, d, e, f] = *prepared;
        Self {
            argmin,
            inverse_width,
            q,
            below: [a, b, c],
            above: [d, e, f],
        }
    }

    /// â.
    pub(crate) fn argmin(&self) -> f64 {
        self.argmin
    }

    /// f̂(x, a), not clamped.
    #[inline(always)]
    pub(crate) fn at(&self, action: f64) -> f64 {
        let z = (self.argmin - action) * self.inverse_width;
        let [w1, w2, w3] = self.side(z);
        let r = z.abs();
        self.q + r * (w1 + w2 * r.sqrt() + w3 * r)
    }

    /// f̂(x, a) and its derivatives, by the parameters of the head and by z.
    #[inline(always)]
    pub(crate) fn gradient(&self, head: &[f64; HEAD], action: f64) -> Gradient {
        let z = (self.argmin - action) * self.inverse_width;
        let [w1, w2, w3] = self.side(z);
        let r = z.abs();
        let root = r.sqrt();
        let powers = [r, r * root, r * r];
        let mut by_head = [0.0; HEAD];
        by_head[0] = 1.0;
        let first = if z >= 0.0 { 1 } else { 4 };
        for k in 0..3 {
            by_head[first + k] = sign(head[first + k]) * powers[k];
        }
        Gradient {
            value: self.q + r * (w1 + w2 * root + w3 * r),
            by_head,
            by_z: sign(z) * (w1 + 1.5 * w2 * root + 2.0 * w3 * r),
        }
    }

    /// Chosen element by element, so that the compiler uses blends and not branches.
    #[inline(always)]
    fn side(&self, z: f64) -> [f64; 3] {
        let pick = |below: f64, above: f64| if z >= 0.0 { below } else { above };
        [
            pick(self.below[0], self.above[0]),
            pick(self.below[1], self.above[1]),
            pick(self.below[2], self.above[2]),
        ]
    }
}

/// f̂ at one action and its derivatives.
pub(crate) struct Gradient {
    pub(crate) value: f64,
    pub(crate) by_head: [f64; HEAD],
    /// At z = 0, where the curve has its kink: 0.
    pub(crate) by_z: f64,
}

/// The derivative of |value|, taken as 0 at 0.
#[inline(always)]
fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

/// f̂(x, a) for each action; `out` is as long as `actions`.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub(crate) fn predict(curve: &Dispersion, actions: &[f64], out: &mut [f64]) {
    assert_eq!(actions.len(), out.len(), "one prediction for each action");
    let curve = *curve;
    for (out, &action) in out.iter_mut().zip(actions) {
        *out = curve.at(action);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WEIGHTS: [f64; HEAD] = [0.1, 0.5, -0.25, 2.0, -1.5, 0.75, 0.125];

    #[test]
    fn the_curve_is_the_formula() {
        let bounds = Bounds::new(-1.0, 3.0).expect("ordered");
        let curve = Dispersion::new(&WEIGHTS, &bounds, 0.25);
        assert_eq!(curve.argmin(), 0.0);
        let actions: Vec<f64> = (0..101).map(|i| -1.0 + 0.04 * f64::from(i)).collect();
        let mut out = vec![0.0; actions.len()];
        predict(&curve, &actions, &mut out);
        for (&a, &found) in actions.iter().zip(&out) {
            let z = (0.0 - a) / 4.0;
            let w: [f64; 3] = if z >= 0.0 {
                [0.5, 0.25, 2.0]
            } else {
                [1.5, 0.75, 0.125]
            };
            let expected = 0.1 + w[0] * z.abs() + w[1] * z.abs().powf(1.5) + w[2] * z.abs().powi(2);
            assert!((found - expected).abs() < 1e-14, "{a}: {found} {expected}");
            assert_eq!(found, curve.at(a));
            assert_eq!(found, curve.gradient(&WEIGHTS, a).value);
        }
    }

    #[test]
    fn a_curve_that_is_written_is_read() {
        let bounds = Bounds::new(0.0, 0.3).expect("ordered");
        let curve = Dispersion::new(&WEIGHTS, &bounds, 0.7);
        let mut prepared = Vec::new();
        curve.write(&mut prepared);
        assert_eq!(Dispersion::read(&prepared), curve);
    }

    #[test]
    fn at_the_argmin_only_q_has_a_slope() {
        let bounds = Bounds::new(0.0, 1.0).expect("ordered");
        let curve = Dispersion::new(&START, &bounds, 0.5);
        let gradient = curve.gradient(&START, 0.5);
        assert_eq!((gradient.value, gradient.by_z), (0.0, 0.0));
        assert_eq!(gradient.by_head, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn not_a_number_goes_through() {
        let bounds = Bounds::new(0.0, 1.0).expect("ordered");
        assert!(Dispersion::new(&START, &bounds, 0.5).at(f64::NAN).is_nan());
        assert!(Dispersion::new(&START, &bounds, f64::NAN).at(0.5).is_nan());
    }

    proptest! {
        #[test]
        fn the_argmin_is_in_the_interval(low in -1e3..1e3, width in 1e-3..1e3, share in 0.0..=1.0) {
            let bounds = Bounds::new(low, low + width).expect("ordered");
            for share in [0.0, share, 1.0 - f64::EPSILON, 1.0] {
                let argmin = Dispersion::new(&START, &bounds, share).argmin();
                prop_assert!((bounds.low()..=bounds.high()).contains(&argmin));
            }
        }

        #[test]
        fn the_curve_falls_and_then_rises(
            head in proptest::array::uniform7(-2.0..2.0),
            share in 0.0..1.0,
            mut actions in proptest::collection::vec(-3.0..5.0, 2..50),
        ) {
            let bounds = Bounds::new(-3.0, 5.0).expect("ordered");
            let curve = Dispersion::new(&head, &bounds, share);
            actions.push(curve.argmin());
            actions.sort_by(f64::total_cmp);
            for pair in actions.windows(2) {
                let (left, right) = (curve.at(pair[0]), curve.at(pair[1]));
                if pair[1] <= curve.argmin() {
                    prop_assert!(right <= left + 1e-15);
                } else {
                    prop_assert!(left <= right + 1e-15);
                }
            }
        }
    }
}
