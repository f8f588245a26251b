use egret_report::sheet::thousands;

use super::Findings;
use super::report;

/// One page with all pictures and tables inside: it asks nothing of any network.
pub fn html(findings: &Findings, pictures: &[String; 3]) -> String {
    let [learning, policies, decision] = pictures;
    let [losses, audit, values] = report::sections(findings);
    let sections = [
        losses.html(learning),
        audit.html(decision),
        values.html(policies),
    ]
    .concat();
    let heading = format!(
        "Prices for {} customers, seed {}",
        thousands(findings.decisions as f64),
        findings.seed,
    );
    egret_report::page("egret demo", &heading, &sections)
}
