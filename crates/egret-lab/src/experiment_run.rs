use std::collections::BTreeSet;
use std::sync::Arc;

use egret::Action;

use crate::comparison::counted;
use crate::{
    AnyEnvironment, Contender, DataFolder, DataFolderError, DataSource, EncodingError, Environment,
    Experiment, Journal, LossFunction, OpenMl, OpenMlError, OpenMlSettings, PlayError, Progress,
    Run, RunRecord, StudyError, Supervised, SupervisedToBandit, Table, TableError, Task,
    UnknownSimulator, run_all, simulator,
};

/// The problems of an experiment, with what is to be said of them.
pub struct LoadedData {
    /// Each has a name of its own.
    pub environments: Vec<AnyEnvironment>,
    /// What was not there, and what was left out.
    pub notes: Vec<String>,
}

impl Experiment {
    /// Reads all data. OpenML is asked only if the experiment names it, under settings from the environment's variables.
    pub fn load(&self) -> Result<LoadedData, ExperimentError> {
        let mut loaded = LoadedData {
            environments: Vec::new(),
            notes: Vec::new(),
        };
        for source in &self.data {
            source.load(&mut loaded)?;
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

    /// Plays every learner on every problem under every seed; in this order, whatever the threads. What the journal knows is
    /// not played again. Before the first run each learner is made once for each problem, so that what cannot be is told
    /// at once.
    pub fn run(
        &self,
        environments: &[AnyEnvironment],
        journal: Option<&Journal<RunRecord>>,
        progress: &dyn Progress,
    ) -> Result<Vec<RunRecord>, ExperimentError> {
        let mut tasks = Vec::new();
        for environment in environments {
            match environment {
                AnyEnvironment::Number(environment) => self.tasks(&**environment, &mut tasks)?,
                AnyEnvironment::Vector(environment) => self.tasks(&**environment, &mut tasks)?,
                AnyEnvironment::Item(environment) => self.tasks(&**environment, &mut tasks)?,
                AnyEnvironment::Mixed(environment) => self.tasks(&**environment, &mut tasks)?,
            }
        }
        Ok(run_all(&tasks, journal, progress)?)
    }

    fn tasks<'a, A: Action>(
        &'a self,
        environment: &'a dyn Environment<A>,
        tasks: &mut Vec<Task<'a, RunRecord>>,
    ) -> Result<(), ExperimentError> {
        for learner in &self.learners {
            let contender: &dyn Contender<A> = learner;
            contender
                .player(environment, 0)
                .map_err(|error| ExperimentError::Unfit {
                    learner: learner.name.clone(),
                    data: environment.name().to_owned(),
                    error,
                })?;
            for &seed in &self.seeds {
                let run = Run {
                    contender,
                    environment,
                    seed,
                    decisions: self.decisions,
                };
                tasks.push(Task {
                    key: run.key(),
                    label: run.label(),
                    cost: self.decisions as f64 * (16 + environment.context_dim()) as f64,
                    work: Box::new(move || run.play(|_| ())),
                });
            }
        }
        Ok(())
    }
}

impl DataSource {
    fn load(&self, loaded: &mut LoadedData) -> Result<(), ExperimentError> {
        match self {
            Self::File {
                path,
                name,
                encoding,
                loss,
            } => {
                let data = match name {
                    Some(name) => encoding.encode(name, &Table::read(path)?)?,
                    None => Supervised::read(path, encoding)?,
                };
                loaded.add(data, *loss);
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
                let data = match name {
                    Some(name) => encoding.encode(name, &data.table)?,
                    None => data.encode(encoding)?,
                };
                loaded.add(data, *loss);
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
            Self::Simulator { name } => loaded.environments.push(simulator(name)?),
        }
        Ok(())
    }
}

impl LoadedData {
    fn add(&mut self, data: Supervised, loss: LossFunction) {
        if 0 < data.dropped() {
            let (name, dropped) = (data.name(), counted(data.dropped() as u64, "row"));
            self.notes
                .push(format!("{name}: {dropped} without a label left out"));
        }
        let bandit = SupervisedToBandit::new(Arc::new(data), loss);
        self.environments
            .push(AnyEnvironment::Number(Box::new(bandit)));
    }
}

/// Why an experiment was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// Data that cannot be read or encoded.
    #[error(transparent)]
    Data(#[from] EncodingError),
    /// A file that cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A folder that cannot be listed.
    #[error(transparent)]
    Folder(#[from] DataFolderError),
    /// A folder without data.
    #[error(
        "{} has none of the paper's data sets: files are named by OpenML id, as 150_covertype.parquet",
        path.display()
    )]
    NoData {
        /// Which.
        path: std::path::PathBuf,
    },
    /// OpenML did not answer, or not well.
    #[error(transparent)]
    OpenMl(#[from] OpenMlError),
    /// No such simulator.
    #[error(transparent)]
    Simulator(#[from] UnknownSimulator),
    /// Two problems that tables could not tell apart.
    #[error("two data sets are called {name:?}: give one a name of its own, as in name = \"…\"")]
    SameName {
        /// Which name.
        name: String,
    },
    /// A learner that cannot play there.
    #[error("learner {learner:?} cannot play on {data}: {error}")]
    Unfit {
        /// Which learner.
        learner: String,
        /// Which data.
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
    use crate::Silent;

    fn experiment(text: &str) -> Experiment {
        let head = "[experiment]\nname = \"a\"\nseeds = 2\ndecisions = 64\n";
        Experiment::parse("a.toml", &format!("{head}{text}"), Path::new("")).expect("sound")
    }

    #[test]
    fn every_learner_plays_everywhere_and_what_is_known_is_not_played_again() {
        let text = "[[data]]\nsimulator = \"interval\"\n[[data]]\nsimulator = \"box\"\n\
                    [[learner]]\nname = \"linear\"\noracle = \"linear\"\ntaus = 8\n\
                    [[learner]]\npreset = \"uniform\"\noracle = \"linear\"\n";
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
        assert_eq!(order[0], ("interval", "linear", 1));
        assert_eq!(order[1], ("interval", "linear", 2));
        assert_eq!(order[2], ("interval", "uniform", 1));
        assert_eq!(order[7], ("box", "uniform", 2));
        drop(journal);
        let journal = Journal::open(&path).expect("opens");
        // Seconds too are the same: nothing was played.
        assert_eq!(run(&journal), records);
    }

    #[test]
    fn records_tell_settings_apart_and_old_journals_are_read() {
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
        let old: RunRecord = serde_json::from_value(old).expect("read");
        assert_eq!(old.settings, "");
    }

    #[test]
    fn a_learner_that_does_not_fit_is_told_before_the_first_run() {
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
    fn names_tell_problems_apart() {
        let text =
            "[[data]]\nsimulator = \"interval\"\n[[data]]\nsimulator = \"interval\"\n[[learner]]\n";
        let Err(error) = experiment(text).load() else {
            panic!("one name for two");
        };
        assert!(error.to_string().contains("\"interval\""), "{error}");
    }
}
