//! How do bytes travel in text? Base64 (RFC 4648, section 4).

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0, |sum, at| sum << 8 | usize::from(*three.get(at).unwrap_or(&0)));
        for digit in 0..4 {
            let padded = digit > three.len();
            let value = DIGITS[number >> (18 - 6 * digit) & 63] as char;
            text.push(if padded { '=' } else { value });
        }
    }
    text
}

/// `None` if it is something else.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let (fours, rest) = text.as_bytes().as_chunks::<4>();
    let mut bytes = Vec::with_capacity(3 * fours.len());
    for (at, four) in fours.iter().enumerate() {
        let padded = four.iter().rev().take_while(|&&digit| digit == b'=').count();
        if padded > 2 || padded > 0 && at + 1 < fours.len() {
            return None;
        }
        let mut number = 0_u32;
        for digit in &four[..4 - padded] {
            let value = DIGITS.iter().position(|known| known == digit)?;
            number = number << 6 | value as u32;
        }
        let three = (number << (6 * padded)).to_be_bytes();
        bytes.extend_from_slice(&three[1..4 - padded]);
    }
    rest.is_empty().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard_go_both_ways() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Some(all));
        for wrong in ["Zg", "Z===", "Zg==Zg==", "Z\u{e4}g"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
