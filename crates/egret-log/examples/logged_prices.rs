//! Prices whose decisions are logged as Parquet, for `egret ope` and for any reader of Parquet.
//!
//!     cargo run --release -p egret-log --example logged_prices -- prices.parquet

use std::error::Error;

use egret::{
    DecisionLoop, EventRng, FeatureSchema, Features, FieldKind, Interval, Model, Objective, Stream,
};
use egret_log::{Format, Writer};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("name the file to write")?;
    let schema = FeatureSchema::new()
        .with("income", FieldKind::number())?
        .with("country", FieldKind::category(["NZ", "AU"]))?;
    let model = Model::new(Interval::new(5.0, 50.0)?, schema)?
        .with_objective(Objective::maximize(0.0, 50.0)?);
    let log = Writer::create(&file, Format::Parquet)?;
    let mut shop = DecisionLoop::with_log(model, log);
    for n in 0..3_000 {
        let mut chance = EventRng::new(5, n, Stream::World);
        let income = 20_000.0 + 60_000.0 * chance.unit();
        let country = ["NZ", "AU"][n as usize % 2];
        let decision =
            shop.decide(Features::from([("income", income)]).with("country", country))?;
        let buys = 1.0 / (1.0 + ((decision.action - 8.0 - income / 2_500.0) / 2.0).exp());
        let revenue = decision.action * f64::from(chance.unit() < buys);
        if chance.unit() < 0.95 {
            shop.outcome(decision.event, revenue)?;
        }
    }
    shop.expire_all()?; // those without an outcome are logged too
    let (_, log) = shop.into_parts();
    println!("{} decisions are in {file}", log.finish()?);
    println!("next: egret ope {file} --policy uniform --stabilize");
    Ok(())
}
