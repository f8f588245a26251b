use egret::{
    BettingMartingale, Certificate, DrawBuffers, Draws, EventRng, FixedSample, Igw,
    MixtureMartingale, Normalizer, Promise, Stream,
};

/// The needle of the paper's Table 1: f̂(a) = 1{2aτ > 1} on [0, 1].
fn needle(igw: &Igw, normalizer: &dyn Normalizer, seed: u64) -> Certificate {
    let tau = igw.tau();
    certify(normalizer, igw, seed, |a| {
        f64::from(u8::from(1.0 < 2.0 * a * tau))
    })
}

/// z(β) for the needle, for β ≤ 1.
fn needle_z(igw: &Igw, beta: f64) -> f64 {
    let (tau, gamma) = (igw.tau(), igw.gamma());
    (2.0 * tau - 1.0) / (2.0 + 2.0 * gamma * (1.0 - beta))
        + 1.0 / (2.0 + 2.0 * gamma * (-beta).max(0.0))
}

fn certify(
    normalizer: &dyn Normalizer,
    igw: &Igw,
    seed: u64,
    fhat: impl Fn(f64) -> f64,
) -> Certificate {
    let mut buffers = DrawBuffers::default();
    let mut rng = EventRng::new(seed, 0, Stream::Beta);
    let mut more = |n: usize, rng: &mut EventRng, out: &mut Vec<f64>| {
        out.extend((0..n).map(|_| fhat(rng.unit())));
        Ok(())
    };
    normalizer
        .certify(igw, &mut Draws::new(&mut buffers, &mut rng, &mut more))
        .expect("no NaN")
}

fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

#[test]
fn explore() {
    for (name, normalizer) in [
        (
            "betting",
            Box::new(BettingMartingale::new(
                Promise::new(24.0, 0.025).expect("ok"),
            )) as Box<dyn Normalizer>,
        ),
        (
            "mixture",
            Box::new(MixtureMartingale::new(
                Promise::new(24.0, 0.025).expect("ok"),
            )),
        ),
        (
            "fixed",
            Box::new(FixedSample::new(Promise::new(24.0, 0.025).expect("ok"))),
        ),
    ] {
        for (tau, gamma) in [(2.0, 16.0), (20.0, 304.0), (200.0, 6368.0)] {
            let igw = Igw::new(tau, gamma).expect("ok");
            let start = std::time::Instant::now();
            let (mut n, mut kappa): (Vec<f64>, Vec<f64>) = (0..200)
                .map(|seed| needle(&igw, normalizer.as_ref(), seed))
                .map(|c| (c.draws as f64, 1.0 / needle_z(&igw, c.beta)))
                .unzip();
            let bad = kappa.iter().filter(|&&k| k < 1.0 || k > 24.0).count();
            println!(
                "{name} {tau}: n {:?} mean {:.0} kappa {:.1?} bad {bad} {:.1} us",
                [0.025, 0.5, 0.975].map(|q| quantile(&mut n, q)),
                n.iter().sum::<f64>() / 200.0,
                [0.025, 0.5, 0.975].map(|q| quantile(&mut kappa, q)),
                start.elapsed().as_secs_f64() * 1e6 / 200.0
            );
        }
    }
    for (name, normalizer) in [
        (
            "betting",
            Box::new(BettingMartingale::new(Promise::new(4.0, 0.05).expect("ok")))
                as Box<dyn Normalizer>,
        ),
        (
            "mixture",
            Box::new(MixtureMartingale::new(Promise::new(4.0, 0.05).expect("ok"))),
        ),
        (
            "fixed",
            Box::new(FixedSample::new(Promise::new(4.0, 0.05).expect("ok"))),
        ),
    ] {
        for (tau, t) in [
            (6.0, 100.0),
            (6.0, 500.0),
            (62.0, 500.0),
            (252.0, 500.0),
            (252.0, 50.0),
            (1024.0, 500.0),
        ] {
            let igw = Igw::new(tau, 1.0 + 18.0 * t).expect("ok");
            let start = std::time::Instant::now();
            let n: Vec<f64> = (0..100)
                .map(|seed| {
                    let ah = EventRng::new(seed, 0, Stream::World).unit();
                    let c = certify(normalizer.as_ref(), &igw, seed, |a| {
                        let z = (a - ah).abs();
                        (0.05 + 0.8 * z + 0.3 * z * z.sqrt() + 0.2 * z * z).min(1.0)
                    });
                    c.draws as f64
                })
                .collect();
            println!(
                "{name} {tau} {t}: n/tau mean {:.1}  {:.1} us",
                n.iter().sum::<f64>() / 100.0 / tau,
                start.elapsed().as_secs_f64() * 1e6 / 100.0
            );
        }
    }
}
