//! The experiments of the paper, and what it left out, as further columns of the same tables.

mod contenders;
mod offline_study;
mod online_study;
mod table_one;

pub use contenders::Explored;
pub use offline_study::{LessonRecord, OfflineRecord, OfflineStudy, Taught};
pub use online_study::{CONFIDENCE, OnlineRow, OnlineStudy, Tally};
pub use table_one::{DELTA, KAPPA_INF, PRINTED, PrintedRow, TableRow, table_one};
