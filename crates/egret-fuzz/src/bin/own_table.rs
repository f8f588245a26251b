#![cfg_attr(fuzzing, no_main)]
//! The target `own_table`.

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| egret_fuzz::own_table(bytes));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    egret_fuzz::replay(egret_fuzz::own_table)
}
