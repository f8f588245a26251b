//! A catalogue of 500 films: one is shown to each visitor, who clicks or does not. Films and visitors have named features.
//!
//!     cargo run --release -p egret --example items

use std::error::Error;

use egret::{DecisionLoop, EventRng, FeatureSchema, Features, Items, Model, Objective, Stream};

const VISITS: u64 = 8_000;
const FILMS: u64 = 500;
const GENRES: [&str; 3] = ["action", "romance", "documentary"];

struct Film {
    genre: &'static str,
    minutes: f64,
}

struct Visitor {
    likes: &'static str,
    evening: f64,
}

impl Visitor {
    fn new(chance: &mut EventRng) -> Self {
        Self {
            likes: one_of(chance),
            evening: 90.0 + 60.0 * chance.unit(),
        }
    }

    fn features(&self) -> Features {
        Features::new()
            .with("likes", self.likes)
            .with("evening", self.evening)
    }

    /// What only the simulation knows: the genre counts, and the film should fill the evening.
    fn click_rate(&self, film: &Film) -> f64 {
        let right = if film.genre == self.likes { 0.5 } else { 0.1 };
        right * (1.0 - (film.minutes - self.evening).abs() / 120.0).max(0.2)
    }
}

fn one_of(chance: &mut EventRng) -> &'static str {
    GENRES[(3.0 * chance.unit()) as usize]
}

fn main() -> Result<(), Box<dyn Error>> {
    let films: Vec<Film> = (0..FILMS)
        .map(|film| EventRng::new(3, VISITS + film, Stream::World))
        .map(|mut chance| Film {
            genre: one_of(&mut chance),
            minutes: 60.0 + 120.0 * chance.unit(),
        })
        .collect();
    let features = |film: &Film| {
        Features::new()
            .with("genre", film.genre)
            .with("minutes", film.minutes)
    };
    let catalogue: Vec<Features> = films.iter().map(features).collect();
    let before: Vec<Features> = (0..200)
        .map(|visit| Visitor::new(&mut EventRng::new(4, visit, Stream::World)).features())
        .collect();
    let model = Model::new(Items::infer(&catalogue)?, FeatureSchema::infer(&before)?)?
        .with_objective(Objective::maximize(0.0, 1.0)?);
    let mut site = DecisionLoop::new(model);

    let (mut clicks, mut best, mut random) = (0.0, 0.0, 0.0);
    for visit in 0..VISITS {
        let mut chance = EventRng::new(3, visit, Stream::World);
        let visitor = Visitor::new(&mut chance);
        let decision = site.decide(visitor.features())?;
        let shown = &films[decision.action.0 as usize];
        let click = chance.unit() < visitor.click_rate(shown);
        site.outcome(decision.event, f64::from(click))?;

        if VISITS - 2_000 <= visit {
            let rates = films.iter().map(|film| visitor.click_rate(film));
            clicks += visitor.click_rate(shown) / 2_000.0;
            random += rates.clone().sum::<f64>() / FILMS as f64 / 2_000.0;
            best += rates.fold(0.0, f64::max) / 2_000.0;
        }
    }
    println!("clicks per visit, last 2,000 visits: {clicks:.3}");
    println!("films at random: {random:.3}; the best film for each: {best:.3}");
    assert!(
        2.0 * random < clicks,
        "the site has not learned what to show"
    );
    Ok(())
}
