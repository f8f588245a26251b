//! Zoom on catalogues: exact densities whatever the search finds, within limits too, and items that are learned.

use std::convert::Infallible;

use egret::{
    Catalogue, Context, Decision, DecisionLoop, EmbeddingRows, EventLog, EventRng, Explorer,
    FunctionOracle, Item, ItemLimits, Items, Learner, Limits, Loss, Model, ModelSpec, Outcome,
    Settings, Space, Stream, Zoom,
};

const FEATURES: usize = 4;

/// How many decisions a mean of weights is taken over.
const EVENTS: u64 = 3_000;

fn zoom(uniform: f64) -> Settings {
    Settings {
        explorer: Explorer::Zoom(Zoom { uniform }),
        ..Settings::default()
    }
}

fn rows(items: usize) -> EmbeddingRows {
    let mut rng = EventRng::new(3, 0, Stream::World);
    let values = (0..items * FEATURES).map(|_| 2.0 * rng.unit() - 1.0);
    EmbeddingRows::new(FEATURES, values.collect()).expect("whole rows")
}

fn context(event: u64) -> Context {
    let mut x = vec![0.0; 2];
    EventRng::new(4, event, Stream::World).fill_unit(&mut x);
    Context::dense(x).expect("finite")
}

/// The probability of no click: the second feature of the context decides which items are good.
fn mean_loss(rows: &EmbeddingRows, x: &Context, item: Item) -> f64 {
    let x = x.as_dense().expect("dense");
    let e = &rows.values()[item.0 as usize * FEATURES..][..FEATURES];
    let score = f64::from(e[0]) + (2.0 * x[1] - 1.0) * 2.0 * f64::from(e[1]);
    1.0 / (1.0 + (3.0 * score - 2.0).exp())
}

/// A model that has learned from so many events.
fn trained(items: Items, rows: &EmbeddingRows, events: u64) -> Model<Item> {
    let mut model = Model::with_settings(items, 2, zoom(0.3)).expect("a model");
    for event in 0..events {
        let x = context(event);
        let decision = model.decide(event, &x).expect("an action");
        let mean = mean_loss(rows, &x, decision.action);
        let lost = EventRng::new(5, event, Stream::World).unit() < mean;
        let loss = Loss::new(f64::from(u8::from(lost))).expect("in range");
        model.learn(&decision.observed(&x, loss)).expect("learned");
    }
    model
}

/// Catalogues that are predicted whole, and that are searched, with weights and without.
fn models() -> Vec<(Model<Item>, Vec<f64>)> {
    let weights = |n: usize| -> Vec<f64> { (0..n).map(|i| 1.0 + (i % 7) as f64).collect() };
    let mut models = Vec::new();
    for n in [100, 20_000] {
        let rows = rows(n);
        let even = Items::new(rows.clone()).expect("items");
        let uneven = even.clone().with_weights(weights(n)).expect("weights");
        models.push((trained(even, &rows, 300), vec![1.0; n]));
        models.push((trained(uneven, &rows, 300), weights(n)));
    }
    models
}

/// (mean of h·w − E_μ[h]) in standard errors, over the items that `allowed` names.
fn score(
    decide: impl Fn(u64) -> Decision<Item>,
    (weights, allowed): (&[f64], impl Fn(usize) -> bool),
    h: impl Fn(Item) -> f64,
    factor: f64,
) -> f64 {
    let (mut mass, mut mean) = (0.0, 0.0);
    for (item, weight) in weights
        .iter()
        .enumerate()
        .filter(|(item, _)| allowed(*item))
    {
        mass += weight;
        mean += weight * h(Item(item as u32));
    }
    mean /= mass;
    let (mut sum, mut squares) = (0.0, 0.0);
    for event in 0..EVENTS {
        let decision = decide(event);
        let weight = decision.importance_weight(1.0).expect("a density");
        assert!(weight <= decision.largest_inverse_density.expect("a bound") + 1e-9);
        let error = h(decision.action) * factor * weight - mean;
        sum += error;
        squares += error * error;
    }
    sum / squares.sqrt()
}

