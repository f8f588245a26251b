use egret::{
    CappedIgw, DensityKind, ExampleWeight, Explorer, Forecaster, GammaSchedule, LearningRate,
    Normalization, OracleSpec, OutOfRange, RelativeError, geometric_taus,
};
use toml::de::DeValue;

use crate::toml_keys::{Found, TomlError, TomlKeys};
use crate::{EgretContender, Preset};

/// Keys that may hold a list in place of one value: a learner for each.
const GRID: [&str; 8] = [
    "preset",
    "explorer",
    "normalizer",
    "kappa_inf",
    "delta",
    "epsilon",
    "eta",
    "batch",
];

/// The most learners of one `[[learner]]`.
const MOST_LEARNERS: usize = 10_000;
/// The most decisions before their losses are learned: all of them are kept in memory.
const MOST_BATCH: usize = 1_000_000;
/// The most proposals for a decision.
const MOST_BUDGET: usize = 1_000_000_000;
/// The most τ of a geometric grid.
const MOST_TAUS: usize = 4096;
/// The widest hidden layer: two of it have 2²⁴ parameters between them.
const MOST_WIDTH: u64 = 4096;
/// As in the core.
const MOST_FEATURES: usize = 65_536;
/// As in the core.
const MOST_OUTCOMES: usize = 4096;
/// As in the core.
const MOST_COSINES: usize = 4096;
/// As in the core.
const MOST_CELLS: usize = 65_536;

