use std::env;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;

/// What would let the compiler assume more than the minimum CPU.
const FLAGS: [&str; 2] = ["target-cpu", "target-feature"];

/// Checks that neither the repository nor the environment asks for more than the minimum CPU:
/// faster code is picked at run time.
pub fn check(workspace: &Workspace) -> Result<()> {
    for name in [".cargo/config.toml", "Cargo.toml"] {
        let path = workspace.root.join(name);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        refuse(name, &text)?;
        println!("{name} sets no {}", FLAGS.join(" or "));
    }
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
        let value = env::var_os(name).unwrap_or_default();
        refuse(name, &value.to_string_lossy())?;
    }
    println!("neither does the environment");
    Ok(())
}

fn refuse(place: &str, text: &str) -> Result<()> {
    for flag in FLAGS {
        ensure!(
            !text.contains(flag),
            "{place} sets {flag}: builds must run on the minimum CPU that ARCHITECTURE.md names"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_native_build_is_refused() {
        assert!(refuse("RUSTFLAGS", "-C target-cpu=native").is_err());
        assert!(refuse("RUSTFLAGS", "-Ctarget-feature=+avx2").is_err());
        assert!(refuse("RUSTFLAGS", "-C debuginfo=0").is_ok());
    }
}
