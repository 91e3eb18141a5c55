//! Reads the wanted fields of JSON lines and skips all others.
//!
//! Strings without escapes are borrowed from the line.

use std::{borrow::Cow, fmt};

use encoding_rs::Encoding;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Value as Json, value::RawValue};

use super::{
    Reason, charset,
    field::{FieldNames, FieldValues, RowResult, Value},
    records::{without_end, without_mark},
};

/// Reads one line; none if it is blank.
pub fn parse<'a>(
    record: &'a [u8],
    wanted: &FieldNames,
    encoding: Option<&'static Encoding>,
) -> RowResult<'a> {
    let line = without_mark(without_end(record)).trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    match charset::decode_record(line, encoding) {
        (Cow::Borrowed(line), _) => parse_text(line, wanted),
        (Cow::Owned(line), repair) => {
            let found = parse_text(&line, wanted)?.map(|found| found.into_owned());
            Ok(found.map(|found| super::field::ParsedRow { repair, ..found }))
        }
    }
}

/// The names of the fields of the first line, if it is a complete object.
pub fn columns(start: &[u8], encoding: Option<&'static Encoding>) -> Vec<String> {
    let lines = without_mark(start).split(|&byte| byte == b'\n').map(|line| line.trim_ascii());
    let first = lines.into_iter().find(|line| !line.is_empty()).unwrap_or_default();
    names(&charset::decode_record(first, encoding).0)
}

/// Parses an id. Numbers that are not unsigned 64-bit integers stay as written.
pub fn parse_id(id: &RawValue) -> serde_json::Result<Value<'_>> {
    let text = id.get();
    match text.parse() {
        Ok(number) => Ok(Value::Unsigned(number)),
        Err(_) if text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
            Ok(Value::OtherNumber(text))
        }
        Err(_) => serde_json::from_str(text),
    }
}

/// Parses features in a cell of a table.
pub fn parse_value(text: &str) -> Option<Value<'static>> {
    match serde_json::from_str::<Json>(text).ok()? {
        Json::Array(list) => Some(features_of_list(list)),
        Json::Object(map) => Some(features_of_map(map)),
        _ => None,
    }
}

fn parse_text<'a>(line: &'a str, wanted: &FieldNames) -> RowResult<'a> {
    if !line.starts_with('{') {
        let what = "is not a JSON object; write one object per line, such as {\"text\":\"...\"}";
        return Err((Reason::Broken, what.to_owned()));
    }
    let values = read_fields(line, wanted).map_err(|error| {
        let (what, column) = (error.to_string(), error.column());
        let what = what.split(" at line").next().unwrap_or_default();
        (Reason::Broken, format!("invalid JSON: {what} at column {column}"))
    })?;
    wanted.item(values, || names(line))
}

fn names(line: &str) -> Vec<String> {
    match serde_json::from_str(line) {
        Ok(Json::Object(map)) => map.into_iter().map(|(name, _)| name).collect(),
        _ => Vec::new(),
    }
}

fn read_fields<'a>(line: &'a str, wanted: &FieldNames) -> serde_json::Result<FieldValues<'a>> {
    let mut targets = vec![Target { path: &wanted.text, slot: Slot::Text }];
    targets.extend(wanted.id.iter().map(|path| Target { path, slot: Slot::Id }));
    let keys = wanted.keys.iter().enumerate();
    targets.extend(keys.map(|(number, path)| Target { path, slot: Slot::Key(number) }));
    let mut values = FieldValues { keys: vec![None; wanted.keys.len()], ..FieldValues::default() };
    let mut reader = serde_json::Deserializer::from_str(line);
    Object { targets: &targets, values: &mut values }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(values)
}

/// A wanted field, by its path from the current object: `a.b` is field `b` of the object `a`.
#[derive(Clone, Copy)]
struct Target<'w> {
    path: &'w str,
    slot: Slot,
}

#[derive(Clone, Copy, PartialEq)]
enum Slot {
    Text,
    Id,
    /// The key with this number.
    Key(usize),
}

impl<'a> FieldValues<'a> {
    fn set(&mut self, slot: Slot, value: Value<'a>) {
        match slot {
            Slot::Text => self.text = Some(value),
            Slot::Id => self.id = Some(value),
            Slot::Key(number) => self.keys[number] = Some(value),
        }
    }
}

