use egret_report::numerals::thousands;
use egret_report::{ChartError, Claim, Figure, Page, Part, Section};

use crate::comparison::counted;
use crate::learner::PaperLearner;
use crate::paper::figures::{self, Quantity};
use crate::paper::{COLUMNS, Findings, OnlineRow, PRINTED, SMOOTH, claims, greedy_share};

/// A part of the paper's experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The number of draws to find β (§4.1).
    Table1,
    /// The loss while learning (§4.2).
    Online,
    /// The loss of models trained on the log (§4.3).
    Offline,
    /// How often SmoothIGW is greedy (§4.4).
    Greedy,
    /// The influence of κ∞ (§4.5 and the appendix).
    Kappa,
}

impl Subject {
    /// All parts, in the order of the paper.
    pub const ALL: [Self; 5] = [
        Self::Table1,
        Self::Online,
        Self::Offline,
        Self::Greedy,
        Self::Kappa,
    ];
}

/// A page with a part for each subject: the paper's claims, the measurements, and a verdict.
pub fn report(findings: &Findings, subjects: &[Subject]) -> Result<Page, ChartError> {
    let mut page = Page {
        title:
            "Reproducing the paper: infinite action contextual bandits with reusable data exhaust"
                .to_owned(),
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
        "Rucker, Zhu and Mineiro (2023) compare CappedIGW with SmoothIGW. Each part below has a claim of the paper, what was measured \
         here, and whether the two agree. The paper calls the log of a learner its data exhaust; here it is the log."
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
            "These are results on {sets} {kind}, over {}. Each seed has its own order of rows, the same for all learners, and \
             differences are paired by seed. A run has up to {} decisions, in batches of 8. Intervals are 90% bootstrap intervals of the mean.",
            counted(seeds, "seed"),
            thousands(decisions as f64)
        ));
    }
    if !findings.missing.is_empty() {
        lead.push(format!(
            "Not run, because the data was not available: {}. (The paper's twenty data sets have eighteen ids: it counts 41540 and 42225 \
             twice, this report once.)",
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
            "f̂(a) = 1{2aτ > 1} on [0, 1], δ = 0.025, κ∞ = 24. Draws and κ are 2.5, 50 and 97.5% quantiles over the trials."
                .to_owned(),
        header: header(&[
            "normalizer",
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
    let heading = "Normalization: draws to find β (§4.1)";
    part(
        heading,
        vec![claims::table_one(findings)],
        Vec::new(),
        vec![table],
    )
}

fn online(findings: &Findings) -> Result<Part, ChartError> {
    let mut shown = vec![PaperLearner::mixture(4.0), PaperLearner::EXACT];
    let betting = PaperLearner::betting(4.0);
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
        before: "Mean over seeds, and the result against SmoothIGW.".to_owned(),
        header: names,
        words: 1,
        rows,
        after: Vec::new(),
    }
}

fn offline(findings: &Findings) -> Result<Part, ChartError> {
    let figures = vec![figures::offline(findings, "offline", &[0, 1, 2, 3])?];
    let table = offline_table(findings, &[0, 1, 2, 3]);
    let heading = "Training on the log (§4.3)";
    let claims = vec![claims::offline(findings)];
    Ok(part(heading, claims, figures, vec![table]))
}

fn offline_table(findings: &Findings, columns: &[usize]) -> Section {
    let names: Vec<&str> = std::iter::once(SMOOTH.name)
        .chain(columns.iter().map(|&place| COLUMNS[place].name))
        .collect();
    let mut head = header(&["data set", "logs"]);
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
        title: "Test loss of the greedy policy of a network trained on the log".to_owned(),
        before: "Mean over logs, with the training method that is best on validation rows."
            .to_owned(),
        header: head,
        words: 1,
        rows: rows.collect(),
        after: Vec::new(),
    }
}

/// The iterations at which the report shows the share of greedy actions.
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
    let heading = "SmoothIGW plays greedily more and more often (§4.4)";
    let claims = vec![claims::greedy(findings)];
    Ok(part(heading, claims, figures, vec![table]))
}

/// The quantities that may depend on κ∞.
const QUANTITIES: [Quantity; 5] = [
    Quantity {
        name: "kappa_draws",
        title: "Draws from μ to find β",
        unit: "draws per decision",
        caption: "Draws to find β at each κ∞. The exact normalizer takes none.",
        number: |log| Some(log.draws),
    },
    Quantity {
        name: "kappa_kappa",
        title: "κ = 1/z(β)",
        unit: "κ",
        caption: "The factor by which g falls short of a density. The paper's κ̂ = 1 ignores it.",
        number: |log| log.kappa,
    },
    Quantity {
        name: "kappa_density",
        title: "Logged densities",
        unit: "dP/dμ at the action",
        caption: "Densities of the chosen actions with respect to μ.",
        number: |log| log.density,
    },
    Quantity {
        name: "kappa_weight",
        title: "Importance weights",
        unit: "1/p",
        caption: "The inverse of the density: the importance weight of the uniform policy.",
        number: |log| log.weight,
    },
    Quantity {
        name: "kappa_distance",
        title: "Spread around the greedy action",
        unit: "|a − greedy action|",
        caption: "The distance of the action from the greedy one, at every sixteenth decision.",
        number: |log| log.distance,
    },
];

fn kappa(findings: &Findings) -> Result<Part, ChartError> {
    let mut figures = vec![
        figures::kappa(findings, &QUANTITIES[0])?,
        figures::online(
            findings,
            "kappa_online",
            &[2.0, 4.0, 24.0].map(PaperLearner::mixture),
        )?,
    ];
    if !findings.offline.is_empty() {
        figures.push(figures::offline(findings, "kappa_offline", &[4, 0, 5])?);
    }
    for quantity in &QUANTITIES[1..] {
        figures.push(figures::kappa(findings, quantity)?);
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
