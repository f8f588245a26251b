//! All set-up and all checks.
fn main() {}
