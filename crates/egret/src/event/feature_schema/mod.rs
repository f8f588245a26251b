//! From named features to numbers.
//!
//! A [`FeatureSchema`] is declared or [inferred](FeatureSchema::infer), saved with the model, and the same in every crate.
//! Each field has columns of its own, and two columns are shared by all: "a field is missing" and "a category was never
//! seen". What is not as the schema says is handled by a rule and counted, never an error in the middle of traffic and
//! never a silent 0:
//!
//! | a context has                     | it becomes                                                                 |
//! |-----------------------------------|----------------------------------------------------------------------------|
//! | a field missing or null           | zeros, and 1 in the shared column, or in the field's own if it is optional |
//! | a category that is not listed     | zeros, and 1 in the shared column, or in the field's own if it has one     |
//! | a field that the schema lacks     | nothing                                                                    |
//! | text where a number was           | the number that it spells, or missing                                      |
//! | a number where a category was     | the category with its digits as a name                                     |
//! | any other value of another type   | missing                                                                    |
//!
//! What a later version brings leaves contexts without it as they were, so that a model that grows forgets nothing: a new
//! field has a column that says it is present, and takes no part in "a field is missing"; a new category is among the
//! unseen or the others still, beside its own column.
//!
//! A [strict](FeatureSchema::strict) schema makes each of these an error that names the field; only
//! fields that are optional, or that a later version brought, may be missing.

mod counts;
mod encode;
mod field;
mod hashing;
mod infer;
mod layout;

pub use counts::{FeatureCounts, FieldCounts};
pub(crate) use encode::EncodeBuffers;
pub use field::{Categories, Field, FieldKind, LogRule, NumberScale};
pub use infer::SchemaSample;

use serde::{Deserialize, Serialize};

use self::layout::Layout;
use crate::event::Features;
use crate::numeric::hash::content_hash;

/// How named features become the numbers of a [`Context`](crate::Context).
///
/// ```
/// use egret::{FeatureCounts, FeatureSchema, FieldKind, Features};
///
/// let schema = FeatureSchema::new()
///     .with("income", FieldKind::number())?
///     .with("country", FieldKind::category(["NZ", "AU"]))?
///     .with("customer", FieldKind::hashed(10))?;
/// let customer = Features::new().with("income", 52_000).with("country", "FR").with("shoe size", 44);
/// let mut counts = FeatureCounts::default();
/// let x = schema.encode(&customer, &mut counts)?;
/// assert_eq!(x.dim(), schema.width());
/// assert_eq!(counts.fields["country"].unseen, 1);
/// assert_eq!(counts.fields["customer"].missing, 1);
/// assert_eq!(counts.unknown["shoe size"], 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked", into = "Unchecked")]
pub struct FeatureSchema {
    declared: Unchecked,
    layout: Layout,
    hash: String,
}

/// A schema as it is written, before it is checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    #[serde(default = "first_version")]
    version: u32,
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    salt: u64,
    fields: Vec<Named>,
    #[serde(default)]
    interactions: Vec<Interaction>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    field: Field,
}

/// Products of two fields' columns, hashed with signs to 2^bits columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interaction {
    /// One field.
    pub one: String,
    /// The other.
    pub other: String,
    /// How many columns, as a power of 2.
    pub bits: u8,
    /// The version of the schema that brought it.
    #[serde(default = "first_version")]
    pub since: u32,
}

fn first_version() -> u32 {
    1
}

/// Columns 0 and 1 are shared: a field is missing, a category is unseen.
const SHARED: usize = 2;
const MISSING: u32 = 0;
const UNSEEN: u32 = 1;

impl FeatureSchema {
    /// No fields yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more field; its columns come last.
    pub fn with(
        self,
        name: impl Into<String>,
        field: impl Into<Field>,
    ) -> Result<Self, SchemaError> {
        self.with_fields([(name.into(), field.into())])
    }

    /// More fields at once: the layout is made once.
    pub(crate) fn with_fields(
        self,
        fields: impl IntoIterator<Item = (String, Field)>,
    ) -> Result<Self, SchemaError> {
        let mut declared = self.declared;
        let since = declared.version;
        let fields = fields.into_iter().map(|(name, field)| Named {
            name,
            field: Field { since, ..field },
        });
        declared.fields.extend(fields);
        declared.try_into()
    }

