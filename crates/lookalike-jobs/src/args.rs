//! The command line: names, defaults and the parsing of single values. How values fit together is
//! checked in [`config`](crate::config) and [`kinds`](crate::kinds).

mod index;

use std::{
    fmt::{Debug, Display},
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::{
    Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use lookalike::{
    Level, Radius, Width,
    extract::Shingles,
    hamming::Kernel,
    hash::FeatureHash,
    recipe::Weighting,
    search::Equals,
    verify::{Measure, Similarity},
};

pub use index::{
    IndexAddArgs, IndexBackupArgs, IndexCommand, IndexCreateArgs, IndexExportArgs, IndexFolderArgs,
    IndexGroupsArgs, IndexImportArgs, IndexRemoveArgs, IndexSearchArgs, IndexStatsArgs,
    NewCollectionArgs,
};

/// Find near-duplicates among texts, images and fingerprints.
#[derive(Parser)]
#[command(name = "lookalike", version, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Dedup(Box<DedupArgs>),
    Undo(UndoArgs),
    Pairs(PairsArgs),
    Compare(CompareArgs),
    Hash(HashArgs),
    #[command(subcommand)]
    Index(IndexCommand),
    Recipes(RecipesArgs),
    #[command(subcommand)]
    Bench(BenchCommand),
}

/// List all matching pairs of texts, images or fingerprints.
///
/// Images are read from files and folders and recognized by content. Texts are read from folders,
/// files, tables (.jsonl, .csv, .tsv, .parquet), web archives (.warc) or lines (--lines).
/// Fingerprints are read from lines (decimal, 0x hex or 0b binary, optionally followed by a tab and
/// an id), from NumPy .npy arrays (uint64 of shape (n,) or (n, words), word 0 the least
/// significant; uint32 for 32 bits), or from the output of lookalike hash. Input may be compressed
/// with gzip, zstd, bzip2 or xz. An item without an id is named by its line or row number, counted
/// from 1; with several inputs, by file:line.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike pairs corpus.jsonl -o pairs.parquet
  lookalike pairs photos/ --orientations
  lookalike pairs hashes.txt --distance 3 -o pairs.csv
  zcat hashes.gz | lookalike pairs - --memory 2G > pairs.jsonl
  lookalike hash --lines texts.txt | lookalike pairs - --distance 33")]
pub struct PairsArgs {
    /// Files and folders; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// What the input holds: text, image, vector or hash [default: guessed from the content]
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,

    /// How to list pairs of equal items
    #[arg(long, default_value = "all")]
    pub equal: Equal,

    /// Print how the pairs would be found, then stop
    #[arg(long)]
    pub plan: bool,

    /// Print how many pairs of vectors there are at several similarities, and how many would be removed
    #[arg(long, conflicts_with_all = ["plan", "output", "level"])]
    pub count: bool,

    #[command(flatten)]
    pub rows: RowArgs,

    /// List everything skipped, with file, line and reason; the extension sets the format
    #[arg(long, value_name = "FILE")]
    pub skipped: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten)]
    pub messages: MessageOptions,

    #[command(flatten, next_help_heading = "Matching")]
    pub verify: VerifyArgs,

    #[command(flatten, next_help_heading = "Fingerprints of texts")]
    pub recipe: RecipeArgs,

    #[command(flatten, next_help_heading = "Comparing images")]
    pub images: ImageArgs,

    #[command(flatten)]
    pub cache: CacheArgs,

    #[command(flatten)]
    pub search: SearchArgs,
}

