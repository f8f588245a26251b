use egret::{
    Action, Batch, Limits, LossCurve, OutOfRange, ReferenceMeasure, RegressionOracle, Support,
};

use crate::policy::{
    Mu, Policy, PolicyBuffers, PolicyError, PolicySeed, RngPurpose, UniformPolicy,
};

/// Draws m actions from μ and plays one of the k with the least f̂, each with probability 1/k. Ties are broken at random.
///
/// Its density against μ is at most m/k. An action a among m − 1 fresh draws is one of the k best if fewer than k of the
/// draws are better, so
///
/// q(a) = (m/k) · P(fewer than k of m − 1 draws of μ are better than a)
///
/// Take N ≥ m − 1 fresh draws, of which B are better. Every choice of m − 1 among them is one such trial. The mean over all
/// choices is a hypergeometric probability, unbiased and far steadier than one trial:
///
/// q̂(a) = (m/k) · P(H < k),  H hypergeometric: m − 1 drawn from N, of which B are better
///
/// | policy            | k   | m    |                                                         |
/// |-------------------|-----|------|---------------------------------------------------------|
/// | best of m         | 1   | m    | q(a) = m (1 − F)^(m−1) where a share F of μ is better   |
/// | τ-smooth optimum  | 64  | 64τ  | tends to τ · 1{F < 1/τ} as k grows                      |
///
/// The τ-smooth optimum proper plays uniformly among the best 1/τ of μ. No estimate from draws is unbiased for its density
/// τ · 1{F(a) < 1/τ}: the density jumps in F, while the expectation of anything computed from N draws, each better than a
/// with probability F, is a polynomial in F. The best k of m are a policy of their own that can be served exactly. Their
/// density falls from τ to 0 within about ± 1/(τ√k) of F = 1/τ, and their value is estimated without bias.
pub struct BestOf<'a, X: ?Sized, A: Action> {
    measure: Mu<'a, X, A>,
    oracle: &'a dyn RegressionOracle<X, A>,
    k: usize,
    m: usize,
    draws: usize,
}

/// The largest m, and the most draws for one density.
const MOST: usize = 1 << 22;

/// k of the τ-smooth optimum.
const SMOOTH_K: f64 = 64.0;

/// How many draws q̂ takes, as a multiple of m/k. With 8, the standard error of q̂ is about √(1/8) of q where F = k/m.
const DRAWS_PER_SHARE: usize = 8;

impl<'a, X: ?Sized, A: Action> BestOf<'a, X, A> {
    /// Plays one of the `k` best of `m` by this oracle.
    pub fn new(
        measure: &'a dyn ReferenceMeasure<X, A>,
        oracle: &'a dyn RegressionOracle<X, A>,
        k: usize,
        m: usize,
    ) -> Result<Self, PolicyError> {
        if !(1 <= k && k <= m && m <= MOST) {
            return Err(PolicyError::BestOf { k, m, most: MOST });
        }
        Ok(Self {
            measure: Mu::Whole(measure),
            oracle,
            k,
            m,
            draws: (m - 1).max(DRAWS_PER_SHARE * m.div_ceil(k)).min(MOST),
        })
    }

    /// The best of `m`.
    pub fn m(
        measure: &'a dyn ReferenceMeasure<X, A>,
        oracle: &'a dyn RegressionOracle<X, A>,
        m: usize,
    ) -> Result<Self, PolicyError> {
        Self::new(measure, oracle, 1, m)
    }

    /// The τ-smooth optimum as the best 64 of 64τ.
    pub fn smooth(
        measure: &'a dyn ReferenceMeasure<X, A>,
        oracle: &'a dyn RegressionOracle<X, A>,
        tau: f64,
    ) -> Result<Self, PolicyError> {
        let most = MOST as f64 / SMOOTH_K;
        OutOfRange::unless((1.0..=most).contains(&tau), "tau", tau, "[1, 65536]")?;
        // k is rounded up, so that the density m/k is at most τ.
        let m = (SMOOTH_K * tau).round();
        let k = (m / tau).ceil().min(m);
        Self::new(measure, oracle, k as usize, m as usize)
    }

