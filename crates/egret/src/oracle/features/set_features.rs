use std::ops::Range;

use crate::event::ItemSet;
use crate::oracle::features::Embeddings;
use crate::oracle::{ActionFeatures, features::limits::readable};

/// What oracles see of a set of items: the mean of their features.
#[derive(Debug, Clone)]
pub(crate) struct SetFeatures {
    items: Embeddings,
}

impl SetFeatures {
    pub(crate) fn new(items: Embeddings) -> Self {
        Self { items }
    }
}

impl ActionFeatures<ItemSet> for SetFeatures {
    fn dim(&self) -> usize {
        self.items.width()
    }

    fn fill(&self, actions: &Vec<ItemSet>, range: Range<usize>, out: &mut [f64]) {
        let (width, dim) = (range.len(), self.items.width());
        out.fill(0.0);
        for (place, set) in actions[range].iter().enumerate() {
            let share = 1.0 / set.items().len() as f64;
            for item in set.items() {
                let row = self.items.rows().get(item.0 as usize * dim..);
                let row = row.and_then(|rows| rows.get(..dim));
                for feature in 0..dim {
                    let value = row.map_or(f64::NAN, |row| readable(f64::from(row[feature])));
                    out[feature * width + place] += share * value;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Item;

    #[test]
    fn a_set_has_the_mean_of_its_items() {
        let items = Embeddings::new(2, vec![0.0, 1.0, 2.0, 3.0, 7.0, 8.0]).expect("three rows");
        let features = SetFeatures::new(items);
        let set = |items: &[u32]| ItemSet::new(items.iter().copied().map(Item)).expect("distinct");
        let mut columns = [5.0; 4];
        features.fill(
            &vec![set(&[0]), set(&[0, 1]), set(&[1, 3])],
            1..3,
            &mut columns,
        );
        assert_eq!((columns[0], columns[2]), (1.0, 2.0));
        assert!(columns[1].is_nan() && columns[3].is_nan());
    }
}
