//! The command line of `lookalike index`.

use std::path::PathBuf;

use clap::Subcommand;
use lookalike::{Level, Radius, verify::Similarity};

use super::{
    ImageArgs, Matching, MessageOptions, OutputArgs, RecipeArgs, RowArgs, VerifyArgs, WorkArgs,
    one_of, radius, similarity,
};

/// Keep a durable, searchable collection of items in a folder.
#[derive(Subcommand)]
pub enum IndexCommand {
    Create(IndexCreateArgs),
    Add(IndexAddArgs),
    Remove(IndexRemoveArgs),
    Search(IndexSearchArgs),
    Groups(IndexGroupsArgs),
    Stats(IndexStatsArgs),
    /// Check every byte against its checksum, and the search tables against the records; also works
    /// on read-only folders
    Verify(IndexFolderArgs),
    /// Merge the search tables, which speeds up searches after many changes, and free unused space
    Compact(IndexFolderArgs),
    /// Rebuild the search tables from the records
    Repair(IndexFolderArgs),
    Export(IndexExportArgs),
    Import(IndexImportArgs),
    Backup(IndexBackupArgs),
}

/// What a new collection holds.
#[derive(clap::Args)]
pub struct NewCollectionArgs {
    /// What the collection holds: text, image or hash [default: guessed from the content]
    #[arg(long)]
    pub kind: Option<String>,

    /// New collection: greatest distance it can be searched within [default: 3 for fingerprints,
    /// otherwise the recipe's]
    #[arg(long, value_name = "K", value_parser = radius)]
    pub max_distance: Option<Radius>,

    /// New collection of images: partial also stores their parts, so that index search --match
    /// partial finds cropped and framed copies (about 14 KB per image)
    #[arg(long = "match", value_name = "WHAT", default_value = "whole")]
    pub matching: Matching,

    /// New collection of texts: store and compare fingerprints only, which takes a tenth of the
    /// space and finds fewer matches
    #[arg(long)]
    pub no_verify: bool,

    /// The recipe of a new collection; an existing one keeps its own.
    #[command(flatten, next_help_heading = "Fingerprints of a new collection")]
    pub recipe: RecipeArgs,
}

/// Create an empty collection.
///
/// The collection stores its recipe and applies it to everything added or searched. Items are
/// stored as digests, so a search compares them exactly as pairs does.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike index create seen
  lookalike index create seen --recipe simhash64 --max-distance 3
  lookalike index create hashes --kind hash --bits 256 --max-distance 31")]
pub struct IndexCreateArgs {
    /// Folder of the new collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    #[command(flatten)]
    pub new: NewCollectionArgs,
}

/// Add items to a collection; create it if it does not exist.
///
/// INPUT is anything that the other commands read. Items without an id are named by their content.
/// Prints a JSON line {"id","status","match","reason"} for each item. The status is added,
/// replaced, present (stored already), conflict (the id belongs to other content; exit code 2),
/// near (with --skip-near: a stored item matches) or unfit. With --skip-near, only new items are
/// added: dedup across runs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike index add seen monday.jsonl
  lookalike index add seen tuesday.jsonl --skip-near > seen-before.jsonl
  lookalike index add photos PHOTOS/ --match partial
  lookalike index add hashes hashes.txt --kind hash --max-distance 3")]
pub struct IndexAddArgs {
    /// Folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Files and folders; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// Add only items that match no stored one, as dedup --keep first would keep them
    #[arg(long, conflicts_with = "update")]
    pub skip_near: bool,

    /// Replace stored items that have the same id
    #[arg(long)]
    pub update: bool,

    /// With --skip-near: maximum number of differing bits
    #[arg(long, short = 'k', value_name = "K", value_parser = radius, requires = "skip_near")]
    pub distance: Option<Radius>,

    /// With --skip-near: loosest level of a match [default: near for texts, copy for images]
    #[arg(long, value_name = "NAME", requires = "skip_near")]
    #[arg(value_parser = one_of::<Level>(Level::ALL.map(Level::name)))]
    pub level: Option<Level>,

