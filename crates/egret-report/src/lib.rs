//! Tables, pictures and pages of measurements.
//!
//! Words and numbers come in; text, SVG, PNG and HTML go out. The crate knows nothing else of egret.
//!
//! | you want                                 | type                                                  |
//! |------------------------------------------|-------------------------------------------------------|
//! | a chart                                  | [`IntervalChart`], [`LineChart`], [`LinePanels`], [`ScatterChart`], [`SpreadChart`] |
//! | its files, as SVG and PNG                | [`Picture`]                                           |
//! | a table for a terminal or a page         | [`Section`]                                           |
//! | a page of tables and pictures            | [`Page`]                                              |
//!
//! A picture has the same bytes on every machine: the letters of Noto Sans (SIL Open Font License 1.1) are compiled in.
//! A number that cannot be drawn (NaN, infinite, zero on a logarithmic axis) is an error that names it. All text is
//! escaped.
//!
//! ```
//! use egret_report::{Axis, Colour, Line, LineChart};
//!
//! let chart = LineChart {
//!     title: "Loss over time".to_owned(),
//!     subtitle: "Mean of the last 100 events".to_owned(),
//!     x: Axis::linear("events"),
//!     y: Axis::linear("mean loss"),
//!     lines: vec![Line {
//!         name: "CappedIGW".to_owned(),
//!         colour: Colour::Blue,
//!         points: vec![(100.0, 0.5), (200.0, 0.3), (300.0, 0.2)],
//!         band: Vec::new(),
//!     }],
//!     reference: None,
//! };
//! assert!(chart.draw()?.svg.contains("CappedIGW"));
//! # Ok::<(), egret_report::ChartError>(())
//! ```

mod chart;
mod drawing;
mod escape;
pub mod numerals;
pub mod output;
mod page;

pub use chart::{
    Axis, ChartError, ConfidenceInterval, IntervalChart, IntervalRow, Line, LineChart, LinePanels,
    Quantiles, Scale, ScatterChart, ScatterSeries, Series, SpreadChart, SpreadRow,
};
pub use drawing::{Colour, Picture};
pub use page::{Claim, ClaimVerdict, Figure, Page, Part, Section};
