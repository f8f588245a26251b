use crate::estimator::{Estimator, Rule};
use crate::evaluation::Plan;
use crate::interval::IntervalKind;
use crate::interval::betting::Bet;

/// Which sums a plan needs.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) rules: Vec<Rule>,
    /// Which of the rules belong to each estimator of the plan.
    pub(crate) slots: Vec<std::ops::Range<usize>>,
    pub(crate) bets: Vec<Bet>,
    pub(crate) bootstrapped: bool,
}

impl Layout {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut rules = Vec::new();
        let mut slots = Vec::new();
        for estimator in &plan.estimators {
            let start = rules.len();
            rules.extend(estimator.rules());
            slots.push(start..rules.len());
        }
        let betting = plan.intervals.contains(&IntervalKind::Betting);
        let mut bets = Vec::new();
        if betting && plan.estimators.contains(&Estimator::Ips) {
            bets.push(Bet::Ips {
                bound: plan.weight_bound,
            });
        }
        if let Some(bound) = plan.weight_bound
            && betting
            && plan.estimators.contains(&Estimator::Dr)
        {
            bets.push(Bet::Dr { bound });
        }
        Self {
            rules,
            slots,
            bets,
            bootstrapped: plan.intervals.contains(&IntervalKind::Bootstrap),
        }
    }

    /// The place of the bet for an estimator, or why it has none.
    pub(crate) fn bet_on(&self, estimator: Estimator) -> Result<usize, &'static str> {
        let place = self.bets.iter().position(|bet| {
            matches!(
                (bet, estimator),
                (Bet::Ips { .. }, Estimator::Ips) | (Bet::Dr { .. }, Estimator::Dr)
            )
        });
        place.ok_or(match estimator {
            Estimator::Dr => {
                "dr can be bet on only with a bound on the weights: give one, or use ips"
            }
            Estimator::Snips | Estimator::Sndr => "a ratio of sums cannot be bet on: use ips or dr",
            _ => "a biased estimator cannot be bet on: use ips or dr",
        })
    }
}
