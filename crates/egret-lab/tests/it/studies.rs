use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use egret::{Context, EventRng, Stream};
use egret_lab::paper::{
    Findings, OfflineMethod, OfflineRecord, OfflineStudy, OnlineStudy, Subject, offline_rows,
    online_findings, report, simulated_sets,
};
use egret_lab::{
    Journal, LossFunction, PairedDifference, PairedStanding, PaperLearner, PlayError, Progress,
    RunRecord, Silent, StudyError, Supervised, SupervisedToBandit, Task, run_all,
};
use egret_testkit::allowed_misses;
use rayon::ThreadPoolBuilder;

fn sets(rows: usize) -> Vec<SupervisedToBandit> {
    simulated_sets(rows)
        .into_iter()
        .map(|set| SupervisedToBandit::new(set.into(), LossFunction::Absolute))
        .collect()
}

fn study(sets: &[SupervisedToBandit], seeds: u64, decisions: usize) -> OnlineStudy<'_> {
    OnlineStudy {
        sets,
        learners: vec![
            PaperLearner::SmoothIgw,
            PaperLearner::mixture(2.0),
            PaperLearner::mixture(4.0),
            PaperLearner::mixture(24.0),
            PaperLearner::EXACT,
        ],
        seeds,
        decisions,
    }
}

/// Records without the duration, the only number that differs from run to run.
fn timeless(mut records: Vec<RunRecord>) -> Vec<RunRecord> {
    for record in &mut records {
        record.seconds = 0.0;
    }
    records
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("threads start").install(work)
}

#[test]
fn threads_change_no_bit_of_a_study() {
    let sets = sets(600);
    let study = study(&sets, 2, 400);
    let run = |threads| on_threads(threads, || study.run(None, &Silent).expect("it runs"));
    let one = timeless(run(1));
    assert_eq!(one.len(), 2 * 3 * 5);
    assert_eq!(one, timeless(run(2)));
    assert_eq!(one, timeless(run(5)));
}

/// Stops after this many tasks.
struct StopAfter {
    most: usize,
    done: AtomicUsize,
    begun: Mutex<(f64, f64)>,
}

impl StopAfter {
    fn new(most: usize) -> Self {
        Self {
            most,
            done: AtomicUsize::new(0),
            begun: Mutex::default(),
        }
    }
}

impl Progress for StopAfter {
    fn begin(&self, all: f64, known: f64) {
        *self.begun.lock().expect("not poisoned") = (all, known);
    }
    fn done(&self, _: f64) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
    fn is_stopped(&self) -> bool {
        self.most <= self.done.load(Ordering::Relaxed)
    }
}

