use crate::normalizer::{
    Certificate, CertifiedBy, Draws, Normalizer, Tolerance, uniform_certificate,
};
use crate::numeric::EventRng;
use crate::sampling::{Igw, SampleError};

/// β from a fixed number of draws, enough for any f̂: β is an order statistic.
///
/// Give each draw aᵢ ∼ μ a uniform Uᵢ and set
///
/// βᵢ = f̂(x, aᵢ) − (1/Uᵢ − 1)/γ.
///
/// Then βᵢ ≤ β exactly if Uᵢ ≤ g(aᵢ; β)/τ, so that P(βᵢ ≤ β) = z(β)/τ: the βᵢ are independent with a
/// continuous distribution function that *is* z, up to the factor τ. The k-th smallest of n has
/// z(β₍ₖ₎)/τ distributed as the k-th smallest of n uniforms, whatever f̂ and μ are. The probability that z leaves
/// [1/κ∞, 1] is exactly
///
/// P(Bin(n, 1/τ) < k) + P(Bin(n, 1/(κ∞τ)) ≥ k).
///
/// Both tails are at most those of the Poisson distributions with the same means, as long as the first mean is k or more
/// and the second k − 1 or less (Anderson and Samuels 1967), which makes k and Λ = n/τ depend on κ∞ and δ alone. There is no grid and no
/// logarithm of γ: at κ∞ = 24, δ = 0.025 it takes 7.5τ draws, where Theorem 2 of the paper asks
/// for 471τ to 886τ in its Table 1.
///
/// ```
/// use egret::{FixedSample, Igw, Tolerance};
///
/// let normalizer = FixedSample::new(Tolerance::new(24.0, 0.025)?);
/// assert_eq!(normalizer.draws(&Igw::new(200.0, 6368.0)?), 1491);
/// # Ok::<(), egret::OutOfRange>(())
/// ```
#[derive(Debug, Clone)]
pub struct FixedSample {
    tolerance: Tolerance,
    /// By k: the k-th smallest of n keeps the tolerance for n/τ in [low, high]. The last has high ≥ low + 1, so
    /// that some whole n fits for every τ ≥ 1.
    plans: Vec<Plan>,
}

#[derive(Debug, Clone, Copy)]
struct Plan {
    k: usize,
    low: f64,
    high: f64,
}

