use std::fs;

use egret_log::{LogMapping, OnBad, ReadError, Reader};

use crate::two_parts::two_parts;

/// A mapping as TOML and a table: each row becomes a good record, or is named as bad; reading ends.
pub fn own_table(bytes: &[u8]) {
    let (mapping, table) = two_parts(bytes);
    let mapping = std::str::from_utf8(mapping).unwrap_or_default();
    let Ok(mapping) = LogMapping::from_toml(mapping) else {
        return;
    };
    if mapping.check().is_err() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for the table");
    for name in ["log.csv", "log.jsonl"] {
        let file = folder.path().join(name);
        fs::write(&file, table).expect("the table is written");
        let Ok(mut reader) = Reader::open_mapped(&[&file], OnBad::Stop, mapping.clone()) else {
            continue;
        };
        let mut last = 0;
        while let Some(row) = reader.next_row() {
            match row {
                Ok(record) => assert!(record.check().is_ok()),
                Err(ReadError::Row { row, .. }) => {
                    assert!(last <= row, "row {row} after {last}");
                    last = row;
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
}
