use std::fmt::Write as _;
use std::fs;

use egret::{
    AnyAction, DecisionLoop, EventRng, FeatureSchema, FeatureValue, Features, FieldCounts,
    FieldKind, Interval, Model, Objective, Stream,
};
use egret_jobs::decide::{ContextSource, DecideRequest, decide};
use egret_jobs::train::{CandidateRequest, TrainRequest, TrainingLog, train};
use egret_jobs::{LogSource, Silent};
use egret_log::{Format, Writer};

use crate::folder;

/// A customer: what is known of it, and the most that it pays.
struct Row {
    features: Features,
    limit: f64,
}

const CUSTOMERS: f64 = 50_000.0;
const FIELDS: [&str; 7] = [
    "age", "at", "basket", "country", "customer", "income", "member",
];

/// A fifth of the cells is missing; age and member are now and then of another type. From event 0 on there are customers of
/// a country that was never seen before.
fn row(number: i64) -> Row {
    let mut rng = EventRng::new(3, number as u64, Stream::World);
    let mut upto = |count: f64| (rng.unit() * count).floor();
    let (country, member) = (upto(4.0) as usize, upto(2.0) == 1.0);
    let limit = [10.0, 18.0, 28.0, 40.0][country] + if member { 5.0 } else { 0.0 };
    let wrong = upto(50.0) == 0.0;
    let name = match number {
        0.. if number % 97 == 0 => "ZZ",
        _ => ["AU", "FR", "NZ", "US"][country],
    };
    let words: Vec<&str> = (0..1 + upto(3.0) as usize)
        .map(|_| ["shoes", "socks", "hats"][upto(3.0) as usize])
        .collect();
    let values: [(&str, FeatureValue); 7] = [
        (
            "age",
            if wrong {
                "unknown".into()
            } else {
                (20.0 + upto(60.0)).into()
            },
        ),
        (
            "at",
            format!("2026-{:02}-{:02}", 1.0 + upto(12.0), 1.0 + upto(28.0)).into(),
        ),
        ("basket", words.into()),
        ("country", name.into()),
        ("customer", format!("c{}", upto(CUSTOMERS)).into()),
        ("income", (1e4 * (3.0 * upto(1e6) / 1e6).exp()).into()),
        ("member", if wrong { "yes".into() } else { member.into() }),
    ];
    let features = values.into_iter().filter(|_| upto(5.0) != 0.0).collect();
    Row { features, limit }
}

/// What a price earns: itself, or nothing if it is too high.
fn revenue(price: f64, limit: f64) -> f64 {
    if price <= limit { price } else { 0.0 }
}

/// Of all fixed prices the best in hindsight.
fn best_fixed(rows: &[Row]) -> f64 {
    let earned = |price: f64| {
        rows.iter()
            .map(|row| revenue(price, row.limit))
            .sum::<f64>()
    };
    (5..=50)
        .map(|price| earned(f64::from(price)))
        .fold(0.0, f64::max)
}