    /// Takes `draws` fresh draws for each q̂, at least m − 1.
    pub fn with_draws(mut self, draws: usize) -> Self {
        self.draws = draws.clamp((self.m - 1).max(1), MOST);
        self
    }
}

impl<X: ?Sized, A: Action> Policy<X, A> for BestOf<'_, X, A> {
    fn density(
        &self,
        seed: PolicySeed,
        x: &X,
        action: &A,
        buffers: &mut PolicyBuffers<A>,
    ) -> Result<f64, PolicyError> {
        let curve = LossCurve::new(self.oracle, x, &mut buffers.prepared)?;
        buffers.actions.clear();
        buffers.actions.push(action);
        let mut rng = seed.rng(RngPurpose::Density, 0);
        self.measure
            .sample(x, self.draws, &mut rng, &mut buffers.actions);
        curve.predict(&buffers.actions, &mut buffers.fhats)?;
        let (own, others) = buffers.fhats.split_first().expect("the action was pushed");
        let [better, equal] = compared(*own, others);
        // Among equals, every place is equally likely.
        let place = if equal == 0 {
            0
        } else {
            let unit = seed.rng(RngPurpose::Ties, 0).unit();
            ((unit * (equal + 1) as f64) as u64).min(equal)
        };
        let share = fewer_than(
            self.k as u64,
            self.m as u64 - 1,
            better + place,
            others.len() as u64,
        );
        Ok(self.m as f64 / self.k as f64 * share)
    }

    fn draw(
        &self,
        seed: PolicySeed,
        x: &X,
        n: usize,
        buffers: &mut PolicyBuffers<A>,
        out: &mut A::Batch,
    ) -> Result<(), PolicyError> {
        let curve = LossCurve::new(self.oracle, x, &mut buffers.prepared)?;
        // Each of the k best is played with the same probability, so one group of m draws gives k actions.
        for group in 0..n.div_ceil(self.k) {
            let mut rng = seed.rng(RngPurpose::Draw, group as u64);
            buffers.actions.clear();
            self.measure
                .sample(x, self.m, &mut rng, &mut buffers.actions);
            curve.predict(&buffers.actions, &mut buffers.fhats)?;
            let fhats = &buffers.fhats;
            buffers.order.clear();
            buffers.order.extend(0..self.m as u32);
            // Draws come in random order, so breaking ties by place breaks them at random.
            let by_loss = |a: &u32, b: &u32| {
                let (first, second) = (fhats[*a as usize], fhats[*b as usize]);
                first.total_cmp(&second).then(a.cmp(b))
            };
            if self.k < self.m {
                buffers.order.select_nth_unstable_by(self.k - 1, by_loss);
            }
            for &place in &buffers.order[..self.k] {
                out.push(&buffers.actions.get(place as usize));
            }
        }
        Ok(())
    }

    fn within(&self, limits: &Limits) -> Result<Box<dyn Policy<X, A> + '_>, PolicyError> {
        let part = self.measure.within(limits)?;
        // Where all draws are equal, so is what is played.
        if part.support() == Support::Count(1) {
            return Ok(Box::new(UniformPolicy::of(Mu::Part(part))));
        }
        Ok(Box::new(Self {
            measure: Mu::Part(part),
            ..*self
        }))
    }

    fn largest_density(&self) -> Option<f64> {
        Some(self.m as f64 / self.k as f64)
    }

    fn name(&self) -> String {
        match self.k {
            1 => format!("best of {}", self.m),
            k => format!("best {k} of {}", self.m),
        }
    }
}

/// How many are below `own`, and how many are equal to it.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn compared(own: f64, others: &[f64]) -> [u64; 2] {
    let (mut better, mut equal) = (0, 0);
    for &other in others {
        better += u64::from(other < own);
        equal += u64::from(other == own);
    }
    [better, equal]
}

