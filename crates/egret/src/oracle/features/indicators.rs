use std::ops::Range;

use crate::event::Item;
use crate::numeric::OutOfRange;
use crate::oracle::ActionFeatures;
use crate::oracle::features::{Scaling, limits::check_count};

/// One feature for each item of a list: 1 at its own, 0 at the others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Indicators {
    count: usize,
}

impl Indicators {
    pub(crate) fn new(count: usize) -> Result<Self, OutOfRange> {
        check_count("items", count)?;
        Ok(Self { count })
    }

    /// To mean 0 and deviation 1 over all items; a single item has features that do not vary.
    pub(crate) fn scaling(self) -> Vec<Scaling> {
        let mean = 1.0 / self.count as f64;
        let deviation = (mean * (1.0 - mean)).sqrt();
        let factor = if 0.0 < deviation {
            1.0 / deviation
        } else {
            0.0
        };
        vec![
            Scaling {
                shift: mean,
                factor
            };
            self.count
        ]
    }
}

impl ActionFeatures<Item> for Indicators {
    fn dim(&self) -> usize {
        self.count
    }

    fn fill(&self, actions: &Vec<Item>, range: Range<usize>, out: &mut [f64]) {
        let width = range.len();
        out.fill(0.0);
        for (place, item) in actions[range].iter().enumerate() {
            match (item.0 as usize) < self.count {
                true => out[item.0 as usize * width + place] = 1.0,
                false => out[place..]
                    .iter_mut()
                    .step_by(width)
                    .for_each(|v| *v = f64::NAN),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_has_its_own_feature_and_what_is_no_item_has_none() {
        let items = Indicators::new(2).expect("two");
        let mut columns = [7.0; 6];
        items.fill(
            &vec![Item(9), Item(1), Item(0), Item(2)],
            1..4,
            &mut columns,
        );
        assert_eq!(
            (&columns[..2], &columns[3..5]),
            (&[0.0, 1.0][..], &[1.0, 0.0][..])
        );
        assert!(columns[2].is_nan() && columns[5].is_nan());
        let Scaling { shift, factor } = items.scaling()[0];
        assert_eq!(
            ((0.0 - shift) * factor, (1.0 - shift) * factor),
            (-1.0, 1.0)
        );
    }
}
