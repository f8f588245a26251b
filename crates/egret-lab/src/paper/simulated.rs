use egret::{Context, EventRng, Stream};

use crate::environment::Supervised;

/// Simulated regression problems for users without the paper's data. They let every experiment run, but confirm nothing that the
/// paper says.
///
/// There are four features, uniform on [0, 1]. The labels are a plane, a fold (which no plane fits), and a plane with noise.
pub fn simulated_sets(rows: usize) -> Vec<Supervised> {
    type Label = fn(&[f64], &mut EventRng) -> f64;
    let sets: [(&str, Label); 3] = [
        ("simulated_plane", |x, _| {
            0.2 + 0.5 * x[0] - 0.3 * x[1] + 0.4 * x[2]
        }),
        ("simulated_fold", |x, _| {
            (x[0] - x[1]).abs() * 0.8 + 0.2 * x[2]
        }),
        ("simulated_noise", |x, rng| {
            0.3 + 0.4 * x[0] - 0.2 * x[3] + 0.3 * (rng.unit() - 0.5)
        }),
    ];
    let make = |(place, (name, label)): (usize, (&str, Label))| {
        let row = |row: usize| {
            let mut rng = EventRng::new(place as u64, row as u64, Stream::World);
            let x: Vec<f64> = (0..4).map(|_| rng.unit()).collect();
            let label = label(&x, &mut rng).clamp(0.0, 1.0);
            (Context::dense(x).expect("finite"), label)
        };
        Supervised::new(name, (0..rows).map(row).collect()).expect("labels are in [0, 1]")
    };
    sets.into_iter().enumerate().map(make).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_sets_are_the_same_each_time() {
        let (one, other) = (simulated_sets(50), simulated_sets(50));
        assert_eq!(one.len(), 3);
        for (one, other) in one.iter().zip(&other) {
            assert_eq!(one.rows(), other.rows());
        }
    }
}
