//! What a user waits for.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use egret::{EventRng, Stream};

fn random_numbers(criterion: &mut Criterion) {
    let mut out = [0.0; 1_024];
    let mut event = 0;
    criterion.bench_function("open a generator, fill 1024", |bencher| {
        bencher.iter(|| {
            event += 1;
            EventRng::new(7, event, Stream::Action).fill_unit(&mut out);
            black_box(&out);
        });
    });
}

criterion_group!(benches, random_numbers);
criterion_main!(benches);
