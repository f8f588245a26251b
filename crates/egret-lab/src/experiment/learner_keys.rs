use egret::{
    CappedIgw, DensityKind, ExampleWeight, Explorer, GammaSchedule, Normalization, RelativeError,
    Zoom, geometric_taus,
};
use toml::de::DeValue;

use crate::experiment::oracle_keys::oracle;
use crate::experiment::toml_keys::{Found, TomlError, TomlKeys};
use crate::learner::{EgretFactory, Preset};

/// Keys that may hold a list of values; each value makes a learner.
const GRID: [&str; 9] = [
    "preset",
    "explorer",
    "normalizer",
    "kappa_inf",
    "delta",
    "epsilon",
    "eta",
    "batch",
    "encoding",
];

/// The largest number of learners of one `[[learner]]`.
const MOST_LEARNERS: usize = 10_000;
/// The largest batch: its rounds are kept in memory.
const MOST_BATCH: usize = 1_000_000;
/// The largest number of proposals for a decision.
const MOST_BUDGET: usize = 1_000_000_000;
/// The largest number of τ in a geometric grid.
const MOST_TAUS: usize = 4096;
/// The learners of one `[[learner]]`: one, or one for each combination if keys hold lists.
pub(super) fn learners(keys: &TomlKeys<'_>) -> Result<Vec<EgretFactory>, TomlError> {
    let mut grid: Vec<Vec<(&'static str, usize)>> = vec![Vec::new()];
    for key in GRID {
        let Some(count) = keys.list_len(key) else {
            continue;
        };
        if count == 0 {
            return Err(keys.error(format!("{key} of learner is an empty list")));
        }
        if MOST_LEARNERS / count < grid.len() {
            let what = format!("the lists of learner give more than {MOST_LEARNERS} learners");
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
) -> Result<EgretFactory, TomlError> {
    let keys = keys.at(chosen);
    let preset = keys.choice("preset", &Preset::ALL)?.unwrap_or_default();
    let mut learner = preset.factory();
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
    let encodings = [("named", true), ("dense", false)];
    if let Some(by_name) = keys.choice("encoding", &encodings)? {
        learner.by_name = by_name;
    }
    keys.finish()?;
    Ok(learner)
}

/// The names of explorers.
const EXPLORERS: [(&str, &str); 7] = [
    ("auto", "auto"),
    ("zoom", "zoom"),
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

/// The keys of CappedIGW alone.
const OF_CAPPED_IGW: [&str; 5] = ["normalizer", "kappa_inf", "delta", "z_error", "budget"];

fn explorer(keys: &TomlKeys<'_>, preset: Explorer) -> Result<Explorer, TomlError> {
    // All are asked for, so that the list of valid keys is complete.
    let capped_keys = OF_CAPPED_IGW.map(|key| keys.get(key).is_some());
    let name = match keys.choice("explorer", &EXPLORERS)? {
        Some(name) => name,
        None => match preset {
            Explorer::Auto { .. } if capped_keys.contains(&true) => "capped_igw",
            Explorer::Auto { .. } => "auto",
            Explorer::Zoom(_) => "zoom",
            Explorer::CappedIgw(_) => "capped_igw",
            Explorer::SmoothIgw => "smooth_igw",
            Explorer::Uniform => "uniform",
            Explorer::EpsilonGreedy { .. } => "epsilon_greedy",
            Explorer::SquareCb => "square_cb",
        },
    };
    let belongs = |key: &'static str, owners: &[&str]| match keys.get(key) {
        Some(found) if !owners.contains(&name) => {
            let owner = owners.join(", ");
            let what = format!("{key} is for the explorer {owner}, but this learner's is {name}");
            Err(keys.error_at(found, what))
        }
        found => Ok(found),
    };
    for key in OF_CAPPED_IGW {
        belongs(key, &["capped_igw"])?;
    }
    belongs("uniform", &["capped_igw", "auto", "zoom"])?;
    belongs("epsilon", &["epsilon_greedy"])?;
    let uniform = keys.number("uniform")?;
    Ok(match name {
        "capped_igw" => {
            let mut capped = match preset {
                Explorer::CappedIgw(capped) => capped,
                Explorer::Auto { uniform } => CappedIgw {
                    uniform,
                    ..CappedIgw::default()
                },
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
                capped.z_error = keys.checked(found, RelativeError::new(error))?;
            }
            if let Some(budget) = keys.size("budget", MOST_BUDGET)? {
                capped.budget = budget;
            }
            if let Some(uniform) = uniform {
                capped.uniform = uniform;
            }
            Explorer::CappedIgw(capped)
        }
        "auto" | "zoom" => {
            let share = uniform.unwrap_or(match preset {
                Explorer::Auto { uniform } => uniform,
                Explorer::Zoom(zoom) => zoom.uniform,
                _ => Zoom::default().uniform,
            });
            match name {
                "zoom" => Explorer::Zoom(Zoom { uniform: share }),
                _ => Explorer::Auto { uniform: share },
            }
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

/// A number is a constant γ; a table is (c0 + c·t)/(2σ), c0 + c·tᵖ, or the schedule of Theorem 1.
fn gamma(keys: &TomlKeys<'_>, found: Found<'_>) -> Result<GammaSchedule, TomlError> {
    let expected = "a number, { c0, c } for (c0 + c·t)/(2σ), { c0, c, p } for c0 + c·t^p, or { horizon, kappa_inf, reg_sq }";
    let Some(inner) = keys.inner("gamma", found) else {
        return match keys.number("gamma") {
            Ok(Some(gamma)) => keys.checked(found, GammaSchedule::constant(gamma)),
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
        ((Some(c0), Some(c), None), (None, None, None)) => {
            keys.checked(found, GammaSchedule::per_error(c0, c))
        }
        ((Some(c0), Some(c), Some(p)), (None, None, None)) => {
            keys.checked(found, GammaSchedule::power(c0, c, p))
        }
        ((None, None, None), (Some(horizon), Some(kappa_inf), Some(reg_sq))) => {
            let schedule = GammaSchedule::theorem1(horizon, kappa_inf, reg_sq);
            keys.checked(found, schedule)
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
                keys.checked(found, geometric_taus(low, high, count))
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
