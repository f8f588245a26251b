use anyhow::Result;
use clap::Args;
use egret_report::Section;
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
    csv: bool,
    /// Print the table as Markdown
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    markdown: bool,
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
        if self.json {
            return Ok(serde_json::to_string(whole)? + "\n");
        }
        if self.csv {
            return csv(rows);
        }
        let print = match self.markdown {
            true => Section::markdown,
            false => Section::text,
        };
        Ok(sections.iter().map(print).collect())
    }
}

/// The fields of a row, in order.
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
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        source.deserialize_map(InOrder)
    }
}

fn csv<R: Serialize>(rows: &[R]) -> Result<String> {
    let mut text = String::new();
    for (place, row) in rows.iter().enumerate() {
        let Fields(fields) = serde_json::from_str(&serde_json::to_string(row)?)?;
        let mut line = |cells: &mut dyn Iterator<Item = String>| {
            text += &cells.collect::<Vec<_>>().join(",");
            text.push('\n');
        };
        if place == 0 {
            line(&mut fields.iter().map(|(name, _)| cell(name.clone())));
        }
        line(&mut fields.into_iter().map(|(_, value)| match value {
            Value::Null => String::new(),
            Value::String(text) => cell(text),
            other => cell(other.to_string()),
        }));
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
