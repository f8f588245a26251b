//! Learning from logs whose truth is known.

use egret::{
    Context, Density, EventRng, Forecaster, Interval, LearningRate, Loss, LossCurve, ModelSpec,
    Observed, OracleSpec, Propensity, RegressionOracle, Stream,
};
use egret_offline::{
    CandidateError, Checkpoint, Criterion, Epoch, LearningError, OfflineProtocol, Order,
    PointMasses, Split, SplitRows, Trained, Training, TrainingCandidate, TrainingMethod,
    TrainingSettings,
};

type Log = Vec<Observed<Context, f64>>;

fn spec(context_dim: usize) -> ModelSpec {
    ModelSpec::new(Interval::new(0.0, 1.0).expect("in order"), context_dim)
        .with_oracle(OracleSpec::paper())
}

/// Events of a world: its contexts, the share of events played in the lower part of [0, 1], up to `cut`, and the mean loss.
struct World {
    seed: u64,
    cut: f64,
    share: f64,
    truth: fn(f64, f64) -> f64,
}

impl World {
    fn log(&self, n: u64) -> Log {
        (0..n).map(|event| self.event(event)).collect()
    }

    fn event(&self, event: u64) -> Observed<Context, f64> {
        let mut rng = EventRng::new(self.seed, event, Stream::World);
        let x = rng.unit();
        let low = rng.unit() < self.share;
        let (action, density) = if low {
            (self.cut * rng.unit(), self.share / self.cut)
        } else {
            let rest = 1.0 - self.cut;
            (self.cut + rest * rng.unit(), (1.0 - self.share) / rest)
        };
        let loss = (self.truth)(x, action) + 0.1 * (rng.unit() - 0.5);
        Observed {
            x: Context::dense(vec![x]).expect("finite"),
            action,
            propensity: Propensity::Density(Density::new(density).expect("positive")),
            limits: None,
            loss: Loss::new(loss.clamp(0.0, 1.0)).expect("clamped"),
            tau: None,
        }
    }
}

/// Up and then further down: no line has both. Where the log plays it goes up.
fn hill(_: f64, a: f64) -> f64 {
    if a < 0.4 {
        0.3 + 1.5 * a
    } else {
        0.9 - 0.8 * (a - 0.4) / 0.6
    }
}

/// The best action grows with x; too much costs twice what too little does.
fn one_valley(x: f64, a: f64) -> f64 {
    let best = 0.2 + 0.6 * x;
    if a < best {
        0.1 + 0.5 * (best - a)
    } else {
        0.1 + (a - best)
    }
}

fn ridge(method: TrainingMethod) -> TrainingCandidate {
    let oracle = OracleSpec::LeastSquares {
        forecaster: Forecaster::Ridge,
        lambda: 1.0,
        squares: false,
    };
    TrainingCandidate {
        training: TrainingSettings {
            method,
            ..TrainingSettings::default()
        }
        .suited_to(&oracle),
        oracle,
    }
}

fn network(method: TrainingMethod) -> TrainingCandidate {
    TrainingCandidate {
        oracle: OracleSpec::Argmin {
            hidden: Some([6, 5]),
            learning_rate: LearningRate::new(0.02, 500.0).expect("in range"),
            seed: 1,
        },
        training: TrainingSettings {
            method,
            patience: 2,
            epochs: 30,
            ..TrainingSettings::default()
        },
    }
}

fn methods() -> [TrainingMethod; 3] {
    [
        TrainingMethod::DirectMethod,
        TrainingMethod::clipped_ips(),
        TrainingMethod::doubly_robust(),
    ]
}

fn parts(log: &Log) -> SplitRows {
    Split::paper().parts(log.len(), Order::Log)
}

fn train(candidate: &TrainingCandidate, log: &Log) -> Trained<Context, f64> {
    candidate
        .train(&spec(1), log, &parts(log))
        .expect("it can be learned from")
}

