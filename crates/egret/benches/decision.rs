//! What a user waits for. `cargo bench -p egret`, or one group: `cargo bench -p egret -- decision`.
//!
//! | group        | what is timed                                                | what to look for                       |
//! |--------------|--------------------------------------------------------------|----------------------------------------|
//! | `rng`        | 1,024 uniform numbers, from one generator and one by one     | about 1 ns each in bulk                |
//! | `fhat`       | 512 predictions through a `LossCurve`, and a plain loop      | at most 3 times the loop               |
//! | `normalizer` | β on the settings of the paper's Table 1                     | mixture below betting                  |
//! | `decision`   | a batch of 8 decided and learned, after 4,000 decisions      | per decision: 20 µs mixture, 8 µs exact |
//! | `tau`        | a decision at one τ                                          | exact is flat, mixture grows with τ    |
//! | `named`      | ten named fields and ten numbers: one event decided, learned | as many numbers as the schema is wide   |
//! | `network`    | each network of the default: an event learned, 128 predicted | together 20 µs, 8 or 104 features       |
//! | `default`    | the default model on an interval: one event decided, learned | at most 30 µs, 8 to 104 features       |
//! | `width`      | the default model: one event of 20 features decided, learned | at most twice the first, however wide  |
//!
//! Groups with a throughput say so in elements: numbers, predictions or decisions a second. `--test` runs each once, on
//! small sizes. Times are of one thread; on a busy machine the lowest of several runs is nearest the truth.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use egret::{
    ArgminDispersion, BettingMartingale, CappedIgw, Context, Contexts, CurveNetwork, CurveSettings,
    DrawBuffers, Draws, EventRng, Example, Explorer, FeatureSchema, Features, FixedSample,
    GammaSchedule, Igw, Interval, LatentOutcome, LatentOutcomeSettings, Learner, LearningRate,
    LinearArgmin, Loss, LossCurve, MixtureMartingale, Model, Normalization, Normalizer, Observed,
    RegressionOracle, ScalarFeatures, Scaling, Settings, Stream, Tolerance, Weight,
};

const FEATURES: usize = 10;
const BATCH: usize = 8;

fn rng(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rng");
    let mut out = [0.0; 1_024];
    group.throughput(Throughput::Elements(out.len() as u64));
    let mut event = 0;
    group.bench_function("open and fill", |bencher| {
        bencher.iter(|| {
            event += 1;
            EventRng::new(7, event, Stream::Action).fill_unit(&mut out);
            black_box(&out);
        });
    });
    group.bench_function("one by one", |bencher| {
        let mut rng = EventRng::new(7, 0, Stream::Action);
        bencher.iter(|| {
            out.fill_with(|| rng.unit());
            black_box(&out);
        });
    });
    group.finish();
}

fn fhat(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fhat");
    let mut actions = vec![0.0; 512];
    EventRng::new(1, 0, Stream::World).fill_unit(&mut actions);
    group.throughput(Throughput::Elements(actions.len() as u64));

    let oracle = taught(oracle());
    let x = context(0);
    let (mut prepared, mut out) = (Vec::new(), Vec::new());
    group.bench_function("loss curve", |bencher| {
        let curve = LossCurve::new(&oracle, &x, &mut prepared).expect("ten features");
        bencher.iter(|| {
            curve
                .predict(black_box(&actions), &mut out)
                .expect("numbers");
            black_box(&out);
        });
    });
    let below = [0.9, 1.1, 0.7];
    let above = [1.2, 0.8, 1.0];
    let mut out = vec![0.0; actions.len()];
    group.bench_function("plain loop", |bencher| {
        bencher.iter(|| {
            plain_loop(0.4, 0.01, below, above, black_box(&actions), &mut out);
            black_box(&out);
        });
    });
    group.finish();
}

/// The same formula with nothing around it: the curve of the paper, clamped.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn plain_loop(
    argmin: f64,
    q: f64,
    below: [f64; 3],
    above: [f64; 3],
    actions: &[f64],
    out: &mut [f64],
) {
    for (out, action) in out.iter_mut().zip(actions) {
        let z = argmin - action;
        let r = z.abs();
        let pick = |k: usize| if z >= 0.0 { below[k] } else { above[k] };
        let value = q + r * (pick(0) + pick(1) * r.sqrt() + pick(2) * r);
        *out = value.clamp(0.0, 1.0);
    }
}