#[test]
fn weights_are_unbiased_and_a_wrong_density_is_seen() {
    let moments: [fn(Item) -> f64; 3] = [
        |_| 1.0,
        |item| f64::from(item.0 % 10),
        |item| f64::from(u8::from(item.0 % 3 == 0)),
    ];
    let x = context(7);
    for (model, weights) in models() {
        let n = weights.len();
        let excluded: Vec<Item> = (0..n as u32).step_by(5).map(Item).collect();
        let without = Limits::Items(ItemLimits::Excluded(excluded));
        for h in moments {
            let decide = |event| model.decide(1_000 + event, &x).expect("an action");
            let found = score(decide, (&weights, |_| true), h, 1.0);
            // False alarm: 6e-7 each.
            assert!(found.abs() < 5.0, "{n}: {found}");
            // Power: densities 40% too large are seen through.
            let off = score(decide, (&weights, |_| true), h, 0.7);
            assert!(5.0 < off.abs(), "{n}: {off}");
        }
        let within = |event| model.decide_within(event, &x, &without).expect("an action");
        let found = score(within, (&weights, |item| item % 5 != 0), moments[1], 1.0);
        assert!(found.abs() < 5.0, "{n} within limits: {found}");
        let off = score(within, (&weights, |item| item % 5 != 0), moments[1], 0.7);
        assert!(5.0 < off.abs(), "{n} within limits: {off}");
    }
}

