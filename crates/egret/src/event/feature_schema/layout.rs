use std::collections::HashMap;

use super::encode::TIME_COLUMNS;
use super::{Field, FieldKind, LogRule, Named, NumberScale, SHARED, SchemaError, Unchecked};

/// The most columns, so that a place fits everywhere.
const WIDEST: usize = 1 << 28;

/// Where each field's columns are. Each version's columns come after those of the versions before it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Layout {
    pub(super) width: usize,
    /// What it was after each version that brought columns: the last is the width now.
    pub(super) widths: Vec<usize>,
    pub(super) fields: Vec<Place>,
    pub(super) interactions: Vec<u32>,
    pub(super) by_name: HashMap<String, usize>,
}

/// The columns of one field.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Place {
    pub(super) first: u32,
    /// Of its own, where there is one.
    pub(super) missing: Option<u32>,
    pub(super) others: Option<u32>,
    /// Of a field that a later version brought: 1 where it is present, so that a context without it is as it was.
    pub(super) present: Option<u32>,
    /// Its categories from this column on came later.
    pub(super) later: u32,
    pub(super) categories: HashMap<String, u32>,
}

impl Layout {
    pub(super) fn new(declared: &Unchecked) -> Result<Self, SchemaError> {
        let mut layout = Self {
            width: SHARED,
            fields: vec![Place::default(); declared.fields.len()],
            ..Self::default()
        };
        for (index, named) in declared.fields.iter().enumerate() {
            check(named, declared.version)?;
            if layout.by_name.insert(named.name.clone(), index).is_some() {
                return Err(SchemaError::Twice(named.name.clone()));
            }
        }
        layout.interactions = vec![0; declared.interactions.len()];
        let mut versions: Vec<u32> = vec![1];
        for named in &declared.fields {
            versions.push(named.field.since);
            if let FieldKind::Category(categories) = &named.field.kind {
                versions.extend(categories.later.keys());
            }
        }
        versions.extend(declared.interactions.iter().map(|product| product.since));
        versions.sort_unstable();
        versions.dedup();
        for version in versions {
            for (index, Named { name, field }) in declared.fields.iter().enumerate() {
                layout.take(index, name, field, version)?;
            }
            for (index, product) in declared.interactions.iter().enumerate() {
                if product.since == version {
                    layout.interactions[index] = layout.more(columns(product.bits)?)?;
                }
                for name in [&product.one, &product.other] {
                    if !layout.by_name.contains_key(name) {
                        return Err(SchemaError::NoField(name.clone()));
                    }
                }
            }
            if layout.widths.last() != Some(&layout.width) {
                layout.widths.push(layout.width);
            }
        }
        Ok(layout)
    }

    /// Gives a field the columns that a version brought it.
    fn take(
        &mut self,
        index: usize,
        name: &str,
        field: &Field,
        version: u32,
    ) -> Result<(), SchemaError> {
        let mut place = std::mem::take(&mut self.fields[index]);
        let is_new = field.since == version && field.log != LogRule::Drop;
        if is_new {
            place.first = self.more(match &field.kind {
                FieldKind::Number(NumberScale::Plain) | FieldKind::Flag => 1,
                FieldKind::Number(NumberScale::Log { .. }) => 2,
                FieldKind::Category(_) => 0,
                FieldKind::Hashed { bits } | FieldKind::Tokens { bits } => columns(*bits)?,
                FieldKind::Vector { len } => *len as usize,
                FieldKind::Time => TIME_COLUMNS,
            })?;
        }
        if let FieldKind::Category(categories) = &field.kind {
            let values = match categories.later.get(&version) {
                Some(later) if field.since < version => later.as_slice(),
                _ if is_new => categories.values.as_slice(),
                _ => &[],
            };
            for value in values {
                let column = self.more(1)?;
                if place.categories.insert(value.clone(), column).is_some() {
                    return Err(SchemaError::CategoryTwice {
                        field: name.to_owned(),
                        value: value.clone(),
                    });
                }
            }
            if is_new && categories.others {
                place.others = Some(self.more(1)?);
            }
        }
        if is_new {
            place.later = self.width as u32;
            if 1 < version {
                place.present = Some(self.more(1)?);
            } else if field.optional {
                place.missing = Some(self.more(1)?);
            }
        }
        self.fields[index] = place;
        Ok(())
    }

    fn more(&mut self, columns: usize) -> Result<u32, SchemaError> {
        let first = self.width;
        self.width = first
            .checked_add(columns)
            .filter(|width| *width <= WIDEST)
            .ok_or(SchemaError::TooWide)?;
        Ok(first as u32)
    }
}

fn columns(bits: u8) -> Result<usize, SchemaError> {
    if (1..=26).contains(&bits) {
        Ok(1 << bits)
    } else {
        Err(SchemaError::Bits(bits))
    }
}

fn check(named: &Named, version: u32) -> Result<(), SchemaError> {
    let Named { name, field } = named;
    if field.since == 0 || version < field.since {
        return Err(SchemaError::Version);
    }
    match &field.kind {
        FieldKind::Number(NumberScale::Log { center, width })
            if !(center.is_finite() && 0.0 < *width && width.is_finite()) =>
        {
            Err(SchemaError::Scale(name.clone()))
        }
        FieldKind::Category(categories)
            if categories
                .later
                .keys()
                .any(|later| *later <= field.since || version < *later) =>
        {
            Err(SchemaError::Version)
        }
        kind if field.log == LogRule::Hash
            && !matches!(kind, FieldKind::Hashed { .. } | FieldKind::Tokens { .. }) =>
        {
            Err(SchemaError::HashOfOther(name.clone()))
        }
        _ => Ok(()),
    }
}
