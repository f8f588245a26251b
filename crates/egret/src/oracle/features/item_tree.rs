use std::ops::Range;

use rayon::prelude::*;

use crate::event::Item;

/// A tree over the items of a catalogue by their features: items that are alike are near each other in it.
///
/// A node has up to 32 parts, found by k-means on features of deviation 1, and a leaf has up to 32 items. A search that goes
/// down to the best parts of each level reads a few thousand of ten million items. What it finds is a function of the features
/// and of the predictions alone, the same on every machine.
///
/// The center of a node, the mean of its items, is read as if it were an item itself: [`Embeddings`](crate::Embeddings) have a
/// row for it, by a number that no catalogue is long enough to have. So every oracle predicts at centers too.
#[derive(Debug, Clone)]
pub struct ItemTree {
    /// From the root on, level by level.
    nodes: Vec<Node>,
    /// A row for each node.
    centers: Vec<f32>,
    /// The items of a node are in one piece.
    items: Vec<Item>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    /// Its items, from one place to another.
    start: u32,
    end: u32,
    /// Its parts; none of a leaf.
    first: u32,
    parts: u32,
}

/// The buffers of a search.
#[derive(Debug, Clone, Default)]
pub(crate) struct TreeSearch {
    /// f̂ at the centers of the best nodes.
    best: Vec<(f64, u32)>,
    centers: Vec<Item>,
    fhats: Vec<f64>,
}

/// Centers have numbers from here on.
const CENTERS: u32 = 1 << 31;

/// The most parts of a node, and the most items of a leaf.
const PARTS: usize = 32;

/// From how many items the middles of the parts are found, and in how many steps.
const SAMPLE: usize = 32 * PARTS;
const STEPS: usize = 4;

/// How many items a thread takes at a time.
const PIECE: usize = 1 << 14;

impl ItemTree {
    /// Over the items of a table: row after row of `dim` numbers.
    pub(crate) fn new(dim: usize, rows: &[f32]) -> Self {
        let table = ScaledTable::new(dim, rows);
        let count = (rows.len() / dim) as u32;
        let mut items: Vec<Item> = (0..count).map(Item).collect();
        let mut nodes = vec![Node::leaf(0..count)];
        let mut level = 0..1;
        while !level.is_empty() {
            let (mut rest, mut place) = (&mut items[..], 0);
            let mut pieces = Vec::with_capacity(level.len());
            for node in &nodes[level.clone()] {
                let (_, after) = rest.split_at_mut((node.start - place) as usize);
                let (piece, after) = after.split_at_mut((node.end - node.start) as usize);
                pieces.push(piece);
                (rest, place) = (after, node.end);
            }
            let pieces = pieces.into_par_iter();
            let splits: Vec<Vec<u32>> = pieces.map(|piece| table.split(piece)).collect();
            for (node, lengths) in level.clone().zip(splits) {
                nodes[node].first = nodes.len() as u32;
                nodes[node].parts = lengths.len() as u32;
                let mut start = nodes[node].start;
                for length in lengths {
                    nodes.push(Node::leaf(start..start + length));
                    start += length;
                }
            }
            level = level.end..nodes.len();
        }
        let centers = centers(&table, &nodes, &items);
        Self {
            nodes,
            centers,
            items,
        }
    }

    /// The features of a center, if this is the number of one.
    pub(crate) fn center(&self, item: Item, dim: usize) -> Option<&[f32]> {
        let node = item.0.checked_sub(CENTERS)? as usize;
        self.centers.chunks_exact(dim).nth(node)
    }

