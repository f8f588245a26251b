use std::env;
use std::io::{self, IsTerminal as _};

const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";

/// Verdicts, and what stands before them where they are verdicts: a cell of a table, or a sentence on an interval.
const VERDICTS: [(&str, &str, &str); 5] = [
    ("┆ ", "reliable", GREEN),
    ("; ", "reliable", GREEN),
    (": ", "reliable", GREEN),
    ("┆ ", "see below", YELLOW),
    ("but ", "do not rely on it", YELLOW),
];

/// The title of a verdict on a whole log.
const TITLE: &str = "Verdict: ";

/// Colours verdicts if the standard output is a terminal and nobody asked for none (<https://no-color.org>).
pub fn for_terminal(text: String, fault: bool) -> String {
    let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || env::var_os("TERM").is_some_and(|value| value == "dumb");
    match plain || !io::stdout().is_terminal() {
        true => text,
        false => coloured(&text, fault),
    }
}

fn coloured(text: &str, fault: bool) -> String {
    let mut lines = String::new();
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        let end = &line[bare.len()..];
        if let Some(verdict) = bare.strip_prefix(TITLE) {
            let colour = if fault { RED } else { GREEN };
            lines += &format!("{TITLE}{colour}{verdict}{PLAIN}{end}");
            continue;
        }
        let mut line = line.to_owned();
        for (before, verdict, colour) in VERDICTS {
            let found = format!("{before}{verdict}");
            line = line.replace(&found, &format!("{before}{colour}{verdict}{PLAIN}"));
        }
        lines += &line;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_coloured_and_nothing_else() {
        let text = "│ uniform ┆ ips, normal ┆ reliable ┆ 0.5 │\n\
                    │ rule    ┆ ips, normal ┆ see below ┆ 0.5 │\n\
                    uniform: between 1 and 2: better than the log; reliable.\n\
                    rule: between 1 and 2, but do not rely on it: one event has 12% of all weight.\n\
                    nothing here is called reliable.\n";
        let shown = coloured(text, false);
        for part in [
            "┆ \x1b[32mreliable\x1b[0m ┆",
            "┆ \x1b[33msee below\x1b[0m ┆",
            "; \x1b[32mreliable\x1b[0m.",
            "but \x1b[33mdo not rely on it\x1b[0m:",
            "called reliable.",
        ] {
            assert!(shown.contains(part), "{part:?}: {shown:?}");
        }
        let mut plain = shown;
        for code in [GREEN, YELLOW, RED, PLAIN] {
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, text);
        assert_eq!(
            coloured("Verdict: wrong\n", true),
            "Verdict: \x1b[1;31mwrong\x1b[0m\n"
        );
    }
}
