use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder,
};
use arrow_array::{ArrayRef, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields};
use egret::{FeatureValue, Features};

use crate::parquet::list_type::{element, list_of};
use crate::record::{
    Record,
    named_context::{exact, is_missing},
};

/// Columns for the names that most records have; the others stand in the rest.
const MOST: usize = 1024;

/// The columns of named features: one for each name, with the type that most of its first values have.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct NamedColumns(Vec<(String, ColumnType)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum ColumnType {
    Flag,
    Whole,
    Number,
    Text,
    Texts,
    Numbers,
}

impl NamedColumns {
    /// The columns that suit these records.
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut found: BTreeMap<String, BTreeMap<ColumnType, usize>> = BTreeMap::new();
        for features in records
            .iter()
            .filter_map(|record| record.context.as_named())
        {
            features.for_each_leaf(|name, value| {
                let Some(kind) = ColumnType::of(value).filter(|_| !name.is_empty()) else {
                    return;
                };
                match found.get_mut(name) {
                    Some(kinds) => *kinds.entry(kind).or_default() += 1,
                    None => {
                        found.insert(name.to_owned(), BTreeMap::from([(kind, 1)]));
                    }
                }
            });
        }
        let mut columns: Vec<(usize, String, ColumnType)> = found
            .into_iter()
            .map(|(name, kinds)| {
                let count = kinds.values().sum();
                (count, name, commonest(kinds))
            })
            .collect();
        if MOST < columns.len() {
            columns.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
            columns.truncate(MOST);
            columns.sort_by(|one, other| one.1.cmp(&other.1));
        }
        let columns = columns.into_iter();
        Self(columns.map(|(_, name, kind)| (name, kind)).collect())
    }

    /// Whether no name has a column: then the rest holds everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields of the struct.
    pub(crate) fn fields(&self) -> Fields {
        let field = |(name, kind): &(String, ColumnType)| Field::new(name, kind.data_type(), true);
        self.0.iter().map(field).collect()
    }

    /// The paths below `context` of columns whose values hardly ever come twice.
    pub(crate) fn unrepeated(&self) -> impl Iterator<Item = Vec<String>> {
        self.0.iter().filter_map(|(name, kind)| {
            let below: &[&str] = match kind {
                ColumnType::Number => &[],
                ColumnType::Numbers => &["list", "element"],
                _ => return None,
            };
            let path = ["context", name].into_iter().chain(below.iter().copied());
            Some(path.map(str::to_owned).collect())
        })
    }

    /// The struct, and the rest as JSON text.
    pub(crate) fn arrays(&self, records: &[Record]) -> (StructArray, StringArray) {
        let places: HashMap<&str, usize> = self
            .0
            .iter()
            .enumerate()
            .map(|(place, (name, _))| (name.as_str(), place))
            .collect();
        let mut builders: Vec<Builder> = self.0.iter().map(|(_, kind)| kind.builder()).collect();
        let mut rests = Vec::with_capacity(records.len());
        for record in records {
            let mut cells: Vec<Option<&FeatureValue>> = vec![None; builders.len()];
            let mut rest = Features::new();
            let features = record.context.as_named();
            let features = features.expect("the layout has room for named contexts alone");
            features.for_each_leaf(|name, value| match places.get(name) {
                _ if is_missing(value) => {}
                Some(&place) if self.0[place].1.holds(value) => cells[place] = Some(value),
                _ => rest.set(name, value.clone()),
            });
            for (builder, cell) in builders.iter_mut().zip(cells) {
                builder.append(cell);
            }
            let whole = self.is_empty() || !rest.is_empty();
            rests.push(whole.then(|| serde_json::to_string(&rest).expect("features are JSON")));
        }
        let columns = builders.into_iter().map(Builder::finish).collect();
        let columns = StructArray::try_new_with_length(self.fields(), columns, None, records.len())
            .expect("each name has a column of that length");
        (columns, StringArray::from(rests))
    }
}

