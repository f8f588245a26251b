use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use egret::{ShortText, ShortTextError};
use egret_log::nearest;
use egret_offline::KernelShape;
use serde::{Deserialize, Serialize};

use crate::onnx::is_onnx;

/// A policy to be evaluated, as data.
///
/// It has one JSON form and one short text form, which [`Display`](fmt::Display) writes and [`FromStr`] reads:
///
/// | text                                        | policy                                                      |
/// |---------------------------------------------|-------------------------------------------------------------|
/// | `uniform`                                   | any action, by the reference measure                        |
/// | `logged`                                    | the policy that made the log: what was earned, or lost      |
/// | `best-of:m=16,model=FILE`                   | the best of 16 draws by a saved model                       |
/// | `smooth:tau=32,model=FILE`                  | uniform over the best 1/32 of all actions by a saved model  |
/// | `capped-igw:model=FILE,tau=T,gamma=G`       | CappedIGW with a saved model, at other settings             |
/// | `column:NAME,predicted=NAME`                | densities dQ/dμ from a column, and E_q f̂ from another       |
/// | `kernel:action=NAME,bandwidth=H,kernel=gaussian` | an action in a column, smoothed                        |
/// | `kernel:model=FILE`                         | a model's best action, smoothed                             |
///
/// Where egret reads ONNX, a model may be such a file: one of predicted outcomes, or in a kernel one of actions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PolicySpec {
    /// Any action, by μ.
    Uniform,
    /// The policy that made the log: every weight is 1.
    Logged,
    /// The best of `m` draws of μ by a model's f̂.
    BestOf {
        /// How many are drawn.
        m: usize,
        /// The model.
        model: PathBuf,
    },
    /// Uniform over the best 1/τ of μ by a model's f̂.
    Smooth {
        /// Its cap on the density.
        tau: f64,
        /// The model.
        model: PathBuf,
    },
    /// CappedIGW with a model; settings that are absent are the model's.
    CappedIgw {
        /// The model.
        model: PathBuf,
        /// One τ in place of the grid.
        #[serde(default)]
        tau: Option<f64>,
        /// One γ in place of the schedule.
        #[serde(default)]
        gamma: Option<f64>,
    },
    /// Densities dQ/dμ from elsewhere.
    Column {
        /// The column with q(a).
        density: String,
        /// The column with E_q f̂(x, ·), for the estimators that use f̂.
        #[serde(default)]
        predicted: Option<String>,
    },
    /// A deterministic policy, smoothed.
    Kernel {
        /// Where its action comes from.
        from: PointSource,
        /// With what.
        #[serde(default = "epanechnikov")]
        kernel: KernelShape,
        /// How widely.
        #[serde(default)]
        bandwidth: Bandwidth,
    },
}

/// Where the action of a deterministic policy comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointSource {
    /// A column of the log.
    Action(String),
    /// Where a model's f̂ is least.
    Model(PathBuf),
}

/// The bandwidth of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bandwidth {
    /// Chosen by SLOPE (Su, Srinath and Krishnamurthy 2020).
    #[default]
    Slope,
    /// In units of the action.
    Width(f64),
}

/// A policy and what a report calls it: `NAME=POLICY` as text, the policy's own text where there is no name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedPolicy {
    /// What the report calls it.
    pub name: String,
    /// What it is.
    pub policy: PolicySpec,
}

/// The names that a policy's text can begin with.
const POLICIES: [&str; 7] = [
    "uniform",
    "logged",
    "best-of",
    "smooth",
    "capped-igw",
    "column",
    "kernel",
];

fn epanechnikov() -> KernelShape {
    KernelShape::Epanechnikov
}

impl PolicySpec {
    /// The model it needs.
    pub fn model(&self) -> Option<&PathBuf> {
        match self {
            Self::BestOf { model, .. }
            | Self::Smooth { model, .. }
            | Self::CappedIgw { model, .. }
            | Self::Kernel {
                from: PointSource::Model(model),
                ..
            } => Some(model),
            Self::Uniform | Self::Logged | Self::Column { .. } | Self::Kernel { .. } => None,
        }
    }

