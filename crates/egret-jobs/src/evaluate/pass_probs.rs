/// With which probabilities events were kept for the log.
///
/// An event that was kept with probability π stands for 1/π of them: its event weight is divided by π. Who does not say
/// otherwise kept every event.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PassProbs {
    /// That of the first event.
    first: Option<f64>,
    unequal: bool,
}

impl PassProbs {
    /// Divides the event weights of a batch by π. They stay empty, which means 1, where every event was kept.
    pub(super) fn weigh(
        &mut self,
        kept: impl Iterator<Item = Option<f64>> + Clone,
        rows: usize,
        event_weights: &mut Vec<f64>,
    ) {
        let kept = kept.map(|probability| probability.unwrap_or(1.0));
        let mut all = true;
        for probability in kept.clone() {
            self.unequal |= *self.first.get_or_insert(probability) != probability;
            all &= probability == 1.0;
        }
        if all {
            return;
        }
        if event_weights.is_empty() {
            event_weights.resize(rows, 1.0);
        }
        for (event_weight, probability) in event_weights.iter_mut().zip(kept) {
            *event_weight /= probability;
        }
    }

    /// Whether some events were likelier to be kept than others.
    pub(super) fn unequal(&self) -> bool {
        self.unequal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_counts_as_often_as_it_was_dropped() {
        let mut pass_probs = PassProbs::default();
        let mut weigh = |kept: &[Option<f64>], mut event_weights: Vec<f64>| {
            pass_probs.weigh(kept.iter().copied(), kept.len(), &mut event_weights);
            (event_weights, pass_probs.unequal())
        };
        assert_eq!(weigh(&[None, Some(1.0)], vec![]), (vec![], false));
        assert_eq!(weigh(&[None, Some(0.5)], vec![]), (vec![1.0, 2.0], true));
        let stabilized = weigh(&[None, Some(0.25)], vec![0.5, 0.5]);
        assert_eq!(stabilized, (vec![0.5, 2.0], true));
    }
}
