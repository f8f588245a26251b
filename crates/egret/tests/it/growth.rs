//! Models whose schema grows while they learn.

use std::convert::Infallible;

use egret::{
    AnyModel, Context, Decision, DecisionLoop, EventLog, EventRng, FeatureSchema, Features, Field,
    FieldKind, FunctionOracle, GrowError, Interval, Loss, Model, ModelError, ModelSpec, Outcome,
    RegressionOracle, SchemaError, Settings, Stream,
};

fn first() -> FeatureSchema {
    FeatureSchema::new()
        .with("age", FieldKind::number())
        .and_then(|schema| schema.with("country", FieldKind::category(["NZ", "AU"])))
        .expect("a schema")
}

/// With a new field, its interaction with an old one, and a new category.
fn second(first: &FeatureSchema, worth: Field) -> FeatureSchema {
    let grown = first.grown(|schema| {
        schema
            .with("worth", worth)?
            .with("hat", FieldKind::category(["cap", "top"]))?
            .with_interaction("country", "hat", 2)?
            .with_categories("country", ["FR"])
    });
    grown.expect("a schema")
}

fn before(event: u64) -> Context {
    let mut rng = EventRng::new(5, event, Stream::World);
    let country = ["NZ", "AU", "FJ"][(3.0 * rng.unit()) as usize];
    Features::new()
        .with("age", (100.0 * rng.unit()).round() / 100.0)
        .with("country", country)
        .into()
}

/// What the best action is, between 0 and 1, stands in a field that only later contexts have.
fn after(event: u64) -> (Context, f64) {
    let mut rng = EventRng::new(6, event, Stream::World);
    let worth = rng.unit();
    let old = before(event);
    let features = old.as_named().expect("named").clone();
    let features = features.with("worth", 1000.0 * worth).with("hat", "cap");
    (features.into(), worth)
}

fn spec(space: &str, oracle: Option<&str>, schema: FeatureSchema) -> ModelSpec {
    let rows = egret::EmbeddingRows::new(1, (0..9).map(f64::from).collect()).expect("nine rows");
    let embeddings = space.starts_with("items").then_some(rows);
    let space = space.parse().expect("a space");
    let spec = ModelSpec::from_parts(space, embeddings, schema).with_seed(4);
    match oracle {
        None => spec,
        Some(oracle) => spec.with_oracle(oracle.parse().expect("an oracle")),
    }
}

/// Every kind of oracle.
const ORACLES: [(&str, Option<&str>); 11] = [
    ("interval:0,1", None),
    ("box:0,1,0,2", None),
    ("items:9", None),
    ("interval:0,1", Some("argmin")),
    ("interval:0,1", Some("argmin:hidden=4x3")),
    ("interval:0,1", Some("ridge")),
    ("interval:0,1", Some("vaw")),
    ("interval:0,1", Some("fourier:features=16")),
    ("interval:0,1", Some("latent-outcome")),
    ("interval:0,1", Some("curves")),
    ("interval:0,1", Some("(argmin+vaw)@16")),
];

fn teach(model: &mut AnyModel, event: u64, x: &Context) -> String {
    let decision = model.decide(event, x).expect("an action");
    let loss = Loss::new((event % 7) as f64 / 7.0).expect("in range");
    model.learn(&decision.observed(x, loss)).expect("good");
    format!("{decision:?}")
}

