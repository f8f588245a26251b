use crate::normalizer::{
    Certificate, CertifiedBy, Draws, FixedSample, Normalizer, Tolerance,
    martingale::wealth::LogProduct, uniform_certificate,
};
use crate::numeric::lanes::LANES;
use crate::sampling::{Igw, SampleError, normalizing_constant::mean_weight};

/// Two martingales as in the paper's Algorithm 3, each a mixture over a few constant bets.
///
/// W⁻ₙ(β) = Σⱼ πⱼ Πₘ (1 + νⱼ (1 − g(aₘ; β))),  W⁺ₙ(β) = Σⱼ πⱼ Πₘ (1 + vⱼ (g(aₘ; β) − 1/κ∞))
///
/// A β with W⁻(β) ≥ 2/δ and W⁺(β) ≥ 2/δ has z(β) ∈ [1/κ∞, 1], except with probability δ, by the monotonicity that
/// Algorithm 3 uses. Constant bets lose no draws to learning them, and have two more merits. The wealth at any β is a
/// product over the draws, so it is computed a few times and not after each draw. And one β that fails on both sides
/// shows that no β will do yet.
///
/// Where γ is so large that g is close to τ times an indicator, no bet does better than counting, and
/// [`FixedSample`] takes over before the first draw.
#[derive(Debug, Clone)]
pub struct MixtureMartingale {
    tolerance: Tolerance,
    counting: FixedSample,
    backstop: FixedSample,
    log_threshold: f64,
}

/// Bets on z < 1, as fractions of the largest, 1/(τ − 1), and the wealth each starts with.
const LOWER_BETS: [(f64, f64); 2] = [(0.95, 0.8), (0.5, 0.2)];

/// Bets on z > 1/κ∞ in units of 1/τ (and at most 0.95 κ∞), and the wealth each starts with.
const UPPER_BETS: [(f64, f64); 4] = [(1.0, 0.25), (4.0, 0.25), (16.0, 0.25), (64.0, 0.25)];

impl MixtureMartingale {
    /// Keeps the tolerance with few draws.
    pub fn new(tolerance: Tolerance) -> Self {
        let (backstop, share) = FixedSample::with_twice_the_draws(tolerance);
        Self {
            tolerance,
            counting: FixedSample::new(tolerance),
            backstop,
            log_threshold: libm::log(2.0 / (tolerance.delta() - share)),
        }
    }
}

impl Normalizer for MixtureMartingale {
    fn certify(&self, igw: &Igw, draws: &mut Draws<'_>) -> Result<Certificate, SampleError> {
        if let Some(certificate) = uniform_certificate(igw) {
            return Ok(certificate);
        }
        if looks_like_a_step(igw, self.tolerance.kappa_inf()) {
            return self.counting.certify(igw, draws);
        }
        let certified = |beta, n| self.tolerance.certificate(beta, CertifiedBy::Mixture, n);
        let bets = Bets::new(igw, self.tolerance.kappa_inf());
        let most = self.backstop.draws(igw);
        // Even if g = 0 throughout, β could not rise above (1 − τ)/γ much sooner: looking earlier is not worth its cost.
        let least = 1.15 * self.log_threshold / libm::log1p(-bets.bets[0]);
        // At least one: for τ near 1 a single draw tells.
        let mut n = (igw.tau() / 4.0).max(16.0).min(least).max(1.0) as usize;
        let mut stakes = Stakes::at(igw.beta_min());
        let mut searching = false;
        while n < most {
            draws.extend_to(n)?;
            let fhats = draws.seen();
            let search = if (n as f64) < least {
                bets.at_beta_min(igw, fhats, &mut stakes, self.log_threshold)
            } else {
                if !searching {
                    // Every step of a search goes through all draws. A quarter of them shows roughly where it will end.
                    stakes = Stakes::at(typical_beta(igw, fhats));
                    bets.search(igw, &fhats[..n / 4], &mut stakes, Goal::Balance);
                    stakes = Stakes::at(stakes.beta);
                    searching = true;
                }
                bets.search(igw, fhats, &mut stakes, Goal::Reach(self.log_threshold))
            };
            match search {
                Search::Found(beta) => return Ok(certified(beta, n)),
                Search::NeedsMore { log_wealth } => {
                    // The wealth grows by about the same factor with each draw: how many more the poorer side needs.
                    let now = n as f64;
                    let wanted = now * self.log_threshold / log_wealth.max(1e-3);
                    n = if least <= now {
                        wanted.clamp(1.06 * now, 1.15 * now)
                    } else if wanted < least {
                        wanted.clamp(1.1 * now, 2.0 * now)
                    } else {
                        least
                    }
                    .ceil() as usize;
                }
            }
        }
        draws.extend_to(most)?;
        let (fhats, rng, room) = draws.seen_and_rng();
        Ok(certified(self.backstop.beta(igw, fhats, rng, room), most))
    }
}

