/// A mean in which events count unequally, with its standard error.
///
/// m = Σ hᵢvᵢ / Σ hᵢ,  s = √(Σ hᵢ² (vᵢ − m)²) / Σ hᵢ
///
/// Each h is known before its v is drawn. What vᵢ is on average given the past, m then is too, and
/// (m − truth)/s is nearly normal, however the policy that drew the v changed on the way: a
/// martingale central limit theorem. Where v spreads widely a small h keeps it from drowning the rest.
#[derive(Debug, Clone, Copy, Default)]
pub struct SteadyMean {
    h: f64,
    hv: f64,
    hh: f64,
    hhv: f64,
    hhvv: f64,
}

impl SteadyMean {
    /// m.
    pub fn mean(&self) -> f64 {
        self.hv / self.h
    }

    /// s.
    pub fn standard_error(&self) -> f64 {
        let mean = self.mean();
        let squares = self.hhvv - 2.0 * mean * self.hhv + mean * mean * self.hh;
        squares.max(0.0).sqrt() / self.h
    }
}

/// Of pairs (h, v).
impl FromIterator<(f64, f64)> for SteadyMean {
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(pairs: I) -> Self {
        let mut sums = Self::default();
        for (h, v) in pairs {
            sums.h += h;
            sums.hv += h * v;
            sums.hh += h * h;
            sums.hhv += h * h * v;
            sums.hhvv += h * h * v * v;
        }
        sums
    }
}

/// Where all count alike.
impl FromIterator<f64> for SteadyMean {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        values.into_iter().map(|value| (1.0, value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let mean: SteadyMean = [1.0, 2.0, 6.0].into_iter().collect();
        assert_eq!(mean.mean(), 3.0);
        // √(4 + 1 + 9) / 3.
        assert!((mean.standard_error() - 14.0_f64.sqrt() / 3.0).abs() < 1e-15);
        let mean: SteadyMean = [(3.0, 1.0), (1.0, 5.0)].into_iter().collect();
        assert_eq!(mean.mean(), 2.0);
        // √(9 · 1 + 1 · 9) / 4.
        assert!((mean.standard_error() - 18.0_f64.sqrt() / 4.0).abs() < 1e-15);
    }
}
