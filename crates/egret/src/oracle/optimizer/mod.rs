pub(crate) mod adam;
pub(crate) mod coin_betting;
pub(crate) mod init;
