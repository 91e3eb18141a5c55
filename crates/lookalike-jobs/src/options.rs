//! Options by name, for front ends that have no command line.
//!
//! The structs in [`args`](crate::args) say which options a command has. Front ends ask for them here,
//! and give values by name: names, defaults, choices and messages are those of the command line.

use std::{ffi::OsString, path::PathBuf};

use anyhow::Result;
use clap::{ArgAction, CommandFactory, FromArgMatches};
use lookalike::kind::UsageError;

use crate::{
    args::{Args, Command, DedupArgs},
    kinds::usage,
};

/// An option of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOption {
    /// Its name, with `_` between words: `max_remove`.
    pub name: String,
    /// What it does, in the words of `--help`.
    pub help: String,
    /// The value it has if none is given.
    pub default: Option<String>,
    /// The only values there are; none if any is read.
    pub choices: Vec<String>,
    /// Whether it is on or off, and takes no value.
    pub is_switch: bool,
    /// Whether `--help` does not list it.
    pub is_hidden: bool,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// Of one that is on or off.
    Switch(bool),
    /// Of any other, as it would be written on a command line.
    Text(OsString),
}

/// The options of a command, in the order of its help; none if there is no such command.
pub fn options_of(command: &str) -> Vec<CommandOption> {
    let all = Args::command();
    let Some(command) = all.find_subcommand(command) else { return Vec::new() };
    let option = |arg: &clap::Arg| {
        let choices = arg.get_possible_values();
        let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
        let choices = choices.iter().filter(|_| !is_switch).map(|one| one.get_name().to_owned());
        let default = arg.get_default_values().first().filter(|_| !is_switch);
        Some(CommandOption {
            name: arg.get_long()?.replace('-', "_"),
            help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
            default: default.map(|value| value.to_string_lossy().into_owned()),
            choices: choices.collect(),
            is_switch,
            is_hidden: arg.is_hide_set(),
        })
    };
    command.get_arguments().filter_map(option).collect()
}

/// The options of `dedup` with these values; the others have their defaults.
pub fn dedup_of(
    inputs: Vec<PathBuf>,
    values: impl IntoIterator<Item = (String, OptionValue)>,
) -> Result<DedupArgs> {
    let mut words = vec![OsString::from("lookalike"), OsString::from("dedup")];
    let known = options_of("dedup");
    for (name, value) in values {
        words.extend(word(&known, &name, value).map_err(usage)?);
    }
    words.push("--".into());
    words.extend(inputs.into_iter().map(PathBuf::into_os_string));
    let matches = Args::command().try_get_matches_from(words)?;
    match Args::from_arg_matches(&matches)?.command {
        Command::Dedup(args) => Ok(*args),
        _ => unreachable!("the command was given as dedup"),
    }
}

/// An option as the parser of the command line takes it; nothing if it is off.
fn word(
    known: &[CommandOption],
    name: &str,
    value: OptionValue,
) -> Result<Option<OsString>, UsageError> {
    let Some(option) = known.iter().find(|option| option.name == name) else {
        return Err(unknown(known, name));
    };
    let mut word = OsString::from(format!("--{}", name.replace('_', "-")));
    match (value, option.is_switch) {
        (OptionValue::Switch(is_on), true) => Ok(is_on.then_some(word)),
        (OptionValue::Text(text), false) => {
            word.push("=");
            word.push(text);
            Ok(Some(word))
        }
        (OptionValue::Switch(_), false) => {
            Err(UsageError::new("", format!("--{name} takes a value; it is not on or off")))
        }
        (OptionValue::Text(_), true) => {
            Err(UsageError::new("", format!("--{name} is on or off; it takes no value")))
        }
    }
}

fn unknown(known: &[CommandOption], name: &str) -> UsageError {
    let names = known.iter().map(|option| option.name.as_str());
    let hint = lookalike::spelling::nearest(name, names);
    let hint = hint.map_or_else(String::new, |name| format!("; did you mean {name}?"));
    UsageError::new("", format!("dedup has no option {name}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(values: &[(&str, OptionValue)]) -> Vec<(String, OptionValue)> {
        values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn values_are_read_as_on_the_command_line() {
        let given = [
            ("keep", OptionValue::Text("last".into())),
            ("strict", OptionValue::Switch(true)),
            ("html", OptionValue::Switch(false)),
            ("max_remove", OptionValue::Text("0.5".into())),
        ];
        let args = dedup_of(vec!["-in".into()], values(&given)).unwrap();
        assert_eq!(args.inputs, [PathBuf::from("-in")]);
        assert!(args.rows.strict && !args.rows.html);
        assert_eq!(args.max_remove, 0.5);
        assert!(args.keep.is_some());
    }

    #[test]
    fn wrong_names_and_values_are_refused() {
        let refused = |name: &str, value| {
            dedup_of(vec!["in".into()], values(&[(name, value)])).err().unwrap().to_string()
        };
        let said = refused("simlarity", OptionValue::Text("1".into()));
        assert_eq!(said, "dedup has no option simlarity; did you mean similarity?");
        let said = refused("threads", OptionValue::Switch(true));
        assert_eq!(said, "--threads takes a value; it is not on or off");
        let said = refused("strict", OptionValue::Text("yes".into()));
        assert_eq!(said, "--strict is on or off; it takes no value");
        let said = refused("level", OptionValue::Text("close".into()));
        assert!(said.contains("possible values: copy, near, similar, part"), "{said}");
    }

    #[test]
    fn every_command_says_what_its_options_do() {
        for command in ["dedup", "pairs", "compare", "hash"] {
            let options = options_of(command);
            assert!(options.len() > 10, "{command}");
            for option in options {
                assert!(!option.help.is_empty(), "{command} {}", option.name);
                assert!(!option.help.ends_with('.'), "{command} {}", option.name);
            }
        }
    }
}
