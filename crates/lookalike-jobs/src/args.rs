//! What can a user write on the command line?
//!
//! Only names, defaults and the reading of single values. What values mean together is checked in
//! [`config`](crate::config).

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
    IndexGroupsArgs, IndexImportArgs, IndexMakeArgs, IndexRemoveArgs, IndexSearchArgs,
    IndexStatsArgs,
};

/// Finds near-duplicates: every pair within the radius it states, missing none.
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

/// List all pairs of alike items: texts, images, or fingerprints that differ in few bits.
///
/// Images come in folders and files, told by their content. Texts come in folders, files, tables (.jsonl, .csv, .tsv, .parquet), web archives, or lines
/// (--lines). Fingerprints come one a line (decimal, 0x hex or 0b binary; a tab and an id may follow),
/// as NumPy .npy array (uint64, shape (n,) or (n, words), word 0 the least significant; or uint32 for
/// 32 bits), or as lookalike hash writes them. All may be packed with gzip, zstd, bzip2 or xz. An item
/// without an id goes by its line or row number, from 1; with several inputs, by file:line.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike pairs corpus.jsonl -o pairs.parquet
  lookalike pairs photos/ --orientations
  lookalike pairs hashes.txt --distance 3 -o pairs.csv
  zcat hashes.gz | lookalike pairs - --memory 2G > pairs.jsonl
  lookalike hash --lines texts.txt | lookalike pairs - --distance 33")]
pub struct PairsArgs {
    /// Folders and files; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// What the input holds: text, image, vector or hash; guessed if left out
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,

    /// How pairs of equal items are listed
    #[arg(long, default_value = "all")]
    pub equal: Equal,

    /// Print how the pairs would be found, and stop
    #[arg(long)]
    pub plan: bool,

    /// Print how many pairs of vectors there are at several similarities, and how many would be removed
    #[arg(long, conflicts_with_all = ["plan", "output", "level"])]
    pub count: bool,

    #[command(flatten)]
    pub rows: RowArgs,

    /// List all that is skipped, each with file, line and reason; the ending decides the format
    #[arg(long, value_name = "FILE")]
    pub skipped: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten, next_help_heading = "Which texts are alike")]
    pub recipe: RecipeArgs,

    #[command(flatten)]
    pub verify: VerifyArgs,

    #[command(flatten, next_help_heading = "Which images are alike")]
    pub images: ImageArgs,

    #[command(flatten)]
    pub cache: CacheArgs,

    #[command(flatten, next_help_heading = "How to search")]
    pub search: SearchArgs,

    #[command(flatten)]
    pub messages: MessageOptions,
}

