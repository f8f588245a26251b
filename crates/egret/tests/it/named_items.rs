//! Catalogues whose items have named features.

use egret::{
    AnyModel, Context, EventRng, FeatureSchema, Features, FieldKind, Item, Items, ItemsError, Loss,
    Model, Settings, Stream,
};

const GENRES: [&str; 5] = ["comedy", "drama", "horror", "noir", "western"];

fn item_schema() -> FeatureSchema {
    FeatureSchema::new()
        .with("genre", FieldKind::category(GENRES))
        .and_then(|schema| schema.with("price", FieldKind::number()))
        .expect("a schema")
}

fn user_schema() -> FeatureSchema {
    FeatureSchema::new()
        .with("genre", FieldKind::category(GENRES))
        .and_then(|schema| schema.with("age", FieldKind::number()))
        .expect("a schema")
}

/// 200 films, each with a genre and a price up to 20.
fn films() -> Vec<(usize, f64, Features)> {
    let film = |place: u64| {
        let mut rng = EventRng::new(11, place, Stream::World);
        let genre = (5.0 * rng.unit()) as usize;
        let price = (200.0 * rng.unit()).round() / 10.0;
        let features = Features::new()
            .with("genre", GENRES[genre])
            .with("price", price);
        (genre, price, features)
    };
    (0..200).map(film).collect()
}

/// The mean loss of the last third of the events, and what uniform play and the best film would cost there.
fn play(mut model: Model<Item>, films: &[(usize, f64, Features)]) -> [f64; 3] {
    let (events, mut sums) = (6_000, [0.0; 3]);
    let mut losses = vec![0.0; films.len()];
    for event in 0..events {
        let mut rng = EventRng::new(12, event, Stream::World);
        let (likes, age) = ((5.0 * rng.unit()) as usize, 20.0 + 50.0 * rng.unit());
        for (loss, (genre, price, _)) in losses.iter_mut().zip(films) {
            let other = f64::from(u8::from(*genre != likes));
            *loss = 0.6 * other + 0.4 * price / 20.0;
        }
        let x: Context = Features::new()
            .with("genre", GENRES[likes])
            .with("age", age.round())
            .into();
        let decision = model.decide(event, &x).expect("an item");
        let loss = losses[decision.action.0 as usize];
        let observed = decision.observed(&x, Loss::new(loss).expect("in range"));
        model.learn(&observed).expect("a good event");
        if 4_000 <= event {
            let uniform = losses.iter().sum::<f64>() / losses.len() as f64;
            let best = losses.iter().copied().fold(1.0, f64::min);
            for (sum, value) in sums.iter_mut().zip([loss, uniform, best]) {
                *sum += value / 2_000.0;
            }
        }
    }
    sums
}

/// The loss depends on whether user and film agree: neither the user's features nor the film's say it alone. The best
/// film for everybody costs 0.48 on average; uniform play 0.68.
#[test]
fn users_are_matched_with_items() {
    let films = films();
    let rows: Vec<Features> = films.iter().map(|film| film.2.clone()).collect();
    for seed in 0..2 {
        let items = Items::named(item_schema(), &rows).expect("items");
        let settings = Settings::default().with_seed(seed);
        let model = Model::with_settings(items, user_schema(), settings).expect("a model");
        let [own, uniform, best] = play(model, &films);
        assert!(
            own < best + 0.1 * (uniform - best),
            "{own} {uniform} {best}"
        );
    }
}

#[test]
fn the_schema_of_items_is_saved_with_the_model() {
    let rows: Vec<Features> = films().into_iter().map(|film| film.2).collect();
    let items = Items::named(item_schema(), &rows).expect("items");
    assert!(items.feature_counts().is_clean());
    assert_eq!(items.feature_counts().events, 200);
    let model = Model::new(items, user_schema()).expect("a model");
    let loaded = AnyModel::load(&model.save()).expect("its own bytes");
    assert_eq!(loaded.spec(), model.spec());
    let rows = loaded.spec().embeddings.as_ref().expect("items");
    assert_eq!(rows.schema(), Some(&item_schema()));
    assert_eq!((rows.len(), rows.dim()), (200, item_schema().width()));
}

#[test]
fn what_an_item_lacks_is_counted_or_refused() {
    let odd = [
        Features::new().with("genre", "opera").with("price", 3.5),
        Features::new().with("genre", "noir"),
    ];
    let items = Items::named(item_schema(), &odd).expect("items");
    let counts = items.feature_counts();
    assert_eq!(counts.fields["genre"].unseen, 1);
    assert_eq!(counts.fields["price"].missing, 1);
    let error = Items::named(item_schema().strict(), &odd).expect_err("strict");
    assert_eq!(
        error.to_string(),
        "item 0: the field genre has the category \"opera\", which the schema does not list"
    );
    assert!(matches!(
        Items::named(item_schema(), &[]),
        Err(ItemsError::Space(_))
    ));
}

/// Titles are text of as many values as there are items: a column for each would take the square of their number.
#[test]
fn wide_items_are_folded_or_refused() {
    let films: Vec<Features> = (0..2_000)
        .map(|n| {
            Features::new()
                .with("title", format!("film {n}"))
                .with("words", vec![format!("w{n}"), "the".to_owned()])
                .with("price", f64::from(n))
        })
        .collect();
    let items = Items::infer(&films).expect("items");
    assert!(items.feature_counts().is_clean());
    assert_eq!(items.embeddings().dim(), 2 + 64 + 64 + 1);
    let wide = FeatureSchema::new().with("title", FieldKind::hashed(12));
    let error = Items::named(wide.expect("a schema"), &films).expect_err("too wide");
    assert!(error.to_string().contains("fewer bits"), "{error}");
    let model = Model::new(items, 1).expect("a model");
    let x = Context::dense(vec![1.0]).expect("finite");
    assert!(model.decide(0, &x).is_ok());
}
