/// A weighted list of items.
pub struct Catalogue;
