pub(crate) mod aggregation;
pub(crate) mod function;
pub(crate) mod piecewise_constant;
