use egret::{Forecaster, LearningRate, OracleSpec};
use toml::de::DeValue;

use crate::experiment::toml_keys::{Found, TomlError, TomlKeys};

/// The widest hidden layer: two of them have 2²⁴ parameters between them.
const MOST_WIDTH: u64 = 4096;
/// As in the core.
const MOST_FEATURES: usize = 65_536;
/// As in the core.
const MOST_OUTCOMES: usize = 4096;
/// As in the core.
const MOST_COSINES: usize = 4096;
/// As in the core.
const MOST_PLACES: usize = 1024;
/// As in the core.
const MOST_CELLS: usize = 65_536;

#[derive(Clone, Copy)]
enum OracleKind {
    ArgminLinear,
    ArgminNetwork,
    Ridge,
    Vaw,
    Fourier,
    LatentOutcome,
    Curves,
    Local,
    Quadratic,
    PiecewiseConstant,
    Aggregation,
}

const ORACLES: [(&str, OracleKind); 11] = [
    ("argmin-linear", OracleKind::ArgminLinear),
    ("argmin-network", OracleKind::ArgminNetwork),
    ("ridge", OracleKind::Ridge),
    ("vaw", OracleKind::Vaw),
    ("fourier", OracleKind::Fourier),
    ("latent-outcome", OracleKind::LatentOutcome),
    ("curves", OracleKind::Curves),
    ("local", OracleKind::Local),
    ("quadratic", OracleKind::Quadratic),
    ("piecewise-constant", OracleKind::PiecewiseConstant),
    ("aggregation", OracleKind::Aggregation),
];

/// Reads an oracle: a word, or a table whose `kind` is that word.
///
/// | kind                 | oracle                                            | keys                                |
/// |----------------------|---------------------------------------------------|-------------------------------------|
/// | `argmin-linear`      | the paper's argmin plus dispersion; intervals     | `learning_rate`, `seed`             |
/// | `argmin-network`     | the same with a network; intervals                | `hidden` (required), `learning_rate`, `seed` |
/// | `ridge`              | least squares                                     | `lambda`, `squares`                 |
/// | `vaw`                | Vovk–Azoury–Warmuth                               | `lambda`, `squares`                 |
/// | `fourier`            | random Fourier features                           | `features`, `scale`, `seed`         |
/// | `latent-outcome`     | a distribution over best actions; intervals       | `outcomes`, `hidden`, `seed`        |
/// | `curves`             | a network that gives each context a curve         | `cosines`, `hidden`, `seed`         |
/// | `local`              | least squares around each of a few actions; intervals | `places`, `memory`              |
/// | `quadratic`          | least squares on squares, products and cosines    | `memory`, `cosines`, `seed`         |
/// | `piecewise-constant` | another oracle as a step function; intervals      | `of` (required), `cells`            |
/// | `aggregation`        | Vovk's aggregation of others                      | `members` (required)                |
pub(super) fn oracle(keys: &TomlKeys<'_>, found: Found<'_>) -> Result<OracleSpec, TomlError> {
    let Some(inner) = keys.inner("oracle", found) else {
        let kind = keys.chosen("oracle", found, &ORACLES)?;
        return match needs(kind) {
            Some(example) => {
                let what = format!("this oracle needs more keys, such as {example}");
                Err(keys.error_at(found, what))
            }
            None => Ok(default_of(kind)),
        };
    };
    let Some(kind) = inner.choice("kind", &ORACLES)? else {
        let names = ORACLES.map(|(name, _)| name).join(", ");
        return Err(inner.error(format!("oracle has no kind, expected one of {names}")));
    };
    let spec = match default_of(kind) {
        OracleSpec::Argmin { seed, .. } => OracleSpec::Argmin {
            hidden: match kind {
                OracleKind::ArgminNetwork => Some(required_hidden(&inner)?),
                _ => None,
            },
            learning_rate: learning_rate(&inner)?,
            seed: inner.count("seed")?.unwrap_or(seed),
        },
        OracleSpec::LeastSquares {
            forecaster,
            lambda,
            squares,
        } => OracleSpec::LeastSquares {
            forecaster,
            lambda: inner.number("lambda")?.unwrap_or(lambda),
            squares: inner.flag("squares")?.unwrap_or(squares),
        },
        OracleSpec::Fourier {
            features,
            scale,
            seed,
        } => OracleSpec::Fourier {
            features: inner.size("features", MOST_FEATURES)?.unwrap_or(features),
            scale: inner.number("scale")?.unwrap_or(scale),
            seed: inner.count("seed")?.unwrap_or(seed),
        },
        OracleSpec::Aggregation(_) => OracleSpec::Aggregation(members(&inner)?),
        OracleSpec::LatentOutcome {
            outcomes,
            hidden: widths,
            seed,
        } => OracleSpec::LatentOutcome {
            outcomes: inner.size("outcomes", MOST_OUTCOMES)?.unwrap_or(outcomes),
            hidden: hidden(&inner)?.unwrap_or(widths),
            seed: inner.count("seed")?.unwrap_or(seed),
        },
        OracleSpec::Curves {
            cosines,
            hidden: widths,
            seed,
        } => OracleSpec::Curves {
            cosines: inner.size("cosines", MOST_COSINES)?.unwrap_or(cosines),
            hidden: hidden(&inner)?.unwrap_or(widths),
            seed: inner.count("seed")?.unwrap_or(seed),
        },
        OracleSpec::Local { places, memory } => OracleSpec::Local {
            places: inner.size("places", MOST_PLACES)?.unwrap_or(places),
            memory: inner.number("memory")?.unwrap_or(memory),
        },
        OracleSpec::Quadratic {
            memory,
            cosines,
            seed,
        } => OracleSpec::Quadratic {
            memory: inner.number("memory")?.or(memory),
            cosines: inner.size("cosines", MOST_COSINES)?.unwrap_or(cosines),
            seed: inner.count("seed")?.unwrap_or(seed),
        },
        OracleSpec::PiecewiseConstant { cells, .. } => {
            let Some(of) = inner.get("of") else {
                let what = "piecewise-constant has no key `of`, such as of = \"curves\"";
                return Err(inner.error(what));
            };
            OracleSpec::PiecewiseConstant {
                cells: inner.size("cells", MOST_CELLS)?.unwrap_or(cells),
                of: Box::new(oracle(&inner, of)?),
            }
        }
    };
    inner.finish()?;
    Ok(spec)
}

