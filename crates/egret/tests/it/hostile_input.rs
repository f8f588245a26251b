//! Whatever bytes or text arrive: a value, or an error. Never a panic, and what is read is written as it was read.

use std::fmt::Debug;

use egret::{
    ActionKind, AnyAction, AnyModel, Context, DecideError, Decision, EmbeddingRows, FeatureCounts,
    FeatureSchema, Features, FieldKind, Interval, Item, Items, LearnError, Loss, Model, ModelSpec,
    Objective, ReplayError, Settings, UniformBox, Vector, for_kind,
};
use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};

fn schema() -> FeatureSchema {
    let first = FeatureSchema::new()
        .with("age", FieldKind::number())
        .and_then(|schema| schema.with("country", FieldKind::category(["NZ", "AU"])))
        .and_then(|schema| schema.with("words", FieldKind::tokens(3)))
        .and_then(|schema| schema.with_interaction("country", "words", 2));
    let grown = first.expect("a schema").grown(|schema| {
        schema
            .with("hat", FieldKind::category(["cap"]).optional())?
            .with_categories("country", ["FR"])
    });
    grown.expect("a schema")
}

/// Saved models that have learned and whose schema has grown: on an interval, and of named items.
fn saved() -> Vec<Vec<u8>> {
    let prices = Interval::new(0.0, 1.0).expect("in order");
    let films = [("drama", 1.5), ("noir", 2.5)]
        .map(|(genre, price)| Features::new().with("genre", genre).with("price", price));
    let items = Items::infer(&films).expect("items");
    let small = |spec: ModelSpec, oracle: &str| {
        let spec = spec.with_oracle(oracle.parse().expect("an oracle"));
        AnyModel::from_spec(spec, Settings::default()).expect("a model")
    };
    let models = [
        small(
            ModelSpec::new(prices, schema()),
            "(latent-outcome:outcomes=2,hidden=2x2+curves:cosines=1,hidden=2x2)@4",
        ),
        small(
            ModelSpec::new(items, schema()),
            "curves:cosines=1,hidden=2x2",
        ),
        small(ModelSpec::new(prices, schema()), "argmin+vaw"),
    ];
    let x: Context = Features::new().with("age", 30).with("hat", "cap").into();
    let learned = models.into_iter().map(|mut model| {
        for event in 0..3 {
            let decision = model.decide(event, &x).expect("an action");
            let loss = Loss::new(0.5).expect("in range");
            model.learn(&decision.observed(&x, loss)).expect("good");
        }
        model.save()
    });
    learned.collect()
}

/// Makes the checksums fit again, of the file and of the learner's state inside, so that the damage reaches the parsers.
fn seal(bytes: &mut [u8], state: usize) {
    for start in [state, 0] {
        let end = if start == 0 {
            bytes.len() - 4
        } else {
            bytes.len() - 8
        };
        let checksum = crc32fast::hash(&bytes[start..end]);
        bytes[end..end + 4].copy_from_slice(&checksum.to_le_bytes());
    }
}

fn parsed<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) -> Option<T> {
    let value: T = serde_json::from_str(text).ok()?;
    let written = serde_json::to_string(&value).expect("what was read can be written");
    let again: T = serde_json::from_str(&written).expect("what was written can be read");
    assert_eq!(again, value, "{text}");
    assert_eq!(serde_json::to_string(&again).expect("JSON"), written);
    Some(value)
}

/// Reads a text as everything that is read from JSON, and encodes it.
fn read(text: &str) {
    parsed::<Objective>(text);
    if let Some(schema) = parsed::<FeatureSchema>(text) {
        let x = Features::new().with("age", 3).with("country", "FR");
        let _ = schema.encode(&x, &mut FeatureCounts::default());
    }
    if let Some(features) = parsed::<Features>(text) {
        let mut counts = FeatureCounts::default();
        let x = schema().encode(&features, &mut counts).expect("not strict");
        assert_eq!(x.dim(), schema().width());
        let inferred = FeatureSchema::infer([&features]).expect("a schema");
        let _ = inferred.encode(&features, &mut counts);
        let logged = schema().for_log(&features);
        assert_eq!(schema().encode(&logged, &mut counts), Ok(x));
    }
    parsed::<Context>(text);
}

/// Pieces of JSON, some of them none.
const PIECES: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "NaN",
    "-Infinity",
    "1e999",
    "-0",
    "1e-320",
    "99999999999999999999999",
    "-9223372036854775809",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"é\u{1F426}\"",
    "\"age\"",
    "\"country\"",
    "{\"a\":{\"\":1}}",
    "[1,2.5]",
    "\"2026-11-16T08:30:00Z\"",
];

