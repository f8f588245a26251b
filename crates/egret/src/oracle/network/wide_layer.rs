use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use rand_philox::splitmix64;
use serde::{Deserialize, Serialize};

use crate::codec::{LoadError, saved_state};
use crate::event::Context;
use crate::numeric::{EventRng, OutOfRange, Stream, pool::Pool, single::dot};
use crate::oracle::{
    network::replay_memory::STEP,
    optimizer::{adam::Adam, init::check_parameters},
};

/// The weights of a first layer for contexts of very many features, of which few are present, that is, not 0.
///
/// W s(x),  s(x)ⱼ = clip(xⱼ / rmsⱼ) · min(1, √(32/n)),  clipped to ±4
///
/// rmsⱼ is over the events learned from in which feature j was present, and 1 before the first of them. Nothing is
/// subtracted, so that what is absent stays 0. n is how many features of x are present: a context of many weighs no more
/// than one of 32.
///
/// Each feature has one row w of weights. It starts uniform within ±√(6/32), drawn from the seed and the feature alone, so
/// a row that was never learned needs no memory. A row moves when its gradient g is not 0:
///
/// v ← v + (|g|²/m − v) · max(1/k, 1/1000),  w ← w − 3 rate · g / √max(v, |g|²/100m)
///
/// with m outputs, in its k-th step. One v for a whole row and no momentum are usual for embeddings (row-wise AdaGrad),
/// and take a third of the memory of Adam. Rows learn seldom, hence the larger rate: with it, two of four simulated
/// problems were learned better than by Adam on each row, and two worse. A sudden gradient moves a row at most ten times
/// as far as a steady one.
///
/// Time grows with the features present, and memory with the features met. Of a context it reads the features in a range.
#[derive(Debug, Clone)]
pub(crate) struct WideLayer {
    range: Range<usize>,
    outputs: usize,
    seed: u64,
    /// Where the row of a feature is.
    slots: HashMap<u32, u32, BuildHasherDefault<Mixed>>,
    /// By slot.
    features: Vec<Feature>,
    /// The weights by slot.
    rows: Vec<f32>,
    /// What the current step learns from.
    present: Vec<Present>,
    /// The slots in it, each once, and their gradients in the same order.
    touched: Vec<u32>,
    gradient: Vec<f32>,
    spare: Vec<f32>,
    /// Room for what a context that is only read has.
    buffers: Pool<Vec<Present>>,
}

/// A feature that was learned from.
#[derive(Debug, Clone, Copy)]
struct Feature {
    met: Met,
    /// 1/rms: follows from what was met.
    inverse: f64,
    /// Which row of the gradient is its own, while that is added up.
    row: u32,
}

/// What is saved of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Met {
    feature: u32,
    /// In how many events it was present, and Σ x² over them.
    count: u64,
    squares: f64,
    /// k and v.
    steps: u64,
    v: f64,
}

impl Feature {
    fn new(met: Met) -> Self {
        let rms = (met.squares / met.count as f64).sqrt();
        Self {
            met,
            // Numbers whose squares vanish are as good as 0 in any unit. NaN before the first event.
            inverse: if 1e-150 < rms { 1.0 / rms } else { 1.0 },
            row: NO_ROW,
        }
    }
}

const NO_ROW: u32 = u32::MAX;

/// A feature of a context, or of one of the contexts of a step.
#[derive(Debug, Clone, Copy)]
struct Present {
    feature: u32,
    place: u32,
    value: f64,
    /// None before it was learned from.
    slot: Option<u32>,
    /// s.
    scaled: f32,
}

/// What is saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// In the order in which they were met.
    features: Vec<Met>,
    /// Their weights, in the same order.
    rows: Vec<f32>,
}

/// How many features of a context are typically present.
const TYPICAL: f64 = 32.0;

/// Features are clipped at this many rms.
const CUT_OFF: f64 = 4.0;

/// How much faster rows learn than the other layers.
const FASTER: f64 = 3.0;

/// The least share of a new gradient in v.
const SHARE: f64 = 0.001;

impl WideLayer {
    /// Before any learning. A feature is a number of 32 bits.
    pub(crate) fn new(range: Range<usize>, outputs: usize, seed: u64) -> Result<Self, OutOfRange> {
        let fits = u32::try_from(range.end).is_ok();
        let end = range.end as f64;
        OutOfRange::unless(fits, "number of features", end, "[0, 2^32)")?;
        Ok(Self {
            range,
            outputs,
            seed,
            slots: HashMap::default(),
            features: Vec::new(),
            rows: Vec::new(),
            present: Vec::new(),
            touched: Vec::new(),
            gradient: Vec::new(),
            spare: vec![0.0; outputs],
            buffers: Pool::default(),
        })
    }

