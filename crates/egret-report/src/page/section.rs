use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};

use crate::escape::escape;

/// A table with words around it, for a terminal and for a page.
///
/// ```
/// use egret_report::Section;
///
/// let section = Section {
///     title: "Losses".to_owned(),
///     before: "Smaller is better.".to_owned(),
///     header: ["learner", "mean loss"].map(String::from).to_vec(),
///     words: 1,
///     rows: vec![vec!["CappedIGW".to_owned(), "0.131".to_owned()]],
///     after: Vec::new(),
/// };
/// assert!(section.text().contains("CappedIGW"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section {
    /// What it is about.
    pub title: String,
    /// How to read it.
    pub before: String,
    /// The names of the columns; those after the first `words` hold numbers.
    pub header: Vec<String>,
    /// How many columns hold words.
    pub words: usize,
    /// The cells.
    pub rows: Vec<Vec<String>>,
    /// What else there is to say.
    pub after: Vec<String>,
}

/// Letters that a column of words has at least, on a terminal that is too narrow for all.
const LEAST: usize = 12;
/// What surrounds the text of a cell.
const PADDING: u16 = 2;

impl Section {
    /// For a terminal, as wide as it is. Words are broken over lines where they have to be, numbers never: a table that is
    /// too wide all the same is written row by row, a line for each cell.
    pub fn text(&self) -> String {
        self.text_within(None)
    }

    /// For a terminal of so many columns; of the one at hand if none are given.
    pub fn text_within(&self, columns: Option<u16>) -> String {
        let heads = [&self.title, &self.before].into_iter();
        let heads = heads.filter(|head| !head.is_empty());
        let mut text = String::from("\n");
        text.extend(heads.map(|head| format!("{head}\n")));
        let mut table = self.table();
        if let Some(columns) = columns {
            table.set_width(columns);
        }
        let (columns, table) = (table.width(), table.to_string());
        let widest = table.lines().map(|line| line.chars().count()).max();
        text += &match columns.map(usize::from) {
            Some(columns) if widest.is_some_and(|widest| columns < widest) => self.by_rows(columns),
            _ => table + "\n",
        };
        for line in &self.after {
            text += &format!("{line}\n");
        }
        text
    }

    /// Each row as a heading and a line for each of its other cells.
    fn by_rows(&self, columns: usize) -> String {
        let names = self.header.iter().skip(1);
        let indent = names.map(|name| name.chars().count()).max().unwrap_or(0) + 4;
        let mut text = String::new();
        for row in &self.rows {
            for (place, (name, cell)) in self.header.iter().zip(row).enumerate() {
                text += &match place {
                    0 if self.words == 0 => format!("{name} {cell}\n"),
                    0 => format!("{cell}\n"),
                    _ => {
                        let lines = if place < self.words {
                            wrapped(cell, columns.saturating_sub(indent))
                        } else {
                            vec![cell.clone()]
                        };
                        let lines = lines.join(&format!("\n{:indent$}", ""));
                        format!("{:indent$}{lines}\n", format!("  {name}"))
                    }
                };
            }
        }
        text
    }

    /// As Markdown, its title in bold.
    pub fn markdown(&self) -> String {
        let row = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = |column: usize| if column < self.words { "---" } else { "---:" };
        let rules: Vec<String> = (0..self.header.len()).map(|c| rule(c).to_owned()).collect();
        let mut text = format!("\n**{}** {}\n\n", self.title, self.before);
        text += &row(&self.header);
        text += &row(&rules);
        text.extend(self.rows.iter().map(|cells| row(cells)));
        for line in &self.after {
            text += &format!("\n{line}\n");
        }
        text
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table
            .load_preset(UTF8_FULL_CONDENSED)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_header(&self.header)
            .add_rows(&self.rows);
        for (place, column) in table.column_iter_mut().enumerate() {
            if place < self.words {
                let cells = self.rows.iter().map(|row| row[place].as_str());
                let longest = cells
                    .chain([self.header[place].as_str()])
                    .map(|cell| cell.chars().count());
                let least = longest.max().unwrap_or(0).min(LEAST) as u16 + PADDING;
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
            } else {
                column.set_cell_alignment(CellAlignment::Right);
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        table
    }

    /// For a page, its title in this tag; there is none if the title is empty.
    pub(crate) fn under(&self, tag: &str) -> String {
        let row = |tag: &str, cells: &[String]| {
            let cells: String = cells
                .iter()
                .enumerate()
                .map(|(column, cell)| {
                    let class = if column < self.words {
                        " class=\"word\""
                    } else {
                        ""
                    };
                    format!("<{tag}{class}>{}</{tag}>", escape(cell))
                })
                .collect();
            format!("<tr>{cells}</tr>\n")
        };
        let paragraph = |text: &String| match text.as_str() {
            "" => String::new(),
            text => format!("<p>{}</p>\n", escape(text)),
        };
        let title = match self.title.as_str() {
            "" => String::new(),
            title => format!("<{tag}>{}</{tag}>\n", escape(title)),
        };
        let header = row("th", &self.header);
        let rows: String = self.rows.iter().map(|cells| row("td", cells)).collect();
        let after: String = self.after.iter().map(paragraph).collect();
        format!(
            "{title}{}<div class=\"wide\"><table>\n<thead>\n{header}</thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n{after}",
            paragraph(&self.before),
        )
    }
}

/// Words in lines of at most `room` letters; a longer word has a line of its own.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a first line");
        if line.is_empty() {
            *line = word.to_owned();
        } else if line.chars().count() + 1 + word.chars().count() <= room {
            *line += &format!(" {word}");
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_never_break() {
        let section = Section {
            title: "Values".to_owned(),
            header: ["policy", "verdict", "estimate", "low, high"]
                .map(String::from)
                .to_vec(),
            words: 2,
            rows: vec![
                [
                    "best-of:m=16,model=a/long/path/to/a/model.egret",
                    "reliable",
                    "19.653",
                    "[18.635, 20.672]",
                ]
                .map(String::from)
                .to_vec(),
            ],
            ..Section::default()
        };
        for columns in [40, 60, 80, 200] {
            let text = section.text_within(Some(columns));
            assert!(
                text.contains("[18.635, 20.672]") && text.contains("19.653"),
                "{text}"
            );
            assert!(text.contains("reliable"), "{text}");
            let widest = text.lines().map(|line| line.chars().count()).max();
            // A path has no place to break at, and stands in a line of its own.
            let fits = widest.is_some_and(|widest| widest <= usize::from(columns).max(47));
            assert!(fits, "{columns}: {text}");
        }
    }

    #[test]
    fn what_is_too_wide_is_written_row_by_row() {
        let section = Section {
            header: ["policy", "verdict", "low, high"]
                .map(String::from)
                .to_vec(),
            words: 2,
            rows: vec![
                ["uniform", "too few effective events", "[18.635, 20.672]"]
                    .map(String::from)
                    .to_vec(),
            ],
            ..Section::default()
        };
        assert_eq!(
            section.text_within(Some(30)),
            "\nuniform\n  verdict    too few effective\n             events\n  low, high  [18.635, 20.672]\n"
        );
        assert!(section.text_within(Some(80)).contains("│ uniform ┆"));
    }
}
