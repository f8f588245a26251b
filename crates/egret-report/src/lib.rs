//! Tables, pictures and pages, for whatever egret has measured.
//!
//! It knows nothing of egret: words and numbers come in, text, SVG and HTML go out.

mod escape;
/// Files that are written whole or not at all.
pub mod output;
mod section;
/// Pictures drawn with `plotters`: a white sheet, its colours, its numbers.
pub mod sheet;

pub use section::{Section, page};
