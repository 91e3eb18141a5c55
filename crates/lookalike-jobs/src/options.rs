//! Options by name, for front ends that have no command line.
//!
//! The structs in `args` define the options of each command. Front ends list them
//! here and pass values by name; names, defaults, choices and messages are those of the command
//! line.

use std::{ffi::OsString, path::PathBuf};

use anyhow::Result;
use clap::{ArgAction, CommandFactory, FromArgMatches};
use lookalike::kind::UsageError;

use crate::{
    args::{Args, Command, DedupArgs},
    kinds::usage_error,
};

/// An option of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOption {
    /// Its name, with `_` between words: `max_remove`.
    pub name: String,
    /// What it does, as `--help` says.
    pub help: String,
    /// The default value.
    pub default: Option<String>,
    /// The possible values; none if any value is parsed.
    pub choices: Vec<String>,
    /// Whether it is a switch, which takes no value.
    pub is_switch: bool,
    /// Whether `--help` omits it.
    pub is_hidden: bool,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// The value of a switch.
    Switch(bool),
    /// The value of any other option, as written on a command line.
    Text(OsString),
}

/// The options of a command in the order of its help; empty if the command does not exist.
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

/// The options of `dedup` with these values, and defaults for the others.
pub fn dedup_of(
    inputs: Vec<PathBuf>,
    values: impl IntoIterator<Item = (String, OptionValue)>,
) -> Result<DedupArgs> {
    let mut words = vec![OsString::from("lookalike"), OsString::from("dedup")];
    let known = options_of("dedup");
    for (name, value) in values {
        words.extend(argument(&known, &name, value).map_err(usage_error)?);
    }
    words.push("--".into());
    words.extend(inputs.into_iter().map(PathBuf::into_os_string));
    let matches = Args::command().try_get_matches_from(words)?;
    match Args::from_arg_matches(&matches)?.command {
        Command::Dedup(args) => Ok(*args),
        _ => unreachable!("the command was given as dedup"),
    }
}

/// An option as a command-line argument; none for a switch that is off.
fn argument(
    known: &[CommandOption],
    name: &str,
    value: OptionValue,
) -> Result<Option<OsString>, UsageError> {
    let Some(option) = known.iter().find(|option| option.name == name) else {
        return Err(unknown_option(known, name));
    };
    let mut argument = OsString::from(format!("--{}", name.replace('_', "-")));
    match (value, option.is_switch) {
        (OptionValue::Switch(is_on), true) => Ok(is_on.then_some(argument)),
        (OptionValue::Text(text), false) => {
            argument.push("=");
            argument.push(text);
            Ok(Some(argument))
        }
        (OptionValue::Switch(_), false) => {
            Err(UsageError::new("", format!("--{name} takes a value; it is not a switch")))
        }
        (OptionValue::Text(_), true) => {
            Err(UsageError::new("", format!("--{name} is a switch; it takes no value")))
        }
    }
}

fn unknown_option(known: &[CommandOption], name: &str) -> UsageError {
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
    fn parses_values_like_the_command_line() {
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
    fn rejects_unknown_names_and_invalid_values() {
        let message = |name: &str, value| {
            dedup_of(vec!["in".into()], values(&[(name, value)])).err().unwrap().to_string()
        };
        let text = message("simlarity", OptionValue::Text("1".into()));
        assert_eq!(text, "dedup has no option simlarity; did you mean similarity?");
        let text = message("threads", OptionValue::Switch(true));
        assert_eq!(text, "--threads takes a value; it is not a switch");
        let text = message("strict", OptionValue::Text("yes".into()));
        assert_eq!(text, "--strict is a switch; it takes no value");
        let text = message("level", OptionValue::Text("close".into()));
        assert!(text.contains("possible values: copy, near, similar, part"), "{text}");
    }

    #[test]
    fn every_option_has_a_help_text() {
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
