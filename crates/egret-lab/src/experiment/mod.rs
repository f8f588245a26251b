//! Experiments from a TOML file: data × learners × seeds.
//!
//! [`Experiment::read`] checks the file; errors name the line and the valid values. [`Experiment::load`] reads the data, and
//! [`Experiment::run`] plays every learner on every problem. [`EXAMPLE_EXPERIMENT`] is a file to start with.

mod any_environment;
mod data_source;
mod learner_keys;
mod oracle_keys;
mod run;
mod toml_keys;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use egret::{
    Context, ExplorerError, Interval, Learner, ModelSpec, OracleSpecError, OutOfRange,
    SettingsError,
};

pub use self::any_environment::{AnyEnvironment, SIMULATORS, UnknownSimulator};
pub use self::data_source::DataSource;
use self::learner_keys::learners;
pub use self::run::{ExperimentError, LoadedData};
pub use self::toml_keys::TomlError;
use self::toml_keys::{Found, TomlFile, TomlKeys, did_you_mean};
use crate::learner::EgretFactory;

/// An experiment, as described by a file: data × learners × seeds.
///
/// ```
/// use std::path::Path;
/// use egret_lab::Experiment;
///
/// let text = r#"
/// [experiment]
/// name = "prices"
/// seeds = 5
/// decisions = 2000
/// baseline = "smooth"
///
/// [[data]]
/// file = "prices.csv"
/// target = "sold_at"
///
/// [[learner]]
/// name = "smooth"
/// preset = "smooth_igw"
///
/// [[learner]]
/// name = "capped"
/// preset = "paper"
/// kappa_inf = [2, 4]
/// "#;
/// let experiment = Experiment::parse("prices.toml", text, Path::new("."))?;
/// let names: Vec<_> = experiment.learners.iter().map(|learner| &learner.name).collect();
/// assert_eq!(names, ["smooth", "capped kappa_inf=2", "capped kappa_inf=4"]);
///
/// let misspelt = text.replace("smooth_igw", "smoothigw");
/// let error = Experiment::parse("prices.toml", &misspelt, Path::new(".")).expect_err("no such preset");
/// assert!(error.to_string().starts_with("prices.toml, line 14: preset is \"smoothigw\", expected one of default, "));
/// # Ok::<(), egret_lab::TomlError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// The name, for reports.
    pub name: String,
    /// The seeds: every learner plays every data set once with each.
    pub seeds: Vec<u64>,
    /// The number of decisions of a run, if the data has as many rows.
    pub decisions: usize,
    /// The coverage of every interval.
    pub confidence: f64,
    /// The learner that others are compared with; if absent, the first.
    pub baseline: Option<String>,
    /// The data sets and simulators.
    pub data: Vec<DataSource>,
    /// The learners.
    pub learners: Vec<EgretFactory>,
}

/// An experiment file to start with. It needs no data.
pub const EXAMPLE_EXPERIMENT: &str = include_str!("../../examples/experiment.toml");

impl Experiment {
    /// Reads a file. Paths in it are relative to its folder.
    pub fn read(path: &Path) -> Result<Self, ExperimentFileError> {
        let text =
            std::fs::read_to_string(path).map_err(|error| ExperimentFileError::Unreadable {
                path: path.to_owned(),
                error,
            })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(Self::parse(&path.display().to_string(), &text, folder)?)
    }

