use std::sync::{Arc, LazyLock};

use crate::weighted_events::all_within;

/// A lower bound on the mean of numbers X ≥ 0 that holds at all times at once.
///
/// A gambler who doubts that the mean is v bets λ = θ/(1 + θv) on X > v. Each event multiplies the gambler's wealth by
///
/// 1 + λ(X − v) = (1 + θX)/(1 + θv) ≥ 0,
///
/// which is 1 on average if the mean is v. So the wealth is a non-negative martingale, and so is a mixture over the θⱼ of a
/// grid. By Ville's inequality it ever reaches 1/α with probability at most α. The bound is the v at which the wealth equals
/// 1/α: every smaller v is refuted.
///
/// ln wealthⱼ(v) = Sⱼ − Σᵢ ln(1 + θⱼhᵢv),  Sⱼ = Σᵢ ln(1 + θⱼhᵢXᵢ)
///
/// Sⱼ does not depend on v: a few numbers serve every v, and those of two parts of a log add up. The event weight h is 1,
/// or a power of two known before X was drawn: small where X is expected to spread widely.
///
/// - X needs a mean, and nothing else: its tails may be as heavy as they like.
/// - Each X has mean v given the past. If the means differ and h = 1, the bound is on their average so far, for
///   Σ ln(1 + θvᵢ) ≤ n ln(1 + θv̄). If all means are at most v, it holds too.
/// - θ = 2⁻²⁴ … 2⁷: one of them is near the best bet for anything from ten events to 10¹².
///
/// Sources. Bets and mixtures: Waudby-Smith & Ramdas 2023. Bets for weighted losses: Karampatziakis, Mineiro & Ramdas 2021
/// and Waudby-Smith, Wu, Ramdas, Karampatziakis & Mineiro 2022. A mixture over constant bets is Cover's universal portfolio,
/// as in Orabona & Jun 2024 and Ryu & Wornell 2024. Writing the bet as θ is what makes v drop out of Sⱼ.
///
/// ```
/// use egret_offline::LowerMean;
///
/// let mut mean = LowerMean::new();
/// mean.observe(&[0.4; 1_000]);
/// let bound = mean.bound(0.05, 1.0);
/// assert!(0.35 < bound && bound < 0.4);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LowerMean {
    /// Sⱼ.
    sums: [f64; BETS],
    /// (exponent of h, how many events have it), in order of the exponent.
    counts: Vec<(i32, u64)>,
}

/// How many θⱼ there are.
const BETS: usize = 32;

/// The smallest θⱼ.
const LEAST_BET: f64 = 1.0 / 16_777_216.0;

/// X is cut off here, so that products of 16 factors stay finite. That lowers the mean of X, which keeps the bound valid.
const MOST: f64 = 4_503_599_627_370_496.0;

/// An exponent of h outside is moved to the nearest end.
const EXPONENTS: std::ops::RangeInclusive<i32> = -40..=23;

impl LowerMean {
    /// Before any event.
    pub fn new() -> Self {
        Self {
            sums: [0.0; BETS],
            counts: Vec::new(),
        }
    }

    /// Adds events with h = 1.
    ///
    /// # Panics
    /// If a number is negative or NaN.
    pub fn observe(&mut self, xs: &[f64]) {
        assert!(all_within(xs, 0.0, f64::INFINITY), "X is never negative");
        log_products(xs, &mut self.sums);
        self.count(0, xs.len() as u64);
    }

    /// Adds events with event weights h > 0, each rounded to a power of two.
    ///
    /// # Panics
    /// If there are not as many event weights as numbers, if a number is negative or NaN, or if an event weight is not
    /// positive.
    pub fn observe_scaled(&mut self, xs: &[f64], event_weights: &[f64]) {
        assert_eq!(
            xs.len(),
            event_weights.len(),
            "each number has an event weight"
        );
        assert!(all_within(xs, 0.0, f64::INFINITY), "X is never negative");
        assert!(
            all_within(event_weights, f64::MIN_POSITIVE, f64::MAX),
            "an event weight is positive"
        );
        let mut scaled = [0.0; 512];
        for (xs, event_weights) in xs.chunks(512).zip(event_weights.chunks(512)) {
            for ((scaled, x), &h) in scaled.iter_mut().zip(xs).zip(event_weights) {
                let exponent = nearest_exponent(h);
                *scaled = x * power_of_two(exponent);
                self.count(exponent, 1);
            }
            log_products(&scaled[..xs.len()], &mut self.sums);
        }
    }

    fn count(&mut self, exponent: i32, events: u64) {
        if events == 0 {
            return;
        }
        match self.counts.binary_search_by_key(&exponent, |&(e, _)| e) {
            Ok(place) => self.counts[place].1 += events,
            Err(place) => self.counts.insert(place, (exponent, events)),
        }
    }

