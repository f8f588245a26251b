//! A catalogue of 500 films with embeddings: one is shown to each visitor, who clicks or does not.
//!
//!     cargo run --release -p egret --example items

use std::error::Error;

use egret::{
    DecisionLoop, EmbeddingRows, EventRng, FeatureSchema, Features, FieldKind, Items, Model,
    Objective, Stream,
};

const VISITS: u64 = 8_000;
const FILMS: usize = 500;
/// An embedding says how much of each a film is.
const GENRES: [&str; 3] = ["action", "romance", "documentary"];

fn main() -> Result<(), Box<dyn Error>> {
    let mut films = vec![0.0; FILMS * GENRES.len()];
    EventRng::new(3, VISITS, Stream::World).fill_unit(&mut films);
    let catalogue = Items::new(EmbeddingRows::new(GENRES.len(), films.clone())?)?;
    let schema = FeatureSchema::new()
        .with("likes", FieldKind::category(GENRES))?
        .with("age", FieldKind::number())?;
    let model = Model::new(catalogue, schema)?.with_objective(Objective::maximize(0.0, 1.0)?);
    let mut site = DecisionLoop::new(model);

    let (mut clicks, mut best, mut random) = (0.0, 0.0, 0.0);
    let mut popular = vec![0.0; FILMS];
    for visit in 0..VISITS {
        let mut chance = EventRng::new(3, visit, Stream::World);
        let taste = visit as usize % GENRES.len();
        let age = 18.0 + 60.0 * chance.unit();
        // What only the simulation knows: the genre counts, and the old dislike what is not theirs.
        let clicked = |film: usize| {
            let film = &films[film * GENRES.len()..][..GENRES.len()];
            let other = film.iter().sum::<f64>() - film[taste];
            (0.1 + 0.6 * film[taste] - 0.3 * other * age / 78.0).clamp(0.02, 0.7)
        };

        let visitor = Features::new()
            .with("likes", GENRES[taste])
            .with("age", age);
        let decision = site.decide(visitor)?;
        let film = decision.action.0 as usize;
        let click = chance.unit() < clicked(film);
        site.outcome(decision.event, f64::from(click))?;

        if VISITS - 2_000 <= visit {
            let rates: Vec<f64> = (0..FILMS).map(clicked).collect();
            clicks += rates[film] / 2_000.0;
            random += rates.iter().sum::<f64>() / FILMS as f64 / 2_000.0;
            best += rates.iter().copied().fold(0.0, f64::max) / 2_000.0;
            for (sum, rate) in popular.iter_mut().zip(&rates) {
                *sum += rate / 2_000.0;
            }
        }
    }
    let popular = popular.into_iter().fold(0.0, f64::max);
    println!("clicks per visit, last 2,000 visits: {clicks:.3}; films at random: {random:.3}");
    println!("the most popular film for all: {popular:.3}; the best film for each: {best:.3}");
    assert!(popular < clicks, "the site has not learned what to show");
    Ok(())
}
