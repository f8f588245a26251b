use serde::Serialize;

/// How many actions are exactly the least one, and exactly the largest.
///
/// Actions that were drawn with a density on a line hardly ever come twice. Those that were clipped afterwards all end up at one
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ActionEnds {
    /// How many actions.
    pub events: u64,
    /// The least action, and how often it came.
    pub least: (f64, u64),
    /// The largest one, and how often.
    pub largest: (f64, u64),
}

/// That many equal actions are none by chance, if they are more than this share.
const MOST_EQUAL: u64 = 5;
const MOST_SHARE: f64 = 0.001;

impl Default for ActionEnds {
    fn default() -> Self {
        Self {
            events: 0,
            least: (f64::INFINITY, 0),
            largest: (f64::NEG_INFINITY, 0),
        }
    }
}

impl ActionEnds {
    pub(crate) fn observe(&mut self, action: f64) {
        self.events += 1;
        if action < self.least.0 {
            self.least = (action, 0);
        }
        if self.largest.0 < action {
            self.largest = (action, 0);
        }
        self.least.1 += u64::from(action == self.least.0);
        self.largest.1 += u64::from(action == self.largest.0);
    }

    /// The number that actions were clipped to, and how many.
    pub fn clipped(&self) -> Option<(f64, u64)> {
        let often = |&(_, count): &(f64, u64)| {
            MOST_EQUAL <= count && MOST_SHARE * self.events as f64 <= count as f64
        };
        [self.least, self.largest].into_iter().find(often)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clipped_actions_are_seen_and_others_are_not() {
        let ends = |clip: (f64, f64)| {
            let mut ends = ActionEnds::default();
            for i in 0..1_000 {
                let action = f64::from(i * 7_919 % 10_007) / 10_007.0;
                ends.observe(action.clamp(clip.0, clip.1));
            }
            ends.clipped()
        };
        assert_eq!(ends((0.0, 1.0)), None);
        let (at, count) = ends((0.1, 0.9)).expect("clipped");
        assert!(at == 0.1 && 80 < count, "{at} {count}");
        assert_eq!(ends((0.0, 0.9)).expect("clipped").0, 0.9);
    }
}
