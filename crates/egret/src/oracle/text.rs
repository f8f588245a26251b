use std::fmt;
use std::str::FromStr;

use crate::codec::{ShortText, ShortTextError};
use crate::numeric::OutOfRange;
use crate::oracle::{Forecaster, LearningRate, LocalSettings, OracleSpec, spec::DEEPEST};

/// Parses the short form that commands use. Options left out have their defaults; seeds default to 0.
///
/// | text                                     | oracle                                                         |
/// |------------------------------------------|----------------------------------------------------------------|
/// | `argmin:rate=0.02,t0=100`                | the paper's: a linear best action, a curve around it           |
/// | `argmin:hidden=16x16,rate=0.004,t0=500`  | the same, the best action from a network                       |
/// | `ridge:lambda=1,squares=true`            | least squares on context, action and their products            |
/// | `vaw:lambda=1,squares=true`              | Vovk–Azoury–Warmuth on the same                                |
/// | `fourier:features=256,scale=1`           | random Fourier features                                        |
/// | `latent-outcome:outcomes=32,hidden=32x32` | a distribution over best actions, from a network              |
/// | `curves:cosines=32,hidden=32x32`         | a curve over actions, from a network                           |
/// | `local:places=16,memory=4000`            | least squares around each of a few actions                     |
/// | `quadratic:memory=4000`                  | least squares on squares and products of the action            |
/// | `ridge+fourier`                          | Vovk's aggregation of both                                     |
/// | `(latent-outcome+curves+local)@128`      | piecewise constant over 128 cells                              |
impl FromStr for OracleSpec {
    type Err = OracleTextError;

    fn from_str(text: &str) -> Result<Self, OracleTextError> {
        sum(text.trim(), 0)
    }
}

/// Members, with + between them.
fn sum(text: &str, depth: usize) -> Result<OracleSpec, OracleTextError> {
    let unknown = || OracleTextError::Unknown {
        text: text.to_owned(),
    };
    if DEEPEST < depth {
        return Err(unknown());
    }
    let mut members = Vec::new();
    let (mut open, mut start) = (0_usize, 0);
    for (place, letter) in text.char_indices() {
        match letter {
            '(' => open += 1,
            ')' => open = open.checked_sub(1).ok_or_else(unknown)?,
            '+' if open == 0 => {
                members.push(member(&text[start..place], depth)?);
                start = place + 1;
            }
            _ => {}
        }
    }
    if open != 0 {
        return Err(unknown());
    }
    let last = member(&text[start..], depth)?;
    if members.is_empty() {
        return Ok(last);
    }
    members.push(last);
    Ok(OracleSpec::Aggregation(members))
}

/// One oracle, perhaps in brackets, perhaps piecewise constant.
fn member(text: &str, depth: usize) -> Result<OracleSpec, OracleTextError> {
    let unknown = || OracleTextError::Unknown {
        text: text.to_owned(),
    };
    if let Some((of, cells)) = text.rsplit_once('@')
        && !cells.contains(')')
    {
        return Ok(OracleSpec::PiecewiseConstant {
            cells: cells.parse().map_err(|_| unknown())?,
            of: Box::new(member(of, depth + 1)?),
        });
    }
    match text.strip_prefix('(') {
        Some(inside) => sum(inside.strip_suffix(')').ok_or_else(unknown)?, depth + 1),
        None => named(text),
    }
}

fn named(text: &str) -> Result<OracleSpec, OracleTextError> {
    let mut text = ShortText::parse(text)?;
    let seed = |text: &mut ShortText<'_>| text.optional("seed").map(Option::unwrap_or_default);
    let least_squares = |text: &mut ShortText<'_>, forecaster| {
        Ok::<_, ShortTextError>(OracleSpec::LeastSquares {
            forecaster,
            lambda: text.optional("lambda")?.unwrap_or(1.0),
            squares: text.optional("squares")?.unwrap_or(true),
        })
    };
    let spec = match text.name() {
        "argmin" => {
            let hidden: Option<Hidden> = text.optional("hidden")?;
            let (rate, t0) = match hidden {
                None => (0.02, 100.0),
                Some(_) => (0.004, 500.0),
            };
            let rate = text.optional("rate")?.unwrap_or(rate);
            let t0 = text.optional("t0")?.unwrap_or(t0);
            OracleSpec::Argmin {
                hidden: hidden.map(|hidden| hidden.0),
                learning_rate: LearningRate::new(rate, t0)?,
                seed: seed(&mut text)?,
            }
        }
        "ridge" => least_squares(&mut text, Forecaster::Ridge)?,
        "vaw" => least_squares(&mut text, Forecaster::VovkAzouryWarmuth)?,
        "fourier" => OracleSpec::Fourier {
            features: text.optional("features")?.unwrap_or(256),
            scale: text.optional("scale")?.unwrap_or(1.0),
            seed: seed(&mut text)?,
        },
        "latent-outcome" => OracleSpec::LatentOutcome {
            outcomes: text.optional("outcomes")?.unwrap_or(32),
            hidden: text.optional("hidden")?.unwrap_or(Hidden([32, 32])).0,
            seed: seed(&mut text)?,
        },
        "curves" => OracleSpec::Curves {
            cosines: text.optional("cosines")?.unwrap_or(32),
            hidden: text.optional("hidden")?.unwrap_or(Hidden([32, 32])).0,
            seed: seed(&mut text)?,
        },
        "local" => {
            let LocalSettings { places, memory, .. } = LocalSettings::default();
            OracleSpec::Local {
                places: text.optional("places")?.unwrap_or(places),
                memory: text.optional("memory")?.unwrap_or(memory),
            }
        }
        "quadratic" => OracleSpec::Quadratic {
            memory: text.optional("memory")?,
            cosines: text.optional("cosines")?.unwrap_or(0),
            seed: seed(&mut text)?,
        },
        other => {
            return Err(OracleTextError::Unknown {
                text: other.to_owned(),
            });
        }
    };
    text.finish()?;
    Ok(spec)
}

