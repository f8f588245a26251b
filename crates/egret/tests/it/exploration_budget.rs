//! What the default leaves in its log: so many effective events in 1,000, at any time.

use egret::{Context, Decision, EventRng, Igw, Interval, Loss, Model, Observed, Settings, Stream};

/// x uniform on [0, 1]³, P(loss) = |a − .2 − .6·x₀|.
fn event(number: u64) -> (Context, f64, f64) {
    let mut rng = EventRng::new(31, number, Stream::World);
    let x = [rng.unit(), rng.unit(), rng.unit()];
    let best = 0.2 + 0.6 * x[0];
    (
        Context::dense(x.to_vec()).expect("finite"),
        best,
        rng.unit(),
    )
}

fn model(settings: Settings) -> Model<f64> {
    let actions = Interval::new(0.0, 1.0).expect("0 < 1");
    Model::with_settings(actions, 3, settings).expect("good settings")
}

/// ∫ dμ/p of a decision, over the 128 cells on which the default's f̂ is constant.
fn mean_inverse_density(model: &Model<f64>, x: &Context, decision: &Decision<f64>) -> f64 {
    let cells: Vec<f64> = (0..128).map(|n| (f64::from(n) + 0.5) / 128.0).collect();
    let parts = decision.capped_igw.expect("CappedIGW");
    let igw = Igw::new(decision.tau, decision.gamma).expect("in range");
    let density = |fhat: f64| {
        let g = igw.weight(fhat, parts.certificate.beta) / parts.z.value;
        (1.0 - parts.uniform) * g + parts.uniform
    };
    let fhats = model.predict(x, &cells).expect("in the interval");
    let mass: f64 = fhats.iter().map(|&fhat| density(fhat)).sum();
    assert!((mass / 128.0 - 1.0).abs() < 1e-9, "{mass}");
    fhats.iter().map(|&fhat| 1.0 / density(fhat)).sum::<f64>() / 128.0
}

/// Effective events in 1,000 over the last 500 of `events`.
fn effective(settings: Settings, events: u64) -> f64 {
    let mut model = model(settings);
    let mut inverses = 0.0;
    for number in 0..events {
        let (x, best, chance) = event(number);
        let decision = model.decide(number, &x).expect("an action");
        if events - 500 <= number {
            inverses += mean_inverse_density(&model, &x, &decision);
        }
        let loss = f64::from(u8::from(chance < (decision.action - best).abs()));
        let loss = Loss::new(loss).expect("0 or 1");
        model
            .learn(&decision.observed(&x, loss))
            .expect("a good event");
    }
    1_000.0 * 500.0 / inverses
}

#[test]
fn the_budget_is_kept_and_is_not_far_exceeded() {
    for (budget, most) in [(20.0, 40.0), (100.0, 150.0)] {
        let found = effective(Settings::default().with_effective_events(budget), 6_000);
        assert!(budget <= found && found < most, "{budget}: {found}");
    }
    assert_eq!(
        Settings::default(),
        Settings::default().with_effective_events(20.0)
    );
    // Without a budget little is left.
    let none = effective(Settings::default().with_effective_events(0.0), 6_000);
    assert!(none < 10.0, "{none}");
}

#[test]
fn gamma_counts_events_and_not_batches() {
    let gammas = [1, 500].map(|batch| {
        let mut model = model(Settings::default());
        let events: Vec<_> = (0..1_000).map(event).collect();
        let observed: Vec<Observed<&Context, f64>> = (events.iter())
            .map(|(x, best, chance)| Observed {
                x,
                action: *chance,
                limits: None,
                loss: Loss::new((chance - best).abs()).expect("in range"),
                propensity: egret::Propensity::Density(egret::Density::new(1.0).expect("positive")),
                tau: None,
            })
            .collect();
        for batch in observed.chunks(batch) {
            model.learn_batch(batch).expect("good events");
        }
        let (x, _, _) = event(2_000);
        model.decide(0, &x).expect("an action").gamma
    });
    assert_eq!(gammas[0], gammas[1]);
}

#[test]
fn budgets_that_are_none_are_refused() {
    for budget in [-1.0, 1_001.0, f64::NAN] {
        let settings = Settings::default().with_effective_events(budget);
        let actions = Interval::new(0.0, 1.0).expect("0 < 1");
        let error = Model::<f64>::with_settings(actions, 3, settings).err();
        let message = error.expect("no share").to_string();
        assert!(message.starts_with("uniform"), "{message}");
    }
}
