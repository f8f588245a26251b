use egret::{Action, Item, ItemSet, KnobValue, MixedAction, ReferenceMeasure, Vector};

use crate::policy::{PolicySeed, RngPurpose};

/// The action space, cut into parts of about equal mass under μ.
#[derive(Debug, Clone)]
pub(crate) struct Bins {
    /// Where each part but the first begins.
    edges: Vec<f64>,
    /// The mass of each part, if known. Otherwise it is estimated anew for each event.
    pub(crate) masses: Option<Vec<f64>>,
}

/// How many parts there are.
pub(crate) const BINS: usize = 8;

/// How many draws tell where to cut a space that is neither a line nor a list.
const CUTTING: usize = 4_096;

/// An action with a place on a line, along which bins are cut.
///
/// The place of a number is itself, of a vector its first coordinate, of an item its index, of a set its first item, of a mixed
/// action its first number.
pub trait Binnable: Action {
    /// The place.
    fn place(&self) -> f64;
}

impl Binnable for f64 {
    fn place(&self) -> f64 {
        *self
    }
}

impl Binnable for Vector {
    fn place(&self) -> f64 {
        self.as_slice().first().copied().unwrap_or(0.0)
    }
}

impl Binnable for Item {
    fn place(&self) -> f64 {
        f64::from(self.0)
    }
}

impl Binnable for ItemSet {
    fn place(&self) -> f64 {
        self.items().first().map_or(0.0, Item::place)
    }
}

impl Binnable for MixedAction {
    fn place(&self) -> f64 {
        let number = |(_, value): (&str, &KnobValue)| match value {
            KnobValue::Number(number) => Some(*number),
            KnobValue::Category(_) => None,
        };
        self.iter().find_map(number).unwrap_or(0.0)
    }
}

impl Bins {
    /// Cuts a line at quantiles of μ, between steps where it has them, a catalogue between items, and any other space by
    /// draws of μ at `x`.
    pub(crate) fn new<X: ?Sized, A: Binnable>(measure: &dyn ReferenceMeasure<X, A>, x: &X) -> Self {
        if let Some(line) = measure.as_line() {
            let mut edges: Vec<f64> = (1..BINS).map(|bin| bin as f64 / BINS as f64).collect();
            line.quantiles(&mut edges);
            let masses = if line.steps().is_some() {
                // A part begins with a step, and few steps make fewer parts.
                edges.dedup();
                edges.retain(|&edge| 0.0 < line.cdf(edge));
                let begins = [0.0]
                    .into_iter()
                    .chain(edges.iter().map(|&edge| line.cdf(edge)));
                let ends = edges.iter().map(|&edge| line.cdf(edge)).chain([1.0]);
                begins.zip(ends).map(|(begin, end)| end - begin).collect()
            } else {
                vec![1.0 / BINS as f64; BINS]
            };
            return Self {
                edges,
                masses: Some(masses),
            };
        }
        if let Some(catalogue) = measure.catalogue() {
            let mut edges = Vec::new();
            let mut masses = vec![0.0];
            let mut sum = 0.0;
            for item in catalogue.items() {
                // A part ends once the masses so far have reached its share.
                if masses.len() as f64 <= BINS as f64 * sum + 1e-9 && masses.len() < BINS {
                    edges.push(f64::from(item.0));
                    masses.push(0.0);
                }
                let probability = catalogue.probability(item);
                sum += probability;
                *masses.last_mut().expect("there is a first part") += probability;
            }
            return Self {
                edges,
                masses: Some(masses),
            };
        }
        let mut drawn = A::Batch::default();
        let seed = PolicySeed { seed: 0, event: 0 };
        measure.sample(x, CUTTING, &mut seed.rng(RngPurpose::Audit, 0), &mut drawn);
        let mut places = places::<A>(&drawn);
        places.sort_by(f64::total_cmp);
        Self {
            edges: (1..BINS).map(|bin| places[bin * CUTTING / BINS]).collect(),
            masses: None,
        }
    }

    /// How many parts there are; a short catalogue has fewer.
    pub(crate) fn len(&self) -> usize {
        self.edges.len() + 1
    }

    /// Which part an action lies in.
    pub(crate) fn of<A: Binnable>(&self, action: &A) -> usize {
        let place = action.place();
        self.edges.partition_point(|&edge| edge <= place)
    }

    /// The share of these draws in each part.
    pub(crate) fn shares<A: Binnable>(&self, drawn: &A::Batch) -> Vec<f64> {
        let mut shares = vec![0.0; self.len()];
        let places = places::<A>(drawn);
        for &place in &places {
            shares[self.edges.partition_point(|&edge| edge <= place)] += 1.0 / places.len() as f64;
        }
        shares
    }
}

fn places<A: Binnable>(drawn: &A::Batch) -> Vec<f64> {
    use egret::Batch;
    (0..drawn.len()).map(|i| drawn.get(i).place()).collect()
}

#[cfg(test)]
mod tests {
    use egret::{Catalogue, Interval, Steps, UniformBox};

    use super::*;

    /// The mass of a part is the number of its steps over all.
    #[test]
    fn steps_are_cut_between_them() {
        for count in [1_u32, 2, 3, 8, 9, 91] {
            let mu = Steps::new(5.0, 5.0 + 0.1 * f64::from(count - 1), 0.1).expect("steps");
            let bins = Bins::new(&mu, &());
            assert_eq!(bins.len(), (count as usize).min(BINS));
            let mut shares = vec![0.0; bins.len()];
            for step in 0..count {
                shares[bins.of(&mu.value(step))] += 1.0 / f64::from(count);
            }
            let masses = bins.masses.expect("known");
            for (mass, share) in masses.iter().zip(shares) {
                assert!((mass - share).abs() < 1e-12 && 0.0 < share, "{count}");
            }
        }
    }

    #[test]
    fn a_line_is_cut_at_its_quantiles() {
        let mu = Interval::new(0.0, 4.0).expect("in order");
        let bins = Bins::new(&mu, &());
        assert_eq!(bins.len(), 8);
        assert_eq!(
            [0.0, 0.49, 0.5, 3.99, 4.0].map(|a: f64| bins.of(&a)),
            [0, 0, 1, 7, 7]
        );
    }

    #[test]
    fn items_are_grouped_and_their_masses_add_up() {
        for weights in [vec![1.0; 100], vec![50.0, 1.0, 1.0, 1.0], vec![1.0]] {
            let mu = Catalogue::weighted(weights.clone()).expect("positive");
            let bins = Bins::new(&mu, &());
            let masses = bins.masses.clone().expect("known");
            assert_eq!(masses.len(), bins.len());
            assert!((masses.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let mut found = vec![0.0; bins.len()];
            for item in mu.items() {
                found[bins.of(&item)] += mu.probability(item);
            }
            for (found, mass) in found.iter().zip(&masses) {
                assert!((found - mass).abs() < 1e-12 && 0.0 < *mass, "{weights:?}");
            }
        }
    }

    #[test]
    fn a_box_is_cut_along_its_first_side() {
        let mu = UniformBox::new(&[(0.0, 1.0), (5.0, 9.0)]).expect("in order");
        let bins = Bins::new(&mu, &());
        assert!(bins.masses.is_none());
        let mut drawn = egret::Vectors::default();
        let seed = PolicySeed { seed: 5, event: 1 };
        mu.sample(&(), 8_000, &mut seed.rng(RngPurpose::Audit, 0), &mut drawn);
        for share in bins.shares::<Vector>(&drawn) {
            assert!((share - 0.125).abs() < 0.04, "{share}");
        }
    }
}
