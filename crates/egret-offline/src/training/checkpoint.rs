use egret::Action;
use serde::{Deserialize, Serialize};

use crate::training::{EarlyStopping, Epoch, LearningError, TrainingSettings, TrainingTask};

/// A training as it was after an epoch. [`Training::resume`](crate::Training::resume) goes on from it, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub(crate) settings: TrainingSettings,
    pub(crate) digest: u64,
    pub(crate) folds: Vec<Vec<u8>>,
    pub(crate) oracle: Vec<u8>,
    pub(crate) stopping: EarlyStopping,
    pub(crate) epochs: u32,
    pub(crate) best: Option<(Vec<u8>, u32)>,
    pub(crate) history: Vec<Epoch>,
}

const MAGIC: &[u8] = b"egretckp1";

impl Checkpoint {
    /// The settings it was taken with.
    pub fn settings(&self) -> &TrainingSettings {
        &self.settings
    }

    /// The epochs before it.
    pub fn history(&self) -> &[Epoch] {
        &self.history
    }

    /// Bytes for a file, with a checksum.
    pub fn save(&self) -> Vec<u8> {
        let content = postcard::to_stdvec(self).expect("numbers and lists are written to memory");
        let sum = hash_bytes(&content).to_le_bytes();
        [MAGIC, &sum, &content].concat()
    }

    /// What [`save`](Self::save) wrote.
    pub fn load(bytes: &[u8]) -> Result<Self, LearningError> {
        let not = |why: &str| LearningError::NotACheckpoint(why.to_owned());
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| not("it does not begin like one"))?;
        let (sum, content) = rest
            .split_first_chunk::<8>()
            .ok_or_else(|| not("it is cut short"))?;
        if hash_bytes(content) != u64::from_le_bytes(*sum) {
            return Err(not("it is damaged or cut short"));
        }
        postcard::from_bytes(content).map_err(|error| not(&error.to_string()))
    }

    /// Identifies all that a training depends on besides its settings. Contexts and actions are left out: losses and
    /// densities tell one log from another.
    pub(crate) fn digest<X, A: Action>(task: &TrainingTask<'_, X, A>) -> u64 {
        let mut hash = hash_bytes(&(task.oracle)().save());
        for part in [&task.parts.train, &task.parts.validation] {
            hash = mix(hash ^ part.len() as u64);
            for &row in part {
                let example = &task.examples[row];
                let density = example.propensity.density();
                let density = density.map_or(0, |density| density.get().to_bits());
                hash = mix(hash ^ row as u64);
                hash = mix(hash ^ example.loss.get().to_bits());
                hash = mix(hash ^ density);
            }
        }
        hash
    }
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = mix(bytes.len() as u64);
    for &word in words {
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    for &byte in rest {
        hash = mix(hash ^ u64::from(byte));
    }
    hash
}

/// The finalizer of splitmix64 (Steele, Lea and Flood 2014). The constant is added first, so that 0 is not a fixed point.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::training::Validation;

    fn checkpoint() -> Checkpoint {
        Checkpoint {
            settings: TrainingSettings::default(),
            digest: 7,
            folds: vec![vec![1, 2, 3]],
            oracle: vec![4; 9],
            stopping: EarlyStopping::new(3),
            epochs: 2,
            best: Some((vec![5; 3], 1)),
            history: vec![Epoch {
                fold: Some((0, 2)),
                epoch: 1,
                validation: Validation {
                    squared_error: Some(0.25),
                    value: None,
                },
                best: true,
            }],
        }
    }

    #[test]
    fn what_was_saved_is_loaded() {
        let checkpoint = checkpoint();
        assert_eq!(Checkpoint::load(&checkpoint.save()), Ok(checkpoint));
    }

    proptest! {
        #[test]
        fn damaged_bytes_are_refused(cut in 0_usize..200, place in 0_usize..200, bit in 0_u8..8) {
            let bytes = checkpoint().save();
            prop_assert!(Checkpoint::load(&bytes[..cut.min(bytes.len() - 1)]).is_err());
            let mut flipped = bytes;
            let place = place % flipped.len();
            flipped[place] ^= 1 << bit;
            prop_assert!(Checkpoint::load(&flipped).is_err());
        }
    }
}