/// Remove near-duplicate texts, images or fingerprints: keep one item of each group.
///
/// Images are read from files and folders and recognized by content. Texts are read from folders,
/// files, tables (.jsonl, .csv, .tsv, .parquet), web archives (.warc) or lines (--lines).
/// Fingerprints are read as by lookalike pairs. Input may be compressed with gzip, zstd, bzip2 or
/// xz. Kept data has the format of the input; lines are copied byte for byte. The input stays
/// unchanged unless --move, --link, --trash or --delete is given. Every removed item was compared
/// with the item kept instead; --removed and --report show both.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike dedup corpus.jsonl -o clean.jsonl --report report.html
  lookalike dedup photos/ --report report.html
  lookalike dedup crawl/*.warc.gz --html --level copy --keep longest -o kept.warc.gz
  lookalike dedup train.parquet --against test.parquet --removed leaked.csv -o train-clean.parquet
  lookalike dedup posts.csv --field body --id post_id --keep score:desc --dry-run
  lookalike dedup --kind hash hashes.npy --distance 3 -o kept.npy
  lookalike dedup photos/ --keep best --move double/ --report report.html")]
pub struct DedupArgs {
    /// Files and folders; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// Write the kept items to this file, or to this folder if the input is a folder; - is standard
    /// output
    #[arg(long, short, value_name = "KEPT")]
    pub output: Option<PathBuf>,

    /// Write the pairs of every level; the extension sets the format (.jsonl, .csv, .tsv, .parquet)
    #[arg(long, value_name = "FILE")]
    pub pairs: Option<PathBuf>,

    /// How to list pairs of equal items in --pairs
    #[arg(long, default_value = "all", requires = "pairs")]
    pub equal: Equal,

    /// Write the groups, each with its kept item and the others
    #[arg(long, value_name = "FILE")]
    pub groups: Option<PathBuf>,

    /// Write the removed items, each with the item kept instead
    #[arg(long, value_name = "FILE")]
    pub removed: Option<PathBuf>,

    /// List everything skipped, with file, line and reason; the extension sets the format
    #[arg(long, value_name = "FILE")]
    pub skipped: Option<PathBuf>,

    /// Write a page that shows the groups, what differs in them, and looser matches that stay
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,

    /// Overwrite existing output files
    #[arg(long)]
    pub force: bool,

    /// Write nothing; print what would be removed. With --move, --link, --trash or --delete, print
    /// what would be done to which file
    #[arg(long)]
    pub dry_run: bool,

    /// Remove only items that match something in OTHER: a file, a folder or a collection
    #[arg(long, value_name = "OTHER")]
    pub against: Option<PathBuf>,

    /// Which item of a group to keep: first, last, longest (text), largest (bytes), newest or
    /// oldest (EXIF date, else modification time), best (image: an original, then pixels, bytes and
    /// the plainer name), path:PATTERN (paths that match; * stands for anything), FIELD:asc (the
    /// smallest value) or FIELD:desc (the largest). Separate several rules with commas: each breaks
    /// the ties of the one before, and the first item in the input wins in the end [default:
    /// longest for texts, best for images, first for fingerprints]
    #[arg(long, value_name = "RULE", value_parser = parsed::<KeepRules>)]
    pub keep: Option<KeepRules>,

    /// How to form groups: star (each item matches the kept one) or connected (chains count, too)
    #[arg(long, value_name = "HOW", default_value = "star")]
    pub group: Grouping,

    /// Refuse to remove more than this fraction of the items, and write no kept data
    #[arg(long, value_name = "FRACTION", default_value = "0.9", value_parser = fraction)]
    pub max_remove: f64,

    /// What the input holds: text, image, vector or hash [default: guessed from the content]
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,

    #[command(flatten)]
    pub rows: RowArgs,

    #[command(flatten)]
    pub messages: MessageOptions,

    #[command(flatten, next_help_heading = "Acting on removed files (none by default)")]
    pub act: ActArgs,

    /// Maximum number of differing bits [default: 3 for fingerprints, otherwise the recipe's]
    #[arg(long, short = 'k', value_name = "K", value_parser = radius)]
    #[arg(help_heading = "Matching")]
    pub distance: Option<Radius>,

    #[command(flatten, next_help_heading = "Matching")]
    pub verify: VerifyArgs,

    #[command(flatten, next_help_heading = "Fingerprints of texts")]
    pub recipe: RecipeArgs,

    #[command(flatten, next_help_heading = "Comparing images")]
    pub images: ImageArgs,

    #[command(flatten)]
    pub cache: CacheArgs,

    /// Cut fingerprints into M blocks, more than the distance [default: chosen by the planner]
    #[arg(long, value_name = "M", help_heading = "Resources")]
    pub blocks: Option<u32>,

    #[command(flatten, next_help_heading = "Resources")]
    pub work: WorkArgs,
}

/// What to do with the removed files. Right before acting, the removed and the kept file are
/// checked: both must be as they were when read.
#[derive(clap::Args)]
pub struct ActArgs {
    /// Move removed files to this folder, under their original paths
    #[arg(long = "move", value_name = "DIR", group = "act")]
    pub move_to: Option<PathBuf>,

    /// Replace files equal to the kept one, byte for byte, by hard links to it; others stay
    #[arg(long, group = "act")]
    pub link: bool,

    /// Move removed files to the trash
    #[arg(long, group = "act")]
    pub trash: bool,

    /// Delete removed files; this cannot be undone
    #[arg(long, group = "act")]
    pub delete: bool,

    /// Where to record the actions for lookalike undo [default: a new file in
    /// ~/.local/state/lookalike/journals]
    #[arg(long, value_name = "FILE", requires = "act")]
    pub journal: Option<PathBuf>,
}

/// Undo what dedup did to files: restore moved and trashed files, and turn links back into files.
///
/// JOURNAL is the file that dedup --move, --link or --trash wrote. Nothing created since is
/// overwritten; files that cannot be restored are listed, and the exit code is 2. Undoing twice
/// does no harm. Without JOURNAL, lists the journals.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike undo
  lookalike undo ~/.local/state/lookalike/journals/20260102-030405-678.jsonl --dry-run")]
pub struct UndoArgs {
    /// The journal to undo
    #[arg(value_name = "JOURNAL")]
    pub journal: Option<PathBuf>,

    /// Print what would be restored, and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// How pairs become groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Grouping {
    /// Every removed item matches the kept one
    Star,
    /// Items connected by a chain of pairs
    Connected,
}

/// Which item of a group is kept: each rule breaks the ties of the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepRules(pub Vec<KeepRule>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeepRule {
    First,
    Last,
    Longest,
    Largest,
    Newest,
    Oldest,
    /// Of images: an original, then the most pixels, the most bytes, the plainer name.
    Best,
    /// Items whose id matches a pattern.
    Path(PathPattern),
    /// The smallest value of a field, or the largest.
    Field {
        name: String,
        descending: bool,
    },
}

impl FromStr for KeepRules {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl KeepRules {
    /// The fields that the rules name, in order.
    pub fn fields(&self) -> Vec<String> {
        let field = |rule: &KeepRule| match rule {
            KeepRule::Field { name, .. } => Some(name.clone()),
            _ => None,
        };
        self.0.iter().filter_map(field).collect()
    }
}

impl FromStr for KeepRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match (text, text.rsplit_once(':'), text.split_once(':')) {
            ("first", ..) => Self::First,
            ("last", ..) => Self::Last,
            ("longest", ..) => Self::Longest,
            ("largest", ..) => Self::Largest,
            ("newest", ..) => Self::Newest,
            ("oldest", ..) => Self::Oldest,
            ("best", ..) => Self::Best,
            (_, Some((name, "asc")), _) => Self::Field { name: name.to_owned(), descending: false },
            (_, Some((name, "desc")), _) => Self::Field { name: name.to_owned(), descending: true },
            (_, _, Some(("path", pattern))) if !pattern.is_empty() => {
                Self::Path(PathPattern::new(pattern))
            }
            _ => {
                return Err(format!(
                    "use first, last, longest, largest, newest, oldest, best, path:PATTERN, \
                     {text}:asc or {text}:desc"
                ));
            }
        })
    }
}

/// A path pattern: `*` stands for any characters, `?` for one. Without either, it names a file or
/// the folders above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern(String);

impl PathPattern {
    fn new(pattern: &str) -> Self {
        Self(pattern.trim_end_matches('/').to_owned())
    }

    pub fn matches(&self, path: &str) -> bool {
        let Self(pattern) = self;
        if pattern.contains(['*', '?']) {
            let [pattern, path] = [pattern, path].map(|text| text.chars().collect::<Vec<_>>());
            return glob_matches(&pattern, &path);
        }
        let path = format!("/{path}/");
        path.contains(&format!("/{}/", pattern.trim_start_matches("./")))
            || path.starts_with(&format!("/{pattern}/"))
    }
}

impl Display for PathPattern {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Display::fmt(&self.0, formatter)
    }
}

/// Each star takes as few characters as possible, and more when the rest does not match. Only the
/// last star needs backtracking, so the time is at most the product of the lengths.
fn glob_matches(pattern: &[char], path: &[char]) -> bool {
    let (mut at, mut here) = (0, 0);
    let mut star = None;
    while here < path.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, here));
                at += 1;
            }
            Some(&one) if one == '?' || one == path[here] => {
                at += 1;
                here += 1;
            }
            _ => match &mut star {
                Some((starred, taken)) => {
                    *taken += 1;
                    (at, here) = (*starred + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&rest| rest == '*')
}

/// Compare two items; exit code 0 means alike, 1 different.
///
/// A and B are two fingerprints, the paths of two files (images or texts), or two texts.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike compare 0xff 0xfe
  lookalike compare draft.txt final.txt
  lookalike compare a.jpg b.png --orientations
  paste one.txt other.txt | lookalike compare --stdin --kind text")]
pub struct CompareArgs {
    /// First item
    #[arg(required_unless_present = "stdin")]
    pub a: Option<String>,

    /// Second item
    #[arg(required_unless_present = "stdin")]
    pub b: Option<String>,

    /// Read one pair per line from standard input, separated by a tab or else by a space. For each,
    /// print the distance, a tab, and alike or different; the exit code is 0
    #[arg(long, conflicts_with_all = ["a", "b"])]
    pub stdin: bool,

    /// What A and B are: text, image, vector or hash [default: guessed from the content]
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,

    /// Maximum number of differing bits [default: 3 for fingerprints, otherwise the recipe's]
    #[arg(long, short = 'k', value_name = "K", value_parser = radius)]
    pub distance: Option<Radius>,

    #[command(flatten)]
    pub recipe: RecipeArgs,

    #[command(flatten)]
    pub verify: VerifyArgs,

    #[command(flatten)]
    pub images: ImageArgs,

    /// Read the files as web pages, whatever their names: compare their main text
    #[arg(long)]
    pub html: bool,

    /// Compare all of the markup of web pages, not their main text
    #[arg(long, conflicts_with = "html")]
    pub markup: bool,

    /// With --stdin: stop at the first line that cannot be read, instead of printing "-", a tab and
    /// skipped for it
    #[arg(long)]
    pub strict: bool,

    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,

    /// Print the result as one line of JSON
    #[arg(long, conflicts_with = "stdin")]
    pub json: bool,
}

/// Print fingerprints of texts or images, one JSON line {"id":...,"fingerprint":"0x..."} each.
///
/// Images are read from files and folders and recognized by content. Texts are read from folders,
/// files, tables (.jsonl, .csv, .tsv, .parquet), web archives (.warc) or lines (--lines). Input may
/// be compressed with gzip, zstd, bzip2 or xz. Files are named by their path, rows by their id
/// field or file:row, lines by their number, pages of a web archive by their address.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike hash --lines texts.txt -o prints.jsonl
  lookalike hash corpus.jsonl.gz --field body --id url
  lookalike hash pages/ --html --features chars:5 --bits 64
  lookalike hash photos/ --recipe pdq -o prints.jsonl")]
pub struct HashArgs {
    /// Files and folders; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// What the input holds: text, image, vector or hash [default: guessed from the content]
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,

    #[command(flatten)]
    pub rows: RowArgs,

    #[command(flatten)]
    pub recipe: RecipeArgs,

    #[command(flatten)]
    pub cache: CacheArgs,

    /// List everything skipped, with file, line and reason; the extension sets the format
    #[arg(long, value_name = "FILE")]
    pub skipped: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten, next_help_heading = "Resources")]
    pub work: WorkArgs,

    #[command(flatten)]
    pub messages: MessageOptions,
}

/// List the built-in recipes, or learn a corpus model.
#[derive(clap::Args)]
pub struct RecipesArgs {
    #[command(subcommand)]
    pub command: Option<RecipesCommand>,

    /// Print one recipe per line as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum RecipesCommand {
    Learn(LearnArgs),
}

/// Learn how rare words are in texts, or colours in images, for recipes that weight by rarity
/// (tfidf, hsv).
///
/// A sample of a few thousand texts is enough. The model is valid for the features and the hash of
/// the recipe it is learned with.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  lookalike recipes learn --lines sample.txt --recipe keywords -o common.model
  lookalike hash --lines texts.txt --recipe keywords --model common.model")]
pub struct LearnArgs {
    /// Files and folders; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// Write the model to this file
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,

    /// Overwrite existing output files
    #[arg(long)]
    pub force: bool,

    #[command(flatten)]
    pub recipe: RecipeArgs,

    /// Learn from this fraction of the images only, chosen by their names
    #[arg(long, value_name = "FRACTION", default_value = "1", value_parser = fraction)]
    pub sample: f64,

    #[command(flatten)]
    pub rows: RowArgs,

    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// Measure speed and memory on this machine.
#[derive(Subcommand)]
pub enum BenchCommand {
    Pairs(BenchPairsArgs),
    Images(BenchImagesArgs),
}

/// Decode and fingerprint images, and print how long each step takes on one core.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  lookalike bench images PHOTOS/")]
pub struct BenchImagesArgs {
    /// Files and folders
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub recipe: RecipeArgs,

    /// Print the result as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// Generate fingerprints, 1 % of them neighbours of another one, and find all pairs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike bench pairs --random 1e6
  lookalike bench pairs --random 100M --distance 3 --blocks 5 --threads 1 --json")]
pub struct BenchPairsArgs {
    /// Number of fingerprints to generate: 1000000, 1e6 or 1M
    #[arg(long, value_name = "N", value_parser = count)]
    pub random: u64,

    /// How the fingerprints are distributed
    #[arg(long, default_value = "random")]
    pub data: Distribution,

    /// Bits of a fingerprint: 32, 64, 128 or 256
    #[arg(long, default_value = "64", value_parser = width)]
    pub bits: Width,

    /// Seed of the generator; the same seed generates the same fingerprints
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    #[command(flatten)]
    pub search: SearchArgs,

    /// Print the result as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// How an item becomes a fingerprint: a recipe, and changes to it.
#[derive(clap::Args, Clone, Default, PartialEq, Eq)]
pub struct RecipeArgs {
    /// Recipe to start from; lookalike recipes lists them [default: words for texts, pdq for
    /// images]
    #[arg(long, value_name = "NAME")]
    pub recipe: Option<String>,

    /// Features of a text: runs of N words, chars, bytes, code (with punctuation), blind (code
    /// without names) or dictionary (Chinese words)
    #[arg(long, value_name = "TYPE:N", value_parser = parsed::<Shingles>)]
    pub features: Option<Shingles>,

    /// Words to ignore: those of languages (en,zh; see the documentation), those in a file with one
    /// word per line, or none
    #[arg(long, value_name = "LIST")]
    pub stop_words: Option<String>,

    /// Weight of a feature: set (1), tf (its count), log (the logarithm of its count), or tfidf
    /// (log, times its rarity; needs --model)
    #[arg(long, value_name = "HOW")]
    #[arg(value_parser = one_of::<Weighting>(Weighting::ALL.map(Weighting::name)))]
    pub weights: Option<Weighting>,

    /// Corpus model with the rarity of features, written by lookalike recipes learn
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,

    /// Use only the N features of the greatest weight; 0 for all
    #[arg(long, value_name = "N")]
    pub top: Option<u32>,

    /// Hash of a feature: mix, xxh3, murmur3-64, murmur3-128, jenkins, md5-first8 or md5-last8
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = one_of::<FeatureHash>(FeatureHash::ALL.map(FeatureHash::name)))]
    pub hash: Option<FeatureHash>,

    /// Seed of the hash
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Bits of a fingerprint: 32, 64, 128 or 256
    #[arg(long, value_parser = width)]
    pub bits: Option<Width>,
}

impl RecipeArgs {
    /// The files that it reads.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let stop_words = self.stop_words.as_deref().map(Path::new);
        self.model.as_deref().into_iter().chain(stop_words.filter(|list| list.is_file()))
    }

    /// Whether no option was given.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How images are compared.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct ImageArgs {
    /// Also match images turned by 90, 180 or 270 degrees or mirrored
    #[arg(long)]
    pub orientations: bool,

    /// What to match: whole images, or also partial ones: cropped, framed, captioned or slightly
    /// tilted, in any orientation (takes about six times as long)
    #[arg(long = "match", value_name = "WHAT", default_value = "whole")]
    pub matching: Matching,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Matching {
    /// Whole images
    #[default]
    Whole,
    /// Also parts of images
    Partial,
}

/// What is remembered of images from run to run.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct CacheArgs {
    /// Keep fingerprints of images for the next run in this file, or none [default:
    /// ~/.cache/lookalike/images.cache]
    #[arg(long, value_name = "FILE|none")]
    pub cache: Option<PathBuf>,
}

/// What an item is, and which part of it is read.
#[derive(clap::Args)]
pub struct RowArgs {
    /// Field that holds the text of a row, or a list of [feature, weight]; a.b is field b of the
    /// object a [default: text; content or body if there is no text]
    #[arg(long, value_name = "NAME")]
    pub field: Option<String>,

    /// Field that holds the id of a row; in web archives, a header of the record [default: id]
    #[arg(long, value_name = "NAME")]
    pub id: Option<String>,

    /// Read every line as an item, named by its line number (in collections, by its content)
    #[arg(long, conflicts_with = "format")]
    pub lines: bool,

    /// Read the inputs in this format, whatever their extensions
    #[arg(long)]
    pub format: Option<Format>,

    /// Read all texts as web pages, including fields of rows: compare their main text, without
    /// menus and footers. HTML files and web archives are always read this way
    #[arg(long)]
    pub html: bool,

    /// Compare all of the markup of HTML files and web archives, not their main text
    #[arg(long, conflicts_with = "html")]
    pub markup: bool,

    /// Follow symbolic links in folders instead of skipping and counting them
    #[arg(long)]
    pub follow_links: bool,

    /// Stop at the first item that cannot be read instead of skipping it
    #[arg(long)]
    pub strict: bool,
}

/// How to search fingerprints. Only the distance changes the answer.
#[derive(clap::Args)]
pub struct SearchArgs {
    /// Maximum number of differing bits [default: 3 for fingerprints, otherwise the recipe's]
    #[arg(long, short = 'k', value_name = "K", value_parser = radius, help_heading = "Matching")]
    pub distance: Option<Radius>,

    /// Cut fingerprints into M blocks, more than the distance [default: chosen by the planner]
    #[arg(long, value_name = "M", help_heading = "Resources")]
    pub blocks: Option<u32>,

    #[command(flatten, next_help_heading = "Resources")]
    pub work: WorkArgs,
}

/// What a run works with: threads, memory, folders. They never change the answer.
#[derive(clap::Args, Clone, Default)]
pub struct WorkArgs {
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,

    /// Memory limit, such as 512M or 2G; what does not fit goes to temporary files
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,

    /// Folder for temporary files [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub temp: Option<PathBuf>,

    /// Force the instruction set
    #[arg(long, hide = true, value_parser = kernel)]
    pub kernel: Option<Kernel>,
}

/// What two items must have in common besides fingerprints within the distance.
#[derive(clap::Args, Clone, Copy, Default)]
pub struct VerifyArgs {
    /// Loosest level of a match: copy, near or similar; for images with --match partial also part.
    /// By default, items are removed at near for texts (similarity 0.6) and copy for images (31 of
    /// the 256 bits of pdq), unless --similarity or --distance is given; pairs of every level are
    /// listed (texts from similarity 0.47, images within 52 bits)
    #[arg(long, value_name = "NAME")]
    #[arg(value_parser = one_of::<Level>(Level::ALL.map(Level::name)))]
    pub level: Option<Level>,

    /// Minimum similarity of texts, from 0 to 1
    #[arg(long, value_name = "S", conflicts_with = "level", value_parser = similarity)]
    pub similarity: Option<Similarity>,

    /// How to compare texts: similarity (shared words and word pairs, of all), containment (shared,
    /// of the shorter text), or jaccard (word pairs only)
    #[arg(long, value_name = "HOW")]
    #[arg(value_parser = one_of::<Measure>(Measure::ALL.map(Measure::name)))]
    pub measure: Option<Measure>,

    /// Compare fingerprints only
    #[arg(long, conflicts_with_all = ["level", "similarity", "measure"])]
    pub no_verify: bool,

    /// Find every matching pair of texts, however many texts there are [default: up to a million
    /// texts; beyond, at least 99 % of the pairs at the threshold, and more of those above it]
    #[arg(long)]
    pub exact: bool,

    /// Find at least this share of the text pairs at the threshold, such as 0.99, in less time
    #[arg(long, value_name = "R", conflicts_with = "exact", value_parser = recall)]
    pub recall: Option<f64>,
}

#[derive(clap::Args)]
pub struct OutputArgs {
    /// Write to this file instead of standard output (-); the extension sets the format
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Overwrite existing output files
    #[arg(long)]
    pub force: bool,
}

impl OutputArgs {
    /// The file to write; none for standard output.
    pub fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|file| *file != Path::new("-"))
    }

    /// The file to write, or `-`.
    pub fn path(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new("-"))
    }
}

#[derive(clap::Args, Clone, Copy)]
pub struct MessageOptions {
    /// Print errors only: no progress, notes or summary
    #[arg(long, short)]
    pub quiet: bool,

    /// Print the summary as one line of JSON on standard error
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON object per line
    Jsonl,
    /// Comma-separated values, names in the first row
    Csv,
    /// Tab-separated values, names in the first row
    Tsv,
    /// Parquet tables
    Parquet,
    /// Web archives, including WET files
    Warc,
    /// One text per line
    Lines,
    /// One text per file
    Text,
    /// A NumPy array of vectors, recognised by its content
    #[value(skip)]
    Npy,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Equal {
    /// Every pair
    All,
    /// Each item only with the first of its equals; near pairs only between first items
    First,
}

impl From<Equal> for Equals {
    fn from(equal: Equal) -> Self {
        match equal {
            Equal::All => Self::All,
            Equal::First => Self::First,
        }
    }
}

/// How synthetic fingerprints are distributed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Distribution {
    /// Independent random bits
    Random,
    /// Each bit with its own bias, as in fingerprints of text
    Skewed,
    /// Families of ten around a common ancestor
    Clustered,
    /// All but 40 bits equal
    FewBits,
    /// All equal
    Equal,
}

impl Distribution {
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// One of these names, parsed by its library type.
fn one_of<T>(names: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: Debug> + Clone + Send + Sync + 'static,
{
    let names = PossibleValuesParser::new(names);
    names.map(|name| name.parse().expect("the type parses its own names"))
}

/// A value parsed by its library type, which also words the error.
fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn width(text: &str) -> Result<Width, String> {
    let bits = text.parse().map_err(|_| "expected 32, 64, 128 or 256".to_owned())?;
    Width::from_bits(bits).map_err(|error| error.to_string())
}

fn radius(text: &str) -> Result<Radius, String> {
    text.parse().map(Radius::new).map_err(|_| "expected a number of bits, such as 3".to_owned())
}

fn threads(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "expected a number of threads, such as 4".to_owned())
}

fn similarity(text: &str) -> Result<Similarity, String> {
    let share = text.parse().ok().and_then(Similarity::new);
    share.ok_or_else(|| "expected a number from 0 to 1, such as 0.8".to_owned())
}

fn recall(text: &str) -> Result<f64, String> {
    let recall = text.parse().ok().filter(|recall| *recall > 0.0 && *recall < 1.0);
    recall.ok_or_else(|| {
        "expected a number between 0 and 1, such as 0.99; use --exact for all".to_owned()
    })
}

fn fraction(text: &str) -> Result<f64, String> {
    let fraction = text.parse().ok().filter(|fraction| (0.0..=1.0).contains(fraction));
    fraction.ok_or_else(|| "expected a number from 0 to 1, such as 0.9".to_owned())
}

fn kernel(text: &str) -> Result<Kernel, String> {
    let available = Kernel::available();
    available.iter().copied().find(|kernel| kernel.name() == text).ok_or_else(|| {
        let names: Vec<_> = available.iter().map(|kernel| kernel.name()).collect();
        format!("this machine supports {}", names.join(", "))
    })
}

/// A size in bytes: `512M`, `2G`, `1.5GiB`. Units are powers of 1024.
pub fn size(text: &str) -> Result<u64, String> {
    let upper = text.to_ascii_uppercase();
    let upper = upper.strip_suffix("IB").or(upper.strip_suffix('B')).unwrap_or(&upper);
    scaled(upper, &[('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30), ('T', 1 << 40)])
        .filter(|&bytes| bytes >= 1.0)
        .map(|bytes| bytes as u64)
        .ok_or_else(|| "expected a size such as 512M or 2G".to_owned())
}

/// A number of items: `1000000`, `1e6`, `10M`.
fn count(text: &str) -> Result<u64, String> {
    scaled(&text.to_ascii_uppercase(), &[('K', 1_000), ('M', 1_000_000), ('G', 1_000_000_000)])
        .filter(|number| number.fract() == 0.0)
        .map(|number| number as u64)
        .ok_or_else(|| "expected a number such as 1000000, 1e6 or 1M".to_owned())
}

/// A number with an optional unit letter, below 2^53 so that a float holds it exactly.
fn scaled(text: &str, units: &[(char, u64)]) -> Option<f64> {
    let unit = units.iter().find(|unit| text.ends_with(unit.0));
    let number = if unit.is_some() { &text[..text.len() - 1] } else { text };
    let value = number.trim().parse::<f64>().ok()? * unit.map_or(1, |unit| unit.1) as f64;
    (0.0..(1u64 << 53) as f64).contains(&value).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_consistent() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn patterns_match_folders_names_and_wildcards() {
        for (pattern, path, matches) in [
            ("originals", "photos/originals/a.jpg", true),
            ("originals/", "originals/a.jpg", true),
            ("originals", "photos/originals-2/a.jpg", false),
            ("2020/may", "photos/2020/may/a.jpg", true),
            ("a.jpg", "photos/a.jpg", true),
            ("/photos", "/photos/a.jpg", true),
            ("./photos", "photos/a.jpg", true),
            ("*.png", "photos/a.png", true),
            ("*.png", "photos/a.png.jpg", false),
            ("photos/*/a?.jpg", "photos/x/y/a1.jpg", true),
            ("photos/*/a?.jpg", "photos/x/y/a.jpg", false),
            ("*a*b*c", "xaxbxcxc", true),
            ("*", "", true),
            ("?", "é", true),
        ] {
            assert_eq!(PathPattern::new(pattern).matches(path), matches, "{pattern} {path}");
        }
        // Backtracking stays quadratic with many stars.
        assert!(!PathPattern::new(&"*a".repeat(1_000)).matches(&"b".repeat(10_000)));
    }

    #[test]
    fn parses_sizes_with_units() {
        for (text, bytes) in
            [("1", 1), ("512M", 512 << 20), ("2g", 2 << 30), ("1.5GiB", 3 << 29), ("8KB", 8 << 10)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "M", "-1G", "1X", "2GG", "nan"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parses_counts_with_units_and_exponents() {
        for (text, number) in
            [("0", 0), ("1e6", 1_000_000), ("10M", 10_000_000), ("2.5e3", 2_500), ("1k", 1_000)]
        {
            assert_eq!(count(text), Ok(number), "{text}");
        }
        for text in ["", "1.5", "-3", "many", "1e400"] {
            assert!(count(text).is_err(), "{text}");
        }
    }
}