    /// Appends the items of the leaves that are best by `predict`: up to `most` leaves, found among the parts of the best
    /// nodes of each level.
    pub(crate) fn search<E>(
        &self,
        most: usize,
        search: &mut TreeSearch,
        mut predict: impl FnMut(&[Item], &mut Vec<f64>) -> Result<(), E>,
        out: &mut Vec<Item>,
    ) -> Result<(), E> {
        let TreeSearch {
            best,
            centers,
            fhats,
        } = search;
        best.clear();
        best.push((0.0, 0));
        loop {
            centers.clear();
            best.retain(|&(_, node)| {
                let node = self.nodes[node as usize];
                let parts = node.first..node.first + node.parts;
                centers.extend(parts.map(|part| Item(CENTERS + part)));
                node.parts == 0
            });
            if centers.is_empty() {
                break;
            }
            predict(centers, fhats)?;
            let nodes = centers.iter().map(|center| center.0 - CENTERS);
            best.extend(fhats.iter().copied().zip(nodes));
            if most < best.len() {
                best.select_nth_unstable_by(most, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                best.truncate(most);
            }
        }
        for &(_, node) in best.iter() {
            let Node { start, end, .. } = self.nodes[node as usize];
            out.extend_from_slice(&self.items[start as usize..end as usize]);
        }
        Ok(())
    }
}

impl Node {
    fn leaf(items: Range<u32>) -> Self {
        Self {
            start: items.start,
            end: items.end,
            first: 0,
            parts: 0,
        }
    }
}

/// A row for each node: the mean of its items.
fn centers(table: &ScaledTable<'_>, nodes: &[Node], items: &[Item]) -> Vec<f32> {
    let dim = table.dim;
    let mut sums = vec![0.0_f64; nodes.len() * dim];
    // A node comes before its parts.
    for (place, node) in nodes.iter().enumerate().rev() {
        let (before, after) = sums.split_at_mut((place + 1) * dim);
        let own = &mut before[place * dim..];
        if node.parts == 0 {
            for &item in &items[node.start as usize..node.end as usize] {
                for (sum, &value) in own.iter_mut().zip(table.row(item)) {
                    *sum += f64::from(value);
                }
            }
        } else {
            let first = (node.first as usize - place - 1) * dim;
            for part in after[first..][..node.parts as usize * dim].chunks_exact(dim) {
                for (sum, value) in own.iter_mut().zip(part) {
                    *sum += value;
                }
            }
        }
    }
    let means = nodes.iter().zip(sums.chunks_exact(dim));
    let means = means.flat_map(|(node, sums)| {
        let count = f64::from(node.end - node.start);
        sums.iter().map(move |sum| (sum / count) as f32)
    });
    means.collect()
}

/// The rows of a table, and what brings each feature to mean 0 and deviation 1.
struct ScaledTable<'a> {
    dim: usize,
    rows: &'a [f32],
    /// (shift, factor) of each feature.
    scale: Vec<(f32, f32)>,
}

impl<'a> ScaledTable<'a> {
    fn new(dim: usize, rows: &'a [f32]) -> Self {
        let every = (rows.len() / dim).div_ceil(SAMPLE).max(1);
        let sample = || rows.chunks_exact(dim).step_by(every);
        let count = sample().len() as f64;
        let scale = (0..dim).map(|feature| {
            let values = || sample().map(|row| f64::from(row[feature]));
            let mean = values().sum::<f64>() / count;
            let squares: f64 = values().map(|value| (value - mean).powi(2)).sum();
            let deviation = (squares / count).sqrt();
            let varies = 1e-6 * mean.abs() < deviation;
            let factor = if varies { 1.0 / deviation } else { 0.0 };
            (mean as f32, factor as f32)
        });
        Self {
            dim,
            rows,
            scale: scale.collect(),
        }
    }

