use std::collections::BTreeMap;
use std::sync::Arc;

use egret::{
    AnyAction, CertifiedBy, Context, Density, DensityKind, FeatureValue, Features, Item,
    ItemLimits, ItemSet, Knob, KnobLimits, KnobValue, Limits, Loss, MixedAction, Propensity, Space,
    Vector,
};
use egret_log::{LossSource, Mode, Record, Time};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Any finite number, down to the smallest.
pub fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>().prop_filter("finite", |value| value.is_finite()),
        -1.0..1.0_f64,
        select(vec![
            0.0,
            -0.0,
            f64::MIN_POSITIVE,
            5e-324,
            f64::MAX,
            0.1 + 0.2
        ]),
    ]
}

pub fn positive() -> impl Strategy<Value = f64> {
    prop_oneof![
        1e-9..1e9_f64,
        select(vec![
            5e-324,
            f64::MIN_POSITIVE,
            f64::MAX,
            1.0 + f64::EPSILON
        ]),
    ]
}

fn share() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..=1.0_f64, select(vec![0.0, 1.0, 5e-324])]
}

fn text() -> impl Strategy<Value = String> {
    // Also what JSON has to escape.
    "[a-zA-Z0-9_ \"\\\\\n\u{1}é😀-]{0,12}"
}

fn time() -> impl Strategy<Value = Time> {
    (-62_000_000_000_000_000..250_000_000_000_000_000_i64)
        .prop_map(|micros| Time::from_micros(micros).expect("in range"))
}

/// Whether contexts are dense, sparse, mixed or named, and which actions there are: files hold one kind.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    DenseNumbers,
    MixedVectors,
    SparseItems,
    NamedNumbers,
    NamedKnobs,
    DenseSets,
}

pub const KINDS: [Kind; 6] = [
    Kind::DenseNumbers,
    Kind::MixedVectors,
    Kind::SparseItems,
    Kind::NamedNumbers,
    Kind::NamedKnobs,
    Kind::DenseSets,
];

fn dense() -> BoxedStrategy<Context> {
    vec(finite(), 0..5)
        .prop_map(|values| Context::dense(values).expect("finite"))
        .boxed()
}

fn sparse() -> BoxedStrategy<Context> {
    btree_map(0..1000_u32, finite(), 0..6)
        .prop_map(|entries| {
            Context::sparse(1000, entries.into_iter().collect()).expect("sorted and finite")
        })
        .boxed()
}

