//! How fast a log is written and read: `cargo run --release -p egret-log --example log_speed -- FILE WHAT [ROWS]`.
//!
//! WHAT is `write`, `columns` (five of them are read) or `records`.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use egret::{Context, Density, EventRng, Loss, Propensity, Stream};
use egret_log::{ColumnScan, Format, OnBad, ReadError, Reader, Record, Writer};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let file = PathBuf::from(arguments.next().ok_or("name a file")?);
    let what = arguments.next().ok_or("say write, columns or records")?;
    let rows = arguments
        .next()
        .map_or(Ok(10_000_000), |text| text.parse())?;
    let start = Instant::now();
    match what.as_str() {
        "write" => {
            write(&file, rows)?;
            report("records written", rows, start);
        }
        "columns" => report("rows of 5 columns read", columns(&file)?, start),
        "records" => {
            let mut seen = 0;
            for record in Reader::open(&[&file], OnBad::Stop)? {
                record?;
                seen += 1;
            }
            report("records read", seen, start);
        }
        other => return Err(format!("{other} is not write, columns or records").into()),
    }
    Ok(())
}

fn columns(file: &Path) -> Result<u64, ReadError> {
    let (mut seen, mut sum) = (0, 0.0);
    ColumnScan::open(&[file], &["loss", "density", "q", "tau", "gamma"], &[])?.for_each(
        |mut batch| {
            batch.drop_missing(1);
            seen += batch.rows() as u64;
            let weighted = batch.all(0).iter().zip(batch.all(1)).zip(batch.all(2));
            sum += weighted.map(|((loss, p), q)| loss * q / p).sum::<f64>();
            Ok::<(), ReadError>(())
        },
    )?;
    println!("mean {:.6}", sum / seen as f64);
    Ok(seen)
}

fn write(file: &Path, rows: u64) -> Result<(), Box<dyn Error>> {
    let mut writer = Writer::create(file, Format::Parquet)?;
    for event in 0..rows {
        let mut rng = EventRng::new(7, event, Stream::World);
        let context = Context::dense((0..5).map(|_| rng.unit()).collect())?;
        let density = Density::new(0.01 + 10.0 * rng.unit())?;
        let mut record = Record::bare(context, rng.unit().into(), Propensity::Density(density));
        record.seq = Some(event);
        record.event = Some(event);
        record.tau = Some(f64::from(2_u32 << (event % 10)));
        record.gamma = Some(1.0 + 18.0 * (event / 8) as f64);
        record.g = Some(density.get() * 0.5);
        record.z = Some(0.5);
        record.loss = Some(Loss::new(rng.unit())?);
        record.set_extra("q", 2.0 * rng.unit())?;
        writer.write(&record)?;
    }
    writer.finish()?;
    Ok(())
}

fn report(what: &str, rows: u64, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    let rate = rows as f64 / seconds / 1e6;
    println!("{rows} {what} in {seconds:.2} s: {rate:.2} million a second");
}
