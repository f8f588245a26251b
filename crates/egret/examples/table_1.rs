//! Table 1 of the paper for every normaliser that draws: how many draws β takes, and which κ it gives.
//!
//! f̂(a) = 1{2aτ > 1} on [0, 1], a needle in a haystack; δ = 0.025, κ∞ = 24.

use std::error::Error;

use egret::{
    BettingMartingale, DrawBuffers, Draws, EventRng, FixedSample, Igw, MixtureMartingale,
    Normalizer, Promise, Stream,
};

const RUNS: u64 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let promise = Promise::new(24.0, 0.025)?;
    let normalizers: [(&str, Box<dyn Normalizer>); 3] = [
        ("betting", Box::new(BettingMartingale::new(promise))),
        ("mixture", Box::new(MixtureMartingale::new(promise))),
        ("fixed sample", Box::new(FixedSample::new(promise))),
    ];
    println!("{RUNS} runs each; 2.5%, 50%, 97.5%");
    println!(
        "tau  gamma  normaliser    draws               mean   kappa             outside [1, 24]"
    );
    for (tau, gamma) in [(2.0, 16.0), (20.0, 304.0), (200.0, 6368.0)] {
        let igw = Igw::new(tau, gamma)?;
        for (name, normalizer) in &normalizers {
            let mut draws = Vec::new();
            let mut kappas = Vec::new();
            for run in 0..RUNS {
                let (n, beta) = certify(&**normalizer, &igw, run)?;
                draws.push(n as f64);
                kappas.push(1.0 / z(&igw, beta));
            }
            let outside = kappas.iter().filter(|kappa| !(1.0..=24.0).contains(*kappa));
            let outside = outside.count();
            let mean = draws.iter().sum::<f64>() / RUNS as f64;
            let [n_low, n, n_high] = quantiles(&mut draws);
            let [k_low, k, k_high] = quantiles(&mut kappas);
            println!(
                "{tau:<4} {gamma:<6} {name:<13} {n_low:>5} {n:>5} {n_high:>5} {mean:>8.0}   \
                 {k_low:>4.1} {k:>4.1} {k_high:>4.1}   {outside:>10}"
            );
        }
    }
    Ok(())
}

fn certify(
    normalizer: &dyn Normalizer,
    igw: &Igw,
    run: u64,
) -> Result<(usize, f64), Box<dyn Error>> {
    let mut buffers = DrawBuffers::default();
    let mut rng = EventRng::new(1, run, Stream::Beta);
    let tau = igw.tau();
    let mut more = |n: usize, rng: &mut EventRng, out: &mut Vec<f64>| {
        out.extend((0..n).map(|_| f64::from(u8::from(1.0 < 2.0 * rng.unit() * tau))));
        Ok(())
    };
    let found = normalizer.certify(igw, &mut Draws::new(&mut buffers, &mut rng, &mut more))?;
    Ok((found.draws, found.beta))
}

/// z(β) in closed form, for β ≤ 1.
fn z(igw: &Igw, beta: f64) -> f64 {
    let (tau, gamma) = (igw.tau(), igw.gamma());
    (2.0 * tau - 1.0) / (2.0 + 2.0 * gamma * (1.0 - beta))
        + 1.0 / (2.0 + 2.0 * gamma * (-beta).max(0.0))
}

fn quantiles(values: &mut [f64]) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [0.025, 0.5, 0.975].map(|share| values[((values.len() - 1) as f64 * share).round() as usize])
}