#[test]
fn a_grown_model_decides_as_before_and_comes_back_from_its_file() {
    let wide = || FieldKind::hashed(10);
    let start = first();
    let wide_start = start.clone().with("id", wide()).expect("a schema");
    for (space, oracle) in ORACLES {
        for (start, worth) in [
            (&start, FieldKind::number()),
            (&start, wide()),
            (&wide_start, FieldKind::number()),
            (&wide_start, wide()),
        ] {
            let name = format!("{space} {oracle:?} {worth:?} after {}", start.width());
            let grown = second(start, worth);
            // Least squares takes the square of the width, and alone it grows to no such width.
            let least_squares =
                oracle.is_some_and(|oracle| oracle.contains("vaw") || oracle == "ridge");
            let alone = matches!(oracle, Some("ridge" | "vaw"));
            if least_squares && (512 < start.width() || alone && 512 < grown.width()) {
                continue;
            }
            let settings = Settings::default().with_seed(3);
            let model = AnyModel::from_spec(spec(space, oracle, start.clone()), settings);
            let mut model = model.unwrap_or_else(|error| panic!("{name}: {error}"));
            for event in 0..12 {
                teach(&mut model, event, &before(event));
            }
            let older = AnyModel::load(&model.save()).expect("its own bytes");
            model
                .grow(grown.clone())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(model.spec().features.as_ref(), Some(&grown));
            // A linear argmin adds in another order once contexts are sparse.
            let rounds = oracle.is_some_and(|oracle| oracle.contains("argmin"))
                && start.width() <= 512
                && 512 < grown.width();
            for event in 100..110 {
                let x = before(event);
                let (found, expected) = (model.decide(event, &x), older.decide(event, &x));
                if !rounds {
                    assert_eq!(found, expected, "{name}");
                }
            }
            // It goes on from its file to the bit, through a second growth too.
            let again = grown.grown(|schema| schema.with("more", FieldKind::flag()));
            let again = again.expect("a schema");
            let mut loaded = AnyModel::load(&model.save()).expect("its own bytes");
            for event in 200..230 {
                if event == 215 {
                    model.grow(again.clone()).expect("once more");
                    loaded.grow(again.clone()).expect("once more");
                }
                let x = if event % 3 == 0 {
                    before(event)
                } else {
                    after(event).0
                };
                let found = teach(&mut loaded, event, &x);
                assert_eq!(found, teach(&mut model, event, &x), "{name}");
            }
            assert_eq!(loaded.save(), model.save(), "{name}");
            let last = AnyModel::load(&model.save()).expect("its own bytes");
            assert_eq!(last.save(), model.save(), "{name}");
        }
    }
}

/// Learns from actions chosen at random, before the new field is shown or after.
fn train(model: &mut Model<f64>, events: std::ops::Range<u64>, show: bool) {
    for event in events {
        let (x, worth) = after(event);
        let x = if show { x } else { before(event) };
        let decision = model.decide(event, &x).expect("an action");
        let loss = Loss::new((decision.action - worth).abs()).expect("in range");
        model.learn(&decision.observed(&x, loss)).expect("good");
    }
}

/// How far the action with the least prediction is from the best one, on average.
fn error(model: &Model<f64>) -> f64 {
    let miss = |event| {
        let (x, worth) = after(event);
        (model.best(&x).expect("an action") - worth).abs()
    };
    (90_000..90_300).map(miss).sum::<f64>() / 300.0
}

/// Without the new field nothing beats the middle, which is a quarter away; with it every oracle comes closer.
#[test]
fn what_a_new_field_says_is_learned() {
    let worth = || {
        FieldKind::Number(egret::NumberScale::Log {
            center: 500.0,
            width: 250.0,
        })
    };
    for (oracle, most) in [
        (None, 0.08),
        (Some("argmin"), 0.12),
        (Some("argmin:hidden=8x8"), 0.12),
        (Some("vaw"), 0.12),
        (Some("fourier"), 0.12),
    ] {
        let settings = Settings {
            explorer: egret::Explorer::Uniform,
            ..Settings::default()
        };
        let model = Model::from_spec(spec("interval:0,1", oracle, first()), settings);
        let mut model: Model<f64> = model.expect("a model");
        train(&mut model, 0..300, false);
        let blind = error(&model);
        model
            .grow(second(&first(), worth().into()))
            .expect("a growth");
        train(&mut model, 300..3_000, true);
        let seen = error(&model);
        assert!(0.2 < blind && seen < most, "{oracle:?}: {blind} {seen}");
    }
}

