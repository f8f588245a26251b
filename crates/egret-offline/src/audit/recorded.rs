use egret::{CertifiedBy, Decision, DensityKind, Limits, Loss, Propensity};

/// One event of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Audited<X, A> {
    /// Its sequence number, if the log has them.
    pub seq: Option<u64>,
    /// The context.
    pub x: X,
    /// What the log says about the decision.
    pub decision: Recorded<A>,
    /// The loss, if known.
    pub loss: Option<Loss>,
    /// Whether the model learned from it: models are learned again from these events.
    pub learned: bool,
    /// What 1/p could not exceed, if that is known otherwise than from β.
    pub largest_inverse: Option<f64>,
    /// For some features of the context, whether it is on one side of each, such as above the median of earlier events.
    pub sides: Vec<bool>,
}

impl<X, A> Audited<X, A> {
    /// A whole decision, from which the model learned.
    pub fn new(seq: Option<u64>, x: X, decision: Decision<A>, loss: Option<Loss>) -> Self {
        Self {
            seq,
            x,
            decision: Recorded::Replayable(decision),
            loss,
            learned: true,
            largest_inverse: None,
            sides: Vec::new(),
        }
    }
}

/// What a log says about a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum Recorded<A> {
    /// Everything, so that its model can repeat it.
    Replayable(Decision<A>),
    /// An action with its density, and perhaps how CappedIGW arrived at it.
    DensityOnly {
        /// The action.
        action: A,
        /// What the request allowed; none if all.
        limits: Option<Limits>,
        /// Its density, or a point mass.
        propensity: Propensity,
        /// What the checks of g and z need.
        draw: Option<CappedIgwDraw>,
    },
}

/// How CappedIGW arrived at a density.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CappedIgwDraw {
    /// Whether the density is conditional on τ, or marginal over all τ.
    pub density_kind: DensityKind,
    /// τ.
    pub tau: f64,
    /// γ.
    pub gamma: f64,
    /// g(a; β).
    pub g: f64,
    /// ε, the share of decisions drawn from μ.
    pub uniform: f64,
    /// β.
    pub beta: f64,
    /// How β was certified.
    pub certified_by: CertifiedBy,
    /// z(β), or its unbiased estimate.
    pub z: f64,
    /// Whether z was computed, not estimated.
    pub z_computed: bool,
    /// How many draws of μ the action took.
    pub proposals: u64,
    /// What no 1/density exceeds; none where the log does not say.
    pub largest_inverse_density: Option<f64>,
}

impl<A> Recorded<A> {
    pub(crate) fn action(&self) -> &A {
        match self {
            Self::Replayable(decision) => &decision.action,
            Self::DensityOnly { action, .. } => action,
        }
    }

    pub(crate) fn limits(&self) -> Option<&Limits> {
        match self {
            Self::Replayable(decision) => decision.limits.as_ref(),
            Self::DensityOnly { limits, .. } => limits.as_ref(),
        }
    }

    pub(crate) fn propensity(&self) -> Propensity {
        match self {
            Self::Replayable(decision) => decision.propensity,
            Self::DensityOnly { propensity, .. } => *propensity,
        }
    }

    pub(crate) fn replayable(&self) -> Option<&Decision<A>> {
        match self {
            Self::Replayable(decision) => Some(decision),
            Self::DensityOnly { .. } => None,
        }
    }

    pub(crate) fn draw(&self) -> Option<CappedIgwDraw> {
        match self {
            Self::Replayable(decision) => CappedIgwDraw::of(decision),
            Self::DensityOnly { draw, .. } => *draw,
        }
    }
}

impl CappedIgwDraw {
    /// None where another explorer decided.
    fn of<A>(decision: &Decision<A>) -> Option<Self> {
        let capped = decision.capped_igw?;
        Some(Self {
            density_kind: decision.density_kind,
            tau: decision.tau,
            gamma: decision.gamma,
            g: capped.g,
            uniform: capped.uniform,
            beta: capped.certificate.beta,
            certified_by: capped.certificate.certified_by,
            z: capped.z.value,
            z_computed: capped.z.draws == 0,
            proposals: decision.proposals as u64,
            largest_inverse_density: decision.largest_inverse_density,
        })
    }

    /// An upper bound on 1/((1 − ε)g + ε) that is known before the action is drawn.
    pub(crate) fn largest_inverse(&self) -> f64 {
        let inverse = (1.0 + self.gamma * (1.0 - self.beta).max(0.0)) / self.tau;
        1.0 / ((1.0 - self.uniform) / inverse + self.uniform)
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.certified_by == CertifiedBy::Exact
    }

    /// Which identity the record breaks, if any.
    pub(crate) fn contradiction(&self, density: Option<f64>) -> Option<&'static str> {
        const SLACK: f64 = 1e-9;
        let Self {
            tau, g, z, uniform, ..
        } = *self;
        let stated = (1.0 - uniform) * g / z + uniform;
        let least = tau / (1.0 + self.gamma * (1.0 - self.beta).max(0.0));
        let bounded = density
            .zip(self.largest_inverse_density)
            .is_none_or(|(density, largest)| 1.0 - SLACK <= density * largest);
        let density = density.unwrap_or(0.0);
        [
            (g <= tau * (1.0 + SLACK), "g exceeds tau"),
            (
                least * (1.0 - SLACK) <= g,
                "g is less than tau / (1 + gamma (1 - beta))",
            ),
            (z <= tau * (1.0 + SLACK), "z exceeds tau"),
            (
                !self.is_exact() || (z - 1.0).abs() < 1e-4,
                "z was computed and is not 1",
            ),
            (
                self.density_kind == DensityKind::Marginal
                    || (density - stated).abs() <= SLACK * stated,
                "the density is not g / z, with what is drawn at random",
            ),
            (1 <= self.proposals, "an action took no proposal"),
            (bounded, "1 / density exceeds the largest inverse density"),
        ]
        .into_iter()
        .find(|(holds, _)| !holds)
        .map(|(_, what)| what)
    }
}
