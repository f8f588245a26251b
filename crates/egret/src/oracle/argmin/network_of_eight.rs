//! A network argmin, forward and backward, for eight dense contexts at once. The bits are the same as one by one, but
//! each weight is loaded once for all eight.
//!
//! Forward, and for the derivatives of hidden units, a vector holds one number of each of the eight contexts, so no layer
//! width leaves a remainder. For the gradient a vector holds eight weights of one row, since contexts are added in order.

use crate::numeric::lanes::{LANES, tree};
use crate::oracle::argmin::network::{rectified, slope};

/// How many contexts there are.
pub(crate) const EIGHT: usize = 8;

/// One number of each of the eight.
type Lanes = [f64; EIGHT];

/// Widths of the input and of both hidden layers.
#[derive(Clone, Copy)]
pub(crate) struct Widths {
    pub(crate) dim: usize,
    pub(crate) first: usize,
    pub(crate) second: usize,
}

impl Widths {
    /// The length of the scratch space that forward and backward share.
    pub(crate) fn scratch(self) -> usize {
        let lanes = self.dim + 2 * (self.first + self.second);
        let rows = padded(self.first) + padded(self.second);
        EIGHT * (lanes + rows)
    }

    /// Scratch space cut into its parts.
    fn parts(self, scratch: &mut [f64]) -> Parts<'_> {
        let mut rest = &mut scratch.as_chunks_mut::<EIGHT>().0[..];
        let mut take = |count: usize| {
            let (part, more) = std::mem::take(&mut rest).split_at_mut(count);
            rest = more;
            part
        };
        Parts {
            x: take(self.dim),
            h1: take(self.first),
            h2: take(self.second),
            d1: take(self.first),
            d2: take(self.second),
            rows1: take(padded(self.first)),
            rows2: take(padded(self.second)),
        }
    }
}

fn padded(width: usize) -> usize {
    width.next_multiple_of(LANES)
}

struct Parts<'a> {
    x: &'a mut [Lanes],
    h1: &'a mut [Lanes],
    h2: &'a mut [Lanes],
    d1: &'a mut [Lanes],
    d2: &'a mut [Lanes],
    /// d1 and d2 transposed: for each eight units, eight examples of eight numbers.
    rows1: &'a mut [Lanes],
    rows2: &'a mut [Lanes],
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub(crate) fn forward(
    widths: Widths,
    parameters: &[f64],
    xs: [&[f64]; EIGHT],
    scratch: &mut [f64],
) -> Lanes {
    let Widths { dim, first, second } = widths;
    let Parts { x, h1, h2, .. } = widths.parts(scratch);
    let (b1, rest) = parameters.split_at(first);
    let (w1, rest) = rest.split_at(dim * first);
    let (b2, rest) = rest.split_at(second);
    let (w2, rest) = rest.split_at(first * second);
    let (&b3, w3) = rest.split_first().expect("the last layer has a bias");

    for (lane, values) in xs.iter().enumerate() {
        for (x, &value) in x.iter_mut().zip(*values) {
            x[lane] = value;
        }
    }
    layer(b1, w1, x, h1);
    layer(b2, w2, h1, h2);
    let mut out = dot(h2, w3);
    for sum in &mut out {
        *sum += b3;
    }
    out
}

/// out ← ϕ(b + W in), each sum in the order of its inputs.
#[inline(always)]
fn layer(b: &[f64], w: &[f64], inputs: &[Lanes], out: &mut [Lanes]) {
    let width = out.len();
    let mut unit = 0;
    while unit + 8 <= width {
        units::<8>(unit, b, w, inputs, out);
        unit += 8;
    }
    if unit + 4 <= width {
        units::<4>(unit, b, w, inputs, out);
        unit += 4;
    }
    if unit + 2 <= width {
        units::<2>(unit, b, w, inputs, out);
        unit += 2;
    }
    if unit < width {
        units::<1>(unit, b, w, inputs, out);
    }
}

/// N neighbouring units of a layer, from `unit` on, in registers from the first input to the last.
#[inline(always)]
fn units<const N: usize>(unit: usize, b: &[f64], w: &[f64], inputs: &[Lanes], out: &mut [Lanes]) {
    let width = out.len();
    let start: &[f64; N] = b[unit..].first_chunk().expect("as many units are left");
    let mut sums = [*start; EIGHT];
    for (input, row) in inputs.iter().zip(w.chunks_exact(width)) {
        let weights: &[f64; N] = row[unit..].first_chunk().expect("as many units are left");
        for lane in 0..EIGHT {
            for place in 0..N {
                sums[lane][place] += input[lane] * weights[place];
            }
        }
    }
    for (place, out) in out[unit..][..N].iter_mut().enumerate() {
        for lane in 0..EIGHT {
            out[lane] = rectified(sums[lane][place]);
        }
    }
}