    /// The file whose predictions it goes by. What an ONNX file in a kernel gives is the action itself.
    pub(crate) fn predictor(&self) -> Option<&PathBuf> {
        let plays = |file: &&PathBuf| matches!(self, Self::Kernel { .. }) && is_onnx(file);
        self.model().filter(|file| !plays(file))
    }

    /// Whether its bandwidth is to be chosen from the log.
    pub fn chooses_bandwidth(&self) -> bool {
        let slope = Bandwidth::Slope;
        matches!(self, Self::Kernel { bandwidth, .. } if *bandwidth == slope)
    }
}

impl FromStr for PolicySpec {
    type Err = PolicyTextError;

    fn from_str(text: &str) -> Result<Self, PolicyTextError> {
        let mut text = ShortText::parse(text)?;
        let policy = match text.name() {
            "uniform" => Self::Uniform,
            "logged" => Self::Logged,
            "best-of" => Self::BestOf {
                m: text.required("m")?,
                model: text.required("model")?,
            },
            "smooth" => Self::Smooth {
                tau: text.required("tau")?,
                model: text.required("model")?,
            },
            "capped-igw" => Self::CappedIgw {
                model: text.required("model")?,
                tau: text.optional("tau")?,
                gamma: text.optional("gamma")?,
            },
            "column" => Self::Column {
                density: text.bare("the name of a column")?,
                predicted: text.optional("predicted")?,
            },
            "kernel" => kernel(&mut text)?,
            other => {
                return Err(PolicyTextError::Unknown {
                    name: other.to_owned(),
                    meant: nearest(other, POLICIES)
                        .map_or(String::new(), |meant| format!(" (did you mean {meant}?)")),
                });
            }
        };
        text.finish()?;
        Ok(policy)
    }
}

fn kernel(text: &mut ShortText<'_>) -> Result<PolicySpec, PolicyTextError> {
    Ok(PolicySpec::Kernel {
        from: match (text.optional("action")?, text.optional("model")?) {
            (Some(column), None) => PointSource::Action(column),
            (None, Some(model)) => PointSource::Model(model),
            _ => return Err(PolicyTextError::PointSource),
        },
        kernel: match text.optional::<String>("kernel")?.as_deref() {
            None | Some("epanechnikov") => KernelShape::Epanechnikov,
            Some("gaussian") => KernelShape::Gaussian,
            Some(other) => {
                return Err(PolicyTextError::Kernel {
                    found: other.to_owned(),
                });
            }
        },
        bandwidth: match text.optional::<String>("bandwidth")?.as_deref() {
            None | Some("slope") => Bandwidth::Slope,
            Some(width) => {
                Bandwidth::Width(width.parse().map_err(|_| PolicyTextError::Bandwidth {
                    found: width.to_owned(),
                })?)
            }
        },
    })
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Logged => f.write_str("logged"),
            Self::BestOf { m, model } => write!(f, "best-of:m={m},model={}", model.display()),
            Self::Smooth { tau, model } => {
                write!(f, "smooth:tau={tau},model={}", model.display())
            }
            Self::CappedIgw { model, tau, gamma } => {
                write!(f, "capped-igw:model={}", model.display())?;
                for (name, value) in [("tau", tau), ("gamma", gamma)] {
                    if let Some(value) = value {
                        write!(f, ",{name}={value}")?;
                    }
                }
                Ok(())
            }
            Self::Column { density, predicted } => {
                write!(f, "column:{density}")?;
                match predicted {
                    Some(predicted) => write!(f, ",predicted={predicted}"),
                    None => Ok(()),
                }
            }
            Self::Kernel {
                from,
                kernel,
                bandwidth,
            } => {
                match from {
                    PointSource::Action(column) => write!(f, "kernel:action={column}")?,
                    PointSource::Model(model) => write!(f, "kernel:model={}", model.display())?,
                }
                if *kernel == KernelShape::Gaussian {
                    f.write_str(",kernel=gaussian")?;
                }
                match bandwidth {
                    Bandwidth::Slope => Ok(()),
                    Bandwidth::Width(width) => write!(f, ",bandwidth={width}"),
                }
            }
        }
    }
}