/// An example of an oracle that cannot be given by its word alone.
fn needs(kind: OracleKind) -> Option<&'static str> {
    match kind {
        OracleKind::ArgminNetwork => Some("{ kind = \"argmin-network\", hidden = [16, 16] }"),
        OracleKind::PiecewiseConstant => {
            Some("{ kind = \"piecewise-constant\", cells = 128, of = \"curves\" }")
        }
        OracleKind::Aggregation => {
            Some("{ kind = \"aggregation\", members = [\"vaw\", \"fourier\"] }")
        }
        _ => None,
    }
}

/// The oracle of a kind without further keys.
fn default_of(kind: OracleKind) -> OracleSpec {
    let least_squares = |forecaster| OracleSpec::LeastSquares {
        forecaster,
        lambda: 1.0,
        squares: true,
    };
    match kind {
        OracleKind::ArgminLinear | OracleKind::ArgminNetwork => OracleSpec::paper(),
        OracleKind::Ridge => least_squares(Forecaster::Ridge),
        OracleKind::Vaw => least_squares(Forecaster::VovkAzouryWarmuth),
        OracleKind::Fourier => OracleSpec::Fourier {
            features: 256,
            scale: 1.0,
            seed: 0,
        },
        // As in egret's default learner.
        OracleKind::LatentOutcome => OracleSpec::LatentOutcome {
            outcomes: 32,
            hidden: [32, 32],
            seed: 0,
        },
        OracleKind::Curves => OracleSpec::Curves {
            cosines: 16,
            hidden: [32, 32],
            seed: 0,
        },
        OracleKind::Local => OracleSpec::Local {
            places: 16,
            memory: 4_000.0,
        },
        OracleKind::Quadratic => OracleSpec::default_on_vectors(1, 0),
        OracleKind::PiecewiseConstant => OracleSpec::PiecewiseConstant {
            cells: 128,
            of: Box::new(default_of(OracleKind::Curves)),
        },
        OracleKind::Aggregation => OracleSpec::Aggregation(Vec::new()),
    }
}

fn hidden(keys: &TomlKeys<'_>) -> Result<Option<[usize; 2]>, TomlError> {
    let Some(found) = keys.get("hidden") else {
        return Ok(None);
    };
    let widths = keys.counts("hidden", found)?;
    let [one, other] = widths[..] else {
        let expected = "two widths, such as [16, 16]";
        return Err(keys.unexpected("hidden", found, expected));
    };
    if let Some(wide) = widths.iter().find(|width| MOST_WIDTH < **width) {
        let what = format!("hidden contains {wide}, expected two widths of at most {MOST_WIDTH}");
        return Err(keys.error_at(found, what));
    }
    Ok(Some([one as usize, other as usize]))
}

fn required_hidden(keys: &TomlKeys<'_>) -> Result<[usize; 2], TomlError> {
    hidden(keys)?
        .ok_or_else(|| keys.error("argmin-network has no key `hidden`, such as hidden = [16, 16]"))
}

fn learning_rate(keys: &TomlKeys<'_>) -> Result<LearningRate, TomlError> {
    let Some(found) = keys.get("learning_rate") else {
        return Ok(LearningRate::default());
    };
    let expected = "{ rate, t0 } for rate · √(t0/(t0 + t))";
    let Some(inner) = keys.inner("learning_rate", found) else {
        return Err(keys.unexpected("learning_rate", found, expected));
    };
    let (rate, t0) = (inner.number("rate")?, inner.number("t0")?);
    inner.finish()?;
    match (rate, t0) {
        (Some(rate), Some(t0)) => keys.checked(found, LearningRate::new(rate, t0)),
        _ => Err(keys.unexpected("learning_rate", found, expected)),
    }
}

fn members(keys: &TomlKeys<'_>) -> Result<Vec<OracleSpec>, TomlError> {
    let expected = "a list of oracles, such as [\"vaw\", { kind = \"fourier\", scale = 4 }]";
    let Some(found) = keys.get("members") else {
        return Err(keys.error(format!("aggregation has no members, expected {expected}")));
    };
    let DeValue::Array(members) = found.value else {
        return Err(keys.unexpected("members", found, expected));
    };
    members
        .iter()
        .map(|member| oracle(keys, Found::new(member)))
        .collect()
}