/// Σ wᵢ hᵢ for each of the eight, in the order of [`lanes::dot`](crate::lanes::dot).
#[inline(always)]
fn dot(h: &[Lanes], w: &[f64]) -> Lanes {
    let sums: [Lanes; LANES] = [
        every_eighth(h, w, 0),
        every_eighth(h, w, 1),
        every_eighth(h, w, 2),
        every_eighth(h, w, 3),
        every_eighth(h, w, 4),
        every_eighth(h, w, 5),
        every_eighth(h, w, 6),
        every_eighth(h, w, 7),
    ];
    let mut out = [0.0; EIGHT];
    for (lane, out) in out.iter_mut().enumerate() {
        *out = tree(sums.map(|sums| sums[lane]));
    }
    out
}

#[inline(always)]
fn every_eighth(h: &[Lanes], w: &[f64], place: usize) -> Lanes {
    let mut sum = [0.0; EIGHT];
    let mut unit = place;
    while unit < h.len() {
        let (h, w) = (&h[unit], w[unit]);
        for lane in 0..EIGHT {
            sum[lane] += h[lane] * w;
        }
        unit += LANES;
    }
    sum
}

#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub(crate) fn backward(
    widths: Widths,
    parameters: &[f64],
    dy: Lanes,
    scratch: &mut [f64],
    gradient: &mut [f64],
) {
    let Widths { dim, first, second } = widths;
    let parts = widths.parts(scratch);
    let (_, rest) = parameters.split_at(first + dim * first + second);
    let (w2, rest) = rest.split_at(first * second);
    let w3 = &rest[1..];
    let (g_b1, rest) = gradient.split_at_mut(first);
    let (g_w1, rest) = rest.split_at_mut(dim * first);
    let (g_b2, rest) = rest.split_at_mut(second);
    let (g_w2, g_w3) = rest.split_at_mut(first * second);
    let (g_b3, g_w3) = g_w3.split_first_mut().expect("the last layer has a bias");

    for dy in dy {
        *g_b3 += dy;
    }
    for (g, h) in g_w3.iter_mut().zip(&*parts.h2) {
        for lane in 0..EIGHT {
            *g += dy[lane] * h[lane];
        }
    }
    for ((d, &w), h) in parts.d2.iter_mut().zip(w3).zip(&*parts.h2) {
        for lane in 0..EIGHT {
            d[lane] = dy[lane] * w * slope(h[lane]);
        }
    }
    turn(parts.d2, parts.rows2);
    add_eight(g_b2, &[1.0; EIGHT], parts.rows2);
    for (h, g_row) in parts.h1.iter().zip(g_w2.chunks_exact_mut(second)) {
        add_eight(g_row, h, parts.rows2);
    }
    let hidden = parts.d1.iter_mut().zip(&*parts.h1);
    for ((d, h), row) in hidden.zip(w2.chunks_exact(second)) {
        *d = dot(parts.d2, row);
        for lane in 0..EIGHT {
            d[lane] *= slope(h[lane]);
        }
    }
    turn(parts.d1, parts.rows1);
    add_eight(g_b1, &[1.0; EIGHT], parts.rows1);
    for (x, g_row) in parts.x.iter().zip(g_w1.chunks_exact_mut(first)) {
        add_eight(g_row, x, parts.rows1);
    }
}

/// From one vector for each unit to one for each example and each eight units.
#[inline(always)]
fn turn(units: &[Lanes], rows: &mut [Lanes]) {
    for (units, rows) in units.chunks(LANES).zip(rows.as_chunks_mut::<EIGHT>().0) {
        for (place, unit) in units.iter().enumerate() {
            for lane in 0..EIGHT {
                rows[lane][place] = unit[lane];
            }
        }
    }
}

/// sum ← sum + scale₀ · row₀ + … + scale₇ · row₇, added in this order.
#[inline(always)]
fn add_eight(sum: &mut [f64], scales: &Lanes, rows: &[Lanes]) {
    let rows = rows.as_chunks::<EIGHT>().0;
    let (chunks, rest) = sum.as_chunks_mut::<LANES>();
    for (sum, rows) in chunks.iter_mut().zip(rows) {
        add_places(sum, 0, scales, rows);
    }
    let Some(rows) = rows.get(chunks.len()) else {
        return;
    };
    let (fours, rest) = rest.as_chunks_mut::<4>();
    let (twos, ones) = rest.as_chunks_mut::<2>();
    let mut place = 0;
    for sum in fours {
        add_places(sum, place, scales, rows);
        place += 4;
    }
    for sum in twos {
        add_places(sum, place, scales, rows);
        place += 2;
    }
    for sum in ones.as_chunks_mut::<1>().0 {
        add_places(sum, place, scales, rows);
        place += 1;
    }
}

/// The same for N places of eight, from `place` on.
#[inline(always)]
fn add_places<const N: usize>(
    sum: &mut [f64; N],
    place: usize,
    scales: &Lanes,
    rows: &[Lanes; EIGHT],
) {
    let mut total = *sum;
    for (scale, row) in scales.iter().zip(rows) {
        let row: &[f64; N] = row[place..]
            .first_chunk()
            .expect("there are as many places left");
        for (total, row) in total.iter_mut().zip(row) {
            *total += scale * row;
        }
    }
    *sum = total;
}
