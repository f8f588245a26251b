//! Pages of HTML, and the tables on them.
//!
//! A [`Page`] is a list of [`Part`]s. A part has paragraphs, [`Claim`]s with what was measured, [`Figure`]s and tables. A
//! table is a [`Section`], which also prints to a terminal. The page is one file: pictures and styles are inside it.

pub(crate) mod claim;
pub(crate) mod section;

pub use claim::{Claim, ClaimVerdict};
pub use section::Section;

use std::path::Path;

use crate::drawing::Picture;
use crate::escape::escape;
use crate::output::{self, WriteError};

/// One HTML file with all its tables and pictures inside. It loads nothing from a network, and prints well.
///
/// ```
/// use egret_report::{Claim, Page, Part, ClaimVerdict};
///
/// let page = Page {
///     title: "The paper, run again".to_owned(),
///     lead: vec!["30 seeds, 15 data sets.".to_owned()],
///     parts: vec![Part {
///         heading: "Online regret".to_owned(),
///         claims: vec![Claim {
///             claimed: "at least 14 wins of 20".to_owned(),
///             measured: "12 wins of 15".to_owned(),
///             verdict: ClaimVerdict::Partly,
///             why: "Five of the sets are not here.".to_owned(),
///         }],
///         ..Part::default()
///     }],
/// };
/// assert!(page.html().contains("12 wins of 15"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// Of the page and at its head.
    pub title: String,
    /// Paragraphs before all parts.
    pub lead: Vec<String>,
    /// In order; with more than one, a list of them follows the lead.
    pub parts: Vec<Part>,
}

/// A part of a [`Page`]: each list may be empty, and is shown in the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part {
    /// What it is about.
    pub heading: String,
    /// Whether a page shows its heading only, until a reader opens it.
    pub folded: bool,
    /// Words.
    pub paragraphs: Vec<String>,
    /// What is claimed, and what was measured.
    pub claims: Vec<Claim>,
    /// Pictures.
    pub figures: Vec<Figure>,
    /// Tables.
    pub tables: Vec<Section>,
}

/// A picture in a [`Page`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Of its files, without ending.
    pub name: String,
    /// Below it.
    pub caption: String,
    /// What it shows, for those who do not see it.
    pub alt: String,
    /// Only its SVG is in the page.
    pub picture: Picture,
}

impl Page {
    /// For a terminal: everything but the pictures.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for paragraph in &self.lead {
            text += &format!("\n{paragraph}\n");
        }
        for part in &self.parts {
            text += &format!("\n# {}\n", part.heading);
            for paragraph in &part.paragraphs {
                text += &format!("\n{paragraph}\n");
            }
            text.extend(part.claims.iter().map(Claim::text));
            text.extend(part.tables.iter().map(Section::text));
        }
        text
    }

    /// As Markdown, with pictures in files of a folder beside it.
    pub fn markdown(&self, figures: &str) -> String {
        let mut text = format!("# {}\n", self.title);
        for paragraph in &self.lead {
            text += &format!("\n{paragraph}\n");
        }
        for part in &self.parts {
            text += &format!("\n## {}\n", part.heading);
            for paragraph in &part.paragraphs {
                text += &format!("\n{paragraph}\n");
            }
            text.extend(part.claims.iter().map(Claim::markdown));
            for figure in &part.figures {
                let Figure {
                    name, caption, alt, ..
                } = figure;
                text += &format!("\n![{alt}]({figures}/{name}.svg)\n\n{caption}\n");
            }
            text.extend(part.tables.iter().map(Section::markdown));
        }
        text
    }

    /// Writes `report.html`, `report.md`, and each figure as `figures/NAME.svg` and `figures/NAME.png` into a folder that
    /// is there.
    pub fn write(&self, folder: &Path) -> Result<(), WriteError> {
        let figures = folder.join("figures");
        output::make_folder(&figures)?;
        for figure in self.parts.iter().flat_map(|part| &part.figures) {
            figure.picture.write(&figures, &figure.name)?;
        }
        output::write_all(&[
            (&folder.join("report.html"), self.html().as_bytes()),
            (
                &folder.join("report.md"),
                self.markdown("figures").as_bytes(),
            ),
        ])
    }

    /// The whole file.
    pub fn html(&self) -> String {
        let mut body = paragraphs(&self.lead);
        if 1 < self.parts.len() {
            body += &self.contents();
        }
        for (place, part) in self.parts.iter().enumerate() {
            body += &part.html(&anchor(place));
        }
        page(&self.title, &self.title, &body)
    }

    fn contents(&self) -> String {
        let items: String = self
            .parts
            .iter()
            .enumerate()
            .map(|(place, part)| {
                let verdicts: String = part
                    .claims
                    .iter()
                    .map(|claim| format!(" {}", claim.verdict.html()))
                    .collect();
                let (anchor, heading) = (anchor(place), escape(&part.heading));
                format!("<li><a href=\"#{anchor}\">{heading}</a>{verdicts}</li>\n")
            })
            .collect();
        format!("<nav aria-label=\"Contents\">\n<ol>\n{items}</ol>\n</nav>\n")
    }
}

