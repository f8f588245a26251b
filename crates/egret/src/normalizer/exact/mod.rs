//! β by computation: solves z(β) = 1, so κ = 1/z = 1 and the density is g itself.
//!
//! On a catalogue z is a sum over items. On an interval z is a sum of integrals over the monotone pieces of f̂, which the
//! oracle must know. `catalogue` and `line` compute z and dz/dβ as a [`Slope`], and [`solve`] finds the root. Both then
//! sample the action directly; few or no draws are rejected.

pub(crate) mod catalogue;
pub(crate) mod line;

use crate::normalizer::Certificate;
use crate::numeric::lanes::{LANES, tree};
use crate::sampling::Igw;

/// z(β), dz/dβ, and whether some actions are at the cap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slope {
    pub z: f64,
    pub dz: f64,
    pub capped: bool,
}

/// How close to 1 an exact z must be. The rest does no harm: the density is g/z with the z found.
pub(crate) const TOLERANCE: f64 = 1e-7;

/// Solves z(β) = 1 from a first guess: Newton steps within a bracket that always shrinks.
///
/// While some actions are at the cap z is close to linear in β; below, ln z is.
///
/// z((1 − τ)/γ) ≤ 1 ≤ z(1), so a solution exists. The last evaluation is at the β returned.
pub(crate) fn solve<E>(
    igw: &Igw,
    guess: f64,
    tolerance: f64,
    mut at: impl FnMut(f64) -> Result<Slope, E>,
) -> Result<(f64, f64), E> {
    let (mut low, mut high) = (igw.beta_min(), 1.0);
    let mut beta = guess.clamp(low, high);
    loop {
        let Slope { z, dz, capped } = at(beta)?;
        if (z - 1.0).abs() <= tolerance {
            return Ok((beta, z));
        }
        if z < 1.0 {
            low = beta;
        } else {
            high = beta;
        }
        let excess = if capped { z - 1.0 } else { z * libm::log(z) };
        let step = beta - excess / dz;
        let next = if low < step && step < high {
            step
        } else {
            0.5 * (low + high)
        };
        // A bracket of neighbouring numbers: no β is nearer.
        if !(low < next && next < high) {
            return Ok((beta, z));
        }
        beta = next;
    }
}

/// The certificate of a computed β: κ = 1/z is known, so δ = 0.
///
/// z is 1, unless γ is so large that neighbouring values of β give z on both sides of 1.
pub(crate) fn certificate(beta: f64, z: f64) -> Certificate {
    Certificate {
        beta,
        kappa_inf: if (z - 1.0).abs() <= 1e-6 {
            1.0
        } else {
            (1.0 / z).max(1.0)
        },
        ..Certificate::UNIFORM
    }
}

/// Σ mᵢ g(f̂ᵢ; β) and its slope, over masses m. They have the same length.
pub(crate) fn weighted(tau: f64, gamma: f64, beta: f64, masses: &[f64], fhats: &[f64]) -> Slope {
    let [shares, squares, capped] = sums(gamma, beta, masses, fhats).map(tree);
    Slope {
        z: tau * shares,
        // At the cap the share is 1, and so is its square, but it has no slope.
        dz: tau * gamma * (squares - capped),
        capped: 0.0 < capped,
    }
}

/// Lanes of Σ m·s, Σ m·s² and the mass at the cap, for s = g/τ. The caller adds them: done here, the compiler would not
/// vectorize the loop.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn sums(gamma: f64, beta: f64, masses: &[f64], fhats: &[f64]) -> [[f64; LANES]; 3] {
    let mut sums = [[0.0; LANES]; 3];
    let (mass_rows, mass_rest) = masses.as_chunks::<LANES>();
    let (fhat_rows, fhat_rest) = fhats.as_chunks::<LANES>();
    for (masses, fhats) in mass_rows.iter().zip(fhat_rows) {
        add(gamma, beta, masses, fhats, &mut sums);
    }
    // What has no mass adds nothing.
    let (mut masses, mut fhats) = ([0.0; LANES], [0.0; LANES]);
    masses[..mass_rest.len()].copy_from_slice(mass_rest);
    fhats[..fhat_rest.len()].copy_from_slice(fhat_rest);
    add(gamma, beta, &masses, &fhats, &mut sums);
    sums
}

