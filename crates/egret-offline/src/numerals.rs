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

/// A number of events in words, rounded up to two digits.
///
/// ```
/// assert_eq!(egret_offline::about(169_949), "about 170,000");
/// ```
pub fn about(events: u64) -> String {
    let unit = 10_u64.pow(events.max(1).ilog10().saturating_sub(1));
    let rounded = events.div_ceil(unit) * unit;
    format!("about {}", thousands(rounded))
}