    fn row(&self, item: Item) -> &'a [f32] {
        &self.rows[item.0 as usize * self.dim..][..self.dim]
    }

    /// Writes the scaled features of an item.
    #[inline(always)]
    fn fill(&self, item: Item, out: &mut [f32]) {
        let values = self.row(item).iter().zip(&self.scale);
        for (out, (value, (shift, factor))) in out.iter_mut().zip(values) {
            *out = (value - shift) * factor;
        }
    }

    /// Sorts items by the part that they belong to; the lengths of the parts, none if the items are few.
    fn split(&self, items: &mut [Item]) -> Vec<u32> {
        if items.len() <= PARTS {
            return Vec::new();
        }
        let count = items.len().div_ceil(PARTS).min(PARTS);
        let middles = self.middles(items, count);
        let mut labels = vec![0; items.len()];
        let pieces = items.par_chunks(PIECE).zip(labels.par_chunks_mut(PIECE));
        pieces.for_each(|(items, labels)| assign(self, &middles, items, labels));
        let mut lengths = [0_u32; PARTS];
        for &label in &labels {
            lengths[label as usize] += 1;
        }
        if lengths.iter().filter(|&&length| 0 < length).count() < 2 {
            // Items that do not differ.
            let length = items.len().div_ceil(count);
            return items.chunks(length).map(|part| part.len() as u32).collect();
        }
        let mut places = [0; PARTS];
        for part in 1..PARTS {
            places[part] = places[part - 1] + lengths[part - 1] as usize;
        }
        let before = items.to_vec();
        for (&item, &label) in before.iter().zip(&labels) {
            let place = &mut places[label as usize];
            items[*place] = item;
            *place += 1;
        }
        lengths.into_iter().filter(|&length| 0 < length).collect()
    }

    /// The middles of so many parts: k-means on a few of the items.
    fn middles(&self, items: &[Item], count: usize) -> Middles {
        let every = items.len().div_ceil(SAMPLE);
        let sample: Vec<Item> = items.iter().step_by(every).copied().collect();
        let mut labels = vec![0; sample.len()];
        let mut row = vec![0.0; self.dim];
        let mut middles = Middles::new(self.dim);
        for part in 0..count {
            self.fill(sample[part * sample.len() / count], &mut row);
            middles.set(part, row.iter().copied());
        }
        for _ in 0..STEPS {
            assign(self, &middles, &sample, &mut labels);
            let mut sums = vec![0.0_f64; PARTS * self.dim];
            let mut lengths = [0.0_f64; PARTS];
            for (&item, &label) in sample.iter().zip(&labels) {
                self.fill(item, &mut row);
                lengths[label as usize] += 1.0;
                let sums = &mut sums[label as usize * self.dim..][..self.dim];
                for (sum, &value) in sums.iter_mut().zip(&row) {
                    *sum += f64::from(value);
                }
            }
            for (part, sums) in sums.chunks_exact(self.dim).enumerate().take(count) {
                if 0.0 < lengths[part] {
                    middles.set(part, sums.iter().map(|sum| (sum / lengths[part]) as f32));
                }
            }
        }
        middles
    }
}

/// The middles of the parts of a node, feature after feature.
struct Middles {
    features: Vec<[f32; PARTS]>,
    /// Half of each squared length; infinite where there is no part.
    offsets: [f32; PARTS],
}

impl Middles {
    fn new(dim: usize) -> Self {
        Self {
            features: vec![[0.0; PARTS]; dim],
            offsets: [f32::INFINITY; PARTS],
        }
    }

    fn set(&mut self, part: usize, middle: impl Iterator<Item = f32>) {
        self.offsets[part] = 0.0;
        for (feature, value) in self.features.iter_mut().zip(middle) {
            feature[part] = value;
            self.offsets[part] += 0.5 * value * value;
        }
    }

    /// The part whose middle is nearest: ½|m|² − ⟨m, u⟩ is least there.
    #[inline(always)]
    fn nearest(&self, row: &[f32]) -> u8 {
        let mut distances = self.offsets;
        for (value, feature) in row.iter().zip(&self.features) {
            for (distance, middle) in distances.iter_mut().zip(feature) {
                *distance -= value * middle;
            }
        }
        let mut nearest = 0;
        for (part, distance) in distances.iter().enumerate() {
            if *distance < distances[nearest] {
                nearest = part;
            }
        }
        nearest as u8
    }
}

