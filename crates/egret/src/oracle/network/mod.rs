pub(crate) mod context;
pub(crate) mod curves;
pub(crate) mod feature_scale;
pub(crate) mod outcomes;
pub(crate) mod replay_memory;
