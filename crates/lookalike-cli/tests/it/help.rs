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
    Finds near-duplicates: every pair within the radius it states, missing none

    Usage: lookalike <COMMAND>

    Commands:
      dedup    Remove near-duplicate texts, images or fingerprints: of each group of alike ones, one is
               kept
      undo     Undo what dedup did to files: bring back what was moved or put in the trash, and make
               files of links again
      pairs    List all pairs of alike items: texts, images, or fingerprints that differ in few bits
      compare  Tell whether two items are alike: exit code 0 if so, 1 if not
      hash     Make fingerprints of texts or images: one JSON line {"id":...,"fingerprint":"0x..."} each
      index    Remember items in a folder, and ask it what was seen before
      recipes  List the recipes for fingerprints that come with lookalike
      bench    Measure lookalike on made data
      help     Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    $ lookalike index
    exit 2
    --- stderr
    Remember items in a folder, and ask it what was seen before

    Usage: lookalike index <COMMAND>

    Commands:
      create   Make a new, empty collection
      add      Add items to a collection; it is made if it is not there
      remove   Remove items from a collection, by their ids
      search   Find what of a collection is near the items of INPUT, nearest first
      groups   List groups of items that are near the first of them, as JSON lines
      stats    Tell what is in a collection, and what it takes
      verify   Compare every byte with its checksum, and the search tables with the records; also where
               nothing can be written
      compact  Merge the search tables, which makes searches faster after many changes, and give space
               back
      repair   Rebuild the search tables from the records
      export   Write all items as JSON lines, which import, pairs and others read
      import   Add the items of an export to a collection
      backup   Copy a collection to a new folder, ready to be opened
      help     Print this message or the help of the given subcommand(s)

    Options:
      -h, --help  Print help

    $ lookalike bench
    exit 2
    --- stderr
    Measure lookalike on made data

    Usage: lookalike bench <COMMAND>

    Commands:
      pairs   Make fingerprints, 1 % of them neighbours of another one, and find all pairs
      images  Decode images and make their fingerprints, and tell how long each step takes on one core
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
