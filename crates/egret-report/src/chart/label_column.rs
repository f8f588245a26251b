/// Places for labels one above the other: at least `gap` apart, within `room` if they fit, and as near as that allows
/// to where each is wanted. The order of the wanted places is kept.
pub(crate) fn spread_out(wanted: &[f64], gap: f64, room: (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&one, &other| wanted[one].total_cmp(&wanted[other]));

    // Labels that touch are a block, and a block lies around the mean of what its labels want.
    struct Block {
        labels: usize,
        middle: f64,
    }
    let mut blocks: Vec<Block> = Vec::new();
    let within = |labels: usize, middle: f64| {
        let half = 0.5 * gap * (labels - 1) as f64;
        middle.min(room.1 - half).max(room.0 + half)
    };
    for &place in &order {
        let mut block = Block {
            labels: 1,
            middle: within(1, wanted[place]),
        };
        while let Some(above) = blocks.last() {
            let apart = 0.5 * gap * (above.labels + block.labels) as f64;
            if above.middle + apart <= block.middle {
                break;
            }
            let labels = above.labels + block.labels;
            let sum = above.middle * above.labels as f64 + block.middle * block.labels as f64;
            block = Block {
                labels,
                middle: within(labels, sum / labels as f64),
            };
            blocks.pop();
        }
        blocks.push(block);
    }

    let mut places = vec![0.0; wanted.len()];
    let mut labels = order.into_iter();
    for block in blocks {
        let first = block.middle - 0.5 * gap * (block.labels - 1) as f64;
        for (line, place) in labels.by_ref().take(block.labels).enumerate() {
            places[place] = first + gap * line as f64;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_with_room_stay_where_they_are_wanted() {
        assert_eq!(spread_out(&[50.0, 10.0], 10.0, (0.0, 100.0)), [50.0, 10.0]);
        assert!(spread_out(&[], 10.0, (0.0, 100.0)).is_empty());
    }

    #[test]
    fn labels_in_one_place_lie_around_it() {
        assert_eq!(
            spread_out(&[50.0, 50.0, 50.0], 10.0, (0.0, 100.0)),
            [40.0, 50.0, 60.0]
        );
        assert_eq!(spread_out(&[99.0, 98.0], 10.0, (0.0, 100.0)), [100.0, 90.0]);
    }

    #[test]
    fn none_overlap_and_none_leave_the_room() {
        let wanted: Vec<f64> = (0..20).map(|place| f64::from(place * place % 37)).collect();
        let mut places = spread_out(&wanted, 5.0, (0.0, 100.0));
        places.sort_by(f64::total_cmp);
        for pair in places.windows(2) {
            assert!(5.0 - 1e-9 <= pair[1] - pair[0], "{places:?}");
        }
        assert!(
            places
                .iter()
                .all(|place| (-1e-9..=100.0 + 1e-9).contains(place))
        );
    }
}