    /// Adds the events of another part of the log.
    pub fn merge(&mut self, later: &Self) {
        for (sum, more) in self.sums.iter_mut().zip(&later.sums) {
            *sum += more;
        }
        for &(exponent, events) in &later.counts {
            self.count(exponent, events);
        }
    }

    /// How many events it saw.
    pub fn events(&self) -> u64 {
        self.counts.iter().map(|&(_, events)| events).sum()
    }

    /// ln of the wealth of a gambler who bets against the mean `v` ≥ 0. It falls in v and is convex.
    pub fn log_wealth(&self, v: f64) -> f64 {
        self.log_wealth_after(v, 0.0, 1.0, Prior::usual()).log
    }

    /// The same against hv + k as the mean of hX, for a log that has each event `times` times, with a prior over the bets.
    pub(crate) fn log_wealth_after(
        &self,
        v: f64,
        k: f64,
        times: f64,
        Prior(prior): &Prior,
    ) -> LogWealth {
        let wealths: [LogWealth; BETS] = std::array::from_fn(|j| {
            let (mut against, mut slope) = (0.0, 0.0);
            for &(exponent, events) in &self.counts {
                let (theta, h) = (bet(j), power_of_two(exponent));
                let mean = h * v + k;
                against += events as f64 * libm::log1p(theta * mean);
                slope += events as f64 * theta * h / (1.0 + theta * mean);
            }
            LogWealth {
                log: times * (self.sums[j] - against) + prior[j],
                slope: -times * slope,
            }
        });
        LogWealth::total(&wealths)
    }

    /// The largest refuted v in [0, `most`]: all below it are refuted too. 0 if none is.
    ///
    /// It is ever above the mean with probability at most `alpha`.
    pub fn bound(&self, alpha: f64, most: f64) -> f64 {
        let prior = Prior::usual();
        largest_refuted(alpha, most, |v| self.log_wealth_after(v, 0.0, 1.0, prior))
    }
}

impl Default for LowerMean {
    fn default() -> Self {
        Self::new()
    }
}

/// The logarithm of a wealth, and how it changes with v.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogWealth {
    pub(crate) log: f64,
    pub(crate) slope: f64,
}

impl LogWealth {
    /// The sum of these wealths.
    pub(crate) fn total(wealths: &[Self]) -> Self {
        let most = wealths.iter().map(|wealth| wealth.log);
        let most = most.fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut slope) = (0.0, 0.0);
        for wealth in wealths {
            let share = libm::exp(wealth.log - most);
            sum += share;
            slope += share * wealth.slope;
        }
        Self {
            log: most + libm::log(sum),
            slope: slope / sum,
        }
    }
}

/// The largest v in [0, most] with log_wealth(v) ≥ ln(1/α), where log_wealth falls in v and is convex. Rounding errs
/// downwards.
pub(crate) fn largest_refuted(alpha: f64, most: f64, log_wealth: impl Fn(f64) -> LogWealth) -> f64 {
    let threshold = -libm::log(alpha);
    let refuted = |v: f64| threshold <= log_wealth(v).log;
    if !refuted(0.0) {
        return 0.0;
    }
    if refuted(most) {
        return most;
    }
    let (mut low, mut high) = (0.0, most);
    for _ in 0..6 {
        let middle = 0.5 * (low + high);
        if refuted(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    // Newton steps from the left never pass the root of a falling convex function: v stays refuted, but for rounding.
    for _ in 0..60 {
        let LogWealth { log, slope } = log_wealth(low);
        let step = (log - threshold) / -slope;
        if !(1e-14 * most < step) {
            break;
        }
        low += step;
    }
    // One step back, so that rounding errs on the safe side.
    (low - 1e-12 * most).max(0.0)
}

/// θⱼ.
#[inline(always)]
fn bet(j: usize) -> f64 {
    LEAST_BET * (1_u64 << j) as f64
}

/// The power of two that an event weight is rounded to.
pub(crate) fn scale_of(h: f64) -> f64 {
    power_of_two(nearest_exponent(h))
}

/// 2ᵉ.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1_023 + exponent) as u64) << 52)
}

/// The exponent of the power of two nearest to h > 0, on the logarithmic scale.
fn nearest_exponent(h: f64) -> i32 {
    // √2 · h is in [2ᵉ, 2ᵉ⁺¹) when h is within a factor √2 of 2ᵉ.
    let bits = (h.min(f64::MAX / 2.0) * std::f64::consts::SQRT_2).to_bits();
    ((bits >> 52) as i32 - 1_023).clamp(*EXPONENTS.start(), *EXPONENTS.end())
}

/// What a gambler puts on each θⱼ: ln πⱼ.
///
/// The best bet after n events of variance σ² is about √(8/(nσ²)). Most of the prior is around 2⁻⁴, which is right for nσ²
/// around 2,000, and falls slowly to both sides. The rest is at large bets, which are right for the first few hundred events, for
/// rare losses and for losses that hardly spread. A small part is uniform, so that no θ costs more than 10 nats.
///
/// All of it was chosen by interval widths on simulated logs of 100 to 200,000 events: what is put on large bets makes the
/// intervals of few events narrower and those of very many wider.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prior([f64; BETS]);

/// Where a prior has more than elsewhere: this share of it, around this log₂ θ, so widely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Peak {
    pub(crate) share: f64,
    pub(crate) around: f64,
    pub(crate) width: f64,
}

