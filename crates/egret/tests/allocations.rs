//! A warm decision allocates nothing. A binary of its own, for its allocator counts.

#![allow(unsafe_code, reason = "an allocator is unsafe by its trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use egret::{
    Action, ArgminDispersion, CappedIgw, Catalogue, Context, Explorer, FeatureSchema, Features,
    FieldKind, FunctionOracle, Interval, Item, Learner, LearningRate, LinearArgmin, Loss, Model,
    Normalization, Product, Settings, UniformBox, Vector, Vectors,
};

/// The system's allocator, counting what each thread asks of it.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has nobody left to ask.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

fn settings(explorer: Explorer) -> Settings {
    Settings {
        explorer,
        taus: vec![2.0, 8.0, 32.0],
        ..Settings::paper()
    }
}

/// How many allocations 100 decisions make, after they have been made once before.
fn warm<X, A: Action>(learner: &mut Learner<X, A>, x: &X) -> u64 {
    let decide = || {
        for event in 0..100 {
            learner.decide(event, x).expect("an action");
        }
    };
    decide();
    let before = allocations();
    decide();
    allocations() - before
}

fn learner_on_the_line(explorer: Explorer) -> (Learner<Context, f64>, Context) {
    let measure = Interval::new(0.0, 1.0).expect("in order");
    let model = LinearArgmin::new(3).expect("three features");
    let oracle = ArgminDispersion::new(model, (0.0, 1.0), LearningRate::default());
    let oracle = Box::new(oracle.expect("in order"));
    let mut learner =
        Learner::new(Box::new(measure), oracle, settings(explorer)).expect("good settings");
    let x = Context::dense(vec![1.0, -0.5, 0.25]).expect("finite");
    for event in 0..50 {
        let decision = learner.decide(event, &x).expect("an action");
        let loss = Loss::new((decision.action - 0.75).abs()).expect("in range");
        learner
            .learn(&decision.observed(&x, loss))
            .expect("a good event");
    }
    (learner, x)
}

#[test]
fn the_count_counts() {
    let before = allocations();
    drop(std::hint::black_box(Box::new(7)));
    assert_eq!(allocations(), before + 1);
}

#[test]
fn a_warm_decision_on_the_line_allocates_nothing() {
    let capped = [
        Normalization::Auto,
        Normalization::Mixture,
        Normalization::Betting,
        Normalization::FixedSample,
    ]
    .map(|normalization| {
        Explorer::CappedIgw(CappedIgw {
            normalization,
            ..CappedIgw::default()
        })
    });
    let others = [
        Explorer::SmoothIgw,
        Explorer::Uniform,
        Explorer::EpsilonGreedy { epsilon: 0.5 },
    ];
    for explorer in capped.into_iter().chain(others) {
        let (mut learner, x) = learner_on_the_line(explorer);
        assert_eq!(warm(&mut learner, &x), 0, "{explorer:?}");
    }
}

/// Few features among very many, of which the model has met some.
#[test]
fn a_warm_decision_in_a_wide_context_allocates_nothing() {
    let width = 1_000_000;
    let measure = Interval::new(0.0, 1.0).expect("in order");
    let mut model = Model::new(measure, width).expect("a model");
    let x = |first: u32| {
        let entries = (first..first + 20).map(|feature| (feature, 1.0)).collect();
        Context::sparse(width, entries).expect("sorted")
    };
    for event in 0..50 {
        let decision = model.decide(event, &x(100)).expect("an action");
        let loss = Loss::new((decision.action - 0.75).abs()).expect("in range");
        model
            .learn(&decision.observed(&x(100), loss))
            .expect("a good event");
    }
    let mut learner = model.into_learner();
    for first in [100, 110, 500_000] {
        assert_eq!(warm(&mut learner, &x(first)), 0, "{first}");
    }
}

