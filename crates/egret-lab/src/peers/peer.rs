use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use egret::{Action, Context, Item, ItemSet, MixedAction, Vector};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::learner::{Choice, LearnerFactory, PlayError, Player, Round};
use crate::run::{Run, RunRecord};

/// The adapter in Python; its first lines describe the protocol.
const ADAPTER: &str = include_str!("../../peers/adapter.py");

/// A Python in which the peers are installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerPython {
    path: PathBuf,
    script: String,
}

impl PeerPython {
    /// Checks that the packages are installed; an error says how to install the missing ones.
    pub fn new(path: &Path, packages: &[&str]) -> Result<Self, PeerError> {
        let path = path.to_owned();
        let unusable = |error: String| PeerError::Python {
            path: path.clone(),
            error,
        };
        let output = Command::new(&path)
            .args(["-c", ADAPTER, "--check"])
            .args(packages)
            .output()
            .map_err(|error| unusable(error.to_string()))?;
        let versions: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
            let said = String::from_utf8_lossy(&output.stderr);
            unusable(said.trim().to_owned())
        })?;
        let missing: Vec<String> = packages
            .iter()
            .filter(|package| versions[**package].is_null())
            .map(|package| (*package).to_owned())
            .collect();
        if !missing.is_empty() {
            return Err(PeerError::Missing { path, missing });
        }
        Ok(Self::with_script(&path, ADAPTER))
    }

    fn with_script(path: &Path, script: &str) -> Self {
        Self {
            path: path.to_owned(),
            script: script.to_owned(),
        }
    }
}

/// A learner of another library. It plays through its own process.
///
/// The process gets the contexts of a run before the first round, and each loss when the environment's
/// [feedback](crate::Feedback) says. The rounds are those that every other learner meets under the same seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Peer {
    /// The name shown in tables.
    pub name: String,
    /// The name of the learner in the adapter.
    pub learner: String,
    /// The settings of the learner.
    pub settings: Value,
}

/// The result of a run of a peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerRecord {
    /// The record. Its seconds are those of predicting and learning, measured by the adapter around the calls of the library.
    pub record: RunRecord,
    /// The additional time for converting contexts to the format of the library.
    pub format_seconds: f64,
}

impl Peer {
    /// Plays a run.
    pub fn play(
        &self,
        python: &PeerPython,
        environment: &dyn Environment<f64>,
        seed: u64,
        decisions: usize,
    ) -> Result<PeerRecord, PlayError> {
        let factory = PeerFactory::new(self, python, decisions);
        let run = Run {
            learner: &factory,
            environment,
            seed,
            decisions,
        };
        let mut record = run.play(|_| ())?;
        let times = factory.times()?;
        record.seconds = times.seconds();
        Ok(PeerRecord {
            record,
            format_seconds: 1e-9 * times.format_ns as f64,
        })
    }

    /// Everything that the result depends on, in one line.
    pub fn key<A>(&self, environment: &dyn Environment<A>, seed: u64, decisions: usize) -> String {
        let (problem, learner, settings) =
            (environment.fingerprint(), &self.learner, &self.settings);
        format!("{problem} | {learner} {settings} | {decisions} decisions | seed {seed}")
    }

    fn failed(&self, why: impl std::fmt::Display) -> PlayError {
        PlayError::Other(format!("peer {}: {why}", self.name))
    }
}

/// Nanoseconds, as the adapter measured them.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Times {
    predict_ns: u64,
    learn_ns: u64,
    format_ns: u64,
}

impl Times {
    /// Seconds of predicting and learning.
    pub fn seconds(self) -> f64 {
        1e-9 * (self.predict_ns + self.learn_ns) as f64
    }
}

/// A peer, set up for one run.
pub(crate) struct PeerFactory<'a> {
    peer: &'a Peer,
    python: &'a PeerPython,
    decisions: usize,
    times: Arc<Mutex<Option<Times>>>,
}

impl<'a> PeerFactory<'a> {
    pub fn new(peer: &'a Peer, python: &'a PeerPython, decisions: usize) -> Self {
        Self {
            peer,
            python,
            decisions,
            times: Arc::default(),
        }
    }

    /// The times of the run, once it is played.
    pub fn times(&self) -> Result<Times, PlayError> {
        let times = *self.times.lock().expect("no thread panics while it writes");
        times.ok_or_else(|| self.peer.failed("it reported no times"))
    }
}

/// A kind of action that peers play.
pub(crate) trait PeerAction: Action {
    /// The actions of an environment; `None` if no peer plays them.
    fn actions(_environment: &dyn Environment<Self>) -> Option<PeerActions> {
        None
    }

