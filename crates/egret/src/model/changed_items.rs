use std::ops::Range;

use crate::event::Item;
use crate::model::space::ItemCounts;
use crate::model::{
    DecisionLoop, EventLog, Items, ItemsError, Model, ModelError, ModelSpec, Space, SpaceError,
};

/// Catalogues change while a model learns.
impl Model<Item> {
    /// Adds items after those that there are; returns their numbers. They are predicted by their features from the first decision
    /// on, and what was learned stays. The catalogue has a new version, which decisions are logged with.
    ///
    /// They need the same features as the others, and weights if the others have some. It takes as long as making a model of all
    /// items. On an error nothing has changed.
    ///
    /// ```
    /// use egret::{Context, EmbeddingRows, Item, Items, Model};
    ///
    /// let songs = |rows: &[f64]| Items::new(EmbeddingRows::new(2, rows.to_vec())?);
    /// # let songs = |rows: &[f64]| songs(rows).map_err(Box::<dyn std::error::Error>::from);
    /// let mut model = Model::new(songs(&[0.1, 0.9, 0.4, 0.4])?, 1)?;
    /// assert_eq!(model.add_items(songs(&[0.8, 0.2])?)?, 2..3);
    /// model.remove_items(&[Item(0)])?;
    /// let decision = model.decide(1, &Context::dense(vec![0.5])?)?;
    /// assert!([Item(1), Item(2)].contains(&decision.action));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_items(&mut self, items: Items) -> Result<Range<u32>, ModelError> {
        let mut spec = self.spec.clone();
        let rows = spec.embeddings.as_mut().ok_or(ItemsError::NoFeatures)?;
        let first = rows.len() as u32;
        *rows = rows.followed_by(items.embeddings())?;
        let end = rows.len() as u32;
        let (_, weights, removed) = self.items();
        let weights = match (weights, items.weights()) {
            (Some(weights), Some(more)) => Some([weights, more].concat()),
            (None, None) => None,
            (_, more) => {
                let (found, expected) = (more.map_or(0, <[f64]>::len), items.embeddings().len());
                return Err(SpaceError::Weights { found, expected }.into());
            }
        };
        spec.space = Space::ChangedItems {
            count: end as usize,
            weights,
            version: self.next_version(),
            removed: removed.to_vec(),
        };
        self.become_model_of(spec)?;
        Ok(first..end)
    }

    /// Takes items out: no later decision plays them. The others keep their numbers, and losses of earlier decisions are still
    /// learned from. The catalogue has a new version. On an error nothing has changed.
    pub fn remove_items(&mut self, items: &[Item]) -> Result<(), ModelError> {
        let (count, weights, removed) = self.items();
        for item in items {
            if count <= item.0 as usize || removed.binary_search(item).is_ok() {
                return Err(ItemsError::NoItem { item: item.0 }.into());
            }
        }
        let mut removed = [removed, items].concat();
        removed.sort_unstable();
        removed.dedup();
        let mut spec = self.spec.clone();
        spec.space = Space::ChangedItems {
            count,
            weights: weights.map(<[f64]>::to_vec),
            version: self.next_version(),
            removed,
        };
        self.become_model_of(spec)
    }

    fn items(&self) -> ItemCounts<'_> {
        let items = self.spec.space.as_items();
        items.expect("a model over items is over a catalogue")
    }

    fn next_version(&self) -> u32 {
        match self.spec.space {
            Space::ChangedItems { version, .. } => version.saturating_add(1),
            _ => 1,
        }
    }

    /// Becomes a model of this description that has learned the same.
    fn become_model_of(&mut self, spec: ModelSpec) -> Result<(), ModelError> {
        let oracle = self.learner.oracle.save();
        let settings = self.learner.settings.clone();
        let mut changed = Self::trained(spec, settings, &oracle, self.learner.learned())?;
        // A list that got longer may be for an explorer without τ.
        if changed.learner.corral.taus() == self.learner.corral.taus() {
            changed.learner.corral = self.learner.corral.clone();
        }
        changed.next_event = self.next_event;
        changed.trained_rows = self.trained_rows.take();
        changed.counts = std::mem::take(&mut self.counts);
        *self = changed;
        Ok(())
    }
}

impl<L: EventLog<Item>> DecisionLoop<Item, L> {
    /// As [`Model::add_items`]. Decisions that wait are logged with the catalogue that they were made with.
    pub fn add_items(&mut self, items: Items) -> Result<Range<u32>, ModelError> {
        self.change(|model| model.add_items(items))
    }

    /// As [`Model::remove_items`]. Decisions that wait are logged with the catalogue that they were made with.
    pub fn remove_items(&mut self, items: &[Item]) -> Result<(), ModelError> {
        self.change(|model| model.remove_items(items))
    }
}
