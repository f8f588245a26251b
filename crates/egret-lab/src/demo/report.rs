use egret_jobs::summarize::EffectiveEvents;
use egret_report::numerals::{percent, short, thousands};
use egret_report::{Figure, Page, Part, Picture, Section};

use super::figures::Figures;
use super::policies::Weights;
use super::{Audited, Findings};

/// The report as a page, with pictures.
pub fn page(findings: &Findings, figures: &Figures) -> Page {
    let customers = thousands(findings.customers as f64);
    Page {
        title: format!("Prices for {customers} customers"),
        lead: vec![format!(
            "A shop sets a price from 5 to 50 for each of {customers} customers, who buy or do not. It knows segment, country, \
             visits, whether they came before and, from most, the income. What anyone would pay it has to learn, from \
             sales alone. Only this demo knows the truth (seed {}).",
            findings.seed
        )],
        parts: vec![
            earned(findings, &figures.learning),
            policies(findings, &figures.policies),
            audit(findings),
            method(findings, figures),
        ],
    }
}

fn figure(name: &str, alt: &str, picture: &Picture) -> Figure {
    Figure {
        name: name.to_owned(),
        caption: String::new(),
        alt: alt.to_owned(),
        picture: picture.clone(),
    }
}

fn header<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(String::from).to_vec()
}

fn earned(findings: &Findings, learning: &Picture) -> Part {
    let earned = &findings.earned;
    let possible = |value: f64| (value - earned.uniform) / (earned.best - earned.uniform);
    let row = |name: String, value: f64| {
        vec![
            name,
            format!("{value:.2}"),
            format!("{:.0}%", 100.0 * possible(value)),
        ]
    };
    Part {
        heading: "What learning earned".to_owned(),
        paragraphs: vec![format!(
            "egret earned {:.2} from a customer, {} {} than the best fixed price, while it learned from the first customer on.",
            earned.egret,
            percent((earned.egret / earned.fixed - 1.0).abs()),
            if earned.fixed <= earned.egret {
                "more"
            } else {
                "less"
            },
        )],
        figures: vec![figure(
            "learning",
            "Revenue per customer over time: egret starts near prices at random and comes close to the best price for each",
            learning,
        )],
        tables: vec![Section {
            before: "Expected revenue, mean over all customers. Possible: 0% is prices at random, 100% the best price for each."
                .to_owned(),
            header: header(["prices", "revenue per customer", "of what is possible"]),
            words: 1,
            rows: vec![
                row("egret, learning".into(), earned.egret),
                row(
                    format!("{} for everyone: the best fixed price, in hindsight", findings.fixed_price),
                    earned.fixed,
                ),
                row("at random, from 5 to 50".into(), earned.uniform),
                row("the best for each customer".into(), earned.best),
            ],
            ..Section::default()
        }],
        ..Part::default()
    }
}

fn policies(findings: &Findings, picture: &Picture) -> Part {
    let rows = findings.ope.iter().map(|row| {
        let weights = match row.weights {
            Weights::Correct => "egret's",
            Weights::KappaHat1 => "the paper's",
        };
        vec![
            row.policy.clone(),
            weights.to_owned(),
            format!("{:.2}", row.truth),
            format!("{:.2}", row.estimate),
            format!("[{:.2}, {:.2}]", row.low, row.high),
            if row.covers() { "inside" } else { "OUTSIDE" }.to_owned(),
        ]
    });
    let with = |weights: Weights| {
        findings
            .ope
            .iter()
            .filter(move |row| row.weights == weights)
    };
    let holding = |weights| with(weights).filter(|row| row.covers()).count();
    let doubted = with(Weights::Correct).filter(|row| !row.trusted).count();
    Part {
        heading: "What other prices would have earned, without trying them".to_owned(),
        paragraphs: vec![
            "Every price was drawn at random, and its probability was logged. So the log can say what other policies would \
             have earned from the same customers. That works only with the right propensities. The second log is that of the \
             same learner with a setting that any action space allows; there the paper's propensities leave out a factor \
             between 1 and 4, and estimates are off by as much."
                .to_owned(),
        ],
        figures: vec![figure(
            "policies",
            &format!(
                "Intervals of four policies beside the truth: with egret's propensities {} hold it, with the paper's {} do",
                holding(Weights::Correct),
                holding(Weights::KappaHat1)
            ),
            picture,
        )],
        tables: vec![Section {
            before: "Revenue per customer, estimated by importance weighting, with 95% intervals.".to_owned(),
            header: header(["policy", "propensities", "truth", "estimate", "95% interval", "the truth is"]),
            words: 2,
            rows: rows.collect(),
            after: vec![format!(
                "Of the four estimates with egret's propensities, {} may be trusted by their own account; {doubted} rest on too few \
                 effective events, and their intervals may be too short.",
                4 - doubted
            )],
            ..Section::default()
        }],
        ..Part::default()
    }
}