    /// Parses the text of a file. `file` is its name for messages; paths in the text are relative to `folder`.
    pub fn parse(file: &str, text: &str, folder: &Path) -> Result<Self, TomlError> {
        let file = TomlFile { name: file, text };
        let root = file.parse()?;
        let root = TomlKeys::new(&file, "the file", 0, &root);
        let Some(head) = root.table("experiment")? else {
            return Err(root.error("no [experiment], which needs at least a name"));
        };
        let name = match (head.get("name"), head.text("name")?) {
            (Some(found), Some(name)) => checked_name(&head, found, name)?,
            _ => return Err(head.error("experiment has no name, such as name = \"first\"")),
        };
        let seeds = seeds(&head)?;
        let decisions = head.size("decisions", MOST_DECISIONS)?.unwrap_or(10_000);
        let confidence = confidence(&head)?;
        let loss = data_source::loss(&head)?.unwrap_or_default();
        let baseline = head.get("baseline").zip(head.text("baseline")?);
        head.finish()?;

        let mut data = Vec::new();
        for keys in root.tables("data")? {
            data.push(data_source::data_source(&keys, folder, loss)?);
        }
        let learners = all_learners(&root)?;
        root.finish()?;
        if data.is_empty() {
            return Err(root
                .error("no [[data]], such as file = \"prices.csv\" or simulator = \"interval\""));
        }
        if learners.is_empty() {
            return Err(root.error("no [[learner]], such as preset = \"default\""));
        }
        check_runs(&head, [data.len(), learners.len(), seeds.len()])?;
        let baseline = baseline
            .map(|(found, baseline)| checked_baseline(&head, found, baseline, &learners))
            .transpose()?;
        Ok(Self {
            name,
            seeds,
            decisions,
            confidence,
            baseline,
            data,
            learners,
        })
    }
}

/// As for the flags of the other commands.
const MOST_SEEDS: usize = 100_000;
/// As for the flags of the other commands.
const MOST_DECISIONS: usize = 10_000_000;
/// Each run is kept in memory with its key.
const MOST_RUNS: usize = 1_000_000;

/// The learners of all `[[learner]]` tables; no two share a name.
fn all_learners(root: &TomlKeys<'_>) -> Result<Vec<EgretFactory>, TomlError> {
    let mut all: Vec<EgretFactory> = Vec::new();
    for keys in root.tables("learner")? {
        for learner in learners(&keys)? {
            check_numbers(&keys, &learner)?;
            if all.iter().any(|other| other.name == learner.name) {
                let name = &learner.name;
                let what = format!("two learners are called {name:?}: give each its own name");
                return Err(keys.error(what));
            }
            all.push(learner);
        }
    }
    Ok(all)
}

fn check_runs(head: &TomlKeys<'_>, counts: [usize; 3]) -> Result<(), TomlError> {
    let runs = counts.iter().try_fold(1_usize, |of, &n| of.checked_mul(n));
    if runs.is_none_or(|runs| MOST_RUNS < runs) {
        let [data, learners, seeds] = counts;
        return Err(head.error(format!(
            "{data} data × {learners} learners × {seeds} seeds are more than {MOST_RUNS} runs: use fewer, or several files"
        )));
    }
    Ok(())
}

fn checked_baseline(
    head: &TomlKeys<'_>,
    found: Found<'_>,
    baseline: &str,
    learners: &[EgretFactory],
) -> Result<String, TomlError> {
    let names: Vec<&str> = learners.iter().map(|other| other.name.as_str()).collect();
    if names.contains(&baseline) {
        return Ok(baseline.to_owned());
    }
    let (all, near) = (names.join(", "), did_you_mean(baseline, &names));
    let expected = format!("the name of a learner: {all}{near}");
    Err(head.unexpected("baseline", found, &expected))
}

/// The name of an experiment is also that of its folder.
fn checked_name(head: &TomlKeys<'_>, found: Found<'_>, name: &str) -> Result<String, TomlError> {
    let plain = |letter: char| letter.is_alphanumeric() || " -_.".contains(letter);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        let expected = "letters, digits, spaces and -_. since the folder of results has this name";
        return Err(head.unexpected("name", found, expected));
    }
    Ok(name.to_owned())
}

/// A number n, for the seeds 1 to n, or a list.
fn seeds(head: &TomlKeys<'_>) -> Result<Vec<u64>, TomlError> {
    let Some(found) = head.get("seeds") else {
        return Ok((1..=5).collect());
    };
    if head.list_len("seeds").is_none() {
        let count = head.size("seeds", MOST_SEEDS)?.unwrap_or_default() as u64;
        return Ok((1..=count).collect());
    }
    let seeds = head.counts("seeds", found)?;
    if MOST_SEEDS < seeds.len() {
        let what = format!(
            "seeds has {} values, expected at most {MOST_SEEDS}",
            seeds.len()
        );
        return Err(head.error_at(found, what));
    }
    let known: BTreeSet<u64> = seeds.iter().copied().collect();
    if seeds.is_empty() || known.len() < seeds.len() {
        let expected = "a list of different seeds, or the number of seeds";
        return Err(head.unexpected("seeds", found, expected));
    }
    Ok(seeds)
}

