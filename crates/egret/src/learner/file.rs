use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, framed::Frame};
use crate::event::Action;
use crate::learner::{Learner, Settings};

// docs/model-format.md describes every byte.
const FRAME: Frame = Frame {
    magic: "egretmdl",
    version: 1,
};

#[derive(Serialize, Deserialize)]
struct Content<'a> {
    settings: Settings,
    batches: u64,
    events: u64,
    inverse_weights: Vec<f64>,
    #[serde(borrow)]
    oracle: &'a [u8],
}

impl<X: ?Sized, A: Action> Learner<X, A> {
    /// The model and its settings as bytes; [`load`](Self::load) restores them bit for bit.
    pub fn save(&self) -> Vec<u8> {
        let content = postcard::to_stdvec(&Content {
            settings: self.settings.clone(),
            batches: self.batches,
            events: self.events,
            inverse_weights: self.corral.inverses().to_vec(),
            oracle: &self.oracle.save(),
        })
        .expect("numbers and lists of known length are written to memory");
        FRAME.around(&content)
    }

    /// Restores a saved model with its settings; on an error nothing has changed.
    ///
    /// The bytes do not hold the measure or the kind of oracle: make the learner with the same ones.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), LoadError> {
        let content: Content<'_> = parse(FRAME.content_of(bytes)?)?;
        // A player is rebuilt only if the settings differ: building its normalizer may take a millisecond.
        let (player, mut corral) = if content.settings == self.settings {
            (None, self.corral.clone())
        } else {
            let built = content.settings.build(&*self.measure, &*self.oracle);
            let (player, corral) = built.map_err(|error| LoadError::Invalid(error.to_string()))?;
            (Some(player), corral)
        };
        if !corral.restore(&content.inverse_weights) {
            return Err(LoadError::Invalid(
                "the weights of the taus are not a distribution over the grid".to_owned(),
            ));
        }
        // The last step that can fail, and it changes nothing if it does.
        self.oracle.load(content.oracle)?;
        self.settings = content.settings;
        self.batches = content.batches;
        self.events = content.events;
        if let Some(player) = player {
            self.player = player;
        }
        self.corral = corral;
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::Loss;
    use crate::explorer::{Explorer, GammaSchedule};
    use crate::learner::small_world::{Bowl, interval_learner, table_learner};
    use crate::measure::Interval;

    /// A learner that has learned `batches` batches.
    fn trained(batches: u64) -> Learner<f64, f64> {
        let mut learner = interval_learner(Settings {
            seed: 3,
            ..Settings::paper()
        });
        go_on(&mut learner, batches);
        learner
    }

    /// Decides and learns; what was decided, as bits.
    fn go_on(learner: &mut Learner<f64, f64>, batches: u64) -> Vec<(u64, u64)> {
        let mut bits = Vec::new();
        for _ in 0..batches {
            let event = learner.batches_learned();
            let x = (event as f64 * 0.37).fract();
            let decision = learner.decide(event, &x).expect("an action");
            let density = decision.propensity.density().expect("one").get();
            bits.push((decision.action.to_bits(), density.to_bits()));
            let loss = Loss::new((decision.action - x).abs()).expect("in range");
            learner
                .learn(&decision.observed(&x, loss))
                .expect("a good event");
        }
        bits
    }

    /// With other settings and another oracle than what is loaded.
    fn other() -> Learner<f64, f64> {
        let settings = Settings {
            explorer: Explorer::Uniform,
            gamma: GammaSchedule::constant(2.0).expect("positive"),
            taus: vec![3.0],
            settings_version: 4,
            ..Settings::paper()
        };
        let bowl = Bowl {
            offset: 0.0,
            slope: 0.0,
        };
        let measure = Interval::new(0.0, 1.0).expect("in order");
        Learner::new(Box::new(measure), Box::new(bowl), settings).expect("good settings")
    }

    fn refused(bytes: &[u8]) -> LoadError {
        let mut learner = other();
        let before = learner.save();
        let error = learner.load(bytes).expect_err("not a saved learner");
        assert_eq!(learner.save(), before, "{error}");
        error
    }

