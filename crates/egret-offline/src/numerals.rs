/// A count with commas between thousands, as every report writes it.
///
/// ```
/// assert_eq!(egret_offline::thousands(1_234_567), "1,234,567");
/// ```
pub fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if 0 < place && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