fn confidence(head: &TomlKeys<'_>) -> Result<f64, TomlError> {
    match (head.get("confidence"), head.number("confidence")?) {
        (Some(found), Some(value)) if !(0.0 < value && value < 1.0) => {
            Err(head.unexpected("confidence", found, "a number in (0, 1)"))
        }
        (_, value) => Ok(value.unwrap_or(0.9)),
    }
}

/// Makes the learner once, on an interval, so that a number out of range is reported with its line.
fn check_numbers(keys: &TomlKeys<'_>, learner: &EgretFactory) -> Result<(), TomlError> {
    let interval = Interval::new(0.0, 1.0).expect("0 < 1");
    let mut spec = ModelSpec::new(interval, 1);
    if let Some(oracle) = &learner.oracle {
        spec.oracle = oracle.clone();
    }
    let wrong =
        |error: OutOfRange| keys.error_near(&keys_of(error.name), error.value, error.to_string());
    let oracle = match spec.build_oracle() {
        Ok(oracle) => oracle,
        Err(OracleSpecError::OutOfRange(error)) => return Err(wrong(error)),
        Err(error) => return Err(keys.error(error.to_string())),
    };
    let made = Learner::<Context, f64>::new(Box::new(interval), oracle, learner.settings.clone());
    match made.map(drop) {
        Err(SettingsError::OutOfRange(error))
        | Err(SettingsError::Explorer(ExplorerError::OutOfRange(error))) => Err(wrong(error)),
        // Whether an explorer fits depends on the data.
        _ => Ok(()),
    }
}