#[test]
fn an_interrupted_study_continues_and_ends_with_the_same_bits() {
    let sets = sets(300);
    let study = study(&sets, 2, 200);
    let whole = timeless(study.run(None, &Silent).expect("it runs"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("online.jsonl");
    let open = || Journal::open(&path).expect("opens");
    let stopped = on_threads(2, || study.run(Some(&open()), &StopAfter::new(7)));
    assert!(matches!(stopped, Err(StudyError::Stopped)), "{stopped:?}");

    let progress = StopAfter::new(usize::MAX);
    let records = study.run(Some(&open()), &progress).expect("it runs");
    assert_eq!(timeless(records), whole);
    let done = progress.done.load(Ordering::Relaxed);
    assert!((1..=whole.len() - 7).contains(&done), "{done} were left");
    let (all, known) = *progress.begun.lock().expect("not poisoned");
    assert!(0.0 < known && known < all);

    let again = StopAfter::new(usize::MAX);
    study.run(Some(&open()), &again).expect("it runs");
    assert_eq!(again.done.load(Ordering::Relaxed), 0, "all were known");
}

#[test]
fn other_data_is_another_run() {
    let row = |label: f64| (Context::dense(vec![label]).expect("finite"), label);
    let data = |last: f64| {
        let rows = vec![row(0.0), row(1.0), row(last)];
        let set = Supervised::new("same name", rows).expect("in range");
        SupervisedToBandit::new(set.into(), LossFunction::Absolute)
    };
    let folder = tempfile::tempdir().expect("a folder");
    let journal = || Journal::open(&folder.path().join("a.jsonl")).expect("opens");
    let run = |last| {
        let (sets, progress) = ([data(last)], StopAfter::new(usize::MAX));
        let learners = vec![PaperLearner::SmoothIgw];
        let (seeds, decisions) = (1, 3);
        let study = OnlineStudy {
            sets: &sets,
            learners,
            seeds,
            decisions,
        };
        study.run(Some(&journal()), &progress).expect("it runs");
        progress.done.into_inner()
    };
    assert_eq!([run(0.5), run(0.5), run(0.25)], [1, 0, 1]);
}

#[test]
fn an_error_names_the_task_that_failed() {
    let task = |key: &str, fails: bool| Task::<f64> {
        key: format!("all the settings of {key}"),
        label: key.to_owned(),
        cost: 1.0,
        work: Box::new(move || match fails {
            true => Err(PlayError::Other("no more ink".to_owned())),
            false => Ok(1.0),
        }),
    };
    let error = run_all(&[task("a", false), task("b", true)], None, &Silent);
    assert_eq!(error.expect_err("b fails").to_string(), "b: no more ink");
}

#[test]
fn losses_fall_while_learning() {
    let sets = sets(6_000);
    let study = study(&sets[..1], 1, 6_000);
    for record in study.run(None, &Silent).expect("it runs") {
        let first = record.curve[..8].iter().map(|s| s.loss).sum::<f64>() / 8.0;
        let last = record.curve.last().expect("stretches").loss;
        assert!(last < 0.7 * first, "{}: {first} to {last}", record.learner);
        let log = record.log.expect("egret logs its densities");
        let smooth = record.learner == PaperLearner::SmoothIgw.name();
        assert_eq!(smooth, 0.0 < log.point_masses, "{}", record.learner);
        assert!(log.distance.is_some());
    }
}

/// 90% intervals of a mean of 30 differences: how often they miss a true difference of 0, and whether they detect one.
#[test]
fn intervals_of_paired_differences_cover_and_have_power() {
    let trials = 400;
    let found = |trial: u64, shift: f64| {
        let mut rng = EventRng::new(5, trial, Stream::World);
        let mut noise = || rng.unit() - 0.5;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..30 {
            let world = noise();
            ours.push(world + 0.1 * noise());
            theirs.push(world + 0.1 * noise() + shift);
        }
        let difference = PairedDifference::new(&ours, &theirs, 0.9, trial);
        difference.expect("30 pairs").standing()
    };
    let ties = |shift| {
        let tied = |trial: &u64| found(*trial, shift) == PairedStanding::Tie;
        (0..trials).filter(tied).count() as u64
    };
    // The percentile bootstrap of 30 is a little narrow and misses up to 12%; then 400 trials have more than
    // `allowed_misses` misses with probability below 1e-6.
    let misses = trials - ties(0.0);
    assert!(misses <= allowed_misses(trials, 0.12), "{misses}");
    // The pairs share their world: a shift of 0.03 is far below its spread, and is detected.
    assert!(ties(0.03) <= 40, "{}", ties(0.03));
}

#[test]
fn a_report_of_all_subjects_has_its_figures() {
    let sets = sets(400);
    let (seeds, decisions) = (2, 240);
    let online = study(&sets, seeds, decisions);
    let records = online.run(None, &Silent).expect("it runs");
    let offline = OfflineStudy {
        sets: &sets,
        logs: vec![
            (
                PaperLearner::SmoothIgw,
                vec![OfflineMethod::Direct, OfflineMethod::Ips],
            ),
            (
                PaperLearner::mixture(4.0),
                vec![
                    OfflineMethod::Direct,
                    OfflineMethod::Ips,
                    OfflineMethod::CorrectIps,
                    OfflineMethod::DoublyRobust,
                ],
            ),
            (
                PaperLearner::mixture(2.0),
                vec![OfflineMethod::Direct, OfflineMethod::Ips],
            ),
            (
                PaperLearner::mixture(24.0),
                vec![OfflineMethod::Direct, OfflineMethod::Ips],
            ),
            (
                PaperLearner::EXACT,
                vec![OfflineMethod::Direct, OfflineMethod::Ips],
            ),
        ],
        seeds,
        decisions,
    };
    let run = |threads| {
        let mut records = on_threads(threads, || offline.run(None, &Silent).expect("it runs"));
        let trainings = records.iter_mut().flat_map(|record| &mut record.trainings);
        trainings.for_each(|training| training.seconds = 0.0);
        records
    };
    let trained: Vec<OfflineRecord> = run(1);
    assert_eq!(trained, run(3));
    let findings = Findings {
        datasets: sets
            .iter()
            .map(|set| set.data().name().to_owned())
            .collect(),
        simulated: true,
        missing: vec!["422_topo_2_1".to_owned()],
        size: (seeds, decisions),
        table: egret_lab::paper::table_one(20).expect("it runs"),
        online: online_findings(&online, records),
        offline: offline_rows(&sets, &trained),
    };
    let page = report(&findings, &Subject::ALL).expect("it draws");
    let names: Vec<&str> = page
        .parts
        .iter()
        .flat_map(|part| &part.figures)
        .map(|figure| figure.name.as_str())
        .collect();
    let expected = [
        "online",
        "offline",
        "greedy",
        "kappa_draws",
        "kappa_online",
        "kappa_offline",
        "kappa_kappa",
        "kappa_density",
        "kappa_weight",
        "kappa_distance",
    ];
    assert_eq!(names, expected);
    let html = page.html();
    for word in [
        "simulated problems, not the paper",
        "422_topo_2_1",
        "verdict",
    ] {
        assert!(html.contains(word), "{word}");
    }
    // Runs of 30 iterations have no 1,000th.
    assert!(html.contains("No run has 1,000 iterations"));
}
