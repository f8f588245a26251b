use serde::Serialize;

use super::contenders::Explored;
use super::offline_study::{OfflineRecord, Taught};
use super::online_study::{CONFIDENCE, OnlineRow, OnlineStudy, Tally};
use super::table_one::TableRow;
use crate::{PairedDifference, RunRecord, Standing, SupervisedToBandit};

/// What was run of the paper, ready to be told.
#[derive(Debug, Default)]
pub struct Findings {
    /// Names of the data sets, in order.
    pub datasets: Vec<String>,
    /// Whether they stand in for the paper's.
    pub simulated: bool,
    /// Those of the paper's that were not at hand.
    pub missing: Vec<String>,
    /// Seeds and the most decisions of each run.
    pub size: (u64, usize),
    /// Table 1.
    pub table: Vec<TableRow>,
    /// Online runs.
    pub online: Online,
    /// What was learned from exhausts.
    pub offline: Vec<OfflineRow>,
}

/// Online runs, and what they come to.
#[derive(Debug, Default)]
pub struct Online {
    /// Each run.
    pub records: Vec<RunRecord>,
    /// Each contender on each data set.
    pub rows: Vec<OnlineRow>,
    /// Each contender over all.
    pub tallies: Vec<Tally>,
}

/// A column of the offline figure: whose exhaust, and which ways of teaching compete.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// In a few words.
    pub name: &'static str,
    /// Whose exhaust.
    pub explored: Explored,
    /// The best of these on validation rows counts.
    pub taught: &'static [Taught],
}

const PAPER: &[Taught] = &[Taught::Direct, Taught::Ips];

/// SmoothIGW's exhaust, taught as in the paper: what columns are compared with.
pub const SMOOTH: Column = Column {
    name: "SmoothIGW",
    explored: Explored::SmoothIgw,
    taught: PAPER,
};

/// The columns of the offline figure.
pub const COLUMNS: [Column; 6] = [
    Column {
        name: "κ∞ = 4, as in the paper",
        explored: Explored::mixture(4.0),
        taught: PAPER,
    },
    Column {
        name: "κ∞ = 4, correct weights",
        explored: Explored::mixture(4.0),
        taught: &[Taught::Direct, Taught::CorrectIps],
    },
    Column {
        name: "κ∞ = 4, doubly robust too",
        explored: Explored::mixture(4.0),
        taught: &[Taught::Direct, Taught::CorrectIps, Taught::DoublyRobust],
    },
    Column {
        name: "exact (κ = 1)",
        explored: Explored::EXACT,
        taught: PAPER,
    },
    Column {
        name: "κ∞ = 2",
        explored: Explored::mixture(2.0),
        taught: PAPER,
    },
    Column {
        name: "κ∞ = 24",
        explored: Explored::mixture(24.0),
        taught: PAPER,
    },
];

/// One column on one data set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfflineRow {
    /// Which data.
    pub dataset: String,
    /// Which column.
    pub column: &'static str,
    /// SmoothIGW or CappedIGW.
    pub learner: &'static str,
    /// The bound on κ; none for SmoothIGW.
    pub kappa_inf: Option<f64>,
    /// How many exhausts.
    pub seeds: usize,
    /// Mean test loss of the greedy policy.
    pub loss: f64,
    /// What SmoothIGW's exhaust gives, less this; none for SmoothIGW.
    pub difference: Option<PairedDifference>,
}

/// Online records summed up.
pub fn online_findings(study: &OnlineStudy<'_>, records: Vec<RunRecord>) -> Online {
    let rows = study.rows(&records);
    let tallies = study.tallies(&rows);
    Online {
        records,
        rows,
        tallies,
    }
}

/// Offline records summed up, for columns that were run.
pub fn offline_rows(sets: &[SupervisedToBandit], records: &[OfflineRecord]) -> Vec<OfflineRow> {
    let mut rows = Vec::new();
    for set in sets {
        let dataset = set.data().name();
        let losses = |column: &Column| -> Vec<f64> {
            let learner = column.explored.name();
            let ours = records.iter().filter(|record| {
                let has =
                    |taught: &Taught| record.lessons.iter().any(|lesson| lesson.taught == *taught);
                record.environment == dataset
                    && record.learner == learner
                    && column.taught.iter().all(has)
            });
            ours.filter_map(|record| record.best_of(column.taught))
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
                learner: column.explored.learner(),
                kappa_inf: column.explored.kappa_inf(),
                seeds: values.len(),
                loss: values.iter().sum::<f64>() / values.len() as f64,
                difference: difference.filter(|_| column.name != SMOOTH.name),
            });
        }
    }
    rows
}

/// Wins, ties and losses of a column against SmoothIGW's exhaust.
pub fn offline_tally(rows: &[OfflineRow], column: &str) -> [usize; 3] {
    let standings = || {
        let ours = rows.iter().filter(|row| row.column == column);
        ours.filter_map(|row| Some(row.difference?.standing()))
    };
    [Standing::Win, Standing::Tie, Standing::Loss]
        .map(|standing| standings().filter(|found| *found == standing).count())
}

/// The share of point masses around this iteration (of 8 decisions), averaged over seeds: one number for each data set.
pub fn greedy_share(records: &[RunRecord], dataset: &str, iteration: u64) -> Option<f64> {
    let shares: Vec<f64> = records
        .iter()
        .filter(|record| {
            record.environment == dataset && record.learner == Explored::SmoothIgw.name()
        })
        .filter_map(|record| {
            let mut stretches = record.curve.iter();
            Some(
                stretches
                    .find(|stretch| 8 * iteration <= stretch.until)?
                    .atoms,
            )
        })
        .collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}
