//! What is in a saved model.

use std::path::PathBuf;

use egret::{AnyAction, Context, FieldKind, Item, Settings, Space, Vector, for_kind};
use serde::{Deserialize, Serialize};

use crate::decide::{ContextSource, contexts_of};
use crate::error::JobError;
use crate::saved_model::load_model;

/// Which model, and for which contexts its predictions are shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DescribeRequest {
    /// A saved model.
    pub model: PathBuf,
    /// Contexts to predict for; without them one in which every feature is missing, or 0.
    #[serde(default)]
    pub contexts: Option<ContextSource>,
    /// How many of the contexts are shown.
    #[serde(default = "few")]
    pub curves: usize,
}

fn few() -> usize {
    3
}

/// A model in words and numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelDescription {
    /// The action space.
    pub space: String,
    /// What outcomes are: predictions are in its units.
    pub objective: egret::Objective,
    /// Named features, and how each becomes numbers; none where contexts are plain numbers.
    pub features: Option<Vec<FeatureDescription>>,
    /// How many numbers a context has.
    pub context_dim: usize,
    /// What predicts outcomes.
    pub oracle: String,
    /// How it explores.
    pub settings: Settings,
    /// Batches learned.
    pub batches_learned: u64,
    /// Events learned.
    pub events_learned: u64,
    /// The root of the mean squared error of its predictions, in the units of the objective, if it knows it.
    pub error: Option<f64>,
    /// The first event number that it has not used.
    pub next_event: u64,
    /// The hash of the whole file.
    pub content_hash: String,
    /// What it predicts.
    pub curves: Vec<Curve>,
}

/// A named feature of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FeatureDescription {
    /// Its name.
    pub name: String,
    /// How it becomes numbers.
    pub kind: String,
}

/// What a model predicts for one context.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// The context.
    pub context: Context,
    /// The action with the best prediction.
    pub best: AnyAction,
    /// Its prediction.
    pub best_predicted: f64,
    /// (action, prediction) over an interval or the items; empty for vectors.
    pub points: Vec<(f64, f64)>,
    /// In a box, for each coordinate: (coordinate, prediction) from end to end, with the others as in the best action.
    pub along: Vec<Vec<(f64, f64)>>,
}

/// Actions of a curve.
const POINTS: usize = 65;

/// Describes a saved model.
pub fn describe(request: &DescribeRequest) -> Result<ModelDescription, JobError> {
    let model = load_model(&request.model)?;
    let spec = model.spec();
    let contexts = match &request.contexts {
        Some(source) => contexts_of(source, spec.features.as_ref(), request.curves)?,
        None => vec![match &spec.features {
            Some(_) => Context::named(egret::Features::new()),
            None => Context::dense(vec![0.0; spec.context_dim])
                .map_err(|error| JobError::Log(error.to_string()))?,
        }],
    };
    let actions = shown(&spec.space);
    let curve = |context: Context| -> Result<Curve, JobError> {
        let best = model.best(&context)?;
        let best_predicted = model.predict(&context, std::slice::from_ref(&best))?[0];
        let predicted = model.predict(&context, &actions)?;
        let sides = 0..sides_of(&spec.space).len();
        let along = sides
            .map(|side| {
                let actions = along(&spec.space, &best, side);
                let moved: Vec<AnyAction> =
                    actions.iter().map(|(_, action)| action.clone()).collect();
                let predicted = model.predict(&context, &moved)?;
                let places = actions.into_iter().map(|(place, _)| place);
                Ok(places.zip(predicted).collect())
            })
            .collect::<Result<_, JobError>>()?;
        let place = |action: &AnyAction| match action {
            AnyAction::Number(value) => *value,
            AnyAction::Item(Item(index)) => f64::from(*index),
            _ => f64::NAN,
        };
        Ok(Curve {
            points: actions.iter().map(place).zip(predicted).collect(),
            along,
            context,
            best,
            best_predicted,
        })
    };
    let learned =
        for_kind!(model.kind(), A => model.typed::<A>().map(|model| model.learner().learned()));
    let width = spec.objective.high() - spec.objective.low();
    let features = spec.features.as_ref().map(|schema| {
        let fields = schema.fields();
        let described = fields.map(|(name, field)| FeatureDescription {
            name: name.to_owned(),
            kind: words(&field.kind),
        });
        described.collect()
    });
    Ok(ModelDescription {
        space: spec.space.to_string(),
        objective: spec.objective,
        features,
        context_dim: spec.context_dim,
        oracle: spec.oracle.to_string(),
        settings: model.settings().clone(),
        batches_learned: model.batches_learned(),
        events_learned: learned.map_or(0, |learned| learned.events),
        error: learned.and_then(|learned| Some(learned.squared_error?.sqrt() * width)),
        next_event: model.next_event(),
        content_hash: model.content_hash(),
        curves: contexts.into_iter().map(curve).collect::<Result<_, _>>()?,
    })
}

/// The actions at which curves are shown: from end to end, or the first items.
fn shown(space: &Space) -> Vec<AnyAction> {
    match space {
        Space::Items { count, .. } => (0..(*count).min(POINTS))
            .map(|item| Item(item as u32).into())
            .collect(),
        Space::Steps { low, high, step } => {
            let steps = ((high - low) / step).round();
            let at = |part: usize| low + step * (steps * part as f64 / (POINTS - 1) as f64).round();
            (0..POINTS).map(|part| at(part).into()).collect()
        }
        Space::LogUniform { low, high } => {
            let at = |part: usize| {
                (low * (high / low).powf(part as f64 / (POINTS - 1) as f64)).clamp(*low, *high)
            };
            (0..POINTS).map(|part| at(part).into()).collect()
        }
        space => match space.bounds() {
            Some((low, high)) => {
                let at = |part: usize| {
                    (low + (high - low) * part as f64 / (POINTS - 1) as f64).clamp(low, high)
                };
                (0..POINTS).map(|part| at(part).into()).collect()
            }
            None => Vec::new(),
        },
    }
}

fn sides_of(space: &Space) -> &[(f64, f64)] {
    match space {
        Space::Box { sides } => sides,
        _ => &[],
    }
}

/// Actions of a box that differ from one in a single coordinate, each with that coordinate.
fn along(space: &Space, from: &AnyAction, side: usize) -> Vec<(f64, AnyAction)> {
    let AnyAction::Vector(from) = from else {
        return Vec::new();
    };
    let (low, high) = sides_of(space)[side];
    let at = |part: usize| {
        let place = low + (high - low) * part as f64 / (POINTS - 1) as f64;
        let mut moved = from.to_vec();
        moved[side] = place.clamp(low, high);
        let moved = Vector::new(&moved).ok()?;
        Some((place, moved.into()))
    };
    (0..POINTS).filter_map(at).collect()
}

fn words(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Number(egret::NumberScale::Plain) => "number".to_owned(),
        FieldKind::Number(_) => "number with heavy tails".to_owned(),
        FieldKind::Flag => "true or false".to_owned(),
        FieldKind::Category(categories) => {
            let json = serde_json::to_value(categories).unwrap_or_default();
            let values = json
                .get("values")
                .or(Some(&json))
                .and_then(|values| values.as_array())
                .map(Vec::len);
            values.map_or("category".to_owned(), |values| {
                format!("category of {values} values")
            })
        }
        FieldKind::Hashed { bits } => format!(
            "category of many values, hashed to {} columns",
            1_u64 << bits
        ),
        FieldKind::Tokens { bits } => format!("list of words, hashed to {} columns", 1_u64 << bits),
        FieldKind::Vector { len } => format!("{len} numbers"),
        FieldKind::Time => "time".to_owned(),
    }
}
