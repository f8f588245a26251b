//! The charts as others see them: what is in the SVG and the PNG, and what is refused.

mod charts;
mod refusals;
mod svg;