/// Reads the wanted fields of one object. FieldValues that are not objects have none.
struct Object<'w, 'v, 'a> {
    targets: &'w [Target<'w>],
    values: &'v mut FieldValues<'a>,
}

impl<'de> DeserializeSeed<'de> for Object<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(hit) = map.next_key_seed(Name { targets: self.targets })? {
            if !hit.here.is_empty() {
                let value: Value<'de> = match hit.here.contains(&Slot::Id) {
                    true => parse_id(map.next_value()?).map_err(A::Error::custom)?,
                    false => map.next_value()?,
                };
                hit.here.iter().for_each(|&slot| self.values.set(slot, value.clone()));
            } else if !hit.inside.is_empty() {
                map.next_value_seed(Object { targets: &hit.inside, values: self.values })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Matches the name of a field with the targets, without keeping the name.
struct Name<'w> {
    targets: &'w [Target<'w>],
}

/// The targets that are this field, and those inside it.
struct Hit<'w> {
    here: Vec<Slot>,
    inside: Vec<Target<'w>>,
}

impl<'de, 'w> DeserializeSeed<'de> for Name<'w> {
    type Value = Hit<'w>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Hit<'w>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'w> Visitor<'_> for Name<'w> {
    type Value = Hit<'w>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Hit<'w>, E> {
        let mut hit = Hit { here: Vec::new(), inside: Vec::new() };
        for &Target { path, slot } in self.targets {
            match path.strip_prefix(name) {
                Some("") => hit.here.push(slot),
                Some(rest) => {
                    let inside = rest.strip_prefix('.').map(|path| Target { path, slot });
                    hit.inside.extend(inside);
                }
                None => {}
            }
        }
        Ok(hit)
    }
}

