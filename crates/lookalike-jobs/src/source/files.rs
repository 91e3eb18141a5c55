//! Image files as inputs: recognised by content, digested in parallel.
//!
//! Each image is decoded, digested and freed on one thread, so at most one image per thread is in
//! memory, and never more than fit the memory limit.

use std::{
    collections::{BTreeMap, HashSet},
    ffi::OsStr,
    fs::{self, File},
    io::{BufReader, Read, Seek},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, bail, ensure};
use lookalike::{
    Digest, Facts, Kind, Unfit, Width,
    digest::{Fidelity, Identity},
    extract::image::{DecodeError, Decoder, ImageFormat},
    hash::FeatureHash,
    kind::Input,
};
use rayon::prelude::*;

use super::{
    Bad, Ids, Kept, Reason, Skipped,
    budget::Budget,
    bytes::{is_stream, name_of},
    cache::{Before, Cache},
    folder::{self, Walk, Walked},
    path::path_text,
    seen::{ContentHash, SeenFile},
    sidecar::{Sidecars, is_sidecar},
    stamp::Stamp,
};
use crate::report::{FolderOutput, Partials, counted, visible};

/// How many files are digested before their results are passed on.
const BATCH: usize = 1 << 10;

/// The maximum size of an image file.
const MAX_BYTES: u64 = 1 << 30;

/// How many files of a folder decide what it contains.
const SAMPLE: usize = 200;

/// How images are read.
#[derive(Clone)]
pub struct FileReading {
    /// Whether symbolic links in folders are followed.
    pub follow_links: bool,
    /// The digests of earlier runs.
    pub cache: Arc<Cache>,
    /// The memory for decoding.
    pub memory: Arc<Budget>,
}

/// The files of one command that may be images.
pub struct Files {
    files: Vec<ItemFile>,
    walk: Walk,
    reading: FileReading,
    notes: Vec<String>,
    /// For each file read so far, whether it is an item.
    is_item: Vec<bool>,
    items: Vec<FileItem>,
}

/// A file that may be an image.
pub struct ItemFile {
    pub path: PathBuf,
    /// Its name in ids and messages.
    pub name: String,
    /// Its path in an output folder.
    relative: PathBuf,
    /// The metadata of a file found in a folder. Such a file need not be an image.
    walked: Option<fs::Metadata>,
    /// Other names of the same file.
    links: Vec<PathBuf>,
}

/// An image file, apart from its digest.
#[derive(Clone, Debug)]
pub struct FileItem {
    pub path: PathBuf,
    pub facts: Facts,
    /// The state of the file before it was read.
    pub stamp: Stamp,
    content: ContentHash,
    /// The position of the file in the list.
    file: usize,
}

impl FileItem {
    /// A hash of the whole file.
    pub fn content_hash(&self) -> Identity {
        let mut hash = Identity::default();
        hash.copy_from_slice(self.content.0.map(u64::to_le_bytes).as_flattened());
        hash
    }
}

/// Receives images in order as they are read.
pub type OnFile<'a> = &'a mut dyn FnMut(&Ids, &FileItem, Digest) -> Result<()>;

impl Files {
    /// Lists all inputs, so that a wrong name fails before any work is done.
    pub fn open(paths: &[PathBuf], reading: &FileReading, skipped: &mut Skipped) -> Result<Self> {
        if let Some(limit) = reading.memory.too_small() {
            bail!(
                "--memory {} is too small to decode images; use at least {}",
                memory_size(limit),
                memory_size(Budget::MIN)
            );
        }
        let mut images = Self {
            files: Vec::new(),
            walk: Walk::new(reading.follow_links),
            reading: reading.clone(),
            notes: reading.cache.note().map(str::to_owned).into_iter().collect(),
            is_item: Vec::new(),
            items: Vec::new(),
        };
        for path in paths {
            if path == Path::new("-") {
                bail!("-: images cannot be read from standard input; name files or folders");
            } else if path.is_dir() {
                images.open_folder(path, skipped)?;
            } else {
                super::bytes::open_file(path)
                    .map_err(|what| Bad::input(&name_of(path), what).error())?;
                images.push_file(path);
            }
        }
        Ok(images)
    }

    /// A description of the inputs, for messages.
    pub fn what(&self) -> String {
        match self.files.as_slice() {
            [file] => format!("the image {}", file.name),
            files => format!("images in {}", counted(files.len() as u64, "file")),
        }
    }

