use crate::numeric::{EventRng, OutOfRange};

/// The most parameters that a model may have.
const MOST: usize = 1 << 28;

/// An error if a model has too many parameters; `None` means that the count overflowed.
pub(crate) fn check_parameters(count: Option<usize>) -> Result<usize, OutOfRange> {
    let count = count.unwrap_or(usize::MAX);
    OutOfRange::unless(
        count <= MOST,
        "number of parameters",
        count as f64,
        "[1, 2^28]",
    )?;
    Ok(count)
}

/// Appends `n` draws, uniform within ±1/√fan_in.
pub(crate) fn push_uniform(rng: &mut EventRng, fan_in: usize, n: usize, out: &mut Vec<f64>) {
    let scale = 1.0 / (fan_in.max(1) as f64).sqrt();
    out.extend((0..n).map(|_| scale * (2.0 * rng.unit() - 1.0)));
}