/// The learners of one `[[learner]]`: one, or one for each combination where keys hold lists.
pub(crate) fn learners(keys: &TomlKeys<'_>) -> Result<Vec<EgretContender>, TomlError> {
    let mut grid: Vec<Vec<(&'static str, usize)>> = vec![Vec::new()];
    for key in GRID {
        let Some(count) = keys.list_len(key) else {
            continue;
        };
        if count == 0 {
            return Err(keys.error(format!("{key} of learner is an empty list")));
        }
        if MOST_LEARNERS / count < grid.len() {
            let what = format!("the lists of learner make more than {MOST_LEARNERS} learners");
            return Err(keys.error(what));
        }
        grid = grid
            .iter()
            .flat_map(|chosen| {
                (0..count).map(move |place| {
                    let mut chosen = chosen.clone();
                    chosen.push((key, place));
                    chosen
                })
            })
            .collect();
    }
    grid.iter().map(|chosen| learner(keys, chosen)).collect()
}

fn learner(
    keys: &TomlKeys<'_>,
    chosen: &[(&'static str, usize)],
) -> Result<EgretContender, TomlError> {
    let keys = keys.at(chosen);
    let preset = keys.choice("preset", &Preset::ALL)?.unwrap_or_default();
    let mut learner = preset.contender();
    if let Some(name) = keys.label("name")? {
        learner.name = name.to_owned();
    }
    for &(key, _) in chosen {
        let value = keys.get(key).expect("the list has an element there").value;
        let value = match value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            _ => continue,
        };
        learner.name = format!("{} {key}={value}", learner.name);
    }
    let settings = &mut learner.settings;
    settings.explorer = explorer(&keys, settings.explorer)?;
    if let Some(found) = keys.get("gamma") {
        settings.gamma = gamma(&keys, found)?;
    }
    if let Some(found) = keys.get("taus") {
        settings.taus = taus(&keys, found)?;
    }
    if let Some(eta) = keys.number("eta")? {
        settings.eta = eta;
    }
    let densities = [
        ("conditional", DensityKind::Conditional),
        ("marginal", DensityKind::Marginal),
    ];
    if let Some(density) = keys.choice("density", &densities)? {
        settings.density = density;
    }
    if let Some(found) = keys.get("example_weight") {
        settings.example_weight = example_weight(&keys, found)?;
    }
    if let Some(found) = keys.get("oracle") {
        learner.oracle = Some(oracle(&keys, found)?);
    }
    if let Some(batch) = keys.size("batch", MOST_BATCH)? {
        learner.batch = batch;
    }
    keys.finish()?;
    Ok(learner)
}

/// The names of explorers; with them keys that belong to each alone.
const EXPLORERS: [(&str, &str); 5] = [
    ("capped_igw", "capped_igw"),
    ("smooth_igw", "smooth_igw"),
    ("uniform", "uniform"),
    ("epsilon_greedy", "epsilon_greedy"),
    ("square_cb", "square_cb"),
];

const NORMALIZERS: [(&str, Normalization); 5] = [
    ("auto", Normalization::Auto),
    ("exact", Normalization::Exact),
    ("mixture", Normalization::Mixture),
    ("betting", Normalization::Betting),
    ("fixed_sample", Normalization::FixedSample),
];

fn explorer(keys: &TomlKeys<'_>, preset: Explorer) -> Result<Explorer, TomlError> {
    let name = match keys.choice("explorer", &EXPLORERS)? {
        Some(name) => name,
        None => match preset {
            Explorer::CappedIgw(_) => "capped_igw",
            Explorer::SmoothIgw => "smooth_igw",
            Explorer::Uniform => "uniform",
            Explorer::EpsilonGreedy { .. } => "epsilon_greedy",
            Explorer::SquareCb => "square_cb",
        },
    };
    // Asked for in any case, so that a list of the valid keys has them all.
    let belongs = |key: &'static str, owner: &str| match keys.get(key) {
        Some(found) if owner != name => {
            let what = format!("{key} is for the explorer {owner}, and this learner's is {name}");
            Err(keys.error_at(found, what))
        }
        found => Ok(found),
    };
    for key in ["normalizer", "kappa_inf", "delta", "z_error", "budget"] {
        belongs(key, "capped_igw")?;
    }
    belongs("epsilon", "epsilon_greedy")?;
    Ok(match name {
        "capped_igw" => {
            let mut capped = match preset {
                Explorer::CappedIgw(capped) => capped,
                _ => CappedIgw::default(),
            };
            if let Some(normalization) = keys.choice("normalizer", &NORMALIZERS)? {
                capped.normalization = normalization;
            }
            if let Some(kappa_inf) = keys.number("kappa_inf")? {
                capped.kappa_inf = kappa_inf;
            }
            if let Some(delta) = keys.number("delta")? {
                capped.delta = delta;
            }
            if let (Some(found), Some(error)) = (keys.get("z_error"), keys.number("z_error")?) {
                capped.z_error = checked(keys, found, RelativeError::new(error))?;
            }
            if let Some(budget) = keys.size("budget", MOST_BUDGET)? {
                capped.budget = budget;
            }
            Explorer::CappedIgw(capped)
        }
        "smooth_igw" => Explorer::SmoothIgw,
        "uniform" => Explorer::Uniform,
        "epsilon_greedy" => {
            let preset = match preset {
                Explorer::EpsilonGreedy { epsilon } => epsilon,
                _ => 0.05,
            };
            let epsilon = keys.number("epsilon")?.unwrap_or(preset);
            Explorer::EpsilonGreedy { epsilon }
        }
        _ => Explorer::SquareCb,
    })
}

/// A number is the same γ for ever; else c0 + c·tᵖ, or Theorem 1's.
fn gamma(keys: &TomlKeys<'_>, found: Found<'_>) -> Result<GammaSchedule, TomlError> {
    let expected = "a number, { c0, c, p } for c0 + c·t^p, or { horizon, kappa_inf, reg_sq }";
    let Some(inner) = keys.inner("gamma", found) else {
        return match keys.number("gamma") {
            Ok(Some(gamma)) => checked(keys, found, GammaSchedule::constant(gamma)),
            _ => Err(keys.unexpected("gamma", found, expected)),
        };
    };
    let power = (inner.number("c0")?, inner.number("c")?, inner.number("p")?);
    let theorem = (
        inner.number("horizon")?,
        inner.number("kappa_inf")?,
        inner.number("reg_sq")?,
    );
    inner.finish()?;
    match (power, theorem) {
        ((Some(c0), Some(c), Some(p)), (None, None, None)) => {
            checked(keys, found, GammaSchedule::power(c0, c, p))
        }
        ((None, None, None), (Some(horizon), Some(kappa_inf), Some(reg_sq))) => {
            let schedule = GammaSchedule::theorem1(horizon, kappa_inf, reg_sq);
            checked(keys, found, schedule)
        }
        _ => Err(keys.unexpected("gamma", found, expected)),
    }
}

/// A number, a list, or a geometric grid.
fn taus(keys: &TomlKeys<'_>, found: Found<'_>) -> Result<Vec<f64>, TomlError> {
    let expected = "a number, a list of numbers, or { low, high, count }";
    if let Some(inner) = keys.inner("taus", found) {
        let grid = (
            inner.number("low")?,
            inner.number("high")?,
            inner.size("count", MOST_TAUS)?,
        );
        inner.finish()?;
        return match grid {
            (Some(low), Some(high), Some(count)) => {
                checked(keys, found, geometric_taus(low, high, count))
            }
            _ => Err(keys.unexpected("taus", found, expected)),
        };
    }
    match found.value {
        DeValue::Array(_) => keys.numbers("taus", found),
        _ => match keys.number("taus") {
            Ok(Some(tau)) => Ok(vec![tau]),
            _ => Err(keys.unexpected("taus", found, expected)),
        },
    }
}

fn example_weight(keys: &TomlKeys<'_>, found: Found<'_>) -> Result<ExampleWeight, TomlError> {
    let expected = "\"one\", or { cap } for min(1/p, cap)";
    if let Some(inner) = keys.inner("example_weight", found) {
        let cap = inner.number("cap")?;
        inner.finish()?;
        return match cap {
            Some(cap) => Ok(ExampleWeight::ClippedInverse { cap }),
            None => Err(keys.unexpected("example_weight", found, expected)),
        };
    }
    match found.value.as_str() {
        Some("one") => Ok(ExampleWeight::One),
        _ => Err(keys.unexpected("example_weight", found, expected)),
    }
}

#[derive(Clone, Copy)]
enum OracleKind {
    Argmin,
    Linear,
    Fourier,
    Outcomes,
    Curves,
    Steps,
    Aggregation,
}

const ORACLES: [(&str, OracleKind); 7] = [
    ("argmin", OracleKind::Argmin),
    ("linear", OracleKind::Linear),
    ("fourier", OracleKind::Fourier),
    ("outcomes", OracleKind::Outcomes),
    ("curves", OracleKind::Curves),
    ("steps", OracleKind::Steps),
    ("aggregation", OracleKind::Aggregation),
];

/// A word, or a table whose `kind` is that word.
fn oracle(keys: &TomlKeys<'_>, found: Found<'_>) -> Result<OracleSpec, TomlError> {
    let Some(inner) = keys.inner("oracle", found) else {
        return match keys.chosen("oracle", found, &ORACLES)? {
            OracleKind::Aggregation => Err(keys.error_at(
                found,
                "an aggregation needs members: { kind = \"aggregation\", members = [\"linear\", \"fourier\"] }",
            )),
            OracleKind::Steps => Err(keys.error_at(
                found,
                "steps are those of another oracle: { kind = \"steps\", cells = 128, of = \"curves\" }",
            )),
            kind => Ok(plain_oracle(kind)),
        };
    };
    let Some(kind) = inner.choice("kind", &ORACLES)? else {
        let names = ORACLES.map(|(name, _)| name).join(", ");
        return Err(inner.error(format!("oracle has no kind, expected one of {names}")));
    };
    let spec = match plain_oracle(kind) {
        OracleSpec::Argmin { seed, .. } => OracleSpec::Argmin {
            hidden: hidden(&inner)?,
            learning_rate: learning_rate(&inner)?,
            seed: inner.count("seed")?.unwrap_or(seed),
        },
        OracleSpec::LeastSquares {
            forecaster,
            lambda,
            squares,
        } => {
            let forecasters = [
                ("ridge", Forecaster::Ridge),
                ("vovk_azoury_warmuth", Forecaster::VovkAzouryWarmuth),
            ];
            OracleSpec::LeastSquares {
                forecaster: inner
                    .choice("forecaster", &forecasters)?
                    .unwrap_or(forecaster),
                lambda: inner.number("lambda")?.unwrap_or(lambda),
                squares: inner.flag("squares")?.unwrap_or(squares),
            }
        }
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
        OracleSpec::PiecewiseConstant { cells, .. } => {
            let Some(of) = inner.get("of") else {
                return Err(inner.error("steps have no `of`, such as of = \"curves\""));
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

/// Each kind where nothing more is said.
fn plain_oracle(kind: OracleKind) -> OracleSpec {
    match kind {
        OracleKind::Argmin => OracleSpec::paper(),
        OracleKind::Linear => OracleSpec::LeastSquares {
            forecaster: Forecaster::VovkAzouryWarmuth,
            lambda: 1.0,
            squares: true,
        },
        OracleKind::Fourier => OracleSpec::Fourier {
            features: 256,
            scale: 1.0,
            seed: 0,
        },
        // As in the learner that needs no tuning.
        OracleKind::Outcomes => OracleSpec::LatentOutcome {
            outcomes: 32,
            hidden: [32, 32],
            seed: 0,
        },
        OracleKind::Curves => OracleSpec::Curves {
            cosines: 16,
            hidden: [32, 32],
            seed: 0,
        },
        OracleKind::Steps => OracleSpec::PiecewiseConstant {
            cells: 128,
            of: Box::new(plain_oracle(OracleKind::Curves)),
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
        let what = format!("hidden holds {wide}, expected two widths of {MOST_WIDTH} at most");
        return Err(keys.error_at(found, what));
    }
    Ok(Some([one as usize, other as usize]))
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
        (Some(rate), Some(t0)) => checked(keys, found, LearningRate::new(rate, t0)),
        _ => Err(keys.unexpected("learning_rate", found, expected)),
    }
}

fn members(keys: &TomlKeys<'_>) -> Result<Vec<OracleSpec>, TomlError> {
    let expected = "a list of oracles, such as [\"linear\", { kind = \"fourier\", scale = 4 }]";
    let Some(found) = keys.get("members") else {
        return Err(keys.error(format!("aggregation has no members, expected {expected}")));
    };
    let DeValue::Array(members) = found.value else {
        return Err(keys.unexpected("members", found, expected));
    };
    members
        .iter()
        .map(|member| {
            let found = Found {
                place: member.span().start,
                value: member.get_ref(),
            };
            oracle(keys, found)
        })
        .collect()
}

/// A number that the core refuses, with its line.
fn checked<T>(
    keys: &TomlKeys<'_>,
    found: Found<'_>,
    result: Result<T, OutOfRange>,
) -> Result<T, TomlError> {
    result.map_err(|error| keys.error_at(found, error.to_string()))
}
