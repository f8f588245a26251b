//! The paper's online setting, timed: what a decision and its share of learning cost, for the default learner and for
//! the paper's with each normalizer.
//!
//! Corral over 12 τ from 6 to 1024, κ∞ = 4, δ = 0.05, γ = 1 + 18·t, the linear argmin-plus-dispersion oracle on
//! ten features, batches of 8, one thread. An action a ∈ [0, 1] costs |a − y|. The default learner, `Model::new`, learns
//! after each decision, as users have it do.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};

use egret::{
    ArgminDispersion, CappedIgw, Context, Decision, EventRng, Explorer, Interval, Learner,
    LearningRate, LinearArgmin, Loss, Model, Normalization, Observed, Settings, Stream,
};

const HELP: &str = "\
The paper's online setting, timed: mean loss and time per decision, learning included.

Usage: online_setting [OPTIONS]

  --stream FILE     contexts and targets as CSV with the header x0,...,x9,y; made up if left out
  --warm N          decisions left out of every figure [default: 4000]
  --measured N      decisions measured, where the stream is made up [default: 20000]
  --only NAME       the default learner, or the paper's with one normalizer: default, mixture, exact, betting or
                    fixed_sample
  --seed N          of the decisions and of a stream that is made up [default: 1]
  --json            one JSON object per line
  --help            this text

loss       mean of |a - y|
us         microseconds per decision and its share of learning
beta draws, proposals, z draws
           how many predictions went into beta, the action, and the estimate of z
kappa      mean of 1/z where it is known, else of proposals / tau";

const FEATURES: usize = 10;
const PAPER_BATCH: usize = 8;

/// The paper's learner with a normalizer, or the default one.
const LEARNERS: [(&str, Option<Normalization>); 5] = [
    ("default", None),
    ("mixture", Some(Normalization::Mixture)),
    ("exact", Some(Normalization::Exact)),
    ("betting", Some(Normalization::Betting)),
    ("fixed_sample", Some(Normalization::FixedSample)),
];

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
    let stream = match &options.stream {
        Some(path) => read_stream(&fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?)
            .map_err(|error| format!("{path}, {error}"))?,
        None => made_up(options.seed, options.warm + options.measured)?,
    };
    if stream.len() <= options.warm {
        let rows = stream.len();
        let warm = options.warm;
        return Err(format!("{rows} rows leave nothing to measure after --warm {warm}").into());
    }
    if !options.json {
        println!(
            "{:<13} {:>7} {:>7} {:>11} {:>10} {:>8} {:>6}",
            "learner", "loss", "us", "beta draws", "proposals", "z draws", "kappa"
        );
    }
    let wanted = |name: &str| options.only.as_deref().is_none_or(|only| only == name);
    for (name, normalization) in LEARNERS.into_iter().filter(|(name, _)| wanted(name)) {
        let Means {
            loss,
            microseconds,
            beta_draws,
            proposals,
            z_draws,
            kappa,
        } = play(normalization, options.seed, options.warm, &stream)?;
        if options.json {
            println!(
                "{{\"learner\": \"{name}\", \"loss\": {loss}, \
                 \"microseconds\": {microseconds}, \"beta_draws\": {beta_draws}, \
                 \"proposals\": {proposals}, \"z_draws\": {z_draws}, \"kappa\": {kappa}}}"
            );
        } else {
            println!(
                "{name:<13} {loss:>7.4} {microseconds:>7.2} {beta_draws:>11.1} {proposals:>10.1} \
                 {z_draws:>8.1} {kappa:>6.3}"
            );
        }
    }
    Ok(())
}

/// A context and the action that costs nothing in it.
struct Row {
    x: Context,
    y: f64,
}

/// What is printed: means over the rows after the warm-up.
struct Means {
    loss: f64,
    microseconds: f64,
    beta_draws: f64,
    proposals: f64,
    z_draws: f64,
    kappa: f64,
}

/// One pass over the stream in batches: decide each, then learn all.
fn play(
    normalization: Option<Normalization>,
    seed: u64,
    warm: usize,
    stream: &[Row],
) -> Result<Means, Box<dyn Error>> {
    let (mut learner, size) = match normalization {
        Some(normalization) => (paper(normalization, seed)?, PAPER_BATCH),
        None => (default(seed)?, 1),
    };
    let mut decisions: Vec<Decision<f64>> = Vec::with_capacity(size);
    let mut sums = Means {
        loss: 0.0,
        microseconds: 0.0,
        beta_draws: 0.0,
        proposals: 0.0,
        z_draws: 0.0,
        kappa: 0.0,
    };
    let mut time = Duration::ZERO;
    for (batch, rows) in stream.chunks(size).enumerate() {
        let first = batch * size;
        decisions.clear();
        let start = Instant::now();
        for (place, row) in rows.iter().enumerate() {
            decisions.push(learner.decide((first + place) as u64, &row.x)?);
        }
        let deciding = start.elapsed();

        let events: Vec<Observed<&Context, f64>> = decisions
            .iter()
            .zip(rows)
            .map(|(decision, row)| {
                let loss = Loss::new((decision.action - row.y).abs())?;
                Ok(decision.observed(&row.x, loss))
            })
            .collect::<Result<_, egret::OutOfRange>>()?;
        let start = Instant::now();
        learner.learn_batch(&events)?;
        let learning = start.elapsed();

        // A batch that is half warm-up gives the other half of its time.
        let measured = rows.len() - warm.saturating_sub(first).min(rows.len());
        time += (deciding + learning).mul_f64(measured as f64 / rows.len() as f64);
        for (decision, event) in decisions.iter().zip(&events).skip(rows.len() - measured) {
            let capped = decision
                .capped_igw
                .as_ref()
                .expect("CappedIGW says how it drew");
            sums.loss += event.loss.get();
            sums.beta_draws += capped.certificate.draws as f64;
            sums.proposals += decision.proposals as f64;
            sums.z_draws += capped.z.draws as f64;
            // Blind proposals over τ are κ without bias; where z is computed, the sampler needs few of them.
            sums.kappa += match capped.z.draws {
                0 => 1.0 / capped.z.value,
                _ => decision.proposals as f64 / decision.tau,
            };
        }
    }
    let n = (stream.len() - warm) as f64;
    Ok(Means {
        loss: sums.loss / n,
        microseconds: time.as_secs_f64() * 1e6 / n,
        beta_draws: sums.beta_draws / n,
        proposals: sums.proposals / n,
        z_draws: sums.z_draws / n,
        kappa: sums.kappa / n,
    })
}