impl Prior {
    /// Where nothing is known of how large X may be.
    pub(crate) fn usual() -> &'static Arc<Self> {
        static USUAL: LazyLock<Arc<Prior>> = LazyLock::new(|| {
            Arc::new(Prior::new(Peak {
                share: 0.3,
                around: 1.0,
                width: 2.0,
            }))
        });
        &USUAL
    }

    pub(crate) fn new(peak: Peak) -> Self {
        let bell = |away: f64| libm::exp(-0.5 * away * away);
        let log_theta = |j: usize| libm::log2(bet(j));
        let near = |j: usize| bell((log_theta(j) - peak.around) / peak.width);
        let broad = |j: usize| {
            let away = log_theta(j) + 4.0;
            bell(away / if away < 0.0 { 3.0 } else { 4.5 }) + 0.003
        };
        let all_near: f64 = (0..BETS).map(near).sum();
        let all_broad: f64 = (0..BETS).map(broad).sum();
        Self(std::array::from_fn(|j| {
            let of_peak = peak.share * near(j) / all_near;
            libm::log(of_peak + (1.0 - peak.share) * broad(j) / all_broad)
        }))
    }
}

/// Adds Σ ln(1 + θⱼx) for each θⱼ. It multiplies, and takes the exponent off the product now and then, so that it needs no
/// logarithm for each x.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn log_products(xs: &[f64], sums: &mut [f64; BETS]) {
    // A factor is at most 2⁷ · 2⁵² + 1, so sixteen of them, times a mantissa below 2, are below 2⁹⁴⁶.
    const ROWS: usize = 16;
    let mut thetas = [0.0; BETS];
    for (j, theta) in thetas.iter_mut().enumerate() {
        *theta = bet(j);
    }
    let mut mantissas = [1.0_f64; BETS];
    let mut exponents = [0_i64; BETS];
    for xs in xs.chunks(ROWS) {
        for &x in xs {
            let x = if x < MOST { x } else { MOST };
            for j in 0..BETS {
                mantissas[j] *= 1.0 + thetas[j] * x;
            }
        }
        for j in 0..BETS {
            let bits = mantissas[j].to_bits();
            exponents[j] += (bits >> 52) as i64 - 1_023;
            mantissas[j] = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
        }
    }
    for j in 0..BETS {
        let log = exponents[j] as f64 * std::f64::consts::LN_2 + libm::log(mantissas[j]);
        sums[j] += log;
    }
}

#[cfg(test)]
mod tests {
    use egret::{EventRng, Stream};

    use super::*;

    /// Σ over θ of the prior times the product of factors, one by one.
    fn plain_log_wealth(xs: &[f64], event_weights: &[f64], v: f64) -> f64 {
        let total: f64 = (0..BETS)
            .map(|j| {
                let factors = xs.iter().zip(event_weights).map(|(x, h)| {
                    let theta = bet(j) * h;
                    ((1.0 + theta * x) / (1.0 + theta * v)).ln()
                });
                (Prior::usual().0[j] + factors.sum::<f64>()).exp()
            })
            .sum();
        total.ln()
    }