    /// Notes for the user on what was ignored.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Digests every file and passes on the items, in order.
    pub fn read(
        &mut self,
        kind: &dyn Kind,
        skipped: &mut Skipped,
        on_file: &(dyn Fn() + Sync),
        on_item: OnFile<'_>,
    ) -> Result<Ids> {
        let mut ids = Ids::new(self.files.iter().map(|file| file.name.clone()).collect());
        let (mut others, mut number) = (0_u64, 0);
        let before = skipped.total();
        self.items.clear();
        self.is_item.clear();
        let recipe = format!("{}, digest {DIGEST_VERSION}", kind.recipe());
        let digester = Digesting { kind, recipe: &recipe, reading: &self.reading };
        for batch in self.files.chunks(BATCH) {
            let results: Vec<_> = batch
                .par_iter()
                .map(|file| {
                    let digested = digester.digest(file);
                    on_file();
                    digested
                })
                .collect();
            for (file, result) in batch.iter().zip(results) {
                ids.start_input(number);
                self.is_item.push(result.is_ok());
                match result {
                    Ok((item, digest)) => {
                        ids.push_input();
                        on_item(&ids, &item, digest)?;
                        self.items.push(FileItem { file: number, ..item });
                    }
                    Err((Reason::NotAnImage, _)) if file.walked.is_some() => others += 1,
                    Err((reason, what)) => skipped.add(Bad::item(&file.name, reason, what))?,
                }
                number += 1;
            }
        }
        skipped.check_some(ids.len(), before)?;
        let name = kind.name();
        ensure!(
            others == 0 || ids.len() > 0,
            "nothing could be read: found {}, but no {name}",
            counted(others, "file")
        );
        if others > 0 {
            self.notes
                .push(format!("note: ignored {} without {name} data", counted(others, "file")));
        }
        Ok(ids)
    }

    /// The item with this number.
    pub fn item(&self, item: u32) -> Option<&FileItem> {
        self.items.get(item as usize)
    }

    /// All items in order.
    pub fn items(&self) -> &[FileItem] {
        &self.items
    }

    /// Applies `inspect` to the bytes of a sample of the images, which is chosen by hashing their
    /// names. `share` is its expected fraction.
    pub fn sampled<T: Send>(
        &self,
        share: f64,
        skipped: &mut Skipped,
        inspect: &(dyn Fn(&[u8]) -> Result<T, DecodeError> + Sync),
    ) -> Result<Vec<T>> {
        let is_chosen = |file: &&ItemFile| {
            let number = FeatureHash::Xxh3.hash(0, file.name.as_bytes());
            number as f64 <= share * u64::MAX as f64
        };
        let chosen: Vec<&ItemFile> = self.files.iter().filter(is_chosen).collect();
        let results: Vec<_> = chosen
            .par_iter()
            .map(|file| {
                let decoder = Decoder { colour: true, ..Decoder::default() };
                let inspect = |bytes: &[u8]| {
                    inspect(bytes).map_err(|error| (reason(&error), error.to_string()))
                };
                let result = File::open(&file.path).map_err(unreadable).and_then(|opened| {
                    with_image(&opened, &decoder, &self.reading.memory, inspect)
                });
                result.map_err(|(reason, what)| (*file, reason, what))
            })
            .collect();
        let mut inspected = Vec::new();
        for result in results {
            match result {
                Ok(value) => inspected.push(value),
                Err((file, Reason::NotAnImage, _)) if file.walked.is_some() => {}
                Err((file, reason, what)) => skipped.add(Bad::item(&file.name, reason, what))?,
            }
        }
        Ok(inspected)
    }

    /// Copies the images for which `keep` is true, with their sidecars, and files that could not be
    /// read to a folder.
    pub fn write_kept(&self, keep: &dyn Fn(u32) -> bool, output: FolderOutput) -> Result<Kept> {
        let (mut counts, mut item) = (Kept::default(), 0);
        let (removed, unlisted) = self.sidecars(keep);
        for (sidecar, relative) in &unlisted {
            output
                .put(relative, |target| super::kept::copy_file(sidecar, target))
                .with_context(|| format!("{}: cannot be copied", path_text(sidecar)))?;
        }
        for (file, &is_item) in self.files.iter().zip(&self.is_item) {
            if !is_item && removed.contains(&file.path) {
                continue;
            }
            let kept = !is_item || keep(item);
            let count = match (is_item, kept) {
                (false, _) => &mut counts.others,
                (true, true) => &mut counts.kept,
                (true, false) => &mut counts.removed,
            };
            *count += 1;
            item += u32::from(is_item);
            if kept {
                output
                    .put(&file.relative, |target| super::kept::copy_file(&file.path, target))
                    .with_context(|| format!("{}: cannot be copied", file.name))?;
            }
        }
        output.finish()?;
        Ok(counts)
    }

