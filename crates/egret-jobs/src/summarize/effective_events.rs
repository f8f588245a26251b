use egret::Density;
use egret_log::Record;
use serde::{Deserialize, Serialize};

/// How much a log can say about the uniform policy, all of it and block by block.
///
/// Of n decisions with densities p there are n · n / Σ ∫ dμ/p effective events: as many drawn from μ would say as much.
/// ∫ dμ/p is the mean of 1/p² over the actions that the decision could have played, so that Σ 1/p² estimates the sum without
/// bias; and it is at most `largestInverseDensity`, so that no luck can make the log say less than the bound. Point masses
/// are decisions that say nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct EffectiveEvents {
    /// The whole log.
    pub overall: EffectiveBlock,
    /// Up to ten blocks in the order of the log, all but the last of equal length.
    pub blocks: Vec<EffectiveBlock>,
}

/// What a block of the log can say about the uniform policy.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct EffectiveBlock {
    /// Records of the log until the end of the block.
    pub until: u64,
    /// Records of the block.
    pub events: u64,
    /// About how many of 1,000 decisions at random would say as much as 1,000 of these; none without densities.
    pub effective_per_1000: Option<f64>,
    /// It is at least this; none if a density has no bound beside it.
    pub at_least_per_1000: Option<f64>,
}

/// Counts effective events while records come, in memory that does not grow.
#[derive(Debug)]
pub(super) struct EffectiveTally {
    /// All but the last are full.
    blocks: Vec<Sums>,
    length: u64,
}

/// No block but the last is shorter: over fewer events the estimate is too rough to compare blocks.
const SHORTEST: u64 = 1_000;
const MOST_BLOCKS: usize = 10;

impl Default for EffectiveTally {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            length: SHORTEST,
        }
    }
}

impl EffectiveTally {
    pub(super) fn add(&mut self, record: &Record) {
        if self
            .blocks
            .last()
            .is_none_or(|last| last.events == self.length)
        {
            if self.blocks.len() == MOST_BLOCKS {
                let pairs = self.blocks.chunks(2);
                self.blocks = pairs.map(|pair| pair.iter().sum()).collect();
                self.length *= 2;
            }
            self.blocks.push(Sums::default());
        }
        let last = self.blocks.last_mut().expect("one was pushed");
        last.add(record);
    }

    pub(super) fn finish(&self) -> EffectiveEvents {
        let mut until = 0;
        let blocks = self.blocks.iter().map(|sums| {
            until += sums.events;
            sums.block(until)
        });
        let blocks = blocks.collect();
        let overall: Sums = self.blocks.iter().sum();
        EffectiveEvents {
            overall: overall.block(until),
            blocks,
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    events: u64,
    /// Those with a density.
    drawn: u64,
    /// Σ 1/p².
    inverse_squares: f64,
    /// Those with a bound on 1/p.
    bounded: u64,
    bounds: f64,
}

impl Sums {
    fn add(&mut self, record: &Record) {
        self.events += 1;
        let Some(density) = record.propensity().density().map(Density::get) else {
            return;
        };
        self.drawn += 1;
        self.inverse_squares += (1.0 / density) / density;
        if let Some(bound) = record.largest_inverse_density {
            self.bounded += 1;
            self.bounds += bound;
        }
    }

    fn block(&self, until: u64) -> EffectiveBlock {
        let share = self.drawn as f64 / self.events as f64;
        let per_1000 = |inverses: f64| 1_000.0 * share * self.drawn as f64 / inverses;
        let known = 0 < self.drawn;
        let at_least = (known && self.bounded == self.drawn).then(|| per_1000(self.bounds));
        // No density says more than the uniform one, and the estimate may be off to either side.
        let between = |estimate: f64| estimate.clamp(at_least.unwrap_or(0.0).min(1_000.0), 1_000.0);
        EffectiveBlock {
            until,
            events: self.events,
            effective_per_1000: known.then(|| between(per_1000(self.inverse_squares))),
            at_least_per_1000: at_least,
        }
    }
}

impl<'a> std::iter::Sum<&'a Sums> for Sums {
    fn sum<I: Iterator<Item = &'a Self>>(sums: I) -> Self {
        sums.fold(Self::default(), |a, b| Self {
            events: a.events + b.events,
            drawn: a.drawn + b.drawn,
            inverse_squares: a.inverse_squares + b.inverse_squares,
            bounded: a.bounded + b.bounded,
            bounds: a.bounds + b.bounds,
        })
    }
}
