use egret_jobs::evaluate::{EvaluateReport, EvaluationRow};
use egret_offline::VerdictKind;
use egret_report::Section;
use egret_report::numerals::{percent, thousands};

use super::ends;

/// Tables of parts of the log, of further outcomes and of quantiles, where they were asked for. Parts and outcomes are shown by
/// their first estimator, unless all are asked for.
pub(super) fn sections(report: &EvaluateReport, wide: bool) -> Vec<Section> {
    let mut sections = Vec::new();
    let level = percent(report.level);
    if let Some(first) = report.parts.first() {
        sections.push(Section {
            title: "Part by part".to_owned(),
            before: format!(
                "{level} intervals, for {} values at once: where two lie apart, the parts differ.",
                first.simultaneous
            ),
            ..table("part", &report.parts, wide, |row| {
                (row.part.clone(), report.objective.decimals())
            })
        });
    }
    if !report.outcomes.is_empty() {
        let decimals = |row: &EvaluationRow| {
            let objective: Option<egret::Objective> = row.objective.parse().ok();
            objective.map_or(4, |objective| objective.decimals())
        };
        sections.push(Section {
            title: "Other outcomes of the same events".to_owned(),
            before: format!("Means in their own units, with {level} intervals."),
            ..table("outcome", &report.outcomes, wide, |row| {
                (row.outcome.clone(), decimals(row))
            })
        });
    }
    if !report.distribution.is_empty() {
        let digits = report.objective.decimals();
        let rows = report.distribution.iter().map(|row| {
            vec![
                row.policy.clone(),
                verdict(row.verdict_kind),
                row.estimator.clone(),
                format!("{:.digits$}", row.estimate),
                ends(row.low, row.high, digits),
                thousands(row.ess),
            ]
        });
        let header = [
            "policy",
            "verdict",
            "what",
            "estimate",
            "low, high",
            "effective",
        ];
        sections.push(Section {
            title: format!("How {}s spread", report.objective.noun()),
            before: format!(
                "{level} intervals. Effective: events on the side of the quantile that has fewer. To rely on them takes 30, and no weight above 5 times the mean."
            ),
            header: header.map(String::from).to_vec(),
            words: 3,
            rows: rows.collect(),
            after: Vec::new(),
        });
    }
    sections
}

/// Rows with what they are of in front, and how many digits they have.
fn table(
    of: &str,
    rows: &[EvaluationRow],
    wide: bool,
    first: impl Fn(&EvaluationRow) -> (Option<String>, usize),
) -> Section {
    let mut before: Option<(Option<String>, &str)> = None;
    let mut cells = Vec::new();
    for row in rows {
        let (name, digits) = first(row);
        let key = (name.clone(), row.policy.as_str());
        if before.as_ref() == Some(&key) && !wide {
            continue;
        }
        before = Some(key);
        cells.push(vec![
            name.unwrap_or_default(),
            row.policy.clone(),
            verdict(row.verdict_kind),
            format!("{}, {}", row.estimator, row.interval),
            format!("{:.digits$}", row.estimate),
            ends(row.low, row.high, digits),
            thousands(row.n as f64),
        ]);
    }
    let header = [
        of,
        "policy",
        "verdict",
        "by",
        "estimate",
        "low, high",
        "events",
    ];
    Section {
        header: header.map(String::from).to_vec(),
        words: 4,
        rows: cells,
        ..Section::default()
    }
}

fn verdict(kind: VerdictKind) -> String {
    match kind {
        VerdictKind::Reliable => "reliable".to_owned(),
        _ => "do not rely on it".to_owned(),
    }
}