    /// The sidecars of removed images, and the unlisted sidecars of kept images with their paths in
    /// the output folder.
    fn sidecars(
        &self,
        keep: &dyn Fn(u32) -> bool,
    ) -> (HashSet<PathBuf>, BTreeMap<PathBuf, PathBuf>) {
        let images = self.files.iter().zip(&self.is_item).filter(|(_, is_item)| **is_item);
        let (kept, removed): (Vec<_>, Vec<_>) = (0..)
            .zip(images)
            .map(|(item, (file, _))| (item, file))
            .partition(|&(item, _)| keep(item));
        let removed: HashSet<&Path> = removed.iter().map(|(_, file)| file.path.as_path()).collect();
        let mut finder = Sidecars::default();
        let of_removed =
            removed.iter().flat_map(|path| finder.of(path, &|path| removed.contains(path)));
        let of_removed = of_removed.collect();
        let listed: HashSet<&Path> = self.files.iter().map(|file| file.path.as_path()).collect();
        let mut unlisted = BTreeMap::new();
        for (_, file) in kept.iter().filter(|(_, file)| file.walked.is_none()) {
            let sidecars = finder.of(&file.path, &|_| true);
            for path in sidecars.into_iter().filter(|path| !listed.contains(path.as_path())) {
                let name = path.file_name().unwrap_or_default();
                unlisted.insert(path.clone(), file.relative.with_file_name(name));
            }
        }
        (of_removed, unlisted)
    }

    /// Opens the folder for kept files before work starts.
    pub fn open_kept(&self, target: Option<&Path>, partials: &Partials) -> Result<FolderOutput> {
        let mut taken = BTreeMap::new();
        for file in &self.files {
            if let Some(other) = taken.insert(&file.relative, &file.name) {
                bail!(
                    "{other} and {} would both be written as {}; name their common folder instead",
                    file.name,
                    file.relative.display()
                );
            }
        }
        let target = target.context("kept files are written to a folder; name one with -o")?;
        FolderOutput::create(target, partials)
    }

    /// The file of an image, in its state when it was read.
    pub fn seen(&self, item: u32) -> Option<SeenFile<'_>> {
        let item = self.item(item)?;
        let file = &self.files[item.file];
        Some(SeenFile {
            path: &file.path,
            relative: &file.relative,
            links: &file.links,
            stamp: item.stamp,
            content: item.content,
        })
    }

    fn open_folder(&mut self, path: &Path, skipped: &mut Skipped) -> Result<()> {
        let Walked { files, metadata, links, .. } =
            self.walk.folder(path, self.files.len(), skipped)?;
        let name = path_text(path);
        if let Some(ignored) = self.walk.note() {
            self.notes.push(format!("note: ignored in {}: {ignored}", visible(&name)));
        }
        ensure!(!files.is_empty() || !links.is_empty(), "{name}: the folder contains no files");
        for (file, metadata) in files.into_iter().zip(metadata) {
            let relative = file.strip_prefix(path).unwrap_or(&file).to_owned();
            self.push(file, relative, Some(metadata));
        }
        for (first, link) in links {
            self.files[first].links.push(link);
        }
        Ok(())
    }

    /// Lists a file that the user named; only once, even if it is named several times.
    fn push_file(&mut self, path: &Path) {
        let file = path.metadata().ok().and_then(|data| Stamp::of(&data).file);
        if let Some(first) = self.walk.list(file, self.files.len()) {
            let name = visible(&name_of(path)).into_owned();
            self.notes.push(format!("note: {name} is given more than once, and read once"));
            self.files[first].links.push(path.to_owned());
        } else {
            let relative = path.file_name().map(PathBuf::from).unwrap_or_default();
            self.push(path.to_owned(), relative, None);
        }
    }

    fn push(&mut self, path: PathBuf, relative: PathBuf, walked: Option<fs::Metadata>) {
        let (name, links) = (name_of(&path), Vec::new());
        self.files.push(ItemFile { path, name, relative, walked, links });
    }
}