/// `16x16`: the widths of two hidden layers.
struct Hidden([usize; 2]);

impl FromStr for Hidden {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (first, second) = text.split_once('x').ok_or(())?;
        let width = |text: &str| text.parse().map_err(|_| ());
        Ok(Self([width(first)?, width(second)?]))
    }
}

impl fmt::Display for OracleSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seeded = |f: &mut fmt::Formatter<'_>, seed: u64| match seed {
            0 => Ok(()),
            seed => write!(f, ",seed={seed}"),
        };
        match self {
            Self::Argmin {
                hidden,
                learning_rate,
                seed,
            } => {
                f.write_str("argmin:")?;
                if let Some([first, second]) = hidden {
                    write!(f, "hidden={first}x{second},")?;
                }
                let (rate, t0) = (learning_rate.rate(), learning_rate.t0());
                write!(f, "rate={rate},t0={t0}")?;
                seeded(f, *seed)
            }
            Self::LeastSquares {
                forecaster,
                lambda,
                squares,
            } => {
                let name = match forecaster {
                    Forecaster::Ridge => "ridge",
                    Forecaster::VovkAzouryWarmuth => "vaw",
                };
                write!(f, "{name}:lambda={lambda},squares={squares}")
            }
            Self::Fourier {
                features,
                scale,
                seed,
            } => {
                write!(f, "fourier:features={features},scale={scale}")?;
                seeded(f, *seed)
            }
            Self::LatentOutcome {
                outcomes,
                hidden: [first, second],
                seed,
            } => {
                write!(
                    f,
                    "latent-outcome:outcomes={outcomes},hidden={first}x{second}"
                )?;
                seeded(f, *seed)
            }
            Self::Curves {
                cosines,
                hidden: [first, second],
                seed,
            } => {
                write!(f, "curves:cosines={cosines},hidden={first}x{second}")?;
                seeded(f, *seed)
            }
            Self::Local { places, memory } => write!(f, "local:places={places},memory={memory}"),
            Self::Quadratic {
                memory,
                cosines,
                seed,
            } => {
                write!(f, "quadratic:cosines={cosines}")?;
                if let Some(memory) = memory {
                    write!(f, ",memory={memory}")?;
                }
                seeded(f, *seed)
            }
            Self::Aggregation(members) => {
                for (place, member) in members.iter().enumerate() {
                    f.write_str(if place == 0 { "" } else { "+" })?;
                    bracketed(member, f)?;
                }
                Ok(())
            }
            Self::PiecewiseConstant { cells, of } => {
                bracketed(of, f)?;
                write!(f, "@{cells}")
            }
        }
    }
}

/// Written in brackets if it has parts of its own.
fn bracketed(spec: &OracleSpec, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match spec {
        OracleSpec::Aggregation(_) | OracleSpec::PiecewiseConstant { .. } => {
            write!(f, "({spec})")
        }
        spec => write!(f, "{spec}"),
    }
}

/// Why a text is not an oracle.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OracleTextError {
    /// Not the name of an oracle, or unbalanced brackets.
    #[error(
        "{text:?} is not an oracle, expected argmin, ridge, vaw, fourier, latent-outcome or curves; several joined by +, \
         as in ridge+fourier; or one as a step function, as in curves@128"
    )]
    Unknown {
        /// What was read.
        text: String,
    },
    /// An option is wrong.
    #[error(transparent)]
    Options(#[from] ShortTextError),
    /// A number is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_comes_back() {
        for spec in [
            OracleSpec::paper(),
            OracleSpec::default_on_interval(0),
            OracleSpec::default_on_interval(7),
            OracleSpec::default_on_features(2_000, 2, 5),
            "argmin:hidden=16x8,seed=3".parse().expect("an oracle"),
            "ridge:squares=false+fourier:features=9,scale=0.25"
                .parse()
                .expect("an oracle"),
            "((ridge+vaw)@4+curves)@8".parse().expect("an oracle"),
        ] {
            let text = spec.to_string();
            assert_eq!(text.parse(), Ok(spec), "{text}");
        }
        assert_eq!("argmin".parse(), Ok(OracleSpec::paper()));
        assert_eq!(
            OracleSpec::default_on_interval(0).to_string(),
            "(latent-outcome:outcomes=32,hidden=32x32+curves:cosines=16,hidden=32x32,seed=1\
             +local:places=16,memory=4000)@128"
        );
    }

    #[test]
    fn what_names_no_oracle_is_refused() {
        for text in [
            "",
            "linear",
            "ridge+",
            "+ridge",
            "(ridge",
            "ridge)",
            "()",
            "ridge@",
            "ridge@x",
            "ridge:lambda=x",
            "ridge:lamda=1",
            "argmin:hidden=16",
            "argmin:rate=-1",
            &"(".repeat(1_000),
        ] {
            assert!(text.parse::<OracleSpec>().is_err(), "{text}");
        }
    }
}
