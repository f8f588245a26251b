use std::collections::BTreeMap;

use egret::{Context, FeatureValue, Features};

use crate::record::RowError;

/// Objects and lists within one another: more than this, and a reader of JSON might refuse the line.
const DEEPEST: usize = 32;

/// The names of a sparse context: an object with exactly these has no features of its own.
pub(crate) const SPARSE: [&str; 3] = ["dim", "indices", "values"];

/// An error unless every format can hold the features: numbers are finite, and each name is there once.
pub(crate) fn check(features: &Features) -> Result<(), RowError> {
    let mut seen = BTreeMap::new();
    let mut fault = None;
    features.for_each_leaf(|name, value| {
        if seen.insert(name.to_owned(), value).is_some() {
            fault.get_or_insert(RowError::Field {
                field: "context",
                problem: format!("the feature {name} is given twice"),
            });
        }
        if let Some(number) = not_finite(value) {
            fault.get_or_insert(RowError::Type {
                field: format!("context.{name}"),
                found: number.to_string(),
                expected: "a finite number",
            });
        }
    });
    if let Some(fault) = fault {
        return Err(fault);
    }
    if features.iter().any(|(_, value)| DEEPEST < depth(value)) {
        return Err(RowError::Field {
            field: "context",
            problem: format!("more than {DEEPEST} objects and lists within one another"),
        });
    }
    let present = seen.iter().filter(|(_, value)| !is_missing(value));
    if is_sparse(features.iter().map(|(name, _)| name))
        || is_sparse(present.map(|(name, _)| name.as_str()))
    {
        return Err(RowError::Field {
            field: "context",
            problem: "dim, indices and values alone are a sparse context: give one of these features another name"
                .to_owned(),
        });
    }
    Ok(())
}

/// Whether these are exactly the names of a sparse context.
pub(crate) fn is_sparse<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let mut names: Vec<&str> = names.take(SPARSE.len() + 1).collect();
    names.sort_unstable();
    names == SPARSE
}

/// The two parts of a context in a file: features with columns of their own, and the rest.
pub(crate) fn joined(mut features: Features, rest: Features) -> Result<Features, RowError> {
    for (name, value) in rest.iter() {
        if features.get(name).is_some_and(|known| !is_missing(known)) {
            return Err(RowError::Field {
                field: "contextRest",
                problem: format!("the feature {name} is in context too"),
            });
        }
        features.set(name, value.clone());
    }
    Ok(features)
}

/// Whether two contexts say the same. Names may be nested or dotted, and what is missing may be null or absent.
pub(crate) fn same(one: &Context, other: &Context) -> bool {
    match (one.as_named(), other.as_named()) {
        (Some(one), Some(other)) => {
            let (one, other) = (leaves(one), leaves(other));
            let equal = |(a, b): ((&String, &&FeatureValue), (&String, &&FeatureValue))| {
                a.0 == b.0 && same_value(a.1, b.1)
            };
            one.len() == other.len() && one.iter().zip(&other).all(equal)
        }
        _ => one == other,
    }
}

fn leaves(features: &Features) -> BTreeMap<String, &FeatureValue> {
    let mut leaves = BTreeMap::new();
    features.for_each_leaf(|name, value| {
        if !is_missing(value) {
            leaves.insert(name.to_owned(), value);
        }
    });
    leaves
}

/// 3 and 3.0 are one number: a column of numbers holds both.
fn same_value(one: &FeatureValue, other: &FeatureValue) -> bool {
    match (one, other) {
        (FeatureValue::Integer(whole), FeatureValue::Number(number))
        | (FeatureValue::Number(number), FeatureValue::Integer(whole)) => {
            exact(*whole) == Some(*number)
        }
        (FeatureValue::List(one), FeatureValue::List(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| same_value(one, other))
        }
        _ => one == other,
    }
}

/// A whole number as an f64, if that loses nothing.
pub(crate) fn exact(whole: i64) -> Option<f64> {
    (whole.unsigned_abs() <= 1 << 53).then_some(whole as f64)
}

pub(crate) fn is_missing(value: &FeatureValue) -> bool {
    matches!(value, FeatureValue::Missing)
}

fn not_finite(value: &FeatureValue) -> Option<f64> {
    match value {
        FeatureValue::Number(number) => (!number.is_finite()).then_some(*number),
        FeatureValue::List(values) => values.iter().find_map(not_finite),
        FeatureValue::Object(values) => values.values().find_map(not_finite),
        _ => None,
    }
}

fn depth(value: &FeatureValue) -> usize {
    match value {
        FeatureValue::List(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        FeatureValue::Object(values) => 1 + values.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(json: &str) -> Features {
        serde_json::from_str(json).expect("features")
    }

    #[test]
    fn what_a_file_cannot_hold_is_refused_by_name() {
        let refused = |features: &Features| check(features).expect_err("refused").to_string();
        let list = FeatureValue::List(vec![FeatureValue::Number(f64::NAN)]);
        let nan = Features::new().with("a", Features::new().with("b", list));
        assert_eq!(
            refused(&nan),
            "context.a.b is NaN, expected a finite number"
        );
        let twice = Features::new()
            .with("a.b", 1)
            .with("a", Features::new().with("b", 2));
        assert_eq!(refused(&twice), "context: the feature a.b is given twice");
        let sparse = r#"{"dim": 1, "indices": [], "values": "x"}"#;
        assert!(refused(&features(sparse)).contains("alone are a sparse context"));
        let hidden = r#"{"dim": 1, "indices": 2, "values": "x", "other": null}"#;
        assert!(refused(&features(hidden)).contains("alone are a sparse context"));
        let mut deep = FeatureValue::Integer(1);
        for _ in 0..40 {
            deep = FeatureValue::List(vec![deep]);
        }
        assert!(refused(&Features::new().with("deep", deep)).contains("within one another"));
        check(&features(
            r#"{"dim": 1, "indices": 2, "values": 3, "x": 4}"#,
        ))
        .expect("named");
    }

    #[test]
    fn nested_and_dotted_names_are_the_same() {
        let one = features(r#"{"a": {"b": 3, "c": null}, "d": [1, 2.5]}"#).into();
        let other = features(r#"{"d": [1.0, 2.5], "a.b": 3.0}"#).into();
        assert!(same(&one, &other));
        let large = features(r#"{"a.b": 9007199254740993, "d": [1, 2.5]}"#).into();
        assert!(!same(&one, &large));
        assert!(!same(&one, &Context::dense(vec![3.0]).expect("finite")));
    }

    #[test]
    fn the_rest_joins_and_never_replaces() {
        let typed = features(r#"{"a": 1, "b": null}"#);
        let joined_ = joined(typed.clone(), features(r#"{"b": "x", "c": [true]}"#));
        assert_eq!(
            joined_.expect("other names"),
            features(r#"{"a": 1, "b": "x", "c": [true]}"#)
        );
        let error = joined(typed, features(r#"{"a": 2}"#)).expect_err("twice");
        assert_eq!(error.field(), Some("contextRest"));
    }
}