    /// The action of the numbers in an answer, or what was expected.
    fn from_answer(_actions: &PeerActions, _numbers: &[f64]) -> Result<Self, &'static str> {
        Err("an action of a kind that peers play")
    }
}

impl PeerAction for MixedAction {}

impl PeerAction for ItemSet {}

/// Which actions there are, as the adapter is told of them.
pub(crate) struct PeerActions {
    about: Value,
    /// What follows the contexts.
    bytes: Vec<u8>,
    /// The ends of what each number of an answer stands for.
    ends: Vec<(f64, f64)>,
}

/// The numbers in [0, 1] of an answer, in the user's units.
fn within(actions: &PeerActions, numbers: &[f64]) -> Result<Vec<f64>, &'static str> {
    if !numbers.iter().all(|share| (0.0..=1.0).contains(share)) {
        return Err("an action in [0, 1]");
    }
    let scaled = numbers.iter().zip(&actions.ends);
    Ok(scaled
        .map(|(share, (low, high))| low + (high - low) * share)
        .collect())
}

impl PeerAction for f64 {
    fn actions(environment: &dyn Environment<Self>) -> Option<PeerActions> {
        Some(PeerActions {
            about: json!({"kind": "interval"}),
            bytes: Vec::new(),
            ends: vec![environment.measure().as_line()?.bounds()],
        })
    }

    fn from_answer(actions: &PeerActions, numbers: &[f64]) -> Result<Self, &'static str> {
        Ok(within(actions, numbers)?[0])
    }
}

impl PeerAction for Vector {
    fn actions(environment: &dyn Environment<Self>) -> Option<PeerActions> {
        let ends = environment.sides()?;
        Some(PeerActions {
            about: json!({"kind": "box", "knobs": ends.len()}),
            bytes: Vec::new(),
            ends,
        })
    }

    fn from_answer(actions: &PeerActions, numbers: &[f64]) -> Result<Self, &'static str> {
        Self::new(&within(actions, numbers)?).map_err(|_| "finite numbers")
    }
}

impl PeerAction for Item {
    fn actions(environment: &dyn Environment<Self>) -> Option<PeerActions> {
        let count = environment.measure().catalogue()?.len();
        let rows = environment.embeddings();
        let values = rows.into_iter().flat_map(|rows| rows.values());
        Some(PeerActions {
            about: json!({"kind": "items", "count": count, "features": rows.map_or(0, |rows| rows.dim())}),
            bytes: values.flat_map(|value| value.to_le_bytes()).collect(),
            ends: vec![(0.0, count as f64 - 1.0)],
        })
    }

    fn from_answer(actions: &PeerActions, numbers: &[f64]) -> Result<Self, &'static str> {
        let (index, most) = (numbers[0], actions.ends[0].1);
        if (0.0..=most).contains(&index) && index.fract() == 0.0 {
            Ok(Self(index as u32))
        } else {
            Err("the index of an item")
        }
    }
}

impl<A: PeerAction> LearnerFactory<A> for PeerFactory<'_> {
    fn name(&self) -> &str {
        &self.peer.name
    }

    fn fingerprint(&self) -> String {
        format!("{} {}", self.peer.learner, self.peer.settings)
    }

    fn player(
        &self,
        environment: &dyn Environment<A>,
        seed: u64,
    ) -> Result<Box<dyn Player<A>>, PlayError> {
        let actions = A::actions(environment).ok_or_else(|| {
            let name = environment.name();
            self.peer
                .failed(format_args!("no peer plays the actions of {name}"))
        })?;
        let world = environment.world(seed, self.decisions);
        let (rows, columns) = (world.rounds(), environment.context_dim());
        let mut start = json!({
            "learner": self.peer.learner,
            "settings": self.peer.settings,
            "seed": seed,
            "rows": rows,
            "columns": columns,
            "actions": actions.about,
        })
        .to_string()
        .into_bytes();
        start.push(b'\n');
        for round in 0..rows {
            let mut row = vec![0.0; columns];
            let x = world.context(round);
            x.for_each(|feature, value| row[feature] = value);
            start.extend(row.iter().flat_map(|value| value.to_le_bytes()));
        }
        start.extend(&actions.bytes);
        let mut process = Process::start(self.peer, self.python)?;
        process.write(&start)?;
        let answer: Value = process.line()?;
        if let Some(error) = answer["error"].as_str() {
            return Err(self.peer.failed(error));
        }
        Ok(Box::new(PeerPlayer {
            process,
            actions,
            rows,
            inverses: Vec::with_capacity(rows),
            times: self.times.clone(),
        }))
    }
}

struct PeerPlayer {
    process: Process,
    actions: PeerActions,
    rows: usize,
    /// ∫ dμ/p of each decision so far; NaN if the learner does not know it.
    inverses: Vec<f64>,
    times: Arc<Mutex<Option<Times>>>,
}