/// The type that most values have. Whole and other numbers are both numbers.
fn commonest(mut kinds: BTreeMap<ColumnType, usize>) -> ColumnType {
    if kinds.contains_key(&ColumnType::Number)
        && let Some(whole) = kinds.remove(&ColumnType::Whole)
    {
        *kinds.entry(ColumnType::Number).or_default() += whole;
    }
    let most = kinds.into_iter().rev().max_by_key(|(_, count)| *count);
    most.map_or(ColumnType::Text, |(kind, _)| kind)
}

impl ColumnType {
    /// The type of column for a value; none for null, and for lists of lists and the like.
    fn of(value: &FeatureValue) -> Option<Self> {
        match value {
            FeatureValue::Flag(_) => Some(Self::Flag),
            FeatureValue::Integer(_) => Some(Self::Whole),
            FeatureValue::Number(_) => Some(Self::Number),
            FeatureValue::Text(_) => Some(Self::Text),
            FeatureValue::List(_) => [Self::Texts, Self::Numbers]
                .into_iter()
                .find(|kind| kind.holds(value)),
            FeatureValue::Missing | FeatureValue::Object(_) => None,
        }
    }

    /// Whether a column of this type holds a value without loss.
    fn holds(self, value: &FeatureValue) -> bool {
        match (self, value) {
            (Self::Flag, FeatureValue::Flag(_))
            | (Self::Whole, FeatureValue::Integer(_))
            | (Self::Text, FeatureValue::Text(_)) => true,
            (Self::Number, value) => number(value).is_some(),
            (Self::Texts, FeatureValue::List(values)) => {
                let is_text = |value| matches!(value, &FeatureValue::Text(_));
                values.iter().all(is_text)
            }
            (Self::Numbers, FeatureValue::List(values)) => {
                values.iter().all(|value| number(value).is_some())
            }
            _ => false,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Flag => DataType::Boolean,
            Self::Whole => DataType::Int64,
            Self::Number => DataType::Float64,
            Self::Text => DataType::Utf8,
            Self::Texts => list_of(DataType::Utf8),
            Self::Numbers => list_of(DataType::Float64),
        }
    }

    fn builder(self) -> Builder {
        match self {
            Self::Flag => Builder::Flag(BooleanBuilder::new()),
            Self::Whole => Builder::Whole(Int64Builder::new()),
            Self::Number => Builder::Number(Float64Builder::new()),
            Self::Text => Builder::Text(StringBuilder::new()),
            Self::Texts => Builder::Texts(
                ListBuilder::new(StringBuilder::new()).with_field(element(DataType::Utf8)),
            ),
            Self::Numbers => Builder::Numbers(
                ListBuilder::new(Float64Builder::new()).with_field(element(DataType::Float64)),
            ),
        }
    }
}

fn number(value: &FeatureValue) -> Option<f64> {
    match value {
        FeatureValue::Integer(whole) => exact(*whole),
        FeatureValue::Number(number) => Some(*number),
        _ => None,
    }
}

/// A column that is being made.
enum Builder {
    Flag(BooleanBuilder),
    Whole(Int64Builder),
    Number(Float64Builder),
    Text(StringBuilder),
    Texts(ListBuilder<StringBuilder>),
    Numbers(ListBuilder<Float64Builder>),
}

impl Builder {
    /// Adds a value that the column holds, or null.
    fn append(&mut self, value: Option<&FeatureValue>) {
        match self {
            Self::Flag(column) => column.append_option(match value {
                Some(FeatureValue::Flag(flag)) => Some(*flag),
                _ => None,
            }),
            Self::Whole(column) => column.append_option(match value {
                Some(FeatureValue::Integer(whole)) => Some(*whole),
                _ => None,
            }),
            Self::Number(column) => column.append_option(value.and_then(number)),
            Self::Text(column) => column.append_option(value.and_then(text)),
            Self::Texts(column) => {
                let values = list(value);
                for text in values.into_iter().flatten().filter_map(text) {
                    column.values().append_value(text);
                }
                column.append(values.is_some());
            }
            Self::Numbers(column) => {
                let values = list(value);
                for number in values.into_iter().flatten().filter_map(number) {
                    column.values().append_value(number);
                }
                column.append(values.is_some());
            }
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Flag(mut column) => ArrayBuilder::finish(&mut column),
            Self::Whole(mut column) => ArrayBuilder::finish(&mut column),
            Self::Number(mut column) => ArrayBuilder::finish(&mut column),
            Self::Text(mut column) => ArrayBuilder::finish(&mut column),
            Self::Texts(mut column) => Arc::new(column.finish()),
            Self::Numbers(mut column) => Arc::new(column.finish()),
        }
    }
}

