use std::path::Path;

use egret::{Context, EventRng, Loss, Objective, Outside, Stream};
use serde::{Deserialize, Serialize};

use crate::data::table::stem;
use crate::data::table_rows::TableRows;
use crate::data::{Column, Table, TableError, Values};
use crate::environment::{NamedRows, Supervised, SupervisedError};

/// How a table becomes contexts and labels.
///
/// If there are more than `at_most` rows, the seed draws which are kept, in the order of the file. The rest is computed from the
/// rows that are kept:
///
/// | column     | encoded                                                        | missing values become |
/// |------------|----------------------------------------------------------------|-----------------------|
/// | numbers    | scaled to [0, 1]; a column with one value is 0                  | the median            |
/// | categories | one-hot over the categories that occur, in the order of their names | the most frequent one |
/// | label      | scaled to [0, 1], or by the range of the objective             | see `missing_labels`  |
///
/// The encoding of a row depends neither on the order of the rows nor on the order of a dictionary in the file.
///
/// ```
/// use egret_lab::{Column, Encoding, Table, Values};
///
/// let column = |name: &str, values| Column { name: name.to_owned(), values: Values::Numbers(values) };
/// let table = Table::new("a list", vec![
///     column("size", vec![10.0, 30.0, f64::NAN, 20.0]),
///     column("price", vec![1.0, 5.0, 2.0, 3.0]),
/// ])?;
/// let data = Encoding::default().encode("houses", &table)?;
/// let sizes: Vec<_> = data.rows().iter().map(|(x, _)| x.as_dense().map(|x| x[0])).collect();
/// assert_eq!(sizes, [Some(0.0), Some(1.0), Some(0.5), Some(0.5)]);
/// assert_eq!(data.rows()[3].1, 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Encoding {
    /// The label column. If absent, the one that the file names, or else the last.
    pub target: Option<String>,
    /// Columns that are not features.
    pub drop: Vec<String>,
    /// What to do with a row without a label.
    pub missing_labels: MissingLabels,
    /// The units of labels, actions and outcomes. Labels are then scaled by its range, which must hold them, and reports are in
    /// these units. With losses that are distances or 1 minus a revenue it should begin at 0.
    pub objective: Option<Objective>,
    /// The largest number of rows that are kept; 80,000 by default, as in the paper.
    pub at_most: usize,
    /// Draws the rows that are kept, if there are more.
    pub seed: u64,
}

impl Default for Encoding {
    fn default() -> Self {
        Self {
            target: None,
            drop: Vec::new(),
            missing_labels: MissingLabels::Refuse,
            objective: None,
            at_most: 80_000,
            seed: 0,
        }
    }
}

/// What to do with a row without a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingLabels {
    /// Report an error.
    #[default]
    Refuse,
    /// Leave the row out, and count it.
    Drop,
}

/// A column with more categories would make contexts too wide: it is a feature by name only.
const MOST_LEVELS: usize = 1_000;

impl Encoding {
    /// Encodes a table as contexts and labels. Learners that take features by name get them as they are in the table.
    pub fn encode(&self, name: &str, table: &Table) -> Result<Supervised, EncodingError> {
        let wrong = |problem| EncodingError::new(table, problem);
        let rows = self.rows(table).map_err(wrong)?;
        let mut features = Vec::new();
        for &place in &rows.features {
            let column = &table.columns()[place];
            features.extend(encoded(column, &rows.kept).map_err(wrong)?);
        }
        let context = |row: usize| {
            let x = features.iter().map(|feature| feature[row]).collect();
            Context::dense(x).expect("scaled to [0, 1]")
        };
        rows.supervised(name, table, context)
    }

    /// Takes the features of a table by name only: for columns of more categories than [`encode`](Self::encode) can give a
    /// feature each.
    pub fn encode_by_name(&self, name: &str, table: &Table) -> Result<Supervised, EncodingError> {
        let wrong = |problem| EncodingError::new(table, problem);
        let rows = self.rows(table).map_err(wrong)?;
        let named = rows.named(table);
        rows.supervised(name, table, |row| Context::named(named.features(row)))
    }

