//! Tables, pictures and pages, for whatever egret has measured.
//!
//! It knows nothing of egret: words and numbers come in, text, SVG, PNG and HTML go out. A chart is a plain struct with
//! a `draw` method, and what it draws is a [`Picture`]: SVG and PNG of one drawing, the same bytes each time, on any
//! machine, with or without fonts of its own. Letters of the PNG are those of Noto Sans (SIL Open Font License 1.1), which is
//! compiled in.
//!
//! Numbers that cannot be drawn (NaN, infinite, zero on a logarithmic axis) are refused with an error that names their
//! place, and so is a chart without any. All text is escaped.

mod chart;
mod drawing;
mod escape;
pub mod numerals;
pub mod output;
mod page;

pub use chart::{
    Axis, ChartError, ConfidenceInterval, IntervalChart, IntervalRow, Line, LineChart, Quantiles,
    Scale, Series, SpreadChart, SpreadRow,
};
pub use drawing::{Colour, Picture};
pub use page::{Claim, ClaimVerdict, Figure, Page, Part, Section};
