use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use egret::{
    Blueprint, Context, ExplorerError, Learner, OracleSpec, OracleSpecError, OutOfRange,
    SettingsError, Space,
};

use crate::toml_keys::{Found, TomlError, TomlFile, TomlKeys, did_you_mean};
use crate::{EgretContender, Encoding, LossFunction, MissingLabels, SIMULATORS, learner_keys};

/// An experiment as a file describes it: data × learners × seeds.
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
    /// What reports call it.
    pub name: String,
    /// A run for each, of each learner on each data set.
    pub seeds: Vec<u64>,
    /// How many decisions a run makes, where the data have so many.
    pub decisions: usize,
    /// How often an interval holds what it is of.
    pub confidence: f64,
    /// The learner that others are compared with; else the first.
    pub baseline: Option<String>,
    /// What is played on.
    pub data: Vec<DataSource>,
    /// Who plays.
    pub learners: Vec<EgretContender>,
}

/// Where the problems of an experiment come from.
#[derive(Debug, Clone, PartialEq)]
pub enum DataSource {
    /// A file: Parquet, CSV or ARFF.
    File {
        /// Where it is.
        path: PathBuf,
        /// What tables call it; else as the file is called.
        name: Option<String>,
        /// Labels, columns, rows.
        encoding: Encoding,
        /// What an action loses.
        loss: LossFunction,
    },
    /// A data set of OpenML.
    OpenMl {
        /// Its id there.
        id: u32,
        /// Whether that is the id of a task, which names a data set and its label.
        task: bool,
        /// What tables call it; else as OpenML does.
        name: Option<String>,
        /// Labels, columns, rows.
        encoding: Encoding,
        /// What an action loses.
        loss: LossFunction,
    },
    /// All of the paper's data sets that a folder holds.
    Folder {
        /// Where it is.
        path: PathBuf,
        /// How many rows of each; labels are the files' own.
        encoding: Encoding,
        /// What an action loses.
        loss: LossFunction,
    },
    /// A simulator, by name.
    Simulator {
        /// Which.
        name: String,
    },
}

/// A file to begin with: it needs no data.
pub const EXAMPLE_EXPERIMENT: &str = include_str!("../examples/experiment.toml");

impl Experiment {
    /// Reads a file. Files that it names are sought from its own folder.
    pub fn read(path: &Path) -> Result<Self, ExperimentFileError> {
        let text =
            std::fs::read_to_string(path).map_err(|error| ExperimentFileError::Unreadable {
                path: path.to_owned(),
                error,
            })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(Self::parse(&path.display().to_string(), &text, folder)?)
    }