    /// The rows that are kept, with their labels.
    fn rows(&self, table: &Table) -> Result<Rows, EncodingProblem> {
        let plan = self.plan(table)?;
        let labels = plan.labels(table)?;
        let mut kept: Vec<usize> = (0..labels.len()).collect();
        if self.missing_labels == MissingLabels::Drop {
            kept.retain(|&row| !labels[row].is_nan());
        }
        let dropped = labels.len() - kept.len();
        let kept = sample(kept, self.at_most, self.seed);
        let labels = kept.iter().map(|&row| labels[row]);
        let labels = match self.objective {
            None => scaled(labels.collect()),
            Some(objective) => labels
                .zip(&kept)
                .map(|(label, row)| {
                    let cost = Objective::minimize(objective.low(), objective.high());
                    let cost = cost.expect("it is a range already");
                    let share = match objective.outside() {
                        Outside::Refuse => cost.loss(label),
                        Outside::Clip => cost.clipped().loss(label),
                    };
                    share.map(Loss::get).map_err(|_| EncodingProblem::Outside {
                        row: row + 1,
                        column: table.columns()[plan.target].name.clone(),
                        label,
                        objective,
                    })
                })
                .collect::<Result<_, _>>()?,
        };
        Ok(Rows {
            labels,
            objective: self.objective.unwrap_or_default(),
            features: plan.features,
            kept,
            dropped,
        })
    }

    /// Which column is the label and which are features.
    fn plan(&self, table: &Table) -> Result<Plan, EncodingProblem> {
        let columns = table.columns();
        let place = |name: &str| columns.iter().position(|column| column.name == name);
        let unknown = |name: &str, role| EncodingProblem::UnknownColumn {
            role,
            name: name.to_owned(),
            columns: columns.iter().map(|column| column.name.clone()).collect(),
        };
        let target = match self.target.as_deref().or(table.target()) {
            Some(name) => place(name).ok_or_else(|| unknown(name, "target"))?,
            None => (columns.len())
                .checked_sub(1)
                .ok_or(EncodingProblem::NoColumns)?,
        };
        for name in &self.drop {
            place(name).ok_or_else(|| unknown(name, "to drop"))?;
        }
        let out = |name: &String| self.drop.contains(name) || table.ignored().contains(name);
        let features: Vec<usize> = (0..columns.len())
            .filter(|&place| place != target && !out(&columns[place].name))
            .collect();
        if features.is_empty() {
            return Err(EncodingProblem::NoFeatures {
                target: columns[target].name.clone(),
            });
        }
        Ok(Plan {
            target,
            features,
            refuse: self.missing_labels == MissingLabels::Refuse,
        })
    }
}

impl Supervised {
    /// Reads and encodes a file. The data set has the name of the file without its ending.
    pub fn read(path: &Path, encoding: &Encoding) -> Result<Self, EncodingError> {
        encoding.encode(&stem(path), &Table::read(path)?)
    }
}

/// Which rows and columns of a table are kept, and the labels of these rows.
struct Rows {
    features: Vec<usize>,
    kept: Vec<usize>,
    labels: Vec<f64>,
    objective: Objective,
    dropped: usize,
}

impl Rows {
    fn named(&self, table: &Table) -> TableRows {
        TableRows::new(table, &self.features, &self.kept)
    }

    fn supervised(
        &self,
        name: &str,
        table: &Table,
        context: impl Fn(usize) -> Context,
    ) -> Result<Supervised, EncodingError> {
        let labels = self.labels.iter().enumerate();
        let rows = labels.map(|(row, label)| (context(row), *label)).collect();
        let data = Supervised::new(name, rows)?.with_dropped(self.dropped);
        let data = data.with_objective(self.objective);
        Ok(data.with_named(self.named(table)))
    }
}

struct Plan {
    target: usize,
    features: Vec<usize>,
    refuse: bool,
}

