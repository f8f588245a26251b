use crate::numeric::lanes::LANES;

/// The logarithm of a product of positive factors, in eight lanes. Exponents are set aside now and then, so that only one
/// logarithm is needed, at the end.
#[derive(Clone, Copy)]
pub(crate) struct LogProduct {
    mantissas: [f64; LANES],
    exponent: i64,
}

impl LogProduct {
    pub(crate) const ONE: Self = Self {
        mantissas: [1.0; LANES],
        exponent: 0,
    };

    /// Multiplies lane by lane.
    #[inline(always)]
    pub(crate) fn multiply(&mut self, factors: &[f64; LANES]) {
        for (mantissa, factor) in self.mantissas.iter_mut().zip(factors) {
            *mantissa *= factor;
        }
    }

    /// Sets the exponents aside. Between two calls the product of a lane must stay a normal number.
    #[inline(always)]
    pub(crate) fn normalize(&mut self) {
        for mantissa in &mut self.mantissas {
            let bits = mantissa.to_bits();
            self.exponent += (bits >> 52) as i64 - 1023;
            *mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
        }
    }

    pub(crate) fn ln(mut self) -> f64 {
        self.normalize();
        // Eight mantissas below 2: their product is below 256.
        let product: f64 = self.mantissas.iter().product();
        self.exponent as f64 * std::f64::consts::LN_2 + libm::log(product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_sum_of_logarithms() {
        let mut product = LogProduct::ONE;
        let mut sum = 0.0;
        for row in 0..1_000 {
            let factors: [f64; LANES] =
                std::array::from_fn(|lane| 0.05 + ((row * 8 + lane) % 97) as f64 / 20.0);
            product.multiply(&factors);
            sum += factors.iter().map(|factor| factor.ln()).sum::<f64>();
            if row % 64 == 63 {
                product.normalize();
            }
        }
        assert!((product.ln() - sum).abs() < 1e-9 * sum.abs());
        assert_eq!(LogProduct::ONE.ln(), 0.0);
    }
}
