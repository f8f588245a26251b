use std::cell::Cell;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::event::{Action, Context, Item};
use crate::measure::LineMeasure;
use crate::numeric::OutOfRange;
use crate::oracle::{
    ActionFeatures, Aggregation, ArgminDispersion, Bilinear, CurveNetwork, CurveSettings,
    Forecaster, FourierRegression, FourierSettings, GrowError, LatentOutcome,
    LatentOutcomeSettings, LearningRate, LinearArgmin, LinearRegression, LocalRegression,
    LocalSettings, NetworkArgmin, OnQuantiles, PiecewiseConstant, QuadraticRegression,
    QuadraticSettings, RegressionOracle, ScalarFeatures, Scaling, combine::on_list::OnList,
    features::indicators::Indicators,
};

/// A regression oracle as data: kind and settings, nothing learned. It parses from a short text.
///
/// | variant             | short text            | actions             | predicts                                         |
/// |---------------------|-----------------------|---------------------|--------------------------------------------------|
/// | `Argmin`            | `argmin`              | interval            | the paper's: a linear best action, a curve around it |
/// |                     | `argmin:hidden=16x16` | interval            | the same, the best action from a network         |
/// | `LeastSquares`      | `ridge`, `vaw`        | any                 | linear in (x, a, x·a): ridge, or Vovk–Azoury–Warmuth |
/// | `Fourier`           | `fourier`             | any                 | linear in random Fourier features                |
/// | `LatentOutcome`     | `latent-outcome`      | interval            | a distribution over best actions, from a network |
/// | `Curves`            | `curves`              | any                 | a curve over actions, from a network             |
/// | `Local`             | `local`               | interval, list      | least squares around each of a few actions, of each item of a list |
/// | `Quadratic`         | `quadratic`           | any                 | least squares on squares and products of the action |
/// | `Aggregation`       | `a+b`                 | those of `a` and `b` | almost as well as the best of them (Vovk)       |
/// | `PiecewiseConstant` | `(…)@128`             | interval            | another as a step function of 128 cells, so κ = 1 |
///
/// ```
/// use egret::OracleSpec;
///
/// let oracle: OracleSpec = "(latent-outcome+curves:cosines=16,seed=1+local)@128".parse()?;
/// assert_eq!(oracle, OracleSpec::default_on_interval(0));
/// # Ok::<(), egret::OracleTextError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OracleSpec {
    /// [`ArgminDispersion`].
    Argmin {
        /// Widths of the network's two hidden layers; absent for the linear argmin.
        hidden: Option<[usize; 2]>,
        /// The learning rate of Adam.
        learning_rate: LearningRate,
        /// Seed of the network's starting weights.
        seed: u64,
    },
    /// [`LinearRegression`] on [`Bilinear`] features.
    LeastSquares {
        /// Ridge or Vovk–Azoury–Warmuth.
        forecaster: Forecaster,
        /// Strength of the ℓ₂ penalty.
        lambda: f64,
        /// Whether to add squares of the action's features.
        squares: bool,
    },
    /// [`FourierRegression`].
    Fourier {
        /// How many random features.
        features: usize,
        /// Inputs 1/scale apart have correlation 1/e.
        scale: f64,
        /// Seed of the random features.
        seed: u64,
    },
    /// [`Aggregation`] of several oracles.
    Aggregation(#[serde(deserialize_with = "one_deeper")] Vec<OracleSpec>),
    /// [`LatentOutcome`].
    LatentOutcome {
        /// How many outcomes.
        outcomes: usize,
        /// Widths of the network's two hidden layers.
        hidden: [usize; 2],
        /// Seed of the starting weights and of the choice of past events to learn again.
        seed: u64,
    },
    /// [`CurveNetwork`]; the action space decides how actions are scaled.
    Curves {
        /// How many cosines of the action.
        cosines: usize,
        /// Widths of the network's two hidden layers.
        hidden: [usize; 2],
        /// Seed of the starting weights and of the choice of past events to learn again.
        seed: u64,
    },
    /// [`PiecewiseConstant`] version of another oracle.
    PiecewiseConstant {
        /// How many cells.
        cells: usize,
        /// The oracle inside.
        #[serde(deserialize_with = "one_deeper")]
        of: Box<OracleSpec>,
    },
    /// [`LocalRegression`].
    Local {
        /// How many actions there is a regression around; on a list of items there is one for each, whatever this says.
        places: usize,
        /// How many events the regressions that forget remember.
        memory: f64,
    },
    /// [`QuadraticRegression`]; the action space decides how actions are scaled.
    Quadratic {
        /// How many events it remembers; all, if absent.
        memory: Option<f64>,
        /// How many random cosines of context and action.
        cosines: usize,
        /// Seed of the random cosines.
        seed: u64,
    },
}