/// The keys that an error of the core is about.
fn keys_of(name: &'static str) -> Vec<&'static str> {
    match name {
        "tau" | "number of taus" => vec!["taus"],
        "width" | "hidden width" => vec!["hidden"],
        // It depends on the widths and on the number of outputs.
        "number of parameters" => vec!["hidden", "outcomes", "cosines"],
        name => vec![name],
    }
}

/// Why a file is not an experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentFileError {
    /// The file does not exist, or cannot be read.
    #[error("cannot read {}: {error}; `egret lab run --example` prints a file to start with", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A line is wrong.
    #[error(transparent)]
    Line(#[from] TomlError),
}

#[cfg(test)]
mod tests {
    use egret::{Explorer, Forecaster, OracleSpec};

    use super::*;
    use crate::data::Encoding;

    const SMALL: &str = "\
[experiment]
name = \"small\"
seeds = [3, 1]

[[data]]
file = \"a.csv\"

[[learner]]
preset = \"paper\"
";

    fn parse(text: &str) -> Result<Experiment, TomlError> {
        Experiment::parse("e.toml", text, Path::new("dir"))
    }

    fn said(text: &str) -> String {
        parse(text).expect_err("something is wrong").to_string()
    }

    #[test]
    fn absent_keys_have_defaults() {
        let experiment = parse(SMALL).expect("sound");
        assert_eq!(experiment.seeds, [3, 1]);
        assert_eq!(experiment.decisions, 10_000);
        assert_eq!(experiment.confidence, 0.9);
        assert_eq!(experiment.learners[0].name, "paper");
        let DataSource::File { path, encoding, .. } = &experiment.data[0] else {
            panic!("a file");
        };
        assert_eq!(path, Path::new("dir/a.csv"));
        assert_eq!(*encoding, Encoding::default());
        parse(EXAMPLE_EXPERIMENT).expect("the example is sound");
    }

    #[test]
    fn an_objective_begins_at_0_and_fits_the_loss() {
        let with =
            |lines: &str| parse(&SMALL.replace("[[learner]]", &format!("{lines}\n\n[[learner]]")));
        let experiment = with("loss = \"pricing\"\nobjective = \"maximize:0,50\"").expect("sound");
        let DataSource::File { encoding, .. } = &experiment.data[0] else {
            panic!("a file");
        };
        let objective = encoding.objective.expect("given");
        assert_eq!(objective.to_string(), "maximize:0,50");
        for (lines, expected) in [
            ("objective = \"maximize:5,50\"", "begins at 0"),
            ("objective = \"most\"", "e.toml, line 8"),
            (
                "loss = \"square\"\nobjective = \"minimize:0,50\"",
                "not in the units",
            ),
            ("objective = \"maximize:0,50\"", "a distance from the label"),
            (
                "loss = \"pricing\"\nobjective = \"minimize:0,50\"",
                "use maximize",
            ),
        ] {
            let said = with(lines).expect_err("refused").to_string();
            assert!(said.contains(expected), "{said}");
        }
        let simulator = SMALL.replace(
            "file = \"a.csv\"",
            "simulator = \"box\"\nobjective = \"maximize:0,50\"",
        );
        assert!(said(&simulator).contains("objective does not apply"));
    }

    #[test]
    fn every_setting_of_the_core_has_a_key() {
        let all = "\
[[learner]]
name = \"a\"
explorer = \"capped_igw\"
normalizer = \"betting\"
kappa_inf = 24
delta = 0.025
z_error = 0.25
budget = 5000
gamma = { c0 = 1, c = 18, p = 0.5 }
taus = { low = 2, high = 64, count = 6 }
eta = 0.1
density = \"conditional\"
example_weight = { cap = 5 }
oracle = \"fourier\"
batch = 16

[[learner]]
name = \"b\"
explorer = \"epsilon_greedy\"
epsilon = 0.1
gamma = 100
taus = [1, 2]
";
        let experiment = parse(&format!("{SMALL}\n{all}")).expect("sound");
        let [_, a, b] = &experiment.learners[..] else {
            panic!("three learners");
        };
        assert_eq!(a.batch, 16);
        assert_eq!(a.settings.taus.len(), 6);
        let Explorer::CappedIgw(capped) = a.settings.explorer else {
            panic!("capped");
        };
        assert_eq!((capped.kappa_inf, capped.budget), (24.0, 5000));
        assert_eq!(
            b.settings.explorer,
            Explorer::EpsilonGreedy { epsilon: 0.1 }
        );
        assert_eq!(b.settings.taus, [1.0, 2.0]);
    }

    #[test]
    fn every_oracle_of_the_core_has_a_word() {
        let oracle = |text: &str| {
            let experiment = parse(&format!("{SMALL}oracle = {text}\n")).expect("sound");
            experiment.learners[0].oracle.clone().expect("given")
        };
        let network = "{ kind = \"argmin-network\", hidden = [4, 4], learning_rate = { rate = 0.01, t0 = 50 } }";
        let OracleSpec::Argmin { hidden, .. } = oracle(network) else {
            panic!("an argmin oracle");
        };
        assert_eq!(hidden, Some([4, 4]));
        assert_eq!(oracle("\"argmin-linear\""), OracleSpec::paper());
        let members = "[\"vaw\", { kind = \"fourier\", scale = 4 }, { kind = \"piecewise-constant\", cells = 64, \
            of = { kind = \"latent-outcome\", hidden = [8, 8] } }, \"curves\", { kind = \"ridge\", squares = false }]";
        let aggregation = format!("{{ kind = \"aggregation\", members = {members} }}");
        let OracleSpec::Aggregation(members) = oracle(&aggregation) else {
            panic!("an aggregation");
        };
        let least_squares = |forecaster, squares| OracleSpec::LeastSquares {
            forecaster,
            lambda: 1.0,
            squares,
        };
        let [vaw, fourier, pieces, curves, ridge] = &members[..] else {
            panic!("five members");
        };
        assert_eq!(*vaw, least_squares(Forecaster::VovkAzouryWarmuth, true));
        assert!(matches!(fourier, OracleSpec::Fourier { scale: 4.0, .. }));
        let OracleSpec::PiecewiseConstant { cells: 64, of } = pieces else {
            panic!("piecewise constant");
        };
        assert!(matches!(
            **of,
            OracleSpec::LatentOutcome { hidden: [8, 8], .. }
        ));
        assert!(matches!(curves, OracleSpec::Curves { .. }));
        assert_eq!(*ridge, least_squares(Forecaster::Ridge, false));
    }

    #[test]
    fn numbers_that_the_core_refuses_are_reported_with_their_line() {
        for (line, expected) in [
            ("taus = 0.5", "line 10: tau is 0.5"),
            ("taus = []", "line 10: number of taus is 0"),
            ("taus = [\n2,\n0.5]", "line 12: tau is 0.5"),
            ("eta = 0", "line 10: eta is 0"),
            ("example_weight = { cap = -1 }", "line 10: cap is -1"),
            (
                "oracle = { kind = \"argmin-network\", hidden = [0, 1] }",
                "line 10: hidden width is 0",
            ),
            (
                "[learner.oracle]\nkind = \"latent-outcome\"\nhidden = [4, 0]",
                "line 12: width is 0",
            ),
            (
                "oracle = { kind = \"curves\", cosines = 0 }",
                "line 10: cosines is 0",
            ),
            (
                "[learner.oracle]\nkind = \"aggregation\"\nmembers = [\n{ kind = \"fourier\", features = 8 },\n\
                 { kind = \"fourier\", features = 9 },\n]",
                "line 14: features is 9",
            ),
            (
                "[learner.oracle]\nkind = \"aggregation\"\nmembers = []",
                "line 12: members is 0",
            ),
        ] {
            let message = said(&format!("{SMALL}{line}\n"));
            assert!(message.contains(expected), "{message}\nexpected {expected}");
        }
    }

    #[test]
    fn numbers_too_large_for_memory_are_reported_with_their_line() {
        let head = |line: &str| SMALL.replace("seeds = [3, 1]", line);
        let data = |line: &str| SMALL.replace("\"a.csv\"", &format!("\"a.csv\"\n{line}"));
        let learner = |line: &str| format!("{SMALL}{line}\n");
        let most = |key: &str, most: u64| {
            format!("{key} is 9000000000000000000, expected a whole number from 1 to {most}")
        };
        let huge = "9000000000000000000";
        for (text, line, expected) in [
            (
                head("seeds = 99999999999"),
                3,
                "seeds is 99999999999, expected a whole number from 1 to 100000".to_owned(),
            ),
            (
                head(&format!("decisions = {huge}")),
                3,
                most("decisions", 10_000_000),
            ),
            (
                head(&format!("seeds = {:?}", Vec::from_iter(0..100_001))),
                3,
                "seeds has 100001 values, expected at most 100000".to_owned(),
            ),
            (
                data(&format!("rows = {huge}")),
                7,
                most("rows", 1_000_000_000),
            ),
            (
                learner(&format!("batch = {huge}")),
                10,
                most("batch", 1_000_000),
            ),
            (
                learner(&format!("budget = {huge}")),
                10,
                most("budget", 1_000_000_000),
            ),
            (
                learner(&format!("taus = {{ low = 2, high = 8, count = {huge} }}")),
                10,
                most("count", 4096),
            ),
            (
                learner(&format!(
                    "oracle = {{ kind = \"fourier\", features = {huge} }}"
                )),
                10,
                most("features", 65_536),
            ),
            (
                learner(&format!(
                    "oracle = {{ kind = \"latent-outcome\", outcomes = {huge} }}"
                )),
                10,
                most("outcomes", 4096),
            ),
            (
                learner(&format!(
                    "oracle = {{ kind = \"curves\", cosines = {huge} }}"
                )),
                10,
                most("cosines", 4096),
            ),
            (
                learner(&format!(
                    "oracle = {{ kind = \"piecewise-constant\", of = \"curves\", cells = {huge} }}"
                )),
                10,
                most("cells", 65_536),
            ),
            (
                learner("[learner.oracle]\nkind = \"argmin-network\"\nhidden = [16, 5000]"),
                12,
                "hidden contains 5000, expected two widths of at most 4096".to_owned(),
            ),
            (
                learner(&format!(
                    "eta = {0:?}\nkappa_inf = {0:?}\ndelta = {0:?}",
                    vec![0.5; 30]
                )),
                8,
                "more than 10000 learners".to_owned(),
            ),
            (
                head("seeds = 100000")
                    + &format!("eta = {:?}\n", (1..=11).map(f64::from).collect::<Vec<_>>()),
                1,
                "1 data × 11 learners × 100000 seeds are more than 1000000 runs".to_owned(),
            ),
        ] {
            let message = said(&text);
            assert!(
                message.starts_with(&format!("e.toml, line {line}: ")),
                "{message}, expected line {line}"
            );
            assert!(
                message.contains(&expected),
                "{message}\nexpected {expected}"
            );
        }
    }

    #[test]
    fn names_fit_into_a_table() {
        for name in ["", "  ", "a\\nb", "a\\u0007"] {
            let message = said(&format!("{SMALL}name = \"{name}\"\n"));
            let expected = "expected a name: not empty, on one line";
            assert!(
                message.starts_with("e.toml, line 10: name is \""),
                "{message}"
            );
            assert!(message.contains(expected), "{message}");
        }
        let message = said(&SMALL.replace("\"a.csv\"", "\"a.csv\"\nname = \"\""));
        assert!(
            message.starts_with("e.toml, line 7: name is \"\""),
            "{message}"
        );
    }

    #[test]
    fn errors_name_the_line_the_value_and_the_valid_values() {
        let swap = |from: &str, to: &str| said(&SMALL.replace(from, to));
        for (message, expected) in [
            (
                swap("\"paper\"", "\"papper\""),
                "e.toml, line 9: preset is \"papper\", expected one of default, paper, exact, smooth_igw, \
                 epsilon_greedy, uniform; did you mean paper?",
            ),
            (
                swap("seeds = [3, 1]", "seed = 3"),
                "e.toml, line 3: experiment has no key \"seed\", expected one of baseline, confidence, decisions, \
                 loss, name, seeds; did you mean seeds?",
            ),
            (
                swap("[3, 1]", "\"five\""),
                "e.toml, line 3: seeds is \"five\", expected a whole number from 1 to 100000",
            ),
            (
                swap("preset = \"paper\"", "kappa_inf = 0.5"),
                "e.toml, line 9: kappa_inf is 0.5, expected a number in",
            ),
            (
                swap(
                    "preset = \"paper\"",
                    "explorer = \"uniform\"\nkappa_inf = 2",
                ),
                "e.toml, line 10: kappa_inf is for the explorer capped_igw, but this learner's is uniform",
            ),
            (
                swap("preset = \"paper\"", "oracle = \"piecewise-constant\""),
                "e.toml, line 9: this oracle needs more keys, such as { kind = \"piecewise-constant\", ",
            ),
            (
                swap(
                    "preset = \"paper\"",
                    "oracle = { kind = \"argmin-network\" }",
                ),
                "e.toml, line 9: argmin-network has no key `hidden`, such as hidden = [16, 16]",
            ),
            (
                swap(
                    "preset = \"paper\"",
                    "oracle = { kind = \"argmin-linear\", hidden = [4, 4] }",
                ),
                "e.toml, line 9: oracle has no key \"hidden\", expected one of kind, learning_rate, seed",
            ),
            (
                swap(
                    "preset = \"paper\"",
                    "oracle = { kind = \"ridge\", lambda = -1 }",
                ),
                "e.toml, line 9: lambda is -1, expected a number in",
            ),
            (
                swap("file = \"a.csv\"", "flie = \"a.csv\""),
                "e.toml, line 6: data has no key \"flie\", expected one of ",
            ),
            (
                swap("file = \"a.csv\"", "file = \"a.csv\"\nopenml = 150"),
                "e.toml, line 5: data has file and openml, expected exactly one of ",
            ),
            (
                swap("seeds = [3, 1]", "baseline = \"papr\""),
                "e.toml, line 3: baseline is \"papr\", expected the name of a learner: paper; did you mean paper?",
            ),
            (
                swap("seeds = [3, 1]", "loss = \"abs\""),
                "e.toml, line 3: unknown loss \"abs\", expected absolute, square, ",
            ),
            (
                swap("name = \"small\"", "name = \"a/b\""),
                "e.toml, line 2: name is \"a/b\", expected letters, ",
            ),
            (
                swap("[[data]]", "[data]"),
                "data is a table, expected [[data]]",
            ),
            (
                format!("{} ", said("seeds = 3")),
                "e.toml, line 1: no [experiment]",
            ),
            (
                said(&format!("{SMALL}\n[[learner]]\npreset = \"paper\"")),
                "e.toml, line 11: two learners are called \"paper\"",
            ),
        ] {
            assert!(message.contains(expected), "{message}\nexpected {expected}");
        }
    }
}
