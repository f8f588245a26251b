use egret::{EventRng, Knob, KnobValue, Knobs, MixedAction, ModelSpec};

use crate::worlds::normals::normals;
use crate::worlds::spaces::{CONTEXT, SpaceLoss};

/// Knobs with steps and categories among them: ½ of the mean squared distance of numbers from their best places, and ¼ for
/// each of two categories at its worst, noise ±.1.
///
/// The numbers are three in [−1, 1] and a price from 5 to 50 in steps of ½, as a number in [−1, 1] too; their best places move as
/// those of a [`BoxWorld`](crate::BoxWorld). A category k has the score n₀ + Σ nⱼ(2xⱼ − 1), n standard normal, and costs a third of
/// its distance from the least score, at most 1.
#[derive(Debug, Clone, Copy)]
pub struct MixedKnobsLoss;

/// The knobs that are numbers, then those that are categories; each in order of name.
const NUMBERS: [&str; 4] = ["a", "b", "c", "price"];
const CATEGORIES: [(&str, &[&str]); 2] = [
    ("colour", &["red", "green", "blue", "black", "white"]),
    ("size", &["small", "middle", "large"]),
];

const PRICES: (f64, f64, f64) = (5.0, 50.0, 0.5);

impl MixedKnobsLoss {
    /// The name of its world.
    pub const NAME: &'static str = "mixed_6";
}

/// Where a number is best.
fn middle(weights: &[f64], x: &[f64], knob: usize) -> f64 {
    // Uniform on [−½, ½].
    let (first, second) = (weights[2 * knob], weights[2 * knob + 1]);
    0.4 * (first * (2.0 * x[0] - 1.0) + second * (2.0 * x[1] - 1.0)) + 0.3 * first
}

/// What each value of a category costs.
fn costs(weights: &[f64], x: &[f64], category: usize) -> Vec<f64> {
    let before: usize = CATEGORIES[..category].iter().map(|of| of.1.len()).sum();
    let start = 2 * NUMBERS.len() + before * (1 + CONTEXT);
    let scores = weights[start..].chunks_exact(1 + CONTEXT).map(|n| {
        let moved = n[1..].iter().zip(x).map(|(n, x)| n * (2.0 * x - 1.0));
        n[0] + moved.sum::<f64>()
    });
    let scores: Vec<f64> = scores.take(CATEGORIES[category].1.len()).collect();
    let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let costs = scores.iter().map(|score| ((score - least) / 3.0).min(1.0));
    costs.collect()
}

/// A price as a number in [−1, 1].
fn unit_of(price: f64) -> f64 {
    let (low, high, _) = PRICES;
    (2.0 * price - low - high) / (high - low)
}

/// The price whose number is nearest.
fn nearest(unit: f64) -> f64 {
    let (low, high, step) = PRICES;
    let price = 0.5 * (unit * (high - low) + low + high);
    low + step * ((price - low) / step).round()
}

/// A number in [−1, 1], and the place of a category in its list.
fn number(action: &MixedAction, knob: &str) -> f64 {
    match action.get(knob) {
        Some(KnobValue::Number(price)) if knob == "price" => unit_of(*price),
        Some(KnobValue::Number(value)) => *value,
        _ => f64::NAN,
    }
}

fn place(action: &MixedAction, (knob, names): (&str, &[&str])) -> usize {
    let chosen = |name: &&str| action.get(knob) == Some(&KnobValue::from(*name));
    names
        .iter()
        .position(chosen)
        .expect("a category of the space")
}

impl SpaceLoss for MixedKnobsLoss {
    type Action = MixedAction;

    fn name(&self) -> &str {
        Self::NAME
    }

    fn about(&self) -> String {
        "3 knobs in [−1, 1], a price in steps, a category of 5 and one of 3: ½ of the mean (aᵢ − mᵢ)² of numbers, and ¼ of the cost of each \
         category, a third of its score above the least; noise ±.1"
            .to_owned()
    }

    fn spec(&self) -> ModelSpec {
        let (low, high, step) = PRICES;
        let mut knobs = Knobs::new();
        for name in NUMBERS {
            let knob = match name {
                "price" => Knob::Steps { low, high, step },
                _ => Knob::Interval {
                    low: -1.0,
                    high: 1.0,
                },
            };
            knobs = knobs.with(name, knob).expect("in order");
        }
        for (name, names) in CATEGORIES {
            let knob = Knob::categories(names.iter().copied());
            knobs = knobs.with(name, knob).expect("several");
        }
        ModelSpec::new(knobs, CONTEXT)
    }

    fn weights(&self, rng: &mut EventRng) -> Vec<f64> {
        let places: Vec<f64> = (0..2 * NUMBERS.len()).map(|_| rng.unit() - 0.5).collect();
        let values: usize = CATEGORIES.iter().map(|of| of.1.len()).sum();
        let scores = normals(values * (1 + CONTEXT), rng);
        places.into_iter().chain(scores).collect()
    }

    fn mean(&self, weights: &[f64], x: &[f64], action: &MixedAction) -> f64 {
        let squares = NUMBERS
            .iter()
            .enumerate()
            .map(|(knob, name)| (number(action, name) - middle(weights, x, knob)).powi(2));
        let distance = squares.sum::<f64>() / NUMBERS.len() as f64;
        let paid = (CATEGORIES.iter().enumerate())
            .map(|(category, of)| costs(weights, x, category)[place(action, *of)]);
        (0.5 * distance + 0.25 * paid.sum::<f64>()).min(1.0)
    }

    fn least(&self, weights: &[f64], x: &[f64]) -> f64 {
        // The price is on a step, and all else at its best.
        let price = middle(weights, x, 3);
        0.5 * (unit_of(nearest(price)) - price).powi(2) / NUMBERS.len() as f64
    }

    /// The numbers, and 1 for the value of each category.
    fn coordinates(&self) -> Option<fn(&MixedAction) -> Vec<f64>> {
        Some(|action| {
            let mut coordinates: Vec<f64> = NUMBERS.map(|name| number(action, name)).to_vec();
            for of in CATEGORIES {
                let start = coordinates.len();
                coordinates.resize(start + of.1.len(), 0.0);
                coordinates[start + place(action, of)] = 1.0;
            }
            coordinates
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds::spaces::checks::check_world;

    fn best(weights: &[f64], x: &[f64]) -> MixedAction {
        let numbers = NUMBERS.iter().enumerate().map(|(knob, name)| {
            let value = middle(weights, x, knob);
            let value = if *name == "price" {
                nearest(value)
            } else {
                value
            };
            (*name, KnobValue::from(value))
        });
        let categories = CATEGORIES
            .iter()
            .enumerate()
            .map(|(category, (name, names))| {
                let costs = costs(weights, x, category);
                let free = costs
                    .iter()
                    .position(|cost| *cost == 0.0)
                    .expect("the least");
                (*name, KnobValue::from(names[free]))
            });
        MixedAction::new(numbers.chain(categories)).expect("all different")
    }

    #[test]
    fn the_best_knobs_are_the_best() {
        check_world(MixedKnobsLoss, |_, weights, x| best(weights, x));
    }

    #[test]
    fn coordinates_are_numbers_and_ones() {
        let action = MixedAction::new([
            ("a", 0.25.into()),
            ("b", (-1.0).into()),
            ("c", 0.0.into()),
            ("price", 50.0.into()),
            ("colour", "blue".into()),
            ("size", "small".into()),
        ]);
        let coordinates = MixedKnobsLoss.coordinates().expect("numbers");
        assert_eq!(
            coordinates(&action.expect("all different")),
            [0.25, -1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
        );
    }
}