/// Finds the part of each item.
#[multiversion::multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn assign(table: &ScaledTable<'_>, middles: &Middles, items: &[Item], labels: &mut [u8]) {
    let mut row = vec![0.0; table.dim];
    for (label, &item) in labels.iter_mut().zip(items) {
        table.fill(item, &mut row);
        *label = middles.nearest(&row);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::numeric::{EventRng, Stream};

    const DIM: usize = 6;

    /// Features in very different units.
    fn table(items: usize) -> Vec<f32> {
        let mut rng = EventRng::new(1, 0, Stream::World);
        let units = [1.0, 1e6, 1e-6, 1.0, 1e3, 0.0];
        let rows = (0..items).flat_map(|_| units.map(|unit| (1e3 + rng.unit()) * unit));
        rows.map(|value| value as f32).collect()
    }

    /// The items that a search finds, and how many predictions it takes.
    fn found(tree: &ItemTree, most: usize, fhat: impl Fn(&[f32]) -> f64) -> (Vec<Item>, usize) {
        let (mut out, mut predictions) = (Vec::new(), 0);
        let predict = |centers: &[Item], fhats: &mut Vec<f64>| {
            predictions += centers.len();
            let center = |&item| fhat(tree.center(item, DIM).expect("a center"));
            fhats.clear();
            fhats.extend(centers.iter().map(center));
            Ok::<_, Infallible>(())
        };
        let Ok(()) = tree.search(most, &mut TreeSearch::default(), predict, &mut out);
        (out, predictions)
    }

    #[test]
    fn every_item_is_in_one_leaf_and_a_center_is_a_mean() {
        let alike = vec![0.5; 3_000 * DIM];
        for rows in [table(1), table(33), table(20_000), alike] {
            let tree = ItemTree::new(DIM, &rows);
            let (mut all, _) = found(&tree, usize::MAX, |_| 0.0);
            all.sort_unstable();
            let expected: Vec<Item> = (0..rows.len() / DIM).map(|i| Item(i as u32)).collect();
            assert_eq!(all, expected);
            for (place, node) in tree.nodes.iter().enumerate() {
                let items = &tree.items[node.start as usize..node.end as usize];
                assert!(!items.is_empty() && (0 < node.parts || items.len() <= PARTS));
                let column = items.iter().map(|item| rows[item.0 as usize * DIM + 1]);
                let mean = column.map(f64::from).sum::<f64>() / items.len() as f64;
                let center = tree.center(Item(CENTERS + place as u32), DIM).expect("one");
                assert!((f64::from(center[1]) / mean - 1.0).abs() < 1e-6);
            }
            assert!(tree.center(Item(0), DIM).is_none());
            assert!(tree.center(Item(u32::MAX), DIM).is_none());
        }
    }

    #[test]
    fn a_search_reads_few_items_and_finds_good_ones() {
        let rows = table(50_000);
        let tree = ItemTree::new(DIM, &rows);
        // The sum of all features, each in its unit: what lies in a corner.
        let fhat = |row: &[f32]| {
            let units = [1.0, 1e-6, 1e6, 1.0, 1e-3, 0.0];
            let terms = row.iter().zip(units);
            terms.map(|(&value, unit)| f64::from(value) * unit).sum()
        };
        let of = |item: Item| fhat(&rows[item.0 as usize * DIM..][..DIM]);
        let mut all: Vec<f64> = (0..50_000).map(|item| of(Item(item))).collect();
        all.sort_unstable_by(f64::total_cmp);
        let (items, predictions) = found(&tree, 32, fhat);
        assert!(
            items.len() + predictions < 5_000,
            "{} {predictions}",
            items.len()
        );
        let mut best: Vec<f64> = items.iter().map(|&item| of(item)).collect();
        best.sort_unstable_by(f64::total_cmp);
        // Of the 20 best, 15 are found; 32 leaves at random would have none of them but one time in three.
        let among = best.iter().filter(|&&value| value <= all[19]).count();
        assert!(15 <= among, "{among}");
        assert_eq!(found(&tree, 32, fhat).0, items);
    }
}