/// Whether g at the right β is close to τ times an indicator, if f̂ rises from its minimum with a slope about 1.
///
/// Then z(min f̂) = (2τ/γ) ln(1 + γ/2). If that is far below 1/κ∞, β must lie above the minimum, and most of z comes
/// from actions at the cap. A wrong guess costs draws but never the tolerance, since it is made before the first draw.
fn looks_like_a_step(igw: &Igw, kappa_inf: f64) -> bool {
    let at_minimum = 2.0 * igw.tau() / igw.gamma() * libm::log1p(0.5 * igw.gamma());
    at_minimum * kappa_inf < 0.5
}

/// A β at which the mean of g over the first draws is about ½: where to look first.
fn typical_beta(igw: &Igw, fhats: &[f64]) -> f64 {
    let few = &fhats[..fhats.len().min(256)];
    let least = few.iter().copied().fold(1.0, f64::min);
    // If f̂ is not a step, it lies within τ/γ of the least; otherwise the search finds it.
    let reach = igw.tau() / igw.gamma();
    let (mut low, mut high) = (least - reach, (least + reach).min(1.0));
    for _ in 0..7 {
        let middle = 0.5 * (low + high);
        if mean_weight(igw, middle, few) < 0.5 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

struct Bets {
    /// Bets on g itself: those of the lower side are negative.
    bets: [f64; BETS],
    /// What a factor is where g = 0.
    offsets: [f64; BETS],
}

/// The products of all bets at one β over the draws so far; further draws are multiplied in.
struct Stakes {
    beta: f64,
    draws: usize,
    products: [LogProduct; BETS],
}

impl Stakes {
    fn at(beta: f64) -> Self {
        Self {
            beta,
            draws: 0,
            products: [LogProduct::ONE; BETS],
        }
    }
}

/// What a search is for.
#[derive(Clone, Copy)]
enum Goal {
    /// Both log wealths at this or above.
    Reach(f64),
    /// Both log wealths about the same.
    Balance,
}

enum Search {
    Found(f64),
    /// No β will do yet. Where the search ended both sides are about equally rich, the poorer with `log_wealth`.
    NeedsMore {
        log_wealth: f64,
    },
}

impl Bets {
    fn new(igw: &Igw, kappa_inf: f64) -> Self {
        let lower = LOWER_BETS.map(|(bet, _)| bet / (igw.tau() - 1.0));
        let upper = UPPER_BETS.map(|(bet, _)| (bet / igw.tau()).min(0.95 * kappa_inf));
        let side = |j: usize| j.checked_sub(LOWER_BETS.len());
        Self {
            bets: std::array::from_fn(|j| side(j).map_or_else(|| -lower[j], |j| upper[j])),
            offsets: std::array::from_fn(|j| {
                side(j).map_or_else(|| 1.0 + lower[j], |j| 1.0 - upper[j] / kappa_inf)
            }),
        }
    }

    /// At (1 − τ)/γ it is certain that z ≤ 1, and one side is enough.
    fn at_beta_min(
        &self,
        igw: &Igw,
        fhats: &[f64],
        stakes: &mut Stakes,
        log_threshold: f64,
    ) -> Search {
        let (_, log_wealth) = self.log_wealths(igw, fhats, stakes);
        if log_threshold <= log_wealth {
            Search::Found(stakes.beta)
        } else {
            Search::NeedsMore { log_wealth }
        }
    }

    /// Looks for a β at which both wealths reach the threshold, or are equal; starts from the β of `stakes`.
    ///
    /// ln W⁻ decreases in β and ln W⁺ increases. A β that fails on one side shows where to go on; one that fails on both
    /// shows that there is none. With more draws the search continues from there.
    fn search(&self, igw: &Igw, fhats: &[f64], stakes: &mut Stakes, goal: Goal) -> Search {
        let mut low = None;
        let mut high = None;
        let mut step = (4.0 + igw.tau() / 16.0) / igw.gamma();
        loop {
            let beta = stakes.beta;
            let (lower, upper) = self.log_wealths(igw, fhats, stakes);
            let log_wealth = lower.min(upper);
            let apart = match (low, high) {
                (Some((low, _)), Some((high, _))) => high - low,
                _ => f64::INFINITY,
            };
            let settled = match goal {
                Goal::Reach(log_threshold) => {
                    if log_threshold <= log_wealth {
                        return Search::Found(beta);
                    }
                    lower.max(upper) < log_threshold
                }
                Goal::Balance => (lower - upper).abs() < 0.2,
            };
            if settled || apart < 1e-3 / igw.gamma() {
                return Search::NeedsMore { log_wealth };
            }
            if upper < lower {
                low = Some((beta, lower - upper));
            } else {
                high = Some((beta, upper - lower));
            }
            *stakes = Stakes::at(match (low, high) {
                (Some((low, below)), Some((high, above))) => {
                    low + (high - low) * (below / (below + above)).clamp(0.1, 0.9)
                }
                (Some((low, _)), None) => low + step,
                (None, Some((high, _))) => high - step,
                (None, None) => unreachable!("one side is always the poorer"),
            });
            step *= 2.0;
        }
    }

    /// (ln W⁻, ln W⁺) at the β of the stakes, after all the draws.
    fn log_wealths(&self, igw: &Igw, fhats: &[f64], stakes: &mut Stakes) -> (f64, f64) {
        let new = &fhats[stakes.draws..];
        stakes.draws = fhats.len();
        let (beta, products) = (stakes.beta, &mut stakes.products);
        multiply(igw.tau(), igw.gamma(), beta, new, self, products);
        let logs = products.map(LogProduct::ln);
        let (lower, upper) = logs.split_at(LOWER_BETS.len());
        (
            log_mixture(lower, &LOWER_BETS),
            log_mixture(upper, &UPPER_BETS),
        )
    }
}

const BETS: usize = LOWER_BETS.len() + UPPER_BETS.len();

/// ln Σ πⱼ exp(logⱼ).
fn log_mixture(logs: &[f64], bets: &[(f64, f64)]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logs
        .iter()
        .zip(bets)
        .map(|(log, (_, share))| share * libm::exp(log - most))
        .sum();
    most + libm::log(sum)
}

/// Multiplies in, for each bet, offset + bet · g of each draw.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn multiply(
    tau: f64,
    gamma: f64,
    beta: f64,
    fhats: &[f64],
    bets: &Bets,
    products: &mut [LogProduct; BETS],
) {
    // A factor is between 0.05 and 65, or κ∞τ where τ is small: 32 of them stay far from both ends of a double.
    const ROWS: usize = 32;
    let mut g = [[0.0; LANES]; ROWS];
    for fhats in fhats.chunks(ROWS * LANES) {
        for (g, fhat) in g.as_flattened_mut().iter_mut().zip(fhats) {
            *g = tau / (1.0 + gamma * (fhat - beta).max(0.0));
        }
        let (rows, rest) = g.as_flattened()[..fhats.len()].as_chunks::<LANES>();
        for ((product, offset), bet) in products.iter_mut().zip(&bets.offsets).zip(&bets.bets) {
            // Four rows at a time: multiplying one after the other would wait for each.
            let factor = |g: f64| offset + bet * g;
            let (fours, rows) = rows.as_chunks::<4>();
            for [a, b, c, d] in fours {
                product.multiply(&std::array::from_fn(|lane| {
                    (factor(a[lane]) * factor(b[lane])) * (factor(c[lane]) * factor(d[lane]))
                }));
            }
            for g in rows {
                product.multiply(&g.map(factor));
            }
            let mut last = [1.0; LANES];
            for (last, g) in last.iter_mut().zip(rest) {
                *last = factor(*g);
            }
            product.multiply(&last);
            product.normalize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ville's 2 · exp(−threshold) for the two martingales, and what the backstop may miss, are δ together.
    #[test]
    fn the_parts_of_delta_add_up() {
        for (kappa_inf, delta) in [(1.5, 0.3), (4.0, 0.05), (24.0, 0.025)] {
            let tolerance = Tolerance::new(kappa_inf, delta).expect("in range");
            let (_, backstop) = FixedSample::with_twice_the_draws(tolerance);
            let sides = 2.0 * libm::exp(-MixtureMartingale::new(tolerance).log_threshold);
            assert!(
                0.0 < backstop && (sides + backstop - delta).abs() < 1e-12,
                "{sides} {backstop}"
            );
        }
    }

    #[test]
    fn shares_are_a_distribution() {
        let total = |bets: &[(f64, f64)]| bets.iter().map(|(_, share)| share).sum::<f64>();
        assert!((total(&LOWER_BETS) - 1.0).abs() < 1e-15);
        assert!((total(&UPPER_BETS) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn log_wealths_are_the_plain_sums() {
        let igw = Igw::new(20.0, 304.0).expect("in range");
        let bets = Bets::new(&igw, 24.0);
        let fhats: Vec<f64> = (0..333).map(|i| f64::from(i % 13) / 13.0).collect();
        let plain = |fhats: &[f64], sign: f64, target: f64, unit: f64, bets: &[(f64, f64)]| {
            bets.iter()
                .map(|(bet, share)| {
                    let bet = bet * unit;
                    share
                        * fhats
                            .iter()
                            .map(|&fhat| 1.0 + bet * sign * (target - igw.weight(fhat, 0.01)))
                            .product::<f64>()
                })
                .sum::<f64>()
                .ln()
        };
        // Whatever steps the draws come in.
        let mut stakes = Stakes::at(0.01);
        for n in [1, 40, 40, 41, 300, 333] {
            let fhats = &fhats[..n];
            let (lower, upper) = bets.log_wealths(&igw, fhats, &mut stakes);
            let lower_plain = plain(fhats, 1.0, 1.0, 1.0 / 19.0, &LOWER_BETS);
            let upper_plain = plain(fhats, -1.0, 1.0 / 24.0, 1.0 / 20.0, &UPPER_BETS);
            assert!((lower - lower_plain).abs() < 1e-9, "{lower} {lower_plain}");
            assert!((upper - upper_plain).abs() < 1e-9, "{upper} {upper_plain}");
        }
    }
}
