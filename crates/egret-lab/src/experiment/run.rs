use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::comparison::counted;
use crate::data::{
    DataFolder, DataFolderError, Encoding, EncodingError, EncodingProblem, OpenMl, OpenMlError,
    OpenMlSettings, Table, TableError, stem,
};
use crate::environment::{LossFunction, Supervised, SupervisedToBandit};
use crate::experiment::{AnyEnvironment, DataSource, Experiment, UnknownSimulator};
use crate::learner::PlayError;
use crate::run::{Journal, Progress, RunRecord, StudyError, run_all};

/// The problems of an experiment, and notes about their data.
pub struct LoadedData {
    /// The problems; names are unique.
    pub environments: Vec<AnyEnvironment>,
    /// Which data is missing, and what was left out.
    pub notes: Vec<String>,
}

impl Experiment {
    /// Reads all data. OpenML is used only if the experiment names it, with [`OpenMlSettings::from_env`].
    pub fn load(&self) -> Result<LoadedData, ExperimentError> {
        let mut loaded = LoadedData {
            environments: Vec::new(),
            notes: Vec::new(),
        };
        // Data that cannot be dense is no obstacle to learners that take features by name.
        let dense = self.learners.iter().any(|learner| !learner.by_name);
        for source in &self.data {
            source.load(dense, &mut loaded)?;
        }
        let mut names = BTreeSet::new();
        for environment in &loaded.environments {
            if !names.insert(environment.name()) {
                let name = environment.name().to_owned();
                return Err(ExperimentError::SameName { name });
            }
        }
        Ok(loaded)
    }

    /// Plays every learner on every problem with every seed, and gives the results in this order. Runs in the journal are not
    /// played again.
    ///
    /// Before the first run, each learner is made once for each problem, so that one that does not fit is reported at once.
    pub fn run(
        &self,
        environments: &[AnyEnvironment],
        journal: Option<&Journal<RunRecord>>,
        progress: &dyn Progress,
    ) -> Result<Vec<RunRecord>, ExperimentError> {
        let mut tasks = Vec::new();
        for environment in environments {
            tasks.extend(environment.tasks(self)?);
        }
        Ok(run_all(&tasks, journal, progress)?)
    }
}

impl DataSource {
    fn load(&self, dense: bool, loaded: &mut LoadedData) -> Result<(), ExperimentError> {
        match self {
            Self::File {
                path,
                name,
                encoding,
                loss,
            } => {
                let table = Table::read(path)?;
                let name = name.clone().unwrap_or_else(|| stem(path));
                loaded.add(encoded(encoding, &name, &table, dense)?, *loss);
            }
            Self::OpenMl {
                id,
                task,
                name,
                encoding,
                loss,
            } => {
                let site = OpenMl::new(OpenMlSettings::from_env()?)?;
                let data = if *task {
                    site.task(*id)?
                } else {
                    site.data(*id)?
                };
                let name = name.clone().unwrap_or_else(|| data.full_name());
                loaded.add(encoded(encoding, &name, &data.table, dense)?, *loss);
            }
            Self::Folder {
                path,
                encoding,
                loss,
            } => {
                let folder = DataFolder::open(path)?;
                if folder.found().is_empty() {
                    return Err(ExperimentError::NoData { path: path.clone() });
                }
                for file in folder.found() {
                    loaded.add(file.read(encoding)?, *loss);
                }
                let missing: Vec<String> =
                    folder.missing().iter().map(ToString::to_string).collect();
                if !missing.is_empty() {
                    let (path, missing) = (path.display(), missing.join(", "));
                    loaded.notes.push(format!("not in {path}: {missing}"));
                }
            }
            Self::Simulator { name } => {
                loaded.environments.push(AnyEnvironment::simulator(name)?);
            }
        }
        Ok(())
    }
}

/// A table as data: by name only if it cannot be dense and no learner needs that.
fn encoded(
    encoding: &Encoding,
    name: &str,
    table: &Table,
    dense: bool,
) -> Result<Supervised, EncodingError> {
    match encoding.encode(name, table) {
        Err(EncodingError::Encoding {
            problem: EncodingProblem::TooManyLevels { .. },
            ..
        }) if !dense => encoding.encode_by_name(name, table),
        data => data,
    }
}

impl LoadedData {
    fn add(&mut self, data: Supervised, loss: LossFunction) {
        if 0 < data.dropped() {
            let (name, dropped) = (data.name(), counted(data.dropped() as u64, "row"));
            self.notes
                .push(format!("{name}: left out {dropped} without a label"));
        }
        let bandit = SupervisedToBandit::new(Arc::new(data), loss);
        self.environments.push(AnyEnvironment::new(bandit));
    }
}