    /// Which features it reads.
    pub(crate) fn range(&self) -> &Range<usize> {
        &self.range
    }

    /// Counts one more context, and gives features met for the first time a row.
    pub(crate) fn look_at(&mut self, x: &Context) {
        x.for_each(|feature, value| {
            if value != 0.0
                && self.range.contains(&feature)
                && let Some(slot) = self.meet(feature as u32)
            {
                let met = self.features[slot].met;
                self.features[slot] = Feature::new(Met {
                    count: met.count + 1,
                    squares: met.squares + value * value,
                    ..met
                });
            }
        });
    }

    /// The slot of a feature. None is left beyond 2²⁸ weights: later features keep their starting weights.
    fn meet(&mut self, feature: u32) -> Option<usize> {
        if let Some(&slot) = self.slots.get(&feature) {
            return Some(slot as usize);
        }
        let slot = self.features.len();
        check_parameters((slot + 1).checked_mul(self.outputs)).ok()?;
        let start = self.rows.len();
        self.rows.resize(start + self.outputs, 0.0);
        draw(self.seed, feature, &mut self.rows[start..]);
        self.features.push(Feature::new(Met {
            feature,
            count: 0,
            squares: 0.0,
            steps: 0,
            v: 0.0,
        }));
        self.slots.insert(feature, slot as u32);
        Some(slot)
    }

    /// out ← out + W s(x). `spare` is scratch space as long as `out`.
    pub(crate) fn add(&self, x: &Context, spare: &mut [f32], out: &mut [f32]) {
        self.buffers.with(|present| {
            self.find(&[x], present);
            add_rows(self, present, spare, out);
        });
    }

    /// As [`add`](Self::add) for each context of a step, row after row.
    pub(crate) fn add_step(&mut self, xs: [&Context; STEP], out: &mut [f32]) {
        let mut present = std::mem::take(&mut self.present);
        let mut spare = std::mem::take(&mut self.spare);
        self.find(&xs, &mut present);
        add_rows(self, &present, &mut spare, out);
        self.present = present;
        self.spare = spare;
    }

    /// The features present in some contexts. Each loop asks memory for all of them at once.
    fn find(&self, xs: &[&Context], present: &mut Vec<Present>) {
        present.clear();
        let mut shrink = [1.0; STEP];
        for (place, x) in (0..).zip(xs) {
            let start = present.len();
            x.for_each(|feature, value| {
                if value != 0.0 && self.range.contains(&feature) {
                    present.push(Present {
                        feature: feature as u32,
                        place,
                        value,
                        slot: None,
                        scaled: 0.0,
                    });
                }
            });
            let count = present.len() - start;
            shrink[place as usize] = (TYPICAL / count as f64).sqrt().min(1.0);
        }
        for present in present.iter_mut() {
            present.slot = self.slots.get(&present.feature).copied();
        }
        for present in present.iter_mut() {
            let slot = present.slot;
            let inverse = slot.map_or(1.0, |slot| self.features[slot as usize].inverse);
            let value = (present.value * inverse).clamp(-CUT_OFF, CUT_OFF);
            present.scaled = (value * shrink[present.place as usize]) as f32;
        }
    }

    /// The gradient after [`add_step`](Self::add_step), from the derivatives by its outputs; whether Adam accepts it.
    pub(crate) fn differentiate(&mut self, slopes: &[f32]) -> bool {
        add_up(self, slopes);
        Adam::accepts(&self.gradient)
    }

    /// One step down an accepted gradient.
    pub(crate) fn step(&mut self, rate: f64) {
        step(self, rate);
    }

    #[inline(always)]
    fn weights(&self, slot: u32) -> &[f32] {
        &self.rows[slot as usize * self.outputs..][..self.outputs]
    }

    pub(crate) fn state(&self) -> State {
        let features = self.features.iter();
        State {
            features: features.map(|feature| feature.met).collect(),
            rows: self.rows.clone(),
        }
    }

