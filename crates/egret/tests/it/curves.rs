//! Predicted losses on [0, 1] whose z(β) = ∫ g(a; β) da is known.

use egret::{EventRng, Igw};

/// f̂ on [0, 1], with pieces from left to right on which it is linear, or so nearly linear that γ times the
/// difference is below 0.01 for γ ≤ 1e5: then z is right to that share of itself.
pub struct Curve {
    fhat: Box<dyn Fn(f64) -> f64 + Send + Sync>,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    width: f64,
    from: f64,
    to: f64,
}

/// How many kinds [`Curve::random`] knows.
pub const FAMILIES: u64 = 6;

impl Curve {
    pub fn at(&self, a: f64) -> f64 {
        (self.fhat)(a)
    }

    /// f̂ is `level` over `width`, one after the other; the widths add up to 1.
    pub fn steps(levels: Vec<(f64, f64)>) -> Self {
        let pieces = levels
            .iter()
            .map(|&(width, level)| Piece {
                width,
                from: level,
                to: level,
            })
            .collect();
        Self {
            fhat: Box::new(move |a| {
                let mut end = 0.0;
                let inside = levels.iter().find(|(width, _)| {
                    end += width;
                    a < end
                });
                inside.or(levels.last()).expect("one level or more").1
            }),
            pieces,
        }
    }

    /// f̂ goes straight from one (a, f̂) to the next; the first a is 0, the last is 1.
    pub fn lines(points: Vec<(f64, f64)>) -> Self {
        let line = |pair: &[(f64, f64)]| Piece {
            width: pair[1].0 - pair[0].0,
            from: pair[0].1,
            to: pair[1].1,
        };
        Self {
            pieces: points.windows(2).map(line).collect(),
            fhat: Box::new(move |a| {
                let next = points.partition_point(|point| point.0 < a);
                let (from, to) = (points[next.max(1) - 1], points[next.max(1)]);
                from.1 + (to.1 - from.1) * (a - from.0) / (to.0 - from.0)
            }),
        }
    }

    /// Linear between `nodes`, as far as z is concerned; the first is 0, the last is 1.
    fn nearly_lines(
        nodes: impl IntoIterator<Item = f64>,
        fhat: impl Fn(f64) -> f64 + Send + Sync + 'static,
    ) -> Self {
        let nodes: Vec<f64> = nodes.into_iter().collect();
        let pieces = nodes.windows(2).map(|pair| Piece {
            width: pair[1] - pair[0],
            from: fhat(pair[0]),
            to: fhat(pair[1]),
        });
        Self {
            pieces: pieces.collect(),
            fhat: Box::new(fhat),
        }
    }

    /// The needle of the paper's Table 1: f̂(a) = 1{2aτ > 1}.
    pub fn needle(tau: f64) -> Self {
        let width = 0.5 / tau;
        Self::steps(vec![(width, 0.0), (1.0 - width, 1.0)])
    }

    /// Left and right of `at` f̂ rises from `least` with these slopes, up to 1.
    pub fn vee(at: f64, least: f64, left: f64, right: f64) -> Self {
        let mut points = vec![(at, least)];
        let reach = |slope: f64| (1.0 - least) / slope;
        if at - reach(left) > 0.0 {
            points.insert(0, (at - reach(left), 1.0));
            points.insert(0, (0.0, 1.0));
        } else {
            points.insert(0, (0.0, least + left * at));
        }
        if at + reach(right) < 1.0 {
            points.extend([(at + reach(right), 1.0), (1.0, 1.0)]);
        } else {
            points.push((1.0, least + right * (1.0 - at)));
        }
        Self::lines(points)
    }

    /// ½ + amplitude · sin(2π · periods · a + phase).
    pub fn sinusoid(amplitude: f64, periods: f64, phase: f64) -> Self {
        let nodes = (0..=20_000).map(|i| f64::from(i) / 20_000.0);
        Self::nearly_lines(nodes, move |a| {
            0.5 + amplitude * (std::f64::consts::TAU * periods * a + phase).sin()
        })
    }

    /// height · |a − at|^power, for a power from ½ up.
    pub fn power(at: f64, height: f64, power: f64) -> Self {
        // The fourth power of an even grid: dense where the slope may be infinite.
        let side = |i: i32| (f64::from(i) / 5_000.0).powi(4);
        let left = (0..=5_000).rev().map(move |i| at - at * side(i));
        let right = (1..=5_000).map(move |i| at + (1.0 - at) * side(i));
        Self::nearly_lines(left.chain(right), move |a| {
            height * (a - at).abs().powf(power)
        })
    }