fn texts() -> impl Strategy<Value = String> {
    let good = vec![
        serde_json::to_string(&schema()).expect("JSON"),
        r#"{"age": 30, "country": "AU", "words": ["a", "b"], "hat": {"": [1, {"x": null}]}}"#
            .to_owned(),
        r#"{"direction":"maximize","low":0.0,"high":50.0,"outside":"clip"}"#.to_owned(),
        r#"{"dim": 9, "indices": [2], "values": [0.5]}"#.to_owned(),
    ];
    let edits = prop::collection::vec(
        (any::<prop::sample::Index>(), 0_usize..6, 0..PIECES.len()),
        0..4,
    );
    let edited = (prop::sample::select(good), edits).prop_map(|(mut text, edits)| {
        for (place, cut, piece) in edits {
            let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
            let start = places
                .get(place.index(places.len().max(1)))
                .copied()
                .unwrap_or(0);
            let end = text
                .char_indices()
                .map(|(place, _)| place)
                .find(|end| start + cut <= *end);
            text.replace_range(start..end.unwrap_or(text.len()), PIECES[piece]);
        }
        text
    });
    let pieces = prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..12);
    prop_oneof![
        4 => edited,
        1 => pieces.prop_map(|pieces| pieces.concat()),
        1 => ".{0,40}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_a_value_or_an_error(text in texts()) {
        read(&text);
    }
}

/// Every byte of a saved model's description and every 31st of its state, changed in several ways, with checksums that fit.
#[test]
fn damaged_models_are_refused_or_models() {
    for bytes in saved() {
        let state = bytes.windows(8).position(|window| window == b"egretmdl");
        let state = state.expect("a learner's state");
        let (mut refused, mut taken) = (0, 0);
        let in_state = (state + 18..bytes.len() - 8).step_by(31);
        for place in (18..state).chain(in_state) {
            for change in [0x01_u8, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[place] ^= change;
                seal(&mut damaged, state);
                match AnyModel::load(&damaged) {
                    Err(_) => refused += 1,
                    Ok(model) => {
                        taken += 1;
                        let x: Context = Features::new().with("age", 30).into();
                        let _ = model.best(&x);
                    }
                }
            }
        }
        assert!(50 < refused && 50 < taken, "{refused} {taken}");
    }
}

/// Of another length, beyond the ends, not in the list: an error wherever an action is given, and nothing is learned.
#[test]
fn actions_outside_the_space_are_errors() {
    let vector = |values: &[f64]| AnyAction::from(Vector::new(values).expect("finite"));
    let x = Context::dense(vec![0.5]).expect("finite");
    let rows = EmbeddingRows::new(1, vec![0.0, 1.0, 2.0]).expect("three rows");
    for (space, rows, outside) in [
        (
            "interval:0,1",
            None,
            vec![1.5.into(), (-0.1).into(), f64::NAN.into(), vector(&[0.5])],
        ),
        ("normal:0.5,0.1,0,1", None, vec![1.5.into()]),
        (
            "box:0,1,0,1",
            None,
            vec![
                vector(&[0.5]),
                vector(&[0.5; 3]),
                vector(&[0.5, 1.5]),
                0.5.into(),
            ],
        ),
        (
            "sphere:2",
            None,
            vec![vector(&[1.0]), vector(&[0.0, 1.0, 0.0])],
        ),
        ("simplex:1,1", None, vec![vector(&[1.0])]),
        (
            "items:3",
            Some(rows),
            vec![Item(3).into(), Item(u32::MAX).into(), 0.5.into()],
        ),
    ] {
        let spec = ModelSpec::from_parts(space.parse().expect("a space"), rows, 1);
        let mut model = AnyModel::from_spec(spec, Settings::default()).expect("a model");
        let good = model.decide(0, &x).expect("an action");
        let loss = Loss::new(0.5).expect("in range");
        let before = model.save();
        for outside in outside {
            let bad = Decision {
                action: outside.clone(),
                ..good.clone()
            };
            let events = [good.observed(&x, loss), bad.observed(&x, loss)];
            for events in [&events[1..], &events[..]] {
                let error = model.learn_batch(events);
                assert!(
                    matches!(error, Err(LearnError::Action(_))),
                    "{space} {outside}: {error:?}"
                );
            }
            assert_eq!(model.save(), before, "{space} {outside}");
            for actions in [
                vec![outside.clone()],
                vec![good.action.clone(), outside.clone()],
            ] {
                let error = model.predict(&x, &actions);
                assert!(
                    matches!(error, Err(DecideError::Action(_))),
                    "{space} {outside}: {error:?}"
                );
            }
            for_kind!(model.kind(), A => {
                let typed: &Model<A> = model.typed().expect("of this kind");
                if let Ok(action) = A::from_any(&outside) {
                    let good = typed.decide(0, &x).expect("an action");
                    assert_eq!(typed.replay(&x, &good), Ok(()));
                    let error = typed.replay(&x, &Decision { action, ..good });
                    let named = matches!(error, Err(ReplayError::Decide(DecideError::Action(_))));
                    assert!(named, "{space} {outside}: {error:?}");
                }
            });
        }
        model.learn(&good.observed(&x, loss)).expect("a good event");
    }
}

