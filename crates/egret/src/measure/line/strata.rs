use crate::measure::LineMeasure;
use crate::numeric::EventRng;

/// Fills with (i + uᵢ)/n: one uniform draw from each of n equal parts of [0, 1), in order. Each part is divided into 2³².
pub(crate) fn fill_stratified(rng: &mut EventRng, out: &mut [f64]) {
    rng.fill_coarse(out);
    place(out, 1.0 / out.len() as f64);
}

/// Appends the actions at `n` quantiles that `fill` chooses.
pub(crate) fn append_quantiles(
    line: &impl LineMeasure,
    n: usize,
    out: &mut Vec<f64>,
    fill: impl FnOnce(&mut [f64]),
) {
    let start = out.len();
    out.resize(start + n, 0.0);
    fill(&mut out[start..]);
    line.quantiles(&mut out[start..]);
}

/// Moves the i-th value from [0, 1) into the i-th part.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn place(values: &mut [f64], part: f64) {
    const LANES: usize = 16;
    let steps: [f64; LANES] = std::array::from_fn(|lane| lane as f64);
    // The number of the part is counted as it is added: whole numbers below 2⁵³ are exact.
    let mut first = 0.0;
    for values in values.chunks_mut(LANES) {
        for (value, step) in values.iter_mut().zip(&steps) {
            // (n - 1 + u)/n may round to 1, which is in no part.
            *value = ((first + step + *value) * part).min(1.0 - f64::EPSILON / 2.0);
        }
        first += LANES as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::Stream;

    #[test]
    fn each_part_has_one() {
        for n in [0, 1, 2, 7, 64, 1_000] {
            let mut draws = vec![0.0; n];
            fill_stratified(&mut EventRng::new(1, 0, Stream::Z), &mut draws);
            for (i, draw) in draws.iter().enumerate() {
                assert_eq!((draw * n as f64).floor() as usize, i);
            }
        }
    }
}
