//! Tables, pictures and pages, for whatever egret has measured.
//!
//! It knows nothing of egret: words and numbers come in, text, SVG, PNG and HTML go out. A chart is a plain struct with
//! a `draw` method, and what it draws is a [`Picture`]: SVG and PNG of one drawing, the same bytes each time, on any
//! machine, with or without fonts of its own. Letters of the PNG are those of Noto Sans (SIL Open Font License 1.1), which is
//! compiled in.
//!
//! Numbers that cannot be drawn (NaN, infinite, zero on a logarithmic axis) are refused with an error that names their
//! place, and so is a chart without any. All text is escaped.

mod axis;
mod chart_error;
mod claim;
mod colour;
mod drawing;
mod escape;
mod font;
mod heading;
mod interval_chart;
mod label_column;
mod line_chart;
/// Files that are written whole or not at all.
pub mod output;
mod page;
mod picture;
mod row_frame;
mod section;
mod series;
/// Pictures drawn with `plotters`: a white sheet, its colours, its numbers.
pub mod sheet;
mod spread_chart;

pub use axis::{Axis, Scale};
pub use chart_error::ChartError;
pub use claim::{Claim, Verdict};
pub use colour::Colour;
pub use interval_chart::{Interval, IntervalChart, IntervalRow};
pub use line_chart::{Line, LineChart};
pub use page::{Figure, Page, Part, page};
pub use picture::Picture;
pub use section::Section;
pub use series::Series;
pub use spread_chart::{Quantiles, SpreadChart, SpreadRow};