/// What the action that the oracle likes best costs in truth, in the mean over contexts.
fn greedy_loss(oracle: &dyn RegressionOracle<Context, f64>, truth: fn(f64, f64) -> f64) -> f64 {
    let actions: Vec<f64> = (0..500).map(|i| (f64::from(i) + 0.5) / 500.0).collect();
    let contexts = 50;
    let (mut buffer, mut predicted, mut sum) = (Vec::new(), Vec::new(), 0.0);
    for i in 0..contexts {
        let x = (f64::from(i) + 0.5) / f64::from(contexts);
        let context = Context::dense(vec![x]).expect("finite");
        LossCurve::new(oracle, &context, &mut buffer)
            .expect("one feature")
            .predict(&actions, &mut predicted)
            .expect("numbers");
        let best = (0..actions.len())
            .min_by(|&a, &b| predicted[a].total_cmp(&predicted[b]))
            .expect("there are actions");
        sum += truth(x, actions[best]);
    }
    sum / f64::from(contexts)
}

#[test]
fn weights_find_what_the_direct_method_misses() {
    // 90% of the log goes uphill. A line fitted there starts low, so that 0 looks best; over all of μ it falls, to 1.
    for seed in 0..20 {
        let world = World {
            seed,
            cut: 0.4,
            share: 0.9,
            truth: hill,
        };
        let log = world.log(2_000);
        let [direct, ips, dr] =
            methods().map(|method| greedy_loss(&*train(&ridge(method), &log).oracle, hill));
        // 0 costs 0.3 and 1 costs 0.1. Were the methods alike, this would come out so once in 2²⁰.
        assert!(0.25 < direct, "{seed}: {direct}");
        assert!(ips < 0.15, "{seed}: {ips}");
        assert!(dr < 0.15, "{seed}: {dr}");
    }
}

#[test]
fn a_model_that_can_be_right_is_right_by_every_method() {
    let world = World {
        seed: 3,
        cut: 0.5,
        share: 0.8,
        truth: one_valley,
    };
    let log = world.log(6_000);
    for method in methods() {
        let trained = train(&network(method), &log);
        let loss = greedy_loss(&*trained.oracle, one_valley);
        // The best is 0.1, blind actions cost 0.41.
        assert!(loss < 0.125, "{method:?}: {loss}");
        // Best of 8 is worse than greedy by a little, and its value is estimated from 600 rows.
        let value = trained.validation.value.expect("rows have densities");
        assert!((0.1..0.2).contains(&value), "{method:?}: {value}");
    }
}

#[test]
fn training_stops_and_keeps_the_best_epoch() {
    let world = World {
        seed: 5,
        cut: 0.5,
        share: 0.5,
        truth: one_valley,
    };
    let log = world.log(1_000);
    for criterion in [Criterion::SquaredError, Criterion::Value] {
        let mut candidate = network(TrainingMethod::DirectMethod);
        candidate.training.epochs = 500;
        candidate.training.criterion = criterion;
        let trained = train(&candidate, &log);
        let watched = |epoch: &Epoch| match criterion {
            Criterion::SquaredError => epoch.validation.squared_error.expect("rows"),
            Criterion::Value => epoch.validation.value.expect("rows"),
        };
        let history = &trained.history;
        assert!(history.len() < 500, "{}", history.len());
        assert_eq!(history.len() as u32, trained.best_epoch + 2, "patience");
        let least = history.iter().map(watched).fold(f64::INFINITY, f64::min);
        let best = &history[trained.best_epoch as usize - 1];
        assert_eq!(watched(best), least);
        assert_eq!(best.validation, trained.validation);
        // The oracle is the best epoch's, not the last one's: training for just so long gives the same.
        candidate.training.epochs = trained.best_epoch;
        let again = train(&candidate, &log);
        assert_eq!(again.oracle.save(), trained.oracle.save());
    }
}