#[test]
fn what_is_no_growth_is_refused_and_changes_nothing() {
    let interval = || Interval::new(0.0, 1.0).expect("in order");
    let mut model = Model::new(interval(), first()).expect("a model");
    let bytes = model.save();
    let other = FeatureSchema::new().with("age", FieldKind::flag());
    let other = second(
        &other
            .and_then(|schema| schema.with("country", FieldKind::category(["NZ"])))
            .expect("a schema"),
        FieldKind::number(),
    );
    let error = model.grow(other).expect_err("another schema");
    assert!(matches!(
        error,
        ModelError::Schema(SchemaError::NotGrown(_))
    ));
    assert!(error.to_string().contains("the field age was another"));
    assert!(model.grow(first()).is_err(), "not a later version");
    assert_eq!(model.save(), bytes);

    let mut numbers = Model::new(interval(), 3).expect("a model");
    assert_eq!(numbers.grow(first()), Err(ModelError::NoSchema));

    let ridge = spec("interval:0,1", Some("ridge"), first());
    let mut ridge: Model<f64> = Model::from_spec(ridge, Settings::default()).expect("a model");
    let bytes = ridge.save();
    let wide = second(&first(), FieldKind::hashed(12));
    let unread = Err(ModelError::Grow(GrowError::Unread));
    assert_eq!(ridge.grow(wide.clone()), unread);
    assert_eq!(ridge.save(), bytes);
    let fresh = spec("interval:0,1", Some("ridge"), wide.clone());
    assert!(Model::<f64>::from_spec(fresh, Settings::default()).is_err());
    // Beside a network it goes on with what it reads.
    let both = spec("interval:0,1", Some("curves+ridge"), first());
    let mut both: Model<f64> = Model::from_spec(both, Settings::default()).expect("a model");
    assert_eq!(both.grow(wide), Ok(()));

    let mut own = FunctionOracle::new(|_: &Context, _: &Vec<f64>, out: &mut [f64]| out.fill(0.5));
    let error = RegressionOracle::<Context, f64>::grow(&mut own, 4).expect_err("a function");
    assert!(error.to_string().contains("FunctionOracle"), "{error}");
}

/// A model made with a grown schema has the shape of one that grew.
#[test]
fn a_fresh_model_of_a_grown_schema_can_be_trained_and_loaded() {
    let grown = second(&first(), FieldKind::number());
    for (space, oracle) in ORACLES {
        let model = spec(space, oracle, grown.clone());
        let mut model = AnyModel::from_spec(model, Settings::default()).expect("a model");
        for event in 0..20 {
            teach(&mut model, event, &after(event).0);
        }
        let loaded = AnyModel::load(&model.save()).expect("its own bytes");
        assert_eq!(loaded.save(), model.save());
    }
}

/// The schema that each event was decided with, by its hash.
#[derive(Default)]
struct Hashes(Vec<(u64, String)>);

impl EventLog<f64> for Hashes {
    type Error = Infallible;

    fn append(
        &mut self,
        spec: &ModelSpec,
        _: &Context,
        decision: &Decision<f64>,
        _: Option<Outcome>,
    ) -> Result<(), Infallible> {
        let schema = spec.features.as_ref().expect("a schema");
        self.0
            .push((decision.event, schema.content_hash().to_owned()));
        Ok(())
    }
}

#[test]
fn events_are_logged_with_the_schema_that_decided_them() {
    let prices = Interval::new(0.0, 1.0).expect("in order");
    let model = Model::new(prices, first()).expect("a model");
    let older = Model::<f64>::load(&model.save()).expect("its own bytes");
    let mut own = DecisionLoop::with_log(model, Hashes::default());
    let grown = second(&first(), FieldKind::number());
    let waits: Vec<_> = (0..3)
        .map(|event| own.decide(before(event)).expect("an action"))
        .collect();
    own.grow(grown.clone()).expect("a growth");
    own.decide(after(3).0).expect("an action");
    for event in [3, 1, 0] {
        own.outcome(event, 0.5).expect("it waits");
    }
    own.expire_all().expect("a log without end");
    own.decide(after(4).0).expect("an action");
    own.expire_all().expect("a log without end");
    // What was decided before replays with the older file, and carries its schema.
    for decision in &waits {
        assert!(older.replay(&before(decision.event), decision).is_ok());
    }
    let (_, Hashes(logged)) = own.into_parts();
    let hash = |schema: &FeatureSchema| schema.content_hash().to_owned();
    let (old, new) = (hash(&first()), hash(&grown));
    let expected = [(3, &new), (1, &old), (0, &old), (2, &old), (4, &new)];
    assert_eq!(logged, expected.map(|(event, hash)| (event, hash.clone())));
}

