use std::path::Path;

use egret_report::Section;
use egret_report::sheet::thousands;

use super::Findings;
use super::audit::LARGEST_Z;
use super::off_policy::Weights;

/// What the demo found, for a terminal.
pub fn text(findings: &Findings) -> String {
    let mut text = format!(
        "Prices for {} customers, seed {}\n",
        thousands(findings.decisions as f64),
        findings.seed
    );
    for section in sections(findings) {
        text += &section.text();
    }
    let page = findings.files[0].display();
    let folder = findings.files[0].parent().unwrap_or(Path::new("."));
    let folder = folder.display();
    text + &format!(
        "\nPictures: open {page} in a browser; it needs no network.\n\nThe log and the models are in {folder}. Try next:\n  \
         cargo run --release -- ope {folder}/exhaust.parquet --target uniform --target column:q_rule --steady\n  \
         cargo run --release -- audit {folder}/exhaust.parquet --model {folder}/start.egret --relearn\n  \
         cargo run --release -- exhaust head {folder}/exhaust.parquet\n  \
         cargo run --release -- demo --seed 8 --out my-demo\n"
    )
}

/// All of the report, in order.
pub fn sections(findings: &Findings) -> [Section; 3] {
    [losses(findings), audit(findings), policies(findings)]
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
            "The mean true loss of all prices played, first to last. The best {tau}-smooth policy knows what each\n\
             customer is worth and spreads each price over the best 1/{tau} of all. β is computed where the model tells its\n\
             shape on an interval; draws serve any action space, and their log is the one below."
        ),
        header: ["prices by", "mean loss", "above the best smooth"]
            .map(String::from)
            .to_vec(),
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
    let audit = &findings.audit;
    let kappa = &audit.kappa;
    let percent = |share: f64| format!("{:.1}%", 100.0 * share);
    let verdict = |passed| if passed { "ok" } else { "FAILS" };
    let pairs = audit.correct.checks.iter().zip(&audit.kappa_hat_1.checks);
    Section {
        title: "2. The log audits itself".into(),
        before: format!(
            "Means over CappedIGW's log that are known beforehand: E[h/p] = E_μ[h] for any h. z: the difference in\n\
             standard errors; beyond ±{LARGEST_Z} a check fails, as it does once in a thousand right logs. On the right the same with\n\
             κ̂ = 1: g in place of the density p = g/z."
        ),
        header: ["mean of", "expected", "with p", "z", "", "κ̂ = 1", "z", ""]
            .map(String::from)
            .to_vec(),
        words: 1,
        rows: pairs
            .map(|(right, wrong)| {
                vec![
                    right.mean_of.to_owned(),
                    format!("{:.4}", right.expected),
                    format!("{:.4}", right.found),
                    format!("{:+.1}", right.z_score),
                    verdict(right.passed).to_owned(),
                    format!("{:.4}", wrong.found),
                    format!("{:+.1}", wrong.z_score),
                    verdict(wrong.passed).to_owned(),
                ]
            })
            .collect(),
        after: vec![
            format!(
                "Events without a density: {} of CappedIGW's, {} of SmoothIGW's, which no one can reuse.",
                percent(audit.share_of_atoms),
                percent(audit.smooth_igw_share_of_atoms)
            ),
            format!(
                "1/ẑ, an estimate of κ, which g is off by: median {:.2}, nine in ten from {:.2} to {:.2}, all from {:.2} to {:.2}.",
                kappa.median, kappa.p05, kappa.p95, kappa.min, kappa.max
            ),
            format!(
                "Proposals for one price: {:.0} on average; κτ says {:.0}.",
                audit.mean_proposals, audit.mean_kappa_tau
            ),
            format!(
                "Replayed from saved models: {} of {} decisions equal to the bit.",
                audit.replay.equal, audit.replay.decisions
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
        let verdict = if row.covers() { "holds it" } else { "MISSES" };
        vec![
            row.policy.to_owned(),
            weights.to_owned(),
            format!("{:.4}", row.truth),
            format!("{:.4}", row.estimate),
            format!("[{:.4}, {:.4}]", row.low, row.high),
            verdict.to_owned(),
        ]
    });
    Section {
        title: "3. Policies that were never played, valued from the same log".into(),
        before: "Inverse propensity scores, nothing clipped; each event counts by τ/(τ + γ), known before its price is drawn.\n\
                 95% intervals by normal theory. Nobody played these policies: their truth is known to this demo alone."
            .to_owned(),
        header: [
            "policy", "weights", "truth", "estimate", "95% interval", "the truth",
        ].map(String::from).to_vec(),
        words: 2,
        rows: rows.collect(),
        after: Vec::new(),
    }
}
