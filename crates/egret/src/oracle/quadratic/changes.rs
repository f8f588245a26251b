use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::numeric::elementary::{exp, ln};
use crate::oracle::local::least_squares::{self, Lane, LeastSquares, Scratch};

/// Tells when losses are no longer what f̂ says: the world has moved.
///
/// A small regression of the last errors, on a constant, the context and the action, predicts the next one. On that it bets: evidence
/// is the logarithm of what the bets have won,
///
/// e ← max(0, e + ln(1 + λ(ℓ − f̂)) − c),  λ = ŷ/(1 + ŷ²)/σ
///
/// with ŷ the error it predicts, in deviations σ; such a λ wins most where it predicts well, and is held to what cannot lose more than
/// ¾ at once (CUSUM, Page 1954; betting, Waudby-Smith & Ramdas 2024). Where f̂ is the mean of the losses, whatever else they are in
/// \[0, 1\], rare ones of 1 too, no bet wins on average, and e reaches h = 14 at most about once in eʰ = 10⁶ events. c asks for an error
/// that matters: without it f̂ would be given up for what it never had, the last hundredth of a bend,
///
/// c = .01·(1 + 2d/n)
///
/// with d the number of f̂'s weights and n that of the events that what it learned is worth: after few of them f̂ errs for want of events.
///
/// If f̂ was farther from the losses since e was last 0 than ½ is, which is f̂ before any event, it is worse than nothing, and begins
/// anew. Otherwise the past is worth a 16th of what it was; and since a world that moved may go on to, f̂ forgets from then on what is
/// older than a memory: a tenth of the mean number of events between moves, at least 1,000.
///
/// Losses outside [0, 1] are not those of a world but of training, where events come in any order. After the first of them nothing is
/// said to have moved.
///
/// Whether the best action moved or all losses did, as by day and night, is not told by losses of one action. So f̂ then also lets its
/// constant follow the losses, [`LEVEL`] times as fast as it forgets the rest.
#[derive(Debug)]
pub(super) struct Changes {
    state: State,
    buffers: Buffers,
}

/// What is saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// Of errors since the last move, in their deviations.
    errors: LeastSquares,
    /// How many errors those are.
    events: u64,
    /// e.
    evidence: f64,
    /// Σ (ℓ − f̂)² − (ℓ − ½)² since e was last 0.
    worse: f64,
    /// How many events all that was learned is worth.
    worth: f64,
    /// How many events there were since f̂ began anew, and how often the world has moved a little since.
    since: u64,
    moves: u64,
    /// Whether a loss was outside [0, 1].
    pseudo: bool,
}

impl State {
    /// Before any event, for so many features.
    fn new(length: usize) -> Self {
        Self {
            errors: LeastSquares::new(length),
            events: 0,
            evidence: 0.0,
            worse: 0.0,
            worth: 0.0,
            since: 0,
            moves: 0,
            pseudo: false,
        }
    }
}

#[derive(Debug)]
struct Buffers {
    phi: Vec<f64>,
    lanes: Vec<Lane>,
    scratch: Scratch,
}

/// What has become of f̂.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Move {
    /// What was learned is still better than nothing, and to be worth [`FORGETS`] times less.
    Near,
    /// It is worse than nothing.
    Far,
}

/// By how much the past counts less once the world has moved a little.
pub(super) const FORGETS: f64 = 16.0;

/// What is remembered, in events between moves.
const MEMORY: f64 = 0.1;

/// At least so many events are remembered.
const LEAST_MEMORY: f64 = 1_000.0;

/// How many times as fast as the rest the constant follows.
pub(super) const LEVEL: f64 = 32.0;

/// h.
const EVIDENCE: f64 = 14.0;

/// c after many events.
const SLACK: f64 = 0.01;

/// What c grows by, in SLACK, where there is one event for each weight.
const SLACK_OF_WEIGHT: f64 = 2.0;

/// The most that a bet can lose of what there is.
const MOST_LOST: f64 = 0.75;

/// The regression of errors is over about so many events.
const HORIZON: f64 = 400.0;

/// After how many events it forgets.
const FORGETS_AFTER: u64 = 16;

/// What is worth less is not made to count less: f̂ is still learning.
const LEAST_WORTH: f64 = 100.0;

/// An error counts as at most so many deviations.
const MOST_DEVIATIONS: f64 = 10.0;

/// A smaller deviation counts as this one.
const LEAST_DEVIATION: f64 = 1e-6;

fn length(groups: usize, action_dim: usize) -> usize {
    1 + groups + action_dim
}

/// How many numbers are saved, of contexts of so many groups of features.
pub(super) fn saved_numbers(groups: usize, action_dim: usize) -> usize {
    let length = length(groups, action_dim);
    least_squares::size(length).saturating_add(length)
}

