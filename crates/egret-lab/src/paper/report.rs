use egret_report::sheet::thousands;
use egret_report::{ChartError, Claim, Figure, Page, Part, Section};

use super::contenders::Explored;
use super::figures::{self, Shown};
use super::findings::{COLUMNS, Findings, SMOOTH, greedy_share};
use super::table_one::PRINTED;
use super::{claims, online_study::OnlineRow};

/// A part of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Draws that β takes (§4.1).
    Table1,
    /// Loss while learning (§4.2).
    Online,
    /// What can be learned from the exhaust (§4.3).
    Offline,
    /// How often SmoothIGW is greedy (§4.4).
    Greedy,
    /// What κ∞ does (§4.5 and the appendix).
    Kappa,
}

impl Subject {
    /// All, in the order of the paper.
    pub const ALL: [Self; 5] = [
        Self::Table1,
        Self::Online,
        Self::Offline,
        Self::Greedy,
        Self::Kappa,
    ];
}

/// A page with a part for each subject.
pub fn report(findings: &Findings, subjects: &[Subject]) -> Result<Page, ChartError> {
    let mut page = Page {
        title: "Infinite action contextual bandits with reusable data exhaust: the experiments, run again".to_owned(),
        lead: lead(findings),
        parts: Vec::new(),
    };
    for subject in subjects {
        page.parts.push(match subject {
            Subject::Table1 => table_one(findings),
            Subject::Online => online(findings)?,
            Subject::Offline => offline(findings)?,
            Subject::Greedy => greedy(findings)?,
            Subject::Kappa => kappa(findings)?,
        });
    }
    Ok(page)
}

fn lead(findings: &Findings) -> Vec<String> {
    let (seeds, decisions) = findings.size;
    let mut lead = vec![
        "Rucker, Zhu and Mineiro (2023) say how CappedIGW does beside SmoothIGW. Each part has what they say, what was measured here, and \
         whether the two agree."
            .to_owned(),
    ];
    if !findings.datasets.is_empty() {
        let sets = findings.datasets.len();
        let kind = if findings.simulated {
            "simulated problems, not the paper's data"
        } else {
            "data sets"
        };
        lead.push(format!(
            "{sets} {kind}; {seeds} seeds, each with its own order of rows; at most {} decisions a run, in batches of 8. \
             A seed is the same for all learners, and differences are taken within it. Intervals are 90% bootstrap intervals of the mean.",
            thousands(decisions as f64)
        ));
    }
    if !findings.missing.is_empty() {
        lead.push(format!(
            "Not at hand, and so not run: {}. (The paper's twenty are eighteen ids: 41540 and 42225 count twice there, once here.)",
            findings.missing.join(", ")
        ));
    }
    lead
}

fn part(heading: &str, claims: Vec<Claim>, figures: Vec<Figure>, tables: Vec<Section>) -> Part {
    Part {
        heading: heading.to_owned(),
        claims,
        figures,
        tables,
        ..Part::default()
    }
}

