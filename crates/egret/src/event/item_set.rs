use std::fmt;

use serde::{Deserialize, Serialize};

use crate::event::{Action, Item};

/// Distinct items of a catalogue. Their order says nothing: they are kept sorted.
///
/// ```
/// use egret::{Item, ItemSet};
///
/// let examples = ItemSet::new([Item(7), Item(2)])?;
/// assert_eq!(examples.items(), [Item(2), Item(7)]);
/// assert!(ItemSet::new([Item(7), Item(7)]).is_err());
/// # Ok::<(), egret::RepeatedItem>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<Item>", into = "Vec<Item>")]
pub struct ItemSet(Vec<Item>);

impl ItemSet {
    /// An error if an item comes twice.
    pub fn new(items: impl IntoIterator<Item = Item>) -> Result<Self, RepeatedItem> {
        let mut items: Vec<Item> = items.into_iter().collect();
        items.sort_unstable();
        match items.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(Self(items)),
            Some(pair) => Err(RepeatedItem { item: pair[0].0 }),
        }
    }

    /// The items, in increasing order.
    pub fn items(&self) -> &[Item] {
        &self.0
    }
}

impl Action for ItemSet {
    type Batch = Vec<Self>;
}

impl TryFrom<Vec<Item>> for ItemSet {
    type Error = RepeatedItem;

    fn try_from(items: Vec<Item>) -> Result<Self, RepeatedItem> {
        Self::new(items)
    }
}

impl From<ItemSet> for Vec<Item> {
    fn from(set: ItemSet) -> Self {
        set.0
    }
}

impl fmt::Display for ItemSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.0.iter().map(|item| item.0))
            .finish()
    }
}

/// An item comes twice in a set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the item {item} comes twice in a set")]
pub struct RepeatedItem {
    /// Which.
    pub item: u32,
}
