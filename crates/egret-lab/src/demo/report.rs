use egret_report::numerals::{percent, thousands};
use egret_report::{Figure, Page, Part, Picture, Section};

use super::figures::Figures;
use super::policies::Weights;
use super::{Audited, Findings};

fn title(findings: &Findings) -> String {
    let customers = thousands(findings.decisions as f64);
    format!("Prices for {customers} customers, seed {}", findings.seed)
}

/// The report as a page, with pictures.
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

/// All sections, in order.
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
        title: "1. Loss while learning".into(),
        before: format!(
            "The mean expected loss over all decisions. The best {tau}-smooth policy knows each customer's worth and spreads each\n\
             price over the best 1/{tau} of all. On an interval β can be computed; draws work in any action space. The log below\n\
             is that of the learner with draws."
        ),
        header: header(["prices by", "mean loss", "above the best smooth"]),
        words: 1,
        rows: vec![
            row("CappedIGW, β by draws".into(), loss.capped_igw),
            row("CappedIGW, β computed".into(), loss.capped_igw_exact),
            row("SmoothIGW".into(), loss.smooth_igw),
            row("random, uniform on [0, 1]".into(), loss.uniform),
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
        title: "2. Audit of the log".into(),
        before: format!(
            "`egret audit` replays every decision bit for bit and tests the logged propensities. A correct log raises an alarm\n\
             (evidence of {} or more) with probability at most {}. The second log states g in place of the density p = g/z, as\n\
             the paper would (κ̂ = 1).",
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
                "Events without a density: none of CappedIGW's, {} of SmoothIGW's. Those cannot be reused.",
                percent(audits.smooth_igw_share_of_point_masses)
            ),
            format!(
                "Proposals for one price: {:.0} on average, expected κτ = {:.0}.",
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
            if row.covers() { "covered" } else { "MISSED" }.to_owned(),
        ]
    });
    Section {
        title: "3. Off-policy evaluation: policies that were never played, from the same log".into(),
        before: "Inverse propensity scores without clipping. Each event is weighed by τ/(τ + γ), which is known before its price is\n\
                 drawn. Intervals are 95% normal intervals. Only this demo knows the truth."
            .to_owned(),
        header: header(["policy", "weights", "truth", "estimate", "95% interval", "the truth"]),
        words: 2,
        rows: rows.collect(),
        after: Vec::new(),
    }
}
