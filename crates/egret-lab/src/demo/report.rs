use egret_report::numerals::{percent, thousands};
use egret_report::{Figure, Page, Part, Picture, Section};

use super::figures::Figures;
use super::policies::Weights;
use super::{Audited, Findings};

fn title(findings: &Findings) -> String {
    let customers = thousands(findings.decisions as f64);
    format!("Prices for {customers} customers, seed {}", findings.seed)
}

/// The same as a page, with pictures.
pub fn page(findings: &Findings, figures: &Figures) -> Page {
    let [losses, audit, policies] = sections(findings);
    let pictures: [&[(&str, &Picture)]; 3] = [
        &[("learning", &figures.learning)],
        &[
            ("decision", &figures.losses),
            ("densities", &figures.densities),
        ],
        &[("policies", &figures.policies)],
    ];
    let parts = [losses, audit, policies].into_iter().zip(pictures);
    Page {
        title: title(findings),
        lead: Vec::new(),
        parts: parts
            .map(|(section, pictures)| part(section, pictures))
            .collect(),
    }
}

fn part(section: Section, pictures: &[(&str, &Picture)]) -> Part {
    let figure = |&(name, picture): &(&str, &Picture)| Figure {
        name: name.to_owned(),
        caption: String::new(),
        alt: name.to_owned(),
        picture: picture.clone(),
    };
    Part {
        heading: section.title.clone(),
        figures: pictures.iter().map(figure).collect(),
        tables: vec![Section {
            title: String::new(),
            ..section
        }],
        ..Part::default()
    }
}

/// All of the report, in order.
fn sections(findings: &Findings) -> [Section; 3] {
    [losses(findings), audit(findings), policies(findings)]
}

fn header<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(String::from).to_vec()
}

fn losses(findings: &Findings) -> Section {
    let loss = &findings.loss;
    let tau = findings.best_smooth_tau;
    let row = |name: String, value: f64| {
        let above = value - loss.best_smooth;
        vec![name, format!("{value:.4}"), format!("{above:.4}")]
    };
    Section {
        title: "1. What learning cost".into(),
        before: format!(
            "The mean expected loss of all prices played, first to last. The best {tau}-smooth policy knows what each customer\n\
             is worth and spreads each price over the best 1/{tau} of all. β is computed where the model tells its shape on an\n\
             interval; draws serve any action space, and their log is the one below."
        ),
        header: header(["prices by", "mean loss", "above the best smooth"]),
        words: 1,
        rows: vec![
            row("CappedIGW, β by draws".into(), loss.capped_igw),
            row("CappedIGW, β computed".into(), loss.capped_igw_exact),
            row("SmoothIGW".into(), loss.smooth_igw),
            row("chance, uniform on [0, 1]".into(), loss.uniform),
            row(format!("the best {tau}-smooth policy"), loss.best_smooth),
        ],
        after: Vec::new(),
    }
}

fn audit(findings: &Findings) -> Section {
    let audits = &findings.audit;
    let row = |name: &str, audited: &Audited| {
        let findings = &audited.report.findings;
        let together = &findings.together;
        vec![
            name.to_owned(),
            if audited.passed { "passes" } else { "FAILS" }.to_owned(),
            format!("{:.1e}", together.largest),
            together
                .alarm_at
                .map_or("–".to_owned(), |at| thousands(at as f64)),
            format!(
                "{} of {}",
                thousands(findings.replay.equal as f64),
                thousands(findings.events as f64)
            ),
        ]
    };
    let correct = &audits.correct.report.findings;
    Section {
        title: "2. The log is audited".into(),
        before: format!(
            "`egret audit` replays decisions from saved models and bets against the logged densities: a correct log raises an\n\
             alarm, evidence of {} or more, with probability at most {}. The second log holds g in place of the density p = g/z,\n\
             as the paper would write it (κ̂ = 1).",
            correct.together.threshold, correct.alpha
        ),
        header: header([
            "log",
            "audit",
            "largest evidence",
            "alarm after",
            "replayed equal",
        ]),
        words: 2,
        rows: vec![
            row("density p, as egret logs it", &audits.correct),
            row("g, as if κ were 1", &audits.kappa_hat_1),
        ],
        after: vec![
            format!(
                "Events without a density: none of CappedIGW's, {} of SmoothIGW's, which nobody can reuse.",
                percent(audits.smooth_igw_share_of_point_masses)
            ),
            format!(
                "Proposals for one price: {:.0} on average; κτ says {:.0}.",
                correct.proposals.mean, correct.proposals.expected
            ),
        ],
    }
}

fn policies(findings: &Findings) -> Section {
    let rows = findings.ope.iter().map(|row| {
        let weights = match row.weights {
            Weights::Correct => "q/p",
            Weights::KappaHat1 => "q/g (κ̂ = 1)",
        };
        vec![
            row.policy.to_owned(),
            weights.to_owned(),
            format!("{:.4}", row.truth),
            format!("{:.4}", row.estimate),
            format!("[{:.4}, {:.4}]", row.low, row.high),
            if row.covers() { "holds it" } else { "MISSES" }.to_owned(),
        ]
    });
    Section {
        title: "3. Policies that nobody played, evaluated from the same log".into(),
        before: "Inverse propensity scores, nothing clipped; each event weighs τ/(τ + γ), known before its price is drawn.\n\
                 95% intervals by normal theory. The truth is known to this demo alone."
            .to_owned(),
        header: header(["policy", "weights", "truth", "estimate", "95% interval", "the truth"]),
        words: 2,
        rows: rows.collect(),
        after: Vec::new(),
    }
}
