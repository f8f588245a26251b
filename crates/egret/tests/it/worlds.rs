//! Action spaces with a known f̂ that learns nothing, and integrals over them.

use egret::{
    Action, CappedIgw, Catalogue, EventRng, Explorer, FunctionOnInterval, FunctionOracle,
    GammaSchedule, Interval, Item, Learner, Normalization, Settings, Stream, UniformBox, Vector,
    Vectors,
};

use crate::curves::Curve;

/// Those that learn z from draws, and so are never quite at 1.
pub const SAMPLED: [Normalization; 3] = [
    Normalization::Betting,
    Normalization::Mixture,
    Normalization::FixedSample,
];

/// A space, its μ and its f̂.
pub trait World: Sync {
    type Action: Action;

    fn learner(&self, settings: Settings) -> Learner<(), Self::Action>;

    /// f̂ at an action.
    fn fhat(&self, action: &Self::Action) -> f64;

    /// A number in [0, 1] for each action: its first coordinate, or its place in the list.
    fn unit(&self, action: &Self::Action) -> f64;

    /// E_μ[h], to 1e-5 or better for an h with few jumps.
    fn mean(&self, h: &dyn Fn(&Self::Action) -> f64) -> f64;

    /// Every way to normalize that works here.
    fn normalizations(&self) -> Vec<Normalization>;
}

pub fn capped(normalization: Normalization) -> Explorer {
    Explorer::CappedIgw(CappedIgw {
        normalization,
        ..CappedIgw::default()
    })
}

/// CappedIGW with γ = 60 for ever.
pub fn settings(normalization: Normalization, taus: &[f64], seed: u64) -> Settings {
    Settings {
        explorer: capped(normalization),
        gamma: GammaSchedule::constant(60.0).expect("positive"),
        taus: taus.to_vec(),
        eta: 0.1,
        seed,
        ..Settings::paper()
    }
}

fn with_exact() -> Vec<Normalization> {
    SAMPLED.into_iter().chain([Normalization::Exact]).collect()
}

/// [−1, 3] with a valley.
pub struct Line;

impl Line {
    pub fn curve() -> Curve {
        Curve::vee(0.3, 0.1, 1.4, 0.8)
    }

    fn unit(a: f64) -> f64 {
        0.25 * (a + 1.0)
    }
}

impl World for Line {
    type Action = f64;

    fn learner(&self, settings: Settings) -> Learner<(), f64> {
        let curve = Self::curve();
        let oracle = FunctionOnInterval::new(
            move |(): &(), actions: &Vec<f64>, out: &mut [f64]| {
                for (out, &a) in out.iter_mut().zip(actions) {
                    *out = curve.at(Self::unit(a));
                }
            },
            |(): &(), points: &mut Vec<f64>| {
                points.push(4.0 * 0.3 - 1.0);
                4.0 * 0.3 - 1.0
            },
        );
        let measure = Interval::new(-1.0, 3.0).expect("in order");
        Learner::new(Box::new(measure), Box::new(oracle), settings).expect("good settings")
    }

    fn fhat(&self, action: &f64) -> f64 {
        Self::curve().at(Self::unit(*action))
    }

    fn unit(&self, action: &f64) -> f64 {
        Self::unit(*action)
    }

    fn mean(&self, h: &dyn Fn(&f64) -> f64) -> f64 {
        let n = 200_000;
        let points = (0..n).map(|i| 4.0 * (f64::from(i) + 0.5) / f64::from(n) - 1.0);
        points.map(|a| h(&a)).sum::<f64>() / f64::from(n)
    }

    fn normalizations(&self) -> Vec<Normalization> {
        with_exact()
    }
}

/// A box in three dimensions.
pub struct Cube;

impl Cube {
    const SIDES: [(f64, f64); 3] = [(0.0, 1.0), (-2.0, 3.0), (5.0, 6.0)];

