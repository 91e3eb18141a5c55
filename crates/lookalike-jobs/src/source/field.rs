//! The fields of a row that are read: the text or features, the id, and keys to order rows by.

use std::{borrow::Cow, cmp::Ordering};

use lookalike::kind::vector;

use super::{Reason, Refusal, charset::Repair, hashes::shortened};

/// Text fields to try if the user names none, in this order.
const DEFAULT_TEXT_FIELDS: [&str; 3] = ["text", "content", "body"];

/// The same for vectors.
const DEFAULT_VECTOR_FIELDS: [&str; 3] = ["embedding", "vector", "embeddings"];

/// The id field if the user names none.
const DEFAULT_ID_FIELD: &str = "id";

/// The content of an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Content<'a> {
    Text(Cow<'a, str>),
    /// Features with their weights, as given.
    Features(Vec<(String, f64)>),
    Vector(Vec<f64>),
}

/// A value to order rows by. Numbers come before texts.
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

/// The id of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum RowId<'a> {
    Given(Cow<'a, str>),
    Number(u64),
    /// Any other JSON number, as written.
    OtherNumber(Cow<'a, str>),
    /// No id: the row is identified by its position.
    None,
}

/// The value of one field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Text(Cow<'a, str>),
    Unsigned(u64),
    /// Another number, and how it is written.
    Number(f64, String),
    /// Another number, as written in JSON.
    OtherNumber(&'a str),
    Features(Vec<(String, f64)>),
    /// A list of texts, which may be features or parts of a text.
    Texts(Vec<String>),
    /// A list of numbers alone.
    Numbers(Vec<f64>),
    Other(&'static str),
}

/// The names of the fields to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldNames {
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

/// The values of the wanted fields; `None` for a missing field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldValues<'a> {
    pub text: Option<Value<'a>>,
    pub id: Option<Value<'a>>,
    pub keys: Vec<Option<Value<'a>>>,
}

/// A row that is an item.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedRow<'a> {
    pub content: Content<'a>,
    pub id: RowId<'a>,
    pub keys: Vec<Option<Key>>,
    /// How the text was decoded.
    pub repair: Repair,
    /// Whether the content is HTML; `None` if only the user knows.
    pub html: Option<bool>,
    /// The modification time in nanoseconds since 1970.
    pub modified: Option<i64>,
}

/// An item, or none (a blank line), or why the row cannot be read.
pub type RowResult<'a> = Result<Option<ParsedRow<'a>>, Refusal>;

impl<'a> ParsedRow<'a> {
    /// An item with only a text.
    pub fn text(text: impl Into<Cow<'a, str>>, repair: Repair) -> Self {
        let content = Content::Text(text.into());
        Self { content, id: RowId::None, keys: Vec::new(), repair, html: None, modified: None }
    }

    pub fn into_owned(self) -> ParsedRow<'static> {
        let content = match self.content {
            Content::Text(text) => Content::Text(text.into_owned().into()),
            Content::Features(features) => Content::Features(features),
            Content::Vector(numbers) => Content::Vector(numbers),
        };
        let id = match self.id {
            RowId::Given(id) => RowId::Given(id.into_owned().into()),
            RowId::OtherNumber(digits) => RowId::OtherNumber(digits.into_owned().into()),
            RowId::Number(number) => RowId::Number(number),
            RowId::None => RowId::None,
        };
        ParsedRow { content, id, ..self }
    }
}

impl FieldNames {
    /// Chooses the fields to read from rows with these columns. The note says if another text field
    /// than `text` was chosen.
    pub fn choose(
        text: Option<&str>,
        id: Option<&str>,
        keys: &[String],
        columns: &[String],
        vectors: Option<Vectors>,
    ) -> (Self, Option<String>) {
        let has = |name: &&str| columns.iter().any(|column| column == name);
        let names = if vectors.is_some() { DEFAULT_VECTOR_FIELDS } else { DEFAULT_TEXT_FIELDS };
        let [first, ..] = names;
        let guessed = names.into_iter().find(has).unwrap_or(first);
        let note = (text.is_none() && guessed != first).then(|| {
            format!(
                "note: no field {first}; using the field {guessed}; choose another with --field"
            )
        });
        let wanted = Self {
            text: text.unwrap_or(guessed).to_owned(),
            id: Some(id.unwrap_or(DEFAULT_ID_FIELD).to_owned()),
            keys: keys.to_vec(),
            vectors,
        };
        (wanted, note)
    }

