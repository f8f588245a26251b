//! Numbers as people read them.

/// A whole number with commas between thousands.
///
/// ```
/// assert_eq!(egret_report::numerals::thousands(1_234_567.0), "1,234,567");
/// ```
pub fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place != 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in per cent, with a decimal where it has one.
///
/// ```
/// assert_eq!(egret_report::numerals::percent(0.95), "95%");
/// assert_eq!(egret_report::numerals::percent(0.975), "97.5%");
/// ```
pub fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

/// Four significant digits, and all those of whole numbers.
///
/// ```
/// assert_eq!(egret_report::numerals::short(12.3456), "12.35");
/// assert_eq!(egret_report::numerals::short(1.5e-7), "1.500e-7");
/// ```
pub fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e6).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    if 1_000.0 <= value.abs() {
        let sign = if value < 0.0 { "-" } else { "" };
        return sign.to_owned() + &thousands(value.abs());
    }
    let digits = 3 - (value.abs().max(1e-3).log10().floor() as i32);
    format!("{value:.*}", digits.max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(0.123_456), "0.1235");
        assert_eq!(short(123_456.7), "123,457");
        assert_eq!(short(-1_234.5), "-1,234");
        assert_eq!(short(-0.0), "0");
        assert_eq!(thousands(999.0), "999");
        assert_eq!(thousands(1_000.0), "1,000");
    }
}