fn normalizer(criterion: &mut Criterion) {
    let tolerance = Tolerance::new(24.0, 0.025).expect("the paper's Table 1");
    let normalizers: [(&str, Box<dyn Normalizer>); 3] = [
        ("betting", Box::new(BettingMartingale::new(tolerance))),
        ("mixture", Box::new(MixtureMartingale::new(tolerance))),
        ("fixed sample", Box::new(FixedSample::new(tolerance))),
    ];
    let mut group = criterion.benchmark_group("normalizer");
    for (tau, gamma) in [(2.0, 16.0), (20.0, 304.0), (200.0, 6368.0)] {
        let igw = Igw::new(tau, gamma).expect("in range");
        for (name, normalizer) in &normalizers {
            let mut buffers = DrawBuffers::default();
            let mut event = 0;
            group.bench_function(format!("{name}, tau {tau}"), |bencher| {
                bencher.iter(|| {
                    event += 1;
                    let mut rng = EventRng::new(1, event, Stream::Beta);
                    // Table 1: f̂ is 1 except on the best 1/(2τ).
                    let mut more = |n: usize, rng: &mut EventRng, out: &mut Vec<f64>| {
                        let start = out.len();
                        out.resize(start + n, 0.0);
                        rng.fill_unit(&mut out[start..]);
                        for a in &mut out[start..] {
                            *a = if 1.0 < 2.0 * *a * tau { 1.0 } else { 0.0 };
                        }
                        Ok(())
                    };
                    let mut draws = Draws::new(&mut buffers, &mut rng, &mut more);
                    black_box(normalizer.certify(&igw, &mut draws))
                });
            });
        }
    }
    group.finish();
}

fn decision(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decision");
    group.throughput(Throughput::Elements(BATCH as u64));
    group.sample_size(20);
    for (name, normalization) in [
        ("mixture", Normalization::Mixture),
        ("exact", Normalization::Exact),
        ("betting", Normalization::Betting),
        ("fixed sample", Normalization::FixedSample),
    ] {
        let settings = Settings {
            explorer: capped(normalization),
            ..Settings::paper()
        };
        let mut learner = learner(settings);
        let mut first = 0;
        // Not in the closure: a filter that leaves this one out leaves the time out too.
        let mut warm = false;
        group.bench_function(name, |bencher| {
            if !warm {
                for _ in 0..warm_batches() {
                    play(&mut learner, &mut first);
                }
                warm = true;
            }
            bencher.iter(|| play(&mut learner, &mut first));
        });
    }
    group.finish();
}

/// Decides and learns one batch.
fn play(learner: &mut Learner<Context, f64>, first: &mut u64) {
    let contexts: [Context; BATCH] = std::array::from_fn(|i| context(*first + i as u64));
    let decisions: [_; BATCH] = std::array::from_fn(|i| {
        learner
            .decide(*first + i as u64, &contexts[i])
            .expect("an action")
    });
    let events: [Observed<&Context, f64>; BATCH] = std::array::from_fn(|i| {
        let loss = (decisions[i].action - target(&contexts[i])).abs();
        decisions[i].observed(&contexts[i], Loss::new(loss).expect("in range"))
    });
    learner.learn_batch(&events).expect("a loss");
    *first += BATCH as u64;
}

fn tau(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tau");
    group.throughput(Throughput::Elements(1));
    group.sample_size(20);
    for (name, normalization) in [
        ("exact", Normalization::Exact),
        ("mixture", Normalization::Mixture),
    ] {
        for tau in [2.0, 8.0, 32.0, 128.0, 512.0, 2048.0] {
            let settings = Settings {
                explorer: capped(normalization),
                gamma: GammaSchedule::constant(9_001.0).expect("in range"),
                taus: vec![tau],
                ..Settings::paper()
            };
            let learner = learner(settings);
            let x = context(0);
            let mut event = 0;
            group.bench_function(format!("{name}, tau {tau}"), |bencher| {
                bencher.iter(|| {
                    event += 1;
                    black_box(learner.decide(event, &x).expect("an action"))
                });
            });
        }
    }
    group.finish();
}