impl PeerPlayer {
    /// Asks for the times once all rows are decided. If losses are learned after that, it asks again.
    fn note_times(&mut self) -> Result<(), PlayError> {
        if self.inverses.len() == self.rows {
            self.process.write(b"t")?;
            let times = self.process.line()?;
            *self.times.lock().expect("no thread panics while it writes") = Some(times);
        }
        Ok(())
    }
}

impl<A: PeerAction> Player<A> for PeerPlayer {
    fn decide(&mut self, _event: u64, _x: &Context) -> Result<Choice<A>, PlayError> {
        self.process.write(b"d")?;
        let numbers = self.actions.ends.len();
        let mut bytes = vec![0; 8 * (numbers + 2)];
        self.process.read(&mut bytes)?;
        let answer: Vec<f64> = (bytes.chunks_exact(8))
            .map(|bytes| f64::from_le_bytes(bytes.try_into().expect("eight bytes")))
            .collect();
        let action = A::from_answer(&self.actions, &answer[..numbers]).map_err(|expected| {
            let chosen: Vec<String> = answer[..numbers].iter().map(f64::to_string).collect();
            let why = format!("it chose {}, expected {expected}", chosen.join(", "));
            self.process.failed(&why)
        })?;
        // After the action its density.
        self.inverses.push(answer[numbers + 1]);
        self.note_times()?;
        Ok(Choice::Plain(action))
    }