impl Changes {
    pub(super) fn new(groups: usize, action_dim: usize) -> Self {
        let length = length(groups, action_dim);
        Self {
            state: State::new(length),
            buffers: Buffers {
                phi: Vec::with_capacity(length),
                lanes: least_squares::padded(length),
                scratch: Scratch::new(length),
            },
        }
    }

    /// How many events all that was learned is worth.
    pub(super) fn worth(&self) -> f64 {
        self.state.worth
    }

    /// Counts one event more.
    pub(super) fn count_event(&mut self) {
        self.state.worth += 1.0;
        self.state.since += 1;
    }

    /// How many events to remember, where the world has moved a little before.
    pub(super) fn memory(&self) -> Option<f64> {
        let State { since, moves, .. } = self.state;
        (0 < moves).then(|| (MEMORY * since as f64 / moves as f64).max(LEAST_MEMORY))
    }

    /// Makes all that was learned worth so many times less.
    pub(super) fn forget(&mut self, factor: f64) {
        self.state.worth /= factor;
    }

    /// Takes a loss with its weight, and what f̂, in [0, 1], and the deviation from it were before, for one context and action; tells
    /// whether the world has moved. f̂ has so many weights.
    pub(super) fn moved(
        &mut self,
        (sums, u): (&[f64], &[f64]),
        (loss, weight): (f64, f64),
        (predicted, deviation): (f64, f64),
        weights: usize,
    ) -> Option<Move> {
        self.state.pseudo |= !(0.0..=1.0).contains(&loss);
        if self.state.pseudo {
            return None;
        }
        // What counts more than one event is no more than one of the world's.
        let weight = weight.min(1.0);
        let Buffers {
            phi,
            lanes,
            scratch,
        } = &mut self.buffers;
        phi.clear();
        phi.push(1.0);
        for part in [sums, u] {
            // Each part may say as much as the constant.
            let factor = 1.0 / (part.len().max(1) as f64).sqrt();
            phi.extend(part.iter().map(|value| factor * value));
        }
        least_squares::fill(lanes, phi);
        let state = &mut self.state;
        let error = loss - predicted;
        let deviation = deviation.max(LEAST_DEVIATION);
        let y = (error / deviation).clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS);
        let expected = state.errors.predict(lanes);
        let bet = expected / (1.0 + expected * expected) / deviation;
        let bet = bet.clamp(-MOST_LOST / (1.0 - predicted), MOST_LOST / predicted);
        let for_each = weights as f64 / state.worth.max(1.0);
        let slack = SLACK * (1.0 + SLACK_OF_WEIGHT * for_each);
        let gained = ln(1.0 + bet * error) - slack;
        state.evidence = (state.evidence + weight * gained).max(0.0);
        state.worse = match 0.0 < state.evidence {
            true => state.worse + weight * (error * error - (loss - 0.5) * (loss - 0.5)),
            false => 0.0,
        };
        state.events += 1;
        if state.events.is_multiple_of(FORGETS_AFTER) {
            state.errors.forget(exp(FORGETS_AFTER as f64 / HORIZON));
        }
        state.errors.learn(lanes, y, weight, scratch);
        if state.evidence < EVIDENCE || state.worth < LEAST_WORTH {
            return None;
        }
        let moved = match 0.0 < state.worse {
            true => Move::Far,
            false => Move::Near,
        };
        let fresh = State::new(state.errors.dim());
        *state = match moved {
            Move::Far => fresh,
            Move::Near => State {
                worth: state.worth,
                since: state.since,
                moves: state.moves + 1,
                ..fresh
            },
        };
        Some(moved)
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    pub(super) fn restore(&mut self, state: State) {
        self.state = state;
    }