/// From a table to a model by name, its log, another model from the log, and its decisions for a table.
#[test]
fn a_messy_table_goes_from_names_to_decisions() {
    // The rows that are looked at, and those that are decided.
    let (past, events) = (60_000, 6_000);
    let folder = folder();
    let [file, table, saved] =
        ["log.parquet", "new.csv", "model.egret"].map(|name| folder.path().join(name));
    let history: Vec<Features> = (-past..0).map(|number| row(number).features).collect();
    let schema = FeatureSchema::infer(&history).expect("a schema");
    let wide = schema.fields().find(|(name, _)| *name == "customer");
    let FieldKind::Hashed { bits } = wide.expect("a field").1.kind else {
        panic!("{wide:?}");
    };
    assert!(CUSTOMERS < f64::from(1_u32 << bits), "2^{bits} columns");

    let objective = Objective::maximize(0.0, 50.0).expect("a range");
    let prices = Interval::new(5.0, 50.0).expect("in order");
    let start = Model::new(prices, schema.clone()).expect("a model");
    let writer = Writer::create(&file, Format::Parquet).expect("a folder to write to");
    let mut shop = DecisionLoop::with_log(start.with_objective(objective), writer);
    let traffic: Vec<Row> = (0..events).map(row).collect();
    let mut earned = Vec::new();
    for (event, row) in (0..).zip(&traffic) {
        let price = shop.decide(row.features.clone()).expect("an action").action;
        earned.push(revenue(price, row.limit));
        shop.outcome(event, earned[event as usize])
            .expect("in the range");
    }
    // The last third of the decisions, against the best fixed price for them.
    let late = traffic.len() * 2 / 3;
    let (learned, fixed) = (
        earned[late..].iter().sum::<f64>(),
        best_fixed(&traffic[late..]),
    );
    assert!(1.1 * fixed < learned, "{learned} and {fixed}");

    // Every cell that was missing, unseen or of another type was counted, and no other.
    let (model, writer) = shop.into_parts();
    writer.finish().expect("written");
    let counts = model.feature_counts();
    assert_eq!((counts.events, counts.unknown.len()), (events as u64, 0));
    for name in FIELDS {
        let mut expected = FieldCounts::default();
        for row in &traffic {
            match row.features.get(name) {
                None => expected.missing += 1,
                Some(FeatureValue::Text(text)) if text == "ZZ" => expected.unseen += 1,
                Some(FeatureValue::Text(text)) if text == "unknown" || text == "yes" => {
                    expected.mismatched += 1;
                }
                Some(_) => {}
            }
        }
        let fifth = expected.missing as f64 / events as f64;
        assert!((0.15..0.25).contains(&fifth), "{name}: {fifth}");
        assert_eq!(counts.fields[name], expected, "{name}");
    }
    assert!(counts.fields["country"].unseen > 0 && counts.fields["age"].mismatched > 0);

    // Another model, from the log alone.
    let request = TrainRequest {
        from: TrainingLog {
            log: LogSource::new([&file]),
            ..TrainingLog::default()
        },
        candidate: CandidateRequest {
            epochs: Some(4),
            patience: 4,
            ..CandidateRequest::default()
        },
        ..TrainRequest::default()
    };
    let (trained, report) = train(&request, &Silent).expect("a model");
    assert_eq!(report.counts.used, events as u64);
    let inferred = trained.spec().features.clone().expect("a schema");
    for (name, field) in inferred.fields() {
        let as_expected = match name {
            "age" | "income" => matches!(field.kind, FieldKind::Number(_)),
            "at" => field.kind == FieldKind::Time,
            "basket" => matches!(field.kind, FieldKind::Tokens { .. }),
            "country" => matches!(field.kind, FieldKind::Category(_)),
            "customer" => matches!(field.kind, FieldKind::Hashed { .. }),
            _ => field.kind == FieldKind::Flag,
        };
        assert!(as_expected && field.optional, "{name}: {field:?}");
    }
    assert_eq!(inferred.fields().count(), FIELDS.len());

    // Its decisions for a table of new customers that nobody encoded.
    let fresh: Vec<Row> = (events..events + 1_000).map(row).collect();
    let mut text = FIELDS.join(",") + "\n";
    for row in &fresh {
        for (place, name) in FIELDS.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            let cell = match row.features.get(name) {
                None => String::new(),
                Some(FeatureValue::Text(text)) => text.clone(),
                Some(FeatureValue::List(words)) => match &words[0] {
                    FeatureValue::Text(word) => word.clone(),
                    other => panic!("{other:?}"),
                },
                Some(value) => serde_json::to_string(value).expect("JSON"),
            };
            write!(text, "{comma}{cell}").expect("memory");
        }
        text.push('\n');
    }
    fs::write(&table, text).expect("written");
    fs::write(&saved, trained.save()).expect("written");
    let request = DecideRequest {
        model: saved,
        contexts: ContextSource::Table(table),
        first_event: Some(events as u64),
        event_numbers: None,
        id: None,
        limits: None,
        onnx: None,
    };
    let decided = decide(&request, &Silent).expect("decisions").decisions;
    assert_eq!(decided.len(), fresh.len());
    let earned: f64 = (decided.iter().zip(&fresh))
        .map(|(decided, row)| match decided.action {
            AnyAction::Number(price) => revenue(price, row.limit),
            ref other => panic!("{other:?}"),
        })
        .sum();
    let fixed = best_fixed(&fresh);
    assert!(1.1 * fixed < earned, "{earned} and {fixed}");
}
