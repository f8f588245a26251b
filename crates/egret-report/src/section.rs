use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use crate::escape::escape;

/// A table with words around it, for a terminal and for a page.
pub struct Section {
    /// What it is about.
    pub title: String,
    /// How to read it.
    pub before: String,
    /// The names of the columns; those after the first `words` hold numbers.
    pub header: Vec<&'static str>,
    /// How many columns hold words.
    pub words: usize,
    /// The cells.
    pub rows: Vec<Vec<String>>,
    /// What else there is to say.
    pub after: Vec<String>,
}

impl Section {
    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("\n{}\n{}\n{}\n", self.title, self.before, self.table());
        for line in &self.after {
            text += &format!("{line}\n");
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
        for column in table.column_iter_mut().skip(self.words) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }

    /// For a page, with its picture beneath.
    pub fn html(&self, picture: &str) -> String {
        let row = |tag: &str, cells: &mut dyn Iterator<Item = &str>| {
            let cells: String = cells
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
        let header = row("th", &mut self.header.iter().copied());
        let rows: String = self
            .rows
            .iter()
            .map(|cells| row("td", &mut cells.iter().map(String::as_str)))
            .collect();
        let after: String = self
            .after
            .iter()
            .map(|line| format!("<p>{}</p>\n", escape(line)))
            .collect();
        format!(
            "<h2>{}</h2>\n<p>{}</p>\n<div class=\"wide\"><table>\n{header}{rows}</table></div>\n{after}{picture}\n",
            escape(&self.title),
            escape(&self.before),
        )
    }
}

/// One page that asks nothing of any network.
pub fn page(title: &str, heading: &str, sections: &str) -> String {
    format!(
        "<!DOCTYPE html>\n\
         <html lang=\"en\">\n\
         <head>\n\
         <meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{}</title>\n\
         <style>{STYLE}</style>\n\
         </head>\n\
         <body>\n\
         <h1>{}</h1>\n\
         {sections}\
         </body>\n\
         </html>\n",
        escape(title),
        escape(heading),
    )
}

const STYLE: &str = "\
body { font: 16px/1.5 sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }\
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }\
th, td { padding: .25rem .75rem; border-bottom: 1px solid #ccc; text-align: right; white-space: nowrap }\
.word { text-align: left }\
.wide { overflow-x: auto }\
svg { max-width: 100%; height: auto }";
