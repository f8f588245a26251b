pub(crate) mod betting;
pub(crate) mod mixture;
pub(crate) mod wealth;