impl Plan {
    fn labels<'a>(&self, table: &'a Table) -> Result<&'a [f64], EncodingProblem> {
        let column = &table.columns()[self.target];
        let Values::Numbers(labels) = &column.values else {
            let numeric = |column: &&Column| matches!(column.values, Values::Numbers(_));
            return Err(EncodingProblem::CategoricalTarget {
                name: column.name.clone(),
                numbers: (table.columns().iter().filter(numeric))
                    .map(|column| column.name.clone())
                    .collect(),
            });
        };
        for (row, label) in labels.iter().enumerate() {
            if label.is_infinite() || (self.refuse && label.is_nan()) {
                return Err(EncodingProblem::Label {
                    row: row + 1,
                    column: column.name.clone(),
                    found: if label.is_nan() {
                        "missing".to_owned()
                    } else {
                        label.to_string()
                    },
                });
            }
        }
        Ok(labels)
    }
}

/// A uniform sample of at most this many rows, in their order.
fn sample(mut rows: Vec<usize>, at_most: usize, seed: u64) -> Vec<usize> {
    if at_most < rows.len() {
        // Event 0 shuffles the rows: this draw is independent of it.
        let mut rng = EventRng::new(seed, 1, Stream::World);
        for place in 0..at_most {
            let other = place + (rng.unit() * (rows.len() - place) as f64) as usize;
            rows.swap(place, other);
        }
        rows.truncate(at_most);
        rows.sort_unstable();
    }
    rows
}

/// The features of a column, over the rows that are kept.
fn encoded(column: &Column, kept: &[usize]) -> Result<Vec<Vec<f64>>, EncodingProblem> {
    match &column.values {
        Values::Numbers(values) => {
            let infinite = |&&row: &&usize| values[row].is_infinite();
            if let Some(&row) = kept.iter().find(infinite) {
                return Err(EncodingProblem::Infinite {
                    row: row + 1,
                    column: column.name.clone(),
                });
            }
            let mut values: Vec<f64> = kept.iter().map(|&row| values[row]).collect();
            let middle = median(&values);
            for value in values.iter_mut().filter(|value| value.is_nan()) {
                *value = middle;
            }
            Ok(vec![scaled(values)])
        }
        Values::Categories { levels, codes } => one_hot(column, levels, codes, kept),
    }
}

/// The median of the values that are not missing; 0 if all are missing.
fn median(values: &[f64]) -> f64 {
    let mut known: Vec<f64> = (values.iter().copied())
        .filter(|value| !value.is_nan())
        .collect();
    known.sort_unstable_by(f64::total_cmp);
    match (known.len() / 2, known.len().is_multiple_of(2)) {
        (0, _) => known.first().copied().unwrap_or(0.0),
        // Halved before they are added, since the sum could overflow.
        (half, true) => known[half - 1] / 2.0 + known[half] / 2.0,
        (half, false) => known[half],
    }
}

/// (v − least) / (most − least), or 0 if least = most.
fn scaled(mut values: Vec<f64>) -> Vec<f64> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = most - least;
    for value in &mut values {
        *value = if !(0.0 < width) {
            0.0
        } else if width.is_finite() {
            (*value - least) / width
        } else {
            // The width overflows.
            (*value / 2.0 - least / 2.0) / (most / 2.0 - least / 2.0)
        };
    }
    values
}

fn one_hot(
    column: &Column,
    levels: &[String],
    codes: &[Option<u32>],
    kept: &[usize],
) -> Result<Vec<Vec<f64>>, EncodingProblem> {
    let mut counts = vec![0_usize; levels.len()];
    for code in kept.iter().filter_map(|&row| codes[row]) {
        counts[code as usize] += 1;
    }
    let mut present: Vec<usize> = (0..levels.len()).filter(|&code| 0 < counts[code]).collect();
    present.sort_unstable_by_key(|&code| &levels[code]);
    if MOST_LEVELS < present.len() {
        return Err(EncodingProblem::TooManyLevels {
            column: column.name.clone(),
            levels: present.len(),
        });
    }
    // Of the most frequent categories, the first by name.
    let most = (present.iter().copied()).reduce(|best, code| {
        if counts[best] < counts[code] {
            code
        } else {
            best
        }
    });
    let is = |wanted: usize| {
        let hot = |&row: &usize| {
            let code = codes[row].map(|code| code as usize).or(most);
            f64::from(u8::from(code == Some(wanted)))
        };
        kept.iter().map(hot).collect()
    };
    Ok(present.iter().map(|&code| is(code)).collect())
}

