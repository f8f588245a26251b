use crate::normalizer::{
    Certificate, CertifiedBy, Draws, FixedSample, Normalizer, Tolerance,
    martingale::wealth::LogProduct, uniform_certificate,
};
use crate::numeric::lanes::LANES;
use crate::sampling::{Igw, SampleError};

/// The paper's Algorithm 3: two betting martingales that bound β from both sides.
///
/// W⁻ₙ(β) = Π (1 + νₘ (1 − g(aₘ; β))),  W⁺ₙ(β) = Π (1 + vₘ (g(aₘ; β) − 1/κ∞))
///
/// W⁻ decreases in β and is a martingale at the β with z(β) = 1. So l = sup{β : W⁻(β) ≥ 2/δ} is below that β, except
/// with probability δ/2 (Ville). W⁺ increases in β and is a martingale where z(β) = 1/κ∞, so u = inf{β : W⁺(β) ≥ 2/δ}
/// is above that β, except with probability δ/2. The search stops when l > u and returns l.
///
/// Bets are online Newton steps on the log wealth at the current bound, from 0 up to half of what
/// could ever be lost: ν ≤ 1/(2(τ − 1)), v ≤ κ∞/2. The paper does not print where the second-order
/// term starts; 13 repeats its Table 1.
///
/// After twice the draws of [`FixedSample`], its order statistic over the same draws ends the search. The two
/// probabilities of failure are added, so no fresh draws are needed.
#[derive(Debug, Clone)]
pub struct BettingMartingale {
    tolerance: Tolerance,
    backstop: FixedSample,
    /// ln(2/δ') for the two martingales, which share what the backstop leaves of δ.
    log_threshold: f64,
}

/// Where the sum of squared gradients starts.
const NEWTON_START: f64 = 13.0;

/// 2/(2 − ln 3): the step that keeps the regret of the bets logarithmic (Cutkosky and Orabona 2018).
const NEWTON_STEP: f64 = 2.218_801_049_600_289;

/// A bound moves only after the number of draws has grown by this fraction since its last move. Each move goes through
/// all draws, and a bound that lags is still valid.
const LAG: f64 = 1.0 / 64.0;

impl BettingMartingale {
    /// Keeps the tolerance with the paper's bets.
    pub fn new(tolerance: Tolerance) -> Self {
        let (backstop, share) = FixedSample::with_twice_the_draws(tolerance);
        Self {
            tolerance,
            backstop,
            log_threshold: libm::log(2.0 / (tolerance.delta() - share)),
        }
    }
}

impl Normalizer for BettingMartingale {
    fn certify(&self, igw: &Igw, draws: &mut Draws<'_>) -> Result<Certificate, SampleError> {
        if let Some(certificate) = uniform_certificate(igw) {
            return Ok(certificate);
        }
        let certified = |beta, n| self.tolerance.certificate(beta, CertifiedBy::Betting, n);
        let most = self.backstop.draws(igw);
        let mut lower = Bettor::lower(igw);
        let mut upper = Bettor::upper(igw, self.tolerance.kappa_inf());
        draws.buffers.bets.iter_mut().for_each(Vec::clear);
        for n in 1..=most {
            if draws.seen().len() < n {
                let batch = igw.tau().ceil() as usize;
                draws.extend_to((n + batch).min(most))?;
            }
            let fhats = &draws.buffers.fhats[..n];
            let [below, above] = &mut draws.buffers.bets;
            lower.observe(igw, fhats, below, self.log_threshold);
            upper.observe(igw, fhats, above, self.log_threshold);
            if upper.bound < lower.bound {
                return Ok(certified(lower.bound, n));
            }
        }
        let (fhats, rng, room) = draws.seen_and_rng();
        let beta = self.backstop.beta(igw, fhats, rng, room);
        Ok(certified(beta, most))
    }
}

/// One martingale: Π (1 + bet · sign · (target − g)), its bets and the bound on β it has reached.
struct Bettor {
    /// +1 bets that g is below the target, −1 that it is above.
    sign: f64,
    target: f64,
    /// The largest bet.
    cap: f64,
    /// Where the wealth has reached the threshold.
    bound: f64,
    /// Where β goes when the wealth grows: the end of the search.
    limit: f64,
    /// The log wealth at `bound`.
    log_wealth: f64,
    /// How many draws there have to be before the bound moves again.
    moves_after: usize,
    /// The next bet, in units in which the cap is ½.
    bet: f64,
    squares: f64,
    /// How far the bound moved last.
    stride: f64,
}

impl Bettor {
    /// Bets that z < 1 and raises a lower bound on the β with z(β) = 1.
    fn lower(igw: &Igw) -> Self {
        Self {
            sign: 1.0,
            target: 1.0,
            cap: 0.5 / (igw.tau() - 1.0),
            bound: igw.beta_min(),
            limit: 1.0,
            ..Self::without_wealth(igw)
        }
    }

    /// Bets that z > 1/κ∞ and lowers an upper bound on the β with z(β) = 1/κ∞.
    fn upper(igw: &Igw, kappa_inf: f64) -> Self {
        Self {
            sign: -1.0,
            target: 1.0 / kappa_inf,
            cap: 0.5 * kappa_inf,
            bound: 1.0,
            limit: igw.beta_min(),
            ..Self::without_wealth(igw)
        }
    }

    fn without_wealth(igw: &Igw) -> Self {
        Self {
            sign: 0.0,
            target: 0.0,
            cap: 0.0,
            bound: 0.0,
            limit: 0.0,
            log_wealth: 0.0,
            moves_after: 0,
            bet: 0.0,
            squares: NEWTON_START,
            stride: scale(igw),
        }
    }

