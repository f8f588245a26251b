use egret::{Context, DecideError, Decision, Igw, Learner};

/// How much the decisions of a run say about the uniform policy: of n decisions with densities p, n / mean of ∫ dμ/p effective
/// events. Observed weights would not do: they look best while the large ones have not been met.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EffectiveEvents {
    inverses: f64,
    decisions: u64,
}

impl EffectiveEvents {
    /// The decisions that effective events are counted over: the last ones.
    pub const LAST: usize = 5_000;

    /// Adds a decision with this ∫ dμ/p.
    pub fn add(&mut self, mean_inverse_density: f64) {
        self.inverses += mean_inverse_density;
        self.decisions += 1;
    }

    /// How many of 1,000 decisions at random would say as much as 1,000 of these; `None` without a decision.
    pub fn per_1000(&self) -> Option<f64> {
        (0 < self.decisions).then(|| 1_000.0 * self.decisions as f64 / self.inverses)
    }
}

/// ∫ dμ/p of a decision that the learner just made, before it learns more. `None` where it is not known: for explorers other
/// than CappedIGW, and outside intervals.
pub(crate) fn mean_inverse_density(
    learner: &Learner<Context, f64>,
    x: &Context,
    decision: &Decision<f64>,
) -> Result<Option<f64>, DecideError> {
    // The default learner's f̂ has 128 steps, so that the sum is the integral.
    const POINTS: usize = 128;
    let (Some(capped), Some(line)) = (decision.capped_igw, learner.measure().as_line()) else {
        return Ok(None);
    };
    let mut points: Vec<f64> = (0..POINTS)
        .map(|n| (n as f64 + 0.5) / POINTS as f64)
        .collect();
    line.quantiles(&mut points);
    let igw = Igw::new(decision.tau, decision.gamma).expect("a decision's own");
    let inverses = (learner.predict(x, &points)?.into_iter()).map(|fhat| {
        let weight = igw.weight(fhat, capped.certificate.beta) / capped.z.value;
        1.0 / ((1.0 - capped.uniform) * weight + capped.uniform)
    });
    Ok(Some(inverses.sum::<f64>() / POINTS as f64))
}