/// Why a file is not a data set.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodingError {
    /// The file is not a table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The table cannot be encoded.
    #[error("{file}: {problem}")]
    Encoding {
        /// Where the table came from.
        file: String,
        /// Why not.
        problem: EncodingProblem,
    },
    /// The encoded rows are not a data set.
    #[error(transparent)]
    Supervised(#[from] SupervisedError),
}

impl EncodingError {
    fn new(table: &Table, problem: EncodingProblem) -> Self {
        Self::Encoding {
            file: table.source().to_owned(),
            problem,
        }
    }
}

/// Why a table cannot be encoded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodingProblem {
    /// There is no column of this name.
    #[error("no column {name:?} ({role}), expected one of {}", .columns.join(", "))]
    UnknownColumn {
        /// What the column was named for.
        role: &'static str,
        /// The name.
        name: String,
        /// The columns of the table.
        columns: Vec<String>,
    },
    /// The table has no columns.
    #[error("there are no columns")]
    NoColumns,
    /// There is no column besides the label.
    #[error("there is no feature besides the target {target:?}")]
    NoFeatures {
        /// The label column.
        target: String,
    },
    /// The label column does not hold numbers.
    #[error("the target {name:?} holds categories, expected numbers, as in {}", or_none(.numbers))]
    CategoricalTarget {
        /// The label column.
        name: String,
        /// The columns that hold numbers.
        numbers: Vec<String>,
    },
    /// A label is missing or infinite.
    #[error("row {row}: the target {column:?} is {found}, expected a finite number")]
    Label {
        /// The row, from 1.
        row: usize,
        /// The label column.
        column: String,
        /// The label.
        found: String,
    },
    /// A label is not in the range of the objective.
    #[error(
        "row {row}: the target {column:?} is {label}, outside of the objective {objective}: widen it, or clip labels with \
         {objective},clip"
    )]
    Outside {
        /// The row, from 1.
        row: usize,
        /// The label column.
        column: String,
        /// The label.
        label: f64,
        /// The objective.
        objective: Objective,
    },
    /// A feature is infinite.
    #[error("row {row}: {column:?} is infinite, expected a finite number")]
    Infinite {
        /// The row, from 1.
        row: usize,
        /// The column.
        column: String,
    },
    /// A column has too many categories for a feature each.
    #[error(
        "{column:?} has {levels} categories, expected at most {MOST_LEVELS}; drop it, or let learners take features by name only"
    )]
    TooManyLevels {
        /// The column.
        column: String,
        /// How many categories occur.
        levels: usize,
    },
}