    /// One of a family: needles, constants, valleys, steps, waves, powers.
    pub fn random(family: u64, rng: &mut EventRng) -> Self {
        match family {
            0 => {
                let width = between(1e-4, 0.5, rng);
                let before = (1.0 - width) * rng.unit();
                let low = if rng.unit() < 0.5 {
                    0.0
                } else {
                    0.3 * rng.unit()
                };
                let high = if rng.unit() < 0.5 { 1.0 } else { rng.unit() };
                let after = 1.0 - width - before;
                Self::steps(vec![(before, high), (width, low), (after, high)])
            }
            1 => Self::steps(vec![(1.0, (1.2 * rng.unit()).min(1.0))]),
            2 => {
                let (at, least) = (rng.unit(), 0.4 * rng.unit());
                Self::vee(
                    at,
                    least,
                    between(0.05, 50.0, rng),
                    between(0.05, 50.0, rng),
                )
            }
            3 => {
                let count = 2 + (7.0 * rng.unit()) as usize;
                let parts: Vec<f64> = (0..count).map(|_| between(1e-3, 1.0, rng)).collect();
                let total: f64 = parts.iter().sum();
                let level = |part: &f64| (part / total, rng.unit());
                Self::steps(parts.iter().map(level).collect())
            }
            4 => {
                let periods = (4.0 * rng.unit()).ceil();
                Self::sinusoid(0.5 * rng.unit(), periods, 7.0 * rng.unit())
            }
            5 => Self::power(rng.unit(), rng.unit(), 0.5 + 2.5 * rng.unit()),
            _ => unreachable!("there are {FAMILIES}"),
        }
    }

    /// z(β).
    pub fn z(&self, igw: &Igw, beta: f64) -> f64 {
        let pieces = self.pieces.iter();
        pieces
            .map(|piece| piece.width * piece.mean_weight(igw, beta))
            .sum()
    }

    /// The share of z(β) that lies below `a`: the distribution function of p = g/z.
    pub fn cdf(&self, igw: &Igw, beta: f64, a: f64) -> f64 {
        let (mut start, mut below) = (0.0, 0.0);
        for piece in &self.pieces {
            let width = (a - start).clamp(0.0, piece.width);
            if 0.0 < width {
                let to = piece.from + (piece.to - piece.from) * width / piece.width;
                let part = Piece {
                    width,
                    to,
                    ..*piece
                };
                below += width * part.mean_weight(igw, beta);
            }
            start += piece.width;
        }
        below / self.z(igw, beta)
    }
}

impl Piece {
    /// The mean of g over f̂ uniform between the ends: τ on what is below β, else
    /// τ ∫ df/(1 + γ(f − β)) = (τ/γ) ln(1 + γ(f − β)).
    fn mean_weight(&self, igw: &Igw, beta: f64) -> f64 {
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        let range = high - low;
        if igw.gamma() * range < 1e-6 {
            return igw.weight(0.5 * (low + high), beta);
        }
        let (near, far) = ((low - beta).max(0.0), (high - beta).max(0.0));
        let capped = (beta - low).clamp(0.0, range);
        let log = (igw.gamma() * (far - near) / (1.0 + igw.gamma() * near)).ln_1p();
        igw.tau() * (capped + log / igw.gamma()) / range
    }
}

/// Log-uniform.
pub fn between(low: f64, high: f64, rng: &mut EventRng) -> f64 {
    low * (high / low).powf(rng.unit())
}

#[cfg(test)]
mod tests {
    use egret::Stream;

    use super::*;

    /// The stratified mean of g over a million points, without the pieces.
    fn plain(curve: &Curve, igw: &Igw, beta: f64) -> f64 {
        let n = 1_000_000;
        let points = (0..n).map(|i| (f64::from(i) + 0.5) / f64::from(n));
        points.map(|a| igw.weight(curve.at(a), beta)).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn z_is_the_plain_integral() {
        let mut rng = EventRng::new(1, 0, Stream::World);
        for family in 0..FAMILIES {
            for _ in 0..4 {
                let curve = Curve::random(family, &mut rng);
                let igw = Igw::new(between(1.2, 300.0, &mut rng), between(1.0, 1e4, &mut rng))
                    .expect("in range");
                let beta = igw.beta_min() + (1.0 - igw.beta_min()) * rng.unit();
                let (z, plain) = (curve.z(&igw, beta), plain(&curve, &igw, beta));
                // The plain mean is off by 1e-6 τ/z for each jump.
                assert!(
                    (z - plain).abs() < 1e-4 * plain + 1e-5 * igw.tau(),
                    "{family}: {z} {plain}"
                );
            }
        }
    }

    #[test]
    fn z_of_the_needle_is_its_closed_form() {
        for (tau, gamma) in [(2.0, 16.0), (20.0, 304.0), (200.0, 6368.0)] {
            let igw = Igw::new(tau, gamma).expect("in range");
            for beta in [igw.beta_min(), -0.01, 0.0, 0.4, 1.0] {
                let closed = (2.0 * tau - 1.0) / (2.0 + 2.0 * gamma * (1.0 - beta))
                    + 1.0 / (2.0 + 2.0 * gamma * (-beta).max(0.0));
                let z = Curve::needle(tau).z(&igw, beta);
                assert!((z - closed).abs() < 1e-12 * closed, "{z} {closed}");
            }
        }
    }

    #[test]
    fn the_distribution_function_goes_from_zero_to_one() {
        let igw = Igw::new(8.0, 60.0).expect("in range");
        let curve = Curve::vee(0.3, 0.1, 1.4, 0.8);
        assert_eq!(curve.cdf(&igw, 0.1, 0.0), 0.0);
        assert!((curve.cdf(&igw, 0.1, 1.0) - 1.0).abs() < 1e-15);
        let slope = (curve.cdf(&igw, 0.1, 0.5001) - curve.cdf(&igw, 0.1, 0.4999)) / 2e-4;
        let density = igw.weight(curve.at(0.5), 0.1) / curve.z(&igw, 0.1);
        assert!((slope - density).abs() < 1e-4 * density);
    }
}
