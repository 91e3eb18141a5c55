//! Makes digests from numbers.

use super::{Kernel, Method, Planes, VectorKind};
use crate::{
    Digest, Facts, Unfit,
    cosine::{Flaw, MAX_DIMENSIONS, Vector},
    kind::{Digester, Input},
};

/// Makes digests of vectors.
pub(super) struct VectorDigester<'a> {
    kind: &'a VectorKind,
    /// The hyperplanes for the dimensions of the last vector.
    planes: Option<Planes>,
    numbers: Vec<f64>,
}

impl<'a> VectorDigester<'a> {
    pub fn new(kind: &'a VectorKind) -> Self {
        Self { kind, planes: None, numbers: Vec::new() }
    }

    fn of_numbers(&mut self, numbers: &[f64]) -> Result<Digest, Unfit> {
        check(numbers, self.kind.dimensions)?;
        let mut bytes = Vec::with_capacity(8 + 2 * numbers.len());
        Vector::write(numbers, &mut bytes).map_err(unfit)?;
        match self.kind.method {
            Method::Cosine => Ok(Digest { extra: bytes, ..Digest::default() }),
            Method::Hyperplanes => {
                let vector = Vector::read(&bytes).expect("it was written");
                let planes = match self.planes.take() {
                    Some(planes) if planes.dimensions() == numbers.len() => planes,
                    _ => Planes::new(numbers.len()),
                };
                let print = planes.print(&vector, Kernel::detect());
                self.planes = Some(planes);
                Ok(Digest::of_print(print))
            }
        }
    }
}

impl Digester for VectorDigester<'_> {
    fn digest(&mut self, input: Input<'_>) -> Result<(Digest, Facts), Unfit> {
        let digest = match input {
            Input::Vector(numbers) => self.of_numbers(numbers)?,
            Input::Text(text) => {
                let mut numbers = std::mem::take(&mut self.numbers);
                let digest =
                    read_numbers(text, &mut numbers).and_then(|()| self.of_numbers(&numbers));
                self.numbers = numbers;
                digest?
            }
            _ => {
                let message = "not a vector; give a list of numbers".to_owned();
                return Err(Unfit { reason: "of another type", message });
            }
        };
        Ok((digest, Facts::default()))
    }
}

/// Returns an error if the numbers have other dimensions, or no direction.
///
/// ```
/// use lookalike::kind::vector::check;
///
/// assert!(check(&[0.5, -2.0], Some(2)).is_ok());
/// assert!(check(&[0.5, -2.0], Some(3)).is_err());
/// assert!(check(&[0.0, 0.0], None).is_err());
/// ```
pub fn check(numbers: &[f64], dimensions: Option<u32>) -> Result<(), Unfit> {
    if let Some(dimensions) = dimensions
        && numbers.len() != dimensions as usize
    {
        let has = numbers.len();
        let message = format!("a vector of {has} dimensions, but the others have {dimensions}");
        return Err(Unfit { reason: OTHER_DIMENSIONS, message });
    }
    Vector::check(numbers).map_err(unfit).map(drop)
}

const NOT_A_DIRECTION: &str = "without a direction";
const OTHER_DIMENSIONS: &str = "of other dimensions";

/// Reads a list such as `[0.5, -1, 2e-3]`, with or without brackets.
fn read_numbers(text: &str, numbers: &mut Vec<f64>) -> Result<(), Unfit> {
    numbers.clear();
    let list = text.trim();
    let list = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(list);
    for number in list.split(',') {
        let number = number.trim().parse().map_err(|_| Unfit {
            reason: "not a number",
            message: format!(
                "not a vector: {:?} is no number; write [0.5, -1, 2e-3]",
                number.trim()
            ),
        })?;
        numbers.push(number);
    }
    Ok(())
}

fn unfit(flaw: Flaw) -> Unfit {
    let (reason, message) = match flaw {
        Flaw::TooFew(count) => {
            (NOT_A_DIRECTION, format!("a vector of {count} dimensions; a cosine needs at least 2"))
        }
        Flaw::TooMany(count) => {
            ("too long", format!("a vector of {count} dimensions; at most {MAX_DIMENSIONS}"))
        }
        Flaw::NotFinite(at) => {
            ("not a number", format!("number {} of the vector is NaN or infinite", at + 1))
        }
        Flaw::Zero => {
            (NOT_A_DIRECTION, "a zero vector has no direction, so it matches nothing".to_owned())
        }
    };
    Unfit { reason, message }
}
