use serde::{Deserialize, Serialize};

use crate::{Action, Learner, LoadError, Settings};

// docs/model-format.md describes every byte.
const MAGIC: &[u8; 8] = b"egretmdl";
const VERSION: u16 = 1;
/// Magic, version, length.
const HEADER: usize = 8 + 2 + 8;
const CHECKSUM: usize = 4;

#[derive(Serialize, Deserialize)]
struct Content<'a> {
    settings: Settings,
    batches: u64,
    inverse_weights: Vec<f64>,
    #[serde(borrow)]
    oracle: &'a [u8],
}

impl<X: ?Sized, A: Action> Learner<X, A> {
    /// The model and its settings as bytes that [`load`](Self::load) takes on to the bit.
    pub fn save(&self) -> Vec<u8> {
        let content = postcard::to_stdvec(&Content {
            settings: self.settings.clone(),
            batches: self.batches,
            inverse_weights: self.corral.inverses().to_vec(),
            oracle: &self.oracle.save(),
        })
        .expect("numbers and lists of known length are written to memory");
        let mut bytes = Vec::with_capacity(HEADER + content.len() + CHECKSUM);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&content);
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Takes on a saved model with its settings; on an error nothing has changed.
    ///
    /// The measure and the kind of oracle are not in the file: the learner has to be made with those
    /// that the saved one had.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), LoadError> {
        let content: Content<'_> = parse(content_of(bytes)?)?;
        let (player, mut corral) = content
            .settings
            .build(&*self.measure, &*self.oracle)
            .map_err(|error| LoadError::Invalid(error.to_string()))?;
        if !corral.restore(&content.inverse_weights) {
            return Err(LoadError::Invalid(
                "the weights of the taus are not a distribution over the grid".to_owned(),
            ));
        }
        // The last step that can fail, and it changes nothing if it does.
        self.oracle.load(content.oracle)?;
        self.settings = content.settings;
        self.batches = content.batches;
        self.player = player;
        self.corral = corral;
        Ok(())
    }
}

/// What lies between header and checksum, once both are found right.
fn content_of(bytes: &[u8]) -> Result<&[u8], LoadError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(LoadError::Magic {
        expected: "egretmdl",
    })?;
    let cut_short = LoadError::Length {
        found: 0,
        expected: 0,
    };
    let (version, rest) = rest.split_first_chunk().ok_or(cut_short.clone())?;
    let version = u16::from_le_bytes(*version);
    if version != VERSION {
        return Err(LoadError::Version {
            found: version,
            expected: VERSION,
        });
    }
    let (length, rest) = rest.split_first_chunk().ok_or(cut_short)?;
    let length = u64::from_le_bytes(*length);
    let (content, checksum) = match rest.split_last_chunk::<CHECKSUM>() {
        Some((content, checksum)) if content.len() as u64 == length => (content, checksum),
        _ => {
            return Err(LoadError::Length {
                found: rest.len().saturating_sub(CHECKSUM) as u64,
                expected: length,
            });
        }
    };
    let expected = u32::from_le_bytes(*checksum);
    let found = crc32fast::hash(&bytes[..HEADER + content.len()]);
    if found != expected {
        return Err(LoadError::Checksum { found, expected });
    }
    Ok(content)
}

fn parse(content: &[u8]) -> Result<Content<'_>, LoadError> {
    let (parsed, rest) = postcard::take_from_bytes(content)?;
    if rest.is_empty() {
        Ok(parsed)
    } else {
        Err(LoadError::Invalid(format!(
            "{} bytes follow the oracle's state",
            rest.len()
        )))
    }
}
