/// Okabe and Ito's colours, which the colour-blind can tell apart, without yellow, which is hard to see on paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// The first to look at.
    #[default]
    Blue,
    /// What it is compared with.
    Vermilion,
    /// A third.
    Green,
    /// A fourth.
    Purple,
    /// A fifth.
    Orange,
    /// A sixth.
    Sky,
    /// What is known, such as the truth.
    Black,
    /// What stands in the background.
    Grey,
}

impl Colour {
    const IN_ORDER: [Self; 7] = [
        Self::Blue,
        Self::Vermilion,
        Self::Green,
        Self::Purple,
        Self::Orange,
        Self::Sky,
        Self::Black,
    ];

    /// The colour of the series at this place, from 0; after the seventh they repeat.
    pub fn nth(place: usize) -> Self {
        Self::IN_ORDER[place % Self::IN_ORDER.len()]
    }

    /// Red, green and blue.
    pub const fn rgb(self) -> (u8, u8, u8) {
        match self {
            Self::Blue => (0, 114, 178),
            Self::Vermilion => (213, 94, 0),
            Self::Green => (0, 158, 115),
            Self::Purple => (204, 121, 167),
            Self::Orange => (230, 159, 0),
            Self::Sky => (86, 180, 233),
            Self::Black => (0, 0, 0),
            Self::Grey => (110, 110, 110),
        }
    }
}
