//! Random numbers, sums and elementary functions with the same bits on every machine.
//!
//! [`EventRng`] gives each (seed, event, stream) its own generator, so one decision replays without the others.
//! [`lanes`] adds numbers in a fixed order whatever vectors the machine has. `single` does so for
//! numbers of 32 bits. `elementary` and `normals` avoid the platform's mathematical library. Everything above this folder relies on these to be reproducible.

pub(crate) mod bounds;
pub(crate) mod checked_number;
pub(crate) mod elementary;
pub(crate) mod event_rng;
pub(crate) mod hash;
pub mod lanes;
pub(crate) mod normals;
pub(crate) mod out_of_range;
pub(crate) mod philox;
pub(crate) mod pool;
pub(crate) mod single;
pub(crate) mod uniform_index;

pub use event_rng::{EventRng, Stream};
pub use out_of_range::OutOfRange;