fn header(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn table_one(findings: &Findings) -> Part {
    let rows = findings.table.iter().map(|row| {
        let printed = PRINTED.iter().find(|printed| printed.tau == row.tau);
        let printed = match (row.normalizer, printed) {
            ("betting", Some(printed)) => format!("{} to {}", printed.draws[0], printed.draws[1]),
            ("fixed_sample", Some(printed)) => format!("{} (Theorem 2)", printed.theorem),
            _ => String::new(),
        };
        vec![
            row.normalizer.to_owned(),
            row.tau.to_string(),
            row.gamma.to_string(),
            row.draws.map(|draws| draws.to_string()).join(", "),
            printed,
            row.kappa.map(|kappa| format!("{kappa:.1}")).join(", "),
            format!("{} of {}", row.violations, row.trials),
        ]
    });
    let table = Section {
        title: "Table 1".to_owned(),
        before:
            "f̂(a) = 1{2aτ > 1} on [0, 1], δ = 0.025, κ∞ = 24; at 2.5, 50 and 97.5% of the trials."
                .to_owned(),
        header: header(&[
            "normaliser",
            "τ",
            "γ",
            "draws",
            "the paper's draws",
            "κ",
            "κ outside [1, 24]",
        ]),
        words: 1,
        rows: rows.collect(),
        after: Vec::new(),
    };
    let heading = "Normalisation: how many draws β takes (§4.1)";
    part(
        heading,
        vec![claims::table_one(findings)],
        Vec::new(),
        vec![table],
    )
}

fn online(findings: &Findings) -> Result<Part, ChartError> {
    let mut shown = vec![Explored::mixture(4.0), Explored::EXACT];
    let betting = Explored::betting(4.0);
    let ran = |row: &OnlineRow| row.normalizer == betting.normalizer();
    if findings.online.rows.iter().any(ran) {
        shown.push(betting);
    }
    let figures = vec![figures::online(findings, "online", &shown)?];
    let table = online_table(findings);
    let heading = "Online regret (§4.2)";
    let claims = vec![claims::online(findings)];
    Ok(part(heading, claims, figures, vec![table]))
}

fn online_table(findings: &Findings) -> Section {
    let tallies = &findings.online.tallies;
    let mut names = vec![
        "data set".to_owned(),
        "decisions".to_owned(),
        "SmoothIGW".to_owned(),
    ];
    names.extend(tallies.iter().map(|tally| tally.name.clone()));
    let rows = findings.datasets.iter().map(|dataset| {
        let ours: Vec<&OnlineRow> = findings
            .online
            .rows
            .iter()
            .filter(|row| row.dataset == *dataset)
            .collect();
        let mut cells = vec![dataset.clone()];
        cells.extend(ours.first().map(|row| row.decisions.to_string()));
        cells.extend(ours.iter().map(|row| match row.difference {
            Some(difference) => format!("{:.4} {}", row.loss, difference.standing().word()),
            None => format!("{:.4}", row.loss),
        }));
        cells
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    let mut sum = vec![
        "wins, ties, losses".to_owned(),
        String::new(),
        String::new(),
    ];
    sum.extend(
        tallies
            .iter()
            .map(|tally| format!("{}, {}, {}", tally.wins, tally.ties, tally.losses)),
    );
    rows.push(sum);
    Section {
        title: "Progressive loss".to_owned(),
        before: "Mean over seeds, and how each stands against SmoothIGW.".to_owned(),
        header: names,
        words: 1,
        rows,
        after: Vec::new(),
    }
}

fn offline(findings: &Findings) -> Result<Part, ChartError> {
    let figures = vec![figures::offline(findings, "offline", &[0, 1, 2, 3])?];
    let table = offline_table(findings, &[0, 1, 2, 3]);
    let heading = "Offline utility of the exhaust (§4.3)";
    let claims = vec![claims::offline(findings)];
    Ok(part(heading, claims, figures, vec![table]))
}

fn offline_table(findings: &Findings, columns: &[usize]) -> Section {
    let names: Vec<&str> = std::iter::once(SMOOTH.name)
        .chain(columns.iter().map(|&place| COLUMNS[place].name))
        .collect();
    let mut head = header(&["data set", "exhausts"]);
    head.extend(names.iter().map(|name| (*name).to_owned()));
    let rows = findings.datasets.iter().map(|dataset| {
        let find = |name: &str| {
            let mut rows = findings.offline.iter();
            rows.find(|row| row.dataset == *dataset && row.column == name)
        };
        let mut cells = vec![dataset.clone()];
        cells.push(find(SMOOTH.name).map_or(String::new(), |row| row.seeds.to_string()));
        cells.extend(names.iter().map(|name| match find(name) {
            None => "–".to_owned(),
            Some(row) => match row.difference {
                Some(difference) => format!("{:.4} {}", row.loss, difference.standing().word()),
                None => format!("{:.4}", row.loss),
            },
        }));
        cells
    });
    Section {
        title: "Test loss of the greedy policy of a network taught from the exhaust".to_owned(),
        before: "Mean over exhausts; the best way of teaching on validation rows counts."
            .to_owned(),
        header: head,
        words: 1,
        rows: rows.collect(),
        after: Vec::new(),
    }
}

/// Where the share of greedy actions is told.
pub const ITERATIONS: [u64; 5] = [10, 100, 1_000, 5_000, 10_000];

fn greedy(findings: &Findings) -> Result<Part, ChartError> {
    let rows = findings.datasets.iter().map(|dataset| {
        let share = |iteration| {
            let share = greedy_share(&findings.online.records, dataset, iteration);
            share.map_or("–".to_owned(), |share| format!("{:.1}%", 100.0 * share))
        };
        std::iter::once(dataset.clone())
            .chain(ITERATIONS.map(share))
            .collect()
    });
    let table = Section {
        title: "Share of greedy actions of SmoothIGW".to_owned(),
        before: "Around each iteration of 8 decisions, mean over seeds.".to_owned(),
        header: header(&["data set", "10", "100", "1,000", "5,000", "10,000"]),
        words: 1,
        rows: rows.collect(),
        after: Vec::new(),
    };
    let figures = vec![figures::greedy(findings)?];
    let heading = "SmoothIGW increasingly plays greedy (§4.4)";
    let claims = vec![claims::greedy(findings)];
    Ok(part(heading, claims, figures, vec![table]))
}

/// What κ∞ is looked at for.
const SHOWN: [Shown; 5] = [
    Shown {
        name: "kappa_draws",
        title: "Draws of μ to find β",
        unit: "draws for one decision",
        caption: "Draws to find β at each κ∞; the exact normaliser takes none.",
        number: |exhaust| Some(exhaust.draws),
    },
    Shown {
        name: "kappa_kappa",
        title: "κ = 1/z(β)",
        unit: "κ",
        caption: "By how much g falls short of a density: what κ̂ = 1 leaves out.",
        number: |exhaust| exhaust.kappa,
    },
    Shown {
        name: "kappa_density",
        title: "Logged densities",
        unit: "dP/dμ at the action",
        caption: "Densities of the actions played, with respect to μ.",
        number: |exhaust| exhaust.density,
    },
    Shown {
        name: "kappa_weight",
        title: "Importance weights",
        unit: "1/p",
        caption: "The inverse of the density: the weight of the uniform policy.",
        number: |exhaust| exhaust.weight,
    },
    Shown {
        name: "kappa_distance",
        title: "Spread around the greedy action",
        unit: "|a − greedy action|",
        caption: "How far actions are from the greedy one, at every sixteenth decision.",
        number: |exhaust| exhaust.distance,
    },
];

fn kappa(findings: &Findings) -> Result<Part, ChartError> {
    let mut figures = vec![
        figures::kappa(findings, &SHOWN[0])?,
        figures::online(
            findings,
            "kappa_online",
            &[2.0, 4.0, 24.0].map(Explored::mixture),
        )?,
    ];
    if !findings.offline.is_empty() {
        figures.push(figures::offline(findings, "kappa_offline", &[4, 0, 5])?);
    }
    for shown in &SHOWN[1..] {
        figures.push(figures::kappa(findings, shown)?);
    }
    let mut found = vec![
        claims::kappa_draws(findings),
        claims::kappa_online(findings),
    ];
    let mut tables = Vec::new();
    if !findings.offline.is_empty() {
        found.push(claims::kappa_offline(findings));
        tables.push(offline_table(findings, &[4, 0, 5]));
    }
    Ok(part("Sensitivity to κ∞ (§4.5)", found, figures, tables))
}
