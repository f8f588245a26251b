use egret::FeatureValue;

/// What a cell of text says: nothing where it is empty, a number where its digits are one, true or false, or text.
///
/// Digits that a number would not keep stay text: 007, and whole numbers beyond 63 bits.
pub fn typed_cell(text: &str) -> FeatureValue {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let first = digits.bytes().next();
    match text {
        "" => return FeatureValue::Missing,
        "true" | "True" | "TRUE" => return FeatureValue::Flag(true),
        "false" | "False" | "FALSE" => return FeatureValue::Flag(false),
        _ if !first.is_some_and(|byte| byte.is_ascii_digit() || byte == b'.') => {
            return text.into();
        }
        _ => {}
    }
    let padded =
        digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
    if padded {
        return text.into();
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let whole = text.parse().map(FeatureValue::Integer);
        return whole.unwrap_or_else(|_| text.into());
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => FeatureValue::Number(number),
        _ => text.into(),
    }
}

/// The value of a cell as text, to be shown; empty where it is missing.
pub(crate) fn shown(value: &FeatureValue) -> String {
    match value {
        FeatureValue::Missing => "nothing".to_owned(),
        FeatureValue::Text(text) => format!("{text:?}"),
        other => serde_json::to_string(other)
            .unwrap_or_else(|_| "a number that is not finite".to_owned()),
    }
}

/// What is expected of a number that is written with a decimal comma.
pub(crate) const DECIMAL_POINT: &str = "a number with a decimal point";

/// The number that a cell holds or spells; none where it is missing.
pub(crate) fn number(value: &FeatureValue) -> Result<Option<f64>, &'static str> {
    match value {
        FeatureValue::Missing => Ok(None),
        FeatureValue::Integer(whole) => Ok(Some(*whole as f64)),
        FeatureValue::Number(number) => Ok(Some(*number)),
        FeatureValue::Text(text) => match text.trim() {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                let with_point = text.replacen(',', ".", 1);
                match with_point.parse::<f64>().is_ok() {
                    true => DECIMAL_POINT,
                    false => "a number",
                }
            }),
        },
        _ => Err("a number"),
    }
}

/// The whole number that a cell holds or spells.
pub(crate) fn count(value: &FeatureValue) -> Result<Option<u64>, &'static str> {
    const EXPECTED: &str = "a whole number that is not negative";
    if let FeatureValue::Integer(whole) = value {
        return u64::try_from(*whole).map(Some).map_err(|_| EXPECTED);
    }
    if let FeatureValue::Text(text) = value
        && let Ok(whole) = text.trim().parse()
    {
        return Ok(Some(whole));
    }
    match number(value).map_err(|_| EXPECTED)? {
        None => Ok(None),
        Some(number)
            if (0.0..9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0 =>
        {
            Ok(Some(number as u64))
        }
        Some(_) => Err(EXPECTED),
    }
}

/// Text as it is, and numbers by their digits.
pub(crate) fn text(value: &FeatureValue) -> Result<Option<String>, &'static str> {
    match value {
        FeatureValue::Missing => Ok(None),
        FeatureValue::Text(text) if text.trim().is_empty() => Ok(None),
        FeatureValue::Text(text) => Ok(Some(text.trim().to_owned())),
        FeatureValue::Integer(whole) => Ok(Some(whole.to_string())),
        FeatureValue::Number(number) => Ok(Some(number.to_string())),
        _ => Err("text"),
    }
}

/// True or false, as a word or as a value.
pub(crate) fn flag(value: &FeatureValue) -> Result<Option<bool>, &'static str> {
    let typed = match value {
        FeatureValue::Text(text) => typed_cell(text),
        other => other.clone(),
    };
    match typed {
        FeatureValue::Missing => Ok(None),
        FeatureValue::Flag(flag) => Ok(Some(flag)),
        _ => Err("true or false"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_numbers_unless_something_would_be_lost() {
        for (text, value) in [
            ("", FeatureValue::Missing),
            ("  ", FeatureValue::Missing),
            ("31", FeatureValue::Integer(31)),
            ("-4", FeatureValue::Integer(-4)),
            ("0", FeatureValue::Integer(0)),
            (" 2.50 ", FeatureValue::Number(2.5)),
            (".5", FeatureValue::Number(0.5)),
            ("0.25", FeatureValue::Number(0.25)),
            ("1e3", FeatureValue::Number(1000.0)),
            ("True", FeatureValue::Flag(true)),
            ("007", "007".into()),
            ("-007", "-007".into()),
            ("12345678901234567890", "12345678901234567890".into()),
            ("1e999", "1e999".into()),
            ("2026-11-16", "2026-11-16".into()),
            ("NA", "NA".into()),
            ("nan", "nan".into()),
            ("inf", "inf".into()),
            ("-", "-".into()),
            ("12,5", "12,5".into()),
        ] {
            assert_eq!(typed_cell(text), value, "{text:?}");
        }
    }
}