    /// The action as a point of the unit cube.
    pub fn units(action: &[f64]) -> [f64; 3] {
        std::array::from_fn(|i| {
            let (low, high) = Self::SIDES[i];
            (action[i] - low) / (high - low)
        })
    }

    pub fn fhat_at([u, v, w]: [f64; 3]) -> f64 {
        0.1 + 0.5 * (u - 0.3).abs() + 0.3 * v * v + 0.15 * u * w
    }
}

impl World for Cube {
    type Action = Vector;

    fn learner(&self, settings: Settings) -> Learner<(), Vector> {
        let oracle = FunctionOracle::new(|(): &(), actions: &Vectors, out: &mut [f64]| {
            for (out, row) in out.iter_mut().zip(actions.rows().as_chunks::<3>().0) {
                *out = Self::fhat_at(Self::units(row));
            }
        });
        let measure = UniformBox::new(&Self::SIDES).expect("in order");
        Learner::new(Box::new(measure), Box::new(oracle), settings).expect("good settings")
    }

    fn fhat(&self, action: &Vector) -> f64 {
        Self::fhat_at(Self::units(action.as_slice()))
    }

    fn unit(&self, action: &Vector) -> f64 {
        Self::units(action.as_slice())[0]
    }

    fn mean(&self, h: &dyn Fn(&Vector) -> f64) -> f64 {
        // The first coordinate finest: it is the one that `unit` tells.
        let parts = [200, 40, 40];
        let mut sum = 0.0;
        for i in 0..parts[0] * parts[1] * parts[2] {
            let cell = [
                i % parts[0],
                i / parts[0] % parts[1],
                i / parts[0] / parts[1],
            ];
            let point: [f64; 3] = std::array::from_fn(|k| {
                let (low, high) = Self::SIDES[k];
                low + (high - low) * (f64::from(cell[k]) + 0.5) / f64::from(parts[k])
            });
            sum += h(&Vector::new(&point).expect("finite"));
        }
        sum / f64::from(parts[0] * parts[1] * parts[2])
    }

    fn normalizations(&self) -> Vec<Normalization> {
        SAMPLED.to_vec()
    }
}

/// Sixty items with fixed losses.
pub struct List {
    measure: Catalogue,
    losses: Vec<f64>,
}

impl List {
    pub fn uniform() -> Self {
        Self::of(Catalogue::uniform(60).expect("sixty"))
    }

    /// Some items are ten times as probable as others.
    pub fn weighted() -> Self {
        let weights = (0..60).map(|i| 1.0 + f64::from(i * i % 10)).collect();
        Self::of(Catalogue::weighted(weights).expect("positive"))
    }

    fn of(measure: Catalogue) -> Self {
        let mut losses = vec![0.0; measure.len()];
        EventRng::new(11, 0, Stream::World).fill_unit(&mut losses);
        Self { measure, losses }
    }

    pub fn items(&self) -> impl Iterator<Item = (Item, f64)> {
        self.measure
            .items()
            .map(|item| (item, self.measure.probability(item)))
    }
}

impl World for List {
    type Action = Item;

    fn learner(&self, settings: Settings) -> Learner<(), Item> {
        let losses = self.losses.clone();
        let oracle = FunctionOracle::new(move |(): &(), items: &Vec<Item>, out: &mut [f64]| {
            for (out, item) in out.iter_mut().zip(items) {
                *out = losses[item.0 as usize];
            }
        });
        let measure = self.measure.clone();
        Learner::new(Box::new(measure), Box::new(oracle), settings).expect("good settings")
    }

    fn fhat(&self, action: &Item) -> f64 {
        self.losses[action.0 as usize]
    }

    fn unit(&self, action: &Item) -> f64 {
        (f64::from(action.0) + 0.5) / self.losses.len() as f64
    }

    fn mean(&self, h: &dyn Fn(&Item) -> f64) -> f64 {
        self.items().map(|(item, mass)| mass * h(&item)).sum()
    }

    fn normalizations(&self) -> Vec<Normalization> {
        with_exact()
    }
}