/// A value of any form. Few of the names differ, so that records share columns.
fn value() -> impl Strategy<Value = FeatureValue> {
    let leaf = prop_oneof![
        Just(FeatureValue::Missing),
        any::<bool>().prop_map(FeatureValue::from),
        any::<i64>().prop_map(FeatureValue::from),
        (-9..9_i64).prop_map(FeatureValue::from),
        finite().prop_map(FeatureValue::from),
        text().prop_map(FeatureValue::from),
        vec(text(), 0..4).prop_map(FeatureValue::from),
        vec(finite(), 0..4).prop_map(FeatureValue::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(FeatureValue::List),
            btree_map(name(), inner, 0..3).prop_map(FeatureValue::Object),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => select(vec!["age", "dim", "indices", "a b", "mode", "propensity"]).prop_map(str::to_owned),
        1 => text(),
    ]
}

/// Named features: each name mostly has one type.
pub fn features() -> impl Strategy<Value = Features> {
    let typed = (
        option::of(any::<bool>()),
        option::of(any::<i64>()),
        option::of(finite()),
        option::of(text()),
        option::of(vec(text(), 0..4)),
        option::of(vec(finite(), 0..4)),
    );
    (typed, btree_map(name(), value(), 0..4)).prop_map(|(typed, others)| {
        let mut features: Features = others.into_iter().collect();
        let nested = Features::new().with("flag", typed.0).with("whole", typed.1);
        features.set("typed", nested);
        features.set("number", typed.2);
        features.set("text", typed.3);
        features.set(
            "texts",
            typed.4.map_or(FeatureValue::Missing, FeatureValue::from),
        );
        features.set(
            "numbers",
            typed.5.map_or(FeatureValue::Missing, FeatureValue::from),
        );
        features
    })
}

fn knobs() -> Space {
    let knob = |name: &str, knob| (name.to_owned(), knob);
    let (low, high, step) = (-2.0, 6.0, 0.5);
    let names = ["red", "blue", "a \"b\""].map(str::to_owned).to_vec();
    Space::Mixed {
        knobs: BTreeMap::from([
            knob("price", Knob::Interval { low, high }),
            knob("retries", Knob::Steps { low, high, step }),
            knob("colour", Knob::Categories(names)),
        ]),
    }
}

fn mixed() -> impl Strategy<Value = AnyAction> {
    let names = select(vec!["red", "blue", "a \"b\""]);
    (-2.0..=6.0_f64, 0..17_u32, names).prop_map(|(price, step, colour)| {
        let values = [
            ("price", KnobValue::from(price)),
            ("retries", KnobValue::from(0.5 * f64::from(step) - 2.0)),
            ("colour", KnobValue::from(colour)),
        ];
        MixedAction::new(values).expect("three knobs").into()
    })
}

fn set() -> impl Strategy<Value = AnyAction> {
    subsequence((0..9_u32).collect::<Vec<_>>(), 3)
        .prop_shuffle()
        .prop_map(|items| {
            let items = items.into_iter().map(Item);
            ItemSet::new(items).expect("distinct").into()
        })
}

/// Some limits that allow the action, of every form there is.
fn limits(action: &AnyAction) -> Limits {
    let around = |value: f64| ((value - 0.5).max(-2.0), (value + 0.5).min(6.0));
    match action {
        AnyAction::Number(value) => {
            let (low, high) = around(*value);
            Limits::Interval { low, high }
        }
        AnyAction::Vector(vector) => Limits::Box {
            sides: vector.iter().map(|&value| (value, 1.0)).collect(),
        },
        AnyAction::Item(item) => Limits::Items(ItemLimits::Allowed(vec![*item])),
        AnyAction::Set(set) => {
            let others = (0..9).map(Item).filter(|item| !set.items().contains(item));
            Limits::Items(ItemLimits::Excluded(others.collect()))
        }
        AnyAction::Mixed(action) => {
            let knobs = action.iter().map(|(name, value)| {
                let limits = match value {
                    KnobValue::Number(value) => KnobLimits::Interval {
                        low: *value,
                        high: 6.0,
                    },
                    KnobValue::Category(category) => KnobLimits::Categories(vec![category.clone()]),
                };
                (name.to_owned(), limits)
            });
            Limits::Mixed {
                knobs: knobs.collect(),
            }
        }
    }
}

/// A record with all of its fields, each there or absent.
pub fn any_record(kind: Kind) -> impl Strategy<Value = Record> {
    let interval = Space::Interval {
        low: -2.0,
        high: 6.0,
    };
    let (context, action, space) = match kind {
        Kind::DenseNumbers => (
            dense(),
            (-2.0..=6.0_f64).prop_map(AnyAction::from).boxed(),
            interval,
        ),
        Kind::NamedNumbers => (
            features().prop_map(Context::named).boxed(),
            (-2.0..=6.0_f64).prop_map(AnyAction::from).boxed(),
            interval,
        ),
        Kind::MixedVectors => (
            prop_oneof![dense(), sparse()].boxed(),
            vec(0.0..=1.0_f64, 2)
                .prop_map(|values| Vector::new(&values).expect("finite").into())
                .boxed(),
            Space::Box {
                sides: vec![(0.0, 1.0), (0.0, 1.0)],
            },
        ),
        Kind::NamedKnobs => (
            features().prop_map(Context::named).boxed(),
            mixed().boxed(),
            knobs(),
        ),
        Kind::DenseSets => (dense(), set().boxed(), Space::Set { count: 9, size: 3 }),
        Kind::SparseItems => (
            sparse(),
            (0..7_u32).prop_map(|index| Item(index).into()).boxed(),
            Space::Items {
                count: 7,
                weights: None,
            },
        ),
    };
    let space = Arc::new(space);
    let who = (
        option::of(text()),
        option::of(text()),
        option::of(any::<u64>()),
        option::of(any::<u64>()),
        option::of(time()),
        option::of(time()),
        option::weighted(0.9, Just(space)),
    );
    let propensity = prop_oneof![
        4 => positive().prop_map(|p| Propensity::Density(Density::new(p).expect("positive"))),
        1 => Just(Propensity::PointMass),
    ];
    let how = (
        context,
        action,
        propensity,
        option::of(select(vec![
            DensityKind::Conditional,
            DensityKind::Marginal,
        ])),
        option::of(positive()),
        option::of(positive()),
        option::of(any::<u32>()),
        option::of(share()),
        option::of(positive()),
        option::of(finite()),
    );
    let proof = (
        option::of(positive()),
        option::of(share()),
        option::of(any::<u64>()),
        option::of(select(vec![
            CertifiedBy::Exact,
            CertifiedBy::Mixture,
            CertifiedBy::Betting,
            CertifiedBy::FixedSample,
        ])),
        option::of(any::<u64>()),
        option::of(positive()),
        option::of(any::<u64>()),
        option::of(0.001..=1.0_f64),
        option::of(any::<u64>()),
        option::of(text()),
    );
    let end = (
        option::of(any::<u64>()),
        option::of(any::<u32>()),
        option::of(select(vec![Mode::Online, Mode::Apprentice, Mode::Logging])),
        option::of(any::<bool>()),
        option::of(share()),
        option::of(select(vec![LossSource::Observed, LossSource::Default])),
        option::of(any::<bool>()),
        option::of(time()),
        option::of(finite()),
        option::of(text()),
    );
    let more = (
        option::of(positive()),
        option::of(text()),
        option::of(text()),
        option::of(share()),
        option::of(select(vec!["maximize:0,50", "minimize:-1,2.5,clip"])),
        any::<bool>(),
    );
    (who, how, proof, end, more).prop_map(move |(who, how, proof, end, more)| {
        let (context, action, propensity, ..) = how;
        // What the caller played himself has no density.
        let propensity = match end.2 {
            Some(Mode::Apprentice) => Propensity::PointMass,
            _ => propensity,
        };
        let mut record = Record::bare(context, action, propensity);
        (record.loop_name, record.event_id, record.event) = (who.0, who.1, who.2);
        (record.seq, record.time, record.client_time) = (who.3, who.4, who.5);
        record.mu = who.6;
        (record.density_kind, record.g, record.tau) = (how.3, how.4, how.5);
        (record.tau_index, record.tau_prob) = (how.6, how.7);
        (record.gamma, record.beta) = (how.8, how.9);
        (record.kappa_inf, record.delta) = (proof.0, proof.1);
        (record.beta_draws, record.certificate) = (proof.2, proof.3);
        (record.proposals, record.z, record.z_draws) = (proof.4, proof.5, proof.6);
        (record.pass_prob, record.seed, record.rng) = (proof.7, proof.8, proof.9);
        (record.batches_learned, record.settings_version, record.mode) = (end.0, end.1, end.2);
        record.deferred = end.3;
        record.loss = end.4.map(|loss| Loss::new(loss).expect("in range"));
        (record.loss_source, record.late, record.close_time) = (end.5, end.6, end.7);
        (
            record.largest_inverse_density,
            record.model_hash,
            record.schema_hash,
        ) = (more.0, more.1, more.2);
        if matches!(record.action, AnyAction::Set(_)) && record.mu.is_none() {
            // Without a space it would be a vector.
            record.mu = Some(Arc::new(Space::Set { count: 9, size: 3 }));
        }
        if more.5 && record.mu.is_some() {
            record.limits = Some(limits(&record.action));
        }
        record.outcome = more.3;
        record.objective = more.4.map(|text| text.parse().expect("an objective"));
        if let (Some(outcome), Some(objective)) = (record.outcome, record.objective) {
            record.loss = Some(objective.loss(outcome).expect("within the range"));
        }
        if let Some(number) = end.8 {
            record.set_extra("q", number).expect("finite");
        }
        if let Some(text) = end.9 {
            record
                .set_extra("label", text.as_str())
                .expect("a free name");
        }
        record
    })
}
