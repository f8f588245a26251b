pub(crate) mod bounds;
pub(crate) mod checked_number;
pub(crate) mod elementary;
pub(crate) mod event_rng;
pub mod lanes;
pub(crate) mod normals;
pub(crate) mod out_of_range;
pub(crate) mod philox;
pub(crate) mod pool;
pub(crate) mod uniform_index;

pub use event_rng::{EventRng, Stream};
pub use out_of_range::OutOfRange;