impl<'de> Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value<'de>, E> {
        Ok(Value::Unsigned(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value<'de>, E> {
        Ok(Value::Number(number as f64, number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value<'de>, E> {
        Ok(Value::Number(number, number.to_string()))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Value<'de>, E> {
        Ok(Value::Other("true or false"))
    }

    fn visit_unit<E: Error>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = seq.next_element()? {
            list.push(element);
        }
        Ok(features_of_list(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        let mut features = serde_json::Map::new();
        while let Some((name, weight)) = map.next_entry()? {
            features.insert(name, weight);
        }
        Ok(features_of_map(features))
    }
}

/// `[["feature", 2.5], "feature"]`: a feature without a weight has weight 1.
fn features_of_list(list: Vec<Json>) -> Value<'static> {
    let text = |element: &Json| element.as_str().map(str::to_owned);
    if !list.is_empty()
        && let Some(texts) = list.iter().map(text).collect()
    {
        return Value::Texts(texts);
    }
    if let Some(numbers) = numbers_of_list(&list) {
        return numbers;
    }
    let feature = |element: Json| match element {
        Json::String(name) => Some((name, 1.0)),
        Json::Array(mut pair) if pair.len() == 2 => {
            let weight = pair.pop()?.as_f64()?;
            Some((feature_name(pair.pop()?)?, weight))
        }
        _ => None,
    };
    let features: Option<Vec<_>> = list.into_iter().map(feature).collect();
    features.map_or(Value::Other("a list, but not of [feature, weight]"), Value::Features)
}

/// `[0.5, -1]`
fn numbers_of_list(list: &[Json]) -> Option<Value<'static>> {
    let is_number = |element: &&Json| element.is_number();
    if list.iter().any(|element| !element.is_number() && !element.is_null()) {
        return None;
    }
    list.iter().find(is_number)?;
    let numbers: Option<Vec<f64>> = list.iter().map(Json::as_f64).collect();
    Some(numbers.map_or(Value::Other("a list of numbers with null in it"), Value::Numbers))
}

/// `{"feature": 2.5}`
fn features_of_map(map: serde_json::Map<String, Json>) -> Value<'static> {
    let features: Option<Vec<_>> =
        map.into_iter().map(|(name, weight)| Some((name, weight.as_f64()?))).collect();
    features.map_or(Value::Other("an object, but not of feature: weight"), Value::Features)
}

fn feature_name(value: Json) -> Option<String> {
    match value {
        Json::String(name) => Some(name),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::field::{Content, Key, ParsedRow, RowId},
        *,
    };

    fn wanted(text: &str) -> FieldNames {
        FieldNames {
            text: text.into(),
            id: Some("id".into()),
            keys: vec!["meta.date".into()],
            vectors: None,
        }
    }

    fn read<'a>(line: &'a str, text: &str) -> ParsedRow<'a> {
        parse(line.as_bytes(), &wanted(text), None).unwrap().unwrap()
    }

    fn refused(line: &[u8]) -> String {
        parse(line, &wanted("text"), None).unwrap_err().1
    }

    #[test]
    fn finds_wanted_fields_in_any_order() {
        let line = "{\"x\":[1,{\"text\":2}],\"meta\":{\"id\":9,\"date\":\"2020\"},\"id\":7,\
                    \"text\":\"a \\\"b\\\" \\u00e9\"}\r\n";
        let found = read(line, "text");
        assert_eq!(found.content, Content::Text("a \"b\" é".into()));
        assert_eq!(found.id, RowId::Number(7));
        assert_eq!(found.keys, [Some(Key::Text("2020".into()))]);
    }

    #[test]
    fn path_leads_into_objects_and_names_may_have_dots() {
        let nested = "{\"a\":{\"b\":{\"c\":\"deep\"}}}";
        assert_eq!(read(nested, "a.b.c").content, Content::Text("deep".into()));
        let dotted = "{\"a\":{\"b.c\":\"flat\"}}";
        assert_eq!(read(dotted, "a.b.c").content, Content::Text("flat".into()));
        assert!(parse(b"{\"a\":\"b\"}", &wanted("a.b"), None).is_err());
    }

    #[test]
    fn borrows_text_without_escapes() {
        let line = "{\"text\":\"plain\"}";
        assert!(matches!(read(line, "text").content, Content::Text(Cow::Borrowed("plain"))));
    }

    #[test]
    fn reads_features_from_lists_and_objects() {
        let expected = Content::Features(vec![("a".into(), 2.0), ("b".into(), 0.5)]);
        for line in [
            r#"{"f":[["a",2],["b",0.5]]}"#,
            r#"{"f":{"a":2,"b":0.5}}"#,
            r#" {"f":{"a":2,"b":5e-1}} "#,
        ] {
            assert_eq!(read(line, "f").content, expected);
        }
        let unweighted = Content::Features(vec![("a".into(), 1.0), ("7".into(), 3.0)]);
        assert_eq!(read(r#"{"f":["a",[7,3]]}"#, "f").content, unweighted);
    }

    #[test]
    fn errors_name_the_problem_and_a_remedy() {
        let lines: [(&[u8], &str); 8] = [
            (b"{\"text\":\"a", "invalid JSON: EOF while parsing a string at column 10"),
            (b"{\"text\":\"a\"} x", "invalid JSON: trailing characters at column 14"),
            (b"[1]", "is not a JSON object; write one object per line, such as {\"text\":\"...\"}"),
            (b"{\"id\":1,\"b\":2}", "no field text; choose one with --field: b, id"),
            (b"{}", "no field text: the row has no fields"),
            (b"{\"text\":null}", "the field text is null"),
            (
                b"{\"text\":5}",
                "the field text is a number; write a string or a list of [feature, weight]",
            ),
            (
                b"{\"text\":[[1,2,3]]}",
                "the field text is a list, but not of [feature, weight]; \
                 write a string or a list of [feature, weight]",
            ),
        ];
        for (line, message) in lines {
            assert_eq!(refused(line), message);
        }
        assert_eq!(parse(b" \r\n", &wanted("text"), None), Ok(None));
    }

    #[test]
    fn decodes_invalid_utf8_and_survives_deep_nesting() {
        let found = parse(b"{\"text\":\"caf\xe9\"}", &wanted("text"), None).unwrap().unwrap();
        assert_eq!(found.content, Content::Text("café".into()));
        assert_eq!(found.repair, charset::Repair::Detected(encoding_rs::WINDOWS_1252));
        let deep = format!("{{\"x\":{}", "[".repeat(100_000));
        assert!(refused(deep.as_bytes()).starts_with("invalid JSON: "));
    }
}
