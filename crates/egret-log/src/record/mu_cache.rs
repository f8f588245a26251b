use std::sync::Arc;

use egret::Space;

use crate::record::RowError;

/// The μ of the row before: rows mostly share one, which then is checked and kept once.
#[derive(Debug, Default)]
pub(crate) struct MuCache {
    text: String,
    last: Option<Arc<Space>>,
}

impl MuCache {
    /// The space, checked.
    pub(crate) fn intern(&mut self, space: Space) -> Result<Arc<Space>, RowError> {
        if let Some(last) = &self.last
            && **last == space
        {
            return Ok(last.clone());
        }
        space
            .check()
            .map_err(|error| RowError::Unreadable(format!("mu: {error}")))?;
        let space = Arc::new(space);
        self.text.clear();
        self.last = Some(space.clone());
        Ok(space)
    }

    /// The space that JSON text describes, checked.
    pub(crate) fn parse(&mut self, text: &str) -> Result<Arc<Space>, RowError> {
        if let Some(last) = &self.last
            && self.text == text
        {
            return Ok(last.clone());
        }
        let space = serde_json::from_str(text)
            .map_err(|error| RowError::Unreadable(format!("mu is no action space: {error}")))?;
        let space = self.intern(space)?;
        text.clone_into(&mut self.text);
        Ok(space)
    }
}
