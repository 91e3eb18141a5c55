//! What does a row say? The text or the features of one field, an id, keys to order rows by.

use std::{borrow::Cow, cmp::Ordering};

use lookalike::kind::vector;

use super::{Reason, Refusal, charset::Repair, hashes::shortened};

/// Names of text fields that are taken if none is named, the likeliest first.
const USUAL: [&str; 3] = ["text", "content", "body"];

/// The same for vectors.
const USUAL_VECTORS: [&str; 3] = ["embedding", "vector", "embeddings"];

/// The field that is taken for an id if none is named.
const USUAL_ID: &str = "id";

/// What an item is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Content<'a> {
    Text(Cow<'a, str>),
    /// Features with their weights, as they were given.
    Features(Vec<(String, f64)>),
    Vector(Vec<f64>),
}

/// What rows can be ordered by: numbers come before texts.
#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    Number(f64),
    Text(String),
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
        }
    }
}

/// What a row calls itself.
#[derive(Clone, Debug, PartialEq)]
pub enum RowId<'a> {
    Given(Cow<'a, str>),
    Number(u64),
    /// A number that is not of 64 bits without a sign, as JSON has it.
    Numeral(Cow<'a, str>),
    /// Nothing: it goes by its place.
    Place,
}

/// The value of one field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Text(Cow<'a, str>),
    Unsigned(u64),
    /// A number of another kind, and how it is written.
    Number(f64, String),
    /// The same, as it stands in JSON.
    Numeral(&'a str),
    Features(Vec<(String, f64)>),
    /// A list of texts alone, which may be features or pieces of one text.
    Texts(Vec<String>),
    /// A list of numbers alone.
    Numbers(Vec<f64>),
    Other(&'static str),
}

/// Which fields of a row are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub text: String,
    pub id: Option<String>,
    pub keys: Vec<String>,
    /// The vectors that the field must hold, if it holds such.
    pub vectors: Option<Vectors>,
}

/// What vectors must be like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vectors {
    /// The number of dimensions, once it is known.
    pub dimensions: Option<u32>,
}

/// The values of the wanted fields; `None` where there is no such field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values<'a> {
    pub text: Option<Value<'a>>,
    pub id: Option<Value<'a>>,
    pub keys: Vec<Option<Value<'a>>>,
}

/// A row that is an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<'a> {
    pub content: Content<'a>,
    pub id: RowId<'a>,
    pub keys: Vec<Option<Key>>,
    /// What had to be done to read it as text.
    pub repair: Repair,
    /// Whether the content is known to be no HTML, or to be such; `None`: as the user says.
    pub html: Option<bool>,
    /// When it was made, in nanoseconds since 1970.
    pub modified: Option<i64>,
}

/// An item, or no item at all (a blank line), or why it cannot be read.
pub type Outcome<'a> = Result<Option<Found<'a>>, Refusal>;

impl<'a> Found<'a> {
    /// An item that has a text and nothing else.
    pub fn text(text: impl Into<Cow<'a, str>>, repair: Repair) -> Self {
        let content = Content::Text(text.into());
        Self { content, id: RowId::Place, keys: Vec::new(), repair, html: None, modified: None }
    }

    pub fn into_owned(self) -> Found<'static> {
        let content = match self.content {
            Content::Text(text) => Content::Text(text.into_owned().into()),
            Content::Features(features) => Content::Features(features),
            Content::Vector(numbers) => Content::Vector(numbers),
        };
        let id = match self.id {
            RowId::Given(id) => RowId::Given(id.into_owned().into()),
            RowId::Numeral(digits) => RowId::Numeral(digits.into_owned().into()),
            RowId::Number(number) => RowId::Number(number),
            RowId::Place => RowId::Place,
        };
        Found { content, id, ..self }
    }
}

impl Wanted {
    /// The fields to read from rows that have `columns`; a guessed name comes with a note.
    pub fn choose(
        text: Option<&str>,
        id: Option<&str>,
        keys: &[String],
        columns: &[String],
        vectors: Option<Vectors>,
    ) -> (Self, Option<String>) {
        let has = |name: &&str| columns.iter().any(|column| column == name);
        let names = if vectors.is_some() { USUAL_VECTORS } else { USUAL };
        let [usual, ..] = names;
        let guessed = names.into_iter().find(has).unwrap_or(usual);
        let note = (text.is_none() && guessed != usual).then(|| {
            format!("note: rows have no field {usual}, so {guessed} is read; --field names another")
        });
        let wanted = Self {
            text: text.unwrap_or(guessed).to_owned(),
            id: Some(id.unwrap_or(USUAL_ID).to_owned()),
            keys: keys.to_vec(),
            vectors,
        };
        (wanted, note)
    }