/// The deepest nesting of oracles that is read from files and text: reading, building and saving all recurse, and no use
/// needs more than a few.
pub(crate) const DEEPEST: usize = 16;

thread_local! {
    /// Within how many oracles the one being read stands.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Reads what stands inside an oracle; an error where that is too deep, before the stack is used up.
fn one_deeper<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let depth = DEPTH.get();
    if depth == DEEPEST {
        return Err(D::Error::custom(format!(
            "oracles are nested more than {DEEPEST} deep"
        )));
    }
    DEPTH.set(depth + 1);
    let read = T::deserialize(deserializer);
    DEPTH.set(depth);
    read
}

/// Beyond so many items cosines take milliseconds.
const MOST_WITH_COSINES: usize = 1_000;

/// Beyond so many items of a list a network takes long.
const MOST_IN_A_NETWORK: usize = 64;

/// The most items of a list without features: there is a regression of each.
pub(crate) const MOST_LISTED: usize = 1_024;

/// Beyond so many coordinates of vectors it takes milliseconds.
const MOST_KNOBS: usize = 256;

impl OracleSpec {
    /// The paper's online oracle, for intervals.
    pub fn paper() -> Self {
        Self::Argmin {
            hidden: None,
            learning_rate: LearningRate::default(),
            seed: 0,
        }
    }

    /// The default on an interval: `(latent-outcome+curves:cosines=16+local)@128`.
    ///
    /// The aggregation of a [`LatentOutcome`], a [`CurveNetwork`] and a [`LocalRegression`], made [`PiecewiseConstant`] over
    /// 128 cells.
    pub fn default_on_interval(seed: u64) -> Self {
        let hidden = [32, 32];
        let outcomes = Self::LatentOutcome {
            outcomes: 32,
            hidden,
            seed,
        };
        let curves = Self::Curves {
            cosines: 16,
            hidden,
            seed: seed.wrapping_add(1),
        };
        let LocalSettings { places, memory, .. } = LocalSettings::default();
        let local = Self::Local { places, memory };
        Self::PiecewiseConstant {
            cells: 128,
            of: Box::new(Self::Aggregation(vec![outcomes, curves, local])),
        }
    }

    /// The default for so many items, with `action_dim` features each: the embedding.
    ///
    /// It is that [for vectors](Self::default_on_vectors); beyond 1,000 items `quadratic`, the same without cosines, so that
    /// thousands of items are predicted in a decision.
    pub fn default_on_features(items: usize, action_dim: usize, seed: u64) -> Self {
        match Self::default_on_vectors(action_dim, seed) {
            Self::Quadratic { memory, seed, .. } if MOST_WITH_COSINES < items => Self::Quadratic {
                memory,
                cosines: 0,
                seed,
            },
            default => default,
        }
    }

    /// The default for a list of so many items without features: `local+curves`, a regression of each item and a network.
    ///
    /// Beyond 64 items it is `local`, for a network with an output for each takes long.
    pub fn default_on_list(items: usize, seed: u64) -> Self {
        let LocalSettings { memory, .. } = LocalSettings::default();
        let local = Self::Local {
            places: items.max(2),
            memory,
        };
        if MOST_IN_A_NETWORK < items {
            return local;
        }
        let curves = Self::Curves {
            cosines: 1,
            hidden: [32, 32],
            seed,
        };
        Self::Aggregation(vec![local, curves])
    }

    /// The default for vectors of `action_dim` coordinates: `quadratic:cosines=64`, a [`QuadraticRegression`].
    ///
    /// Beyond 256 coordinates it is `curves`, for least squares takes the square of their number.
    pub fn default_on_vectors(action_dim: usize, seed: u64) -> Self {
        if MOST_KNOBS < action_dim {
            return Self::Curves {
                cosines: 32,
                hidden: [32, 32],
                seed,
            };
        }
        Self::Quadratic {
            memory: None,
            cosines: 64,
            seed,
        }
    }

    /// Builds the oracle for any actions with features, such as a space that [`Space`](crate::Space) cannot describe.
    ///
    /// Features are not scaled; keep them within [−1, 1]. Oracles for intervals are refused.
    pub fn over<A: Action, E>(
        &self,
        context_dim: usize,
        actions: &E,
    ) -> Result<Box<dyn RegressionOracle<Context, A>>, OracleSpecError>
    where
        E: ActionFeatures<A> + Clone + 'static,
    {
        let scaling = vec![Scaling::NONE; actions.dim()];
        self.over_scaled(context_dim, actions, &scaling)
    }

    /// As [`over`](Self::over), with the features of actions scaled first.
    pub(crate) fn over_scaled<A: Action, E>(
        &self,
        context_dim: usize,
        actions: &E,
        scaling: &[Scaling],
    ) -> Built<A>
    where
        E: ActionFeatures<A> + Clone + 'static,
    {
        self.build(context_dim, (actions, scaling), &|_| {
            Err(OracleSpecError::NotAnInterval)
        })
    }

