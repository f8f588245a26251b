pub(crate) mod basis;
pub(crate) mod joint;
