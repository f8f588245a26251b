use std::f64::consts::{FRAC_1_SQRT_2, PI};

use egret::{Batch, Interval, Limits, LineMeasure, OutOfRange};
use serde::{Deserialize, Serialize};

use crate::policy::{Policy, PolicyBuffers, PolicyError, PolicySeed, RngPurpose};

/// The shape of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelShape {
    /// ¾ (1 − t²) for |t| ≤ 1: bounded support, the least mean squared error.
    Epanechnikov,
    /// exp(−t²/2)/√(2π).
    Gaussian,
}

/// A kernel on an interval with uniform μ. It spreads one action c over its neighbourhood.
///
/// q(a) = L · K((a − c)/h) / (h · M),  M = mass of the kernel inside the interval, L = its length
///
/// Near an end of the interval the kernel is cut off and the rest is scaled up to mass 1, so q is a density wherever c lies.
/// Played in place of c, the kernel costs the mean of the loss around c, not the loss at c. As an estimate for c itself that
/// is biased: by the curvature of f* within h, and near an end also by its slope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kernel {
    shape: KernelShape,
    bandwidth: f64,
    low: f64,
    high: f64,
}

impl Kernel {
    /// The bandwidth h is positive, in units of the action.
    pub fn new(
        shape: KernelShape,
        bandwidth: f64,
        interval: &Interval,
    ) -> Result<Self, OutOfRange> {
        OutOfRange::unless(
            0.0 < bandwidth && bandwidth.is_finite(),
            "bandwidth",
            bandwidth,
            "(0, inf)",
        )?;
        let (low, high) = interval.bounds();
        Ok(Self {
            shape,
            bandwidth,
            low,
            high,
        })
    }

    /// The kernel where a request allowed a part of the interval: it is cut off there too, and its density is against the
    /// uniform distribution on the part. Of a single number the density is 1.
    pub fn within(&self, limits: &Limits) -> Result<Self, PolicyError> {
        match *limits {
            Limits::Interval { low, high }
                if self.low <= low && low <= high && high <= self.high =>
            {
                Ok(Self { low, high, ..*self })
            }
            _ => Err(PolicyError::NoLimits {
                policy: format!("of a kernel from {} to {}", self.low, self.high),
                limits: limits.to_string(),
            }),
        }
    }

    /// The nearest number that the kernel can be put around.
    pub fn nearest(&self, center: f64) -> f64 {
        center.clamp(self.low, self.high)
    }

    /// h.
    pub fn bandwidth(&self) -> f64 {
        self.bandwidth
    }

    /// K.
    pub fn shape(&self) -> KernelShape {
        self.shape
    }

    /// q at `action` for c = `center`, which must lie in the interval.
    pub fn density(&self, center: f64, action: f64) -> Result<f64, OutOfRange> {
        self.check(center)?;
        if !(self.low..=self.high).contains(&action) {
            return Ok(0.0);
        }
        if self.low == self.high {
            return Ok(1.0);
        }
        let (_, inside) = self.masses(center);
        let t = (action - center) / self.bandwidth;
        Ok((self.high - self.low) * self.shape.at(t) / (self.bandwidth * inside))
    }

    /// The `u`-quantile of what is played for c = `center`.
    pub fn quantile(&self, center: f64, u: f64) -> Result<f64, OutOfRange> {
        self.check(center)?;
        OutOfRange::unless((0.0..=1.0).contains(&u), "probability", u, "[0, 1]")?;
        let (below, inside) = self.masses(center);
        // The mass between the center and the quantile.
        let wanted = u * inside - below;
        let mass = |action: f64| self.shape.mass((action - center) / self.bandwidth);
        let (mut least, mut most) = (self.low, self.high);
        if let KernelShape::Epanechnikov = self.shape {
            least = least.max(center - self.bandwidth);
            most = most.min(center + self.bandwidth);
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (least + most);
            if mass(middle) < wanted {
                least = middle;
            } else {
                most = middle;
            }
        }
        Ok(0.5 * (least + most))
    }

    /// The largest q for any center. It is reached where the center is an end of the interval: there half of the kernel is
    /// cut off, or more where the kernel is wider than the interval.
    pub fn largest_density(&self) -> f64 {
        let width = self.high - self.low;
        if width == 0.0 {
            return 1.0;
        }
        let inside = self.shape.mass(width / self.bandwidth);
        width * self.shape.at(0.0) / (self.bandwidth * inside)
    }

    /// What to know of the value of a policy that is smoothed by it.
    pub fn caveat(&self) -> String {
        format!(
            "this is the value of the policy smoothed by about {:.4} to either side, not the value of the policy itself",
            self.bandwidth
        )
    }