impl Part {
    fn html(&self, anchor: &str) -> String {
        let heading = escape(&self.heading);
        let (open, close) = if self.folded {
            let summary = format!("<details>\n<summary><h2>{heading}</h2></summary>\n");
            (summary, "</details>\n")
        } else {
            (format!("<h2>{heading}</h2>\n"), "")
        };
        let mut html = format!("<section id=\"{anchor}\">\n{open}");
        html += &paragraphs(&self.paragraphs);
        html.extend(self.claims.iter().map(Claim::html));
        html.extend(self.figures.iter().map(Figure::html));
        html.extend(self.tables.iter().map(|table| table.under("h3")));
        html + close + "</section>\n"
    }
}

impl Figure {
    fn html(&self) -> String {
        format!(
            "<figure>\n<div class=\"wide-screen\" role=\"img\" aria-label=\"{0}\">\n{1}</div>\n\
             <div class=\"narrow-screen\" role=\"img\" aria-label=\"{0}\">\n{2}</div>\n\
             <figcaption>{3}</figcaption>\n</figure>\n",
            escape(&self.alt),
            self.picture.svg,
            self.picture.narrow,
            escape(&self.caption),
        )
    }
}

fn anchor(place: usize) -> String {
    format!("part-{}", place + 1)
}

fn paragraphs(texts: &[String]) -> String {
    texts
        .iter()
        .map(|text| format!("<p>{}</p>\n", escape(text)))
        .collect()
}

