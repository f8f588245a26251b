use serde::{Deserialize, Serialize};

use crate::{
    Action, ActionFeatures, Aggregation, ArgminDispersion, Bilinear, Context, Forecaster,
    FourierRegression, FourierSettings, LearningRate, LinearArgmin, LinearRegression,
    NetworkArgmin, OutOfRange, RegressionOracle,
};

/// A regression oracle as data: kind and settings, nothing learned.
///
/// | oracle        | over                | is                                             |
/// |---------------|---------------------|------------------------------------------------|
/// | `Argmin`      | intervals           | the paper's argmin plus dispersion, linear or a network |
/// | `Linear`      | any features        | ridge or Vovk–Azoury–Warmuth on (x, a, x·a)    |
/// | `Fourier`     | any features        | random Fourier features                        |
/// | `Aggregation` | what its members do | Vovk's aggregation                             |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OracleSpec {
    /// [`ArgminDispersion`].
    Argmin {
        /// Widths of the network's two hidden layers; absent for the linear argmin.
        hidden: Option<[usize; 2]>,
        /// Adam's.
        learning_rate: LearningRate,
        /// What a network's parameters start from.
        seed: u64,
    },
    /// [`LinearRegression`] on [`Bilinear`] features.
    Linear {
        /// Which prediction it makes.
        forecaster: Forecaster,
        /// How much its weights are held back.
        lambda: f64,
        /// Whether squares of the action's features are features too.
        squares: bool,
    },
    /// [`FourierRegression`].
    Fourier {
        /// How many random features.
        features: usize,
        /// Inputs 1/scale apart are related by 1/e.
        scale: f64,
        /// What they are drawn from.
        seed: u64,
    },
    /// [`Aggregation`] of others.
    Aggregation(Vec<OracleSpec>),
}

impl Default for OracleSpec {
    /// The paper's online oracle.
    fn default() -> Self {
        Self::Argmin {
            hidden: None,
            learning_rate: LearningRate::default(),
            seed: 0,
        }
    }
}

impl OracleSpec {
    /// The oracle for contexts of `context_dim` features and for actions with these features, nothing learned: for
    /// action spaces that no [`Space`](crate::Space) describes. The argmin is refused: it is for intervals, by
    /// [`Blueprint::number_oracle`](crate::Blueprint::number_oracle).
    pub fn over<A: Action, E>(
        &self,
        context_dim: usize,
        actions: &E,
    ) -> Result<Box<dyn RegressionOracle<Context, A>>, OracleSpecError>
    where
        E: ActionFeatures<A> + Clone + 'static,
    {
        self.build(context_dim, actions, &|_| {
            Err(OracleSpecError::NotAnInterval)
        })
    }

    /// Makes the oracle for contexts of `context_dim` features. `argmin` makes the one kind that not every
    /// action space has.
    pub(crate) fn build<A: Action, E>(
        &self,
        context_dim: usize,
        actions: &E,
        argmin: &dyn Fn(
            ArgminSpec,
        ) -> Result<Box<dyn RegressionOracle<Context, A>>, OracleSpecError>,
    ) -> Result<Box<dyn RegressionOracle<Context, A>>, OracleSpecError>
    where
        E: ActionFeatures<A> + Clone + 'static,
    {
        Ok(match *self {
            Self::Argmin {
                hidden,
                learning_rate,
                seed,
            } => argmin(ArgminSpec {
                context_dim,
                hidden,
                learning_rate,
                seed,
            })?,
            Self::Linear {
                forecaster,
                lambda,
                squares,
            } => {
                let features = Bilinear::new(context_dim, actions.clone())?;
                let features = if squares {
                    features.with_squares()
                } else {
                    features
                };
                Box::new(LinearRegression::new(features, forecaster, lambda)?)
            }
            Self::Fourier {
                features,
                scale,
                seed,
            } => Box::new(FourierRegression::new(
                actions.clone(),
                FourierSettings {
                    context_dim,
                    features,
                    scale,
                    seed,
                },
            )?),
            Self::Aggregation(ref members) => {
                let members = members
                    .iter()
                    .map(|member| member.build(context_dim, actions, argmin))
                    .collect::<Result<_, _>>()?;
                Box::new(Aggregation::new(members)?)
            }
        })
    }
}

/// What an argmin oracle is made of, beside its interval.
pub(crate) struct ArgminSpec {
    context_dim: usize,
    hidden: Option<[usize; 2]>,
    learning_rate: LearningRate,
    seed: u64,
}

impl ArgminSpec {
    pub(crate) fn on(
        self,
        bounds: (f64, f64),
    ) -> Result<Box<dyn RegressionOracle<Context, f64>>, OracleSpecError> {
        Ok(match self.hidden {
            None => Box::new(ArgminDispersion::new(
                LinearArgmin::new(self.context_dim)?,
                bounds,
                self.learning_rate,
            )?),
            Some(hidden) => Box::new(ArgminDispersion::new(
                NetworkArgmin::with_hidden(self.context_dim, hidden, self.seed)?,
                bounds,
                self.learning_rate,
            )?),
        })
    }
}

/// Why there is no such oracle.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OracleSpecError {
    /// A number is not in its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// An argmin was asked for where actions are not numbers.
    #[error("the argmin oracle is for intervals: take linear or fourier for this action space")]
    NotAnInterval,
    /// Items without features.
    #[error("a catalogue needs an embedding for each item")]
    NoEmbeddings,
}
