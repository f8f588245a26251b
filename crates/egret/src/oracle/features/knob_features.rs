use std::ops::Range;

use crate::event::MixedAction;
use crate::measure::mixed_knobs::MixedKnobs;
use crate::oracle::ActionFeatures;

/// What oracles see of the knobs of a mixed space: numbers as they are, 0 or 1 for each of the categories but the first.
#[derive(Debug, Clone)]
pub(crate) struct KnobFeatures {
    knobs: MixedKnobs,
}

impl KnobFeatures {
    pub(crate) fn new(knobs: MixedKnobs) -> Self {
        Self { knobs }
    }
}

impl ActionFeatures<MixedAction> for KnobFeatures {
    fn dim(&self) -> usize {
        self.knobs.categories().map(columns).sum()
    }

    fn are_knobs(&self) -> bool {
        true
    }

    fn fill(&self, actions: &Vec<MixedAction>, range: Range<usize>, out: &mut [f64]) {
        let width = range.len();
        for (place, action) in actions[range].iter().enumerate() {
            let mut column = 0;
            for (value, categories) in self
                .knobs
                .coordinates_of(action)
                .zip(self.knobs.categories())
            {
                for of in 0..columns(categories) {
                    out[(column + of) * width + place] = match categories {
                        0 => value,
                        _ if value.is_nan() => value,
                        _ => f64::from(u8::from(value == (of + 1) as f64)),
                    };
                }
                column += columns(categories);
            }
        }
    }
}

/// How many features a knob of so many categories has; 0 is a number.
pub(crate) fn columns(categories: usize) -> usize {
    match categories {
        0 => 1,
        // A single category would have none, and an action has some.
        categories => (categories - 1).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::mixed_knobs::KnobRange;

    #[test]
    fn categories_have_a_feature_each_but_the_first() {
        let names = ["red", "green", "blue"].map(str::to_owned).to_vec();
        let allowed = vec![0, 1, 2];
        let knobs = MixedKnobs::new(vec![
            (
                "colour".to_owned(),
                KnobRange::Categories { names, allowed },
            ),
            ("speed".to_owned(), KnobRange::Interval(0.0, 2.0)),
        ]);
        let features = KnobFeatures::new(knobs);
        assert_eq!(features.dim(), 3);
        let action = |colour: &str, speed: f64| {
            MixedAction::new([("colour", colour.into()), ("speed", speed.into())]).expect("two")
        };
        let actions = vec![
            action("red", 0.5),
            action("blue", 1.5),
            action("black", 9.0),
        ];
        let mut columns = [0.0; 9];
        features.fill(&actions, 0..3, &mut columns);
        assert_eq!((columns[0], columns[3], columns[6]), (0.0, 0.0, 0.5));
        assert_eq!((columns[1], columns[4], columns[7]), (0.0, 1.0, 1.5));
        assert!(columns[2].is_nan() && columns[8].is_nan());
    }
}
