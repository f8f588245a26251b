//! What any bytes may do to egret: be read, or be refused with a reason. They never make it panic, take more memory than they are worth,
//! or disappear.
//!
//! | target       | bytes are                                                          |
//! |--------------|--------------------------------------------------------------------|
//! | `features`   | a schema as JSON, a line without text, a context as JSON           |
//! | `model_file` | a saved model, whose checksums are made to fit                     |
//! | `own_table`  | a mapping as TOML, a line without text, a table as CSV or as JSON  |
//!
//! libFuzzer, which learns from what each input reaches, looks for inputs:
//!
//! ```text
//! cargo +nightly fuzz run --fuzz-dir crates/egret-fuzz own_table -- -rss_limit_mb=512 -max_total_time=300
//! ```
//!
//! What it finds is run again by `cargo run -p egret-fuzz --bin own_table FILE`. The tests here run the targets on examples and on what
//! chance makes of them.

mod features;
mod model_file;
mod own_table;
mod two_parts;

pub use features::features;
pub use model_file::{model_file, saved_models};
pub use own_table::own_table;

use std::path::Path;
use std::process::ExitCode;

/// Runs a target on the files that the command line names.
pub fn replay(target: fn(&[u8])) -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("name files to run, such as those that cargo fuzz leaves in artifacts");
        return ExitCode::FAILURE;
    }
    for file in files {
        match std::fs::read(Path::new(&file)) {
            Ok(bytes) => target(&bytes),
            Err(error) => {
                eprintln!("{file}: {error}");
                return ExitCode::FAILURE;
            }
        }
        println!("{file}: read or refused");
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCHEMA: &str = r#"{"fields": [{"name": "age", "field": {"kind": {"number": {"log": {"center": 0, "width": 30}}}}}, {"name": "country",
        "field": {"kind": {"category": {"values": ["NZ"], "others": true}}, "optional": true}}], "interactions": [{"one": "age", "other": "country", "bits": 3}]}"#;
    const CONTEXT: &str =
        r#"{"age": 30.5, "country": "NZ", "more": {"deep": [1, "a", null]}, "at": "2026-11-16"}"#;
    const MAPPING: &str = "action = \"price\"\ndensity = \"p\"\nreward = \"revenue\"\nreward_range = \"0,50\"\ncontext = [\"age\"]\nspace = \"interval:5,50\"\n";
    const TABLE: &str = "price,p,revenue,age\n20,0.9,5,31\n21.5,1.1,0,\"3\n1\"\n";

    /// A target and what it is to take.
    type Examples = (fn(&[u8]), Vec<Vec<u8>>);

    fn with_examples() -> Vec<Examples> {
        let text = |first: &str, second: &str| format!("{first}\n\n{second}").into_bytes();
        vec![
            (features, vec![text(SCHEMA, CONTEXT), text("", CONTEXT)]),
            (model_file, saved_models()),
            (
                own_table,
                vec![
                    text(MAPPING, TABLE),
                    text(
                        MAPPING,
                        r#"{"price": 20, "p": 0.9, "revenue": 5, "age": 31}"#,
                    ),
                    text("", TABLE),
                ],
            ),
        ]
    }

    #[test]
    fn examples_are_taken() {
        assert!(serde_json::from_str::<egret::FeatureSchema>(SCHEMA).is_ok());
        assert!(egret_log::LogMapping::from_toml(MAPPING).is_ok());
        for (target, examples) in with_examples() {
            for example in examples {
                target(&example);
                for end in [0, 1, example.len() / 2, example.len() - 1] {
                    target(&example[..end]);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn changed_examples_are_read_or_refused(
            which in any::<prop::sample::Index>(),
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..5, prop::collection::vec(any::<u8>(), 0..4)), 1..5),
        ) {
            for (target, examples) in with_examples() {
                let mut bytes = which.get(&examples).clone();
                for (place, cut, put) in &edits {
                    let start = place.index(bytes.len() + 1);
                    let end = (start + cut).min(bytes.len());
                    bytes.splice(start..end, put.iter().copied());
                }
                target(&bytes);
            }
        }
    }
}
