//! What can a user write after `lookalike index`?

use std::path::PathBuf;

use clap::Subcommand;
use lookalike::{Level, Radius, verify::Similarity};

use super::{
    ImageArgs, Matching, MessageOptions, OutputArgs, RecipeArgs, RowArgs, VerifyArgs, WorkArgs,
    one_of, radius, similarity,
};

/// Remember items in a folder, and ask it what was seen before.
#[derive(Subcommand)]
pub enum IndexCommand {
    Create(IndexCreateArgs),
    Add(IndexAddArgs),
    Remove(IndexRemoveArgs),
    Search(IndexSearchArgs),
    Groups(IndexGroupsArgs),
    Stats(IndexStatsArgs),
    /// Compare every byte with its checksum, and the search tables with the records; also where
    /// nothing can be written
    Verify(IndexFolderArgs),
    /// Merge the search tables, which makes searches faster after many changes, and give space back
    Compact(IndexFolderArgs),
    /// Rebuild the search tables from the records
    Repair(IndexFolderArgs),
    Export(IndexExportArgs),
    Import(IndexImportArgs),
    Backup(IndexBackupArgs),
}

/// What a new collection is of.
#[derive(clap::Args)]
pub struct IndexMakeArgs {
    /// What the items are; guessed from the input if left out
    #[arg(long)]
    pub kind: Option<String>,

    /// Of a new collection: the widest distance it can be searched within [default: the recipe's, 3
    /// for fingerprints]
    #[arg(long, value_name = "K", value_parser = radius)]
    pub max_distance: Option<Radius>,

    /// Of a new collection of images: partial keeps their parts, too, so that index search --match
    /// partial finds crops and framed copies (some 14 KB an image)
    #[arg(long = "match", value_name = "WHAT", default_value = "whole")]
    pub matching: Matching,

    /// Of a new collection of texts: keep and compare fingerprints only, which takes a tenth of the
    /// space and finds less
    #[arg(long)]
    pub no_verify: bool,

    /// Of a new collection; one that is there knows its own
    #[command(flatten, next_help_heading = "How items become fingerprints")]
    pub recipe: RecipeArgs,
}

/// Make a new, empty collection.
///
/// It remembers the recipe it is made with; everything added or searched is read by it. Items are kept
/// as digests, so that a search compares them as pairs does.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike index create seen
  lookalike index create seen --recipe simhash64 --max-distance 3
  lookalike index create hashes --kind hash --bits 256 --max-distance 31")]
pub struct IndexCreateArgs {
    /// The folder of the collection: a new one
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    #[command(flatten)]
    pub make: IndexMakeArgs,
}

/// Add items to a collection; it is made if it is not there.
///
/// INPUT is all that the other commands read. Items without an id go by their content. For each item a
/// JSON line says what became of it: {"id","status","match","reason"}, the status being added,
/// replaced, present (the same is there), conflict (the id is taken by other content; exit code 2),
/// near (with --skip-near: something alike is there) or unfit. With --skip-near only what is new is
/// added: a dedup that remembers.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike index add seen monday.jsonl
  lookalike index add seen tuesday.jsonl --skip-near > seen-before.jsonl
  lookalike index add photos PHOTOS/ --match partial
  lookalike index add hashes hashes.txt --kind hash --max-distance 3")]
pub struct IndexAddArgs {
    /// The folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Folders and files; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// Add only what is alike nothing that is there, as dedup --keep first would
    #[arg(long, conflicts_with = "update")]
    pub skip_near: bool,

    /// Replace items whose id is there
    #[arg(long)]
    pub update: bool,

    /// With --skip-near: largest number of bits in which alike items differ
    #[arg(long, short = 'k', value_name = "K", value_parser = radius, requires = "skip_near")]
    pub distance: Option<Radius>,

    /// With --skip-near: the loosest level at which an item is left out [default: near for texts, copy
    /// for images]
    #[arg(long, value_name = "NAME", value_parser = one_of::<Level>(Level::ALL.map(Level::name)), requires = "skip_near")]
    pub level: Option<Level>,