    /// Products of two fields' columns, hashed to 2^bits columns.
    pub fn with_interaction(
        self,
        one: impl Into<String>,
        other: impl Into<String>,
        bits: u8,
    ) -> Result<Self, SchemaError> {
        let mut declared = self.declared;
        let since = declared.version;
        declared.interactions.push(Interaction {
            one: one.into(),
            other: other.into(),
            bits,
            since,
        });
        declared.try_into()
    }

    /// Whatever is not as the schema says is an error.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.declared.strict = true;
        self.hash = self.declared.content_hash();
        self
    }

    /// What hashes start from. Another salt gives other columns.
    #[must_use]
    pub fn with_salt(mut self, salt: u64) -> Self {
        self.declared.salt = salt;
        self.hash = self.declared.content_hash();
        self
    }

    /// The next version: `grow` adds fields, categories, interactions. Old columns keep their places.
    pub fn grown(
        &self,
        grow: impl FnOnce(Self) -> Result<Self, SchemaError>,
    ) -> Result<Self, SchemaError> {
        let mut next = self.clone();
        next.declared.version = self.version().checked_add(1).ok_or(SchemaError::Version)?;
        next.hash = next.declared.content_hash();
        grow(next)
    }

    /// More values of a category. In the first version they join the others; later their columns come last.
    pub fn with_categories(
        self,
        name: &str,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, SchemaError> {
        let mut declared = self.declared;
        let version = declared.version;
        let field = declared.fields.iter_mut().find(|field| field.name == name);
        let Some(Named {
            field:
                Field {
                    kind: FieldKind::Category(categories),
                    since,
                    ..
                },
            ..
        }) = field
        else {
            return Err(SchemaError::NoCategory(name.to_owned()));
        };
        let values = values.into_iter().map(Into::into);
        if version == *since {
            categories.values.extend(values);
        } else {
            categories.later.entry(version).or_default().extend(values);
        }
        declared.try_into()
    }

    /// The schema as it was at a version up to its own.
    fn at(&self, version: u32) -> Unchecked {
        let mut declared = self.declared.clone();
        declared.version = version;
        declared.fields.retain(|named| named.field.since <= version);
        for named in &mut declared.fields {
            if let FieldKind::Category(categories) = &mut named.field.kind {
                categories.later.retain(|since, _| *since <= version);
            }
        }
        let interactions = &mut declared.interactions;
        interactions.retain(|product| product.since <= version);
        declared
    }

    /// An error that says how they differ, unless this schema is a later version of that one.
    pub fn check_grown_from(&self, before: &Self) -> Result<(), SchemaError> {
        let (old, at) = (&before.declared, self.at(before.version()));
        let differs = |what: String| Err(SchemaError::NotGrown(what));
        let (new, was) = (self.version(), before.version());
        if new <= was {
            return differs(format!(
                "it is of version {new}, and the other of version {was}"
            ));
        }
        if at.salt != old.salt {
            return differs("it has another salt".to_owned());
        }
        if at.strict != old.strict {
            return differs("one is strict and the other is not".to_owned());
        }
        for named in &old.fields {
            match at.fields.iter().find(|other| other.name == named.name) {
                None => return differs(format!("it lacks the field {}", named.name)),
                Some(other) if other != named => {
                    return differs(format!("the field {} was another", named.name));
                }
                Some(_) => {}
            }
        }
        let names = |of: &Unchecked| of.fields.iter().map(|named| named.name.clone()).collect();
        let (found, expected): (Vec<_>, Vec<_>) = (names(&at), names(old));
        if found != expected {
            return differs(format!(
                "its first fields are {found:?}, and those of the other are {expected:?}"
            ));
        }
        if at.interactions != old.interactions {
            return differs("its first interactions are others".to_owned());
        }
        Ok(())
    }

    /// How many columns there were after each version that brought some: the last is the width.
    pub(crate) fn widths(&self) -> &[usize] {
        &self.layout.widths
    }

    /// 1 at first; raised with every [growth](Self::grown).
    pub fn version(&self) -> u32 {
        self.declared.version
    }

    /// Whether whatever is not as the schema says is an error.
    pub fn is_strict(&self) -> bool {
        self.declared.strict
    }

    /// How many columns there are: the length of a context.
    pub fn width(&self) -> usize {
        self.layout.width
    }

    /// Fields by name, in the order of their columns.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Field)> {
        let fields = self.declared.fields.iter();
        fields.map(|named| (named.name.as_str(), &named.field))
    }

    /// Products of fields.
    pub fn interactions(&self) -> &[Interaction] {
        &self.declared.interactions
    }

    /// 64 bits of all that the schema says, as 16 hexadecimal digits: logs name the schema by it.
    pub fn content_hash(&self) -> &str {
        &self.hash
    }

    /// What of a context may stand in the log: fields marked `drop` are left out, those marked `hash` are hashed.
    /// [`encode`](Self::encode) gives the same numbers for it.
    pub fn for_log(&self, features: &Features) -> Features {
        let mut logged = features.clone();
        for Named { name, field } in &self.declared.fields {
            match field.log {
                LogRule::Keep => {}
                LogRule::Drop => logged.replace(name, None),
                LogRule::Hash => {
                    if let Some(value) = features.get(name) {
                        logged.replace(name, Some(encode::hashed(self.declared.salt, value)));
                    }
                }
            }
        }
        logged
    }
}

