//! Reproducing the paper: its experiments, and variants that it leaves out as further columns of the same tables.
//!
//! [`table_one`] counts the draws that β takes. [`OnlineStudy`] plays the paper's learners and compares their loss while learning.
//! [`OfflineStudy`] trains a larger model on the log of each online run. (The paper's title calls this log "data exhaust".)
//! [`Findings`] collects the results, and [`report`] puts them on a page beside the claims of the paper.

mod claims;
mod figures;
mod findings;
mod offline_file;
mod offline_study;
mod online_study;
mod report;
mod simulated;
mod table_one;

pub use self::findings::{
    COLUMNS, Findings, OfflineColumn, OfflineRow, OnlineFindings, SMOOTH, greedy_share,
    offline_rows, offline_tally, online_findings,
};
pub use self::offline_file::write_offline;
pub use self::offline_study::{OfflineMethod, OfflineRecord, OfflineStudy, TrainingRecord};
pub use self::online_study::{CONFIDENCE, OnlineRow, OnlineStudy, OnlineTally};
pub use self::report::{ITERATIONS, Subject, report};
pub use self::simulated::simulated_sets;
pub use self::table_one::{DELTA, KAPPA_INF, PRINTED, PrintedRow, TableRow, table_one};
