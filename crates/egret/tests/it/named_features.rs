//! Models over named features and outcomes in the user's units.

use egret::{
    AnyModel, Context, ContextError, DecideError, DecisionLoop, EventRng, FeatureCounts,
    FeatureSchema, Features, FieldKind, Interval, LoopError, Loss, Model, ModelError, ModelSpec,
    Objective, Settings, Stream,
};

fn schema() -> FeatureSchema {
    FeatureSchema::new()
        .with("income", FieldKind::number())
        .and_then(|schema| schema.with("country", FieldKind::category(["AU", "NZ"])))
        .expect("a schema")
}

fn prices() -> Interval {
    Interval::new(5.0, 50.0).expect("in order")
}

fn customer(event: u64) -> Features {
    let mut rng = EventRng::new(3, event, Stream::World);
    let country = if rng.unit() < 0.5 { "AU" } else { "NZ" };
    Features::new()
        .with("income", (1e5 * rng.unit()).round())
        .with("country", country)
}

#[test]
fn names_give_the_bits_of_their_numbers() {
    let schema = schema();
    let mut named = Model::new(prices(), schema.clone()).expect("a model");
    let mut numbers = Model::new(prices(), schema.width()).expect("a model");
    let mut counts = FeatureCounts::default();
    for event in 0..40 {
        let features = customer(event);
        let dense = schema.encode(&features, &mut counts).expect("encoded");
        let x = Context::named(features);
        let decision = named.decide(event, &x).expect("an action");
        assert_eq!(Ok(&decision), numbers.decide(event, &dense).as_ref());
        named.replay(&x, &decision).expect("the same model");
        let loss = Loss::new((decision.action - 20.0).abs() / 45.0).expect("in range");
        named.learn(&decision.observed(&x, loss)).expect("good");
        numbers
            .learn(&decision.observed(&dense, loss))
            .expect("good");
        assert_eq!(named.best(&x), numbers.best(&dense));
        let actions = [5.0, 20.0, 50.0];
        assert_eq!(
            named.predict(&x, &actions),
            numbers.predict(&dense, &actions)
        );
        // Numbers as long as the schema is wide are taken as they are.
        assert_eq!(
            named.predict(&dense, &actions),
            numbers.predict(&dense, &actions)
        );
    }
    assert_eq!(
        (
            named.feature_counts().events,
            named.feature_counts().is_clean()
        ),
        (40, true)
    );
}

#[test]
fn a_saved_model_keeps_schema_and_objective() {
    let objective = Objective::maximize(0.0, 50.0).expect("a range");
    let mut model = Model::new(prices(), schema())
        .expect("a model")
        .with_objective(objective);
    let x: Context = customer(0).into();
    let decision = model.decide(0, &x).expect("an action");
    let loss = model.objective().loss(12.5).expect("in range");
    assert_eq!(loss.get(), 0.75);
    model.learn(&decision.observed(&x, loss)).expect("good");
    let loaded = AnyModel::load(&model.save()).expect("its own bytes");
    assert_eq!(loaded.spec(), model.spec());
    assert_eq!(loaded.spec().features.as_ref(), Some(&schema()));
    assert_eq!(loaded.spec().objective, objective);
    let loaded = loaded.typed::<f64>().expect("prices");
    assert_eq!(loaded.decide(1, &x), model.decide(1, &x));
}

#[test]
fn what_is_not_as_the_schema_says_is_counted_or_refused() {
    let mut model = Model::new(prices(), schema()).expect("a model");
    let odd: Context = Features::new()
        .with("country", "FR")
        .with("hat", true)
        .into();
    let decision = model.decide(0, &odd).expect("an action");
    let loss = Loss::new(0.5).expect("in range");
    model.learn(&decision.observed(&odd, loss)).expect("good");
    let counts = model.feature_counts();
    assert_eq!(counts.fields["income"].missing, 1);
    assert_eq!(counts.fields["country"].unseen, 1);
    assert_eq!(counts.unknown["hat"], 1);

    let strict = Model::new(prices(), schema().strict()).expect("a model");
    let refused = strict.decide(0, &odd).expect_err("strict");
    assert!(
        matches!(refused, DecideError::Context(ContextError::Feature(_))),
        "{refused}"
    );
    let numbers = Model::new(prices(), 2).expect("a model");
    let refused = numbers.decide(0, &odd).expect_err("no schema");
    assert_eq!(refused, DecideError::Context(ContextError::Named));
    let short = Context::dense(vec![1.0]).expect("finite");
    assert!(
        model.decide(0, &short).is_err(),
        "as long as the schema is wide"
    );
}

#[test]
fn a_schema_and_the_width_must_agree() {
    let mut spec = ModelSpec::new(prices(), schema());
    spec.context_dim += 1;
    let error = Model::<f64>::from_spec(spec, Settings::default()).expect_err("too long");
    assert!(matches!(error, ModelError::Width { .. }), "{error}");
}

#[test]
fn rewards_by_name_are_learned() {
    // What a customer would pay depends on the country alone.
    let objective = Objective::maximize(0.0, 50.0).expect("a range");
    let model = Model::new(prices(), schema())
        .expect("a model")
        .with_objective(objective);
    let mut shop = DecisionLoop::new(model);
    let (mut late, mut best) = (0.0, 0.0);
    for event in 0..3_000 {
        let features = customer(event);
        let nz = features.get("country") == Some(&"NZ".into());
        let limit = if nz { 40.0 } else { 20.0 };
        let price = shop.decide(features).expect("an action").action;
        let revenue = if price <= limit { price } else { 0.0 };
        shop.outcome(event, revenue).expect("in the range");
        if 2_000 <= event {
            late += revenue;
            best += limit;
        }
    }
    // One price for all earns at most 2/3 of the best.
    assert!(0.8 * best < late, "{late} of {best}");
    shop.decide(customer(3_000)).expect("an action");
    let error = shop.outcome(3_000, 51.0).expect_err("above the range");
    assert!(matches!(error, LoopError::Outcome(_)), "{error}");
    assert_eq!(shop.waiting(), 1, "it still waits for an outcome");
}
