//! Exceptions: one class for each kind of error, with the message of the command line.

use std::{error::Error, fmt::Display};

use lookalike::{
    collection::CollectionError, extract::ExtractError, features::WeightError,
    fingerprint::FingerprintError, hash::HashError, index::IndexError, model::ModelError,
    pairs::PairsError, recipe::RecipeError, stop_words::StopWordsError,
};
use lookalike_jobs::{ArgumentError, options::options_of};
use pyo3::{prelude::*, types::PyModule};

/// Maps an error of the library to its class in `lookalike.errors`.
pub trait Kind: Error {
    const CLASS: &'static str;
}

macro_rules! kinds {
    ($($error:ty => $class:literal),* $(,)?) => {
        $(impl Kind for $error { const CLASS: &'static str = $class; })*

        /// The class of an error of the library; `None` for other errors.
        fn class_of_cause(cause: &(dyn Error + 'static)) -> Option<&'static str> {
            $(if cause.is::<$error>() { return Some($class); })*
            None
        }
    };
}

kinds! {
    CollectionError => "CollectionError",
    ExtractError => "ExtractError",
    FingerprintError => "FingerprintError",
    HashError => "HashError",
    IndexError => "SearchError",
    ModelError => "ModelError",
    PairsError => "PairsError",
    RecipeError => "RecipeError",
    StopWordsError => "StopWordsError",
    WeightError => "WeightError",
}

/// Converts an error of the library to its exception.
pub trait OrRaise<T> {
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: Kind> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| exception(E::CLASS, &with_causes(&error)))
    }
}

/// An error of a job, with options in Python's spelling.
pub fn command_line(error: &anyhow::Error) -> PyErr {
    exception(class_of(error), &in_python(&lookalike_jobs::message(error)))
}

/// Rewrites options in Python's spelling: `--max-remove 1` is `max_remove=1`, `--strict` is
/// `strict=True`.
pub fn in_python(message: &str) -> String {
    let options = options_of("dedup");
    let mut words = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once("--") {
        words.push_str(before);
        let end = after.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(after.len());
        let (name, behind) = after.split_at(end);
        let name = name.trim_end_matches('-').replace('-', "_");
        let Some(option) = options.iter().find(|option| option.name == name) else {
            words.push_str("--");
            rest = after;
            continue;
        };
        words.push_str(&name);
        rest = behind;
        if option.is_switch {
            words.push_str("=True");
            continue;
        }
        words.push('=');
        if let Some((value, behind)) = behind.strip_prefix(' ').and_then(first_word) {
            let is_placeholder = value.starts_with('<');
            let is_choice = option.choices.iter().any(|choice| choice == value);
            if is_choice || value.starts_with(|c: char| c.is_ascii_digit()) {
                words.push_str(value);
            }
            if is_choice || is_placeholder || value.starts_with(|c: char| c.is_ascii_digit()) {
                rest = behind;
            }
        }
    }
    words + rest
}

/// A word, and the text after it.
fn first_word(text: &str) -> Option<(&str, &str)> {
    let end = text.find([' ', ',', ';', ')', '\'', '\n']).unwrap_or(text.len());
    let word = text[..end].trim_end_matches([':', '.']);
    (!word.is_empty()).then(|| (word, &text[word.len()..]))
}

/// The exception of this class of `lookalike.errors`.
pub fn exception(class: &str, message: &dyn Display) -> PyErr {
    Python::attach(|py| {
        let made = PyModule::import(py, "lookalike.errors")
            .and_then(|errors| errors.getattr(class)?.call1((message.to_string(),)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// The class of the first cause that has one. Messages about an option start with that option.
fn class_of(error: &anyhow::Error) -> &'static str {
    if error.is::<ArgumentError>() || error.to_string().starts_with("--") {
        return "OptionError";
    }
    error.chain().find_map(class_of_cause).unwrap_or("InputError")
}

fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        let said = deeper.to_string();
        if !message.contains(&said) {
            message += &format!(": {said}");
        }
        cause = deeper.source();
    }
    message
}
