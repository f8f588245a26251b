pub(crate) mod igw;
pub(crate) mod normalizing_constant;
pub(crate) mod proposer;
pub(crate) mod rejection_sampler;

pub use igw::Igw;
pub use normalizing_constant::{NormalizingConstant, RelativeError};
pub use rejection_sampler::SampleError;
