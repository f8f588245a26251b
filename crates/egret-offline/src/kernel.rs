use std::f64::consts::{FRAC_1_SQRT_2, PI};

use egret::{Batch, Interval, LineMeasure, OutOfRange};
use serde::{Deserialize, Serialize};

use crate::target::{Chance, Target, TargetError, TargetWork, Use};

/// The shape of what a point is smoothed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelShape {
    /// ¾ (1 − t²) for |t| ≤ 1: bounded support, the least mean squared error.
    Epanechnikov,
    /// exp(−t²/2)/√(2π).
    Gaussian,
}

/// A kernel on an interval with uniform μ: what is played in place of one point c.
///
/// q(a) = L · K((a − c)/h) / (h · M),  M = mass of the kernel inside the interval, L = its length
///
/// Near an end the part of the kernel outside is not played: the rest is scaled up to mass 1, so that q is a density
/// wherever c lies. Played in place of c it costs the mean of the loss around c, which is not the loss at c: an
/// estimate for c itself is biased by what f* bends within h, and near an end by what it slopes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kernel {
    shape: KernelShape,
    bandwidth: f64,
    low: f64,
    high: f64,
}

impl Kernel {
    /// The bandwidth h is positive and in units of the action.
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

    /// h.
    pub fn bandwidth(&self) -> f64 {
        self.bandwidth
    }

    /// K.
    pub fn shape(&self) -> KernelShape {
        self.shape
    }

    /// q at `action` for the point `center`, which has to lie in the interval.
    pub fn density(&self, center: f64, action: f64) -> Result<f64, OutOfRange> {
        self.check(center)?;
        if !(self.low..=self.high).contains(&action) {
            return Ok(0.0);
        }
        let (_, inside) = self.masses(center);
        let t = (action - center) / self.bandwidth;
        Ok((self.high - self.low) * self.shape.at(t) / (self.bandwidth * inside))
    }

    /// The action that a share `u` of what is played for `center` lies below.
    pub fn quantile(&self, center: f64, u: f64) -> Result<f64, OutOfRange> {
        self.check(center)?;
        OutOfRange::unless((0.0..=1.0).contains(&u), "share", u, "[0, 1]")?;
        let (below, inside) = self.masses(center);
        // Mass between the point and the one sought.
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

    /// The largest q for any center: at an end, where half of the kernel is cut off, or less where it is wider than
    /// the interval.
    pub fn largest_density(&self) -> f64 {
        let width = self.high - self.low;
        let inside = self.shape.mass(width / self.bandwidth);
        width * self.shape.at(0.0) / (self.bandwidth * inside)
    }

    /// The kernel's mass below the center and in all, inside the interval.
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

/// Bisections of an interval down to what numbers can tell apart.
const HALVINGS: usize = 54;

impl KernelShape {
    /// K(t).
    fn at(self, t: f64) -> f64 {
        match self {
            Self::Epanechnikov => 0.75 * (1.0 - t * t).max(0.0),
            Self::Gaussian => libm::exp(-0.5 * t * t) / (2.0 * PI).sqrt(),
        }
    }

    /// ∫₀ᵗ K, negative for negative t. Two of one sign are added, never subtracted.
    fn mass(self, t: f64) -> f64 {
        match self {
            Self::Epanechnikov => {
                let t = t.clamp(-1.0, 1.0);
                0.25 * t * (3.0 - t * t)
            }
            Self::Gaussian => 0.5 * libm::erf(t * FRAC_1_SQRT_2),
        }
    }

    /// As `--help` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Epanechnikov => "Epanechnikov",
            Self::Gaussian => "Gaussian",
        }
    }
}

/// A policy that plays one number in each context.
pub trait PointPolicy<X: ?Sized>: Send + Sync {
    /// π(x). `work` may serve as a buffer.
    fn action(&self, x: &X, work: &mut TargetWork<f64>) -> Result<f64, TargetError>;
}

impl<X: ?Sized, F: Fn(&X) -> f64 + Send + Sync> PointPolicy<X> for F {
    fn action(&self, x: &X, _: &mut TargetWork<f64>) -> Result<f64, TargetError> {
        Ok(self(x))
    }
}

/// A deterministic policy with its point smoothed by a [`Kernel`].
pub struct KernelTarget<'a, X: ?Sized> {
    policy: &'a dyn PointPolicy<X>,
    kernel: Kernel,
}

impl<'a, X: ?Sized> KernelTarget<'a, X> {
    /// Plays around what the policy says.
    pub fn new(policy: &'a dyn PointPolicy<X>, kernel: Kernel) -> Self {
        Self { policy, kernel }
    }
}

impl<X: ?Sized> Target<X, f64> for KernelTarget<'_, X> {
    fn density(
        &self,
        _: Chance,
        x: &X,
        action: &f64,
        work: &mut TargetWork<f64>,
    ) -> Result<f64, TargetError> {
        let center = self.policy.action(x, work)?;
        Ok(self.kernel.density(center, *action)?)
    }

    fn draw(
        &self,
        chance: Chance,
        x: &X,
        n: usize,
        work: &mut TargetWork<f64>,
        out: &mut Vec<f64>,
    ) -> Result<(), TargetError> {
        let center = self.policy.action(x, work)?;
        let mut rng = chance.rng(Use::Draw, 0);
        // One from each of n parts of equal mass.
        for part in 0..n {
            let u = (part as f64 + rng.unit()) / n as f64;
            Batch::push(out, &self.kernel.quantile(center, u.min(1.0))?);
        }
        Ok(())
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
        Some(format!(
            "this is the value of the policy smoothed over about {:.4} either way, which is not that of the policy itself",
            self.kernel.bandwidth
        ))
    }
}