/// Ten fields with names, of five kinds, and ten numbers: one event decided, learned.
fn named(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("named");
    group.throughput(Throughput::Elements(1));
    group.sample_size(20);
    let customer = |event: u64| -> Features {
        let mut rng = EventRng::new(4, event, Stream::World);
        Features::new()
            .with("age", (100.0 * rng.unit()).round())
            .with("income", 1e5 * rng.unit())
            .with("visits", (9.0 * rng.unit()).round())
            .with("spent", 100.0 * rng.unit())
            .with("distance", rng.unit())
            .with("returning", rng.unit() < 0.5)
            .with("member", rng.unit() < 0.1)
            .with("country", ["NZ", "AU", "FJ"][(3.0 * rng.unit()) as usize])
            .with("device", ["phone", "desk"][(2.0 * rng.unit()) as usize])
            .with("at", 1.7e9 + 1e6 * rng.unit())
    };
    let events = warm_batches() * BATCH as u64;
    let customers: Vec<Features> = (0..events).map(customer).collect();
    let schema = FeatureSchema::infer(&customers).expect("a schema");
    let names: Vec<Context> = customers.into_iter().map(Context::named).collect();
    let numbers: Vec<Context> = (0..events).map(context).collect();
    let wide = numbers.iter().map(|x| {
        let mut values = x.as_dense().expect("dense").to_vec();
        values.resize(schema.width(), 0.5);
        Context::dense(values).expect("finite")
    });
    let wide: Vec<Context> = wide.collect();
    for (name, contexts, with) in [
        ("10 numbers", numbers, FEATURES.into()),
        ("as many numbers as columns", wide, schema.width().into()),
        ("10 fields", names, Contexts::from(schema)),
    ] {
        let actions = Interval::new(0.0, 1.0).expect("in order");
        let mut model = Model::new(actions, with).expect("a model");
        let mut event = 0;
        let mut play = || {
            let x = &contexts[event as usize % contexts.len()];
            let decision = model.decide(event, x).expect("an action");
            let loss = Loss::new((decision.action - 0.25).abs()).expect("in range");
            model
                .learn(&decision.observed(x, loss))
                .expect("a good event");
            event += 1;
        };
        (0..contexts.len()).for_each(|_| play());
        group.bench_function(format!("{name}, decided and learned"), |bencher| {
            bencher.iter(&mut play);
        });
        let mut event = events;
        group.bench_function(format!("{name}, decided"), |bencher| {
            bencher.iter(|| {
                event += 1;
                let x = &contexts[event as usize % contexts.len()];
                black_box(model.decide(event, x).expect("an action"))
            });
        });
    }
    group.finish();
}