    /// Makes an item of the values. If the text is missing, the message lists the columns.
    pub fn item<'a>(
        &self,
        values: FieldValues<'a>,
        columns: impl FnOnce() -> Vec<String>,
    ) -> RowResult<'a> {
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
            Some(Value::Unsigned(_) | Value::Number(..) | Value::OtherNumber(_)) => {
                return Err(self.wrong("a number"));
            }
            Some(Value::Other(what)) => return Err(self.wrong(what)),
            None => return Err((Reason::NoField, no_field(&self.text, &columns()))),
        };
        let row = ParsedRow::text("", Repair::None);
        let id = values.id.map_or(RowId::None, row_id);
        let keys = values.keys.into_iter().map(|value| value.and_then(key)).collect();
        Ok(Some(ParsedRow { content, id, keys, ..row }))
    }

    fn wrong(&self, what: &str) -> Refusal {
        let remedy = match self.vectors {
            Some(_) => "write a list of numbers",
            None => "write a string or a list of [feature, weight]",
        };
        (Reason::WrongType, format!("the field {} is {what}; {remedy}", self.text))
    }
}

/// Whether a list of texts in this field is a list of features.
pub fn is_features(field: &str) -> bool {
    field.rsplit('.').next() == Some("features")
}

/// The message for a list of texts in a field that is not named `features`.
pub fn list_of_texts(field: &str) -> String {
    format!(
        "the field {field} is a list of strings; join them into one string, or name the field \
         features if each is a feature"
    )
}

/// The message for rows that have these columns, but not the wanted one.
pub fn no_field(name: &str, columns: &[String]) -> String {
    const SHOWN: usize = 8;
    let mut shown: Vec<_> = columns.iter().take(SHOWN).map(|name| shortened(name)).collect();
    if columns.len() > SHOWN {
        shown.push("...".to_owned());
    }
    match shown.is_empty() {
        true => format!("no field {name}: the row has no fields"),
        false => format!("no field {name}; choose one with --field: {}", shown.join(", ")),
    }
}

/// The id of a row from the value of its id field.
pub fn row_id(value: Value<'_>) -> RowId<'_> {
    match value {
        Value::Text(text) => RowId::Given(text),
        Value::Unsigned(number) => RowId::Number(number),
        Value::Number(_, text) => RowId::Given(text.into()),
        Value::OtherNumber(digits) => RowId::OtherNumber(digits.into()),
        Value::Null
        | Value::Features(_)
        | Value::Texts(_)
        | Value::Numbers(_)
        | Value::Other(_) => RowId::None,
    }
}

fn key(value: Value<'_>) -> Option<Key> {
    match value {
        Value::Text(text) => Some(Key::Text(text.into_owned())),
        Value::Unsigned(number) => Some(Key::Number(number as f64)),
        Value::Number(number, _) => Some(Key::Number(number)),
        Value::OtherNumber(digits) => digits.parse().ok().map(Key::Number),
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
    fn reads_text_unless_another_field_is_named_or_guessed() {
        let choose = |named, columns: &[&str]| {
            let columns: Vec<_> = columns.iter().map(|&name| name.to_owned()).collect();
            let (wanted, note) = FieldNames::choose(named, None, &[], &columns, None);
            (wanted.text, note.is_some())
        };
        assert_eq!(choose(None, &["body", "text"]), ("text".into(), false));
        assert_eq!(choose(None, &["body", "content"]), ("content".into(), true));
        assert_eq!(choose(Some("x"), &["body"]), ("x".into(), false));
        assert_eq!(choose(None, &["title"]), ("text".into(), false));
    }

    #[test]
    fn numbers_sort_before_texts() {
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
