use indicatif::{ProgressBar, ProgressStyle};

/// A bar of a thousand parts on the terminal, if there is one to look at.
pub fn reading(message: &'static str, hidden: bool) -> ProgressBar {
    if hidden {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {wide_bar} {percent}% {eta}")
        .expect("the template is well formed");
    ProgressBar::new(1_000)
        .with_style(style)
        .with_message(message)
}