/// What the default on an interval learns by, each alone: one event learned, and 128 actions predicted.
fn network(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("network");
    group.throughput(Throughput::Elements(1));
    group.sample_size(20);
    for context_dim in [8, 26, 79, 104] {
        let outcomes = LatentOutcomeSettings {
            context_dim,
            ..LatentOutcomeSettings::default()
        };
        let curves = CurveSettings {
            context_dim,
            ..CurveSettings::default()
        };
        let outcomes = LatentOutcome::new((0.0, 1.0), outcomes).expect("in range");
        let curves = CurveNetwork::new(ScalarFeatures, vec![UNIT], curves).expect("in range");
        let oracles: [(&str, Oracle); 2] = [
            ("latent-outcome", Box::new(outcomes)),
            ("curves", Box::new(curves)),
        ];
        let mut values = vec![0.0; 4_096 * context_dim];
        EventRng::new(5, 0, Stream::World).fill_unit(&mut values);
        let contexts: Vec<Context> = values
            .chunks_exact(context_dim)
            .map(|values| Context::dense(values.to_vec()).expect("finite"))
            .collect();
        let mut actions = vec![0.0; 128];
        EventRng::new(6, 0, Stream::World).fill_unit(&mut actions);
        for (name, mut oracle) in oracles {
            let mut event = 0;
            let mut learn = || {
                let x = &contexts[event % contexts.len()];
                let action = &actions[event % actions.len()];
                let best = x.as_dense().expect("dense")[0];
                let loss = Loss::new((action - best).abs()).expect("in range");
                let example = Example {
                    x,
                    action,
                    loss: loss.into(),
                    weight: Weight::ONE,
                };
                oracle.learn(&[example]).expect("a good event");
                event += 1;
            };
            (0..warm_batches() * BATCH as u64).for_each(|_| learn());
            group.bench_function(
                format!("{name}, {context_dim} features, learned"),
                |bencher| {
                    bencher.iter(&mut learn);
                },
            );
            let bytes = oracle.save().len();
            println!("{name}, {context_dim} features: a file of {bytes} bytes");
            let (mut prepared, mut out) = (Vec::new(), vec![0.0; actions.len()]);
            let mut event = 0;
            group.bench_function(
                format!("{name}, {context_dim} features, predicted"),
                |bencher| {
                    bencher.iter(|| {
                        event += 1;
                        let x = &contexts[event % contexts.len()];
                        oracle.prepare(x, &mut prepared).expect("readable");
                        oracle.predict(x, &prepared, &actions, &mut out);
                        black_box(&out);
                    });
                },
            );
        }
    }
    group.finish();
}

/// One event decided and learned, for several numbers of features. The loss is a distance from an outcome that six features
/// explain, with noise, so that the members of the aggregation come close to each other; or a sale.
fn default(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("default");
    group.throughput(Throughput::Elements(1));
    group.sample_size(20);
    for features in [8, 26, 79, 104] {
        for world in ["distance", "sale"] {
            let events: Vec<(Context, f64, f64)> = (0..warm_batches() * BATCH as u64)
                .map(|event| {
                    let mut rng = EventRng::new(8, event, Stream::World);
                    let mut x = vec![0.0; features];
                    rng.fill_unit(&mut x);
                    let score = 2.0 * (x[0] + x[1] - x[2] - x[3]) + 4.0 * (x[4] - 0.5) * x[5];
                    let outcome = 1.0 / (1.0 + (-score).exp()) + 0.2 * (rng.unit() - 0.5);
                    (Context::dense(x).expect("finite"), outcome, rng.unit())
                })
                .collect();
            let actions = Interval::new(0.0, 1.0).expect("in order");
            let mut model = Model::new(actions, features).expect("a model");
            let mut event = 0;
            let mut play = || {
                let (x, outcome, chance) = &events[event as usize % events.len()];
                let decision = model.decide(event, x).expect("an action");
                let loss = match world {
                    "distance" => (decision.action - outcome).abs().min(1.0),
                    _ if decision.action < *outcome && *chance < 0.3 => 1.0 - decision.action,
                    _ => 1.0,
                };
                let loss = Loss::new(loss).expect("in range");
                let observed = decision.observed(x, loss);
                model.learn(&observed).expect("a good event");
                event += 1;
            };
            (0..events.len()).for_each(|_| play());
            group.bench_function(format!("{features} features, {world}"), |bencher| {
                bencher.iter(&mut play);
            });
            println!(
                "{features} features: a file of {} bytes",
                model.save().len()
            );
        }
    }
    group.finish();
}

type Oracle = Box<dyn RegressionOracle<Context, f64>>;

const UNIT: Scaling = Scaling {
    shift: 0.0,
    factor: 1.0,
};

