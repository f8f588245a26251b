/// A number was not where it has to be.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{name} is {value}, expected a number in {expected}")]
pub struct OutOfRange {
    /// Which quantity.
    pub name: &'static str,
    /// What it was.
    pub value: f64,
    /// Where it has to be.
    pub expected: &'static str,
}

impl OutOfRange {
    /// The error, unless `holds`. Write `holds` as what is allowed, so that NaN fails it.
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
