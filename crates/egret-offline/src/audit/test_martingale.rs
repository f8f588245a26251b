/// The wealth of a gambler who bets against a hypothesis: an e-process.
///
/// If the hypothesis holds, each factor has mean at most 1 given all earlier events, so by Ville's inequality
///
/// P(the wealth ever reaches 1/α) ≤ α
///
/// One may look after every event, and the log may grow without end. Several bets run side by side, each with its share of
/// the money. Half of the money is staked before the first event, and event t > 1 adds ½·1/(t(t−1)). That is a mixture over
/// starting times, kept in one number for each bet: a fault that begins late in a long log meets money that was not lost
/// before.
#[derive(Debug, Clone)]
pub struct TestMartingale {
    wealths: Vec<f64>,
    events: u64,
    largest: f64,
}

/// Wealth is cut off here, so that sums stay finite. More would prove nothing more.
const ENOUGH: f64 = 1e200;

impl TestMartingale {
    /// Wealth 1, spread over so many bets, at least one.
    pub fn new(bets: usize) -> Self {
        Self {
            wealths: vec![0.0; bets.max(1)],
            events: 0,
            largest: 1.0,
        }
    }

    /// Takes one event: the wealth of bet `j` is multiplied by `factor(j)`. A factor that is negative or NaN counts as 0.
    pub fn step(&mut self, factor: impl Fn(usize) -> f64) {
        let share = 1.0 / self.wealths.len() as f64;
        let stake = share * (self.cash() - cash_after(self.events + 1));
        for (bet, wealth) in self.wealths.iter_mut().enumerate() {
            let next = (*wealth + stake) * factor(bet).max(0.0);
            *wealth = next.min(ENOUGH);
        }
        self.events += 1;
        self.largest = self.largest.max(self.value());
    }

    /// The wealth now: evidence against the hypothesis, 1 at the start.
    pub fn value(&self) -> f64 {
        let staked: f64 = self.wealths.iter().sum();
        (staked + self.cash()).min(ENOUGH)
    }

    /// The largest wealth so far.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// How many events it saw.
    pub fn events(&self) -> u64 {
        self.events
    }

    fn cash(&self) -> f64 {
        cash_after(self.events)
    }
}

/// The money not staked yet after so many events: 1, ½, ¼, ⅙, …
fn cash_after(events: u64) -> f64 {
    match events {
        0 => 1.0,
        events => 0.5 / events as f64,
    }
}

/// Tests that Y ≥ 0 has the mean m.
///
/// It bets upwards with the factor 1 + λ(Y − m̂) and downwards with 1 − λ(Y − m̂), for each λ of a geometric grid. m̂ is m,
/// or an unbiased estimate that is independent of Y.
#[derive(Debug, Clone)]
pub struct MeanTest(TestMartingale);

/// One event of a [`MeanTest`]. All fields but `y` and `mean` must be known before the action was drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanTerm {
    /// Y.
    pub y: f64,
    /// m, or an unbiased estimate.
    pub mean: f64,
    /// An upper bound on `mean`; positive.
    pub largest_mean: f64,
    /// About how large E\[Y²\]/m is; positive.
    pub scale: f64,
    /// An upper bound on Y, if known. Without it nothing is bet downwards.
    pub largest: Option<f64>,
}

/// The λ in units of 1/scale: 16, 8, …, 1/32. If the mean is off by the factor 1 + δ, the best is δ.
const GRID: [f64; 10] = [16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125];

/// The largest share of its money that a bet may lose at one event.
const BOLDEST: f64 = 0.95;

impl Default for MeanTest {
    fn default() -> Self {
        Self(TestMartingale::new(2 * GRID.len()))
    }
}

impl MeanTest {
    /// Takes one event.
    pub fn step(&mut self, term: &MeanTerm) {
        let off = term.y - term.mean;
        let up = BOLDEST / term.largest_mean;
        let down = term.largest.map_or(0.0, |largest| BOLDEST / largest);
        self.0.step(|bet| {
            if bet < GRID.len() {
                1.0 + (GRID[bet] / term.scale).min(up) * off
            } else {
                1.0 - (GRID[bet - GRID.len()] / term.scale).min(down) * off
            }
        });
    }

    /// The evidence against the hypothesis.
    pub fn martingale(&self) -> &TestMartingale {
        &self.0
    }
}

/// Tests that Y ≥ 0 has mean 1, where Y has no bound but its variance is at most 3.
///
/// It bets upwards with the factor 1 + λ(Y − 1), and downwards with exp(−λ(Y − 1)) / (1 + 3(e^λ − 1 − λ)). The mean of the
/// latter is at most 1, for exp(−λD) ≤ 1 − λD + (e^λ − 1 − λ) D² where D ≥ −1 (Bennett).
///
/// Y = K·ẑ/τ is such a number: K is geometric with mean τ/z and independent of ẑ, so E\[Y²\] ≤ 2(1 + ε²), where ε is the
/// relative error of ẑ, at most 1.
#[derive(Debug, Clone)]
pub struct ProposalTest {
    martingale: TestMartingale,
    /// λ, and the divisor of its downward bet.
    bets: Vec<(f64, f64)>,
}

/// The largest variance of K·ẑ/τ.
const PROPOSAL_VARIANCE: f64 = 3.0;

impl Default for ProposalTest {
    fn default() -> Self {
        let bets: Vec<(f64, f64)> = GRID
            .iter()
            .map(|&bet| BOLDEST.min(bet / 8.0))
            .map(|bet| {
                let bend = libm::expm1(bet) - bet;
                (bet, 1.0 + PROPOSAL_VARIANCE * bend)
            })
            .collect();
        Self {
            martingale: TestMartingale::new(2 * bets.len()),
            bets,
        }
    }
}