/// Numbers, flags, categories and hashed text at the top of the context: dense and sparse.
#[test]
fn a_warm_decision_over_named_features_allocates_nothing() {
    for bits in [4, 16] {
        let schema = FeatureSchema::new()
            .with("income", FieldKind::number())
            .and_then(|schema| schema.with("member", FieldKind::flag()))
            .and_then(|schema| schema.with("country", FieldKind::category(["NZ", "AU"])))
            .and_then(|schema| schema.with("customer", FieldKind::hashed(bits)))
            .and_then(|schema| schema.with("words", FieldKind::tokens(bits)))
            .and_then(|schema| schema.with("at", FieldKind::time()))
            .and_then(|schema| schema.with_interaction("country", "words", 4));
        let measure = Interval::new(0.0, 1.0).expect("in order");
        let mut model = Model::new(measure, schema.expect("a schema")).expect("a model");
        let words: Vec<String> = (0..30).map(|word| format!("w{word}")).collect();
        let x: Context = Features::new()
            .with("income", 52_000)
            .with("member", true)
            .with("country", "FR")
            .with("customer", "u7")
            .with("words", words)
            .with("at", "2026-11-16T08:30:00Z")
            .into();
        for event in 0..50 {
            let decision = model.decide(event, &x).expect("an action");
            let loss = Loss::new((decision.action - 0.75).abs()).expect("in range");
            model.learn(&decision.observed(&x, loss)).expect("good");
        }
        let decide = || {
            for event in 0..100 {
                model.decide(event, &x).expect("an action");
            }
        };
        decide();
        let before = allocations();
        decide();
        assert_eq!(allocations() - before, 0, "{bits}");
    }
}

mod table {
    use egret::{ContextError, Example, Item, LoadError, RegressionOracle};

    /// The loss of item i of n is i/n.
    pub struct Ranked(pub f64);

    impl RegressionOracle<(), Item> for Ranked {
        fn prepare(&self, _: &(), _: &mut Vec<f64>) -> Result<(), ContextError> {
            Ok(())
        }

        fn predict(&self, _: &(), _: &[f64], actions: &Vec<Item>, out: &mut [f64]) {
            for (out, item) in out.iter_mut().zip(actions) {
                *out = f64::from(item.0) / self.0;
            }
        }

        fn learn(&mut self, _: &[Example<'_, (), Item>]) -> Result<(), ContextError> {
            Ok(())
        }

        fn save(&self) -> Vec<u8> {
            Vec::new()
        }

        fn load(&mut self, _: &[u8]) -> Result<(), LoadError> {
            Ok(())
        }
    }
}

#[test]
fn a_warm_decision_on_a_catalogue_allocates_nothing() {
    for explorer in [
        Explorer::CappedIgw(CappedIgw::default()),
        Explorer::SmoothIgw,
        Explorer::EpsilonGreedy { epsilon: 0.5 },
        Explorer::SquareCb,
    ] {
        let measure = Catalogue::uniform(1_000).expect("a thousand");
        let mut learner: Learner<(), Item> = Learner::new(
            Box::new(measure),
            Box::new(table::Ranked(1_000.0)),
            settings(explorer),
        )
        .expect("good settings");
        assert_eq!(warm(&mut learner, &()), 0, "{explorer:?}");
    }
}

/// Blind draws in three dimensions, a mixed space, and a κ∞ that keeps many order statistics.
#[test]
fn a_warm_decision_by_draws_allocates_nothing_elsewhere() {
    let capped = |normalization, kappa_inf| {
        Explorer::CappedIgw(CappedIgw {
            normalization,
            kappa_inf,
            ..CappedIgw::default()
        })
    };
    for explorer in [
        capped(Normalization::Mixture, 4.0),
        capped(Normalization::FixedSample, 1.5),
    ] {
        let cube = UniformBox::new(&[(0.0, 1.0); 3]).expect("in order");
        let oracle = FunctionOracle::new(|(): &(), actions: &Vectors, out: &mut [f64]| {
            for (out, row) in out.iter_mut().zip(actions.rows().as_chunks::<3>().0) {
                *out = row.iter().sum::<f64>() / 3.0;
            }
        });
        let mut learner: Learner<(), Vector> =
            Learner::new(Box::new(cube), Box::new(oracle), settings(explorer))
                .expect("good settings");
        assert_eq!(warm(&mut learner, &()), 0, "{explorer:?}");

        let mixed = Product::new(
            Interval::new(0.0, 1.0).expect("in order"),
            Catalogue::uniform(10).expect("ten"),
        );
        let oracle = FunctionOracle::new(
            |(): &(), (points, items): &(Vec<f64>, Vec<Item>), out: &mut [f64]| {
                for ((out, point), item) in out.iter_mut().zip(points).zip(items) {
                    *out = 0.5 * point + 0.05 * f64::from(item.0);
                }
            },
        );
        let mut learner: Learner<(), (f64, Item)> =
            Learner::new(Box::new(mixed), Box::new(oracle), settings(explorer))
                .expect("good settings");
        assert_eq!(warm(&mut learner, &()), 0, "{explorer:?}");
    }
}
