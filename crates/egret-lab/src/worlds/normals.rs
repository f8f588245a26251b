use egret::{EmbeddingRows, EventRng, Stream};

/// Two standard normal numbers, by Box and Muller.
pub(super) fn pair(rng: &mut EventRng) -> [f64; 2] {
    let radius = (-2.0 * libm::log(1.0 - rng.unit())).sqrt();
    let (sin, cos) = libm::sincos(std::f64::consts::TAU * rng.unit());
    [radius * cos, radius * sin]
}

/// So many standard normal numbers.
pub(super) fn normals(count: usize, rng: &mut EventRng) -> impl Iterator<Item = f64> {
    (0..count.div_ceil(2)).flat_map(|_| pair(rng)).take(count)
}

/// Items whose features are standard normal.
pub(super) fn item_rows(items: usize, features: usize, seed: u64) -> EmbeddingRows {
    let mut rng = EventRng::new(seed, 0, Stream::World);
    let values = normals(items * features, &mut rng);
    EmbeddingRows::from_singles(features, values.map(|value| value as f32).collect())
        .expect("standard normal numbers")
}