impl Default for FeatureSchema {
    fn default() -> Self {
        let declared = Unchecked {
            version: 1,
            strict: false,
            salt: 0,
            fields: Vec::new(),
            interactions: Vec::new(),
        };
        declared.try_into().expect("no field is wrong")
    }
}

impl From<FeatureSchema> for Unchecked {
    fn from(schema: FeatureSchema) -> Self {
        schema.declared
    }
}

impl TryFrom<Unchecked> for FeatureSchema {
    type Error = SchemaError;

    fn try_from(declared: Unchecked) -> Result<Self, SchemaError> {
        let layout = Layout::new(&declared)?;
        let hash = declared.content_hash();
        Ok(Self {
            declared,
            layout,
            hash,
        })
    }
}

impl Unchecked {
    fn content_hash(&self) -> String {
        content_hash(&postcard::to_stdvec(self).expect("a schema is plain data"))
    }
}

/// Why a schema is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Two fields of one name.
    #[error("the field {0} is declared twice")]
    Twice(String),
    /// Two equal values of a category.
    #[error("the category {value:?} of the field {field} is listed twice")]
    CategoryTwice {
        /// Whose.
        field: String,
        /// Which.
        value: String,
    },
    /// An interaction of what is no field.
    #[error("an interaction names the field {0}, which is not declared")]
    NoField(String),
    /// More categories of what has none.
    #[error("there is no category field {0}")]
    NoCategory(String),
    /// 2^bits columns are too few or too many.
    #[error("2^{0} columns: bits are from 1 to 26")]
    Bits(u8),
    /// More columns than a context can have.
    #[error("the schema has more than 2^28 columns: give its hashed fields fewer bits")]
    TooWide,
    /// A scale that is none.
    #[error(
        "the field {0} is scaled by a width that is no positive number, or around a center that is no number"
    )]
    Scale(String),
    /// A value that would be hashed and is needed.
    #[error(
        "the field {0} is logged as a hash: make it a hashed category or tokens, which can be read from one"
    )]
    HashOfOther(String),
    /// A schema that does not continue another.
    #[error("the schema is not a growth of the other: {0}; make it with FeatureSchema::grown")]
    NotGrown(String),
    /// A part is of a version that the schema has not reached.
    #[error(
        "a part of the schema is of a version that the schema has not reached, or of version 0"
    )]
    Version,
}