/// Remove near-duplicate texts, images or fingerprints: of each group of alike ones, one is kept.
///
/// Images come in folders and files, told by their content. Texts come in folders, files, tables (.jsonl, .csv, .tsv, .parquet), web archives, or lines
/// (--lines), fingerprints as lookalike pairs reads them; each also packed with gzip, zstd, bzip2 or
/// xz. What is kept has the format it came in; lines pass byte for byte. The input is not changed, unless --move, --link, --trash or --delete
/// says so. Every removed item was compared with the one kept in its stead (--removed and --report
/// show both).
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
    /// Folders and files; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// Write what is kept to this file (a folder, if the input is one); - is standard output
    #[arg(long, short, value_name = "KEPT")]
    pub output: Option<PathBuf>,

    /// Write all pairs, of every level; the ending decides the format (.jsonl, .csv, .tsv, .parquet)
    #[arg(long, value_name = "FILE")]
    pub pairs: Option<PathBuf>,

    /// How pairs of equal items are listed in --pairs
    #[arg(long, default_value = "all", requires = "pairs")]
    pub equal: Equal,

    /// Write the groups: the one that is kept, and the others
    #[arg(long, value_name = "FILE")]
    pub groups: Option<PathBuf>,

    /// Write what is removed, and because of what
    #[arg(long, value_name = "FILE")]
    pub removed: Option<PathBuf>,

    /// List all that is skipped, each with file, line and reason; the ending decides the format
    #[arg(long, value_name = "FILE")]
    pub skipped: Option<PathBuf>,

    /// Write a page that shows the groups and what differs, with what is less alike and stays
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,

    /// Replace output files that exist
    #[arg(long)]
    pub force: bool,

    /// Write nothing; say what would be removed. With --move, --link, --trash or --delete, print what
    /// would be done to which file
    #[arg(long)]
    pub dry_run: bool,

    #[command(
        flatten,
        next_help_heading = "What is done to the files that go (nothing, unless asked)"
    )]
    pub act: ActArgs,

    /// Remove what is alike something in OTHER, and nothing else
    #[arg(long, value_name = "OTHER")]
    pub against: Option<PathBuf>,

    /// Which one of a group is kept: first, last, longest (text), largest (bytes), newest or oldest
    /// (EXIF date, else modification time), best (image: an original, then pixels, bytes and the
    /// plainer name), path:PATTERN (those whose path fits; * is anything), or by a field: FIELD:asc
    /// (smallest first) or FIELD:desc. Several, with commas between: the next decides between equals,
    /// and at last the first in the input [default: longest for texts, best for images, first for
    /// fingerprints]
    #[arg(long, value_name = "RULE", value_parser = parsed::<KeepRules>)]
    pub keep: Option<KeepRules>,

    /// Who goes together: star (each alike the one that is kept) or connected (chains, too)
    #[arg(long, value_name = "HOW", default_value = "star")]
    pub group: Grouping,

    /// If more than this part of the items would be removed, stop, and do not write what is kept
    #[arg(long, value_name = "PART", default_value = "0.9", value_parser = part)]
    pub max_remove: f64,

    /// What the input holds: text, image, vector or hash; guessed if left out
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,

    #[command(flatten)]
    pub rows: RowArgs,

    /// Largest number of bits in which the fingerprints of two alike items may differ [default: the
    /// recipe's, 3 for fingerprints]
    #[arg(long, short = 'k', value_name = "K", value_parser = radius, help_heading = "Which texts are alike")]
    pub distance: Option<Radius>,

    #[command(flatten, next_help_heading = "Which texts are alike")]
    pub recipe: RecipeArgs,

    #[command(flatten)]
    pub verify: VerifyArgs,

    #[command(flatten, next_help_heading = "Which images are alike")]
    pub images: ImageArgs,

    #[command(flatten)]
    pub cache: CacheArgs,

    /// Fingerprints: cut them into this many blocks (more than the distance) instead of the planner's
    /// choice
    #[arg(long, value_name = "M", help_heading = "How to work")]
    pub blocks: Option<u32>,

    #[command(flatten, next_help_heading = "How to work")]
    pub work: WorkArgs,

    #[command(flatten)]
    pub messages: MessageOptions,
}

/// What is done to files that go. Each is checked just before: it must be as it was when it was read,
/// and so must the one that stays.
#[derive(clap::Args)]
pub struct ActArgs {
    /// Move them to this folder, under the paths they had
    #[arg(long = "move", value_name = "DIR", group = "act")]
    pub move_to: Option<PathBuf>,

    /// Replace those that are equal to the kept file, byte by byte, by hard links to it; others stay
    #[arg(long, group = "act")]
    pub link: bool,

    /// Put them in the trash
    #[arg(long, group = "act")]
    pub trash: bool,

    /// Delete them; this cannot be undone
    #[arg(long, group = "act")]
    pub delete: bool,

    /// Where to write down what is done, for lookalike undo [default: a new file in
    /// ~/.local/state/lookalike/journals]
    #[arg(long, value_name = "FILE", requires = "act")]
    pub journal: Option<PathBuf>,
}