    /// The kernel's mass inside the interval: below the center, and in all.
    fn masses(&self, center: f64) -> (f64, f64) {
        let below = self.shape.mass((center - self.low) / self.bandwidth);
        let above = self.shape.mass((self.high - center) / self.bandwidth);
        (below, below + above)
    }

    fn check(&self, center: f64) -> Result<(), OutOfRange> {
        OutOfRange::unless(
            (self.low..=self.high).contains(&center),
            "action of the policy",
            center,
            "the interval of the log's action space",
        )
    }
}

/// Bisections of an interval, down to neighbouring floating-point numbers.
const HALVINGS: usize = 54;

impl KernelShape {
    /// K(t).
    fn at(self, t: f64) -> f64 {
        match self {
            Self::Epanechnikov => 0.75 * (1.0 - t * t).max(0.0),
            Self::Gaussian => libm::exp(-0.5 * t * t) / (2.0 * PI).sqrt(),
        }
    }

    /// ∫₀ᵗ K, negative for negative t. Masses are only added, never subtracted, so that none cancels.
    fn mass(self, t: f64) -> f64 {
        match self {
            Self::Epanechnikov => {
                let t = t.clamp(-1.0, 1.0);
                0.25 * t * (3.0 - t * t)
            }
            Self::Gaussian => 0.5 * libm::erf(t * FRAC_1_SQRT_2),
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Epanechnikov => "Epanechnikov",
            Self::Gaussian => "Gaussian",
        }
    }
}

/// A policy that plays one number in each context.
pub trait PointPolicy<X: ?Sized>: Send + Sync {
    /// π(x).
    fn action(&self, x: &X) -> Result<f64, PolicyError>;
}

impl<X: ?Sized, F: Fn(&X) -> f64 + Send + Sync> PointPolicy<X> for F {
    fn action(&self, x: &X) -> Result<f64, PolicyError> {
        Ok(self(x))
    }
}

/// A policy that plays one number, smoothed by a [`Kernel`].
pub struct KernelPolicy<'a, X: ?Sized> {
    point_policy: Box<dyn PointPolicy<X> + 'a>,
    kernel: Kernel,
}

impl<'a, X: ?Sized> KernelPolicy<'a, X> {
    /// Spreads what the point policy plays.
    pub fn new(point_policy: Box<dyn PointPolicy<X> + 'a>, kernel: Kernel) -> Self {
        Self {
            point_policy,
            kernel,
        }
    }
}

/// What a point policy plays, or the nearest number that is allowed.
struct Nearest<'a, X: ?Sized> {
    point_policy: &'a dyn PointPolicy<X>,
    kernel: Kernel,
}

impl<X: ?Sized> PointPolicy<X> for Nearest<'_, X> {
    fn action(&self, x: &X) -> Result<f64, PolicyError> {
        Ok(self.kernel.nearest(self.point_policy.action(x)?))
    }
}

impl<X: ?Sized> Policy<X, f64> for KernelPolicy<'_, X> {
    fn density(
        &self,
        _: PolicySeed,
        x: &X,
        action: &f64,
        _: &mut PolicyBuffers<f64>,
    ) -> Result<f64, PolicyError> {
        let center = self.point_policy.action(x)?;
        Ok(self.kernel.density(center, *action)?)
    }

    fn draw(
        &self,
        seed: PolicySeed,
        x: &X,
        n: usize,
        _: &mut PolicyBuffers<f64>,
        out: &mut Vec<f64>,
    ) -> Result<(), PolicyError> {
        let center = self.point_policy.action(x)?;
        let mut rng = seed.rng(RngPurpose::Draw, 0);
        // Stratified: one draw from each of n parts of equal mass.
        for part in 0..n {
            let u = (part as f64 + rng.unit()) / n as f64;
            Batch::push(out, &self.kernel.quantile(center, u.min(1.0))?);
        }
        Ok(())
    }

    fn within(&self, limits: &Limits) -> Result<Box<dyn Policy<X, f64> + '_>, PolicyError> {
        let kernel = self.kernel.within(limits)?;
        let point_policy = &*self.point_policy;
        Ok(Box::new(KernelPolicy::new(
            Box::new(Nearest {
                point_policy,
                kernel,
            }),
            kernel,
        )))
    }

    fn largest_density(&self) -> Option<f64> {
        Some(self.kernel.largest_density())
    }

    fn name(&self) -> String {
        let Kernel {
            shape, bandwidth, ..
        } = self.kernel;
        format!("point policy, {} kernel, h {bandwidth}", shape.name())
    }

    fn caveat(&self) -> Option<String> {
        Some(self.kernel.caveat())
    }
}