/// Why an experiment cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// Data cannot be read or encoded.
    #[error(transparent)]
    Data(#[from] EncodingError),
    /// A file cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A folder cannot be listed.
    #[error(transparent)]
    Folder(#[from] DataFolderError),
    /// A folder has no data.
    #[error(
        "{} has none of the paper's data sets: name files by their OpenML id, such as 150_covertype.parquet",
        path.display()
    )]
    NoData {
        /// The folder.
        path: PathBuf,
    },
    /// A data set of OpenML is not available.
    #[error(transparent)]
    OpenMl(#[from] OpenMlError),
    /// There is no simulator of this name.
    #[error(transparent)]
    Simulator(#[from] UnknownSimulator),
    /// Two problems have the same name.
    #[error("two data sets are called {name:?}: give one another name with name = \"…\"")]
    SameName {
        /// The name.
        name: String,
    },
    /// A learner does not fit a problem.
    #[error("learner {learner:?} cannot play on {data}: {error}")]
    Unfit {
        /// The learner.
        learner: String,
        /// The data set.
        data: String,
        /// Why.
        error: PlayError,
    },
    /// A run failed, or was stopped.
    #[error(transparent)]
    Study(#[from] StudyError),
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::run::Silent;

    fn experiment(text: &str) -> Experiment {
        let head = "[experiment]\nname = \"a\"\nseeds = 2\ndecisions = 64\n";
        Experiment::parse("a.toml", &format!("{head}{text}"), Path::new("")).expect("sound")
    }

    #[test]
    fn every_learner_plays_everywhere_and_known_runs_are_not_repeated() {
        let text = "[[data]]\nsimulator = \"interval\"\n[[data]]\nsimulator = \"box\"\n\
                    [[learner]]\nname = \"vaw\"\noracle = \"vaw\"\ntaus = 8\n\
                    [[learner]]\npreset = \"uniform\"\noracle = \"vaw\"\n";
        let experiment = experiment(text);
        let loaded = experiment.load().expect("simulators");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal.jsonl");
        let journal = Journal::open(&path).expect("opens");
        let run = |journal: &Journal<RunRecord>| {
            let records = experiment.run(&loaded.environments, Some(journal), &Silent);
            records.expect("played")
        };
        let records = run(&journal);
        let order: Vec<_> = records
            .iter()
            .map(|record| (&*record.environment, &*record.learner, record.seed))
            .collect();
        assert_eq!(order[0], ("interval", "vaw", 1));
        assert_eq!(order[1], ("interval", "vaw", 2));
        assert_eq!(order[2], ("interval", "uniform", 1));
        assert_eq!(order[7], ("box", "uniform", 2));
        drop(journal);
        let journal = Journal::open(&path).expect("opens");
        // Even the seconds are the same: nothing was played.
        assert_eq!(run(&journal), records);
    }

    #[test]
    fn records_distinguish_settings_and_old_journals_are_read() {
        let play = |gamma: &str| {
            let text = "[[data]]\nsimulator = \"interval\"\n[[learner]]\nname = \"mine\"\ngamma = ";
            let experiment = experiment(&format!("{text}{gamma}\n"));
            let loaded = experiment.load().expect("a simulator");
            let records = experiment.run(&loaded.environments, None, &Silent);
            records.expect("played")
        };
        let (low, high) = (play("1"), play("100000"));
        assert_eq!(low[0].settings.len(), 8);
        assert_eq!(low[0].settings, low[1].settings);
        assert_ne!(low[0].settings, high[0].settings);
        let mut old = serde_json::to_value(&low[0]).expect("plain data");
        let fields = old.as_object_mut().expect("a record");
        fields.remove("settings").expect("it was written");
        let log = fields.remove("log").expect("it was written");
        fields.insert("exhaust".to_owned(), log);
        let old: RunRecord = serde_json::from_value(old).expect("read");
        assert_eq!(old.settings, "");
        assert_eq!(old.log, low[0].log);
    }

    #[test]
    fn a_learner_that_does_not_fit_is_reported_before_the_first_run() {
        let text = "[[data]]\nsimulator = \"box\"\n[[learner]]\npreset = \"paper\"\n";
        let experiment = experiment(text);
        let loaded = experiment.load().expect("a simulator");
        let error = experiment
            .run(&loaded.environments, None, &Silent)
            .expect_err("the argmin oracle is for intervals");
        let said = error.to_string();
        assert!(
            said.starts_with("learner \"paper\" cannot play on box: "),
            "{said}"
        );
    }

    #[test]
    fn a_column_of_very_many_categories_is_played_by_name_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows: String = (0..3_000)
            .map(|row| format!("c{},{}\n", row * 7 % 1_500, row % 4))
            .collect();
        std::fs::write(
            folder.path().join("shop.csv"),
            format!("customer,y\n{rows}"),
        )
        .expect("written");
        let load = |learners: &str| {
            let text = format!(
                "[experiment]\nname = \"a\"\nseeds = 1\ndecisions = 200\n[[data]]\nfile = \"shop.csv\"\n{learners}"
            );
            let experiment = Experiment::parse("a.toml", &text, folder.path()).expect("sound");
            let loaded = experiment.load()?;
            experiment.run(&loaded.environments, None, &Silent)
        };
        let named = "[[learner]]\n[[learner]]\npreset = \"uniform\"\nencoding = \"named\"\n";
        assert_eq!(load(named).expect("played").len(), 2);
        let error = load("[[learner]]\n[[learner]]\npreset = \"paper\"\n").expect_err("dense");
        let said = error.to_string();
        assert!(said.contains("\"customer\" has 1500 categories"), "{said}");
    }

    #[test]
    fn problems_have_unique_names() {
        let text =
            "[[data]]\nsimulator = \"interval\"\n[[data]]\nsimulator = \"interval\"\n[[learner]]\n";
        let Err(error) = experiment(text).load() else {
            panic!("one name for two");
        };
        assert!(error.to_string().contains("\"interval\""), "{error}");
    }
}
