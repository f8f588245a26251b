//! The paper's offline network, timed: how many logged examples a second it is trained on, one thread.
//!
//! Two hidden layers as wide as the input, leaky ReLU, sigmoid, the dispersion head, Adam; batches of 8, each
//! learned from `--steps` times. `benches/peers/pytorch.py` trains the same network on the same rows in PyTorch.

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

use egret::{
    ArgminDispersion, ArgminModel, Context, EventRng, Example, LearningRate, Loss, LossCurve,
    NetworkArgmin, RegressionOracle, Stream, Weight,
};

const HELP: &str = "\
The paper's offline network, timed: examples a second in training, one thread, by time on the CPU.

Usage: train_network [OPTIONS]

  --rows FILE       examples as CSV: features, then action in [0, 1], loss and weight; made up if left out
  --width N         features, where rows are made up [default: 20]
  --epochs N        passes over the rows that are timed, after one that is not [default: 5]
  --steps N         gradient steps for each batch of 8 [default: 2]
  --seed N          of the network [default: 1]
  --initial FILE    write the parameters before training, one a line
  --predictions FILE
                    write what is predicted for each row after training, one a line
  --help            this text

Prints one JSON object: width, parameters, examples, seconds, examples_per_second, squared_error.";

const BATCH: usize = 8;
const MADE_UP: usize = 4_096;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let Some(options) = Options::parse(env::args().skip(1))? else {
        println!("{HELP}");
        return Ok(());
    };
    let rows = match &options.rows {
        Some(path) => read(path)?,
        None => made_up(options.width)?,
    };
    let width = rows.first().ok_or("there are no rows")?.x.dim();
    let network = NetworkArgmin::new(width, options.seed)?;
    let initial = network.initial();
    if let Some(path) = &options.initial {
        fs::write(path, lines(&initial))?;
    }
    let rate = LearningRate::new(0.004, 500.0)?;
    let mut oracle = ArgminDispersion::new(network, (0.0, 1.0), rate)?;

    pass(&mut oracle, &rows, options.steps)?;
    let start = Stopwatch::start();
    for _ in 0..options.epochs {
        pass(&mut oracle, &rows, options.steps)?;
    }
    let seconds = start.seconds();

    let predicted = predictions(&oracle, &rows)?;
    if let Some(path) = &options.predictions {
        fs::write(path, lines(&predicted))?;
    }
    let pairs = predicted.iter().zip(&rows);
    let squares: f64 = pairs.map(|(f, row)| (f - row.loss.get()).powi(2)).sum();
    let examples = options.epochs * rows.len();
    println!(
        "{{\"width\": {width}, \"parameters\": {}, \"examples\": {examples}, \"seconds\": {seconds}, \
         \"examples_per_second\": {}, \"squared_error\": {}}}",
        initial.len() + 7,
        examples as f64 / seconds,
        squares / rows.len() as f64,
    );
    Ok(())
}

/// CPU seconds of this process if the system reports them, so that other programs do not count; otherwise wall time.
struct Stopwatch {
    on_cpu: Option<u64>,
    clock: Instant,
}

impl Stopwatch {
    fn start() -> Self {
        Self {
            on_cpu: nanoseconds_on_cpu(),
            clock: Instant::now(),
        }
    }

    fn seconds(&self) -> f64 {
        match (self.on_cpu, nanoseconds_on_cpu()) {
            (Some(start), Some(end)) if start < end => 1e-9 * (end - start) as f64,
            _ => self.clock.elapsed().as_secs_f64(),
        }
    }
}

fn nanoseconds_on_cpu() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

struct Row {
    x: Context,
    action: f64,
    loss: Loss,
    weight: Weight,
}

fn pass(
    oracle: &mut ArgminDispersion<NetworkArgmin>,
    rows: &[Row],
    steps: usize,
) -> Result<(), Box<dyn Error>> {
    let mut batch = Vec::with_capacity(BATCH);
    for rows in rows.chunks(BATCH) {
        batch.clear();
        batch.extend(rows.iter().map(|row| Example {
            x: &row.x,
            action: &row.action,
            loss: row.loss.into(),
            weight: row.weight,
        }));
        for _ in 0..steps {
            oracle.learn(&batch)?;
        }
    }
    Ok(())
}

fn predictions(
    oracle: &ArgminDispersion<NetworkArgmin>,
    rows: &[Row],
) -> Result<Vec<f64>, Box<dyn Error>> {
    let (mut buffer, mut out, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        LossCurve::new(oracle, &row.x, &mut buffer)?.predict(&vec![row.action], &mut out)?;
        all.push(out[0]);
    }
    Ok(all)
}

fn lines(numbers: &[f64]) -> String {
    numbers
        .iter()
        .map(|number| format!("{number:?}\n"))
        .collect()
}

fn read(path: &str) -> Result<Vec<Row>, Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let numbers: Vec<f64> = line
            .split(',')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("{path}, row {}: {error}", index + 1))?;
        let [features @ .., action, loss, weight] = &numbers[..] else {
            return Err(format!("{path}, row {}: too few numbers", index + 1).into());
        };
        rows.push(Row {
            x: Context::dense(features.to_vec())?,
            action: *action,
            loss: Loss::new(*loss)?,
            weight: Weight::new(*weight)?,
        });
    }
    Ok(rows)
}

/// A best action that depends on the mean of the features; the loss is the distance from it.
fn made_up(width: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rng = EventRng::new(1, 0, Stream::World);
    let mut row = || {
        let mut features = vec![0.0; width];
        rng.fill_unit(&mut features);
        let best = features.iter().sum::<f64>() / width.max(1) as f64;
        let action = rng.unit();
        Ok(Row {
            x: Context::dense(features)?,
            action,
            loss: Loss::new((action - best).abs())?,
            weight: Weight::ONE,
        })
    };
    (0..MADE_UP).map(|_| row()).collect()
}

struct Options {
    rows: Option<String>,
    width: usize,
    epochs: usize,
    steps: usize,
    seed: u64,
    initial: Option<String>,
    predictions: Option<String>,
}

impl Options {
    /// None: help was asked for.
    fn parse(mut given: impl Iterator<Item = String>) -> Result<Option<Self>, Box<dyn Error>> {
        let mut options = Self {
            rows: None,
            width: 20,
            epochs: 5,
            steps: 2,
            seed: 1,
            initial: None,
            predictions: None,
        };
        while let Some(name) = given.next() {
            if name == "--help" {
                return Ok(None);
            }
            let value = given.next().ok_or(format!("{name} wants a value"))?;
            let number = || -> Result<usize, Box<dyn Error>> {
                let bad = |_| format!("{name} is {value}, expected a whole number of at least 1");
                match value.parse::<usize>().map_err(bad)? {
                    0 => Err(bad_zero(&name).into()),
                    number => Ok(number),
                }
            };
            match name.as_str() {
                "--rows" => options.rows = Some(value),
                "--width" => options.width = number()?,
                "--epochs" => options.epochs = number()?,
                "--steps" => options.steps = number()?,
                "--seed" => options.seed = number()? as u64,
                "--initial" => options.initial = Some(value),
                "--predictions" => options.predictions = Some(value),
                _ => return Err(format!("there is no option {name}; --help lists them").into()),
            }
        }
        Ok(Some(options))
    }
}

fn bad_zero(name: &str) -> String {
    format!("{name} is 0, expected a whole number of at least 1")
}
