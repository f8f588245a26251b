/// Which of the known words somebody may have meant, if any is near.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let far = (word.chars().count() / 3).max(1);
    let distances = known.into_iter().map(|name| (distance(word, name), name));
    let (edits, name) = distances.min_by_key(|(edits, _)| *edits)?;
    (edits <= far).then_some(name)
}

/// How many letters have to be changed, added, taken away or swapped with the next; case does not count.
fn distance(one: &str, other: &str) -> usize {
    let [one, other] = [one, other].map(|word| word.to_lowercase().chars().collect::<Vec<_>>());
    let mut rows = vec![(0..=other.len()).collect::<Vec<usize>>()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut least = (rows[i][j + 1] + 1).min(row[j] + 1);
            least = least.min(rows[i][j] + usize::from(a != b));
            if 0 < i && 0 < j && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["uniform", "best-of", "smooth", "column"];
        assert_eq!(nearest("unifrom", known), Some("uniform"));
        assert_eq!(nearest("Bestof", known), Some("best-of"));
        assert_eq!(nearest("colum", known), Some("column"));
        assert_eq!(nearest("random", known), None);
        assert_eq!(nearest("x", ["y"]), Some("y"));
        assert_eq!(nearest("x", []), None);
    }
}