    /// The same oracle with other starting weights: adds `seed` to every seed in it, wrapping around.
    ///
    /// Members of an aggregation with different seeds keep different seeds.
    ///
    /// ```
    /// use egret::OracleSpec;
    ///
    /// let oracle = OracleSpec::default_on_interval(3);
    /// assert_eq!(oracle.with_seed(4), OracleSpec::default_on_interval(7));
    /// ```
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut moved = self.clone();
        moved.move_seeds(seed);
        moved
    }

    fn move_seeds(&mut self, by: u64) {
        match self {
            Self::Argmin { seed, .. }
            | Self::Fourier { seed, .. }
            | Self::LatentOutcome { seed, .. }
            | Self::Curves { seed, .. }
            | Self::Quadratic { seed, .. } => *seed = seed.wrapping_add(by),
            Self::Aggregation(members) => {
                for member in members {
                    member.move_seeds(by);
                }
            }
            Self::PiecewiseConstant { of, .. } => of.move_seeds(by),
            Self::LeastSquares { .. } | Self::Local { .. } => {}
        }
    }

    /// Builds the oracle for contexts of `context_dim` features; `on_interval` builds the kinds that need an interval.
    fn build<A: Action, E>(
        &self,
        context_dim: usize,
        (actions, scaling): (&E, &[Scaling]),
        on_interval: &dyn Fn(&OracleSpec) -> Built<A>,
    ) -> Built<A>
    where
        E: ActionFeatures<A> + Clone + 'static,
    {
        Ok(match *self {
            Self::Argmin { .. }
            | Self::LatentOutcome { .. }
            | Self::Local { .. }
            | Self::PiecewiseConstant { .. } => on_interval(self)?,
            Self::LeastSquares {
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
                    .map(|member| member.build(context_dim, (actions, scaling), on_interval))
                    .collect::<Result<_, _>>()?;
                Box::new(Aggregation::new(members)?)
            }
            Self::Quadratic {
                memory,
                cosines,
                seed,
            } => Box::new(QuadraticRegression::new(
                actions.clone(),
                scaling.to_vec(),
                QuadraticSettings {
                    context_dim,
                    memory,
                    cosines,
                    seed,
                },
            )?),
            Self::Curves {
                cosines,
                hidden,
                seed,
            } => Box::new(CurveNetwork::new(
                actions.clone(),
                scaling.to_vec(),
                CurveSettings {
                    context_dim,
                    cosines,
                    hidden,
                    seed,
                },
            )?),
        })
    }

    /// Builds the oracle for an interval.
    pub(crate) fn on(&self, bounds: (f64, f64), context_dim: usize) -> Built<f64> {
        let (low, high) = bounds;
        let scaling = Scaling {
            shift: low,
            factor: 1.0 / (high - low),
        };
        self.build(context_dim, (&ScalarFeatures, &[scaling]), &|spec| {
            Ok(match *spec {
                Self::Argmin {
                    hidden: None,
                    learning_rate,
                    ..
                } => Box::new(ArgminDispersion::new(
                    LinearArgmin::new(context_dim)?,
                    bounds,
                    learning_rate,
                )?),
                Self::Argmin {
                    hidden: Some(hidden),
                    learning_rate,
                    seed,
                } => Box::new(ArgminDispersion::new(
                    NetworkArgmin::with_hidden(context_dim, hidden, seed)?,
                    bounds,
                    learning_rate,
                )?),
                Self::LatentOutcome {
                    outcomes,
                    hidden,
                    seed,
                } => Box::new(LatentOutcome::new(
                    bounds,
                    LatentOutcomeSettings {
                        context_dim,
                        outcomes,
                        hidden,
                        seed,
                    },
                )?),
                Self::Local { places, memory } => Box::new(LocalRegression::new(
                    bounds,
                    LocalSettings {
                        context_dim,
                        places,
                        memory,
                    },
                )?),
                Self::PiecewiseConstant { cells, ref of } => Box::new(PiecewiseConstant::new(
                    of.on(bounds, context_dim)?,
                    bounds,
                    cells,
                )?),
                // `build` handles these itself and never asks.
                Self::LeastSquares { .. }
                | Self::Fourier { .. }
                | Self::Aggregation(_)
                | Self::Quadratic { .. }
                | Self::Curves { .. } => return Err(OracleSpecError::NotAnInterval),
            })
        })
    }

    /// Builds the oracle for items without features.
    pub(crate) fn on_list(&self, count: usize, context_dim: usize) -> Built<Item> {
        let indicators = Indicators::new(count)?;
        let scaling = indicators.scaling();
        self.build(context_dim, (&indicators, &scaling), &|spec| {
            let Self::Local { memory, .. } = *spec else {
                return Err(OracleSpecError::NotAnInterval);
            };
            let places = count.max(2);
            let settings = LocalSettings {
                context_dim,
                places,
                memory,
            };
            let local = LocalRegression::on_list(settings)?;
            Ok(Box::new(OnList::new(count, Box::new(local))))
        })
    }

    /// Builds the oracle for a measure on a line: on [0, 1], for the quantiles of actions.
    pub(crate) fn on_quantiles(
        &self,
        line: Box<dyn LineMeasure>,
        context_dim: usize,
    ) -> Built<f64> {
        let mut spec = self.clone();
        spec.fit_cells(&*line)?;
        let inner = spec.on((0.0, 1.0), context_dim)?;
        Ok(Box::new(OnQuantiles::new(line, inner)))
    }

    /// Gives no cell less than a step, and refuses cells so narrow that rounding would move actions between them.
    fn fit_cells(&mut self, line: &dyn LineMeasure) -> Result<(), OutOfRange> {
        match self {
            Self::PiecewiseConstant { cells, of } => {
                match line.steps() {
                    Some(steps) => *cells = (*cells).min(steps.count() as usize).max(2),
                    None => check_cells(line, *cells)?,
                }
                of.fit_cells(line)
            }
            Self::Aggregation(members) => members
                .iter_mut()
                .try_for_each(|member| member.fit_cells(line)),
            _ => Ok(()),
        }
    }
}

