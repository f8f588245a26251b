use super::Findings;
use super::picture::thousands;
use super::report::{self, Section};

/// One page with all pictures and tables inside: it asks nothing of any network.
pub fn html(findings: &Findings, pictures: &[String; 3]) -> String {
    let [learning, policies, decision] = pictures;
    let [losses, audit, values] = report::sections(findings);
    let sections = [
        section(&losses, learning),
        section(&audit, decision),
        section(&values, policies),
    ]
    .concat();
    format!(
        "<!DOCTYPE html>\n\
         <html lang=\"en\">\n\
         <head>\n\
         <meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>egret demo</title>\n\
         <style>{STYLE}</style>\n\
         </head>\n\
         <body>\n\
         <h1>Prices for {} customers, seed {}</h1>\n\
         {sections}\
         </body>\n\
         </html>\n",
        thousands(findings.decisions as f64),
        findings.seed,
    )
}

const STYLE: &str = "\
body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }\
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }\
th, td { padding: .25rem .75rem; border-bottom: 1px solid #ccc; text-align: right }\
.word { text-align: left }\
svg { max-width: 100%; height: auto }";

fn section(section: &Section, picture: &str) -> String {
    let row = |tag: &str, cells: &mut dyn Iterator<Item = &str>| {
        let cells: String = cells
            .enumerate()
            .map(|(column, cell)| {
                let class = if column < section.words {
                    " class=\"word\""
                } else {
                    ""
                };
                format!("<{tag}{class}>{}</{tag}>", escape(cell))
            })
            .collect();
        format!("<tr>{cells}</tr>\n")
    };
    let header = row("th", &mut section.header.iter().copied());
    let rows: String = section
        .rows
        .iter()
        .map(|cells| row("td", &mut cells.iter().map(String::as_str)))
        .collect();
    let after: String = section
        .after
        .iter()
        .map(|line| format!("<p>{}</p>\n", escape(line)))
        .collect();
    format!(
        "<h2>{}</h2>\n<p>{}</p>\n<table>\n{header}{rows}</table>\n{after}{picture}\n",
        escape(section.title),
        escape(&section.before),
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
