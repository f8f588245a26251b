//! The extension module of the Python package `egret`: it converts between Python and egret's crates, and nothing else.
//!
//! | Python                                   | here                                                     |
//! |------------------------------------------|----------------------------------------------------------|
//! | contexts and actions                     | `context`, `action`, `array`, `value`                    |
//! | `Interval`, `maximize`, `Schema`         | `space`, `objective`, `schema`                           |
//! | `Model`, `Decision`                      | `model`, `decision`, and `log_parts` for its log         |
//! | `FunctionModel`                          | `function_model`                                         |
//! | `LogWriter`                              | `log_writer`                                             |
//! | `evaluate`, `audit`, `train` and so on   | `jobs`, `table` for tables of others, `text` for options, `chart` for pictures |
//! | `worlds`                                 | `world`                                                  |
//! | exceptions                               | `error`                                                  |

mod action;
mod array;
mod chart;
mod context;
mod decision;
mod error;
mod function_model;
mod jobs;
mod log_parts;
mod log_writer;
mod model;
mod objective;
mod schema;
mod space;
mod table;
mod text;
mod value;
mod world;

use pyo3::prelude::*;

#[pymodule]
mod _egret {
    #[pymodule_export]
    use crate::chart::{interval_chart, line_chart};
    #[pymodule_export]
    use crate::decision::{PyDecision, PyDecisions};
    #[pymodule_export]
    use crate::error::{EgretError, LogError};
    #[pymodule_export]
    use crate::function_model::PyFunctionModel;
    #[pymodule_export]
    use crate::jobs::run;
    #[pymodule_export]
    use crate::log_writer::PyLogWriter;
    #[pymodule_export]
    use crate::model::PyModel;
    #[pymodule_export]
    use crate::objective::{PyObjective, maximize, minimize};
    #[pymodule_export]
    use crate::schema::PySchema;
    #[pymodule_export]
    use crate::space::{
        PySpace, beta, interval, items, knobs, log_interval, sides, simplex, sphere, steps,
        subsets, truncated_normal,
    };
    #[pymodule_export]
    use crate::text::{objective_json, oracle_json, policy_json, space_json};
    #[pymodule_export]
    use crate::world::PyWorld;
}
