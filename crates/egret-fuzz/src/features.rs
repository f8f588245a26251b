use egret::{FeatureCounts, FeatureSchema, Features};

use crate::two_parts::two_parts;

/// A schema and a context, both as JSON: the context is encoded, or refused with a reason; the order of its fields does not count; and what
/// may be logged of it gives the same numbers.
pub fn features(bytes: &[u8]) {
    let (schema, context) = two_parts(bytes);
    let Ok(features) = serde_json::from_slice::<Features>(context) else {
        return;
    };
    let inferred = FeatureSchema::infer([&features]);
    let declared = serde_json::from_slice::<FeatureSchema>(schema);
    if let Ok(schema) = &declared {
        let written = serde_json::to_vec(schema).expect("what was read can be written");
        let again: FeatureSchema =
            serde_json::from_slice(&written).expect("what was written can be read");
        assert_eq!(again, *schema);
    }
    for schema in inferred.into_iter().chain(declared) {
        let encode = |features: &Features| schema.encode(features, &mut FeatureCounts::default());
        let x = encode(&features);
        match &x {
            Ok(x) => assert_eq!(x.dim(), schema.width()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        assert_eq!(encode(&schema.for_log(&features)), x);
        // Reading it as any JSON sorts the fields.
        let value = serde_json::from_slice::<serde_json::Value>(context);
        let sorted = value.and_then(serde_json::from_value::<Features>);
        if let Ok(sorted) = sorted {
            assert_eq!(encode(&sorted), x);
        }
    }
}