/// Adds one row to the lanes.
#[inline(always)]
fn add(
    gamma: f64,
    beta: f64,
    masses: &[f64; LANES],
    fhats: &[f64; LANES],
    [shares, squares, capped]: &mut [[f64; LANES]; 3],
) {
    let gaps = fhats.map(|fhat| (fhat - beta).max(0.0));
    let share = gaps.map(|gap| 1.0 / (1.0 + gamma * gap));
    for lane in 0..LANES {
        shares[lane] += masses[lane] * share[lane];
    }
    for lane in 0..LANES {
        squares[lane] += masses[lane] * share[lane] * share[lane];
    }
    for lane in 0..LANES {
        capped[lane] += if gaps[lane] == 0.0 { masses[lane] } else { 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_needle_has_a_closed_form() {
        // f̂ = 1{2aτ > 1}: z(β) = (2τ − 1)/(2 + 2γ(1 − β)) + 1/(2 + 2γ(−β)₊).
        for (tau, gamma) in [(2.0, 16.0), (20.0, 304.0), (200.0, 6368.0)] {
            let igw = Igw::new(tau, gamma).expect("in range");
            let masses = [0.5 / tau, 1.0 - 0.5 / tau];
            let closed = |beta: f64| {
                (2.0 * tau - 1.0) / (2.0 + 2.0 * gamma * (1.0 - beta))
                    + 1.0 / (2.0 + 2.0 * gamma * (-beta).max(0.0))
            };
            let at = |beta| weighted(tau, gamma, beta, &masses, &[0.0, 1.0]);
            for beta in [igw.beta_min(), -0.01, 0.0, 0.3, 1.0] {
                assert!((at(beta).z - closed(beta)).abs() < 1e-12 * closed(beta));
                let step = 1e-6 / gamma;
                let difference = (at(beta + step).z - at(beta - step).z) / (2.0 * step);
                if beta != 0.0 && beta != 1.0 {
                    assert!((at(beta).dz - difference).abs() < 1e-4 * difference.abs());
                }
            }
            let (beta, z) =
                solve::<()>(&igw, 0.5, TOLERANCE, |beta| Ok(at(beta))).expect("no error");
            assert!((closed(beta) - 1.0).abs() < 1e-6 && (z - 1.0).abs() <= TOLERANCE);
        }
    }

    /// Each evaluation goes through all items or cells: that Newton's steps are right shows in how few there are.
    #[test]
    fn a_handful_of_evaluations_is_enough() {
        let n = 1_000;
        let masses = vec![1.0 / n as f64; n];
        let curves: [fn(f64) -> f64; 3] = [|a| a, |a| a * a, |a| (a - 0.5).abs().sqrt()];
        let mut evaluations = 0;
        for (tau, gamma) in [(4.0, 16.0), (20.0, 304.0), (64.0, 6_368.0)] {
            let igw = Igw::new(tau, gamma).expect("in range");
            for curve in curves {
                let fhats: Vec<f64> = (0..n).map(|i| curve((i as f64 + 0.5) / n as f64)).collect();
                for guess in [0.0, 0.5] {
                    let (beta, z) = solve::<()>(&igw, guess, TOLERANCE, |beta| {
                        evaluations += 1;
                        Ok(weighted(tau, gamma, beta, &masses, &fhats))
                    })
                    .expect("no error");
                    assert!((z - 1.0).abs() <= TOLERANCE, "{z} at {beta}");
                }
            }
        }
        // 159 for these 18 solutions.
        assert!(evaluations < 175, "{evaluations}");
    }

    #[test]
    fn a_certificate_states_the_kappa_of_its_z() {
        for (z, kappa) in [
            (1.0, 1.0),
            (1.0 + 1e-7, 1.0),
            (0.5, 2.0),
            (0.8, 1.25),
            (2.0, 1.0),
        ] {
            let found = certificate(0.25, z);
            assert_eq!((found.beta, found.kappa_inf), (0.25, kappa), "{z}");
        }
    }

    #[test]
    fn a_constant_is_solved_at_the_end_of_the_range() {
        let igw = Igw::new(7.0, 3.0).expect("in range");
        let at = |beta| Ok::<_, ()>(weighted(7.0, 3.0, beta, &[1.0], &[0.0]));
        let (beta, _) = solve(&igw, 0.5, TOLERANCE, at).expect("no error");
        assert!((beta - igw.beta_min()).abs() < 1e-6);
    }
}