    /// Bets on the last of `fhats`, moves the bound if the wealth allows, and chooses the next bet.
    fn observe(&mut self, igw: &Igw, fhats: &[f64], bets: &mut Vec<f64>, log_threshold: f64) {
        let unit = 2.0 * self.cap;
        bets.push(self.bet * unit);
        let last = fhats[fhats.len() - 1];
        let gain = unit * self.sign * (self.target - igw.weight(last, self.bound));
        self.log_wealth += libm::log1p(self.bet * gain);
        let slope = gain / (1.0 + self.bet * gain);
        self.squares += slope * slope;
        self.bet = (self.bet + NEWTON_STEP * slope / self.squares).clamp(0.0, 0.5);
        let n = fhats.len();
        if log_threshold <= self.log_wealth && self.moves_after <= n {
            self.advance(igw, fhats, bets, log_threshold);
            self.moves_after = n + (LAG * n as f64).ceil() as usize;
        }
    }

    /// Moves the bound as far as the wealth stays above the threshold, to within a thousandth of 1/γ.
    fn advance(&mut self, igw: &Igw, fhats: &[f64], bets: &[f64], log_threshold: f64) {
        let excess = |beta: f64| {
            log_wealth(
                igw.tau(),
                igw.gamma(),
                beta,
                self.sign * self.target,
                self.sign,
                fhats,
                bets,
            ) - log_threshold
        };
        let direction = if self.bound < self.limit { 1.0 } else { -1.0 };
        let mut inside = (self.bound, self.log_wealth - log_threshold);
        let mut step = self.stride;
        let mut outside = loop {
            let beta = inside.0 + direction * step;
            if (self.limit - beta) * direction <= 0.0 {
                let at_limit = excess(self.limit);
                if 0.0 <= at_limit {
                    inside = (self.limit, at_limit);
                }
                break (self.limit, at_limit);
            }
            let value = excess(beta);
            if value < 0.0 {
                break (beta, value);
            }
            inside = (beta, value);
            step *= 2.0;
        };
        while 1e-3 * scale(igw) < (outside.0 - inside.0).abs() {
            // A secant, kept away from both ends so that the bracket shrinks from either side.
            let share = (inside.1 / (inside.1 - outside.1)).clamp(0.1, 0.9);
            let beta = inside.0 + share * (outside.0 - inside.0);
            // Neighbouring numbers: γ is so large that no β lies between.
            if beta == inside.0 || beta == outside.0 {
                break;
            }
            let value = excess(beta);
            if value < 0.0 {
                outside = (beta, value);
            } else {
                inside = (beta, value);
            }
        }
        self.stride = (inside.0 - self.bound).abs().max(1e-3 * scale(igw));
        (self.bound, self.log_wealth) = (inside.0, inside.1 + log_threshold);
    }
}

/// The distance in β over which g changes, or the resolution of numbers around 1 if that is larger.
fn scale(igw: &Igw) -> f64 {
    (1.0 / igw.gamma()).max(f64::EPSILON)
}

/// Σ ln(1 + bet · (signed_target − sign · g)).
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn log_wealth(
    tau: f64,
    gamma: f64,
    beta: f64,
    signed_target: f64,
    sign: f64,
    fhats: &[f64],
    bets: &[f64],
) -> f64 {
    let factor = |fhat: f64, bet: f64| {
        let g = tau / (1.0 + gamma * (fhat - beta).max(0.0));
        1.0 + bet * (signed_target - sign * g)
    };
    let (rows, rest) = fhats.as_chunks::<LANES>();
    let (bet_rows, bet_rest) = bets.as_chunks::<LANES>();
    let mut product = LogProduct::ONE;
    // Bets stay at half of what could be lost, so a factor is ½ at least; 16 of them are far from
    // both ends of the range of a double.
    for (rows, bet_rows) in rows.chunks(16).zip(bet_rows.chunks(16)) {
        for (fhats, bets) in rows.iter().zip(bet_rows) {
            product.multiply(&std::array::from_fn(|lane| factor(fhats[lane], bets[lane])));
        }
        product.normalize();
    }
    let mut last = [1.0; LANES];
    for (lane, (&fhat, &bet)) in rest.iter().zip(bet_rest).enumerate() {
        last[lane] = factor(fhat, bet);
    }
    product.multiply(&last);
    product.ln()
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
            let sides = 2.0 * libm::exp(-BettingMartingale::new(tolerance).log_threshold);
            assert!(
                0.0 < backstop && (sides + backstop - delta).abs() < 1e-12,
                "{sides} {backstop}"
            );
        }
    }

    #[test]
    fn the_newton_step_is_what_its_formula_says() {
        assert_eq!(NEWTON_STEP, 2.0 / (2.0 - 3.0_f64.ln()));
    }

    #[test]
    fn log_wealth_is_the_plain_sum() {
        let igw = Igw::new(20.0, 304.0).expect("in range");
        for n in [1, 7, 8, 9, 200] {
            let fhats: Vec<f64> = (0..n).map(|i| f64::from(i % 13) / 13.0).collect();
            let bets: Vec<f64> = (0..n).map(|i| f64::from(i % 7) / 300.0).collect();
            let plain: f64 = fhats
                .iter()
                .zip(&bets)
                .map(|(&fhat, &bet)| (bet * (1.0 - igw.weight(fhat, 0.2))).ln_1p())
                .sum();
            let fast = log_wealth(20.0, 304.0, 0.2, 1.0, 1.0, &fhats, &bets);
            assert!((fast - plain).abs() < 1e-11, "{n}: {fast} {plain}");
        }
    }
}
