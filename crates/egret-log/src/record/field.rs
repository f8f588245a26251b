use egret::{CertifiedBy, DensityKind, OutOfRange};

use crate::record::{LossSource, Mode, Record, RowError, Time};

/// One field of the record: its name in files, and how to get at it.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) access: Access,
}

/// A place in a record, by the type it has in files.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    Version,
    Context,
    /// Features that have no column of their own.
    ContextRest,
    Mu,
    Limits,
    Action,
    Propensity,
    Density,
    Objective,
    Loss,
    Number {
        range: Range,
        get: fn(&Record) -> &Option<f64>,
        set: fn(&mut Record) -> &mut Option<f64>,
    },
    Count {
        get: fn(&Record) -> &Option<u64>,
        set: fn(&mut Record) -> &mut Option<u64>,
    },
    Small {
        get: fn(&Record) -> &Option<u32>,
        set: fn(&mut Record) -> &mut Option<u32>,
    },
    Text {
        get: fn(&Record) -> &Option<String>,
        set: fn(&mut Record) -> &mut Option<String>,
    },
    Flag {
        get: fn(&Record) -> &Option<bool>,
        set: fn(&mut Record) -> &mut Option<bool>,
    },
    Instant {
        get: fn(&Record) -> &Option<Time>,
        set: fn(&mut Record) -> &mut Option<Time>,
    },
    Word {
        get: fn(&Record) -> Option<&'static str>,
        set: fn(&mut Record, &str) -> Result<(), RowError>,
    },
}

/// Where a number has to be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Range {
    Finite,
    Positive,
    Share,
    PositiveShare,
}

impl Range {
    pub(crate) fn check(self, name: &'static str, value: f64) -> Result<(), OutOfRange> {
        let (holds, expected) = match self {
            Self::Finite => (value.is_finite(), "(-inf, inf)"),
            Self::Positive => (0.0 < value && value.is_finite(), "(0, inf)"),
            Self::Share => ((0.0..=1.0).contains(&value), "[0, 1]"),
            Self::PositiveShare => (0.0 < value && value <= 1.0, "(0, 1]"),
        };
        if holds {
            Ok(())
        } else {
            Err(OutOfRange {
                name,
                value,
                expected,
            })
        }
    }
}

macro_rules! field {
    ($name:literal, Number($range:ident), $place:ident) => {
        Field {
            name: $name,
            access: Access::Number {
                range: Range::$range,
                get: |record| &record.$place,
                set: |record| &mut record.$place,
            },
        }
    };
    ($name:literal, Word, $place:ident, $words:expr) => {
        Field {
            name: $name,
            access: Access::Word {
                get: |record| record.$place.map(|value| spoken(value, &$words)),
                set: |record, word| {
                    record.$place = Some(heard($name, word, &$words)?);
                    Ok(())
                },
            },
        }
    };
    ($name:literal, $kind:ident, $place:ident) => {
        Field {
            name: $name,
            access: Access::$kind {
                get: |record| &record.$place,
                set: |record| &mut record.$place,
            },
        }
    };
    ($name:literal, $kind:ident) => {
        Field {
            name: $name,
            access: Access::$kind,
        }
    };
}

/// Every field, in the order files have them.
pub(crate) const FIELDS: &[Field] = &[
    field!("v", Version),
    field!("loop", Text, loop_name),
    field!("eventId", Text, event_id),
    field!("event", Count, event),
    field!("seq", Count, seq),
    field!("time", Instant, time),
    field!("clientTime", Instant, client_time),
    field!("context", Context),
    field!("contextRest", ContextRest),
    field!("mu", Mu),
    field!("limits", Limits),
    field!("action", Action),
    field!("propensity", Propensity),
    field!("density", Density),
    field!("densityKind", Word, density_kind, DENSITY_KINDS),
    field!(
        "largestInverseDensity",
        Number(Positive),
        largest_inverse_density
    ),
    field!("g", Number(Positive), g),
    field!("uniform", Number(Share), uniform),
    field!("tau", Number(Positive), tau),
    field!("tauIndex", Small, tau_index),
    field!("tauProb", Number(Share), tau_prob),
    field!("gamma", Number(Positive), gamma),
    field!("beta", Number(Finite), beta),
    field!("kappaInf", Number(Positive), kappa_inf),
    field!("delta", Number(Share), delta),
    field!("betaDraws", Count, beta_draws),
    field!("certificate", Word, certificate, CERTIFICATES),
    field!("proposals", Count, proposals),
    field!("z", Number(Positive), z),
    field!("zDraws", Count, z_draws),
    field!("passProb", Number(PositiveShare), pass_prob),
    field!("seed", Count, seed),
    field!("rng", Text, rng),
    field!("batchesLearned", Count, batches_learned),
    field!("modelHash", Text, model_hash),
    field!("settingsVersion", Small, settings_version),
    field!("schemaHash", Text, schema_hash),
    field!("mode", Word, mode, MODES),
    field!("deferred", Flag, deferred),
    field!("outcome", Number(Finite), outcome),
    field!("objective", Objective),
    field!("loss", Loss),
    field!("lossSource", Word, loss_source, LOSS_SOURCES),
    field!("late", Flag, late),
    field!("closeTime", Instant, close_time),
];

const DENSITY_KINDS: [(&str, DensityKind); 2] = [
    ("conditional", DensityKind::Conditional),
    ("marginal", DensityKind::Marginal),
];

const CERTIFICATES: [(&str, CertifiedBy); 4] = [
    ("exact", CertifiedBy::Exact),
    ("mixture", CertifiedBy::Mixture),
    ("betting", CertifiedBy::Betting),
    ("fixed", CertifiedBy::FixedSample),
];

const MODES: [(&str, Mode); 3] = [
    ("online", Mode::Online),
    ("apprentice", Mode::Apprentice),
    ("logging", Mode::Logging),
];

const LOSS_SOURCES: [(&str, LossSource); 2] = [
    ("observed", LossSource::Observed),
    ("default", LossSource::Default),
];

fn spoken<T: PartialEq + Copy>(value: T, words: &[(&'static str, T)]) -> &'static str {
    words
        .iter()
        .find(|(_, meant)| *meant == value)
        .map(|(word, _)| *word)
        .expect("each variant has a word")
}

fn heard<T: Copy>(
    field: &'static str,
    word: &str,
    words: &[(&'static str, T)],
) -> Result<T, RowError> {
    let found = words.iter().find(|(known, _)| *known == word);
    found
        .map(|(_, meant)| *meant)
        .ok_or_else(|| RowError::Word {
            field,
            found: word.to_owned(),
            expected: match field {
                "densityKind" => "conditional or marginal",
                "certificate" => "exact, mixture, betting or fixed",
                "mode" => "online, apprentice or logging",
                _ => "observed or default",
            },
        })
}

impl Mode {
    /// As in files.
    pub fn as_str(self) -> &'static str {
        spoken(self, &MODES)
    }
}

/// The place of a name among [`FIELDS`]; looks first at `hint`, for names mostly come in order.
pub(crate) fn find(name: &str, hint: usize) -> Option<usize> {
    let is = |place: &usize| FIELDS[*place].name == name;
    (hint..FIELDS.len()).chain(0..hint).find(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_from_anywhere() {
        for (place, field) in FIELDS.iter().enumerate() {
            for hint in [0, place, FIELDS.len()] {
                assert_eq!(find(field.name, hint), Some(place));
            }
        }
        assert_eq!(find("Density", 0), None);
    }
}
