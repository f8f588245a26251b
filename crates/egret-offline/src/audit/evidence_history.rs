use serde::Serialize;

/// The evidence over time in bounded memory. It keeps a point every so many events; when it is full, it doubles the step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvidenceHistory {
    /// Events between two points.
    pub every: u64,
    /// (events so far, the e-value of each test, then of all together).
    pub points: Vec<(u64, Vec<f64>)>,
}

/// The most points.
const ROOM: usize = 1_024;

impl Default for EvidenceHistory {
    fn default() -> Self {
        Self {
            every: 1,
            points: Vec::new(),
        }
    }
}

impl EvidenceHistory {
    /// Keeps the values after so many events, if a point is due.
    pub(crate) fn observe(&mut self, events: u64, values: impl FnOnce() -> Vec<f64>) {
        if !events.is_multiple_of(self.every) {
            return;
        }
        if self.points.len() == ROOM {
            self.every *= 2;
            let every = self.every;
            self.points.retain(|(at, _)| at.is_multiple_of(every));
            if !events.is_multiple_of(every) {
                return;
            }
        }
        self.points.push((events, values()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_even_and_few() {
        let mut history = EvidenceHistory::default();
        for event in 1..=100_000 {
            history.observe(event, || vec![event as f64]);
        }
        assert!(history.points.len() <= ROOM && ROOM / 2 <= history.points.len());
        for pair in history.points.windows(2) {
            assert_eq!(pair[1].0 - pair[0].0, history.every);
        }
    }
}