/// Whether inputs are images, by the first bytes of the first file, or of most files if the first
/// input is a folder.
pub fn are_images(paths: &[PathBuf]) -> bool {
    match paths.first() {
        Some(path) if is_stream(path) => false,
        Some(path) if path.is_dir() => {
            let mut files = folder::first_files(path, SAMPLE);
            // There may be as many sidecars as images.
            files.retain(|file| !is_sidecar(file));
            let images = files.iter().filter(|file| starts_like_image(file)).count();
            2 * images > files.len()
        }
        Some(path) => starts_like_image(path),
        None => false,
    }
}

fn starts_like_image(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(32).read_to_end(&mut start));
    let is_known = || ImageFormat::of_content(&start).is_some();
    read.is_ok() && (is_known() || ImageFormat::not_read(&start).is_some())
}

/// Digests one file that the user named.
pub fn read_file(path: &Path, kind: &dyn Kind) -> Result<(Facts, Digest), Bad> {
    let (path, name, links) = (path.to_owned(), name_of(path), Vec::new());
    let file = ItemFile { path, name, relative: PathBuf::new(), walked: None, links };
    let (cache, memory) = (Arc::new(Cache::none()), Arc::default());
    let reading = FileReading { follow_links: false, cache, memory };
    let digested = Digesting { kind, recipe: "", reading: &reading }.digest(&file);
    let (item, digest) = digested.map_err(|(reason, what)| Bad::item(&file.name, reason, what))?;
    Ok((item.facts, digest))
}

/// Digests files, with the cache.
struct Digesting<'a> {
    kind: &'a dyn Kind,
    /// The recipe part of the cache key.
    recipe: &'a str,
    reading: &'a FileReading,
}

impl Digesting<'_> {
    /// The cached digest if the file has not changed; otherwise the file is read.
    fn digest(&self, file: &ItemFile) -> Result<(FileItem, Digest), (Reason, String)> {
        let Self { kind, recipe, reading: FileReading { cache, memory, .. } } = *self;
        let metadata;
        let data = match &file.walked {
            Some(data) => data,
            None => {
                metadata = fs::metadata(&file.path).map_err(unreadable)?;
                &metadata
            }
        };
        if let Some(cached) = cache.get(&file.path, recipe, data)
            && let Some((content, facts, digest)) = from_bytes(cached)
        {
            return Ok((item(file, data, facts, content), digest));
        }
        let opened = File::open(&file.path).map_err(unreadable)?;
        let data = opened.metadata().map_err(unreadable)?;
        let before = Before::of(&data);
        let extension = file.path.extension().and_then(OsStr::to_str);
        let mut digester = kind.digester();
        let (start, size) = start_of(&opened)?;
        digester.recognise(&start).map_err(refused)?;
        let needed = size + digester.memory(&mut BufReader::new(&opened));
        let (content, facts, digest) = with_content(&opened, size, needed, memory, |bytes| {
            let (digest, facts) =
                digester.digest(Input::File { bytes, extension }).map_err(refused)?;
            Ok((ContentHash::of(bytes), facts, digest))
        })?;
        if let Ok(after) = opened.metadata() {
            let bytes = to_bytes(content, &facts, &digest, kind.shape().width);
            cache.put(&file.path, recipe, &before, &after, &bytes);
        }
        Ok((item(file, &data, facts, content), digest))
    }
}

/// Incremented whenever the cached value of a file changes.
const DIGEST_VERSION: u32 = 8;

/// The cached form of a file.
fn to_bytes(content: ContentHash, facts: &Facts, digest: &Digest, width: Width) -> Vec<u8> {
    let mut bytes: Vec<u8> = content.0.iter().flat_map(|word| word.to_le_bytes()).collect();
    let fidelity = facts.fidelity.map_or(0, |fidelity| 1 + fidelity as u8);
    let edited = facts.edited.map_or(0, |edited| 1 + u8::from(edited));
    let format = facts.format.as_deref().unwrap_or_default();
    let (width_of, height) = facts.pixels.unwrap_or_default();
    bytes.extend([fidelity, edited, facts.taken.is_some().into(), format.len() as u8]);
    bytes.extend(facts.taken.unwrap_or(0).to_le_bytes());
    bytes.extend([width_of, height].iter().flat_map(|side| side.to_le_bytes()));
    bytes.extend(format.as_bytes());
    bytes.extend(digest.to_bytes(width));
    bytes
}