fn text(value: &FeatureValue) -> Option<&str> {
    match value {
        FeatureValue::Text(text) => Some(text),
        _ => None,
    }
}

fn list(value: Option<&FeatureValue>) -> Option<&Vec<FeatureValue>> {
    match value {
        Some(FeatureValue::List(values)) => Some(values),
        _ => None,
    }
}

/// How much of memory features take, in numbers.
pub(crate) fn weight(features: &Features) -> usize {
    fn of(value: &FeatureValue) -> usize {
        match value {
            FeatureValue::Text(text) => 1 + text.len() / 8,
            FeatureValue::List(values) => 1 + values.iter().map(of).sum::<usize>(),
            _ => 1,
        }
    }
    let mut sum = 0;
    features.for_each_leaf(|name, value| sum += 1 + name.len() / 8 + of(value));
    sum
}

#[cfg(test)]
mod tests {
    use egret::{Context, Propensity};

    use super::*;

    fn records(contexts: &[&str]) -> Vec<Record> {
        let record = |json: &&str| {
            let features: Features = serde_json::from_str(json).expect("features");
            Record::bare(Context::named(features), 0.5.into(), Propensity::PointMass)
        };
        contexts.iter().map(record).collect()
    }

    #[test]
    fn each_name_has_the_type_of_most_values() {
        let columns = NamedColumns::of(&records(&[
            r#"{"flag": true, "n": 1, "r": 1, "t": "a", "l": ["a"], "v": [1, 2.5], "mixed": "a", "none": null}"#,
            r#"{"n": -2, "r": 1.5, "o": {"p": {"q": "x"}}, "l": [], "mixed": 3, "odd": [1, "a"], "": 1}"#,
            r#"{"mixed": 4}"#,
        ]));
        let found: Vec<(&str, ColumnType)> = columns
            .0
            .iter()
            .map(|(name, kind)| (name.as_str(), *kind))
            .collect();
        assert_eq!(
            found,
            [
                ("flag", ColumnType::Flag),
                ("l", ColumnType::Texts),
                ("mixed", ColumnType::Whole),
                ("n", ColumnType::Whole),
                ("o.p.q", ColumnType::Text),
                ("r", ColumnType::Number),
                ("t", ColumnType::Text),
                ("v", ColumnType::Numbers),
            ]
        );
    }

    #[test]
    fn what_fits_no_column_stands_in_the_rest() {
        let first = records(&[r#"{"age": 3, "size": 0.5, "o": {"p": 1}}"#]);
        let columns = NamedColumns::of(&first);
        let later = records(&[
            r#"{"age": 2.5, "size": 9007199254740993, "o.p": null, "new": {"name": [1, "a"]}}"#,
            r#"{"age": 4, "size": 7}"#,
        ]);
        let (_, rest) = columns.arrays(&later);
        assert_eq!(
            rest.iter().collect::<Vec<_>>(),
            [
                Some(r#"{"age":2.5,"new.name":[1,"a"],"size":9007199254740993}"#),
                None
            ]
        );
    }

    #[test]
    fn names_without_end_do_not_make_columns_without_end() {
        let contexts: Vec<String> = (0..3000)
            .map(|id| format!(r#"{{"id {id}": 1, "common": 2}}"#))
            .collect();
        let contexts: Vec<&str> = contexts.iter().map(String::as_str).collect();
        let columns = NamedColumns::of(&records(&contexts));
        assert_eq!(columns.0.len(), MOST);
        assert!(columns.0.iter().any(|(name, _)| name == "common"));
    }
}
