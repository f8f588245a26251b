//! Drawing the action once β is known, and estimating z.
//!
//! [`Igw`] is the weight g(a; β) = τ / (1 + γ (f̂(x, a) − β)₊). The rejection sampler draws a ∼ μ and accepts with
//! probability g/τ: the action has density g/z, and no z is needed for that. The log needs z, so
//! [`NormalizingConstant`] holds it: computed, or estimated as the mean of g over fresh draws. Fresh draws make ẑ
//! independent of the action, and that makes importance weights q·ẑ/g unbiased.
//!
//! [`RelativeError`] decides how many draws ẑ takes.

pub(crate) mod igw;
pub(crate) mod normalizing_constant;
pub(crate) mod proposer;
pub(crate) mod rejection_sampler;

pub use igw::Igw;
pub use normalizing_constant::{NormalizingConstant, RelativeError};
pub use rejection_sampler::SampleError;