/// A loop without a schema, over the world where `worth` says all.
fn inferring(events: u64, after_events: u64) -> (DecisionLoop<f64>, f64) {
    let model = Model::new(
        Interval::new(0.0, 1.0).expect("in order"),
        FeatureSchema::new(),
    );
    let own = DecisionLoop::new(model.expect("a model")).infer_features_after(after_events);
    let mut own = own.expect("it has a schema");
    let mut total = 0.0;
    for event in 0..events {
        let (x, worth) = after(event);
        let decision = own.decide(x).expect("an action");
        let loss = (decision.action - worth).abs();
        if events <= event + 500 {
            total += loss / 500.0;
        }
        // Some outcomes come late, across the growth.
        if event % 5 != 0 {
            own.outcome(event, loss).expect("it waits");
        } else if 50 <= event {
            own.outcome(event - 50, 0.5).expect("it waits");
        }
    }
    (own, total)
}

#[test]
fn a_schema_is_inferred_from_the_first_events() {
    let (own, loss) = inferring(2_500, 100);
    let schema = own.model().spec().features.as_ref().expect("inferred");
    let fields: Vec<&str> = schema.fields().map(|(name, _)| name).collect();
    assert_eq!(fields, ["age", "country", "hat", "worth"]);
    assert_eq!(schema.version(), 2);
    let (_, blind) = inferring(2_500, u64::MAX);
    assert!(loss < 0.15 && 0.2 < blind, "{loss} {blind}");
    // Same contexts and outcomes, same bits; and its file is complete.
    let (again, _) = inferring(2_500, 100);
    assert_eq!(again.model().save(), own.model().save());
    let loaded = Model::<f64>::load(&own.model().save()).expect("its own bytes");
    let x = after(9_999).0;
    assert_eq!(loaded.decide(9_999, &x), own.model().decide(9_999, &x));
}

/// Before the growth it is at the schema without fields; the growth stands right after the last event of the sample.
#[test]
fn the_growth_stands_at_one_event() {
    for (events, version) in [(30, 1), (31, 2)] {
        let (own, _) = inferring(events, 30);
        let schema = own.model().spec().features.as_ref().expect("one");
        assert_eq!(schema.version(), version, "{events}");
    }
}

#[test]
fn a_loop_over_numbers_cannot_infer_names() {
    let model = Model::new(Interval::new(0.0, 1.0).expect("in order"), 2).expect("a model");
    let refused = DecisionLoop::new(model).infer_features_after(10);
    assert_eq!(refused.err(), Some(ModelError::NoSchema));
}

/// Strict, a model that grew still takes contexts from before, and learns what was decided before.
#[test]
fn a_strict_schema_grows_too() {
    let old = first().strict();
    let grown = second(&old, FieldKind::number());
    let interval = Interval::new(0.0, 1.0).expect("in order");
    let mut own = DecisionLoop::new(Model::new(interval, old).expect("a model"));
    let x = Features::new().with("age", 0.5).with("country", "NZ");
    let waiting = own.decide(x.clone()).expect("an action");
    own.grow(grown).expect("a growth");
    own.outcome(waiting.event, 0.5).expect("it waits");
    assert_eq!(own.model().batches_learned(), 1);
    own.decide(x).expect("an action");
    let strange = Features::new().with("age", 0.5).with("country", "XX");
    assert!(own.decide(strange).is_err());
}