impl ProposalTest {
    /// Takes one event with this Y.
    pub fn step(&mut self, y: f64) {
        let (bets, off) = (&self.bets, y - 1.0);
        self.martingale.step(|place| {
            let (bet, divisor) = bets[place % bets.len()];
            if place < bets.len() {
                1.0 + bet * off
            } else {
                libm::exp(-bet * off) / divisor
            }
        });
    }

    /// The evidence against the hypothesis.
    pub fn martingale(&self) -> &TestMartingale {
        &self.martingale
    }
}

#[cfg(test)]
mod tests {
    use egret::{EventRng, Stream};
    use egret_testkit::allowed_misses;

    use super::*;

    /// How many of `trials` ever reach 1/α within `events`, where each event is one step.
    fn alarms<T: Default>(
        trials: u64,
        events: u64,
        alpha: f64,
        step: impl Fn(&mut T, &mut EventRng),
        value: impl Fn(&T) -> f64,
    ) -> u64 {
        (0..trials)
            .filter(|&trial| {
                let mut rng = EventRng::new(3, trial, Stream::World);
                let mut test = T::default();
                for _ in 0..events {
                    step(&mut test, &mut rng);
                }
                1.0 / alpha <= value(&test)
            })
            .count() as u64
    }

    /// 1/p with a known bound, times `off`.
    fn inverse_weight(rng: &mut EventRng, off: f64) -> MeanTerm {
        // p ∝ 1/(1 + 9a) on [0, 1] has the distribution function ln(1 + 9a)/ln 10.
        let a = (libm::exp(rng.unit() * std::f64::consts::LN_10) - 1.0) / 9.0;
        let p = 9.0 / std::f64::consts::LN_10 / (1.0 + 9.0 * a);
        let largest = 10.0 * std::f64::consts::LN_10 / 9.0;
        MeanTerm {
            y: off / p,
            mean: 1.0,
            largest_mean: 1.0,
            scale: largest,
            largest: Some(largest),
        }
    }

    #[test]
    fn right_means_are_seldom_accused() {
        let (trials, alpha) = (2_000, 0.05);
        let largest = |test: &MeanTest| test.martingale().largest();
        let false_alarms = |off| {
            let step = |test: &mut MeanTest, rng: &mut EventRng| {
                test.step(&inverse_weight(rng, off));
            };
            alarms(trials, 1_000, alpha, step, largest)
        };
        // Looked at after each of 1,000 events. Exceeded with probability below 1e-6.
        assert!(false_alarms(1.0) <= allowed_misses(trials, alpha));
        // Power, both ways.
        for off in [0.8, 1.25] {
            let found = false_alarms(off);
            assert!(trials * 9 / 10 < found, "{off}: {found}");
        }
    }

    #[test]
    fn estimated_means_do_no_harm() {
        let (trials, alpha) = (1_000, 0.05);
        let largest = |test: &MeanTest| test.martingale().largest();
        let step = |test: &mut MeanTest, rng: &mut EventRng| {
            let mean = if rng.unit() < 0.3 { 1.0 } else { 0.0 };
            let term = inverse_weight(rng, 1.0);
            let y = if rng.unit() < 0.3 { term.y } else { 0.0 };
            test.step(&MeanTerm { y, mean, ..term });
        };
        assert!(alarms(trials, 500, alpha, step, largest) <= allowed_misses(trials, alpha));
    }

    /// K·ẑ/τ with ẑ of relative error 1, times `off`.
    fn proposals(rng: &mut EventRng, off: f64) -> f64 {
        let success = 0.02;
        let k = (libm::log(rng.unit()) / libm::log1p(-success)).ceil();
        let z = if rng.unit() < 0.5 { 0.0 } else { 2.0 };
        off * k * success * z
    }

    #[test]
    fn right_proposals_are_seldom_accused() {
        let (trials, alpha) = (2_000, 0.05);
        let largest = |test: &ProposalTest| test.martingale().largest();
        let found = |off| {
            let step = |test: &mut ProposalTest, rng: &mut EventRng| test.step(proposals(rng, off));
            alarms(trials, 1_500, alpha, step, largest)
        };
        assert!(found(1.0) <= allowed_misses(trials, alpha));
        for off in [0.75, 1.4] {
            assert!(trials * 9 / 10 < found(off), "{off}: {}", found(off));
        }
    }

    #[test]
    fn a_fault_that_begins_late_is_found() {
        let mut test = MeanTest::default();
        let mut rng = EventRng::new(8, 0, Stream::World);
        for _ in 0..50_000 {
            test.step(&inverse_weight(&mut rng, 1.0));
        }
        assert!(test.martingale().largest() < 20.0);
        let mut events = 0;
        while test.martingale().value() < 100.0 {
            test.step(&inverse_weight(&mut rng, 1.5));
            events += 1;
        }
        assert!(events < 1_000, "{events}");
    }

    #[test]
    fn money_is_neither_made_nor_lost_without_a_bet() {
        let mut idle = TestMartingale::new(7);
        for _ in 0..1_000 {
            idle.step(|_| 1.0);
            assert!((idle.value() - 1.0).abs() < 1e-12);
        }
        let mut rich = TestMartingale::new(1);
        for _ in 0..2_000 {
            rich.step(|_| 3.0);
        }
        assert!(rich.value() <= ENOUGH);
        rich.step(|_| f64::NAN);
        assert!(rich.value() < 1.0);
    }
}
