use egret_jobs::evaluate::{EvaluateReport, EvaluationRow, rows_to_go_by};
use egret_offline::VerdictKind;
use egret_report::Section;
use egret_report::numerals::{percent, thousands};

use super::{ends, point};

/// Tables of parts of the log, of further outcomes and of quantiles, where they were asked for. Parts and outcomes are shown by
/// the rows to go by, unless all are asked for, and it is said why none can be relied on.
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
                point(row.estimate, digits),
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
    let to_go_by = rows_to_go_by(rows);
    let mut after = Vec::new();
    for row in to_go_by.iter().filter(|row| !row.can_be_relied_on()) {
        let name = first(row).0.unwrap_or_default();
        after.push(format!(
            "{name}, {} by {}, {}: {}.",
            row.policy, row.estimator, row.interval, row.verdict
        ));
    }
    let shown = match wide {
        true => rows.iter().collect(),
        false => to_go_by,
    };
    let cells = shown.into_iter().map(|row| {
        let (name, digits) = first(row);
        vec![
            name.unwrap_or_default(),
            row.policy.clone(),
            verdict(row.verdict_kind),
            format!("{}, {}", row.estimator, row.interval),
            point(row.estimate, digits),
            ends(row.low, row.high, digits),
            thousands(row.n as f64),
        ]
    });
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
        rows: cells.collect(),
        after,
        ..Section::default()
    }
}

fn verdict(kind: VerdictKind) -> String {
    match kind {
        VerdictKind::Reliable => "reliable".to_owned(),
        VerdictKind::Uninformative => "says little".to_owned(),
        _ => "do not rely on it".to_owned(),
    }
}