#[test]
fn without_validation_all_epochs_are_run() {
    let world = World {
        seed: 5,
        cut: 0.5,
        share: 0.5,
        truth: one_valley,
    };
    let log = world.log(200);
    let parts = Split::new(1.0, 0.0, 0.0)
        .expect("sums to 1")
        .parts(log.len(), Order::Log);
    let mut candidate = network(TrainingMethod::DirectMethod);
    candidate.training.epochs = 7;
    let trained = candidate
        .train(&spec(1), &log, &parts)
        .expect("it can be learned from");
    assert_eq!((trained.best_epoch, trained.history.len()), (7, 7));
    assert_eq!(trained.validation.squared_error, None);
}

/// Trains with an interruption after so many epochs; the checkpoint goes through bytes.
fn interrupted(candidate: &TrainingCandidate, log: &Log, after: usize) -> Trained<Context, f64> {
    let resumed = candidate.train_with(&spec(1), log, &parts(log), |task, settings| {
        let mut training = Training::new(task, settings.clone())?;
        for _ in 0..after {
            training.epoch()?;
        }
        let bytes = training.checkpoint().save();
        drop(training);
        let checkpoint = Checkpoint::load(&bytes)?;
        Training::resume(task, settings, &checkpoint)?.run(|_| ())
    });
    resumed.expect("its own checkpoint")
}

#[test]
fn an_interrupted_training_ends_with_the_same_bits() {
    let world = World {
        seed: 7,
        cut: 0.5,
        share: 0.7,
        truth: one_valley,
    };
    let log = world.log(400);
    for method in methods() {
        let mut candidate = network(method);
        candidate.training.epochs = 3;
        let whole = train(&candidate, &log);
        // Folds have their epochs too: cuts fall within and between them.
        for after in 0..=whole.history.len() {
            let cut = interrupted(&candidate, &log, after);
            assert_eq!(cut.oracle.save(), whole.oracle.save(), "{method:?} {after}");
            assert_eq!(cut.history, whole.history);
        }
    }
}

#[test]
fn a_checkpoint_of_something_else_is_refused() {
    let world = World {
        seed: 7,
        cut: 0.5,
        share: 0.7,
        truth: one_valley,
    };
    let (log, other) = (world.log(200), world.log(220));
    let candidate = network(TrainingMethod::DirectMethod);
    let checkpoint = candidate
        .train_with(&spec(1), &log, &parts(&log), |task, settings| {
            let mut training = Training::new(task, settings)?;
            training.epoch()?;
            Ok(training.checkpoint())
        })
        .expect("one epoch");
    let resume = |candidate: &TrainingCandidate, log: &Log| {
        let resumed = candidate.train_with(&spec(1), log, &parts(log), |task, settings| {
            Training::resume(task, settings, &checkpoint).map(|_| ())
        });
        resumed.err()
    };
    assert_eq!(resume(&candidate, &log), None);
    let mut longer = candidate.clone();
    longer.training.epochs += 5;
    assert_eq!(resume(&longer, &log), None);
    let refused = |error| Some(CandidateError::Learning(error));
    let mut robust = candidate.clone();
    robust.training.method = TrainingMethod::doubly_robust();
    assert_eq!(resume(&robust, &log), refused(LearningError::OtherSettings));
    assert_eq!(
        resume(&candidate, &other),
        refused(LearningError::OtherTask)
    );
    let mut seeded = candidate.clone();
    seeded.training.seed = 1;
    assert_eq!(resume(&seeded, &log), refused(LearningError::OtherSettings));
    let mut wider = candidate;
    wider.oracle = OracleSpec::paper();
    assert_eq!(resume(&wider, &log), refused(LearningError::OtherTask));
}

#[test]
fn a_seed_is_a_training_on_any_number_of_threads() {
    let world = World {
        seed: 9,
        cut: 0.5,
        share: 0.7,
        truth: one_valley,
    };
    let log = world.log(1_500);
    let on = |threads: usize, seed: u64| {
        let mut candidate = network(TrainingMethod::doubly_robust());
        candidate.training.epochs = 2;
        candidate.training.criterion = Criterion::Value;
        candidate.training.seed = seed;
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads")
            .install(|| {
                let trained = train(&candidate, &log);
                (trained.oracle.save(), trained.history)
            })
    };
    assert_eq!(on(1, 4), on(4, 4));
    assert_ne!(on(1, 4).0, on(1, 5).0);
}

