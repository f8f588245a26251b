//! How oracles take a step down a gradient.
//!
//! `adam` is Adam with a [`LearningRate`](crate::LearningRate) that falls as 1/√t.
//! [`CoinBetting`](crate::CoinBetting) has no learning rate to choose. `init` draws the starting weights of a network.

pub(crate) mod adam;
pub(crate) mod coin_betting;
pub(crate) mod init;
