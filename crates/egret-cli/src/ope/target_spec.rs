use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Error, Result, bail, ensure};
use egret_offline::KernelShape;

/// A policy to be valued, as `--target` names it.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTarget {
    /// What the report calls it.
    pub name: String,
    /// What it is.
    pub spec: TargetSpec,
}

/// Which policy, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum TargetSpec {
    /// Any action, by μ.
    Uniform,
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
    /// CappedIGW with a model at settings of one's own; those that are absent are the model's.
    CappedIgw {
        /// The model.
        model: PathBuf,
        /// One τ in place of the grid.
        tau: Option<f64>,
        /// One γ in place of the schedule.
        gamma: Option<f64>,
    },
    /// Densities dQ/dμ from elsewhere.
    Column {
        /// The column with q(a).
        density: String,
        /// The column with E_q f̂(x, ·), for the estimators that use f̂.
        baseline: Option<String>,
    },
    /// A deterministic policy, smoothed.
    Kernel {
        /// Where its action comes from.
        policy: PolicySource,
        /// With what.
        kernel: KernelShape,
        /// How widely.
        bandwidth: Bandwidth,
    },
}

impl TargetSpec {
    /// Whether its bandwidth is to be chosen from the log.
    pub fn chooses_bandwidth(&self) -> bool {
        matches!(
            self,
            Self::Kernel {
                bandwidth: Bandwidth::Slope,
                ..
            }
        )
    }
}

/// Where a deterministic policy's action comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum PolicySource {
    /// A column of the log.
    Column(String),
    /// Where a model's f̂ is least.
    Model(PathBuf),
}

/// The bandwidth of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bandwidth {
    /// Chosen by SLOPE.
    Slope,
    /// In units of the action.
    Width(f64),
}

/// What `--help` says of targets.
pub const TARGETS: &str = "\
Targets, each optionally as NAME=TARGET:
  uniform                            any action, by the reference measure
  best-of:m=16,model=FILE            the best of 16 draws by a saved model: as simple to serve as to value
  smooth:tau=32,model=FILE           uniform over the best 1/32 of all actions by a saved model
  capped-igw:model=FILE[,tau=T][,gamma=G]
                                     CappedIGW with a saved model, at other settings
  column:NAME[,baseline=NAME]        densities dQ/dmu from a column of the log, and E_q f-hat from another
  kernel:action=NAME[,bandwidth=H|slope][,kernel=epanechnikov|gaussian]
  kernel:model=FILE[,...]            a deterministic policy (a column of actions, or a model's best action), smoothed
                                     with a kernel that is renormalised at the ends: the value is that of the smoothed
                                     policy. slope, the default, is the rule of Su, Srinath and Krishnamurthy (2020)";

impl FromStr for NamedTarget {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let kind_ends = text.find(':').unwrap_or(text.len());
        let (name, rest) = match text[..kind_ends].split_once('=') {
            Some((name, _)) => (name.to_owned(), &text[name.len() + 1..]),
            None => (text.to_owned(), text),
        };
        ensure!(!name.is_empty(), "a target's name is empty in {text:?}");
        let (kind, options) = rest.split_once(':').unwrap_or((rest, ""));
        let mut options = Options::parse(kind, options)?;
        let spec = match kind {
            "uniform" => TargetSpec::Uniform,
            "best-of" => TargetSpec::BestOf {
                m: options.required("m")?,
                model: options.required("model")?,
            },
            "smooth" => TargetSpec::Smooth {
                tau: options.required("tau")?,
                model: options.required("model")?,
            },
            "capped-igw" => TargetSpec::CappedIgw {
                model: options.required("model")?,
                tau: options.optional("tau")?,
                gamma: options.optional("gamma")?,
            },
            "column" => TargetSpec::Column {
                density: options.bare()?,
                baseline: options.optional("baseline")?,
            },
            "kernel" => TargetSpec::Kernel {
                policy: match (options.optional("action")?, options.optional("model")?) {
                    (Some(column), None) => PolicySource::Column(column),
                    (None, Some(model)) => PolicySource::Model(model),
                    _ => bail!("kernel wants either action=COLUMN or model=FILE"),
                },
                kernel: match options.optional::<String>("kernel")?.as_deref() {
                    None | Some("epanechnikov") => KernelShape::Epanechnikov,
                    Some("gaussian") => KernelShape::Gaussian,
                    Some(other) => bail!("kernel={other}: expected epanechnikov or gaussian"),
                },
                bandwidth: match options.optional::<String>("bandwidth")?.as_deref() {
                    None | Some("slope") => Bandwidth::Slope,
                    Some(width) => Bandwidth::Width(number("bandwidth", width)?),
                },
            },
            other => bail!(
                "no target is called {other:?}: expected uniform, best-of, smooth, capped-igw, column or kernel"
            ),
        };
        options.all_used()?;
        Ok(Self { name, spec })
    }
}

