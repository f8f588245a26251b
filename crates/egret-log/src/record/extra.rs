/// A value of a column that egret does not know: another policy's density, a prediction, a label.
#[derive(Debug, Clone, PartialEq)]
pub enum Extra {
    /// A finite number.
    Number(f64),
    /// Text.
    Text(String),
}

impl Extra {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            Self::Text(_) => None,
        }
    }

    /// The text, if it is some.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Number(_) => None,
            Self::Text(text) => Some(text),
        }
    }
}

impl From<f64> for Extra {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Extra {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
