//! Which column of a table may be what: a first guess, to be corrected by who knows.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use egret::{FeatureValue, Knob, Limits, Space};
use egret_log::{
    Format, LogMapping, ReadError, TableReader, ValueRange, flattened, typed_cell, unit_of,
};
use egret_offline::thousands;
use serde::{Deserialize, Serialize};

use crate::error::JobError;
use crate::progress::{Progress, Step, tell, tell_rows};

/// Which table is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposeRequest {
    /// A CSV, JSON lines, Parquet or Arrow; of a folder, the first of these by name.
    pub file: PathBuf,
    /// How many rows are looked at.
    #[serde(default = "enough")]
    pub rows: u64,
}

fn enough() -> u64 {
    100_000
}

impl ProposeRequest {
    /// The first rows of a file.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self {
            file: file.into(),
            rows: enough(),
        }
    }
}

/// What the columns look like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Proposal {
    /// What each column may be.
    pub mapping: LogMapping,
    /// The same as a file that says why, to be saved beside the table.
    pub toml: String,
    /// What has to be decided before the log can be used.
    pub open: Vec<String>,
    /// Rows that were looked at.
    pub rows: u64,
}

/// Looks at the columns of a table and guesses what each is.
pub fn propose(request: &ProposeRequest, progress: &dyn Progress) -> Result<Proposal, JobError> {
    let file = match request.file.is_dir() {
        true => first_table(&request.file)?,
        false => request.file.clone(),
    };
    let mut table = TableReader::open(&file)?;
    let mut columns: Vec<Column> = Vec::new();
    for name in table.columns().into_iter().flatten() {
        columns.push(Column::new(name));
    }
    let mut rows = 0;
    while rows < request.rows
        && let Some(cells) = table.next()
    {
        let cells = match cells {
            Ok(cells) => flattened(cells, None),
            // `egret log check` names them.
            Err(ReadError::Row { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        rows += 1;
        for (name, value) in cells {
            let place = columns.iter().position(|column| column.name == name);
            let place = place.unwrap_or_else(|| {
                columns.push(Column::new(name));
                columns.len() - 1
            });
            let value = match value {
                FeatureValue::Text(text) if table.is_text() => typed_cell(&text),
                other => other,
            };
            columns[place].add(&value);
        }
        tell_rows(progress, rows, || table.progress())?;
    }
    tell(progress, Step::Read(1.0))?;
    if rows == 0 {
        return Err(JobError::Log(format!(
            "{} has no rows to look at",
            file.display()
        )));
    }
    let name = request
        .file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut guess = Guess::new(&name, rows);
    guess.make(&columns);
    Ok(Proposal {
        mapping: guess.mapping,
        toml: guess.toml,
        open: guess.open,
        rows,
    })
}

/// The table in a folder that comes first by name.
fn first_table(folder: &Path) -> Result<PathBuf, JobError> {
    let unreadable = |source| JobError::File {
        file: folder.to_owned(),
        source,
    };
    let mut tables = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.is_file() && Format::of_name(&file).is_some() {
            tables.push(file);
        }
    }
    tables.into_iter().min().ok_or_else(|| {
        JobError::Log(format!(
            "{} has no table to look at: no file ends in .csv, .jsonl, .parquet or .arrow",
            folder.display()
        ))
    })
}

/// How a column looks.
struct Column {
    name: Arc<str>,
    present: u64,
    numbers: u64,
    whole: bool,
    flags: u64,
    times: u64,
    /// Values that are what a request allowed.
    limits: u64,
    low: f64,
    high: f64,
    inverses: f64,
    /// Hashes of the values, up to a number.
    distinct: HashSet<u64>,
    /// Values that are words, up to one more than categories of an action may be.
    words: BTreeSet<String>,
}

/// Values of a column that are told apart.
const DISTINCT: usize = 1 << 17;

/// A column of more words than this is not taken for an action.
const CATEGORIES: usize = 64;

impl Column {
    fn new(name: Arc<str>) -> Self {
        Self {
            name,
            present: 0,
            numbers: 0,
            whole: true,
            flags: 0,
            times: 0,
            limits: 0,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            inverses: 0.0,
            distinct: HashSet::new(),
            words: BTreeSet::new(),
        }
    }

    fn add(&mut self, value: &FeatureValue) {
        let mut hash = DefaultHasher::new();
        match value {
            FeatureValue::Missing => return,
            FeatureValue::Integer(whole) => {
                self.add_number(*whole as f64);
                whole.hash(&mut hash);
            }
            FeatureValue::Number(number) => {
                self.whole = false;
                self.add_number(*number);
                number.to_bits().hash(&mut hash);
            }
            FeatureValue::Flag(flag) => {
                self.flags += 1;
                flag.hash(&mut hash);
            }
            FeatureValue::Text(text) => {
                let dated =
                    text.len() >= 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
                self.times += u64::from(dated);
                self.limits += u64::from(is_limits(text));
                text.hash(&mut hash);
                if self.words.len() <= CATEGORIES && !self.words.contains(text) {
                    self.words.insert(text.clone());
                }
            }
            other => {
                let text = serde_json::to_string(other).unwrap_or_default();
                self.limits += u64::from(is_limits(&text));
                text.hash(&mut hash);
            }
        }
        self.present += 1;
        if self.distinct.len() < DISTINCT {
            self.distinct.insert(hash.finish());
        }
    }

    fn add_number(&mut self, number: f64) {
        self.numbers += 1;
        self.low = self.low.min(number);
        self.high = self.high.max(number);
        self.inverses += 1.0 / number;
    }

    fn is_number(&self) -> bool {
        0 < self.present && self.numbers == self.present
    }

    /// What the action could have been, if its column is one of few words.
    fn categories(&self) -> Option<Space> {
        let few = self.words.len() <= CATEGORIES && self.words.len() == self.distinct.len();
        let knob = Knob::categories(&self.words);
        let knobs = BTreeMap::from([(self.name.to_string(), knob)]);
        let space = Space::Mixed { knobs };
        // Words with marks of their own have no text form.
        let written = space.to_string().parse().ok() == Some(space.clone());
        (few && 1 < self.words.len() && !self.is_time() && written).then_some(space)
    }

    fn is_time(&self) -> bool {
        0 < self.present && self.times == self.present
    }

    fn is_limits(&self) -> bool {
        0 < self.present && self.limits == self.present
    }

    fn is_flag(&self) -> bool {
        let zero_one = self.is_number() && self.whole && 0.0 <= self.low && self.high <= 1.0;
        0 < self.present && self.flags == self.present || zero_one
    }

    /// Whether no value comes twice, as in a column of names.
    fn is_name(&self) -> bool {
        let all = self.distinct.len() as u64 == self.present;
        20 < self.present && all && (!self.is_number() || self.whole) && !self.is_time()
    }

    /// The rank of the first of these words that is part of the name; a word with `=` has to be all of it.
    fn rank(&self, words: &[&str]) -> Option<usize> {
        let name = self.name.to_lowercase();
        let parts: Vec<&str> = name
            .split(|letter: char| !letter.is_alphanumeric())
            .collect();
        words.iter().position(|word| match word.strip_prefix('=') {
            Some(whole) => name == whole,
            None => parts.contains(word) || name.replace(['_', '-', ' ', '.'], "") == *word,
        })
    }

    fn spread(&self) -> String {
        let values = self.distinct.len() as u64;
        match (values, self.is_number()) {
            (1, true) => format!("one value, {}", short(self.low)),
            (_, true) => format!(
                "{} values from {} to {}",
                thousands(values),
                short(self.low),
                short(self.high)
            ),
            (_, false) => format!("{} values", thousands(values)),
        }
    }
}

/// Whether a text is what a request allowed, in the form of the log.
fn is_limits(text: &str) -> bool {
    text.starts_with('{') && serde_json::from_str::<Limits>(text).is_ok()
}

const DENSITY: [&str; 9] = [
    "density",
    "propensity",
    "pdf",
    "pscore",
    "probability",
    "prob",
    "=p",
    "logprob",
    "mu",
];
const ACTION: [&str; 15] = [
    "=_labelindex",
    "action",
    "price",
    "bid",
    "dose",
    "offer",
    "discount",
    "treatment",
    "amount",
    "rate",
    "setting",
    "arm",
    "item",
    "budget",
    "=a",
];
const REWARD: [&str; 19] = [
    "reward",
    "revenue",
    "profit",
    "margin",
    "return",
    "gain",
    "sales",
    "outcome",
    "score",
    "conversion",
    "converted",
    "bought",
    "purchased",
    "clicked",
    "click",
    "yield",
    "payoff",
    "=r",
    "=y",
];
const LOSS: [&str; 6] = ["loss", "cost", "regret", "error", "latency", "churned"];
const TIME: [&str; 8] = [
    "time",
    "timestamp",
    "ts",
    "datetime",
    "date",
    "at",
    "created",
    "when",
];
const ID: [&str; 6] = ["eventid", "id", "uuid", "guid", "key", "=index"];
/// A column that decisions among listed actions have in the dsjson of Vowpal Wabbit. Features are in `c` there.
const OF_DSJSON: &str = "_label_probability";
const OTHER_POLICY: [&str; 4] = ["q", "pi", "policy", "predicted"];

/// A mapping while it is guessed, and the file that explains it.
struct Guess {
    mapping: LogMapping,
    toml: String,
    open: Vec<String>,
    rows: u64,
}

impl Guess {
    fn new(name: &str, rows: u64) -> Self {
        let toml = format!(
            "# Which column of {name} is what, guessed from {} rows. Correct it where it is wrong: every command that reads\n\
             # {name} finds it here.\n",
            thousands(rows)
        );
        Self {
            mapping: LogMapping::default(),
            toml,
            open: Vec::new(),
            rows,
        }
    }

    fn say(&mut self, why: &str, line: Option<String>) {
        let _ = write!(self.toml, "\n# {why}\n");
        if let Some(line) = line {
            let _ = writeln!(self.toml, "{line}");
        }
    }

    fn ask(&mut self, what: &str) {
        self.open.push(what.to_owned());
        self.say(&format!("TO DECIDE: {what}"), None);
    }

    fn make(&mut self, columns: &[Column]) {
        let best = |words: &[&str], fits: &dyn Fn(&Column) -> bool, taken: &[&str]| {
            let free = columns
                .iter()
                .filter(|column| !taken.contains(&&*column.name) && fits(column));
            let ranked = free.filter_map(|column| Some((column.rank(words)?, column)));
            ranked
                .min_by_key(|(rank, _)| *rank)
                .map(|(_, column)| column)
        };
        let mut taken: Vec<&str> = Vec::new();
        let density = best(
            &DENSITY,
            &|column| column.is_number() && 0.0 < column.low,
            &taken,
        );
        taken.extend(density.map(|column| &*column.name));
        let action = best(&ACTION, &Column::is_number, &taken)
            .or_else(|| best(&ACTION, &|column| column.categories().is_some(), &taken));
        taken.extend(action.map(|column| &*column.name));
        let valued = |column: &Column| column.is_number() || column.is_flag();
        let reward = best(&REWARD, &valued, &taken);
        let loss = best(&LOSS, &valued, &taken).filter(|_| reward.is_none());
        taken.extend(reward.or(loss).map(|column| &*column.name));
        let time = best(
            &TIME,
            &|column| column.is_time() || column.is_number(),
            &taken,
        );
        let time = time.or_else(|| columns.iter().find(|column| column.is_time()));
        taken.extend(time.map(|column| &*column.name));
        let limits = columns.iter().find(|column| column.is_limits());
        taken.extend(limits.map(|column| &*column.name));
        let id = best(&ID, &Column::is_name, &taken);
        let id = id.or_else(|| {
            let free = |column: &&Column| !taken.contains(&&*column.name);
            columns.iter().filter(free).find(|column| column.is_name())
        });
        taken.extend(id.map(|column| &*column.name));

        self.action(action);
        self.density(density);
        match (reward, loss) {
            (Some(reward), _) => self.outcome("reward", reward),
            (None, Some(loss)) => self.outcome("loss", loss),
            (None, None) => self.ask("which column is the outcome? reward = \"NAME\" if more is better, loss = \"NAME\" if less is"),
        }
        for (key, column, why) in [
            ("limits", limits, "says what each request allowed."),
            ("time", time, "looks like the time of the decision."),
            ("id", id, "names the event: no value comes twice."),
        ] {
            if let Some(column) = column {
                let name = Some(column.name.to_string());
                match key {
                    "limits" => self.mapping.limits = name,
                    "time" => self.mapping.time = name,
                    _ => self.mapping.id = name,
                }
                let why = format!("{} {why}", column.name);
                self.say(&why, Some(format!("{key} = {}", quoted(&column.name))));
            }
        }
        self.context(columns, &taken);
    }

    fn action(&mut self, column: Option<&Column>) {
        let Some(column) = column else {
            self.ask(
                "which column is the action? action = \"NAME\", and space = \"interval:LOW,HIGH\" for what it could have been; several \
                 knobs are action = [\"ONE\", \"TWO\"] and space = \"box:LOW,HIGH,LOW,HIGH\"",
            );
            return;
        };
        self.mapping.action = vec![column.name.to_string()];
        let why = format!(
            "{} goes by the name of an action; it has {}.",
            column.name,
            column.spread()
        );
        self.say(&why, Some(format!("action = {}", quoted(&column.name))));
        let values = column.distinct.len();
        let few = column.whole
            && values <= 1000
            && (column.low == 0.0 || values as f64 == column.high - column.low + 1.0);
        let space = if let Some(space) = column.categories() {
            space
        } else if few
            && !column.is_flag()
            && column
                .rank(&["price", "bid", "dose", "amount", "budget"])
                .is_none()
        {
            match column.low {
                0.0 => Space::Items {
                    count: column.high as usize + 1,
                    weights: None,
                },
                low => Space::Steps {
                    low,
                    high: column.high,
                    step: 1.0,
                },
            }
        } else {
            let (low, high) = around(column.low, column.high);
            Space::Interval { low, high }
        };
        self.say(
            "What the action could have been, not only what it was: interval:LOW,HIGH, steps:LOW,HIGH,STEP where only some values\n\
             # can be, items:COUNT for numbered items, mixed:NAME=ONE|TWO|THREE for words. Densities are against the uniform measure on it.",
            Some(format!("space = {}", quoted(&space.to_string()))),
        );
        self.mapping.space = Some(space);
    }

    fn density(&mut self, column: Option<&Column>) {
        let Some(column) = column else {
            self.ask(
                "which column is the density of the action? density = \"NAME\". Without densities no other policy can be evaluated \
                 from this log; density = \"none\" says so, `egret learn --method dm` still learns from it, and --estimate-density \
                 estimates them",
            );
            return;
        };
        self.mapping.density = Some(column.name.to_string());
        let why = format!(
            "{} goes by the name of a density; it has {}.",
            column.name,
            column.spread()
        );
        self.say(&why, Some(format!("density = {}", quoted(&column.name))));
        let Some(width) = self.mapping.space.as_ref().and_then(unit_of) else {
            return;
        };
        let mean = column.inverses / column.present as f64;
        let near = |other: f64| (mean / other).ln().abs() < 0.25;
        if near(width) && !near(1.0) {
            self.mapping.density_per_unit = Some(true);
            let why = format!(
                "Densities are per unit of the action, or probabilities: the mean of 1/{} is {}, near the width {}.",
                column.name,
                short(mean),
                short(width)
            );
            self.say(&why, Some("density_per_unit = true".to_owned()));
        } else if !near(1.0) {
            self.ask(&format!(
                "the mean of 1/{} is {}. It should be near 1 for densities against the uniform measure, or near the width {} for \
                 densities per unit (density_per_unit = true). Check the space and what was logged",
                column.name,
                short(mean),
                short(width)
            ));
        }
    }

    fn outcome(&mut self, key: &str, column: &Column) {
        let (low, high) = match column.is_flag() {
            true => (0.0, 1.0),
            false => {
                let (low, mut high) = around(column.low, column.high);
                // Revenue that is a price or nothing: it can be as large as a price.
                let most = self.mapping.space.as_ref().and_then(Space::bounds);
                if let Some((_, most)) =
                    most.filter(|(_, most)| (0.5 * most..=*most).contains(&column.high))
                {
                    high = most;
                }
                (if 0.0 <= column.low { 0.0 } else { low }, high)
            }
        };
        let sense = if key == "reward" { "more" } else { "less" };
        let why = format!(
            "{} goes by the name of a {key}: {sense} is better.",
            column.name
        );
        self.say(&why, Some(format!("{key} = {}", quoted(&column.name))));
        let name = Some(column.name.to_string());
        match key {
            "reward" => self.mapping.reward = name,
            _ => self.mapping.loss = name,
        }
        let Ok(range) = ValueRange::new(low, high) else {
            self.ask(&format!(
                "{} is always {low}: which range can it have? {key}_range = \"LOW,HIGH\"",
                column.name
            ));
            return;
        };
        let why = format!(
            "The least and the largest that can be; in these rows it is from {} to {}.",
            short(if column.is_flag() { 0.0 } else { column.low }),
            short(if column.is_flag() { 1.0 } else { column.high })
        );
        self.say(&why, Some(format!("{key}_range = \"{range}\"")));
        match key {
            "reward" => self.mapping.reward_range = Some(range),
            _ => self.mapping.loss_range = Some(range),
        }
    }

    fn context(&mut self, columns: &[Column], taken: &[&str]) {
        // Names by the reason why they are left out.
        let mut left: Vec<(&str, Vec<String>)> = Vec::new();
        let dsjson = columns.iter().any(|column| &*column.name == OF_DSJSON);
        for column in columns
            .iter()
            .filter(|column| !taken.contains(&&*column.name))
        {
            let name = column.name.to_string();
            let feature = name.strip_prefix("c.");
            let why = if column.present == 0 {
                "always empty"
            } else if dsjson && feature.is_none_or(|name| name.starts_with('_')) {
                "no feature in dsjson"
            } else if column.distinct.len() == 1 && column.present == self.rows {
                "always the same"
            } else if column.is_name() {
                "no value comes twice, as in a name"
            } else if column.rank(&REWARD).or(column.rank(&LOSS)).is_some() {
                "may be known only after the decision"
            } else if column
                .rank(&DENSITY)
                .or(column.rank(&OTHER_POLICY))
                .is_some()
                && column.is_number()
            {
                "may be of another policy (--policy column:NAME)"
            } else {
                self.mapping.context.push(name);
                continue;
            };
            match left.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) => names.push(name),
                None => left.push((why, vec![name])),
            }
        }
        let names: Vec<String> = self
            .mapping
            .context
            .iter()
            .map(|name| quoted(name))
            .collect();
        let mut why = "What was known before the decision; nothing that came of it.".to_owned();
        for (reason, names) in left {
            let _ = write!(why, "\n# Left out, {reason}: {}.", names.join(", "));
        }
        self.say(&why, Some(format!("context = [{}]", names.join(", "))));
    }
}

/// The range around some values, to round numbers.
fn around(low: f64, high: f64) -> (f64, f64) {
    let width = high - low;
    if !(0.0 < width && width.is_finite()) {
        return (low, high);
    }
    let step = 10_f64.powf(width.log10().floor()) / 2.0;
    // By division, for a step such as 0.05 is none of the numbers that people write.
    let rounded = |value: f64| (value * step * 1e12).round() / 1e12;
    (rounded((low / step).floor()), rounded((high / step).ceil()))
}

fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A name as a text of TOML.
fn quoted(name: &str) -> String {
    let mut text = String::from("\"");
    for letter in name.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(text, "\\u{:04X}", letter as u32);
            }
            letter => text.push(letter),
        }
    }
    text.push('"');
    text
}