    /// An error unless this is a state of as many features, after so many events.
    pub(super) fn check(&self, state: &State, events: u64) -> Result<(), LoadError> {
        state.errors.check(self.state.errors.dim())?;
        saved_state::expect_count("events of changes", state.events)?;
        saved_state::expect_numbers("evidence", &[state.evidence], 1, |evidence| {
            (0.0..=1e6).contains(&evidence)
        })?;
        saved_state::expect_numbers("evidence against f̂", &[state.worse], 1, |worse| {
            worse.abs() <= state.events as f64
        })?;
        saved_state::expect_numbers("worth", &[state.worth], 1, |worth| {
            (0.0..=events as f64).contains(&worth)
        })?;
        if events < state.since || state.since < state.moves {
            return Err(LoadError::Invalid("more moves than events".into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::{EventRng, Stream};

    const GROUPS: usize = 2;
    const KNOBS: usize = 6;
    const WEIGHTS: usize = 100;

    /// The event at which the world was first said to have moved, and how far. Losses are 1 with a probability that the event and the
    /// context tell, else 0; predicted is that of event 0.
    fn first_move(seed: u64, events: u64, p: impl Fn(u64, &[f64]) -> f64) -> Option<(u64, Move)> {
        first_move_of(seed, events, 1.0, p)
    }

    /// As [`first_move`], where deviations are taken to be so many times what they are.
    fn first_move_of(
        seed: u64,
        events: u64,
        taken: f64,
        p: impl Fn(u64, &[f64]) -> f64,
    ) -> Option<(u64, Move)> {
        let mut changes = Changes::new(GROUPS, KNOBS);
        (1..=events).find_map(|event| {
            let mut rng = EventRng::new(seed, event, Stream::World);
            let mut number = || (2.0 * rng.unit() - 1.0) * 3.0_f64.sqrt();
            let s: [f64; GROUPS] = std::array::from_fn(|_| number());
            let u: [f64; KNOBS] = std::array::from_fn(|_| number());
            let (predicted, chance) = (p(0, &s), rng.unit());
            let loss = f64::from(u8::from(chance < p(event, &s)));
            let deviation = taken * (predicted * (1.0 - predicted)).sqrt();
            changes.count_event();
            let moved = changes.moved((&s, &u), (loss, 1.0), (predicted, deviation), WEIGHTS);
            moved.map(|moved| (event, moved))
        })
    }

    /// At e⁻¹⁴ for an event each of these worlds would have 0.67 of a false alarm. c, and what the regression of errors costs where
    /// there is nothing to learn, make them fewer.
    #[test]
    fn where_the_world_stays_almost_nothing_is_forgotten() {
        let rates = [0.01, 0.05, 0.3, 0.5, 0.95];
        let alarms = rates
            .iter()
            .zip(1..)
            .filter(|(p, seed)| first_move(*seed, 800_000, |_, _| **p).is_some());
        assert_eq!(alarms.count(), 0);
    }

    /// What is rare is not normal, and its deviation is not known: neither makes a bet win.
    #[test]
    fn rare_losses_that_stay_rare_raise_no_alarm() {
        for (seed, taken) in [(1, 0.2), (2, 0.5), (3, 1.0), (4, 5.0)] {
            for rare in [0.002, 0.998] {
                let first = first_move_of(seed, 200_000, taken, |_, _| rare);
                assert_eq!(first, None, "{taken} {rare}");
            }
        }
    }

    #[test]
    fn rare_losses_that_do_not_stay_rare_are_seen() {
        for seed in 1..=20 {
            // From 2% to 8%.
            let p = |event, _: &[f64]| if event < 5_000 { 0.02 } else { 0.08 };
            let (event, moved) = first_move(seed, 20_000, p).expect("it moved");
            assert!((5_000..6_500).contains(&event), "{event}");
            assert_eq!(moved, Move::Near);
        }
    }

    /// f̂ of 400 weights may be off by a fifth of √(400/n) deviations after n events, and by half of one for a while, but not for long.
    #[test]
    fn what_is_still_being_learned_is_no_move() {
        let first_move = |seed, off: fn(f64) -> f64| {
            let mut changes = Changes::new(GROUPS, KNOBS);
            (1..=5_000).find(|&event| {
                let noise = EventRng::new(seed, event, Stream::World).unit() - 0.5;
                let sigma = 1.0 / 12.0_f64.sqrt();
                let loss = 0.5 + 0.4 * (noise + off(event as f64) * sigma);
                changes.count_event();
                let of = (&[0.3, -0.2][..], &[0.1; KNOBS][..]);
                let moved = changes.moved(of, (loss, 1.0), (0.5, 0.4 * sigma), 400);
                moved.is_some()
            })
        };
        for seed in 1..=20 {
            assert_eq!(
                first_move(seed, |n| 0.2 * (400.0 / n.max(100.0)).sqrt()),
                None
            );
            let seen = first_move(seed, |_| 0.5).expect("it is off for long");
            assert!((100..1_000).contains(&seen), "{seen}");
        }
    }

    #[test]
    fn a_world_that_moves_is_seen_the_sooner_the_farther_it_moves() {
        const MOVED: u64 = 5_000;
        let seen = |seed, p: &dyn Fn(&[f64]) -> f64| {
            let p = |event, s: &[f64]| if event < MOVED { 0.3 } else { p(s) };
            let (event, moved) = first_move(seed, 20_000, p).expect("it moved");
            assert!(MOVED <= event, "{event}");
            (event - MOVED, moved)
        };
        for seed in 1..=20 {
            let (late, near) = seen(seed, &|_| 0.15);
            let (soon, far) = seen(seed, &|_| 0.95);
            assert!(soon < 150 && soon < late && late < 1_500, "{soon} {late}");
            // 0.3 is nearer to 0.15 than ½ is, and farther from 0.95.
            assert_eq!((near, far), (Move::Near, Move::Far));
            // Half of the contexts lose more and half less: the mean of the losses stays.
            let (event, _) = seen(seed, &|s| 0.3 + 0.15 * s[1]);
            assert!(event < 1_500, "{event}");
        }
    }

    #[test]
    fn after_a_move_evidence_begins_anew() {
        for (loss, worth, moves) in [(0.3, 600.0, 1), (1.0, 0.0, 0)] {
            let mut changes = Changes::new(GROUPS, KNOBS);
            let mut take = |loss| {
                changes.count_event();
                let moved = changes.moved(
                    (&[0.3, -0.2], &[0.1; KNOBS]),
                    (loss, 1.0),
                    (0.2, 0.05),
                    WEIGHTS,
                );
                (moved.is_some(), changes.worth())
            };
            for event in 1..600 {
                assert_eq!(take(0.2), (false, f64::from(event)));
            }
            let moved = (1..100).map(|_| take(loss)).find(|moved| moved.0);
            let (_, left) = moved.expect("it moved");
            assert!((worth..worth + 100.0).contains(&left), "{left}");
            let rest = State {
                worth: left,
                since: left as u64,
                moves,
                ..State::new(1 + GROUPS + KNOBS)
            };
            assert_eq!(*changes.state(), rest);
            changes.forget(4.0);
            assert_eq!(changes.worth(), 0.25 * left);
        }
    }

    #[test]
    fn an_event_of_little_weight_is_little_evidence() {
        let events_until = |weight: f64| {
            let mut changes = Changes::new(GROUPS, KNOBS);
            (1..5_000).find(|_| {
                changes.count_event();
                let moved = changes.moved(
                    (&[0.3, -0.2], &[0.1; KNOBS]),
                    (0.4, weight),
                    (0.2, 0.2),
                    WEIGHTS,
                );
                moved.is_some()
            })
        };
        let [one, many] = [1.0, 5.0].map(|weight| events_until(weight).expect("it moved"));
        // A weight above 1 corrects for what was seldom played, and is no second event.
        assert_eq!(one, many);
        assert!(events_until(0.1).is_some_and(|tenth| one + 50 < tenth));
        assert_eq!(events_until(1e-9), None);
    }

    #[test]
    fn losses_of_training_move_no_world() {
        for (first, expected) in [(0.5, true), (-0.2, false), (1.7, false)] {
            let mut changes = Changes::new(GROUPS, KNOBS);
            let moved = (0..1_000).any(|event| {
                let loss = if event == 0 { first } else { 0.9 };
                changes.count_event();
                let of = (&[0.3, -0.2][..], &[0.1; KNOBS][..]);
                changes
                    .moved(of, (loss, 1.0), (0.1, 0.1), WEIGHTS)
                    .is_some()
            });
            assert_eq!(moved, expected, "{first}");
        }
    }

    #[test]
    fn a_tenth_of_the_events_for_each_move_is_remembered() {
        let mut changes = Changes::new(GROUPS, KNOBS);
        for (since, moves, memory) in [
            (500_000, 0, None),
            (3_000, 1, Some(1_000.0)),
            (30_000, 1, Some(3_000.0)),
            (30_000, 2, Some(1_500.0)),
            (30_000, 9, Some(1_000.0)),
        ] {
            (changes.state.since, changes.state.moves) = (since, moves);
            assert_eq!(changes.memory(), memory);
        }
    }

    #[test]
    fn only_evidence_of_such_a_regression_is_loaded() {
        let mut changes = Changes::new(GROUPS, KNOBS);
        for _ in 0..50 {
            changes.count_event();
            let moved = changes.moved(
                (&[0.3, -0.2], &[0.1; KNOBS]),
                (0.7, 1.0),
                (0.0, 1.0),
                WEIGHTS,
            );
            assert_eq!(moved, None);
        }
        let state = changes.state().clone();
        assert!(changes.check(&state, 50).is_ok());
        // It cannot be worth more events than there were.
        assert!(changes.check(&state, 49).is_err());
        assert!(Changes::new(GROUPS, KNOBS + 1).check(&state, 50).is_err());
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let mut other = state.clone();
            other.evidence = bad;
            assert!(changes.check(&other, 50).is_err(), "{bad}");
            let mut other = state.clone();
            other.worth = bad;
            assert!(changes.check(&other, 50).is_err(), "{bad}");
            let mut other = state.clone();
            other.worse = 100.0 * bad;
            assert!(changes.check(&other, 50).is_err(), "{bad}");
        }
        for (since, moves) in [(51, 0), (3, 4)] {
            let mut other = state.clone();
            (other.since, other.moves) = (since, moves);
            assert!(changes.check(&other, 50).is_err(), "{since} {moves}");
        }
    }
}