    /// An error unless this is a state of such a layer.
    pub(crate) fn check(&self, state: &State) -> Result<(), LoadError> {
        let (features, m) = (&state.features, self.outputs);
        let weights = check_parameters(features.len().checked_mul(m))
            .map_err(|error| LoadError::Invalid(error.to_string()))?;
        let mut met = HashSet::with_capacity(features.len());
        for saved in features {
            let good = self.range.contains(&(saved.feature as usize))
                && met.insert(saved.feature)
                && (1..=1 << 53).contains(&saved.count)
                && (0.0..=1e90).contains(&saved.squares)
                && saved.steps <= 1 << 53
                && (0.0..=1e37).contains(&saved.v);
            if !good {
                let range = &self.range;
                return Err(LoadError::Invalid(format!(
                    "{saved:?} among the features {range:?}"
                )));
            }
        }
        let small = |weight: f64| weight.abs() <= 1e12;
        saved_state::expect_numbers("rows of weights", &state.rows, weights, small)
    }

    /// Restores a checked state.
    pub(crate) fn restore(&mut self, state: State) {
        let features = state.features.into_iter();
        self.features = features.map(Feature::new).collect();
        let slots = (0..).zip(&self.features);
        self.slots = slots.map(|(slot, f)| (f.met.feature, slot)).collect();
        self.rows = state.rows;
    }
}

/// The starting weights of a feature.
fn draw(seed: u64, feature: u32, out: &mut [f32]) {
    // No decision has so large a number, and the other layers take the largest.
    let mut rng = EventRng::new(seed, u64::MAX - 1 - u64::from(feature), Stream::World);
    let bound = (6.0 / TYPICAL).sqrt();
    let mut drawn = [0.0; DRAWN];
    for weights in out.chunks_mut(DRAWN) {
        let drawn = &mut drawn[..weights.len()];
        rng.fill_unit(drawn);
        for (weight, drawn) in weights.iter_mut().zip(drawn) {
            *weight = (bound * (2.0 * *drawn - 1.0)) as f32;
        }
    }
}

/// How many are drawn at a time.
const DRAWN: usize = 32;

/// out ← out + Σ s · row for each context, with starting weights for features without a row.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn add_rows(layer: &WideLayer, present: &[Present], spare: &mut [f32], out: &mut [f32]) {
    let m = layer.outputs;
    for present in present {
        let out = &mut out[present.place as usize * m..][..m];
        if let Some(slot) = present.slot {
            add_row(present.scaled, layer.weights(slot), out);
        } else {
            draw(layer.seed, present.feature, spare);
            add_row(present.scaled, spare, out);
        }
    }
}

/// The gradient of the rows that a step touched.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn add_up(layer: &mut WideLayer, slopes: &[f32]) {
    let m = layer.outputs;
    layer.touched.clear();
    layer.gradient.clear();
    for present in &layer.present {
        let Some(slot) = present.slot else { continue };
        let feature = &mut layer.features[slot as usize];
        let slopes = &slopes[present.place as usize * m..][..m];
        let value = present.scaled;
        if feature.row == NO_ROW {
            feature.row = layer.touched.len() as u32;
            layer.touched.push(slot);
            layer
                .gradient
                .extend(slopes.iter().map(|slope| value * slope));
        } else {
            let gradient = &mut layer.gradient[feature.row as usize * m..][..m];
            add_row(value, slopes, gradient);
        }
    }
    for &slot in &layer.touched {
        layer.features[slot as usize].row = NO_ROW;
    }
}

/// Moves the rows that a step touched.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn step(layer: &mut WideLayer, rate: f64) {
    let m = layer.outputs;
    for (&slot, gradient) in layer.touched.iter().zip(layer.gradient.chunks_exact(m)) {
        let square = f64::from(dot(gradient, gradient)) / m as f64;
        // Its square may vanish too: nothing to follow.
        if square == 0.0 {
            continue;
        }
        let met = &mut layer.features[slot as usize].met;
        met.steps += 1;
        met.v += (square - met.v) * SHARE.max(1.0 / met.steps as f64);
        let factor = -FASTER * rate / met.v.max(0.01 * square).sqrt();
        let row = &mut layer.rows[slot as usize * m..][..m];
        add_row(factor as f32, gradient, row);
    }
}

/// out ← out + value · row.
#[inline(always)]
pub(crate) fn add_row(value: f32, row: &[f32], out: &mut [f32]) {
    for (out, entry) in out.iter_mut().zip(row) {
        *out += value * entry;
    }
}