fn default(seed: u64) -> Result<Learner<Context, f64>, Box<dyn Error>> {
    let settings = Settings::default().with_seed(seed);
    let model = Model::with_settings(Interval::new(0.0, 1.0)?, FEATURES, settings)?;
    Ok(model.into_learner())
}

fn paper(normalization: Normalization, seed: u64) -> Result<Learner<Context, f64>, Box<dyn Error>> {
    let model = LinearArgmin::new(FEATURES)?;
    let oracle = ArgminDispersion::new(model, (0.0, 1.0), LearningRate::default())?;
    let actions = Interval::new(0.0, 1.0)?;
    let settings = Settings {
        explorer: Explorer::CappedIgw(CappedIgw {
            normalization,
            ..CappedIgw::default()
        }),
        seed,
        ..Settings::paper()
    };
    Ok(Learner::new(Box::new(actions), Box::new(oracle), settings)?)
}

/// x uniform on [0, 1]¹⁰, y the sigmoid of a linear map of x and some noise.
fn made_up(seed: u64, rows: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rng = EventRng::new(seed, 0, Stream::World);
    let mut weights = [0.0; FEATURES];
    rng.fill_unit(&mut weights);
    (0..rows)
        .map(|_| {
            let mut x = vec![0.0; FEATURES];
            rng.fill_unit(&mut x);
            let terms = weights.iter().zip(&x);
            let score: f64 = terms.map(|(w, x)| 4.0 * (2.0 * w - 1.0) * (x - 0.5)).sum();
            let noise = 0.4 * (rng.unit() - 0.5);
            Ok(Row {
                x: Context::dense(x)?,
                y: 1.0 / (1.0 + (-score - noise).exp()),
            })
        })
        .collect()
}

fn read_stream(text: &str) -> Result<Vec<Row>, String> {
    let mut lines = text.lines().enumerate();
    let header = lines.next().map_or("", |(_, line)| line);
    let expected = "x0,x1,x2,x3,x4,x5,x6,x7,x8,x9,y";
    if header.trim() != expected {
        return Err(format!("line 1 is {header:?}, expected {expected:?}"));
    }
    lines
        .map(|(index, line)| read_row(line).map_err(|error| format!("line {}: {error}", index + 1)))
        .collect()
}

fn read_row(line: &str) -> Result<Row, String> {
    let mut numbers = Vec::with_capacity(FEATURES + 1);
    for cell in line.split(',') {
        let number: f64 = cell
            .trim()
            .parse()
            .map_err(|_| format!("{cell:?} is not a number"))?;
        numbers.push(number);
    }
    if numbers.len() != FEATURES + 1 {
        return Err(format!(
            "{} columns, expected {}",
            numbers.len(),
            FEATURES + 1
        ));
    }
    let y = numbers.pop().expect("eleven numbers");
    if !(0.0..=1.0).contains(&y) {
        return Err(format!("y is {y}, expected a number in [0, 1]"));
    }
    let x = Context::dense(numbers).map_err(|error| error.to_string())?;
    Ok(Row { x, y })
}

struct Options {
    stream: Option<String>,
    warm: usize,
    measured: usize,
    only: Option<String>,
    seed: u64,
    json: bool,
}

impl Options {
    /// `None` where help is asked for.
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            stream: None,
            warm: 4_000,
            measured: 20_000,
            only: None,
            seed: 1,
            json: false,
        };
        while let Some(flag) = arguments.next() {
            match flag.as_str() {
                "--help" | "-h" => return Ok(None),
                "--json" => options.json = true,
                "--stream" => options.stream = Some(value(&flag, &mut arguments)?),
                "--warm" => options.warm = whole(&flag, &mut arguments)?,
                "--measured" => options.measured = whole(&flag, &mut arguments)?,
                "--seed" => options.seed = whole(&flag, &mut arguments)?,
                "--only" => {
                    let name = value(&flag, &mut arguments)?;
                    if LEARNERS.iter().all(|(known, _)| *known != name) {
                        return Err(format!(
                            "--only is {name:?}, expected default, mixture, exact, betting or fixed_sample"
                        ));
                    }
                    options.only = Some(name);
                }
                _ => return Err(format!("{flag:?} is unknown; --help lists what there is")),
            }
        }
        Ok(Some(options))
    }
}

fn value(flag: &str, arguments: &mut impl Iterator<Item = String>) -> Result<String, String> {
    arguments
        .next()
        .ok_or_else(|| format!("{flag} lacks its value"))
}

fn whole<T: std::str::FromStr>(
    flag: &str,
    arguments: &mut impl Iterator<Item = String>,
) -> Result<T, String> {
    let text = value(flag, arguments)?;
    text.parse()
        .map_err(|_| format!("{flag} is {text:?}, expected a whole number"))
}
