use std::path::Path;

use anyhow::Result;
use clap::Args;
use egret_report::{Page, Section};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// How a report is printed: as a table, unless one of these is given.
#[derive(Debug, Args)]
pub struct FormatArgs {
    /// Print JSON and nothing else
    #[arg(long)]
    pub json: bool,
    /// Print CSV and nothing else: all numbers, with all their digits
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print the table as Markdown
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub markdown: bool,
}

impl FormatArgs {
    /// Whether a machine reads it.
    pub fn for_machines(&self) -> bool {
        self.json || self.csv
    }

    /// The report: `whole` as JSON, `rows` as CSV, the sections for people.
    pub fn print<R: Serialize>(
        &self,
        whole: &impl Serialize,
        rows: &[R],
        sections: &[Section],
    ) -> Result<String> {
        if let Some(text) = self.print_for_machines(whole, rows)? {
            return Ok(text);
        }
        let print = match self.markdown {
            true => Section::markdown,
            false => Section::text,
        };
        Ok(sections.iter().map(print).collect())
    }

    /// A whole page in the same way, whose pictures are in a folder; in text the last words follow it.
    pub fn print_page<R: Serialize>(
        &self,
        whole: &impl Serialize,
        rows: &[R],
        page: &Page,
        pictures: &Path,
        last: &str,
    ) -> Result<String> {
        if let Some(text) = self.print_for_machines(whole, rows)? {
            return Ok(text);
        }
        Ok(match self.markdown {
            true => page.markdown(&pictures.display().to_string()),
            false => page.text() + last,
        })
    }

    fn print_for_machines<R: Serialize>(
        &self,
        whole: &impl Serialize,
        rows: &[R],
    ) -> Result<Option<String>> {
        Ok(match (self.json, self.csv) {
            (true, _) => Some(serde_json::to_string(whole)? + "\n"),
            (_, true) => {
                let rows: Result<Vec<String>, _> = rows.iter().map(serde_json::to_string).collect();
                Some(csv(&rows?)?)
            }
            _ => None,
        })
    }
}

/// The fields of a row, in order; what is inside an object goes by the path to it, with dots.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields, M::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry()? {
                    add(&mut fields, name, value);
                }
                Ok(Fields(fields))
            }
        }

        source.deserialize_map(InOrder)
    }
}

fn add(fields: &mut Vec<(String, Value)>, name: String, value: Value) {
    match value {
        Value::Object(inside) if !inside.is_empty() => {
            for (below, value) in inside {
                add(fields, format!("{name}.{below}"), value);
            }
        }
        value => fields.push((name, value)),
    }
}

/// Objects of JSON as a table, with the columns of all of them.
pub fn csv(rows: &[String]) -> Result<String> {
    let rows: Result<Vec<Fields>, _> = rows.iter().map(|row| serde_json::from_str(row)).collect();
    let rows = rows?;
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|Fields(fields)| fields) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut text = String::new();
    let mut line = |cells: Vec<String>| {
        text += &cells.join(",");
        text.push('\n');
    };
    if !names.is_empty() {
        line(names.iter().map(|name| cell((*name).to_owned())).collect());
    }
    for Fields(fields) in &rows {
        let of = |name: &&str| fields.iter().find(|(known, _)| known == name);
        let cells = names.iter().map(|name| match of(name) {
            None | Some((_, Value::Null)) => String::new(),
            Some((_, Value::String(text))) => cell(text.clone()),
            Some((_, other)) => cell(other.to_string()),
        });
        line(cells.collect());
    }
    Ok(text)
}

/// A cell, in quotes where it has commas, quotes or line breaks of its own.
pub fn cell(text: String) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_columns_of_all_rows() {
        let rows = [
            r#"{"policy": "a,b", "weights": {"mean": 1.5, "bins": [1, 2]}}"#,
            r#"{"policy": null, "share": 0.1}"#,
        ];
        assert_eq!(
            csv(&rows.map(String::from)).expect("objects"),
            "policy,weights.bins,weights.mean,share\n\"a,b\",\"[1,2]\",1.5,\n,,,0.1\n"
        );
        assert_eq!(csv(&[]).expect("nothing"), "");
    }
}