#[test]
fn densities_add_up_to_one_and_are_those_that_are_stated() {
    for (model, weights) in models() {
        let learner = model.learner();
        let n = weights.len();
        let only: Vec<Item> = (0..n as u32).skip(n - 90).map(Item).collect();
        let only = Limits::Items(ItemLimits::Allowed(only));
        for limits in [None, Some(&only)] {
            let x = context(9);
            let mut stated = Vec::new();
            for event in 0..40 {
                let decision = match limits {
                    None => model.decide(event, &x),
                    Some(limits) => model.decide_within(event, &x, limits),
                };
                let decision = decision.expect("an action");
                let density = decision.propensity.density().expect("a density").get();
                let known = learner.density(&x, &decision.action, limits);
                let known = known.expect("no error").expect("known");
                assert_eq!(known.to_bits(), density.to_bits());
                model.replay(&x, &decision).expect("the same bits");
                stated.push(decision);
            }
            let loaded = Model::<Item>::load(&model.save()).expect("what was saved");
            for decision in &stated {
                loaded
                    .replay(&x, decision)
                    .expect("the same bits after a load");
            }
            if n == 100 || limits.is_some() {
                let first = if limits.is_some() { n - 90 } else { 0 };
                let total: f64 = weights[first..].iter().sum();
                let mass = (first..n).map(|item| {
                    let density = learner.density(&x, &Item(item as u32), limits);
                    let density = density.expect("no error").expect("known");
                    assert!(
                        0.3 <= density,
                        "every item has a share of the 30% at random"
                    );
                    density * weights[item] / total
                });
                assert!((mass.sum::<f64>() - 1.0).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn good_items_are_found_among_many() {
    let rows = rows(20_000);
    let items = Items::new(rows.clone()).expect("items");
    let model = trained(items, &rows, 3_000);
    let (mut own, mut uniform) = (0.0, 0.0);
    for event in 0..400 {
        let x = context(10_000 + event);
        let decision = model.decide(10_000 + event, &x).expect("an action");
        own += mean_loss(&rows, &x, decision.action) / 400.0;
        uniform += mean_loss(&rows, &x, Item((event * 49) as u32)) / 400.0;
    }
    // 30% are at random.
    assert!(
        own < 0.3 * uniform + 0.1 && 0.7 < uniform,
        "{own} {uniform}"
    );
}

/// An oracle without features has no tree: the best of draws take its place.
#[test]
fn long_lists_without_features_have_densities_too() {
    let oracle = FunctionOracle::new(|(): &(), actions: &Vec<Item>, out: &mut [f64]| {
        for (out, item) in out.iter_mut().zip(actions) {
            *out = f64::from(item.0) / 30_000.0;
        }
    });
    let catalogue = Catalogue::uniform(30_000).expect("a length");
    let learner = Learner::new(Box::new(catalogue), Box::new(oracle), zoom(0.3)).expect("good");
    let decide = |event| learner.decide(event, &()).expect("an action");
    let weights = vec![1.0; 30_000];
    let found = score(decide, (&weights, |_| true), |item| f64::from(item.0), 1.0);
    assert!(found.abs() < 5.0, "{found}");
    let low = (0..200).filter(|&event| decide(event).action.0 < 3_000);
    assert!(100 < low.count());
}

#[test]
fn short_lists_are_for_capped_igw_and_longer_ones_for_zoom() {
    let explorer = |n: usize| {
        let items = Items::new(rows(n)).expect("items");
        Model::new(items, 2).expect("a model").learner().explorer()
    };
    assert!(matches!(explorer(64), Explorer::CappedIgw(_)));
    assert!(matches!(explorer(65), Explorer::Zoom(_)));
}

/// `items` rows, of which the first `from` are left out.
fn later_rows(from: usize, items: usize) -> Items {
    let values = rows(items).values()[from * FEATURES..].to_vec();
    let rows = EmbeddingRows::from_singles(FEATURES, values).expect("whole rows");
    Items::new(rows).expect("items")
}

#[test]
fn items_come_and_go_and_densities_stay_exact() {
    for (n, more) in [(100, 40), (60, 40), (12_000, 3_000)] {
        let all = n + more;
        let rows = rows(all);
        let mut model = trained(later_rows(0, n), &rows, 200);
        let x = context(1);
        let old: Vec<Item> = (0..n as u32).map(Item).collect();
        let before = model.predict(&x, &old).expect("predicted");
        let added = model
            .add_items(later_rows(n, all))
            .expect("of the same features");
        assert_eq!(added, n as u32..all as u32);
        assert_eq!(model.predict(&x, &old).expect("predicted"), before);
        // Every third item goes, some of the new ones too.
        let removed: Vec<Item> = (0..all as u32).step_by(3).map(Item).collect();
        model.remove_items(&removed).expect("all are there");
        assert!(matches!(
            model.spec().space,
            Space::ChangedItems { version: 2, .. }
        ));
        let loaded = Model::<Item>::load(&model.save()).expect("what was saved");
        let (mut new, mut sum, mut squares) = (0, 0.0, 0.0);
        for event in 0..3_000 {
            let decision = model.decide(event, &x).expect("an action");
            assert!(removed.binary_search(&decision.action).is_err());
            if event < 20 {
                loaded.replay(&x, &decision).expect("the same bits");
            }
            new += u32::from(added.contains(&decision.action.0));
            let weight = decision.importance_weight(1.0).expect("a density");
            sum += weight - 1.0;
            squares += (weight - 1.0) * (weight - 1.0);
        }
        // E[1/p] = 1: a false alarm has the probability 6e-7.
        assert!(
            f64::abs(sum) < 5.0 * f64::sqrt(squares),
            "{n}: {sum} {squares}"
        );
        assert!(25 < new, "{n}: {new} of the new items");
        // Losses of an item that is gone are still learned from.
        let late = Loss::new(1.0).expect("in range");
        let early = trained(later_rows(0, n), &rows, 0);
        let decision = (0..).map(|event| early.decide(event, &x).expect("an action"));
        let decision = decision
            .into_iter()
            .find(|decision| decision.action.0 % 3 == 0);
        let decision = decision.expect("one in three");
        model.learn(&decision.observed(&x, late)).expect("learned");
        assert!(model.predict(&x, &[decision.action]).is_ok());
        let again = model
            .remove_items(&[decision.action])
            .expect_err("it is gone");
        assert!(
            again.to_string().contains("is not in the catalogue"),
            "{again}"
        );
        let narrow = EmbeddingRows::new(2, vec![0.5; 4]).expect("two rows");
        let other = model.add_items(Items::new(narrow).expect("items"));
        assert!(
            other
                .expect_err("two numbers")
                .to_string()
                .contains("rows of 2 numbers")
        );
        let weighted = later_rows(n, all)
            .with_weights(vec![1.0; more])
            .expect("weights");
        assert!(model.add_items(weighted).is_err());
        let rest: Vec<Item> = (0..all as u32)
            .filter(|item| item % 3 != 0)
            .map(Item)
            .collect();
        assert!(model.remove_items(&rest).is_err(), "an item is left");
        assert!(model.decide(1, &x).is_ok());
    }
}

/// What the log says of the catalogue of each event.
#[derive(Default)]
struct Versions(Vec<(u64, u32)>);

impl EventLog<Item> for Versions {
    type Error = Infallible;

    fn append(
        &mut self,
        spec: &ModelSpec,
        _: &Context,
        decision: &Decision<Item>,
        _: Option<Outcome>,
    ) -> Result<(), Infallible> {
        let version = match spec.space {
            Space::ChangedItems { version, .. } => version,
            _ => 0,
        };
        self.0.push((decision.event, version));
        Ok(())
    }
}

#[test]
fn a_loop_logs_the_catalogue_that_an_event_was_decided_with() {
    let model = trained(later_rows(0, 100), &rows(100), 0);
    let mut songs = DecisionLoop::with_log(model, Versions::default());
    let first = songs.decide(context(0)).expect("an action").event;
    songs.add_items(later_rows(100, 150)).expect("added");
    let second = songs.decide(context(1)).expect("an action").event;
    songs.remove_items(&[Item(3)]).expect("it is there");
    let third = songs.decide(context(2)).expect("an action").event;
    for event in [third, first, second] {
        songs.outcome(event, 0.5).expect("a loss");
    }
    let (_, Versions(logged)) = songs.into_parts();
    assert_eq!(logged, [(third, 2), (first, 0), (second, 1)]);
}
