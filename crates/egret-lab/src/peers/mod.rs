//! Learners of other libraries on the same rounds as egret's.
//!
//! A [`Peer`] plays through a Python process that runs `peers/adapter.py`, on intervals, boxes and among items. A [`PeerStudy`] plays Vowpal Wabbit's CATS and coba's
//! learners beside egret's, and compares egret with the best setting of each library.

mod peer;
mod study;

pub use self::peer::{Peer, PeerError, PeerPython, PeerRecord};
pub(crate) use self::peer::{PeerAction, PeerFactory};
pub use self::study::{PeerFamily, PeerRow, PeerStudy};