/// The inverse of [`to_bytes`].
fn from_bytes(bytes: &[u8]) -> Option<(ContentHash, Facts, Digest)> {
    let (content, rest) = bytes.split_first_chunk::<16>()?;
    let word = |at: usize| Some(u64::from_le_bytes(content[at..at + 8].try_into().ok()?));
    let (&[fidelity, edited, is_dated, format], rest) = rest.split_first_chunk()?;
    let (taken, rest) = rest.split_first_chunk()?;
    let (width, rest) = rest.split_first_chunk()?;
    let (height, rest) = rest.split_first_chunk()?;
    let (format, rest) = rest.split_at_checked(format.into())?;
    let format = std::str::from_utf8(format).ok().filter(|format| !format.is_empty());
    let pixels = (u32::from_le_bytes(*width), u32::from_le_bytes(*height));
    let facts = Facts {
        pixels: (pixels != (0, 0)).then_some(pixels),
        format: format.map(str::to_owned),
        fidelity: match fidelity {
            1 => Some(Fidelity::Lossy),
            2 => Some(Fidelity::Lossless),
            3 => Some(Fidelity::Raw),
            _ => None,
        },
        taken: (is_dated == 1).then_some(i64::from_le_bytes(*taken)),
        edited: edited.checked_sub(1).map(|edited| edited == 1),
        ..Facts::default()
    };
    Some((ContentHash([word(0)?, word(8)?]), facts, Digest::from_bytes(rest)?))
}

fn unreadable(error: std::io::Error) -> (Reason, String) {
    (Reason::Input, format!("cannot be read: {error}"))
}

/// The first bytes of a file, and its size.
fn start_of(file: &File) -> Result<(Vec<u8>, u64), (Reason, String)> {
    let size = file.metadata().map_err(unreadable)?.len();
    if size > MAX_BYTES {
        let what = format!("has {size} bytes; the maximum is {MAX_BYTES}");
        return Err((Reason::TooLarge, what));
    }
    let mut start = Vec::new();
    file.take(64).read_to_end(&mut start).map_err(unreadable)?;
    Ok((start, size))
}

/// Reads a file and calls `inspect` with its bytes, once enough memory is free.
fn with_content<T>(
    mut file: &File,
    size: u64,
    needed: u64,
    memory: &Budget,
    inspect: impl FnOnce(&[u8]) -> Result<T, (Reason, String)>,
) -> Result<T, (Reason, String)> {
    let _share = memory.take(needed).map_err(|limit| {
        let (needed, limit) = (memory_size(needed), memory_size(limit));
        let what = format!("needs {needed} to decode, more than --memory {limit}");
        (Reason::TooLarge, format!("{what}; use --memory {needed} or more"))
    })?;
    file.rewind().map_err(unreadable)?;
    let mut content = Vec::with_capacity(size as usize + 1);
    file.take(MAX_BYTES).read_to_end(&mut content).map_err(unreadable)?;
    inspect(&content)
}

/// Reads an image file and calls `inspect` with its bytes.
fn with_image<T>(
    file: &File,
    decoder: &Decoder,
    memory: &Budget,
    inspect: impl FnOnce(&[u8]) -> Result<T, (Reason, String)>,
) -> Result<T, (Reason, String)> {
    let (start, size) = start_of(file)?;
    if !start.is_empty() && ImageFormat::of_content(&start).is_none() {
        let refused = decoder.decode(&start).err();
        let refused = refused.map(|error| (reason(&error), error.to_string()));
        return Err(refused.unwrap_or((Reason::NotAnImage, String::new())));
    }
    let needed = decoder.memory(&mut BufReader::new(file)).unwrap_or(0);
    with_content(file, size, size + needed, memory, inspect)
}

/// Why a digester refuses a file.
fn refused(unfit: Unfit) -> (Reason, String) {
    (Reason::named(unfit.reason), unfit.message)
}

/// A size in the form of `--memory`, rounded up.
fn memory_size(bytes: u64) -> String {
    format!("{}M", bytes.div_ceil(1 << 20))
}

fn item(file: &ItemFile, data: &fs::Metadata, facts: Facts, content: ContentHash) -> FileItem {
    let stamp = Stamp::of(data);
    let facts = Facts {
        name: file.name.clone(),
        bytes: stamp.bytes,
        modified: Some(stamp.modified),
        ..facts
    };
    FileItem { path: file.path.clone(), facts, stamp, content, file: 0 }
}

fn reason(error: &DecodeError) -> Reason {
    match error {
        DecodeError::Empty => Reason::Empty,
        DecodeError::NotAnImage { .. } => Reason::NotAnImage,
        DecodeError::NotRead { .. } | DecodeError::Unsupported { .. } => Reason::NotRead,
        DecodeError::TooManyPixels { .. } | DecodeError::TooMuchMemory { .. } => Reason::TooLarge,
        _ => Reason::Broken,
    }
}
