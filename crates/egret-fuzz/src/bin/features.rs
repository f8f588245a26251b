#![cfg_attr(fuzzing, no_main)]
//! The target `features`.

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| egret_fuzz::features(bytes));

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    egret_fuzz::replay(egret_fuzz::features)
}
