/// A number is outside its allowed range.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{name} is {value}, expected a number in {expected}")]
pub struct OutOfRange {
    /// Which quantity.
    pub name: &'static str,
    /// What it was.
    pub value: f64,
    /// The allowed range.
    pub expected: &'static str,
}

impl OutOfRange {
    /// An error unless `holds`. State in `holds` what is allowed, so that NaN fails.
    pub fn unless(
        holds: bool,
        name: &'static str,
        value: f64,
        expected: &'static str,
    ) -> Result<(), Self> {
        if holds {
            Ok(())
        } else {
            Err(Self {
                name,
                value,
                expected,
            })
        }
    }
}
