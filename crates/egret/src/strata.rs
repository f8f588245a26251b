use crate::EventRng;

/// Fills with (i + uᵢ)/n: one uniform draw from each of n equal parts of [0, 1), in order.
pub(crate) fn fill_stratified(rng: &mut EventRng, out: &mut [f64]) {
    rng.fill_unit(out);
    let part = 1.0 / out.len() as f64;
    for (i, value) in out.iter_mut().enumerate() {
        // (n - 1 + u)/n may round to 1, which is in no part.
        *value = ((i as f64 + *value) * part).min(1.0 - f64::EPSILON / 2.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

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
