use egret::{Item, Vector};

use crate::worlds::KnownWorld;

/// A world of any kind of action.
pub enum AnyWorld {
    /// On an interval.
    Interval(Box<dyn KnownWorld<f64>>),
    /// On a box.
    Box(Box<dyn KnownWorld<Vector>>),
    /// Among items.
    Items(Box<dyn KnownWorld<Item>>),
}

/// Runs generic code for a world: inside, `$world` is a `&dyn KnownWorld<A>`.
macro_rules! for_world {
    ($any:expr, $world:ident => $body:expr) => {
        match $any {
            AnyWorld::Interval($world) => {
                let $world = &**$world;
                $body
            }
            AnyWorld::Box($world) => {
                let $world = &**$world;
                $body
            }
            AnyWorld::Items($world) => {
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