/// `key=value` pairs after the kind, and at most one value without a key.
struct Options<'a> {
    kind: &'a str,
    bare: Option<&'a str>,
    pairs: BTreeMap<&'a str, &'a str>,
}

impl<'a> Options<'a> {
    fn parse(kind: &'a str, text: &'a str) -> Result<Self> {
        let mut options = Self {
            kind,
            bare: None,
            pairs: BTreeMap::new(),
        };
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some((key, value)) => {
                    let before = options.pairs.insert(key, value);
                    ensure!(before.is_none(), "{kind} is told {key} twice");
                }
                None => {
                    let before = options.bare.replace(part);
                    ensure!(
                        before.is_none(),
                        "{kind} does not know what to do with {part:?}"
                    );
                }
            }
        }
        Ok(options)
    }

    fn optional<T: FromStr>(&mut self, key: &str) -> Result<Option<T>> {
        self.pairs
            .remove(key)
            .map(|value| number(key, value))
            .transpose()
    }

    fn required<T: FromStr>(&mut self, key: &str) -> Result<T> {
        match self.optional(key)? {
            Some(value) => Ok(value),
            None => bail!("{} wants {key}=…, see `egret ope --help`", self.kind),
        }
    }

    fn bare<T: FromStr>(&mut self) -> Result<T> {
        match self.bare.take() {
            Some(value) => number(self.kind, value),
            None => bail!("{} wants a name, as in {0}:q", self.kind),
        }
    }

    fn all_used(&self) -> Result<()> {
        let left = self.pairs.keys().copied().chain(self.bare);
        let left: Vec<&str> = left.collect();
        ensure!(
            left.is_empty(),
            "{} does not know what to do with {}, see `egret ope --help`",
            self.kind,
            left.join(", ")
        );
        Ok(())
    }
}

fn number<T: FromStr>(key: &str, value: &str) -> Result<T> {
    match value.parse() {
        Ok(parsed) => Ok(parsed),
        Err(_) => bail!("{key}={value} is not a value that {key} can have"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> TargetSpec {
        text.parse::<NamedTarget>().expect("a target").spec
    }

    #[test]
    fn each_kind_is_read() {
        let model = PathBuf::from("a.egret");
        assert_eq!(spec("uniform"), TargetSpec::Uniform);
        assert_eq!(
            spec("best-of:m=16,model=a.egret"),
            TargetSpec::BestOf {
                m: 16,
                model: model.clone()
            }
        );
        assert_eq!(
            spec("capped-igw:model=a.egret,gamma=100"),
            TargetSpec::CappedIgw {
                model: model.clone(),
                tau: None,
                gamma: Some(100.0)
            }
        );
        assert_eq!(
            spec("column:q,baseline=q_fhat"),
            TargetSpec::Column {
                density: "q".into(),
                baseline: Some("q_fhat".into())
            }
        );
        assert_eq!(
            spec("kernel:model=a.egret,bandwidth=0.1,kernel=gaussian"),
            TargetSpec::Kernel {
                policy: PolicySource::Model(model),
                kernel: KernelShape::Gaussian,
                bandwidth: Bandwidth::Width(0.1)
            }
        );
    }

    #[test]
    fn a_target_can_have_a_name() {
        let named: NamedTarget = "today=smooth:tau=8,model=a=b.egret".parse().expect("one");
        assert_eq!(named.name, "today");
        let unnamed: NamedTarget = "best-of:m=2,model=a".parse().expect("one");
        assert_eq!(unnamed.name, "best-of:m=2,model=a");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("greedy", "no target is called"),
            ("best-of:model=a", "wants m="),
            ("best-of:m=x,model=a", "m=x is not"),
            ("uniform:m=3", "does not know what to do with m"),
            ("kernel:bandwidth=1", "either action=COLUMN or model=FILE"),
            ("column:", "wants a name"),
            ("best-of:m=2,m=3,model=a", "m twice"),
            ("=uniform", "name is empty"),
        ] {
            let error = text.parse::<NamedTarget>().expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
