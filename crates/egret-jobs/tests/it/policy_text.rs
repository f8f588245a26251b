use std::path::PathBuf;

use egret_jobs::{Bandwidth, NamedPolicy, PointSource, PolicySpec};
use egret_offline::KernelShape;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

fn any_policy() -> impl Strategy<Value = PolicySpec> {
    // Commas part the options of the text form, and = parts key from value.
    let name = "[^,=]{1,12}";
    let file = || "[a-z0-9./ _-]{1,20}".prop_map(PathBuf::from);
    let number = || proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL;
    let point = prop_oneof![
        name.prop_map(PointSource::Action),
        file().prop_map(PointSource::Model),
    ];
    let shape = prop_oneof![Just(KernelShape::Epanechnikov), Just(KernelShape::Gaussian)];
    let bandwidth = prop_oneof![Just(Bandwidth::Slope), number().prop_map(Bandwidth::Width)];
    prop_oneof![
        Just(PolicySpec::Uniform),
        (any::<usize>(), file()).prop_map(|(m, model)| PolicySpec::BestOf { m, model }),
        (number(), file()).prop_map(|(tau, model)| PolicySpec::Smooth { tau, model }),
        (
            file(),
            prop::option::of(number()),
            prop::option::of(number())
        )
            .prop_map(|(model, tau, gamma)| PolicySpec::CappedIgw { model, tau, gamma }),
        (name, prop::option::of(name))
            .prop_map(|(density, predicted)| PolicySpec::Column { density, predicted }),
        (point, shape, bandwidth).prop_map(|(from, kernel, bandwidth)| PolicySpec::Kernel {
            from,
            kernel,
            bandwidth
        }),
    ]
}

fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn text_and_json_come_back(policy in any_policy()) {
        let text = policy.to_string();
        let again: PolicySpec = text.parse().expect("its own text");
        prop_assert_eq!(&again, &policy, "{}", text);
        prop_assert_eq!(again.to_string(), text);

        let json = serde_json::to_string(&policy).expect("in memory");
        let again: PolicySpec = serde_json::from_str(&json).expect("its own JSON");
        prop_assert_eq!(&again, &policy, "{}", json);
        prop_assert_eq!(serde_json::to_string(&again).expect("in memory"), json);
    }

    #[test]
    fn a_name_before_changes_nothing(policy in any_policy(), name in "[^=:]{1,12}") {
        let named: NamedPolicy = format!("{name}={policy}").parse().expect("a policy");
        prop_assert_eq!(named, NamedPolicy { name, policy });
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = text.parse::<NamedPolicy>();
        let _ = serde_json::from_str::<NamedPolicy>(&text);
    }

    #[test]
    fn no_near_miss_panics(
        name in prop::sample::select(vec!["uniform", "best-of", "smooth", "capped-igw", "column", "kernel", "a=kernel"]),
        options in "([:,=]|m|model|tau|action|bandwidth|kernel|predicted|slope|gaussian|[0-9.e-]{1,5}|\\PC){0,12}",
    ) {
        let text = format!("{name}{options}");
        if let Ok(policy) = text.parse::<PolicySpec>() {
            // NaN is not equal to itself; its text is.
            let shown = policy.to_string();
            let again = shown.parse::<PolicySpec>().expect("its own text");
            prop_assert_eq!(again.to_string(), shown);
        }
        let _ = text.parse::<NamedPolicy>();
    }
}