/// Undo what dedup did to files: bring back what was moved or put in the trash, and make files of
/// links again.
///
/// JOURNAL is what dedup --move, --link or --trash wrote. Nothing that appeared since is overwritten;
/// what cannot be brought back is listed, and the exit code is 2. Undoing twice does no harm. Without
/// JOURNAL, lists the journals kept.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike undo
  lookalike undo ~/.local/state/lookalike/journals/20260102-030405-678.jsonl --dry-run")]
pub struct UndoArgs {
    /// The journal to undo
    #[arg(value_name = "JOURNAL")]
    pub journal: Option<PathBuf>,

    /// Say what would be brought back, and do nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// Who goes together?
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Grouping {
    /// Items alike the one that is kept
    Star,
    /// All that hangs together by pairs
    Connected,
}

/// Which item of a group is kept? Rules in order: of those equal by the first, the second decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepRules(pub Vec<KeepRule>);

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeepRule {
    First,
    Last,
    Longest,
    Largest,
    Newest,
    Oldest,
    /// Of images, an original; then the one with the most pixels, then bytes, then the plainer name.
    Best,
    /// Those whose id fits a pattern.
    Path(PathPattern),
    /// By a field: the smallest value first, or the largest.
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
    /// The fields that decide, in order.
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

/// What a path must look like: `*` stands for any characters, `?` for one; without either, it is the
/// name of a file or of folders on the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern(String);

impl PathPattern {
    fn new(pattern: &str) -> Self {
        Self(pattern.trim_end_matches('/').to_owned())
    }

    pub fn fits(&self, path: &str) -> bool {
        let Self(pattern) = self;
        if pattern.contains(['*', '?']) {
            let [pattern, path] = [pattern, path].map(|text| text.chars().collect::<Vec<_>>());
            return fits(&pattern, &path);
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

/// Takes as little as it can for each star, and more when the rest does not fit: only the last star
/// need ever be tried again, so this takes at most length times length steps.
fn fits(pattern: &[char], path: &[char]) -> bool {
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

/// Tell whether two items are alike: exit code 0 if so, 1 if not.
///
/// A and B are two fingerprints, the names of two files (images or texts), or two texts.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike compare 0xff 0xfe
  lookalike compare draft.txt final.txt
  lookalike compare a.jpg b.png --orientations
  paste one.txt other.txt | lookalike compare --stdin --kind text")]
pub struct CompareArgs {
    /// The one
    #[arg(required_unless_present = "stdin")]
    pub a: Option<String>,

    /// The other
    #[arg(required_unless_present = "stdin")]
    pub b: Option<String>,

    /// Read pairs from standard input, separated by a tab or, without one, by a space; print distance,
    /// tab, alike or different for each line; exit code 0 when done
    #[arg(long, conflicts_with_all = ["a", "b"])]
    pub stdin: bool,

    /// What A and B are: text, image, vector or hash; guessed if left out
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,

    /// Largest number of bits in which two alike items may differ [default: the recipe's, 3 for
    /// fingerprints]
    #[arg(long, short = 'k', value_name = "K", value_parser = radius)]
    pub distance: Option<Radius>,

    #[command(flatten)]
    pub recipe: RecipeArgs,

    #[command(flatten)]
    pub verify: VerifyArgs,

    #[command(flatten)]
    pub images: ImageArgs,

    /// Files are web pages, whatever their names: take their main text
    #[arg(long)]
    pub html: bool,

    /// Of web pages, compare all of the markup, not the main text
    #[arg(long, conflicts_with = "html")]
    pub markup: bool,

    /// With --stdin: stop at the first line that cannot be read; without it, the result of such a line
    /// is "-", tab, skipped
    #[arg(long)]
    pub strict: bool,

    /// No notes; errors only
    #[arg(long, short)]
    pub quiet: bool,

    /// Print the result as one line of JSON
    #[arg(long, conflicts_with = "stdin")]
    pub json: bool,
}

/// Make fingerprints of texts or images: one JSON line {"id":...,"fingerprint":"0x..."} each.
///
/// INPUT is a folder (every file in it is an image, or a text), an image, a text file, rows (.jsonl .ndjson .csv .tsv
/// .parquet), a web archive (.warc), or lines (--lines). All may be packed with gzip, zstd, bzip2 or
/// xz. Files go by their path, rows by their id field or file:row, lines by their number, pages of
/// a web archive by their address.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike hash --lines texts.txt -o prints.jsonl
  lookalike hash corpus.jsonl.gz --field body --id url
  lookalike hash pages/ --html --features chars:5 --bits 64
  lookalike hash photos/ --recipe pdq -o prints.jsonl")]
pub struct HashArgs {
    /// Folders and files; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// What the input holds: text, image, vector or hash; guessed if left out
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,

    #[command(flatten)]
    pub rows: RowArgs,

    #[command(flatten)]
    pub recipe: RecipeArgs,

    #[command(flatten)]
    pub cache: CacheArgs,

    /// List all that is skipped, each with file, line and reason; the ending decides the format
    #[arg(long, value_name = "FILE")]
    pub skipped: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,

    #[command(flatten, next_help_heading = "How to work")]
    pub work: WorkArgs,

    #[command(flatten)]
    pub messages: MessageOptions,
}

/// List the recipes for fingerprints that come with lookalike.
#[derive(clap::Args)]
pub struct RecipesArgs {
    #[command(subcommand)]
    pub command: Option<RecipesCommand>,

    /// Print the list as JSON, one recipe a line
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand)]
pub enum RecipesCommand {
    Learn(LearnArgs),
}

/// Learn from texts how rare words are, or from images how rare colours are, for recipes that weigh
/// by it (tfidf, hsv).
///
/// A sample of some thousand texts is enough. The model belongs to the features and the hash of the
/// recipe it is learned with.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  lookalike recipes learn --lines sample.txt --recipe keywords -o common.model
  lookalike hash --lines texts.txt --recipe keywords --model common.model")]
pub struct LearnArgs {
    /// Files, folders or tables of texts; - is standard input
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,

    /// Replace the output file if there is one
    #[arg(long)]
    pub force: bool,

    #[command(flatten)]
    pub recipe: RecipeArgs,

    /// Of images, learn from this share only, chosen by their names
    #[arg(long, value_name = "PART", default_value = "1", value_parser = part)]
    pub sample: f64,

    #[command(flatten)]
    pub rows: RowArgs,

    /// No notes; errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// Measure lookalike on made data.
#[derive(Subcommand)]
pub enum BenchCommand {
    Pairs(BenchPairsArgs),
    Images(BenchImagesArgs),
}

/// Decode images and make their fingerprints, and tell how long each step takes on one core.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike bench images PHOTOS/")]
pub struct BenchImagesArgs {
    /// Folders and files
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// Which fingerprint: pdq, phash, colour or hsv
    #[command(flatten)]
    pub recipe: RecipeArgs,

    /// Print the result as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// Make fingerprints, 1 % of them neighbours of another one, and find all pairs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lookalike bench pairs --random 1e6
  lookalike bench pairs --random 100M --distance 3 --blocks 5 --threads 1 --json")]
pub struct BenchPairsArgs {
    /// How many fingerprints to make: 1000000, 1e6 or 1M
    #[arg(long, value_name = "N", value_parser = count)]
    pub random: u64,

    /// What the fingerprints look like
    #[arg(long, default_value = "random")]
    pub data: Data,

    /// Bits of a fingerprint: 32, 64, 128 or 256
    #[arg(long, default_value = "64", value_parser = width)]
    pub bits: Width,

    /// Another seed makes other fingerprints; the same one always the same
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    #[command(flatten)]
    pub search: SearchArgs,

    /// Print the result as one line of JSON
    #[arg(long)]
    pub json: bool,
}

/// How an item becomes a fingerprint: a recipe, and what to change in it.
#[derive(clap::Args, Clone)]
pub struct RecipeArgs {
    /// The recipe to start from; see lookalike recipes [default: words for texts, pdq for images]
    #[arg(long, value_name = "NAME")]
    pub recipe: Option<String>,

    /// What a text is made of: runs of N words, chars, bytes, code (with punctuation), blind (code
    /// without names) or dictionary (Chinese words)
    #[arg(long, value_name = "WHAT:N", value_parser = parsed::<Shingles>)]
    pub features: Option<Shingles>,

    /// Words to leave out: languages (en,zh; see the documentation), a file with a word a line, or
    /// none
    #[arg(long, value_name = "LIST")]
    pub stop_words: Option<String>,

    /// How much a feature counts: set (once), tf (as often as it is there), log, or tfidf (log, and
    /// more if it is rare; needs --model)
    #[arg(long, value_name = "HOW", value_parser = one_of::<Weighting>(Weighting::ALL.map(Weighting::name)))]
    pub weights: Option<Weighting>,

    /// How rare features are, as lookalike recipes learn wrote it
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,

    /// Only the N features that count most; 0 for all
    #[arg(long, value_name = "N")]
    pub top: Option<u32>,

    /// The hash of a feature: mix, xxh3, murmur3-64, murmur3-128, jenkins, md5-first8 or md5-last8
    #[arg(long, value_name = "NAME", value_parser = one_of::<FeatureHash>(FeatureHash::ALL.map(FeatureHash::name)))]
    pub hash: Option<FeatureHash>,

    /// The seed of the hash
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Bits of a fingerprint: 32, 64, 128 or 256
    #[arg(long, value_parser = width)]
    pub bits: Option<Width>,
}

impl RecipeArgs {
    /// The files that are read for it, if they are files.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let lists = self.stop_words.as_deref().map(Path::new);
        self.model.as_deref().into_iter().chain(lists.filter(|list| list.is_file()))
    }

    /// Whether the user said nothing at all.
    pub fn is_default(&self) -> bool {
        let Self { recipe, features, stop_words, weights, model, top, hash, seed, bits } = self;
        recipe.is_none()
            && features.is_none()
            && stop_words.is_none()
            && weights.is_none()
            && model.is_none()
            && top.is_none()
            && hash.is_none()
            && seed.is_none()
            && bits.is_none()
    }
}

/// How images are compared.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct ImageArgs {
    /// Find images that are turned by 90, 180 or 270 degrees or mirrored, too
    #[arg(long)]
    pub orientations: bool,

    /// What may be alike: whole images, or partial: also cropped, framed, captioned or slightly
    /// tilted ones, found by their parts and in any orientation (takes some six times as long)
    #[arg(long = "match", value_name = "WHAT", default_value = "whole")]
    pub matching: Matching,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Matching {
    /// Whole images
    #[default]
    Whole,
    /// Parts of images, too
    Partial,
}

/// What is remembered of images from run to run.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct CacheArgs {
    /// Where fingerprints of images are kept for the next run: a file, or none [default:
    /// ~/.cache/lookalike/images.cache]
    #[arg(long, value_name = "FILE|none")]
    pub cache: Option<PathBuf>,
}

/// What an item is, and what of it is read.
#[derive(clap::Args)]
pub struct RowArgs {
    /// The field of a row that is its text, or a list of [feature, weight]; a.b is field b of the
    /// object a [default: text; content or body if there is no text]
    #[arg(long, value_name = "NAME")]
    pub field: Option<String>,

    /// The field of a row that is its id; the header of a web archive's record [default: id]
    #[arg(long, value_name = "NAME")]
    pub id: Option<String>,

    /// Take every line as an item of its own; its id is the line number (in collections, it goes by
    /// its content)
    #[arg(long, conflicts_with = "format")]
    pub lines: bool,

    /// What the inputs are, whatever their endings say
    #[arg(long)]
    pub format: Option<Format>,

    /// All texts are web pages, fields of rows included: take their main text, without menus, footers
    /// and the like. HTML files and pages of web archives are read so in any case
    #[arg(long)]
    pub html: bool,

    /// Of HTML files and pages of web archives, take all of the markup, not the main text
    #[arg(long, conflicts_with = "html")]
    pub markup: bool,

    /// Follow symbolic links in folders; without it they are left out, and counted
    #[arg(long)]
    pub follow_links: bool,

    /// Stop at the first item that cannot be read, instead of skipping it
    #[arg(long)]
    pub strict: bool,
}

/// How to search fingerprints. The answer depends on the distance only; the rest is time and memory.
#[derive(clap::Args)]
pub struct SearchArgs {
    /// Largest number of bits in which two alike items may differ [default: 3 for fingerprints, the
    /// recipe's for texts]
    #[arg(long, short = 'k', value_name = "K", value_parser = radius)]
    pub distance: Option<Radius>,

    /// Fingerprints: cut them into this many blocks (more than the distance) instead of the planner's
    /// choice
    #[arg(long, value_name = "M")]
    pub blocks: Option<u32>,

    #[command(flatten)]
    pub work: WorkArgs,
}

/// What the work may take. The answer does not depend on it.
#[derive(clap::Args, Clone, Default)]
pub struct WorkArgs {
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,

    /// Memory to stay within (512M, 2G); what does not fit goes to temporary files
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,

    /// Folder for temporary files [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub temp: Option<PathBuf>,

    /// Force the instructions used
    #[arg(long, hide = true, value_parser = kernel)]
    pub kernel: Option<Kernel>,
}

/// What two texts must have in common, besides fingerprints within the distance.
#[derive(clap::Args, Default)]
pub struct VerifyArgs {
    /// How alike items must be: copy, near or similar; of images also part, with --match partial.
    /// What removes items takes texts from near up (similarity 0.6) and only copies of images (31 of
    /// the 256 bits of pdq), unless this, --similarity or --distance says otherwise; pairs of every
    /// level are listed (texts from 0.47 up, images within 52 bits)
    #[arg(long, value_name = "NAME", value_parser = one_of::<Level>(Level::ALL.map(Level::name)))]
    pub level: Option<Level>,

    /// How alike texts must be, from 0 to 1
    #[arg(long, value_name = "S", conflicts_with = "level", value_parser = similarity)]
    pub similarity: Option<Similarity>,

    /// How texts are compared: similarity (what they share of all their words and word pairs),
    /// containment (what they share of the shorter one), or jaccard (word pairs only)
    #[arg(long, value_name = "HOW", value_parser = one_of::<Measure>(Measure::ALL.map(Measure::name)))]
    pub measure: Option<Measure>,

    /// Compare fingerprints only
    #[arg(long, conflicts_with_all = ["level", "similarity", "measure"])]
    pub no_verify: bool,

    /// Find every alike pair of texts, however many texts there are [default: up to a million texts;
    /// beyond, 99 % of the pairs at the threshold, and more of those above it]
    #[arg(long)]
    pub exact: bool,

    /// Find at least this share of the pairs of texts at the threshold, in less time: 0.99
    #[arg(long, value_name = "R", conflicts_with = "exact", value_parser = recall)]
    pub recall: Option<f64>,
}

#[derive(clap::Args)]
pub struct OutputArgs {
    /// Write to this file instead of standard output, which is -; its ending decides the format
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Replace the output file if there is one
    #[arg(long)]
    pub force: bool,
}

impl OutputArgs {
    /// The file to write; none for standard output.
    pub fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|file| *file != Path::new("-"))
    }

    /// Where it goes, as the user names it.
    pub fn place(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new("-"))
    }
}

#[derive(clap::Args, Clone, Copy)]
pub struct MessageOptions {
    /// No progress, notes or summary; errors only
    #[arg(long, short)]
    pub quiet: bool,

    /// Print the closing summary as one line of JSON on standard error
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON object a line
    Jsonl,
    /// Comma-separated values, names in the first row
    Csv,
    /// Tab-separated values, names in the first row
    Tsv,
    /// Parquet tables
    Parquet,
    /// Web archives, also WET files
    Warc,
    /// One text a line
    Lines,
    /// One text a file
    Text,
    /// A NumPy array of vectors, recognised by its content
    #[value(skip)]
    Npy,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Equal {
    /// Every pair
    All,
    /// An item only with the first of its equals, and near pairs only between first items
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

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Data {
    /// Every bit by the throw of a coin
    Random,
    /// Bits with a bias of their own, as in fingerprints of text
    Skewed,
    /// Families of ten around a common ancestor
    Clustered,
    /// Only 40 bits differ at all
    FewBits,
    /// All the same
    Equal,
}

impl Data {
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// One of these names, read by its library type.
fn one_of<T>(names: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: Debug> + Clone + Send + Sync + 'static,
{
    let names = PossibleValuesParser::new(names);
    names.map(|name| name.parse().expect("the type reads its own names"))
}

/// A value whose library type reads it and says what is wrong with it.
fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn width(text: &str) -> Result<Width, String> {
    let bits = text.parse().map_err(|_| "write 32, 64, 128 or 256".to_owned())?;
    Width::from_bits(bits).map_err(|error| error.to_string())
}

fn radius(text: &str) -> Result<Radius, String> {
    text.parse().map(Radius::new).map_err(|_| "write a number of bits, such as 3".to_owned())
}

fn threads(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "write a number of threads, such as 4".to_owned())
}

fn similarity(text: &str) -> Result<Similarity, String> {
    let share = text.parse().ok().and_then(Similarity::new);
    share.ok_or_else(|| "write a number from 0 to 1, such as 0.8".to_owned())
}

fn recall(text: &str) -> Result<f64, String> {
    let recall = text.parse().ok().filter(|recall| *recall > 0.0 && *recall < 1.0);
    recall.ok_or_else(|| "write a number between 0 and 1, such as 0.99; or --exact".to_owned())
}

fn part(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "write a number from 0 to 1, such as 0.9".to_owned())
}

fn kernel(text: &str) -> Result<Kernel, String> {
    let available = Kernel::available();
    available.iter().copied().find(|kernel| kernel.name() == text).ok_or_else(|| {
        let names: Vec<_> = available.iter().map(|kernel| kernel.name()).collect();
        format!("this machine can run: {}", names.join(", "))
    })
}

/// A size in bytes, as people write one: `512M`, `2G`, `1.5GiB`. Units are powers of 1024.
pub fn size(text: &str) -> Result<u64, String> {
    let upper = text.to_ascii_uppercase();
    let upper = upper.strip_suffix("IB").or(upper.strip_suffix('B')).unwrap_or(&upper);
    scaled(upper, &[('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30), ('T', 1 << 40)])
        .filter(|&bytes| bytes >= 1.0)
        .map(|bytes| bytes as u64)
        .ok_or_else(|| "write a size such as 512M or 2G".to_owned())
}

/// A number of items, as people write one: `1000000`, `1e6`, `10M`.
fn count(text: &str) -> Result<u64, String> {
    scaled(&text.to_ascii_uppercase(), &[('K', 1_000), ('M', 1_000_000), ('G', 1_000_000_000)])
        .filter(|number| number.fract() == 0.0)
        .map(|number| number as u64)
        .ok_or_else(|| "write a number such as 1000000, 1e6 or 1M".to_owned())
}

/// A number with an optional unit letter. Below 2^53, so that a float holds it exactly.
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
    fn the_arguments_are_consistent() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }

    #[test]
    fn patterns_are_folders_and_names_or_have_stars() {
        for (pattern, path, fit) in [
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
            assert_eq!(PathPattern::new(pattern).fits(path), fit, "{pattern} {path}");
        }
        // Many stars take no time.
        assert!(!PathPattern::new(&"*a".repeat(1_000)).fits(&"b".repeat(10_000)));
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
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
    fn counts_are_read_as_people_write_them() {
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