    #[test]
    fn a_loaded_learner_goes_on_to_the_bit() {
        let mut first = trained(25);
        let bytes = first.save();
        let mut second = other();
        second.load(&bytes).expect("just saved");
        assert_eq!(second.save(), bytes);
        assert_eq!(second.settings(), first.settings());
        assert_eq!(second.batches_learned(), 25);
        assert_eq!(go_on(&mut first, 25), go_on(&mut second, 25));
        assert_eq!(first.save(), second.save());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let bytes = trained(3).save();
        assert!(matches!(refused(b"GIF89a..."), LoadError::Magic { .. }));
        assert!(matches!(refused(&[]), LoadError::Magic { .. }));
        let mut newer = bytes.clone();
        newer[8] = 2;
        assert_eq!(
            refused(&newer),
            LoadError::Version {
                found: 2,
                expected: 1
            }
        );
        let mut longer = bytes.clone();
        longer.push(0);
        let content = (bytes.len() - 18 - 4) as u64;
        assert_eq!(
            refused(&longer),
            LoadError::Length {
                found: content + 1,
                expected: content
            }
        );
        let mut damaged = bytes.clone();
        damaged[40] ^= 1;
        assert!(matches!(refused(&damaged), LoadError::Checksum { .. }));
        let mut trailing = bytes[18..bytes.len() - 4].to_vec();
        trailing.push(0);
        assert!(matches!(
            refused(&FRAME.around(&trailing)),
            LoadError::Invalid(_)
        ));
    }

    #[test]
    fn states_that_no_learner_has_are_refused() {
        let learner = trained(3);
        let spoiled = |spoil: &dyn Fn(&mut Content<'_>)| {
            let state = learner.oracle().save();
            let mut content = Content {
                settings: learner.settings().clone(),
                batches: 3,
                events: 3,
                inverse_weights: learner.corral().inverses().to_vec(),
                oracle: &state,
            };
            spoil(&mut content);
            FRAME.around(&postcard::to_stdvec(&content).expect("in memory"))
        };
        assert!(other().load(&spoiled(&|_| ())).is_ok());
        let invalid = |spoil: &dyn Fn(&mut Content<'_>)| {
            assert!(matches!(refused(&spoiled(spoil)), LoadError::Invalid(_)));
        };
        invalid(&|content| content.inverse_weights[0] = f64::NAN);
        invalid(&|content| content.inverse_weights[0] = 1.0);
        invalid(&|content| content.inverse_weights.push(12.0));
        invalid(&|content| content.settings.eta = -1.0);
        invalid(&|content| content.settings.taus[2] = f64::INFINITY);
        invalid(&|content| content.settings.explorer = Explorer::SquareCb);
        assert!(matches!(
            refused(&spoiled(&|content| content.oracle = &[1, 2, 3])),
            LoadError::Content(_)
        ));
    }

    #[test]
    fn the_bytes_are_frozen() {
        // A change here is format-breaking: docs/model-format.md has these bytes.
        let settings = Settings {
            explorer: Explorer::SquareCb,
            gamma: GammaSchedule::constant(2.0).expect("positive"),
            taus: vec![1.5],
            eta: 0.5,
            seed: 300,
            settings_version: 7,
            ..Settings::paper()
        };
        let learner = table_learner(&[1.0, 1.0], &[0.0, 1.0], settings);
        let hex: String = learner
            .save()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            hex,
            concat!(
                "65677265746d646c",
                "0100",
                "2c00000000000000",
                "04",
                "00",
                "0000000000000040",
                "01",
                "000000000000f83f",
                "000000000000e03f",
                "00",
                "00",
                "ac02",
                "07",
                "00",
                "00",
                "01",
                "000000000000f03f",
                "00",
                "2fc2219e",
            )
        );
    }

    proptest! {
        #[test]
        fn a_flipped_bit_is_found(place in any::<prop::sample::Index>(), bit in 0..8_u32) {
            let mut bytes = trained(3).save();
            let place = place.index(bytes.len());
            bytes[place] ^= 1_u8 << bit;
            refused(&bytes);
        }

        #[test]
        fn a_cut_is_found(end in any::<prop::sample::Index>()) {
            let bytes = trained(3).save();
            refused(&bytes[..end.index(bytes.len())]);
        }

        #[test]
        fn noise_is_refused(noise in prop::collection::vec(any::<u8>(), 0..400)) {
            refused(&noise);
            // With a right header and checksum it is the content that has to be refused.
            let mut learner = other();
            let before = learner.save();
            if learner.load(&FRAME.around(&noise)).is_err() {
                prop_assert_eq!(learner.save(), before);
            }
        }

        /// Damage that the checksum does not see: refused, or a state that is one.
        #[test]
        fn damage_below_the_checksum_does_no_harm(
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let bytes = trained(3).save();
            let mut content = bytes[18..bytes.len() - 4].to_vec();
            for (place, value) in edits {
                let place = place.index(content.len());
                content[place] = value;
            }
            let mut learner = other();
            let before = learner.save();
            match learner.load(&FRAME.around(&content)) {
                Err(_) => prop_assert_eq!(learner.save(), before),
                Ok(()) => {
                    let saved = learner.save();
                    let mut second = other();
                    second.load(&saved).expect("a state that was taken on");
                    prop_assert_eq!(second.save(), saved);
                }
            }
        }
    }
}