/// Hashes a feature, with no need for secrets: whoever chooses features chooses how many rows there are anyway.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = splitmix64(self.0 ^ u64::from(byte));
        }
    }

    fn write_u32(&mut self, feature: u32) {
        self.0 = splitmix64(u64::from(feature));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
impl WideLayer {
    /// The slots of the last step, and the gradient of each.
    pub(crate) fn step_gradient(&self) -> Vec<(u32, Vec<f32>)> {
        let gradients = self.gradient.chunks_exact(self.outputs);
        let rows = self.touched.iter().zip(gradients);
        rows.map(|(&slot, gradient)| (slot, gradient.to_vec()))
            .collect()
    }

    pub(crate) fn weights_mut(&mut self, slot: u32) -> &mut [f32] {
        &mut self.rows[slot as usize * self.outputs..][..self.outputs]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIM: usize = 1_000_000;
    const OUTPUTS: usize = 5;
    const RATE: f64 = 0.01;

    fn layer() -> WideLayer {
        WideLayer::new(0..DIM, OUTPUTS, 3).expect("in range")
    }

    fn sparse(entries: &[(u32, f64)]) -> Context {
        Context::sparse(DIM, entries.to_vec()).expect("sorted")
    }

    /// W s(x).
    fn sums(layer: &WideLayer, x: &Context) -> [f64; OUTPUTS] {
        let mut out = [0.0; OUTPUTS];
        layer.add(x, &mut [0.0; OUTPUTS], &mut out);
        out.map(f64::from)
    }

    /// s(x) of a feature that is alone in its context.
    fn scaled(layer: &WideLayer, feature: u32, value: f64) -> f64 {
        let mut weights = [0.0; OUTPUTS];
        match layer.slots.get(&feature) {
            Some(&slot) => weights.copy_from_slice(layer.weights(slot)),
            None => draw(layer.seed, feature, &mut weights),
        }
        sums(layer, &sparse(&[(feature, value)]))[0] / f64::from(weights[0])
    }

    fn near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-6 * (1.0 + expected.abs()),
            "{found} {expected}"
        );
    }

    /// One step whose derivatives by the outputs are all `slope`.
    fn teach(layer: &mut WideLayer, x: &Context, slope: f64) {
        layer.look_at(x);
        layer.add_step([x; STEP], &mut [0.0; STEP * OUTPUTS]);
        assert!(layer.differentiate(&[slope as f32; STEP * OUTPUTS]));
        layer.step(RATE);
    }

    #[test]
    fn features_come_to_one_scale() {
        let mut layer = layer();
        // Not met: as it is, within ±4.
        near(scaled(&layer, 7, 2.5), 2.5);
        near(scaled(&layer, 7, -90.0), -4.0);
        // The root of (3000² + 4000²)/2, whatever is learned without it.
        for x in [
            &[(7, 3000.0)][..],
            &[(8, 1.0)],
            &[(7, -4000.0)],
            &[(7, 0.0)],
        ] {
            layer.look_at(&sparse(x));
        }
        let rms = 12.5e6_f64.sqrt();
        near(scaled(&layer, 7, 3000.0), 3000.0 / rms);
        near(scaled(&layer, 7, -1e30), -4.0);
        near(scaled(&layer, 8, 1.0), 1.0);
        // Squares that vanish give no unit.
        layer.look_at(&sparse(&[(9, 1e-200)]));
        near(scaled(&layer, 9, 0.5), 0.5);
    }

    #[test]
    fn many_features_weigh_no_more_than_32() {
        let layer = layer();
        let ones = |n: u32| sparse(&(0..n).map(|feature| (feature, 1.0)).collect::<Vec<_>>());
        let mut expected = [0.0; OUTPUTS];
        let mut weights = [0.0; OUTPUTS];
        for n in 1..=128 {
            draw(layer.seed, n - 1, &mut weights);
            add_row(1.0, &weights, &mut expected);
            let shrink = (32.0 / f64::from(n)).sqrt().min(1.0);
            for (found, expected) in sums(&layer, &ones(n)).into_iter().zip(expected) {
                near(found, shrink * f64::from(expected));
            }
        }
    }

    #[test]
    fn starting_weights_are_uniform_and_differ() {
        let mut all = Vec::new();
        for feature in 0..2_000 {
            let mut weights = [0.0; OUTPUTS];
            draw(3, feature, &mut weights);
            all.extend(weights.map(f64::from));
        }
        let bound = (6.0_f64 / 32.0).sqrt();
        assert!(all.iter().all(|weight| weight.abs() < bound));
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        let variance = all.iter().map(|weight| weight * weight).sum::<f64>() / n;
        // Five deviations of either: bound/√(3n) and bound²·√(4/45n).
        assert!(mean.abs() < 5.0 * bound / (3.0 * n).sqrt(), "{mean}");
        let allowed = 5.0 * bound * bound * (4.0 / (45.0 * n)).sqrt();
        assert!(
            (variance - bound * bound / 3.0).abs() < allowed,
            "{variance}"
        );
        all.sort_unstable_by(f64::total_cmp);
        all.dedup();
        // Of 24 bits, three pairs in 10,000 are alike by chance.
        assert!(n - 20.0 < all.len() as f64, "{}", all.len());
    }

    #[test]
    fn a_row_is_the_same_before_and_after_it_gets_memory() {
        let mut layer = layer();
        let (x, other) = (sparse(&[(3, 1.0), (900_000, -1.0)]), sparse(&[(4, 2.0)]));
        let before = sums(&layer, &x);
        for _ in 0..5 {
            teach(&mut layer, &other, 1.0);
        }
        assert_eq!(sums(&layer, &x), before);
        layer.look_at(&x);
        assert_eq!(sums(&layer, &x), before);
        assert_eq!(layer.features.len(), 3);
        teach(&mut layer, &x, 1.0);
        assert_ne!(sums(&layer, &x), before);
    }

    #[test]
    fn steps_go_down_and_leave_other_rows_alone() {
        let mut layer = layer();
        let (x, other) = (sparse(&[(3, 1.0)]), sparse(&[(4, 2.0)]));
        teach(&mut layer, &other, 1.0);
        let untouched = (layer.features[0].met, layer.rows.clone());
        // In units of 3 · RATE: 1 at first, then 3 over the root of (1 + 9)/2. No gradient, no step.
        let mut before = sums(&layer, &x);
        for (slope, expected) in [(2.0, 3.0), (-6.0, -9.0 / 5.0_f64.sqrt()), (0.0, 0.0)] {
            teach(&mut layer, &x, slope);
            let after = sums(&layer, &x);
            for (after, before) in after.into_iter().zip(before) {
                near(before - after, RATE * expected);
            }
            before = after;
        }
        assert_eq!(layer.features[1].met.steps, 2);
        assert_eq!(layer.features[0].met, untouched.0);
        assert_eq!(layer.rows[..OUTPUTS], untouched.1);
    }

    #[test]
    fn a_sudden_gradient_moves_a_row_little() {
        let mut layer = layer();
        let x = sparse(&[(3, 1.0)]);
        for _ in 0..1_000 {
            teach(&mut layer, &x, 1e-9);
        }
        let before = sums(&layer, &x);
        teach(&mut layer, &x, 1e9);
        near(before[0] - sums(&layer, &x)[0], 3.0 * RATE * 10.0);
    }

    #[test]
    fn gradients_too_large_are_refused() {
        let mut layer = layer();
        let x = sparse(&[(3, 1.0)]);
        layer.look_at(&x);
        layer.add_step([&x; STEP], &mut [0.0; STEP * OUTPUTS]);
        assert!(layer.differentiate(&[1e14; STEP * OUTPUTS]));
        assert!(!layer.differentiate(&[1e15; STEP * OUTPUTS]));
        assert!(!layer.differentiate(&[f32::NAN; STEP * OUTPUTS]));
    }

    #[test]
    fn states_that_cannot_be_are_refused() {
        let mut layer = layer();
        teach(
            &mut layer,
            &sparse(&[(3, 1.0), (7, 0.5), (999_999, 2.0)]),
            1.0,
        );
        let state = layer.state();
        assert_eq!(layer.check(&state), Ok(()));
        type Damage = fn(&mut State);
        let damages: [Damage; 12] = [
            |state| state.features[2].feature = DIM as u32,
            |state| state.features[2].feature = 3,
            |state| state.features[1].count = 0,
            |state| state.features[1].count = u64::MAX,
            |state| state.features[1].squares = -1.0,
            |state| state.features[1].squares = f64::NAN,
            |state| state.features[1].steps = u64::MAX,
            |state| state.features[1].v = f64::INFINITY,
            |state| state.features.truncate(2),
            |state| state.rows.truncate(14),
            |state| state.rows[0] = f32::NAN,
            |state| state.rows[OUTPUTS - 1] = 1e13,
        ];
        for (place, damage) in damages.into_iter().enumerate() {
            let mut damaged = state.clone();
            damage(&mut damaged);
            assert!(layer.check(&damaged).is_err(), "{place}");
        }
        let mut other = self::layer();
        other.restore(state);
        assert_eq!(other.state(), layer.state());
    }

    #[test]
    fn features_are_numbers_of_32_bits() {
        assert!(WideLayer::new(0..u32::MAX as usize, OUTPUTS, 0).is_ok());
        assert!(WideLayer::new(0..u32::MAX as usize + 1, OUTPUTS, 0).is_err());
    }
}
