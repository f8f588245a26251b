//! The experiments of the paper, and what it left out, as further columns of the same tables.

mod claims;
mod contenders;
mod figures;
mod findings;
mod offline_file;
mod offline_study;
mod online_study;
mod report;
mod simulated;
mod table_one;

pub use contenders::Explored;
pub use findings::{
    COLUMNS, Column, Findings, OfflineRow, Online, SMOOTH, greedy_share, offline_rows,
    offline_tally, online_findings,
};
pub use offline_file::write_offline;
pub use offline_study::{LessonRecord, OfflineRecord, OfflineStudy, Taught};
pub use online_study::{CONFIDENCE, OnlineRow, OnlineStudy, Tally};
pub use report::{ITERATIONS, Subject, report};
pub use simulated::simulated_sets;
pub use table_one::{DELTA, KAPPA_INF, PRINTED, PrintedRow, TableRow, table_one};