fn audit(findings: &Findings) -> Part {
    let audits = &findings.audit;
    let row = |name: &str, audited: &Audited| {
        let findings = &audited.report.findings;
        let together = &findings.together;
        vec![
            name.to_owned(),
            if audited.passed { "passes" } else { "FAILS" }.to_owned(),
            short(together.largest),
            together
                .alarm_at
                .map_or("–".to_owned(), |at| thousands(at as f64)),
            match findings.replay.replayed {
                // The paper's log does not hold what it takes.
                0 => "–".to_owned(),
                replayed => format!(
                    "{} of {}",
                    thousands(findings.replay.equal as f64),
                    thousands(replayed as f64)
                ),
            },
        ]
    };
    let correct = &audits.correct.report.findings;
    Part {
        heading: "Can the log be believed?".to_owned(),
        paragraphs: vec![format!(
            "The audit repeats every decision and tests the logged propensities. A correct log raises an alarm (evidence of \
             {} or more) with probability at most {}.",
            correct.together.threshold, correct.alpha
        )],
        tables: vec![Section {
            header: header([
                "propensities",
                "audit",
                "largest evidence",
                "alarm after",
                "repeated bit for bit",
            ]),
            words: 2,
            rows: vec![
                row("egret's", &audits.correct),
                row("the paper's", &audits.kappa_hat_1),
            ],
            ..Section::default()
        }],
        ..Part::default()
    }
}

fn method(findings: &Findings, figures: &Figures) -> Part {
    Part {
        heading: "How it works".to_owned(),
        folded: true,
        paragraphs: vec![
            "For each customer the learner predicts the loss f̂(x, a) of every price a: what is missing from 50, as a share. It \
             draws the price from p(a) = (1 − ε)·g(a)/z + ε, where g(a) = τ/(1 + γ(f̂(x, a) − β)₊) is at most τ, against prices \
             at random, and ε is the share of prices drawn at random. Good prices are drawn often, every price sometimes, no price more than τ times as often as at random. γ grows \
             with what was learned."
                .to_owned(),
            "On an interval β is computed so that z = 1. Where it is found by draws, z = 1/κ with κ between 1 and 4: egret \
             estimates z and logs g/z, the paper logs g. The second log here is of a learner with draws."
                .to_owned(),
            "A policy q earned the mean of (q/p)·revenue. Each event is weighed by τ/(τ + γ), which is known before its price is \
             drawn. Intervals are normal ones. The four policies are uniform on an eighth of all prices, or on all of them."
                .to_owned(),
            format!(
                "For prices at random, 1,000 of the last prices say as much as {:.1} prices at random would: exploration is what \
                 makes a log worth keeping, and what it costs.{}",
                findings.effective_per_1000,
                over_time(&findings.effective_events)
            ),
        ],
        figures: vec![
            figure("decision", "Predicted and true revenue over the price, for one customer", &figures.decision),
            figure("densities", "The density that the price is drawn from, for one customer", &figures.densities),
        ],
        ..Part::default()
    }
}

/// Effective events of each block of the log, as the log tells them.
fn over_time(effective: &EffectiveEvents) -> String {
    let blocks: Vec<String> = (effective.blocks.iter())
        .filter_map(|block| {
            let until = thousands(block.until as f64);
            Some(format!("{:.0} until {until}", block.effective_per_1000?))
        })
        .collect();
    format!(" Over time, estimated from the log: {}.", blocks.join(", "))
}
