use std::fs;

use serde_json::Value;

use crate::{egret, figures, folder, stdout};

#[test]
fn json_holds_the_promised_keys() {
    let text = figures(7, 800, "keys");
    let json: Value = serde_json::from_str(&text).expect("one object");
    for name in ["egret", "fixed", "uniform", "best"] {
        let earned = json["earned"][name].as_f64().expect("a number");
        assert!((0.0..=50.0).contains(&earned), "{name} {earned}");
    }
    let effective = json["effective_per_1000"].as_f64().expect("a number");
    assert!(0.0 < effective && effective <= 1_000.0);
    let rows = json["ope"].as_array().expect("a list");
    assert_eq!(rows.len(), 8);
    for (place, row) in rows.iter().enumerate() {
        let number = |key: &str| row[key].as_f64().expect("finite");
        assert!(row["policy"].is_string());
        assert_eq!(row["weights"], ["correct", "kappa_hat_1"][place % 2]);
        assert!((0.0..=50.0).contains(&number("truth")));
        assert!(number("low") < number("estimate") && number("estimate") < number("high"));
    }
    let audit = &json["audit"]["correct"];
    assert_eq!(audit["passed"], true);
    assert_eq!(audit["replay"]["replayed"], 800);
    assert_eq!(audit["replay"]["equal"], 800);
    assert_eq!(audit["point_masses"], 0);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let first = figures(7, 600, "same");
    assert_eq!(first, figures(7, 600, "same"));
    assert_ne!(first, figures(8, 600, "same"));
}

#[test]
fn learning_pays() {
    let json: Value = serde_json::from_str(&figures(7, 4_000, "pays")).expect("one object");
    let earned = |name: &str| json["earned"][name].as_f64().expect("a number");
    assert!(earned("egret") < earned("best"));
    assert!(1.03 * earned("fixed") < earned("egret"));
    assert!(1.5 * earned("uniform") < earned("egret"));
    assert_eq!(json["audit"]["kappa_hat_1"]["passed"], false);
    // What the log tells of effective events, against ∫ dμ/p of each decision.
    let exact = json["effective_per_1000"].as_f64().expect("a number");
    let told = |name: &str| {
        let number = json["effective_events"]["overall"][name].as_f64();
        number.expect("a density and a bound in each record")
    };
    let (about, least) = (told("effective_per_1000"), told("at_least_per_1000"));
    assert!(least <= exact, "{least} {exact}");
    // With L = 1000/least at most, the variance of 1/p² is below L² ∫ dμ/p: five standard deviations, a false alarm below 1e-6.
    let inverse = 1_000.0 / exact;
    let sd = 1_000.0 / least / (4_000.0 * inverse).sqrt();
    assert!((exact / about - 1.0).abs() < 5.0 * sd, "{about} {exact}");
    assert!(sd < 0.2, "{sd}");
}

#[test]
fn pictures_and_page_are_well_formed_and_offline() {
    let out = folder("pictures");
    let path = out.to_str().expect("a path in plain letters");
    let report = stdout(egret(&["demo", "--decisions", "500", "--output", path]));
    let page = out.join("index.html");
    assert!(
        report.contains(page.to_str().expect("plain letters")),
        "{report}"
    );
    // As they are typed here, wherever the command lies.
    let command = concat!("\n  ", env!("CARGO_BIN_EXE_egret"), " ");
    assert_eq!(report.matches(command).count(), 5, "five commands to try");
    let html = fs::read_to_string(page).expect("written");
    check_tags(&html);
    for name in [
        "learning.svg",
        "policies.svg",
        "decision.svg",
        "densities.svg",
    ] {
        let svg = fs::read_to_string(out.join(name)).expect("written");
        check_tags(&svg);
        assert!(html.contains(&svg), "{name} is in the page");
    }
    // Links lead to places of the page itself.
    assert_eq!(
        html.matches("href=").count(),
        html.matches("href=\"#").count()
    );
    for reference in ["src=", "url(", "@import"] {
        assert!(!html.contains(reference), "{reference}");
    }
}

/// Every tag is closed, in order, and every number is one.
pub fn check_tags(text: &str) {
    let mut open = Vec::new();
    for piece in text.split('<').skip(1) {
        let (tag, rest) = piece.split_once('>').expect("a tag ends");
        assert!(!rest.contains('>'), "{rest}");
        assert!(!tag.contains("NaN") && !tag.contains("inf"), "{tag}");
        let name = tag.split_whitespace().next().expect("a tag has a name");
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
        } else if !tag.ends_with('/') && !tag.starts_with(['!', '?']) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}
