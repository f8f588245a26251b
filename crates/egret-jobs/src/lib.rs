//! What a user asks of logs and models, as functions.
//!
//! | question                                             | job                                        |
//! |------------------------------------------------------|--------------------------------------------|
//! | what would another policy have lost?                 | [`evaluate`](evaluate::evaluate)           |
//! | is the log what it says?                             | [`audit`](audit::audit)                    |
//! | which model does the log teach?                      | [`train`](train::train)                    |
//! | which of many candidates is best?                    | [`select`](select::select)                 |
//! | what is in the log?                                  | [`summarize`](summarize::summarize), [`head`](head::head) |
//! | which rows of the log are bad?                       | [`check`](check::check)                    |
//! | which column of a table is what?                     | [`propose`](propose::propose)              |
//! | a model before there is a log                        | [`create`](create::create)                 |
//! | items that come and go in a model's catalogue        | [`change_items`](items::change_items)      |
//! | what would the model do for these contexts?          | [`decide`](decide::decide)                 |
//! | what is in a model?                                  | [`describe`](describe::describe)           |
//! | what does a model become with later events?          | [`go_on`](go_on::go_on)                    |
//! | the log in another format, or many logs as one       | [`convert`](convert::convert), [`merge`](merge::merge) |
//!
//! Each takes a request that is data (serde), reports its [progress](Progress) and can be cancelled there, and gives back
//! a report that is data. What goes wrong is a [`JobError`], which names file, row and field where there are any. The
//! command, a service and other languages convert requests and reports, and nothing else.

pub mod audit;
pub mod check;
mod confidence;
pub mod convert;
pub mod create;
pub mod decide;
mod decided_again;
mod density_units;
pub mod describe;
mod error;
mod estimated_density;
pub mod evaluate;
mod event_numbers;
pub mod go_on;
pub mod head;
pub mod items;
mod log_reader;
mod log_source;
mod logging_models;
pub mod merge;
mod onnx;
mod policy_spec;
mod progress;
pub mod propose;
mod row_bytes;
mod saved_model;
pub mod select;
mod sides;
pub mod summarize;
pub mod train;
mod training;

pub use error::{JobError, Place};
pub use log_source::LogSource;
pub use policy_spec::{Bandwidth, NamedPolicy, PointSource, PolicySpec, PolicyTextError};
pub use progress::{Progress, Silent, Step};
pub use saved_model::load_model;