/// With fewer than 1,024 numbers in a cell, rounding would move more than a thousandth of its actions into another.
fn check_cells(line: &dyn LineMeasure, cells: usize) -> Result<(), OutOfRange> {
    let cells = cells.clamp(2, 1 << 16);
    let mut edges: Vec<f64> = (0..=cells).map(|cell| cell as f64 / cells as f64).collect();
    line.quantiles(&mut edges);
    let width = |ends: &[f64]| ends[1] - ends[0];
    let numbers = edges.windows(2).map(|ends| {
        let largest = ends[0].abs().max(ends[1].abs());
        width(ends) / (largest - largest.next_down())
    });
    let least = numbers.fold(f64::INFINITY, f64::min);
    OutOfRange::unless(
        1024.0 <= least,
        "numbers in a cell of equal mass",
        least,
        "[1024, inf): choose fewer cells or a wider measure",
    )
}

type Built<A> = Result<Box<dyn RegressionOracle<Context, A>>, OracleSpecError>;

/// Why an oracle cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OracleSpecError {
    /// A number is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// An oracle for intervals was asked for on another action space.
    #[error(
        "argmin, latent-outcome and @CELLS need actions on an interval, local an interval or a list without features: choose ridge, \
         vaw, fourier, curves or quadratic for this action space"
    )]
    NotAnInterval,
    /// It cannot take the columns that a later version of the schema brought.
    #[error(transparent)]
    Grow(#[from] GrowError),
    /// Very many items without features, or sets of such.
    #[error(
        "sets of items, and catalogues of more than 1,024 items, need embeddings: one row of numbers for each item"
    )]
    NoEmbeddings,
    /// The space of mixed actions is no such space.
    #[error("an oracle over mixed actions needs a space of knobs")]
    NotKnobs,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind, those with seeds started from these.
    fn nested([argmin, fourier, outcomes, curves]: [u64; 4]) -> OracleSpec {
        let hidden = [4, 4];
        let linear = OracleSpec::LeastSquares {
            forecaster: Forecaster::Ridge,
            lambda: 1.0,
            squares: false,
        };
        let inside = OracleSpec::Aggregation(vec![
            OracleSpec::LatentOutcome {
                outcomes: 8,
                hidden,
                seed: outcomes,
            },
            OracleSpec::Curves {
                cosines: 4,
                hidden,
                seed: curves,
            },
        ]);
        OracleSpec::Aggregation(vec![
            OracleSpec::Argmin {
                hidden: Some(hidden),
                learning_rate: LearningRate::default(),
                seed: argmin,
            },
            linear,
            OracleSpec::Fourier {
                features: 8,
                scale: 1.0,
                seed: fourier,
            },
            OracleSpec::PiecewiseConstant {
                cells: 16,
                of: Box::new(inside),
            },
        ])
    }

    #[test]
    fn every_seed_is_moved_and_nothing_else() {
        let spec = nested([0, 5, 9, u64::MAX]);
        assert_eq!(spec.with_seed(0), spec);
        assert_eq!(spec.with_seed(2), nested([2, 7, 11, 1]));
        let saved = |spec: &OracleSpec| spec.on((0.0, 1.0), 2).expect("in range").save();
        assert_eq!(saved(&spec), saved(&spec.clone()));
        assert_ne!(saved(&spec), saved(&spec.with_seed(2)));
    }
}
