use std::path::{Path, PathBuf};

use egret::{Direction, Objective};

use crate::data::{Encoding, MissingLabels};
use crate::environment::LossFunction;
use crate::experiment::SIMULATORS;
use crate::experiment::toml_keys::{TomlError, TomlKeys};

/// Where the problems of an experiment come from.
#[derive(Debug, Clone, PartialEq)]
pub enum DataSource {
    /// A Parquet, CSV or ARFF file.
    File {
        /// The file.
        path: PathBuf,
        /// The name shown in tables; if absent, that of the file.
        name: Option<String>,
        /// The label, the features and the rows.
        encoding: Encoding,
        /// The loss of an action.
        loss: LossFunction,
    },
    /// A data set of OpenML.
    OpenMl {
        /// The id on OpenML.
        id: u32,
        /// Whether `id` is that of a task, which names a data set and its label.
        task: bool,
        /// The name shown in tables; if absent, that on OpenML.
        name: Option<String>,
        /// The label, the features and the rows.
        encoding: Encoding,
        /// The loss of an action.
        loss: LossFunction,
    },
    /// All of the paper's data sets in a folder.
    Folder {
        /// The folder.
        path: PathBuf,
        /// The rows of each set. The labels are those of the files.
        encoding: Encoding,
        /// The loss of an action.
        loss: LossFunction,
    },
    /// A simulator.
    Simulator {
        /// One of [`SIMULATORS`].
        name: String,
    },
}

/// No data set has more rows; beyond it, some machines cannot number them.
const MOST_ROWS: usize = 1_000_000_000;

/// The keys that say where data comes from; each `[[data]]` has exactly one.
const SOURCES: [&str; 5] = ["file", "folder", "openml", "task", "simulator"];

/// The keys of a table that becomes contexts and labels.
const ENCODING: [&str; 7] = [
    "target",
    "drop",
    "missing_labels",
    "rows",
    "seed",
    "loss",
    "objective",
];

/// Reads one `[[data]]`. Without a loss of its own, it has the loss of the experiment.
pub(super) fn data_source(
    keys: &TomlKeys<'_>,
    folder: &Path,
    default_loss: LossFunction,
) -> Result<DataSource, TomlError> {
    let source = source(keys)?;
    let refuse = |refused: &[&'static str]| {
        for key in refused {
            if let Some(found) = keys.get(key) {
                let what = format!("{key} does not apply to data that is a {source}");
                return Err(keys.error_at(found, what));
            }
        }
        Ok(())
    };
    let data = match source {
        "simulator" => {
            refuse(&["name"])?;
            refuse(&ENCODING)?;
            let names = SIMULATORS.map(|name| (name, name));
            let name = keys.choice("simulator", &names)?;
            DataSource::Simulator {
                name: name.unwrap_or_default().to_owned(),
            }
        }
        "folder" => {
            refuse(&["name", "target", "drop", "objective"])?;
            DataSource::Folder {
                path: folder.join(keys.text("folder")?.unwrap_or_default()),
                encoding: encoding(keys, default_loss)?,
                loss: loss(keys)?.unwrap_or(default_loss),
            }
        }
        "file" => DataSource::File {
            path: folder.join(keys.text("file")?.unwrap_or_default()),
            name: keys.label("name")?.map(str::to_owned),
            encoding: encoding(keys, default_loss)?,
            loss: loss(keys)?.unwrap_or(default_loss),
        },
        key => DataSource::OpenMl {
            id: openml_id(keys, key)?,
            task: key == "task",
            name: keys.label("name")?.map(str::to_owned),
            encoding: encoding(keys, default_loss)?,
            loss: loss(keys)?.unwrap_or(default_loss),
        },
    };
    keys.finish()?;
    Ok(data)
}

/// Which of [`SOURCES`] the table has.
fn source(keys: &TomlKeys<'_>) -> Result<&'static str, TomlError> {
    let named: Vec<&str> = SOURCES
        .into_iter()
        .filter(|source| keys.get(source).is_some())
        .collect();
    if let [source] = named[..] {
        return Ok(source);
    }
    keys.get("name");
    if named.is_empty() {
        // A misspelt source is better reported as an unknown key.
        for key in ENCODING {
            keys.get(key);
        }
        keys.finish()?;
    }
    let (found, all) = (named.join(" and "), SOURCES.join(", "));
    let found = if found.is_empty() { "none" } else { &found };
    Err(keys.error(format!("data has {found}, expected exactly one of {all}")))
}

fn openml_id(keys: &TomlKeys<'_>, key: &'static str) -> Result<u32, TomlError> {
    let id = keys.count(key)?.unwrap_or_default();
    u32::try_from(id).map_err(|_| {
        let found = keys.get(key).expect("it was read");
        keys.unexpected(key, found, "an id of OpenML")
    })
}

/// The loss function of a table, if it names one.
pub(super) fn loss(keys: &TomlKeys<'_>) -> Result<Option<LossFunction>, TomlError> {
    match (keys.get("loss"), keys.text("loss")?) {
        (Some(found), Some(text)) => match text.parse() {
            Ok(loss) => Ok(Some(loss)),
            Err(error) => Err(keys.error_at(found, format!("{error}"))),
        },
        _ => Ok(None),
    }
}

/// The objective of a table: its outcomes are distances from labels, or revenues, and so begin at 0.
fn objective(
    keys: &TomlKeys<'_>,
    default_loss: LossFunction,
) -> Result<Option<Objective>, TomlError> {
    let (Some(found), Some(text)) = (keys.get("objective"), keys.text("objective")?) else {
        return Ok(None);
    };
    let objective: Objective = match text.parse() {
        Ok(objective) => objective,
        Err(error) => return Err(keys.error_at(found, format!("{error}"))),
    };
    if objective.low() != 0.0 {
        let expected = "a range that begins at 0, such as maximize:0,50";
        return Err(keys.unexpected("objective", found, expected));
    }
    let loss = loss(keys)?.unwrap_or(default_loss);
    let wrong = match (loss, objective.direction()) {
        (LossFunction::Square, _) => {
            Some("the loss square is not in the units of labels: use absolute, quantile or pricing")
        }
        (LossFunction::Pricing, Direction::Minimize) => {
            Some("the loss pricing is what a price fails to earn: use maximize")
        }
        (LossFunction::Pricing, Direction::Maximize) => None,
        (_, Direction::Maximize) => {
            Some("this loss is a distance from the label: use minimize, or the loss pricing")
        }
        (_, Direction::Minimize) => None,
    };
    if let Some(what) = wrong {
        return Err(keys.error_at(found, what));
    }
    Ok(Some(objective))
}

fn encoding(keys: &TomlKeys<'_>, default_loss: LossFunction) -> Result<Encoding, TomlError> {
    let plain = Encoding::default();
    let missing = [
        ("refuse", MissingLabels::Refuse),
        ("drop", MissingLabels::Drop),
    ];
    Ok(Encoding {
        target: keys.text("target")?.map(str::to_owned),
        drop: keys.texts("drop")?.unwrap_or_default(),
        missing_labels: keys.choice("missing_labels", &missing)?.unwrap_or_default(),
        objective: objective(keys, default_loss)?,
        at_most: keys.size("rows", MOST_ROWS)?.unwrap_or(plain.at_most),
        seed: keys.count("seed")?.unwrap_or(plain.seed),
    })
}