fn or_none(names: &[String]) -> String {
    if names.is_empty() {
        "no column of this file".to_owned()
    } else {
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(name: &str, values: &[f64]) -> Column {
        Column {
            name: name.to_owned(),
            values: Values::Numbers(values.to_vec()),
        }
    }

    fn words(name: &str, words: &[Option<&str>]) -> Column {
        let mut builder = crate::data::table::CategoryBuilder::default();
        for word in words {
            builder.push(*word);
        }
        Column {
            name: name.to_owned(),
            values: builder.finish(),
        }
    }

    fn table(columns: Vec<Column>) -> Table {
        Table::new("f.csv", columns).expect("a table")
    }

    fn dense(data: &Supervised) -> Vec<(Vec<f64>, f64)> {
        (data.rows().iter())
            .map(|(x, label)| (x.as_dense().expect("dense").to_vec(), *label))
            .collect()
    }

    #[test]
    fn missing_values_take_the_median_and_the_mode() {
        let table = table(vec![
            numbers("n", &[f64::NAN, 4.0, 0.0, 1.0, 3.0]),
            numbers("same", &[5.0; 5]),
            words("w", &[Some("b"), None, Some("a"), Some("b"), Some("a")]),
            numbers("y", &[10.0, 20.0, 15.0, 10.0, 10.0]),
        ]);
        let data = Encoding::default().encode("f", &table).expect("sound");
        // The median of 0, 1, 3, 4 is 2. Of a and b, which occur twice each, the first by name counts.
        assert_eq!(
            dense(&data),
            [
                (vec![0.5, 0.0, 0.0, 1.0], 0.0),
                (vec![1.0, 0.0, 1.0, 0.0], 1.0),
                (vec![0.0, 0.0, 1.0, 0.0], 0.5),
                (vec![0.25, 0.0, 0.0, 1.0], 0.0),
                (vec![0.75, 0.0, 1.0, 0.0], 0.0),
            ]
        );
    }

    #[test]
    fn the_encoding_of_a_row_does_not_depend_on_the_order_of_the_file() {
        let forth = table(vec![
            words("w", &[Some("b"), None, Some("a"), Some("c")]),
            numbers("n", &[1.0, f64::NAN, 3.0, 7.0]),
            numbers("y", &[1.0, 2.0, 3.0, 4.0]),
        ]);
        let back = table(vec![
            words("w", &[Some("c"), Some("a"), None, Some("b")]),
            numbers("n", &[7.0, 3.0, f64::NAN, 1.0]),
            numbers("y", &[4.0, 3.0, 2.0, 1.0]),
        ]);
        let encoding = Encoding::default();
        let forth = dense(&encoding.encode("f", &forth).expect("sound"));
        let mut back = dense(&encoding.encode("f", &back).expect("sound"));
        back.reverse();
        assert_eq!(forth, back);
    }

    #[test]
    fn target_and_dropped_columns_are_chosen_by_name() {
        let columns = vec![
            numbers("id", &[1.0, 2.0]),
            numbers("y", &[3.0, 4.0]),
            numbers("x", &[0.0, 1.0]),
            numbers("z", &[1.0, 0.0]),
        ];
        let table = table(columns).with_roles(Some("y".to_owned()), vec!["id".to_owned()]);
        let of = |encoding: Encoding| dense(&encoding.encode("f", &table).expect("sound"));
        let own = of(Encoding::default());
        assert_eq!(own, [(vec![0.0, 1.0], 0.0), (vec![1.0, 0.0], 1.0)]);
        let chosen = of(Encoding {
            target: Some("z".to_owned()),
            drop: vec!["y".to_owned()],
            ..Encoding::default()
        });
        assert_eq!(chosen, [(vec![0.0], 1.0), (vec![1.0], 0.0)]);
    }

    #[test]
    fn rows_without_a_label_are_refused_or_counted() {
        let table = table(vec![
            numbers("x", &[100.0, 1.0, 2.0]),
            numbers("y", &[f64::NAN, 0.0, 8.0]),
        ]);
        let error = Encoding::default()
            .encode("f", &table)
            .expect_err("missing");
        assert_eq!(
            error.to_string(),
            "f.csv: row 1: the target \"y\" is missing, expected a finite number"
        );
        let encoding = Encoding {
            missing_labels: MissingLabels::Drop,
            ..Encoding::default()
        };
        let data = encoding.encode("f", &table).expect("two rows are left");
        assert_eq!(data.dropped(), 1);
        assert_eq!(dense(&data), [(vec![0.0], 0.0), (vec![1.0], 1.0)]);
    }

    #[test]
    fn errors_name_the_file_and_the_valid_values() {
        let table = table(vec![
            numbers("x", &[f64::INFINITY, 1.0]),
            words("w", &[Some("a"), Some("b")]),
            numbers("y", &[0.0, 1.0]),
        ]);
        let message = |encoding: Encoding| {
            let error = encoding.encode("f", &table).expect_err("refused");
            error.to_string()
        };
        let target = |name: &str| Encoding {
            target: Some(name.to_owned()),
            ..Encoding::default()
        };
        assert_eq!(
            message(target("Y")),
            "f.csv: no column \"Y\" (target), expected one of x, w, y"
        );
        assert_eq!(
            message(target("w")),
            "f.csv: the target \"w\" holds categories, expected numbers, as in x, y"
        );
        assert_eq!(
            message(Encoding::default()),
            "f.csv: row 1: \"x\" is infinite, expected a finite number"
        );
        assert_eq!(
            message(target("x")),
            "f.csv: row 1: the target \"x\" is inf, expected a finite number"
        );
        let drop = |names: &[&str]| Encoding {
            drop: names.iter().map(|&name| name.to_owned()).collect(),
            ..Encoding::default()
        };
        assert!(message(drop(&["v"])).contains("no column \"v\" (to drop)"));
        assert_eq!(
            message(drop(&["x", "w"])),
            "f.csv: there is no feature besides the target \"y\""
        );
    }

    #[test]
    fn a_column_of_names_is_refused() {
        let names: Vec<String> = (0..=MOST_LEVELS).map(|row| format!("row {row}")).collect();
        let names: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).collect();
        let labels: Vec<f64> = (0..names.len()).map(|row| row as f64).collect();
        let table = table(vec![words("name", &names), numbers("y", &labels)]);
        let error = Encoding::default().encode("f", &table).expect_err("names");
        assert_eq!(
            error.to_string(),
            "f.csv: \"name\" has 1001 categories, expected at most 1000; drop it, or let learners take features by name only"
        );
    }

    #[test]
    fn an_objective_scales_labels_by_its_range_and_refuses_those_outside() {
        let table = table(vec![
            numbers("x", &[1.0, 2.0, 3.0]),
            numbers("price", &[10.0, 20.0, 60.0]),
        ]);
        let labels = |objective: &str| {
            let encoding = Encoding {
                objective: Some(objective.parse().expect("an objective")),
                ..Encoding::default()
            };
            let data = encoding.encode("f", &table)?;
            Ok::<_, EncodingError>(data.rows().iter().map(|row| row.1).collect::<Vec<_>>())
        };
        // Actions mean the same whichever end is better.
        for objective in ["maximize:0,100", "minimize:0,100"] {
            assert_eq!(labels(objective).expect("inside"), [0.1, 0.2, 0.6]);
        }
        assert_eq!(
            labels("maximize:0,40,clip").expect("clipped"),
            [0.25, 0.5, 1.0]
        );
        assert_eq!(
            labels("maximize:0,50").expect_err("outside").to_string(),
            "f.csv: row 3: the target \"price\" is 60, outside of the objective maximize:0,50: widen it, or clip labels \
             with maximize:0,50,clip"
        );
    }

    #[test]
    fn a_sample_depends_on_the_seed_and_keeps_the_order() {
        let rows: Vec<f64> = (0..1_000).map(f64::from).collect();
        let table = table(vec![numbers("x", &rows), numbers("y", &rows)]);
        let of = |seed| {
            let encoding = Encoding {
                at_most: 100,
                seed,
                ..Encoding::default()
            };
            dense(&encoding.encode("f", &table).expect("sound"))
        };
        let first = of(1);
        assert_eq!(first.len(), 100);
        assert!(first.is_sorted_by(|a, b| a.1 < b.1));
        assert_eq!((first[0].1, first[99].1), (0.0, 1.0));
        assert_eq!(first, of(1));
        assert_ne!(first, of(2));
    }

    #[test]
    fn the_widest_numbers_do_not_overflow() {
        let most = f64::MAX;
        assert_eq!(scaled(vec![-most, 0.0, most]), [0.0, 0.5, 1.0]);
        assert_eq!(median(&[most, most]), most);
        assert_eq!(median(&[f64::NAN]), 0.0);
        assert_eq!(median(&[3.0]), 3.0);
    }
}