impl FixedSample {
    /// Computes how many draws keep the tolerance.
    pub fn new(tolerance: Tolerance) -> Self {
        // The best failure probability falls with k: double, then bisect for the first k that will do.
        let mut enough = 1;
        while Plan::new(enough, tolerance).is_none() {
            enough *= 2;
        }
        let mut too_few = enough / 2;
        while too_few + 1 < enough {
            let middle = (too_few + enough) / 2;
            if Plan::new(middle, tolerance).is_some() {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        let mut plans: Vec<Plan> = Vec::new();
        for plan in (enough..).filter_map(|k| Plan::new(k, tolerance)) {
            plans.push(plan);
            if plan.low + 1.0 <= plan.high {
                break;
            }
        }
        Self { tolerance, plans }
    }

    /// The smallest number of draws after which [`certify`](Normalizer::certify) keeps its tolerance.
    pub fn draws(&self, igw: &Igw) -> usize {
        self.order(igw.tau()).1
    }

    /// The plan with the smallest δ that twice the draws of [`new`](Self::new) can keep, and that δ.
    pub(crate) fn with_twice_the_draws(tolerance: Tolerance) -> (Self, f64) {
        let mean = 2.0 * Self::new(tolerance).plans[0].low;
        // One more place lowers the sum as long as P(Poi(mean) = k) < P(Poi(mean/κ∞) = k). A search from k = 1 would
        // start where the sum is 1 to the last bit.
        let kappa_inf = tolerance.kappa_inf();
        let k = mean * (1.0 - 1.0 / kappa_inf) / libm::log(kappa_inf);
        let delta = failure(k.ceil() as usize, mean, kappa_inf);
        (Self::new(tolerance.with_delta(delta)), delta)
    }

    /// (k, n): the k-th smallest of n.
    fn order(&self, tau: f64) -> (usize, usize) {
        self.plans
            .iter()
            .filter_map(|plan| {
                let n = (plan.low * tau).ceil();
                (n <= plan.high * tau).then_some((plan.k, n as usize))
            })
            .min_by_key(|&(_, n)| n)
            .expect("the last plan has room for a whole number")
    }

    /// β from the first draws of `fhats`, of which there are at least as many as [`draws`](Self::draws) says.
    pub(crate) fn beta(
        &self,
        igw: &Igw,
        fhats: &[f64],
        rng: &mut EventRng,
        room: &mut Vec<f64>,
    ) -> f64 {
        let (k, n) = self.order(igw.tau());
        room.clear();
        room.resize(k, f64::INFINITY);
        kth_threshold(igw, &fhats[..n], rng, room)
    }
}

impl Normalizer for FixedSample {
    fn certify(&self, igw: &Igw, draws: &mut Draws<'_>) -> Result<Certificate, SampleError> {
        if let Some(certificate) = uniform_certificate(igw) {
            return Ok(certificate);
        }
        let n = self.draws(igw);
        draws.extend_to(n)?;
        let (fhats, rng, room) = draws.seen_and_rng();
        let beta = self.beta(igw, fhats, rng, room);
        Ok(self
            .tolerance
            .certificate(beta, CertifiedBy::FixedSample, n))
    }
}

impl Plan {
    /// The means Λ for which P(Poi(Λ) < k) + P(Poi(Λ/κ∞) ≥ k) ≤ δ, if there are any.
    ///
    /// The sum falls and then rises: its minimum is where the derivatives cancel,
    /// e^{−Λ} = e^{−Λ/κ∞} κ∞^{−k}, that is at Λ = k ln κ∞ / (1 − 1/κ∞). Only Λ from k to κ∞(k − 1) count.
    fn new(k: usize, tolerance: Tolerance) -> Option<Self> {
        let kappa_inf = tolerance.kappa_inf();
        // Here, and only here, both Poisson tails are above the binomial ones.
        let (least, most) = (k as f64, kappa_inf * (k as f64 - 1.0));
        let best = k as f64 * libm::log(kappa_inf) / (1.0 - 1.0 / kappa_inf);
        let keeps = |mean: f64| failure(k, mean, kappa_inf) <= tolerance.delta();
        if !(least < best && best < most && keeps(best)) {
            return None;
        }
        Some(Self {
            k,
            low: bisect(least, best, keeps),
            high: bisect(most, best, keeps),
        })
    }
}

/// The end of the range where `holds` is true, between `out` (false) and `inside` (true).
fn bisect(mut out: f64, mut inside: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(out) {
        return out;
    }
    for _ in 0..60 {
        let middle = 0.5 * (out + inside);
        if holds(middle) {
            inside = middle;
        } else {
            out = middle;
        }
    }
    inside
}

/// P(Poi(mean) < k) + P(Poi(mean/κ∞) ≥ k).
fn failure(k: usize, mean: f64, kappa_inf: f64) -> f64 {
    poisson_below(k, mean) + poisson_from(k, mean / kappa_inf)
}

/// P(Poi(mean) < k): from the last term down, each smaller than the one before if k ≤ mean.
fn poisson_below(k: usize, mean: f64) -> f64 {
    let mut term = poisson(k - 1, mean);
    let mut sum = 0.0;
    for i in (0..k).rev() {
        sum += term;
        term *= i as f64 / mean;
        if term < 1e-17 * sum {
            break;
        }
    }
    sum
}

/// P(Poi(mean) ≥ k): from the first term up, each smaller than the one before if mean ≤ k.
///
/// Computed as 1 minus the rest, a small value would be lost in rounding.
fn poisson_from(k: usize, mean: f64) -> f64 {
    let mut term = poisson(k, mean);
    let mut sum = 0.0;
    for i in k + 1.. {
        sum += term;
        term *= mean / i as f64;
        if !(1e-17 * sum <= term) {
            break;
        }
    }
    sum
}

/// P(Poi(mean) = k).
fn poisson(k: usize, mean: f64) -> f64 {
    let k = k as f64;
    libm::exp(k * libm::log(mean) - mean - libm::lgamma(k + 1.0))
}

/// The k-th smallest βᵢ.
///
/// Keeps the k smallest so far in increasing order. Few draws are among them, so most blocks are skipped.
fn kth_threshold(igw: &Igw, fhats: &[f64], rng: &mut EventRng, smallest: &mut [f64]) -> f64 {
    let k = smallest.len();
    let mut units = [0.0; CHUNK];
    let mut least = [0.0; CHUNK / BLOCK];
    let mut bar = f64::INFINITY;
    for fhats in fhats.chunks(CHUNK) {
        let thresholds = &mut units[..fhats.len()];
        rng.fill_coarse(thresholds);
        to_thresholds(igw.gamma(), fhats, thresholds, &mut least);
        for (block, &least) in thresholds.chunks(BLOCK).zip(&least) {
            if bar <= least {
                continue;
            }
            for &threshold in block {
                if threshold < bar {
                    insert(smallest, threshold);
                    bar = smallest[k - 1];
                }
            }
        }
    }
    bar
}

/// Inserts a number into an increasing list and drops the last one.
fn insert(list: &mut [f64], number: f64) {
    let mut place = list.len() - 1;
    while 0 < place && number < list[place - 1] {
        list[place] = list[place - 1];
        place -= 1;
    }
    list[place] = number;
}

const CHUNK: usize = 256;
const BLOCK: usize = 16;

/// Replaces each Uᵢ by βᵢ, and writes the least of each block.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn to_thresholds(gamma: f64, fhats: &[f64], units: &mut [f64], least: &mut [f64; CHUNK / BLOCK]) {
    for (unit, fhat) in units.iter_mut().zip(fhats) {
        *unit = fhat - (1.0 / *unit - 1.0) / gamma;
    }
    for (least, block) in least.iter_mut().zip(units.chunks(BLOCK)) {
        *least = block
            .iter()
            .fold(f64::INFINITY, |a, &b| if b < a { b } else { a });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::Stream;
    use statrs::distribution::{Binomial, DiscreteCDF};

    fn failure_probability(k: usize, n: usize, tau: f64, kappa_inf: f64) -> f64 {
        let below = Binomial::new(1.0 / tau, n as u64).expect("a probability");
        let above = Binomial::new(1.0 / (kappa_inf * tau), n as u64).expect("a probability");
        below.cdf(k as u64 - 1) + above.sf(k as u64 - 1)
    }

    #[test]
    fn binomial_tails_keep_the_promise() {
        for kappa_inf in [1.05, 1.5, 2.0, 4.0, 24.0, 1000.0] {
            for delta in [0.5, 0.05, 0.025, 1e-6] {
                let tolerance = Tolerance::new(kappa_inf, delta).expect("in range");
                let normalizer = FixedSample::new(tolerance);
                for tau in [1.01, 1.5, 2.0, 3.7, 20.0, 200.0, 2048.0] {
                    let (k, n) = normalizer.order(tau);
                    let failure = failure_probability(k, n, tau, kappa_inf);
                    assert!(
                        failure <= delta,
                        "{failure} at {kappa_inf} {delta} {tau}: {k} of {n}"
                    );
                }
            }
        }
    }

    #[test]
    fn fewer_draws_would_not_do() {
        let normalizer = FixedSample::new(Tolerance::new(4.0, 0.05).expect("in range"));
        let (tau, (_, n)) = (200.0, normalizer.order(200.0));
        let fewer = n * 97 / 100;
        assert!((1..100).all(|k| 0.05 < failure_probability(k, fewer, tau, 4.0)));
    }

    #[test]
    fn twice_the_draws_are_twice_the_draws() {
        for (kappa_inf, delta) in [(2.0, 0.1), (4.0, 0.05), (24.0, 0.025)] {
            let tolerance = Tolerance::new(kappa_inf, delta).expect("in range");
            let once = FixedSample::new(tolerance);
            let (twice, share) = FixedSample::with_twice_the_draws(tolerance);
            assert!(share < delta / 4.0, "{share}");
            for tau in [2.0, 20.0, 200.0] {
                let igw = Igw::new(tau, 1.0).expect("in range");
                assert!(twice.draws(&igw) <= 2 * once.draws(&igw));
                // It misses no more often than its share of δ.
                let (k, n) = twice.order(tau);
                let failure = failure_probability(k, n, tau, kappa_inf);
                assert!(failure <= share, "{failure} of {share}");
            }
        }
    }

    #[test]
    fn the_kth_threshold_is_the_kth() {
        let igw = Igw::new(20.0, 304.0).expect("in range");
        let mut fhats = vec![0.0; 700];
        EventRng::new(1, 1, Stream::World).fill_unit(&mut fhats);
        let mut units = vec![0.0; 700];
        let mut rng = EventRng::new(1, 2, Stream::Beta);
        for units in units.chunks_mut(CHUNK) {
            rng.fill_coarse(units);
        }
        let mut all: Vec<f64> = fhats
            .iter()
            .zip(units)
            .map(|(fhat, unit)| fhat - (1.0 / unit - 1.0) / 304.0)
            .collect();
        all.sort_by(f64::total_cmp);
        for k in [1, 2, 9, 33, 60] {
            let mut rng = EventRng::new(1, 2, Stream::Beta);
            let mut room = vec![f64::INFINITY; k];
            assert_eq!(kth_threshold(&igw, &fhats, &mut rng, &mut room), all[k - 1]);
        }
    }
}