/// One page around HTML that is there already.
fn page(title: &str, heading: &str, sections: &str) -> String {
    format!(
        "<!DOCTYPE html>\n\
         <html lang=\"en\">\n\
         <head>\n\
         <meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
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
h1, h2, h3 { line-height: 1.25; break-after: avoid }\
h2 { margin-top: 2.5rem }\
p, dd, figcaption { max-width: 48rem }\
a { color: #005a8c }\
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }\
th, td { padding: .25rem .75rem; border-bottom: 1px solid #ccc; text-align: right; white-space: nowrap }\
.word { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 5rem }\
.wide { overflow-x: auto }\
svg { max-width: 100%; height: auto }\
.narrow-screen { display: none }\
summary h2 { display: inline }\
summary { margin-top: 2.5rem; cursor: pointer }\
figure { margin: 1.5rem 0; break-inside: avoid }\
figcaption { color: #444; font-size: .95rem }\
nav li { margin: .25rem 0 }\
.claim { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1rem; margin: 1rem 0; padding: .75rem 1rem; border-left: 4px solid #bbb; background: #f7f7f7; break-inside: avoid }\
.claim dt { color: #555 }\
.claim dd { margin: 0 }\
.verdict { display: inline-block; padding: 0 .5rem; border: 1.5px solid; border-radius: .25rem; white-space: nowrap; background: #fff }\
.agrees { color: #00664b }\
.partly { color: #7a5200; border-style: dashed }\
.differs { color: #a33f00; border-width: 3px }\
.not-tested { color: #555; border-style: dotted }\
@media (max-width: 40rem) { .narrow-screen { display: block } .wide-screen { display: none } th, td { padding: .25rem .4rem } th { white-space: normal } h1 { font-size: 1.6rem } }\
@media (prefers-color-scheme: dark) { body { color: #e4e4e4; background: #16181b } a { color: #6cb6e8 } th, td { border-color: #444 } figcaption, .claim dt { color: #bbb } .claim { background: #1f2226; border-color: #666 } .verdict { background: none } .agrees { color: #4fc3a1 } .partly { color: #e0b050 } .differs { color: #ff9a62 } .not-tested { color: #bbb } }\
@media print { body { font-size: 11pt; margin: 0; max-width: none } .wide { overflow: visible } table { font-size: 9pt } thead { display: table-header-group } tr { break-inside: avoid } a { color: inherit } .claim { background: none } }";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::ClaimVerdict;

    const EVIL: &str = "<script>alert('\"')</script>";

    fn evil() -> Page {
        let picture = Picture {
            svg: "<svg></svg>\n".to_owned(),
            narrow: "<svg></svg>\n".to_owned(),
            png: Vec::new(),
            size: (1, 1),
        };
        let part = Part {
            heading: EVIL.to_owned(),
            folded: false,
            paragraphs: vec![EVIL.to_owned()],
            claims: vec![Claim {
                claimed: EVIL.to_owned(),
                measured: EVIL.to_owned(),
                verdict: ClaimVerdict::Differs,
                why: EVIL.to_owned(),
            }],
            figures: vec![Figure {
                name: "a".to_owned(),
                caption: EVIL.to_owned(),
                alt: EVIL.to_owned(),
                picture,
            }],
            tables: vec![Section {
                title: EVIL.to_owned(),
                before: EVIL.to_owned(),
                header: vec![EVIL.to_owned()],
                words: 1,
                rows: vec![vec![EVIL.to_owned()]],
                after: vec![EVIL.to_owned()],
            }],
        };
        Page {
            title: EVIL.to_owned(),
            lead: vec![EVIL.to_owned()],
            parts: vec![part.clone(), part],
        }
    }

    #[test]
    fn no_text_becomes_a_tag_or_leaves_its_attribute() {
        let html = evil().html();
        assert!(!html.contains("<script"), "{html}");
        assert!(!html.contains("alert('"), "{html}");
        // Title twice, lead, then in each part: the list of parts and thirteen places.
        let escaped = "&lt;script&gt;alert(&#39;&quot;&#39;)&lt;/script&gt;";
        assert_eq!(html.matches(escaped).count(), 3 + 2 * 14);
    }

    #[test]
    fn each_verdict_is_a_word_and_a_sign() {
        let verdicts = [
            (ClaimVerdict::Agrees, "✓"),
            (ClaimVerdict::Partly, "≈"),
            (ClaimVerdict::Differs, "✗"),
            (ClaimVerdict::NotTested, "–"),
        ];
        for (verdict, sign) in verdicts {
            let mut page = evil();
            page.parts[1].claims[0].verdict = verdict;
            let html = page.html();
            let part = &html[html.find("id=\"part-2\"").expect("a second part")..];
            assert!(part.contains(&format!("> {}</strong>", verdict.word())));
            assert!(part.contains(sign));
        }
    }

    #[test]
    fn every_tag_is_closed_and_every_link_has_its_place() {
        let html = evil().html();
        for tag in [
            "html",
            "body",
            "section",
            "figure",
            "figcaption",
            "dl",
            "table",
            "thead",
            "tbody",
            "nav",
            "ol",
            "h2",
            "p",
        ] {
            let opened = html.matches(&format!("<{tag}>")).count()
                + html.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        for place in ["part-1", "part-2"] {
            assert!(html.contains(&format!("href=\"#{place}\"")));
            assert!(html.contains(&format!("id=\"{place}\"")));
        }
    }

    #[test]
    fn nothing_is_asked_of_a_network() {
        let html = evil().html();
        assert!(!html.contains("src=") && !html.contains("http") && !html.contains("@import"));
    }
}
