/// (1, x, a, a², a ⊗ x, aᵢaⱼ): the products of knobs are left out where there are more than 20 of them.
pub(super) fn features(x: &[f64], a: &[f64]) -> Vec<f64> {
    let mut phi = vec![1.0];
    phi.extend_from_slice(x);
    phi.extend_from_slice(a);
    phi.extend(a.iter().map(|a| a * a));
    phi.extend(a.iter().flat_map(|a| x.iter().map(move |x| a * x)));
    if a.len() <= MOST_WITH_PRODUCTS {
        for (place, first) in a.iter().enumerate() {
            phi.extend(a[place + 1..].iter().map(|second| first * second));
        }
    }
    phi
}

const MOST_WITH_PRODUCTS: usize = 20;

/// The knobs in [−1, 1] of the least ⟨θ, φ(x, a)⟩, as coordinate steps find them from the middle of the box.
pub(super) fn minimum(theta: &[f64], x: &[f64], knobs: usize) -> Vec<f64> {
    let (linear, rest) = theta[1 + x.len()..].split_at(knobs);
    let (squares, rest) = rest.split_at(knobs);
    let (by_context, products) = rest.split_at(knobs * x.len());
    let mut best = vec![0.0; knobs];
    // Σⱼ θᵢⱼaⱼ of each knob i, kept as the knobs move.
    let mut others = vec![0.0; knobs];
    let slopes = linear.iter().enumerate().map(|(knob, theta)| {
        let own = by_context[knob * x.len()..][..x.len()].iter().zip(x);
        theta + own.map(|(theta, x)| theta * x).sum::<f64>()
    });
    let slopes: Vec<f64> = slopes.collect();
    let sweeps = if products.is_empty() { 1 } else { 10 };
    for _ in 0..sweeps {
        for knob in 0..knobs {
            let (slope, curvature) = (slopes[knob] + others[knob], 2.0 * squares[knob]);
            let value = if 0.0 < curvature {
                (-slope / curvature).clamp(-1.0, 1.0)
            } else {
                -slope.signum()
            };
            let step = value - best[knob];
            best[knob] = value;
            if products.is_empty() {
                continue;
            }
            for (other, sum) in others.iter_mut().enumerate().filter(|of| of.0 != knob) {
                let (first, second) = (knob.min(other), knob.max(other));
                // Rows of the triangle above the diagonal, each one shorter than the last.
                let row = first * (2 * knobs - first - 1) / 2;
                *sum += step * products[row + second - first - 1];
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_of_a_tilted_bowl_is_found() {
        // (a + b/2 − .4·x)² + (b − .2)² = … in the features' order 1, x, a, b, a², b², ax, bx, ab.
        let theta = [0.04, 0.0, 0.0, -0.4, 1.0, 1.25, -0.8, -0.4, 1.0];
        let at = |x: f64, a: f64, b: f64| -> f64 {
            let phi = features(&[x], &[a, b]);
            phi.iter().zip(theta).map(|(phi, theta)| phi * theta).sum()
        };
        assert!((at(0.5, 0.3, 0.1) - (0.15_f64.powi(2) + 0.01) + 0.04).abs() < 1e-12);
        let best = minimum(&theta, &[0.5], 2);
        assert!(
            (best[0] - 0.1).abs() < 1e-5 && (best[1] - 0.2).abs() < 1e-5,
            "{best:?}"
        );
        // Without curvature the end with the lower loss.
        assert_eq!(minimum(&[0.0, 0.0, 1.0, 0.0, 0.0], &[0.0], 1), [-1.0]);
    }
}