    /// Reads what a file says. `file` is its name for messages, `folder` where the files that it names are sought from.
    pub fn parse(file: &str, text: &str, folder: &Path) -> Result<Self, TomlError> {
        let file = TomlFile { name: file, text };
        let root = file.parse()?;
        let root = TomlKeys::new(&file, "the file", 0, &root);
        let Some(head) = root.table("experiment")? else {
            return Err(root.error("no [experiment], which has at least a name"));
        };
        let name = match (head.get("name"), head.text("name")?) {
            (Some(found), Some(name)) => checked_name(&head, found, name)?,
            _ => return Err(head.error("experiment has no name, such as name = \"first\"")),
        };
        let seeds = seeds(&head)?;
        let decisions = head.size("decisions", MOST_DECISIONS)?.unwrap_or(10_000);
        let confidence = confidence(&head)?;
        let loss = loss(&head)?.unwrap_or_default();
        let baseline = head.get("baseline").zip(head.text("baseline")?);
        head.finish()?;

        let mut data = Vec::new();
        for keys in root.tables("data")? {
            data.push(data_source(&keys, folder, loss)?);
        }
        let mut learners: Vec<EgretContender> = Vec::new();
        for keys in root.tables("learner")? {
            for learner in learner_keys::learners(&keys)? {
                check_numbers(&keys, &learner)?;
                if learners.iter().any(|other| other.name == learner.name) {
                    let name = &learner.name;
                    let what =
                        format!("two learners are called {name:?}: give each a name of its own");
                    return Err(keys.error(what));
                }
                learners.push(learner);
            }
        }
        root.finish()?;
        if data.is_empty() {
            return Err(root
                .error("no [[data]], such as file = \"prices.csv\" or simulator = \"interval\""));
        }
        if learners.is_empty() {
            return Err(root.error("no [[learner]], such as preset = \"default\""));
        }
        let counts = [data.len(), learners.len(), seeds.len()];
        let runs = counts.iter().try_fold(1_usize, |of, &n| of.checked_mul(n));
        if runs.is_none_or(|runs| MOST_RUNS < runs) {
            let [data, learners, seeds] = counts;
            return Err(head.error(format!(
                "{data} data × {learners} learners × {seeds} seeds are more than {MOST_RUNS} runs: take fewer, or several files"
            )));
        }
        let baseline = baseline
            .map(|(found, baseline)| {
                let names: Vec<&str> = learners.iter().map(|other| other.name.as_str()).collect();
                if names.contains(&baseline) {
                    return Ok(baseline.to_owned());
                }
                let (all, near) = (names.join(", "), did_you_mean(baseline, &names));
                let expected = format!("the name of a learner: {all}{near}");
                Err(head.unexpected("baseline", found, &expected))
            })
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
/// Each is kept in memory with its key.
const MOST_RUNS: usize = 1_000_000;
/// No data set has more; beyond it a row could not be numbered on every machine.
const MOST_ROWS: usize = 1_000_000_000;

/// The name is also that of a folder.
fn checked_name(head: &TomlKeys<'_>, found: Found<'_>, name: &str) -> Result<String, TomlError> {
    let plain = |letter: char| letter.is_alphanumeric() || " -_.".contains(letter);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        let expected = "letters, digits, spaces and -_. for it also names the folder of results";
        return Err(head.unexpected("name", found, expected));
    }
    Ok(name.to_owned())
}

/// So many from 1 on, or a list.
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
        let what = format!("seeds has {}, expected {MOST_SEEDS} at most", seeds.len());
        return Err(head.error_at(found, what));
    }
    let known: BTreeSet<u64> = seeds.iter().copied().collect();
    if seeds.is_empty() || known.len() < seeds.len() {
        let expected = "a list of seeds that differ, or how many there are to be";
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

fn loss(keys: &TomlKeys<'_>) -> Result<Option<LossFunction>, TomlError> {
    match (keys.get("loss"), keys.text("loss")?) {
        (Some(found), Some(text)) => match text.parse() {
            Ok(loss) => Ok(Some(loss)),
            Err(error) => Err(keys.error_at(found, format!("{error}"))),
        },
        _ => Ok(None),
    }
}

const SOURCES: [&str; 5] = ["file", "folder", "openml", "task", "simulator"];

fn data_source(
    keys: &TomlKeys<'_>,
    folder: &Path,
    loss_of_all: LossFunction,
) -> Result<DataSource, TomlError> {
    let named: Vec<&str> = SOURCES
        .into_iter()
        .filter(|source| keys.get(source).is_some())
        .collect();
    let [source] = named[..] else {
        let (found, all) = (named.join(" and "), SOURCES.join(", "));
        let found = if found.is_empty() { "none" } else { &found };
        let what = format!("data has {found}, expected exactly one of {all}");
        keys.get("name");
        // A misspelt source is better told by its own name.
        if named.is_empty() {
            encoding_keys(keys);
            keys.finish()?;
        }
        return Err(keys.error(what));
    };
    let belongs = |key: &'static str| match keys.get(key) {
        Some(found) => {
            let what = format!("{key} has no meaning for data that is a {source}");
            Err(keys.error_at(found, what))
        }
        None => Ok(()),
    };
    let data = match source {
        "simulator" => {
            for key in [
                "name",
                "target",
                "drop",
                "missing_labels",
                "rows",
                "seed",
                "loss",
            ] {
                belongs(key)?;
            }
            let names = SIMULATORS.map(|name| (name, name));
            let name = keys.choice("simulator", &names)?;
            DataSource::Simulator {
                name: name.unwrap_or_default().to_owned(),
            }
        }
        "folder" => {
            for key in ["name", "target", "drop"] {
                belongs(key)?;
            }
            DataSource::Folder {
                path: folder.join(keys.text("folder")?.unwrap_or_default()),
                encoding: encoding(keys)?,
                loss: loss(keys)?.unwrap_or(loss_of_all),
            }
        }
        "file" => DataSource::File {
            path: folder.join(keys.text("file")?.unwrap_or_default()),
            name: keys.label("name")?.map(str::to_owned),
            encoding: encoding(keys)?,
            loss: loss(keys)?.unwrap_or(loss_of_all),
        },
        _ => {
            let key = if source == "task" { "task" } else { "openml" };
            let id = keys.count(key)?.unwrap_or_default();
            let id = u32::try_from(id).map_err(|_| {
                let found = keys.get(key).expect("it was read");
                keys.unexpected(key, found, "an id of OpenML")
            })?;
            DataSource::OpenMl {
                id,
                task: source == "task",
                name: keys.label("name")?.map(str::to_owned),
                encoding: encoding(keys)?,
                loss: loss(keys)?.unwrap_or(loss_of_all),
            }
        }
    };
    keys.finish()?;
    Ok(data)
}

