//! A user's own normalizer: the learner asks it for β and plays by its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use egret::{
    CappedIgw, Certificate, CertifiedBy, Draws, Explorer, FunctionOracle, GammaSchedule, Igw,
    Interval, Learner, Normalization, Normalizer, SampleError, Settings,
};

/// Takes `draws` draws, ignores them, and always says the same β.
struct Always {
    beta: f64,
    draws: usize,
    asked: Arc<AtomicUsize>,
}

impl Normalizer for Always {
    fn certify(&self, igw: &Igw, draws: &mut Draws<'_>) -> Result<Certificate, SampleError> {
        assert_eq!((igw.tau(), igw.gamma()), (8.0, 50.0));
        draws.extend_to(self.draws)?;
        assert!(draws.seen().iter().all(|fhat| (0.0..=1.0).contains(fhat)));
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(Certificate {
            beta: self.beta,
            certified_by: CertifiedBy::FixedSample,
            kappa_inf: 3.5,
            delta: 0.125,
            draws: self.draws,
        })
    }
}

fn fhat(action: f64) -> f64 {
    (action - 0.3).abs()
}

fn learner(explorer: Explorer) -> Learner<(), f64> {
    let oracle = FunctionOracle::new(|_: &(), actions: &Vec<f64>, out: &mut [f64]| {
        for (out, &action) in out.iter_mut().zip(actions) {
            *out = fhat(action);
        }
    });
    let settings = Settings {
        explorer,
        taus: vec![8.0],
        gamma: GammaSchedule::constant(50.0).expect("positive"),
        ..Settings::paper()
    };
    let measure = Interval::new(0.0, 1.0).expect("in order");
    Learner::new(Box::new(measure), Box::new(oracle), settings).expect("good settings")
}

fn sampled() -> Explorer {
    Explorer::CappedIgw(CappedIgw {
        normalization: Normalization::Mixture,
        ..CappedIgw::default()
    })
}

/// The learner with an [`Always`], and how often it was asked.
fn with_beta(explorer: Explorer, beta: f64) -> (Learner<(), f64>, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let normalizer = Always {
        beta,
        draws: 17,
        asked: Arc::clone(&asked),
    };
    (
        learner(explorer).with_normalizer(Box::new(normalizer)),
        asked,
    )
}

#[test]
fn its_answer_is_played_and_logged() {
    // A β that no normalizer here would return: z is about 4.
    let beta = 0.25;
    let (own, asked) = with_beta(sampled(), beta);
    let usual = learner(sampled());
    let igw = Igw::new(8.0, 50.0).expect("in range");
    for event in 0..200 {
        let decision = own.decide(event, &()).expect("an action");
        let capped = decision.capped_igw.expect("CappedIGW");
        let certificate = &capped.certificate;
        assert_eq!((certificate.beta, certificate.draws), (beta, 17));
        assert_eq!((certificate.kappa_inf, certificate.delta), (3.5, 0.125));
        assert_eq!(certificate.certified_by, CertifiedBy::FixedSample);
        assert_eq!(capped.g, igw.weight(fhat(decision.action), beta));
        let usual = usual.decide(event, &()).expect("an action");
        let usual = usual.capped_igw.expect("CappedIGW");
        assert_ne!(usual.certificate.beta, beta);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 200);
}

#[test]
fn at_its_largest_beta_every_proposal_is_accepted() {
    // g(a; 1) = τ for every action: P = μ, whatever f̂ is.
    let (own, _) = with_beta(sampled(), 1.0);
    let mut mean = 0.0;
    for event in 0..2_000 {
        let decision = own.decide(event, &()).expect("an action");
        assert_eq!(decision.proposals, 1);
        assert_eq!(decision.propensity.density().expect("one").get(), 1.0);
        mean += decision.action / 2_000.0;
    }
    // The mean of 2,000 uniform numbers: five standard errors, a false alarm below 1e-6.
    assert!(
        (mean - 0.5).abs() < 5.0 / (12.0_f64 * 2_000.0).sqrt(),
        "{mean}"
    );
}

#[test]
fn explorers_without_beta_do_not_ask_it() {
    let (own, asked) = with_beta(Explorer::Uniform, 0.25);
    let usual = learner(Explorer::Uniform);
    for event in 0..20 {
        assert_eq!(own.decide(event, &()), usual.decide(event, &()));
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}
