//! A warm decision allocates nothing, and a damaged file little. A binary of its own, for its allocator counts.

#![allow(unsafe_code, reason = "an allocator is unsafe by its trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use egret::{
    Action, AnyAction, AnyModel, ArgminDispersion, CappedIgw, Catalogue, Context, Contexts,
    EmbeddingRows, EventRng, Explorer, FeatureSchema, Features, FieldKind, FunctionOracle,
    Interval, Item, Items, Kind, Learner, LearningRate, LinearArgmin, Loss, Model, ModelSpec,
    Normalization, Observed, OracleSpec, Product, Propensity, Settings, Space, Stream, UniformBox,
    Vector, Vectors,
};

/// The system's allocator, counting what each thread asks of it.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes held now, and the most since [`peak`] began. Freed by another thread than asked for them, they go below 0.
    static HELD: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
}

fn count() {
    // A thread that is ending has nobody left to ask.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

fn hold(bytes: i64) {
    let _ = HELD.try_with(|cell| {
        let (held, most) = cell.get();
        cell.set((held + bytes, most.max(held + bytes)));
    });
}

/// What `run` returns, and the most bytes that it held at once.
fn peak<T>(run: impl FnOnce() -> T) -> (T, i64) {
    let before = HELD.get().0;
    HELD.set((before, before));
    let result = run();
    (result, HELD.get().1 - before)
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        hold(layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        hold(-(layout.size() as i64));
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // Both may be there while one is copied to the other.
        hold(size as i64);
        hold(-(layout.size() as i64));
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
    let ((), most) = peak(|| drop(std::hint::black_box(vec![7_u8; 1_000])));
    assert_eq!(most, 1_000);
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

/// What no file of at most 64 kB may ask for.
const MOST: i64 = 64 << 20;

/// A model's file around a description and a learner's state, with a checksum that fits.
fn file(description: &[u8], learner: &[u8]) -> Vec<u8> {
    let content = [description, &postcard::to_stdvec(learner).expect("bytes")].concat();
    let mut bytes = b"egretpkg".to_vec();
    bytes.extend_from_slice(&1_u16.to_le_bytes());
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&content);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The error, after little was asked for.
fn refused(bytes: &[u8]) -> String {
    let (loaded, most) = peak(|| AnyModel::load(bytes));
    assert!(most < MOST, "{most} bytes for {}", bytes.len());
    loaded.expect_err("not a model").to_string()
}

fn description(space: &str, contexts: impl Into<Contexts>, oracle: OracleSpec) -> ModelSpec {
    let space = space.parse().expect("a space");
    ModelSpec::from_parts(space, None, contexts).with_oracle(oracle)
}

/// Two columns at first, and many later.
fn grown() -> FeatureSchema {
    let later = |schema: FeatureSchema| schema.with("v", FieldKind::vector(330));
    FeatureSchema::new().grown(later).expect("a schema")
}

/// Short descriptions of large models: what they ask for is not in the file.
#[test]
fn a_short_file_cannot_ask_for_a_large_model() {
    let text = |text: &str| -> OracleSpec { text.parse().expect("an oracle") };
    let wide = || FeatureSchema::new().with("v", FieldKind::vector(1 << 27));
    let wide = || wide().expect("a schema");
    let many = |oracle: &str| OracleSpec::Aggregation(vec![text(oracle); 1_000]);
    let line = "interval:0,1";
    let sphere = |dim| {
        let spec = ModelSpec::from_parts(Space::Sphere { dim }, None, 3);
        spec.with_oracle(text("fourier:features=8"))
    };
    for (spec, words) in [
        (
            description(line, 4, text("argmin:hidden=16000x16000")),
            "weights",
        ),
        (description(line, 1 << 28, text("argmin")), "weights"),
        (description(line, wide(), text("argmin")), "weights"),
        (
            description(line, 4, text("curves:cosines=4096,hidden=9000x9000")),
            "weights",
        ),
        (
            description(line, 4, text("latent-outcome:hidden=1x50000000")),
            "weights",
        ),
        (description(line, 5_000, text("vaw")), "weights"),
        (description(line, wide(), text("vaw")), "weights"),
        (description(line, grown(), many("vaw")), "weights"),
        (description(line, 4, many("curves")), "weights"),
        (
            description(line, usize::MAX, text("argmin+vaw+curves")),
            "weights",
        ),
        (description("sphere:4000", 3, text("vaw")), "weights"),
        (
            description("sphere:4000", 3, text("fourier:features=1400")),
            "random features",
        ),
        (
            description(line, 1 << 20, text("fourier:features=8")),
            "random features",
        ),
        (
            description(line, wide(), text("fourier:features=8")),
            "random features",
        ),
        (
            description("sphere:4000", 3, many("curves:cosines=4,hidden=1x1")),
            "weights",
        ),
        (sphere(4097), "coordinates"),
        (sphere(usize::MAX), "coordinates"),
        (description("items:10000000", 3, text("curves")), "weights"),
    ] {
        // As many bytes as the file of a small model has.
        let bytes = postcard::to_stdvec(&spec).expect("bytes");
        let error = refused(&file(&bytes, &[0; 60_000]));
        assert!(error.contains(words), "{error}, expected {words}");
    }
}

#[test]
fn cells_without_end_are_refused() {
    let steps: OracleSpec = "(argmin)@65536".parse().expect("an oracle");
    let spec = description(
        "interval:0,1",
        1,
        OracleSpec::Aggregation(vec![steps; 1_000]),
    );
    let error = refused(&file(
        &postcard::to_stdvec(&spec).expect("bytes"),
        &[0; 60_000],
    ));
    assert!(error.contains("cells"), "{error}");
}

/// Read by recursion, they would use up the stack.
#[test]
fn oracles_nested_too_deep_are_refused() {
    let inside = postcard::to_stdvec(&"vaw".parse::<OracleSpec>().expect("one")).expect("bytes");
    let spec = description("interval:0,1", 1, "vaw".parse().expect("one"));
    let spec = postcard::to_stdvec(&spec).expect("bytes");
    let around = spec
        .strip_suffix(&inside[..])
        .expect("the oracle stands last");
    let steps: OracleSpec = "(vaw)@2".parse().expect("one");
    let sum = OracleSpec::Aggregation(vec!["vaw".parse().expect("one")]);
    for outside in [steps, sum] {
        let outside = postcard::to_stdvec(&outside).expect("bytes");
        let layer = outside
            .strip_suffix(&inside[..])
            .expect("the oracle inside stands last");
        for (depth, deep) in [
            (2, false),
            (16, false),
            (17, true),
            (5_000, true),
            (30_000, true),
        ] {
            let nested = [around, &layer.repeat(depth), &inside].concat();
            let error = refused(&file(&nested, &[0; 1_000]));
            let parsed = !error.starts_with("the content cannot be parsed");
            assert_eq!(parsed, !deep, "{depth}: {error}");
        }
    }
    let json = r#"{"aggregation":["#.repeat(17);
    let error = serde_json::from_str::<OracleSpec>(&json).expect_err("too deep");
    assert!(
        error.to_string().contains("nested more than 16 deep"),
        "{error}"
    );
}

/// Saved models of every kind of oracle and space, all small.
fn saved() -> Vec<Vec<u8>> {
    let small = "curves:cosines=2,hidden=2x2";
    let numbers: [(&str, &str); 5] = [
        (
            "interval:0,1",
            "(latent-outcome:outcomes=2,hidden=2x2+curves:cosines=1,hidden=2x2)@4",
        ),
        ("interval:0,1", "argmin+vaw"),
        ("interval:0,1", "fourier:features=8+argmin:hidden=2x2"),
        ("box:0,1,0,1", small),
        ("sphere:3", "vaw"),
    ];
    let mut models = Vec::new();
    for (space, oracle) in numbers {
        let oracle: OracleSpec = oracle.parse().expect("an oracle");
        let named = |schema: FeatureSchema| schema.with("hat", FieldKind::category(["cap"]));
        let schema = FeatureSchema::new().with("age", FieldKind::number());
        let schema = schema
            .and_then(|schema| schema.grown(named))
            .expect("a schema");
        for contexts in [Contexts::from(2), Contexts::from(schema)] {
            models.push(description(space, contexts, oracle.clone()));
        }
    }
    let items = EmbeddingRows::new(2, vec![0.0, 1.0, 1.0, 0.0]).expect("two rows");
    let items = Items::new(items).expect("two items");
    models.push(ModelSpec::new(items, 2).with_oracle(small.parse().expect("an oracle")));
    let learned = models.into_iter().map(|spec| {
        let x: Context = match spec.features {
            Some(_) => Features::new().with("age", 30).into(),
            None => Context::dense(vec![0.5, 1.0]).expect("finite"),
        };
        let mut model = AnyModel::from_spec(spec, Settings::default()).expect("a model");
        for event in 0..3 {
            let decision = model.decide(event, &x).expect("an action");
            let loss = Loss::new(0.5).expect("in range");
            model.learn(&decision.observed(&x, loss)).expect("good");
        }
        model.save()
    });
    learned.collect()
}

/// Numbers as the format writes them: the largest of several widths, and some that are merely large.
const LARGE: [&[u8]; 7] = [
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0xff, 0xff, 0xff, 0x7f],
    &[0x80, 0x80, 0x80, 0x01],
    &[0xff, 0xff, 0x03],
    &[0xff, 0x7f],
    &[0x00],
];

/// Thousands of damaged files: each asks for little, and what loads can learn.
#[test]
fn damaged_files_ask_for_little() {
    let mut rng = EventRng::new(1, 0, Stream::World);
    let mut below = |n: usize| (rng.unit() * n as f64) as usize;
    let (mut refused, mut taken) = (0, 0);
    for bytes in saved() {
        let state = bytes.windows(8).position(|window| window == b"egretmdl");
        let state = state.expect("a learner's state");
        // The content, without the length of the state before it and the checksum after it.
        let (from, to) = (18, bytes.len() - 8);
        let mut length = state - 1;
        while from < length && bytes[length - 1] & 0x80 != 0 {
            length -= 1;
        }
        let (description, inside) = (&bytes[from..length], &bytes[state + 18..to]);
        // Every byte once as the largest number, and random damage.
        let places = description.len() + inside.len();
        for trial in 0..places + 500 {
            let (mut description, mut inside) = (description.to_vec(), inside.to_vec());
            let edits = if trial < places { 1 } else { 1 + below(2) };
            for _ in 0..edits {
                let (place, length, large) = if trial < places {
                    (trial, 1, LARGE[0])
                } else {
                    (below(places), below(3), LARGE[below(LARGE.len())])
                };
                let (part, place) = match place.checked_sub(description.len()) {
                    Some(place) => (&mut inside, place),
                    None => (&mut description, place),
                };
                let place = place.min(part.len());
                let end = (place + length).min(part.len());
                part.splice(place..end, large.iter().copied());
            }
            let mut learner = b"egretmdl".to_vec();
            learner.extend_from_slice(&1_u16.to_le_bytes());
            learner.extend_from_slice(&(inside.len() as u64).to_le_bytes());
            learner.extend_from_slice(&inside);
            let checksum = crc32fast::hash(&learner);
            learner.extend_from_slice(&checksum.to_le_bytes());
            let damaged = file(&description, &learner);
            let (loaded, most) = peak(|| AnyModel::load(&damaged));
            assert!(most < MOST, "{most} bytes for {}", damaged.len());
            let Ok(mut model) = loaded else {
                refused += 1;
                continue;
            };
            taken += 1;
            let x: Context = match model.spec().features {
                Some(_) => Features::new().with("age", 30).into(),
                None => Context::sparse(model.spec().context_dim, vec![(0, 1.0)]).expect("sorted"),
            };
            let action = match model.kind() {
                Kind::Number => {
                    AnyAction::from(model.spec().space.bounds().expect("an interval").0)
                }
                Kind::Vector => Vector::new(&vec![0.5; model.spec().space.action_dim()])
                    .expect("finite")
                    .into(),
                _ => Item(0).into(),
            };
            let _ = model.learn(&Observed {
                x: &x,
                action,
                limits: None,
                loss: Loss::new(0.5).expect("in range"),
                propensity: Propensity::PointMass,
                tau: None,
            });
        }
    }
    assert!(10_000 < refused && 200 < taken, "{refused} {taken}");
}