    /// With --skip-near: minimum similarity of texts, from 0 to 1
    #[arg(long, value_name = "S", value_parser = similarity)]
    #[arg(requires = "skip_near", conflicts_with = "level")]
    pub similarity: Option<Similarity>,

    /// With --skip-near: also compare images that are rotated by 90, 180 or 270 degrees or mirrored
    #[arg(long, requires = "skip_near")]
    pub orientations: bool,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub rows: RowArgs,

    #[command(flatten)]
    pub new: NewCollectionArgs,

    #[command(flatten, next_help_heading = "Resources")]
    pub work: WorkArgs,

    #[command(flatten)]
    pub messages: MessageOptions,
}

/// Remove items from a collection by id.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike index remove seen article-17 article-18
  lookalike index remove seen --ids gone.txt")]
pub struct IndexRemoveArgs {
    /// Folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Ids of the items to remove
    #[arg(value_name = "ID", required_unless_present = "ids")]
    pub items: Vec<String>,

    /// File with one id per line; - is standard input
    #[arg(long, value_name = "FILE")]
    pub ids: Option<PathBuf>,

    #[command(flatten)]
    pub messages: MessageOptions,
}

/// Find stored items that match the items of INPUT, nearest first.
///
/// Prints a table on a terminal, otherwise a JSON line
/// {"query","match","distance","similarity","level"} for each match, with the same figures as pairs
/// and compare. Matches without an id also have "file" and "line".
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike index search seen new.jsonl
  lookalike index search seen --text 'the ferry leaves at nine' --distance 20
  lookalike index search photos query.jpg --match partial
  lookalike index search hashes --fingerprint 0xff --limit 3")]
pub struct IndexSearchArgs {
    /// Folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Files and folders; - is standard input
    #[arg(value_name = "INPUT", required_unless_present_any = ["text", "fingerprint"])]
    pub inputs: Vec<PathBuf>,

    /// Search for this text
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["inputs", "fingerprint"])]
    pub text: Option<String>,

    /// Search for this fingerprint: decimal, 0x hex or 0b binary
    #[arg(long, value_name = "BITS", conflicts_with = "inputs")]
    pub fingerprint: Option<String>,

    /// Maximum number of differing bits [default: 3 for fingerprints, otherwise the recipe's]
    #[arg(long, short = 'k', value_name = "K", value_parser = radius)]
    pub distance: Option<Radius>,

    #[command(flatten)]
    pub verify: VerifyArgs,

    #[command(flatten)]
    pub images: ImageArgs,

    /// List only the N nearest matches of each item [default: all]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub rows: RowArgs,

    #[command(flatten, next_help_heading = "Resources")]
    pub work: WorkArgs,

    #[command(flatten)]
    pub messages: MessageOptions,
}

/// List groups of items that match the first of each group, as JSON lines.
#[derive(clap::Args)]
pub struct IndexGroupsArgs {
    /// Folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Maximum number of differing bits between a member and the first of its group [default: as in
    /// search]
    #[arg(long, short = 'k', value_name = "K", value_parser = radius)]
    pub distance: Option<Radius>,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten, next_help_heading = "Resources")]
    pub work: WorkArgs,
}

/// Print what a collection holds, and how much space it takes.
#[derive(clap::Args)]
pub struct IndexStatsArgs {
    /// Folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Print the result as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// A command on a whole collection.
#[derive(clap::Args)]
pub struct IndexFolderArgs {
    /// Folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// Write all items as JSON lines, which import, pairs and other commands read.
///
/// Damaged records are named and skipped, and the exit code is 2.
#[derive(clap::Args)]
pub struct IndexExportArgs {
    /// Folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// Add exported items to a collection.
#[derive(clap::Args)]
pub struct IndexImportArgs {
    /// Folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Files that export wrote, optionally compressed; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub messages: MessageOptions,
}

/// Copy a collection to a new folder.
#[derive(clap::Args)]
pub struct IndexBackupArgs {
    /// Folder of the collection
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,

    /// Folder of the copy, which must not exist
    #[arg(value_name = "TO")]
    pub to: PathBuf,

    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}