/// P(H < k), where H counts the marked among `taken` that are drawn without replacement from `all`, of which `marked` are.
fn fewer_than(k: u64, taken: u64, marked: u64, all: u64) -> f64 {
    let plain = all - marked;
    // least ≤ H ≤ most.
    let least = taken.saturating_sub(plain);
    let most = taken.min(marked);
    if most < k {
        return 1.0;
    }
    if k <= least {
        return 0.0;
    }
    // Sum from the largest term both ways: the ratio of neighbouring terms is cheap.
    let mode = (u128::from(taken + 1) * u128::from(marked + 1) / u128::from(all + 2)) as u64;
    let start = mode.clamp(least, k - 1);
    let first = libm::exp(
        ln_choose(marked, start) + ln_choose(plain, taken - start) - ln_choose(all, taken),
    );
    // P(H = j + 1)/P(H = j)
    let ratio = |j: u64| {
        let up = (marked - j) as f64 * (taken - j) as f64;
        let down = (j + 1) as f64 * (plain + j + 1 - taken) as f64;
        up / down
    };
    let mut sum = first;
    let mut term = first;
    for j in start..k - 1 {
        term *= ratio(j);
        sum += term;
        if term < NEGLIGIBLE * sum {
            break;
        }
    }
    term = first;
    for j in (least..start).rev() {
        term /= ratio(j);
        sum += term;
        if term < NEGLIGIBLE * sum {
            break;
        }
    }
    sum.min(1.0)
}

/// A term this small, relative to the sum, ends the sum: the terms after it fall even faster.
const NEGLIGIBLE: f64 = 1e-20;

/// ln of the binomial coefficient n over k.
fn ln_choose(n: u64, k: u64) -> f64 {
    let ln_factorial = |n: u64| libm::lgamma(n as f64 + 1.0);
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hypergeometric_sums_are_right() {
        // By counting: 3 of 7 taken, 2 of 7 marked: P(H = 0) = 10/35, P(H < 2) = 30/35.
        let close = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
        assert!(close(fewer_than(1, 3, 2, 7), 10.0 / 35.0));
        assert!(close(fewer_than(2, 3, 2, 7), 30.0 / 35.0));
        assert_eq!(fewer_than(3, 3, 2, 7), 1.0);
        // Only 2 of 4 are plain, so that one of 3 at least is marked.
        assert_eq!(fewer_than(1, 3, 2, 4), 0.0);
        assert!(close(fewer_than(2, 3, 2, 4), 0.5));
        assert_eq!(fewer_than(1, 0, 0, 5), 1.0);
        // The best of m: every factor by itself.
        let product: f64 = (0..20)
            .map(|i| f64::from(90 - i) / f64::from(100 - i))
            .product();
        assert!(close(fewer_than(1, 20, 10, 100), product));
    }

    #[test]
    fn sums_far_from_the_mode_neither_vanish_nor_exceed_one() {
        // H has mean 10,000 and deviation below 95: P(H = 0) is no number, P(H < 10,000) is near one half.
        let half = fewer_than(10_000, 80_000, 100_000, 800_000);
        assert!((half - 0.5).abs() < 0.01, "{half}");
        assert!(1.0 - 1e-9 < fewer_than(12_000, 80_000, 100_000, 800_000));
        assert!(fewer_than(8_000, 80_000, 100_000, 800_000) < 1e-50);
    }

    #[test]
    fn every_number_of_better_draws_is_weighed_without_bias() {
        // E over B ~ Bin(N, F) of P(H < k) is P(Bin(m − 1, F) < k), for any F.
        let choose = |n: u64, j: u64| libm::exp(ln_choose(n, j));
        let binomial = |n: u64, share: f64, j: u64| {
            choose(n, j) * libm::pow(share, j as f64) * libm::pow(1.0 - share, (n - j) as f64)
        };
        for (k, m, all) in [(1, 8, 7), (1, 8, 30), (3, 12, 11), (3, 12, 50)] {
            for share in [0.05, 0.3, 0.9] {
                let mean: f64 = (0..=all)
                    .map(|b| binomial(all, share, b) * fewer_than(k, m - 1, b, all))
                    .sum();
                let exact: f64 = (0..k).map(|j| binomial(m - 1, share, j)).sum();
                assert!((mean - exact).abs() < 1e-10, "{k} of {m}: {mean} {exact}");
            }
        }
    }
}