#[test]
fn point_masses_count_as_told() {
    let world = World {
        seed: 11,
        cut: 0.5,
        share: 0.5,
        truth: one_valley,
    };
    let mut log = world.log(400);
    for example in log.iter_mut().step_by(2) {
        example.propensity = Propensity::PointMass;
    }
    let mut otherwise = log.clone();
    for example in otherwise.iter_mut().step_by(2) {
        example.loss = Loss::new(1.0).expect("in range");
    }
    let state = |method, log: &Log| train(&ridge(method), log).oracle.save();
    let capped = TrainingMethod::ClippedIps {
        cap: 5.0,
        point_masses: PointMasses::Cap,
    };
    // Whether the losses of point masses change what is learned.
    for (method, counts) in [
        (TrainingMethod::DirectMethod, true),
        (capped, true),
        (TrainingMethod::clipped_ips(), false),
    ] {
        let differs = state(method, &log) != state(method, &otherwise);
        assert_eq!(differs, counts, "{method:?}");
    }
    for example in &mut log {
        example.propensity = Propensity::PointMass;
    }
    let refused = ridge(TrainingMethod::clipped_ips()).train(&spec(1), &log, &parts(&log));
    let expected = CandidateError::Learning(LearningError::NothingCounts { rows: 320 });
    assert_eq!(refused.err(), Some(expected));
    assert!(
        train(&ridge(TrainingMethod::DirectMethod), &log)
            .validation
            .value
            .is_none()
    );
}

#[test]
fn a_context_that_cannot_be_read_is_named() {
    let world = World {
        seed: 13,
        cut: 0.5,
        share: 0.5,
        truth: one_valley,
    };
    let mut log = world.log(100);
    log[33].x = Context::dense(vec![1.0, 2.0]).expect("finite");
    for method in methods() {
        let error = network(method)
            .train(&spec(1), &log, &parts(&log))
            .err()
            .expect("row 33 has two features");
        assert_eq!(
            error.to_string(),
            "row 33: the context has 2 features, expected 1",
            "{method:?}"
        );
    }
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let world = World {
        seed: 13,
        cut: 0.5,
        share: 0.5,
        truth: one_valley,
    };
    let log = world.log(50);
    let spoil: [fn(&mut TrainingSettings); 5] = [
        |settings| settings.batch = 0,
        |settings| settings.steps = 0,
        |settings| settings.epochs = 0,
        |settings| settings.patience = 0,
        |settings| {
            settings.method = TrainingMethod::DoublyRobust {
                cap: f64::NAN,
                folds: 2,
                draws: 1,
            }
        },
    ];
    for spoil in spoil {
        let mut candidate = network(TrainingMethod::DirectMethod);
        spoil(&mut candidate.training);
        let refused = candidate.train(&spec(1), &log, &parts(&log)).err();
        assert!(
            matches!(
                refused,
                Some(CandidateError::Learning(LearningError::OutOfRange(_)))
            ),
            "{refused:?}"
        );
    }
}

#[test]
fn the_papers_protocol_learns() {
    let world = World {
        seed: 17,
        cut: 0.5,
        share: 0.8,
        truth: one_valley,
    };
    let log = world.log(5_000);
    let protocol = OfflineProtocol::paper(1, 2).expect("in range");
    let outcome = protocol.learn(&spec(1), &log).expect("learned");
    assert_eq!((outcome.trained.len(), outcome.parts.test.len()), (2, 500));
    let best = &outcome.trained[outcome.best];
    for other in &outcome.trained {
        assert!(best.validation.value <= other.validation.value);
    }
    let loss = greedy_loss(&*best.oracle, one_valley);
    // The best is 0.1, blind actions cost 0.41.
    assert!(loss < 0.2, "{loss}");
}
