//! Numbers and sizes in messages.

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (position, digit) in digits.char_indices() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with a noun: `1 pair`, `2,000 pairs`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// A size in bytes as `1.5 GiB`.
pub fn bytes(count: u64) -> String {
    scaled(count as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
}

/// Items per second as `2.4 M items/s`.
pub fn rate(per_second: f64) -> String {
    format!("{} items/s", scaled(per_second, 1000.0, &["", "k", "M", "G"]).trim_end())
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < 100.0);
    format!("{value:.decimals$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_digits_by_three() {
        let texts = [0, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn one_is_singular() {
        let texts = [0, 1, 1_000].map(|number| counted(number, "pair"));
        assert_eq!(texts, ["0 pairs", "1 pair", "1,000 pairs"]);
    }

    #[test]
    fn sizes_and_rates_have_units() {
        assert_eq!(
            [0, 1_023, 1_536, 17 << 30].map(bytes),
            ["0 B", "1023 B", "1.5 KiB", "17.0 GiB"]
        );
        assert_eq!([12.0, 2_400_000.0].map(rate), ["12 items/s", "2.4 M items/s"]);
    }
}
