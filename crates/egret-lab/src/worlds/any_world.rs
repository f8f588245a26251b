use egret::{Item, ItemSet, MixedAction, Vector};

use crate::worlds::KnownWorld;

/// A world of any kind of action.
pub enum AnyWorld {
    /// On an interval.
    Interval(Box<dyn KnownWorld<f64>>),
    /// On a box, a simplex or a sphere.
    Vectors(Box<dyn KnownWorld<Vector>>),
    /// Among items.
    Items(Box<dyn KnownWorld<Item>>),
    /// Of knobs with steps and categories among them.
    Mixed(Box<dyn KnownWorld<MixedAction>>),
    /// Of sets of items.
    Sets(Box<dyn KnownWorld<ItemSet>>),
}

/// Runs generic code for a world: inside, `$world` is a `&dyn KnownWorld<A>`.
macro_rules! for_world {
    ($any:expr, $world:ident => $body:expr) => {
        match $any {
            AnyWorld::Interval($world) => {
                let $world = &**$world;
                $body
            }
            AnyWorld::Vectors($world) => {
                let $world = &**$world;
                $body
            }
            AnyWorld::Items($world) => {
                let $world = &**$world;
                $body
            }
            AnyWorld::Mixed($world) => {
                let $world = &**$world;
                $body
            }
            AnyWorld::Sets($world) => {
                let $world = &**$world;
                $body
            }
        }
    };
}
pub(super) use for_world;

impl AnyWorld {
    /// The name shown in tables.
    pub fn name(&self) -> &str {
        for_world!(self, world => world.name())
    }

    /// The mean loss in words and a formula.
    pub fn about(&self) -> String {
        for_world!(self, world => world.about())
    }
}
