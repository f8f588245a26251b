use crate::estimator::{Estimator, Rule};
use crate::evaluation::Plan;
use crate::interval::IntervalKind;
use crate::interval::betting::{Bet, KnownOfWeights};

/// Which sums a plan needs.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) rules: Vec<Rule>,
    /// Which of the rules belong to each estimator of the plan.
    pub(crate) slots: Vec<std::ops::Range<usize>>,
    /// On IPS, on DR, or on both: DR has the parts of IPS first, so that its sums serve both.
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
        let known = KnownOfWeights {
            bound: plan.weight_bound,
            event_bounds: plan.event_bounds,
            truncated: plan.truncated,
        };
        let betting = plan.intervals.contains(&IntervalKind::Betting);
        let bets = [Estimator::Ips, Estimator::Dr]
            .into_iter()
            .filter(|estimator| betting && plan.estimators.contains(estimator))
            .filter_map(|estimator| Bet::new(estimator, known));
        let bets = bets.collect();
        Self {
            rules,
            slots,
            bets,
            bootstrapped: plan.intervals.contains(&IntervalKind::Bootstrap),
        }
    }

    /// The bet whose sums serve all.
    pub(crate) fn widest_bet(&self) -> Option<&Bet> {
        self.bets.last()
    }

    /// The bet for an estimator, or why it has none.
    pub(crate) fn bet_on(&self, estimator: Estimator) -> Result<&Bet, &'static str> {
        let bet = self.bets.iter().find(|bet| bet.on == estimator);
        bet.ok_or(match estimator {
            Estimator::Dr => {
                "dr can be bet on only with bounds on the weights or the model that made the log: give one, log largestInverseDensity, or use ips"
            }
            Estimator::Snips | Estimator::Sndr => "a ratio of sums cannot be bet on: use ips or dr",
            _ => "a biased estimator cannot be bet on: use ips or dr",
        })
    }
}
