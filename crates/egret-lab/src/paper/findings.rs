use serde::Serialize;

use crate::comparison::{PairedDifference, PairedStanding};
use crate::environment::SupervisedToBandit;
use crate::learner::PaperLearner;
use crate::paper::{
    CONFIDENCE, OfflineMethod, OfflineRecord, OnlineRow, OnlineStudy, OnlineTally, TableRow,
};
use crate::run::RunRecord;

/// The results of the paper's experiments, as input of the report.
#[derive(Debug, Default)]
pub struct Findings {
    /// The names of the data sets, in order.
    pub datasets: Vec<String>,
    /// Whether the data sets are simulated, in place of the paper's.
    pub simulated: bool,
    /// The data sets of the paper that were not available.
    pub missing: Vec<String>,
    /// The number of seeds, and the largest number of decisions of a run.
    pub size: (u64, usize),
    /// Table 1.
    pub table: Vec<TableRow>,
    /// Online runs.
    pub online: OnlineFindings,
    /// Models trained on logs.
    pub offline: Vec<OfflineRow>,
}

/// Online runs and their summaries.
#[derive(Debug, Default)]
pub struct OnlineFindings {
    /// All runs.
    pub records: Vec<RunRecord>,
    /// A row for each learner on each data set.
    pub rows: Vec<OnlineRow>,
    /// Wins, ties and losses of each learner.
    pub tallies: Vec<OnlineTally>,
}

/// A column of the offline figure: the learner that wrote the log, and the training methods that compete.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfflineColumn {
    /// The name shown in tables.
    pub name: &'static str,
    /// The learner that wrote the log.
    pub learner: PaperLearner,
    /// Training methods; the best on validation rows counts.
    pub methods: &'static [OfflineMethod],
}

const PAPER: &[OfflineMethod] = &[OfflineMethod::Direct, OfflineMethod::Ips];

/// Training on the log of SmoothIGW as in the paper: the other columns are compared with this one.
pub const SMOOTH: OfflineColumn = OfflineColumn {
    name: "SmoothIGW",
    learner: PaperLearner::SmoothIgw,
    methods: PAPER,
};

/// The columns of the offline figure.
pub const COLUMNS: [OfflineColumn; 6] = [
    OfflineColumn {
        name: "κ∞ = 4, as in the paper",
        learner: PaperLearner::mixture(4.0),
        methods: PAPER,
    },
    OfflineColumn {
        name: "κ∞ = 4, correct weights",
        learner: PaperLearner::mixture(4.0),
        methods: &[OfflineMethod::Direct, OfflineMethod::CorrectIps],
    },
    OfflineColumn {
        name: "κ∞ = 4, doubly robust too",
        learner: PaperLearner::mixture(4.0),
        methods: &[
            OfflineMethod::Direct,
            OfflineMethod::CorrectIps,
            OfflineMethod::DoublyRobust,
        ],
    },
    OfflineColumn {
        name: "exact (κ = 1)",
        learner: PaperLearner::EXACT,
        methods: PAPER,
    },
    OfflineColumn {
        name: "κ∞ = 2",
        learner: PaperLearner::mixture(2.0),
        methods: PAPER,
    },
    OfflineColumn {
        name: "κ∞ = 24",
        learner: PaperLearner::mixture(24.0),
        methods: PAPER,
    },
];

/// One column on one data set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfflineRow {
    /// The data set.
    pub dataset: String,
    /// The name of the column.
    pub column: &'static str,
    /// SmoothIGW or CappedIGW.
    pub learner: &'static str,
    /// The bound on κ; `None` for SmoothIGW.
    pub kappa_inf: Option<f64>,
    /// The number of logs.
    pub seeds: usize,
    /// The mean test loss of the greedy policy.
    pub loss: f64,
    /// The loss after training on SmoothIGW's log minus this one; `None` for SmoothIGW.
    pub difference: Option<PairedDifference>,
}

/// Summarizes online records.
pub fn online_findings(study: &OnlineStudy<'_>, records: Vec<RunRecord>) -> OnlineFindings {
    let rows = study.rows(&records);
    let tallies = study.tallies(&rows);
    OnlineFindings {
        records,
        rows,
        tallies,
    }
}

/// Summarizes offline records, for the columns that were run.
pub fn offline_rows(sets: &[SupervisedToBandit], records: &[OfflineRecord]) -> Vec<OfflineRow> {
    let mut rows = Vec::new();
    for set in sets {
        let dataset = set.data().name();
        let losses = |column: &OfflineColumn| -> Vec<f64> {
            let learner = column.learner.name();
            let ours = records.iter().filter(|record| {
                let has = |method: &OfflineMethod| {
                    let mut trainings = record.trainings.iter();
                    trainings.any(|training| training.method == *method)
                };
                record.environment == dataset
                    && record.learner == learner
                    && column.methods.iter().all(has)
            });
            ours.filter_map(|record| record.best_of(column.methods))
                .collect()
        };
        let base = losses(&SMOOTH);
        for column in std::iter::once(&SMOOTH).chain(&COLUMNS) {
            let values = losses(column);
            if values.is_empty() {
                continue;
            }
            let difference = PairedDifference::new(&values, &base, CONFIDENCE, 1);
            rows.push(OfflineRow {
                dataset: dataset.to_owned(),
                column: column.name,
                learner: column.learner.algorithm(),
                kappa_inf: column.learner.kappa_inf(),
                seeds: values.len(),
                loss: values.iter().sum::<f64>() / values.len() as f64,
                difference: difference.filter(|_| column.name != SMOOTH.name),
            });
        }
    }
    rows
}

/// Wins, ties and losses of a column against training on SmoothIGW's log.
pub fn offline_tally(rows: &[OfflineRow], column: &str) -> [usize; 3] {
    let standings = || {
        let ours = rows.iter().filter(|row| row.column == column);
        ours.filter_map(|row| Some(row.difference?.standing()))
    };
    [
        PairedStanding::Win,
        PairedStanding::Tie,
        PairedStanding::Loss,
    ]
    .map(|standing| standings().filter(|found| *found == standing).count())
}

/// The share of point masses around this iteration (of 8 decisions) on a data set, averaged over seeds. `None` if no run is so
/// long.
pub fn greedy_share(records: &[RunRecord], dataset: &str, iteration: u64) -> Option<f64> {
    let shares: Vec<f64> = records
        .iter()
        .filter(|record| {
            record.environment == dataset && record.learner == PaperLearner::SmoothIgw.name()
        })
        .filter_map(|record| {
            let mut stretches = record.curve.iter();
            Some(
                stretches
                    .find(|stretch| 8 * iteration <= stretch.until)?
                    .point_masses,
            )
        })
        .collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}