/// Why a context was not encoded. A schema that is not strict never gives one of these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeatureError {
    /// Absent or null.
    #[error("the field {field} is missing")]
    Missing {
        /// Which.
        field: String,
    },
    /// A category that is not listed.
    #[error("the field {field} has the category {value:?}, which the schema does not list")]
    Unseen {
        /// Which.
        field: String,
        /// What it was.
        value: String,
    },
    /// Of another type.
    #[error("the field {field} is not {expected}")]
    Mismatched {
        /// Which.
        field: String,
        /// What it should be.
        expected: &'static str,
    },
    /// The schema has no such field.
    #[error("the field {field} is not in the schema")]
    Unknown {
        /// Which.
        field: String,
    },
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::event::{Context, FeatureValue};

    fn parsed(json: &str) -> Features {
        serde_json::from_str(json).expect("features")
    }

    fn shop() -> FeatureSchema {
        let schema = FeatureSchema::new()
            .with("age", FieldKind::number())
            .and_then(|schema| schema.with("country", FieldKind::category(["NZ", "AU"])))
            .and_then(|schema| schema.with("member", FieldKind::flag()))
            .and_then(|schema| schema.with("user.id", FieldKind::hashed(3)))
            .and_then(|schema| schema.with("words", FieldKind::tokens(3)))
            .and_then(|schema| schema.with("position", FieldKind::vector(2)))
            .and_then(|schema| schema.with("when", FieldKind::time()));
        schema.expect("a schema")
    }

    fn dense(schema: &FeatureSchema, json: &str) -> (Vec<f64>, FeatureCounts) {
        let mut counts = FeatureCounts::default();
        let x = schema
            .encode(&parsed(json), &mut counts)
            .expect("not strict");
        (x.as_dense().expect("narrow").to_vec(), counts)
    }

    const CUSTOMER: &str = r#"{"age": 30, "country": "AU", "member": true, "user": {"id": "u7"},
        "words": ["red", "shoes"], "position": [0.5, -1], "when": "1970-01-01T06:00:00Z"}"#;

    #[test]
    fn each_kind_has_its_columns() {
        let schema = shop();
        let (x, counts) = dense(&schema, CUSTOMER);
        assert!(counts.is_clean(), "{counts:?}");
        // Shared, age, NZ, AU, member.
        assert_eq!(x[..6], [0.0, 0.0, 30.0, 0.0, 1.0, 1.0]);
        let absolute = |range: std::ops::Range<usize>| x[range].iter().map(|x| x.abs());
        assert_eq!(absolute(6..14).sum::<f64>(), 1.0);
        let squares: f64 = x[14..22].iter().map(|x| x * x).sum();
        let same = squares == 0.0;
        assert!((squares - 1.0).abs() < 1e-12 || (squares - 2.0).abs() < 1e-12 || same);
        assert_eq!(x[22..24], [0.5, -1.0]);
        assert!(
            (x[24] - 1.0).abs() < 1e-12 && x[25].abs() < 1e-12,
            "six in the morning"
        );
        assert_eq!((x.len(), schema.width()), (30, 30));
    }

    #[test]
    fn what_is_not_as_declared_is_counted_and_never_a_silent_zero() {
        let schema = shop();
        let (x, counts) = dense(
            &schema,
            r#"{"age": "31", "country": "FR", "member": 2, "new": 1}"#,
        );
        assert_eq!(x[..6], [1.0, 1.0, 31.0, 0.0, 0.0, 0.0]);
        assert_eq!(counts.fields["age"].mismatched, 1);
        assert_eq!(counts.fields["country"].unseen, 1);
        assert_eq!(counts.fields["member"].mismatched, 1);
        assert_eq!(counts.fields["words"].missing, 1);
        assert_eq!(counts.unknown["new"], 1);
        for (json, field) in [
            (r#"{"age": "old"}"#, "age"),
            (r#"{"age": [1]}"#, "age"),
            (r#"{"position": [1]}"#, "position"),
            (r#"{"position": ["1", "2"]}"#, "position"),
            (r#"{"when": "yesterday"}"#, "when"),
            (r#"{"words": [["a"]]}"#, "words"),
            (r#"{"country": ["NZ"]}"#, "country"),
        ] {
            let (x, counts) = dense(&schema, json);
            assert_eq!(counts.fields[field].mismatched, 1, "{json}");
            assert_eq!(x[0], 1.0, "{json}");
        }
    }

    #[test]
    fn a_code_may_come_as_a_float() {
        let schema = FeatureSchema::new().with("code", FieldKind::category(["3", "4"]));
        let schema = schema.expect("a schema");
        let (whole, counts) = dense(&schema, r#"{"code": 3}"#);
        assert!(counts.is_clean());
        let (float, counts) = dense(&schema, r#"{"code": 3.0}"#);
        assert!(counts.is_clean() && whole == float, "{float:?}");
        let (half, counts) = dense(&schema, r#"{"code": 3.5}"#);
        assert!(
            counts.fields["code"].unseen == 1 && half[1] == 1.0,
            "{half:?}"
        );
    }

    #[test]
    fn an_optional_field_has_a_column_for_missing() {
        let schema = FeatureSchema::new()
            .with("a", FieldKind::number().optional())
            .and_then(|schema| schema.with("b", FieldKind::number()))
            .expect("a schema");
        assert_eq!(dense(&schema, r#"{"b": 2}"#).0, [0.0, 0.0, 0.0, 1.0, 2.0]);
        assert_eq!(dense(&schema, r#"{"a": 3}"#).0, [1.0, 0.0, 3.0, 0.0, 0.0]);
        // Strict or not, it may be missing.
        let mut counts = FeatureCounts::default();
        let strict = schema.strict();
        assert!(strict.encode(&parsed(r#"{"b": 2}"#), &mut counts).is_ok());
        assert_eq!(counts.fields["a"].missing, 1);
    }

    #[test]
    fn a_strict_schema_names_the_field() {
        let schema = shop().strict();
        let mut counts = FeatureCounts::default();
        assert!(schema.encode(&parsed(CUSTOMER), &mut counts).is_ok());
        for (change, field) in [
            (("age", FeatureValue::Missing), "age"),
            (("age", FeatureValue::Text("31".to_owned())), "age"),
            (("country", FeatureValue::Text("FR".to_owned())), "country"),
            (("hat", FeatureValue::Flag(true)), "hat"),
        ] {
            let features = parsed(CUSTOMER).with(change.0, change.1);
            let error = schema.encode(&features, &mut counts).expect_err("strict");
            assert!(
                error.to_string().contains(&format!("the field {field} ")),
                "{error}"
            );
        }
    }

    #[test]
    fn old_columns_keep_their_places_when_a_schema_grows() {
        let schema = shop();
        let grown = schema.grown(|schema| {
            schema
                .with("hat", FieldKind::category(["cap"]))?
                .with_categories("country", ["FR"])?
                .with_interaction("country", "hat", 2)
        });
        let grown = grown.expect("a schema");
        assert_eq!(
            (grown.version(), grown.width()),
            (2, schema.width() + 3 + 4)
        );
        let (old, _) = dense(&schema, CUSTOMER);
        let (new, counts) = dense(&grown, CUSTOMER);
        assert_eq!(
            (&new[..old.len()], counts.fields["hat"].missing),
            (&old[..], 1)
        );
        assert!(new[old.len()..].iter().all(|x| *x == 0.0), "{new:?}");
        let french = parsed(CUSTOMER).with("country", "FR").with("hat", "cap");
        let mut counts = FeatureCounts::default();
        let x = grown.encode(&french, &mut counts).expect("not strict");
        let x = x.as_dense().expect("narrow");
        assert!(counts.is_clean());
        // Among the unseen as before; then FR, the cap, and that there is a hat.
        assert_eq!((x[1], x[3], x[4]), (1.0, 0.0, 0.0));
        assert_eq!(x[30..33], [1.0; 3]);
        let products: f64 = x[33..].iter().map(|x| x * x).sum();
        assert!(0.0 < products, "FR by the cap, and by that there is a hat");
        assert_ne!(grown.content_hash(), schema.content_hash());
        let strict = schema.clone().strict();
        let salted = schema.clone().with_salt(1);
        let same: FeatureSchema = Unchecked::from(schema.clone())
            .try_into()
            .expect("the same");
        assert_eq!(same.content_hash(), schema.content_hash());
        assert_ne!(strict.content_hash(), schema.content_hash());
        assert_ne!(salted.content_hash(), schema.content_hash());
    }

    #[test]
    fn growths_are_told_from_other_schemas() {
        let (schema, hat) = (shop(), || FieldKind::category(["cap"]));
        let grown = schema.grown(|schema| schema.with("hat", hat()));
        let grown = grown.expect("a schema");
        let twice = grown.grown(|schema| schema.with_categories("hat", ["top"]));
        let twice = twice.expect("a schema");
        for (after, before) in [(&grown, &schema), (&twice, &grown), (&twice, &schema)] {
            assert_eq!(after.check_grown_from(before), Ok(()));
        }
        assert_eq!(twice.widths(), [30, 32, 33]);
        let fresh = |field: Field| FeatureSchema::new().with("age", field).expect("a schema");
        let other = fresh(FieldKind::flag()).grown(|schema| schema.with("hat", hat()));
        let other = other.expect("a schema");
        for (after, before, said) in [
            (&schema, &schema, "version 1"),
            (&schema, &grown, "version 1"),
            (&grown.clone().strict(), &schema, "strict"),
            (&grown.clone().with_salt(3), &schema, "salt"),
            (&other, &schema, "the field age was another"),
            (&other, &fresh(FieldKind::number()), "the field age"),
            (&grown, &fresh(FieldKind::number()), "first fields"),
            (
                &other.grown(Ok).expect("a schema"),
                &twice.at(2).try_into().expect("a schema"),
                "the field age",
            ),
        ] {
            let error = after.check_grown_from(before).expect_err(said);
            assert!(error.to_string().contains(said), "{error}");
        }
    }

    #[test]
    fn what_is_dropped_or_hashed_does_not_reach_the_log_and_gives_the_same_numbers() {
        let schema = FeatureSchema::new()
            .with("mail", FieldKind::hashed(6).logged(LogRule::Hash))
            .and_then(|schema| schema.with("words", FieldKind::tokens(6).logged(LogRule::Hash)))
            .and_then(|schema| schema.with("u.name", FieldKind::hashed(6).logged(LogRule::Drop)))
            .and_then(|schema| schema.with("age", FieldKind::number()))
            .map(|schema| schema.with_salt(99))
            .expect("a schema");
        let sent = parsed(
            r#"{"mail": "a@b.c", "words": ["x", "y"], "u": {"name": "Ann", "n": 1}, "age": 3}"#,
        );
        let logged = schema.for_log(&sent);
        let text = serde_json::to_string(&logged).expect("JSON");
        for secret in ["a@b.c", "Ann", "\"x\""] {
            assert!(!text.contains(secret), "{text}");
        }
        assert_eq!(logged.get("u.n"), Some(&FeatureValue::Integer(1)));
        let mut counts = FeatureCounts::default();
        assert_eq!(
            schema.encode(&logged, &mut counts),
            schema.encode(&sent, &mut counts)
        );
        assert_eq!(schema.for_log(&logged), logged);
        let bad = FeatureSchema::new().with("age", FieldKind::number().logged(LogRule::Hash));
        assert_eq!(bad, Err(SchemaError::HashOfOther("age".to_owned())));
    }

    #[test]
    fn wide_contexts_are_sparse() {
        let schema = FeatureSchema::new()
            .with("id", FieldKind::hashed(20))
            .expect("a schema");
        let mut counts = FeatureCounts::default();
        let x = schema
            .encode(&parsed(r#"{"id": "u1"}"#), &mut counts)
            .expect("encoded");
        assert_eq!((x.dim(), x.as_dense()), ((1 << 20) + 2, None));
        let mut entries = Vec::new();
        x.for_each(|column, value| entries.push((column, value)));
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].1.abs(), 1.0);
    }

    #[test]
    fn declarations_are_checked() {
        let twice = shop().with("age", FieldKind::flag());
        assert_eq!(twice, Err(SchemaError::Twice("age".to_owned())));
        assert!(shop().with("big", FieldKind::hashed(27)).is_err());
        assert!(shop().with("big", FieldKind::vector(u32::MAX)).is_err());
        assert!(shop().with("c", FieldKind::category(["a", "a"])).is_err());
        assert!(shop().with_interaction("age", "nobody", 4).is_err());
        assert!(shop().with_categories("age", ["x"]).is_err());
        for json in [
            r#"{"fields": [{"name": "a", "field": {"kind": "flag", "since": 2}}]}"#,
            r#"{"fields": [{"name": "a", "field": {"kind": {"number": {"log": {"center": 0.0, "width": 0.0}}}}}]}"#,
            r#"{"fields": [], "colour": 1}"#,
        ] {
            assert!(
                serde_json::from_str::<FeatureSchema>(json).is_err(),
                "{json}"
            );
        }
    }

    #[test]
    fn kinds_are_inferred() {
        let events: Vec<Features> = (0..200)
            .map(|n| {
                let json = format!(
                    r#"{{"flag": {}, "n": {n}, "income": {}, "few": "c{}", "rare": "{}", "id": "u{n}", "v": [1, 2.5],
                        "tags": ["a", "b"], "at": "2026-11-{:02}", "maybe": {}}}"#,
                    n % 2 == 0,
                    (n as f64 / 30.0).exp(),
                    n % 3,
                    if n == 7 { "odd" } else { "usual" },
                    n % 28 + 1,
                    if n < 100 { "null" } else { "1" },
                );
                parsed(&json)
            })
            .collect();
        let schema = FeatureSchema::infer(&events).expect("a schema");
        let fields: BTreeMap<&str, &Field> = schema.fields().collect();
        assert_eq!(fields["flag"].kind, FieldKind::Flag);
        assert_eq!(fields["n"].kind, FieldKind::Number(NumberScale::Plain));
        assert!(matches!(
            fields["income"].kind,
            FieldKind::Number(NumberScale::Log { .. })
        ));
        assert_eq!(*fields["few"], FieldKind::category(["c0", "c1", "c2"]));
        let FieldKind::Category(rare) = &fields["rare"].kind else {
            panic!("{:?}", fields["rare"]);
        };
        assert_eq!(
            (rare.values.as_slice(), rare.others),
            (&["usual".to_owned()][..], true)
        );
        assert_eq!(fields["id"].kind, FieldKind::Hashed { bits: 10 });
        assert_eq!(fields["v"].kind, FieldKind::Vector { len: 2 });
        assert_eq!(fields["tags"].kind, FieldKind::Tokens { bits: 10 });
        assert_eq!(fields["at"].kind, FieldKind::Time);
        assert!(fields["maybe"].optional && !fields["n"].optional);
        // What it was inferred from is as it says, but for what is rare or missing.
        let mut counts = FeatureCounts::default();
        for event in &events {
            schema.encode(event, &mut counts).expect("not strict");
        }
        let names: Vec<&str> = counts.fields.keys().map(String::as_str).collect();
        assert_eq!((names, counts.unknown.len()), (vec!["maybe", "rare"], 0));
    }

    #[test]
    fn heavy_tails_are_drawn_in() {
        let inferred = |shift: f64| {
            let amounts: Vec<Features> = (0..1000)
                .map(|n| {
                    let unit = (f64::from(n) + 0.5) / 1000.0;
                    let amount = 30_000.0 * (unit / (1.0 - unit)).powf(0.8);
                    Features::new().with("amount", amount - shift)
                })
                .collect();
            FeatureSchema::infer(&amounts).expect("a schema")
        };
        let columns = |schema: &FeatureSchema, amount: f64| {
            let mut counts = FeatureCounts::default();
            let x = schema.encode(&Features::new().with("amount", amount), &mut counts);
            let x = x.expect("a number").as_dense().expect("narrow").to_vec();
            (x[2], x[3])
        };
        let incomes = inferred(0.0);
        assert!((columns(&incomes, 6e4).0 - 2.0).abs() < 0.01);
        let at = |income: f64| columns(&incomes, income).1;
        // As they are, 99 times.
        assert!(at(3e6) - at(3e4) < 12.0 * (at(6e4) - at(3e4)));
        assert!(at(1e4) < at(2e4) && at(2e4) < at(3e4) && at(3e4) < at(1e7));
        // None is negative: ln(1 + x/median). Gains and losses are drawn in from both sides of the median instead.
        assert!(at(0.0) == 0.0 && (at(9e4) - 4_f64.ln()).abs() < 0.01);
        let gains = inferred(1e4);
        let (below, middle) = (columns(&gains, 1e4).1, columns(&gains, 2e4).1);
        assert!(below < -0.1 && middle.abs() < 0.01, "{below} {middle}");
    }

    /// Any JSON object, to some depth.
    fn objects() -> impl Strategy<Value = Features> {
        let leaf = prop_oneof![
            Just(FeatureValue::Missing),
            any::<bool>().prop_map(FeatureValue::Flag),
            any::<i64>().prop_map(FeatureValue::Integer),
            any::<f64>()
                .prop_filter("JSON", |x| x.is_finite())
                .prop_map(FeatureValue::Number),
            "[a-z0-9.#]{0,6}".prop_map(FeatureValue::Text),
        ];
        let value = leaf.prop_recursive(3, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(FeatureValue::List),
                prop::collection::btree_map("[a-c]{1,2}", inner, 0..4)
                    .prop_map(FeatureValue::Object),
            ]
        });
        let names = prop_oneof![
            Just("age".to_owned()),
            Just("country".to_owned()),
            Just("words".to_owned()),
            Just("position".to_owned()),
            Just("when".to_owned()),
            Just("user".to_owned()),
            "[a-c]{1,2}",
        ];
        prop::collection::btree_map(names, value, 0..8)
            .prop_map(|values| values.into_iter().collect())
    }

    proptest! {
        #[test]
        fn any_object_is_encoded_and_strictly_or_refused_by_name(features in objects()) {
            let mut counts = FeatureCounts::default();
            let x = shop().encode(&features, &mut counts).expect("not strict");
            prop_assert_eq!(x.dim(), shop().width());
            let strict = shop().strict().encode(&features, &mut counts.clone());
            prop_assert_eq!(strict.is_ok(), counts.is_clean());
            // Through JSON it is the same to the bit.
            let json = serde_json::to_string(&features).expect("JSON");
            let again = parsed(&json);
            prop_assert_eq!(shop().encode(&again, &mut counts).expect("not strict"), x);
        }

        #[test]
        fn a_schema_comes_back_from_bytes_and_json(events in prop::collection::vec(objects(), 1..30)) {
            let schema = FeatureSchema::infer(&events).expect("a schema");
            let bytes = postcard::to_stdvec(&schema).expect("bytes");
            prop_assert_eq!(&postcard::from_bytes::<FeatureSchema>(&bytes).expect("its own"), &schema);
            let json = serde_json::to_string(&schema).expect("JSON");
            let again: FeatureSchema = serde_json::from_str(&json).expect("its own");
            prop_assert_eq!(again.content_hash(), schema.content_hash());
            let mut counts = FeatureCounts::default();
            for event in &events {
                prop_assert_eq!(again.encode(event, &mut counts), schema.encode(event, &mut counts));
            }
            prop_assert!(counts.unknown.is_empty() || counts.unknown.len() <= 100);
        }

        #[test]
        fn the_order_of_names_changes_nothing(order in Just(vec![0, 1, 2, 3, 4]).prop_shuffle()) {
            let parts = [
                r#""age": 30"#, r#""country": "AU""#, r#""member": true"#, r#""words": ["a", "b"]"#, r#""user": {"id": "u"}"#,
            ];
            let json: Vec<&str> = order.iter().map(|&part: &usize| parts[part]).collect();
            let json = format!("{{{}}}", json.join(","));
            let (x, _) = dense(&shop(), &json);
            let sorted = format!("{{{}}}", parts.join(","));
            prop_assert_eq!(Context::dense(x), Context::dense(dense(&shop(), &sorted).0));
        }

        #[test]
        fn arbitrary_bytes_are_refused_or_a_schema(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(schema) = postcard::from_bytes::<FeatureSchema>(&bytes) {
                prop_assert!(SHARED <= schema.width());
            }
        }
    }
}