/// 20 features, all that there are or at any of so many columns. No two of 4,000 contexts are alike.
fn width(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("width");
    group.throughput(Throughput::Elements(1));
    group.sample_size(20);
    for columns in [PRESENT, 1_000, 10_000, 100_000, 1_000_000] {
        let actions = Interval::new(0.0, 1.0).expect("in order");
        let mut model = Model::new(actions, columns).expect("a model");
        let contexts: Vec<Context> = (0..warm_batches() * BATCH as u64)
            .map(|event| present(event, columns))
            .collect();
        let x = |event: u64| &contexts[event as usize % contexts.len()];
        let loss = |action: f64| Loss::new((action - 0.25).abs()).expect("in range");
        for event in 0..contexts.len() as u64 {
            let decision = model.decide(event, x(event)).expect("an action");
            let observed = decision.observed(x(event), loss(decision.action));
            model.learn(&observed).expect("a good event");
        }
        println!("{columns} columns: a file of {} bytes", model.save().len());
        let mut event = 0;
        group.bench_function(format!("{columns} columns, decided"), |bencher| {
            bencher.iter(|| {
                event += 1;
                black_box(model.decide(event, x(event)).expect("an action"))
            });
        });
        let decided: Vec<_> = (0..contexts.len() as u64)
            .map(|event| {
                let decision = model.decide(event, x(event)).expect("an action");
                let loss = loss(decision.action);
                decision.observed(x(event), loss)
            })
            .collect();
        let mut event = 0;
        group.bench_function(format!("{columns} columns, learned"), |bencher| {
            bencher.iter(|| {
                event += 1;
                let observed = &decided[event % decided.len()];
                model.learn(observed).expect("a good event");
            });
        });
    }
    group.finish();
}

const PRESENT: usize = 20;

fn present(event: u64, columns: usize) -> Context {
    let mut rng = EventRng::new(4, event, Stream::World);
    if columns == PRESENT {
        let mut x = vec![0.0; PRESENT];
        rng.fill_unit(&mut x);
        return Context::dense(x).expect("finite");
    }
    let mut entries = Vec::new();
    while entries.len() < PRESENT {
        entries.push(((rng.unit() * columns as f64) as u32, rng.unit()));
        entries.sort_unstable_by_key(|&(column, _)| column);
        entries.dedup_by_key(|&mut (column, _)| column);
    }
    Context::sparse(columns, entries).expect("sorted")
}

fn capped(normalization: Normalization) -> Explorer {
    Explorer::CappedIgw(CappedIgw {
        normalization,
        ..CappedIgw::default()
    })
}

fn oracle() -> ArgminDispersion<LinearArgmin> {
    let model = LinearArgmin::new(FEATURES).expect("small");
    ArgminDispersion::new(model, (0.0, 1.0), LearningRate::default()).expect("in range")
}

/// An oracle that has seen uniform actions.
fn taught(mut oracle: ArgminDispersion<LinearArgmin>) -> ArgminDispersion<LinearArgmin> {
    for batch in 0..warm_batches() {
        let contexts: [Context; BATCH] = std::array::from_fn(|i| context(batch * 8 + i as u64));
        let actions: [f64; BATCH] =
            std::array::from_fn(|i| EventRng::new(3, batch * 8 + i as u64, Stream::World).unit());
        let examples: [_; BATCH] = std::array::from_fn(|i| Example {
            x: &contexts[i],
            action: &actions[i],
            loss: Loss::new((actions[i] - target(&contexts[i])).abs())
                .expect("in range")
                .into(),
            weight: Weight::ONE,
        });
        oracle.learn(&examples).expect("ten features");
    }
    oracle
}

fn learner(settings: Settings) -> Learner<Context, f64> {
    let actions = Interval::new(0.0, 1.0).expect("in order");
    Learner::new(Box::new(actions), Box::new(taught(oracle())), settings).expect("in range")
}

/// 4,000 decisions; in a test a few.
fn warm_batches() -> u64 {
    if std::env::args().any(|argument| argument == "--test") {
        2
    } else {
        500
    }
}

fn context(event: u64) -> Context {
    let mut x = vec![0.0; FEATURES];
    EventRng::new(2, event, Stream::World).fill_unit(&mut x);
    Context::dense(x).expect("finite")
}

/// The action that costs nothing.
fn target(x: &Context) -> f64 {
    let weights: [f64; FEATURES] = std::array::from_fn(|i| i as f64 - 4.5);
    let score = x.dot(&weights);
    1.0 / (1.0 + (-score).exp())
}

criterion_group!(
    benches, rng, fhat, normalizer, decision, tau, named, network, default, width
);
criterion_main!(benches);