    #[test]
    fn wealth_is_the_mixture_of_products() {
        let mut rng = EventRng::new(1, 2, Stream::World);
        let xs: Vec<f64> = (0..333).map(|_| 3.0 * rng.unit() * rng.unit()).collect();
        let event_weights: Vec<f64> = (0..333).map(|i| f64::from(1 << (i % 5)) / 4.0).collect();
        let ones = vec![1.0; 333];
        let (mut plain, mut scaled) = (LowerMean::new(), LowerMean::new());
        plain.observe(&xs);
        scaled.observe_scaled(&xs, &event_weights);
        for v in [0.4, 0.6, 0.75, 0.9, 2.0] {
            let expected = plain_log_wealth(&xs, &ones, v);
            assert!((plain.log_wealth(v) - expected).abs() < 1e-9, "{v}");
            let expected = plain_log_wealth(&xs, &event_weights, v);
            assert!((scaled.log_wealth(v) - expected).abs() < 1e-9, "{v}");
        }
        let mut parts = LowerMean::new();
        for range in [0..1, 1..200, 200..333] {
            let mut part = LowerMean::new();
            part.observe_scaled(&xs[range.clone()], &event_weights[range]);
            parts.merge(&part);
        }
        assert_eq!(parts.counts, scaled.counts);
        assert!((parts.log_wealth(0.5) - scaled.log_wealth(0.5)).abs() < 1e-10);
    }

    #[test]
    fn wealth_starts_at_one() {
        assert!(LowerMean::new().log_wealth(0.3).abs() < 1e-12);
        assert_eq!(LowerMean::new().bound(0.05, 1.0), 0.0);
        let peaked = Prior::new(Peak {
            share: 0.75,
            around: -3.0,
            width: 0.75,
        });
        for Prior(logs) in [&**Prior::usual(), &peaked] {
            assert!((logs.iter().map(|log| log.exp()).sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(logs.iter().all(|&log| -10.0 < log));
        }
    }

    #[test]
    fn the_bound_is_where_wealth_meets_the_threshold() {
        let mut rng = EventRng::new(1, 3, Stream::World);
        for n in [20, 1_000, 50_000] {
            let xs: Vec<f64> = (0..n).map(|_| rng.unit().powi(2)).collect();
            let mut mean = LowerMean::new();
            mean.observe(&xs);
            let bound = mean.bound(0.05, 1.0);
            let threshold = 20.0_f64.ln();
            assert!(threshold <= mean.log_wealth(bound), "{n}");
            assert!(mean.log_wealth(bound + 1e-9) < threshold, "{n}");
        }
    }

    #[test]
    fn slopes_are_those_of_the_wealth() {
        let mut mean = LowerMean::new();
        mean.observe_scaled(&[0.5, 2.0, 0.1, 9.0], &[1.0, 0.5, 0.25, 0.125]);
        for v in [0.1, 0.7, 3.0] {
            let difference = mean.log_wealth(v + 1e-6) - mean.log_wealth(v - 1e-6);
            let slope = mean.log_wealth_after(v, 0.0, 1.0, Prior::usual()).slope;
            assert!((difference / 2e-6 - slope).abs() < 1e-6, "{v}");
        }
    }

    #[test]
    fn huge_numbers_stay_numbers() {
        let mut mean = LowerMean::new();
        mean.observe(&[1e12, 0.0, 1e100, 1e300, f64::MAX]);
        mean.observe(&[1e100; 1_000]);
        mean.observe_scaled(&[1e100; 100], &[1e30; 100]);
        mean.observe_scaled(&[1e100; 100], &[1e-30; 100]);
        assert!(mean.log_wealth(0.5).is_finite());
        assert_eq!(mean.bound(0.05, 1.0), 1.0);
        let mut zero = LowerMean::new();
        zero.observe(&[0.0; 1_000]);
        assert_eq!(zero.bound(0.05, 1.0), 0.0);
    }

    #[test]
    #[should_panic(expected = "never negative")]
    fn nan_is_refused() {
        LowerMean::new().observe(&[0.5, f64::NAN]);
    }

    #[test]
    fn many_equal_numbers_are_not_refuted_by_rounding() {
        let mut mean = LowerMean::new();
        for _ in 0..1_000 {
            mean.observe(&[0.3; 4_096]);
        }
        let bound = mean.bound(0.05, 1.0);
        assert!(bound < 0.3 && 0.299_99 < bound, "{bound}");
    }

    #[test]
    fn event_weights_are_rounded_to_the_nearest_power_of_two() {
        for (h, exponent) in [
            (1.0, 0),
            (1.41, 0),
            (1.42, 1),
            (0.708, 0),
            (0.706, -1),
            (0.25, -2),
            (1e-30, -40),
            (1e30, 23),
        ] {
            assert_eq!(nearest_exponent(h), exponent, "{h}");
        }
    }

    #[test]
    fn more_events_and_larger_alpha_tighten() {
        let mut mean = LowerMean::new();
        let mut last = 0.0;
        for _ in 0..8 {
            mean.observe(&[0.0, 1.0].repeat(200));
            let bound = mean.bound(0.05, 1.0);
            assert!(last < bound && bound < 0.5, "{bound}");
            assert!(mean.bound(0.01, 1.0) < bound && bound < mean.bound(0.2, 1.0));
            last = bound;
        }
    }
}
