use egret::{
    AnyModel, Context, FeatureSchema, Features, FieldKind, Interval, Loss, ModelSpec, Settings,
};

/// A saved model: it is refused, or it decides and is saved as it was.
pub fn model_file(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    seal(&mut bytes);
    let Ok(model) = AnyModel::load(&bytes) else {
        return;
    };
    let x: Context = Features::new().with("age", 30).into();
    let _ = model.decide(0, &x);
    let _ = model.best(&x);
    let saved = model.save();
    let again = AnyModel::load(&saved).expect("what was saved can be loaded");
    assert_eq!(again.save(), saved);
}

/// Makes the checksums fit, of the learner's state inside and of the file: otherwise they would refuse all damage.
fn seal(bytes: &mut [u8]) {
    let state = bytes.windows(8).position(|window| window == b"egretmdl");
    let inner = state.map(|start| (start, bytes.len().saturating_sub(8)));
    let outer = (0, bytes.len().saturating_sub(4));
    for (start, end) in inner.into_iter().chain([outer]) {
        if start < end {
            let checksum = crc32fast::hash(&bytes[start..end]);
            bytes[end..end + 4].copy_from_slice(&checksum.to_le_bytes());
        }
    }
}

/// Small models that have learned a little: what libFuzzer may begin with.
pub fn saved_models() -> Vec<Vec<u8>> {
    let oracles = [
        "(latent-outcome:outcomes=2,hidden=2x2+curves:cosines=1,hidden=2x2+local:places=2)@4",
        "argmin+vaw",
        "fourier:features=8",
    ];
    let saved = oracles.map(|oracle| {
        let schema = FeatureSchema::new().with("age", FieldKind::number());
        let prices = Interval::new(5.0, 50.0).expect("in order");
        let spec = ModelSpec::new(prices, schema.expect("a schema"));
        let spec = spec.with_oracle(oracle.parse().expect("an oracle"));
        let mut model = AnyModel::from_spec(spec, Settings::default()).expect("a model");
        let x: Context = Features::new().with("age", 30).into();
        for event in 0..3 {
            let decision = model.decide(event, &x).expect("an action");
            let loss = Loss::new(0.5).expect("in range");
            model.learn(&decision.observed(&x, loss)).expect("learned");
        }
        model.save()
    });
    saved.into()
}
