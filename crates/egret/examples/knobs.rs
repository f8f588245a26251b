//! A server whose knobs are set for the load: cache size, threads and batch size at once, for the least latency.
//!
//!     cargo run --release -p egret --example knobs

use std::error::Error;

use egret::{
    DecisionLoop, EventRng, FeatureSchema, Features, FieldKind, Model, Objective, Stream,
    UniformBox,
};

const HOURS: u64 = 4_000;
const DEFAULTS: [f64; 3] = [4.0, 16.0, 32.0];

/// Milliseconds, which only the simulation knows: a cache too small misses and one too large starves the rest,
/// threads are too few for the load or fight for it, and large batches wait where there is little to do.
fn latency(knobs: &[f64], load: f64) -> f64 {
    let cache = 2.0 * (knobs[0] - 4.0 - 8.0 * load).abs();
    let threads = (knobs[1] - 4.0 - 50.0 * load).abs();
    let batch = 0.5 * (knobs[2] - 100.0 * load).abs();
    20.0 + cache + threads + batch
}

fn main() -> Result<(), Box<dyn Error>> {
    // Gigabytes of cache, threads, requests in a batch.
    let knobs = UniformBox::new(&[(1.0, 16.0), (1.0, 64.0), (1.0, 128.0)])?;
    let schema = FeatureSchema::new()
        .with("load", FieldKind::number())?
        .with("night", FieldKind::flag())?;
    // Above 250 ms all are equally bad, so that an outlier does not stretch the range.
    let latencies = Objective::minimize(0.0, 250.0)?.clipped();
    let mut server = DecisionLoop::new(Model::new(knobs, schema)?.with_objective(latencies));

    let (mut first, mut last, mut defaults) = (0.0, 0.0, 0.0);
    for hour in 0..HOURS {
        let mut chance = EventRng::new(2, hour, Stream::World);
        let night = hour % 24 < 8;
        let load = if night { 0.3 } else { 1.0 } * chance.unit();

        let decision = server.decide(Features::new().with("load", load).with("night", night))?;
        let expected = latency(&decision.action, load);
        let hiccup = 300.0 * f64::from(chance.unit() < 0.02);
        server.outcome(decision.event, expected + hiccup + 20.0 * chance.unit())?;

        if hour < 500 {
            first += expected / 500.0;
        } else if HOURS - 500 <= hour {
            last += expected / 500.0;
            defaults += latency(&DEFAULTS, load) / 500.0;
        }
    }
    println!("mean latency: {first:.0} ms in the first 500 hours, {last:.0} ms in the last 500");
    println!("with the knobs as they were delivered: {defaults:.0} ms in the last 500");
    for load in [0.1, 0.5, 0.9] {
        let now = Features::from([("load", load)]).with("night", false);
        let best = server.model().best(&now.into())?;
        let [cache, threads, batch] = [best[0], best[1], best[2]];
        println!("at load {load}: {cache:.1} GB, {threads:.0} threads, batches of {batch:.0}");
    }
    assert!(last < first.min(defaults), "the knobs are not learned");
    Ok(())
}
