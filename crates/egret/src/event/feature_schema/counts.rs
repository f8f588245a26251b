use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How often contexts were not as the schema says: what was done about each is in
/// [`FeatureSchema`](crate::FeatureSchema).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FeatureCounts {
    /// Contexts that were looked at.
    pub events: u64,
    /// Of fields of the schema, by name; those that always were as they should be are not listed.
    pub fields: BTreeMap<String, FieldCounts>,
    /// Fields that the schema does not have, by name, the first hundred of them.
    pub unknown: BTreeMap<String, u64>,
    /// Values under further unknown names.
    pub unknown_more: u64,
}

/// How often a field was not as its schema says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FieldCounts {
    /// Absent or null.
    pub missing: u64,
    /// A category that the schema does not list.
    pub unseen: u64,
    /// A value of another type.
    pub mismatched: u64,
}

/// Names beyond so many are counted together: whoever sends a new name each time does not fill the memory.
const NAMES: usize = 100;

impl FeatureCounts {
    /// Whether every context was as its schema says.
    pub fn is_clean(&self) -> bool {
        self.fields.is_empty() && self.unknown.is_empty()
    }

    /// Adds what another count found.
    pub fn merge(&mut self, other: &Self) {
        self.events += other.events;
        for (name, counts) in &other.fields {
            let field = self.fields.entry(name.clone()).or_default();
            field.missing += counts.missing;
            field.unseen += counts.unseen;
            field.mismatched += counts.mismatched;
        }
        for (name, &count) in &other.unknown {
            self.unknown(name, count);
        }
        self.unknown_more += other.unknown_more;
    }

    pub(super) fn field(&mut self, name: &str) -> &mut FieldCounts {
        if !self.fields.contains_key(name) {
            self.fields.insert(name.to_owned(), FieldCounts::default());
        }
        self.fields.get_mut(name).expect("just there")
    }

    pub(super) fn unknown(&mut self, name: &str, count: u64) {
        if let Some(known) = self.unknown.get_mut(name) {
            *known += count;
        } else if self.unknown.len() < NAMES {
            self.unknown.insert(name.to_owned(), count);
        } else {
            self.unknown_more += count;
        }
    }
}

/// In words: `income: 12 missing; country: 4 unseen, 1 of another type; not in the schema: colour (3)`.
impl std::fmt::Display for FeatureCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        for (name, counts) in &self.fields {
            let kinds = [
                (counts.missing, "missing"),
                (counts.unseen, "unseen"),
                (counts.mismatched, "of another type"),
            ];
            let kinds = kinds.iter().filter(|(count, _)| 0 < *count);
            let kinds: Vec<String> = kinds
                .map(|(count, what)| format!("{count} {what}"))
                .collect();
            parts.push(format!("{name}: {}", kinds.join(", ")));
        }
        if !self.unknown.is_empty() {
            let names = self.unknown.iter();
            let mut names: Vec<String> = names
                .map(|(name, count)| format!("{name} ({count})"))
                .collect();
            if 0 < self.unknown_more {
                names.push(format!("{} more", self.unknown_more));
            }
            parts.push(format!("not in the schema: {}", names.join(", ")));
        }
        f.write_str(&parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_said_in_words() {
        let mut counts = FeatureCounts::default();
        assert_eq!(counts.to_string(), "");
        counts.field("income").missing = 12;
        counts.field("country").unseen = 4;
        counts.field("country").mismatched = 1;
        counts.unknown("colour", 3);
        assert_eq!(
            counts.to_string(),
            "country: 4 unseen, 1 of another type; income: 12 missing; not in the schema: colour (3)"
        );
    }

    #[test]
    fn merged_counts_are_the_sum_and_names_are_bounded() {
        let mut one = FeatureCounts::default();
        one.field("a").missing = 2;
        let mut other = FeatureCounts::default();
        other.field("a").missing = 1;
        other.field("b").unseen = 4;
        for number in 0..150 {
            other.unknown(&format!("n{number}"), 1);
        }
        one.merge(&other);
        assert_eq!(one.fields["a"].missing, 3);
        assert_eq!(one.fields["b"].unseen, 4);
        assert_eq!((one.unknown.len(), one.unknown_more), (100, 50));
        assert!(!one.is_clean() && FeatureCounts::default().is_clean());
    }
}
