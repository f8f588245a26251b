use egret::Features;

use crate::data::{Column, Table, Values};
use crate::environment::NamedRows;

/// Rows of a table with the names of its columns, in its own units: nothing is scaled, and what is missing stays missing.
#[derive(Debug)]
pub(crate) struct TableRows {
    columns: Vec<Column>,
    fingerprint: u32,
}

impl TableRows {
    /// These columns and rows of a table.
    pub(crate) fn new(table: &Table, columns: &[usize], rows: &[usize]) -> Self {
        let kept = |values: &Values| match values {
            Values::Numbers(values) => {
                Values::Numbers(rows.iter().map(|&row| values[row]).collect())
            }
            Values::Categories { levels, codes } => Values::Categories {
                levels: levels.clone(),
                codes: rows.iter().map(|&row| codes[row]).collect(),
            },
        };
        let columns: Vec<Column> = columns
            .iter()
            .map(|&place| &table.columns()[place])
            .map(|column| Column {
                name: column.name.clone(),
                values: kept(&column.values),
            })
            .collect();
        let mut hash = crc32fast::Hasher::new();
        for column in &columns {
            hash.update(column.name.as_bytes());
            match &column.values {
                Values::Numbers(values) => {
                    for value in values {
                        hash.update(&value.to_le_bytes());
                    }
                }
                Values::Categories { levels, codes } => {
                    for code in codes {
                        let level = code.map_or("", |code| levels[code as usize].as_str());
                        hash.update(&[u8::from(code.is_some())]);
                        hash.update(level.as_bytes());
                    }
                }
            }
        }
        Self {
            columns,
            fingerprint: hash.finalize(),
        }
    }
}

impl NamedRows for TableRows {
    fn features(&self, row: usize) -> Features {
        let mut features = Features::new();
        for Column { name, values } in &self.columns {
            match values {
                Values::Numbers(values) if values[row].is_nan() => {}
                Values::Numbers(values) => features.set(name.clone(), values[row]),
                Values::Categories { levels, codes } => {
                    if let Some(code) = codes[row] {
                        features.set(name.clone(), levels[code as usize].clone());
                    }
                }
            }
        }
        features
    }

    fn fingerprint(&self) -> u32 {
        self.fingerprint
    }
}