/// Asks for what [`encoding`] reads, so that a list of valid keys has it.
fn encoding_keys(keys: &TomlKeys<'_>) {
    for key in ["target", "drop", "missing_labels", "rows", "seed", "loss"] {
        keys.get(key);
    }
}

fn encoding(keys: &TomlKeys<'_>) -> Result<Encoding, TomlError> {
    let plain = Encoding::default();
    let missing = [
        ("refuse", MissingLabels::Refuse),
        ("drop", MissingLabels::Drop),
    ];
    Ok(Encoding {
        target: keys.text("target")?.map(str::to_owned),
        drop: keys.texts("drop")?.unwrap_or_default(),
        missing_labels: keys.choice("missing_labels", &missing)?.unwrap_or_default(),
        at_most: keys.size("rows", MOST_ROWS)?.unwrap_or(plain.at_most),
        seed: keys.count("seed")?.unwrap_or(plain.seed),
    })
}

/// Makes the learner once where anything can be made, so that a number out of its range is told with its line.
fn check_numbers(keys: &TomlKeys<'_>, learner: &EgretContender) -> Result<(), TomlError> {
    let blueprint = Blueprint {
        space: Space::Interval {
            low: 0.0,
            high: 1.0,
        },
        context_dim: 1,
        embeddings: None,
        oracle: learner.oracle.clone().unwrap_or(OracleSpec::untuned(0)),
    };
    let wrong =
        |error: OutOfRange| keys.error_near(&keys_of(error.name), error.value, error.to_string());
    let oracle = match blueprint.number_oracle() {
        Ok(oracle) => oracle,
        Err(OracleSpecError::OutOfRange(error)) => return Err(wrong(error)),
        Err(error) => return Err(keys.error(error.to_string())),
    };
    let measure = egret::Interval::new(0.0, 1.0).expect("0 < 1");
    let made = Learner::<Context, f64>::new(Box::new(measure), oracle, learner.settings.clone());
    match made.map(drop) {
        Err(SettingsError::OutOfRange(error))
        | Err(SettingsError::Explorer(ExplorerError::OutOfRange(error))) => Err(wrong(error)),
        // Whether an explorer fits is known once there is data.
        _ => Ok(()),
    }
}