/// A learner without a described space: vectors of several lengths are an error, not a panic.
#[test]
fn vectors_of_several_lengths_are_errors() {
    let square = UniformBox::new(&[(0.0, 1.0); 2]).expect("in order");
    let spec = ModelSpec::new(square, 1).with_oracle("curves+vaw".parse().expect("an oracle"));
    let model = Model::<Vector>::from_spec(spec, Settings::default()).expect("a model");
    let mut learner = model.into_learner();
    let x = Context::dense(vec![0.5]).expect("finite");
    let good = learner.decide(0, &x).expect("an action");
    let loss = Loss::new(0.5).expect("in range");
    let before = learner.save();
    for values in [&[0.5][..], &[0.5; 3]] {
        let action = Vector::new(values).expect("finite");
        assert!(
            learner
                .predict(&x, &[good.action.clone(), action.clone()])
                .is_err()
        );
        assert!(learner.predict(&x, std::slice::from_ref(&action)).is_err());
        let bad = Decision {
            action,
            ..good.clone()
        };
        assert!(
            learner
                .learn_batch(&[good.observed(&x, loss), bad.observed(&x, loss)])
                .is_err()
        );
        assert!(learner.learn(&bad.observed(&x, loss)).is_err());
        assert_eq!(learner.save(), before);
    }
}

/// γ, steps and batches at the largest count that a file can hold.
#[test]
fn the_last_batch_is_followed_by_no_overflow() {
    let x = Context::dense(vec![0.5]).expect("finite");
    let prices = Interval::new(0.0, 1.0).expect("in order");
    let model = Model::new(prices, 1).expect("a model");
    let oracle = model.learner().oracle().save();
    let spec = model.spec().clone();
    let learned = egret::Learned {
        batches: u64::MAX,
        events: u64::MAX,
        squared_error: None,
        forgotten: 0.0,
    };
    let model = Model::<f64>::trained(spec, Settings::default(), &oracle, learned);
    let mut model = Model::<f64>::load(&model.expect("trained").save()).expect("its own");
    for event in [0, u64::MAX - 1, u64::MAX] {
        let decision = model.decide(event, &x).expect("an action");
        let loss = Loss::new(0.5).expect("in range");
        model.learn(&decision.observed(&x, loss)).expect("good");
        assert_eq!(model.batches_learned(), u64::MAX);
    }
}

#[test]
fn odd_objects_are_read_or_refused() {
    let deep =
        |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    for text in [
        &deep("[", "]"),
        &deep("{\"a\":", "}"),
        r#"{"": 1, " ": 2, "\u0000": 3}"#,
        r#"{"a": {"": 1}, ".": {".": 2}}"#,
        r#"{"ключ": "знач", "鳥": [1.5, -0.0], "e\u0301": 1, "\u00e9": 2}"#,
        r#"{"age": 1e308, "country": 18446744073709551615, "words": [[], {}]}"#,
        r#"{"age": -9223372036854775808, "words": 123456789012345678901234567890}"#,
        r#"{"age": "NaN", "country": "NaN", "words": "inf"}"#,
    ] {
        read(text);
    }
    for text in [
        r#"{"a.b": 1, "a": {"b": 2}}"#,
        r#"{"a.": 1, "a": {"": 2}}"#,
        r#"{"a": {"b.c": 1, "b": {"c": 2}}}"#,
        r#"{"age": NaN}"#,
        r#"{"age": 1e999}"#,
    ] {
        assert!(serde_json::from_str::<Features>(text).is_err(), "{text}");
    }
    assert!(serde_json::from_str::<Features>(&deep("[", "]")).is_err());
}

#[test]
fn huge_values_give_numbers_that_models_take() {
    let vast = FeatureSchema::new()
        .with("a", FieldKind::number())
        .and_then(|schema| schema.with("b", FieldKind::number()))
        .and_then(|schema| schema.with_interaction("a", "b", 1))
        .and_then(|schema| schema.with_interaction("b", "a", 10))
        .expect("a schema");
    let prices = Interval::new(0.0, 1.0).expect("in order");
    let model = Model::new(prices, vast).expect("a model");
    for (a, b) in [(1e308, 1e308), (-1e308, 1e308), (f64::MAX, f64::MIN)] {
        let x = Features::new().with("a", a).with("b", b).into();
        assert!(model.decide(0, &x).is_ok(), "{a} {b}");
    }
}

/// A hundred thousand fields: read, inferred, encoded and decided on, in time that grows with their number.
#[test]
fn very_many_fields_take_no_more_than_their_number() {
    let many = |value: f64| -> Features {
        let fields = 0..100_000;
        fields.map(|n| (format!("field {n}"), value)).collect()
    };
    let text = serde_json::to_string(&many(1.5)).expect("JSON");
    let x: Features = serde_json::from_str(&text).expect("its own");
    let schema = FeatureSchema::infer([&x, &many(2.5)]).expect("a schema");
    assert_eq!(schema.width(), 100_002);
    let schema: FeatureSchema =
        serde_json::from_str(&serde_json::to_string(&schema).expect("JSON")).expect("its own");
    let prices = Interval::new(0.0, 1.0).expect("in order");
    let mut model = Model::new(prices, schema).expect("a model");
    let x = x.into();
    let decision = model.decide(0, &x).expect("an action");
    let loss = Loss::new(0.5).expect("in range");
    model.learn(&decision.observed(&x, loss)).expect("good");
    assert!(model.feature_counts().is_clean());
}