impl FromStr for NamedPolicy {
    type Err = PolicyTextError;

    fn from_str(text: &str) -> Result<Self, PolicyTextError> {
        let options = text.find(':').unwrap_or(text.len());
        let (name, policy) = match text[..options].find('=') {
            Some(0) => return Err(PolicyTextError::EmptyName),
            Some(place) => (&text[..place], &text[place + 1..]),
            None => (text, text),
        };
        Ok(Self {
            name: name.to_owned(),
            policy: policy.parse()?,
        })
    }
}

/// Why a text names no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyTextError {
    /// No policy has this name.
    #[error(
        "no policy is called {name:?}{meant}; expected uniform, logged, best-of, smooth, capped-igw, column or kernel"
    )]
    Unknown {
        /// What was read.
        name: String,
        /// What may have been meant, if anything is near.
        meant: String,
    },
    /// The name before = is empty.
    #[error("the name before = is empty")]
    EmptyName,
    /// Its options are not right.
    #[error(transparent)]
    Options(#[from] ShortTextError),
    /// A kernel smooths one action.
    #[error("kernel needs either action=COLUMN or model=FILE")]
    PointSource,
    /// No kernel has this name.
    #[error("no kernel is called {found:?}, expected epanechnikov or gaussian")]
    Kernel {
        /// What was read.
        found: String,
    },
    /// Not a bandwidth.
    #[error("a bandwidth is slope or a number in units of the action, found {found:?}")]
    Bandwidth {
        /// What was read.
        found: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_come_back() {
        for text in [
            "uniform",
            "best-of:m=16,model=m.egret",
            "smooth:tau=32.5,model=a/b.egret",
            "capped-igw:model=m.egret",
            "capped-igw:model=m.egret,tau=8,gamma=100",
            "column:q",
            "column:q,predicted=e",
            "kernel:action=price",
            "kernel:action=price,kernel=gaussian,bandwidth=0.5",
            "kernel:model=m.egret",
        ] {
            let policy: PolicySpec = text.parse().expect("a policy");
            assert_eq!(policy.to_string(), text);
            let json = serde_json::to_string(&policy).expect("in memory");
            let again: PolicySpec = serde_json::from_str(&json).expect("its own");
            assert_eq!(again, policy, "{json}");
        }
        let json = r#"{"best_of": {"m": 16, "model": "m.egret"}}"#;
        let policy: PolicySpec = serde_json::from_str(json).expect("a policy");
        assert_eq!(policy.to_string(), "best-of:m=16,model=m.egret");
    }

    #[test]
    fn a_name_may_stand_before() {
        let named: NamedPolicy = "blind=uniform".parse().expect("a policy");
        assert_eq!(
            (named.name.as_str(), named.policy),
            ("blind", PolicySpec::Uniform)
        );
        let named: NamedPolicy = "best-of:m=2,model=m".parse().expect("a policy");
        assert_eq!(named.name, "best-of:m=2,model=m");
        let named: NamedPolicy = "a=best-of:m=2,model=m".parse().expect("a policy");
        assert_eq!(
            (named.name.as_str(), named.policy.model()),
            ("a", Some(&"m".into()))
        );
    }

    #[test]
    fn mistakes_say_what_to_do() {
        for (text, part) in [
            ("unifrom", "expected uniform, logged, best-of"),
            ("=uniform", "the name before = is empty"),
            ("best-of:m=16", "best-of needs model"),
            ("best-of:m=some,model=a", "cannot have m=some"),
            ("uniform:m=1", "\"m\""),
            ("column", "the name of a column"),
            (
                "kernel:kernel=gaussian",
                "either action=COLUMN or model=FILE",
            ),
            ("kernel:action=a,kernel=box", "epanechnikov or gaussian"),
            ("kernel:action=a,bandwidth=wide", "in units of the action"),
        ] {
            let error = text.parse::<NamedPolicy>().expect_err("no policy");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