/// The keys that a word of the core's errors is about, where it is not the key itself.
fn keys_of(name: &'static str) -> Vec<&'static str> {
    match name {
        "tau" | "number of taus" => vec!["taus"],
        "width" | "hidden width" => vec!["hidden"],
        // What a network comes to by its widths and the number of its outputs.
        "number of parameters" => vec!["hidden", "outcomes", "cosines"],
        name => vec![name],
    }
}

/// Why there is no experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentFileError {
    /// No file, or not ours to read.
    #[error("cannot read {}: {error}; `egret lab run --example` prints a file to begin with", path.display())]
    Unreadable {
        /// Which.
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
    use egret::Explorer;

    use super::*;

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
    fn what_is_not_said_has_a_default() {
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
    fn every_setting_of_the_core_can_be_said() {
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
oracle = { kind = \"aggregation\", members = [\"linear\", { kind = \"fourier\", scale = 4 }, \
 { kind = \"steps\", cells = 64, of = { kind = \"outcomes\", hidden = [8, 8] } }, \"curves\"] }
batch = 16

[[learner]]
name = \"b\"
explorer = \"epsilon_greedy\"
epsilon = 0.1
gamma = 100
taus = [1, 2]

[learner.oracle]
kind = \"argmin\"
hidden = [4, 4]
learning_rate = { rate = 0.01, t0 = 50 }
";
        let experiment = parse(&format!("{SMALL}\n{all}")).expect("sound");
        let [_, a, b] = &experiment.learners[..] else {
            panic!("three learners");
        };
        assert_eq!(a.batch, 16);
        assert_eq!(a.settings.taus.len(), 6);
        let Some(OracleSpec::Aggregation(members)) = &a.oracle else {
            panic!("an aggregation");
        };
        let OracleSpec::PiecewiseConstant { cells: 64, of } = &members[2] else {
            panic!("steps third");
        };
        assert!(matches!(
            **of,
            OracleSpec::LatentOutcome { hidden: [8, 8], .. }
        ));
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
    fn numbers_that_the_core_refuses_are_told_with_their_line() {
        for (line, expected) in [
            ("taus = 0.5", "line 10: tau is 0.5"),
            ("taus = []", "line 10: number of taus is 0"),
            ("taus = [\n2,\n0.5]", "line 12: tau is 0.5"),
            ("eta = 0", "line 10: eta is 0"),
            ("example_weight = { cap = -1 }", "line 10: cap is -1"),
            (
                "oracle = { kind = \"argmin\", hidden = [0, 1] }",
                "line 10: hidden width is 0",
            ),
            (
                "[learner.oracle]\nkind = \"outcomes\"\nhidden = [4, 0]",
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
    fn numbers_that_no_memory_holds_are_told_with_their_line() {
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
                "seeds has 100001, expected 100000 at most".to_owned(),
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
                    "oracle = {{ kind = \"outcomes\", outcomes = {huge} }}"
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
                    "oracle = {{ kind = \"steps\", of = \"curves\", cells = {huge} }}"
                )),
                10,
                most("cells", 65_536),
            ),
            (
                learner("[learner.oracle]\nkind = \"argmin\"\nhidden = [16, 5000]"),
                12,
                "hidden holds 5000, expected two widths of 4096 at most".to_owned(),
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
    fn names_of_learners_can_be_read_in_a_table() {
        for name in ["", "  ", "a\\nb", "a\\u0007"] {
            let message = said(&format!("{SMALL}name = \"{name}\"\n"));
            let expected = "expected a name: something to read, on one line";
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
    fn errors_name_the_line_the_value_and_what_is_valid() {
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
                "e.toml, line 10: kappa_inf is for the explorer capped_igw, and this learner's is uniform",
            ),
            (
                swap(
                    "preset = \"paper\"",
                    "oracle = { kind = \"linear\", lambda = -1 }",
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
                "e.toml, line 3: the loss \"abs\" is not known, expected absolute, square, ",
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
