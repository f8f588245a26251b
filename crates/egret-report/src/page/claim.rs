use crate::escape::escape;

/// What was claimed, what was measured, and whether they agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// In the words of those who claim it, or near to them.
    pub claimed: String,
    /// With its numbers.
    pub measured: String,
    /// Whether they agree.
    pub verdict: ClaimVerdict,
    /// Why it is so; may be empty.
    pub why: String,
}

/// Whether what was measured agrees with what was claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// It does.
    Agrees,
    /// Some of it does.
    Partly,
    /// It does not.
    Differs,
    /// Nobody has looked.
    NotTested,
}

impl ClaimVerdict {
    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Partly => "partly",
            Self::Differs => "differs",
            Self::NotTested => "not tested",
        }
    }

    /// The word in its colour, with a sign that is told without it.
    pub(crate) fn html(self) -> String {
        let (class, sign) = match self {
            Self::Agrees => ("agrees", "✓"),
            Self::Partly => ("partly", "≈"),
            Self::Differs => ("differs", "✗"),
            Self::NotTested => ("not-tested", "–"),
        };
        let word = self.word();
        format!(
            "<strong class=\"verdict {class}\"><span aria-hidden=\"true\">{sign}</span> {word}</strong>"
        )
    }
}

impl Claim {
    /// As a list in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let word = self.verdict.word();
        format!(
            "\n- Claimed: {}\n- Measured: {}\n- Verdict: **{word}**. {}\n",
            self.claimed, self.measured, self.why
        )
    }

    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        let word = self.verdict.word();
        format!(
            "\nclaimed:  {}\nmeasured: {}\nverdict:  {word}. {}\n",
            self.claimed, self.measured, self.why
        )
    }

    pub(crate) fn html(&self) -> String {
        let mut why = String::new();
        if !self.why.is_empty() {
            why = format!(" <span>{}</span>", escape(&self.why));
        }
        format!(
            "<dl class=\"claim\">\n<dt>claimed</dt><dd>{}</dd>\n<dt>measured</dt><dd>{}</dd>\n\
             <dt>verdict</dt><dd>{}{why}</dd>\n</dl>\n",
            escape(&self.claimed),
            escape(&self.measured),
            self.verdict.html(),
        )
    }
}