    fn learn(&mut self, rounds: &[Round<'_, A>]) -> Result<(), PlayError> {
        for round in rounds {
            let mut request = [b'l'; 9];
            request[1..].copy_from_slice(&round.loss.get().to_le_bytes());
            self.process.write(&request)?;
        }
        self.note_times()
    }

    fn mean_inverse_density(&self, round: &Round<'_, A>) -> Result<Option<f64>, PlayError> {
        let inverse = self.inverses[round.event as usize];
        Ok((!inverse.is_nan()).then_some(inverse))
    }
}

/// A running adapter. Its standard error goes to a file, which is shown if it fails.
struct Process {
    name: String,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: File,
}

impl Process {
    fn start(peer: &Peer, python: &PeerPython) -> Result<Self, PlayError> {
        let errors = tempfile::tempfile().map_err(|error| peer.failed(error))?;
        let shared = errors.try_clone().map_err(|error| peer.failed(error))?;
        let mut child = Command::new(&python.path)
            .args(["-c", &python.script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(shared)
            .spawn()
            .map_err(|error| {
                let path = python.path.display();
                peer.failed(format_args!("cannot start {path}: {error}"))
            })?;
        let input = child.stdin.take().expect("it was piped");
        let output = child.stdout.take().expect("it was piped");
        Ok(Self {
            name: peer.name.clone(),
            child,
            input,
            output: BufReader::new(output),
            errors,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), PlayError> {
        let written = self.input.write_all(bytes);
        written.map_err(|error| self.failed(&error))
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), PlayError> {
        let read = self.output.read_exact(bytes);
        read.map_err(|error| self.failed(&error))
    }

    fn line<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, PlayError> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        read.map_err(|error| self.failed(&error))?;
        if line.is_empty() {
            return Err(self.failed(&"it ended too early"));
        }
        serde_json::from_str(&line).map_err(|error| self.failed(&error))
    }

    /// The error, with the last line of the process's standard error.
    fn failed(&mut self, why: &dyn std::fmt::Display) -> PlayError {
        // Once the process has ended, the file is complete.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let mut said = String::new();
        let read = self
            .errors
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.errors.read_to_string(&mut said));
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        let name = &self.name;
        PlayError::Other(match (read, last) {
            (Ok(_), Some(last)) => format!("peer {name}: {why}; last message: {}", last.trim()),
            _ => format!("peer {name}: {why}"),
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It ends by itself after its last line; before that, nobody needs it any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Why a Python cannot run peers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// There is no Python, or it cannot run the adapter.
    #[error("cannot run {}: {error}; name a Python 3.8 or newer with --python PATH", path.display())]
    Python {
        /// The Python.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// Packages are not installed.
    #[error(
        "{} has no {}: install with `{} -m pip install {}`, or name another Python with --python PATH",
        path.display(),
        missing.join(" and no "),
        path.display(),
        missing.join(" ")
    )]
    Missing {
        /// The Python.
        path: PathBuf,
        /// The missing packages.
        missing: Vec<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{IntervalLossModel, Simulator};

    const ENVIRONMENT: Simulator<IntervalLossModel> = Simulator::new(IntervalLossModel);

    fn uniform() -> Peer {
        Peer {
            name: "by chance".to_owned(),
            learner: "uniform".to_owned(),
            settings: json!({}),
        }
    }

    fn python() -> PeerPython {
        PeerPython::new(Path::new("python3"), &[]).expect("python3 is there")
    }

    #[test]
    fn a_peer_meets_the_rounds_of_its_seed() {
        let python = python();
        let play = |seed| {
            let played = uniform().play(&python, &ENVIRONMENT, seed, 300);
            played.expect("it plays").record
        };
        let record = play(1);
        assert_eq!(record.decisions, 300);
        assert!(0.0 < record.seconds && record.seconds < 1.0);
        assert_eq!(record.loss.to_bits(), play(1).loss.to_bits());
        assert_ne!(record.loss.to_bits(), play(2).loss.to_bits());
        // The mean loss of uniform play, from the same rounds and many actions each.
        let world = ENVIRONMENT.world(1, 300);
        let expected = (0..300)
            .flat_map(|round| (0..100).map(move |at| (round, (f64::from(at) + 0.5) / 100.0)))
            .map(|(round, action)| world.loss(round, &action).get())
            .sum::<f64>()
            / 30_000.0;
        // A loss varies by less than 0.3: six standard errors.
        let allowed = 6.0 * 0.3 / f64::sqrt(300.0);
        assert!(
            (record.loss - expected).abs() < allowed,
            "{record:?} {expected}"
        );
    }

    #[test]
    fn the_adapter_gets_the_contexts_and_losses_of_the_world() {
        // Plays the first feature, and returns the sum of the losses as `format_ns`.
        let script = "\
import json, struct, sys
source, sink = sys.stdin.buffer, sys.stdout.buffer
header = json.loads(source.readline())
rows, columns = header['rows'], header['columns']
data = struct.unpack(f'<{rows * columns}d', source.read(8 * rows * columns))
sink.write(b'{\"ready\": true}\\n'); sink.flush()
total = row = 0
while request := source.read(1):
    if request == b'd':
        sink.write(struct.pack('<3d', data[row * columns], 1, 1)); row += 1
    elif request == b'l':
        total += struct.unpack('<d', source.read(8))[0]
    else:
        times = {'predict_ns': 1000, 'learn_ns': 2000, 'format_ns': round(1e9 * total)}
        sink.write(json.dumps(times).encode() + b'\\n')
    sink.flush()
";
        let python = PeerPython::with_script(Path::new("python3"), script);
        let played = uniform().play(&python, &ENVIRONMENT, 5, 40);
        let played = played.expect("it plays");
        let world = ENVIRONMENT.world(5, 40);
        let total: f64 = (0..40)
            .map(|round| {
                let first = world.context(round).as_dense().expect("dense")[0];
                world.loss(round, &first).get()
            })
            .sum();
        assert!((played.record.loss - total / 40.0).abs() < 1e-12);
        assert!((played.format_seconds - total).abs() < 1e-8);
        assert_eq!(played.record.seconds, 3e-6);
    }

    #[test]
    fn errors_in_python_are_reported() {
        let said = |script: &str| {
            let python = PeerPython::with_script(Path::new("python3"), script);
            let played = uniform().play(&python, &ENVIRONMENT, 5, 40);
            played.expect_err("it fails").to_string()
        };
        let error = said("raise ValueError('no such option')");
        assert!(
            error.starts_with("peer by chance: ") && error.contains("no such option"),
            "{error}"
        );
        let refuses = "\
import json, sys
header = json.loads(sys.stdin.buffer.readline())
sys.stdin.buffer.read(8 * header['rows'] * header['columns'])
print(json.dumps({'error': 'too many'}))
";
        assert_eq!(said(refuses), "peer by chance: too many");
        // It ends in the middle of an action.
        let ends =
            refuses.replace("{'error': 'too many'}", "{'ready': True}") + "print('1234567')\n";
        let error = said(&ends);
        assert!(error.starts_with("peer by chance: "), "{error}");

        let unknown = Peer {
            learner: "none".to_owned(),
            ..uniform()
        };
        let error = unknown.play(&python(), &ENVIRONMENT, 5, 40);
        let error = error.expect_err("no such learner").to_string();
        assert!(error.contains("KeyError"), "{error}");
    }

    #[test]
    fn an_error_names_missing_packages_and_the_command_that_installs_them() {
        let error = PeerPython::new(Path::new("python3"), &["egret-no-such-package"]);
        let error = error.expect_err("nobody has it").to_string();
        assert!(
            error.contains("python3 -m pip install egret-no-such-package"),
            "{error}"
        );
        let error = PeerPython::new(Path::new("/no/such/python"), &[]);
        let error = error.expect_err("no such program").to_string();
        assert!(error.contains("--python PATH"), "{error}");
    }
}