    /// Makes an item of the values; `columns` are listed if the text is not among them.
    pub fn found<'a>(
        &self,
        values: Values<'a>,
        columns: impl FnOnce() -> Vec<String>,
    ) -> Outcome<'a> {
        let content = match values.text {
            Some(Value::Numbers(numbers)) if self.vectors.is_some() => {
                let dimensions = self.vectors.and_then(|vectors| vectors.dimensions);
                vector::check(&numbers, dimensions)
                    .map_err(|unfit| (Reason::named(unfit.reason), unfit.message))?;
                Content::Vector(numbers)
            }
            Some(Value::Numbers(_)) => {
                let what = format!(
                    "the field {} is a list of numbers; --kind vector compares vectors",
                    self.text
                );
                return Err((Reason::WrongType, what));
            }
            Some(Value::Text(_)) if self.vectors.is_some() => return Err(self.wrong("a text")),
            Some(Value::Features(_) | Value::Texts(_)) if self.vectors.is_some() => {
                return Err(self.wrong("a list, but not of numbers"));
            }
            Some(Value::Text(text)) => Content::Text(text),
            Some(Value::Features(features)) => Content::Features(features),
            Some(Value::Texts(texts)) if is_features(&self.text) => {
                Content::Features(texts.into_iter().map(|text| (text, 1.0)).collect())
            }
            Some(Value::Texts(_)) => return Err((Reason::WrongType, list_of_texts(&self.text))),
            Some(Value::Null) => {
                return Err((Reason::NoField, format!("the field {} is null", self.text)));
            }
            Some(Value::Unsigned(_) | Value::Number(..) | Value::Numeral(_)) => {
                return Err(self.wrong("a number"));
            }
            Some(Value::Other(what)) => return Err(self.wrong(what)),
            None => return Err((Reason::NoField, no_field(&self.text, &columns()))),
        };
        let found = Found::text("", Repair::None);
        let id = values.id.map_or(RowId::Place, row_id);
        let keys = values.keys.into_iter().map(|value| value.and_then(key)).collect();
        Ok(Some(Found { content, id, keys, ..found }))
    }

    fn wrong(&self, what: &str) -> Refusal {
        let how = match self.vectors {
            Some(_) => "write a list of numbers",
            None => "write a text, or a list of [feature, weight]",
        };
        (Reason::WrongType, format!("the field {} is {what}; {how}", self.text))
    }
}

/// Whether a list of texts in this field is one of features.
pub fn is_features(field: &str) -> bool {
    field.rsplit('.').next() == Some("features")
}

/// What to say of a list of texts in a field that is not said to hold features.
pub fn list_of_texts(field: &str) -> String {
    format!(
        "the field {field} is a list of texts; join them to one text, or call the field features if \
         each is a feature"
    )
}

/// What to say if rows have these columns, but not the one that was asked for.
pub fn no_field(name: &str, columns: &[String]) -> String {
    const SHOWN: usize = 8;
    let mut shown: Vec<_> = columns.iter().take(SHOWN).map(|name| shortened(name)).collect();
    if columns.len() > SHOWN {
        shown.push("...".to_owned());
    }
    match shown.is_empty() {
        true => format!("there is no field {name}, nor any other"),
        false => format!("no field {name}; name one with --field: {}", shown.join(", ")),
    }
}

/// What a row calls itself whose id is this.
pub fn row_id(value: Value<'_>) -> RowId<'_> {
    match value {
        Value::Text(text) => RowId::Given(text),
        Value::Unsigned(number) => RowId::Number(number),
        Value::Number(_, text) => RowId::Given(text.into()),
        Value::Numeral(digits) => RowId::Numeral(digits.into()),
        Value::Null
        | Value::Features(_)
        | Value::Texts(_)
        | Value::Numbers(_)
        | Value::Other(_) => RowId::Place,
    }
}

fn key(value: Value<'_>) -> Option<Key> {
    match value {
        Value::Text(text) => Some(Key::Text(text.into_owned())),
        Value::Unsigned(number) => Some(Key::Number(number as f64)),
        Value::Number(number, _) => Some(Key::Number(number)),
        Value::Numeral(digits) => digits.parse().ok().map(Key::Number),
        Value::Null
        | Value::Features(_)
        | Value::Texts(_)
        | Value::Numbers(_)
        | Value::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_unless_another_field_is_named_or_must_be_guessed() {
        let choose = |said, columns: &[&str]| {
            let columns: Vec<_> = columns.iter().map(|&name| name.to_owned()).collect();
            let (wanted, note) = Wanted::choose(said, None, &[], &columns, None);
            (wanted.text, note.is_some())
        };
        assert_eq!(choose(None, &["body", "text"]), ("text".into(), false));
        assert_eq!(choose(None, &["body", "content"]), ("content".into(), true));
        assert_eq!(choose(Some("x"), &["body"]), ("x".into(), false));
        assert_eq!(choose(None, &["title"]), ("text".into(), false));
    }

    #[test]
    fn keys_order_numbers_before_texts() {
        let mut keys = vec![
            Key::Text("b".into()),
            Key::Number(10.0),
            Key::Text("a".into()),
            Key::Number(-2.0),
        ];
        keys.sort();
        let expected =
            [Key::Number(-2.0), Key::Number(10.0), Key::Text("a".into()), Key::Text("b".into())];
        assert_eq!(keys, expected);
    }
}
