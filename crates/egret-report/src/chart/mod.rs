//! Charts: plain structs of words and numbers, each with a `draw` method.
//!
//! | you have                                   | chart                |
//! |--------------------------------------------|----------------------|
//! | estimates with intervals, one below another | [`IntervalChart`]   |
//! | numbers over time, with bands               | [`LineChart`]       |
//! | many of these, side by side                 | [`LinePanels`]      |
//! | pairs of numbers                            | [`ScatterChart`]    |
//! | distributions, one below another            | [`SpreadChart`]     |
//!
//! All take an [`Axis`], and a [`Series`] is a name with a colour. `draw` gives a [`Picture`](crate::Picture), or a
//! [`ChartError`] that names the number that cannot be drawn.

pub(crate) mod axis;
pub(crate) mod error;
pub(crate) mod heading;
pub(crate) mod interval;
pub(crate) mod label_column;
pub(crate) mod line;
pub(crate) mod panels;
pub(crate) mod row_frame;
pub(crate) mod scatter;
pub(crate) mod series;
pub(crate) mod spread;

pub use axis::{Axis, Scale};
pub use error::ChartError;
pub use interval::{ConfidenceInterval, IntervalChart, IntervalRow};
pub use line::{Line, LineChart};
pub use panels::LinePanels;
pub use scatter::{ScatterChart, ScatterSeries};
pub use series::Series;
pub use spread::{Quantiles, SpreadChart, SpreadRow};