    /// With --skip-near: how alike texts must be, from 0 to 1
    #[arg(long, value_name = "S", value_parser = similarity, requires = "skip_near", conflicts_with = "level")]
    pub similarity: Option<Similarity>,

    /// With --skip-near: also compare images that are rotated by 90, 180 or 270 degrees or mirrored
    #[arg(long, requires = "skip_near")]
    pub orientations: bool,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub rows: RowArgs,

    #[command(flatten)]
    pub make: IndexMakeArgs,

    #[command(flatten, next_help_heading = "How to work")]
    pub work: WorkArgs,

    #[command(flatten)]
    pub messages: MessageOptions,
}

/// Remove items from a collection, by their ids.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike index remove seen article-17 article-18
  lookalike index remove seen --ids gone.txt")]
pub struct IndexRemoveArgs {
    /// The folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Ids
    #[arg(value_name = "ID", required_unless_present = "ids")]
    pub items: Vec<String>,

    /// A file with an id a line; - is standard input
    #[arg(long, value_name = "FILE")]
    pub ids: Option<PathBuf>,

    #[command(flatten)]
    pub messages: MessageOptions,
}

/// Find what of a collection is near the items of INPUT, nearest first.
///
/// On a terminal a table, else a JSON line {"query","match","distance","similarity","level"} for each
/// match, with the figures that pairs and compare give. Matches without an id have "file" and "line",
/// too.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike index search seen new.jsonl
  lookalike index search seen --text 'the ferry leaves at nine' --distance 20
  lookalike index search photos query.jpg --match partial
  lookalike index search hashes --fingerprint 0xff --limit 3")]
pub struct IndexSearchArgs {
    /// The folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Folders and files; - is standard input
    #[arg(value_name = "INPUT", required_unless_present_any = ["text", "fingerprint"])]
    pub inputs: Vec<PathBuf>,

    /// Search for this text
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["inputs", "fingerprint"])]
    pub text: Option<String>,

    /// Search for this fingerprint: decimal, 0x hex or 0b binary
    #[arg(long, value_name = "BITS", conflicts_with = "inputs")]
    pub fingerprint: Option<String>,

    /// Largest number of bits in which a match may differ
    #[arg(long, short = 'k', value_name = "K", value_parser = radius)]
    pub distance: Option<Radius>,

    #[command(flatten)]
    pub verify: VerifyArgs,

    #[command(flatten)]
    pub images: ImageArgs,

    /// List at most N matches of each item, the nearest [default: all]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub rows: RowArgs,

    #[command(flatten, next_help_heading = "How to work")]
    pub work: WorkArgs,

    #[command(flatten)]
    pub messages: MessageOptions,
}

/// List groups of items that are near the first of them, as JSON lines.
#[derive(clap::Args)]
pub struct IndexGroupsArgs {
    /// The folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Largest number of bits in which items of a group may differ from its first [default: as search]
    #[arg(long, short = 'k', value_name = "K", value_parser = radius)]
    pub distance: Option<Radius>,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten, next_help_heading = "How to work")]
    pub work: WorkArgs,
}

/// Tell what is in a collection, and what it takes.
#[derive(clap::Args)]
pub struct IndexStatsArgs {
    /// The folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Print it as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// A whole collection.
#[derive(clap::Args)]
pub struct IndexFolderArgs {
    /// The folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// No notes; errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// Write all items as JSON lines, which import, pairs and others read.
///
/// A damaged record is named and left out, and the exit code is 2.
#[derive(clap::Args)]
pub struct IndexExportArgs {
    /// The folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Add the items of an export to a collection.
#[derive(clap::Args)]
pub struct IndexImportArgs {
    /// The folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Files that export wrote, also packed; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub messages: MessageOptions,
}

/// Copy a collection to a new folder, ready to be opened.
#[derive(clap::Args)]
pub struct IndexBackupArgs {
    /// The folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// The folder of the copy: a new one
    #[arg(value_name = "TO")]
    pub to: PathBuf,

    /// No notes; errors only
    #[arg(long, short)]
    pub quiet: bool,
}
