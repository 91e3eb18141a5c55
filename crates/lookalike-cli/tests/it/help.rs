//! Help: every command and subcommand explains itself, 100 columns wide.

use crate::run::{Folder, Ran, snapshot};

#[test]
fn every_command_explains_itself() {
    let folder = Folder::new();
    let mut commands = vec![String::new()];
    while let Some(command) = commands.pop() {
        let help = folder.run(&format!("{command} --help"));
        commands.extend(subcommands(&help).map(|name| format!("{command} {name}")));
        snapshot!(format!("help{}", command.replace(' ', "_")), help);
    }
}

#[test]
fn a_command_line_without_a_command_is_refused_with_help() {
    snapshot!(Folder::new().session(["", "index", "bench", "--version"]), @r#"
    $ lookalike
    exit 2
    --- stderr
    Find near-duplicates among texts, images and fingerprints

    Usage: lookalike <COMMAND>

    Commands:
      dedup    Remove near-duplicate texts, images or fingerprints: keep one item of each group
      undo     Undo what dedup did to files: restore moved and trashed files, and turn links back into
               files
      pairs    List all matching pairs of texts, images or fingerprints
      compare  Compare two items; exit code 0 means alike, 1 different
      hash     Print fingerprints of texts or images, one JSON line {"id":...,"fingerprint":"0x..."}
               each
      index    Keep a durable, searchable collection of items in a folder
      recipes  List the built-in recipes, or learn a corpus model
      bench    Measure speed and memory on this machine
      help     Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    $ lookalike index
    exit 2
    --- stderr
    Keep a durable, searchable collection of items in a folder

    Usage: lookalike index <COMMAND>

    Commands:
      create   Create an empty collection
      add      Add items to a collection; create it if it does not exist
      remove   Remove items from a collection by id
      search   Find stored items that match the items of INPUT, nearest first
      groups   List groups of items that match the first of each group, as JSON lines
      stats    Print what a collection holds, and how much space it takes
      verify   Check every byte against its checksum, and the search tables against the records; also
               works on read-only folders
      compact  Merge the search tables, which speeds up searches after many changes, and free unused
               space
      repair   Rebuild the search tables from the records
      export   Write all items as JSON lines, which import, pairs and other commands read
      import   Add exported items to a collection
      backup   Copy a collection to a new folder
      help     Print this message or the help of the given subcommand(s)

    Options:
      -h, --help  Print help

    $ lookalike bench
    exit 2
    --- stderr
    Measure speed and memory on this machine

    Usage: lookalike bench <COMMAND>

    Commands:
      pairs   Generate fingerprints, 1 % of them neighbours of another one, and find all pairs
      images  Decode and fingerprint images, and print how long each step takes on one core
      help    Print this message or the help of the given subcommand(s)

    Options:
      -h, --help  Print help

    $ lookalike --version
    exit 0
    lookalike [VERSION]
    "#);
}

/// What is listed under `Commands:`.
fn subcommands(help: &Ran) -> impl Iterator<Item = &str> {
    let listed = help.stdout.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = listed.take_while(|line| !line.is_empty());
    let names = lines
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help")
}
