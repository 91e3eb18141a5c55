//! Which images do the inputs of a command hold? Files told by their content, digested in parallel.
//!
//! An image is decoded, digested and let go on one thread: never more of them are in memory than
//! there are threads, nor more than fit the memory limit.

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
    seen::{Digest as Content, SeenFile},
    sidecar::{Sidecars, is_sidecar},
    stamp::Stamp,
};
use crate::report::{FolderOutput, Partials, counted, grouped, visible};

/// Digests are handed on in batches of so many files.
const BATCH: usize = 1 << 10;

/// Larger files are no images to look at.
const LARGEST: u64 = 1 << 30;

/// How many files of a folder tell what it holds.
const LOOKED_AT: usize = 200;

/// How images are read.
#[derive(Clone)]
pub struct FileReading {
    /// Symbolic links in folders are followed.
    pub follow_links: bool,
    /// What was made of files before.
    pub cache: Arc<Cache>,
    /// What decoding may take.
    pub memory: Arc<Budget>,
}

/// The files of one command that may be images.
pub struct Files {
    files: Vec<ItemFile>,
    walk: Walk,
    reading: FileReading,
    notes: Vec<String>,
    /// Which files were items, once they are read.
    is_item: Vec<bool>,
    /// What is known of each item.
    items: Vec<FileItem>,
}

/// A file that may be an image.
pub struct ItemFile {
    pub path: PathBuf,
    /// What it is called in ids and messages.
    pub name: String,
    /// Where a kept file goes in the output folder.
    relative: PathBuf,
    /// What was said of it when it was found in a folder; such a file need not be an image.
    walked: Option<fs::Metadata>,
    /// Other names of the same file, found on the way.
    links: Vec<PathBuf>,
}

/// What is known of an image besides its fingerprints.
#[derive(Clone, Debug)]
pub struct FileItem {
    pub path: PathBuf,
    pub facts: Facts,
    /// How its file was before it was read.
    pub stamp: Stamp,
    /// What its file said.
    content: Content,
    /// The place of the file in the list.
    file: usize,
}

impl FileItem {
    /// A hash of all that its file said.
    pub fn content_hash(&self) -> Identity {
        let mut hash = Identity::default();
        hash.copy_from_slice(self.content.0.map(u64::to_le_bytes).as_flattened());
        hash
    }
}

/// Takes images as they are read, in order.
pub type OnFile<'a> = &'a mut dyn FnMut(&Ids, &FileItem, Digest) -> Result<()>;

impl Files {
    /// Lists all inputs, so that a wrong name is noticed before any work is done.
    pub fn open(paths: &[PathBuf], reading: &FileReading, skipped: &mut Skipped) -> Result<Self> {
        if let Some(limit) = reading.memory.too_small() {
            bail!(
                "--memory {} is too little to decode images; the smallest that works is {}",
                size_words(limit),
                size_words(Budget::LEAST)
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
                bail!("-: images are read from files and folders, not from standard input");
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

    /// What is read, in words.
    pub fn what(&self) -> String {
        match self.files.as_slice() {
            [file] => format!("the image {}", file.name),
            files => format!("images of {}", counted(files.len() as u64, "file")),
        }
    }

    /// What the user should know of what was left out.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Digests every file and hands on what is kept of it, in order.
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
            let looked: Vec<_> = batch
                .par_iter()
                .map(|file| {
                    let digested = digester.digest(file);
                    on_file();
                    digested
                })
                .collect();
            for (file, looked) in batch.iter().zip(looked) {
                ids.start_input(number);
                let place = number;
                number += 1;
                self.is_item.push(looked.is_ok());
                match looked {
                    Ok((item, digest)) => {
                        ids.push_input();
                        on_item(&ids, &item, digest)?;
                        self.items.push(FileItem { file: place, ..item });
                    }
                    Err((Reason::NotAnImage, _)) if file.walked.is_some() => others += 1,
                    Err((reason, what)) => skipped.add(Bad::item(&file.name, reason, what))?,
                }
            }
        }
        skipped.check_some(ids.len(), before)?;
        let name = kind.name();
        ensure!(
            others == 0 || ids.len() > 0,
            "nothing could be read: {} found, and no {name} among them",
            counted(others, "file")
        );
        if others > 0 {
            let are = if others == 1 {
                format!("file is no {name}")
            } else {
                format!("files are no {name}s")
            };
            self.notes.push(format!("note: {} {are}, and left out", grouped(others)));
        }
        Ok(ids)
    }

    /// What is known of an item, by number.
    pub fn item(&self, item: u32) -> Option<&FileItem> {
        self.items.get(item as usize)
    }

    /// What is known of every item, in order.
    pub fn items(&self) -> &[FileItem] {
        &self.items
    }

    /// What `look` makes of the bytes of a share of the images, which their names decide.
    pub fn sampled<T: Send>(
        &self,
        share: f64,
        skipped: &mut Skipped,
        look: &(dyn Fn(&[u8]) -> Result<T, DecodeError> + Sync),
    ) -> Result<Vec<T>> {
        let is_chosen = |file: &&ItemFile| {
            let number = FeatureHash::Xxh3.hash(0, file.name.as_bytes());
            number as f64 <= share * u64::MAX as f64
        };
        let chosen: Vec<&ItemFile> = self.files.iter().filter(is_chosen).collect();
        let looked: Vec<_> = chosen
            .par_iter()
            .map(|file| {
                let decoder = Decoder { colour: true, ..Decoder::default() };
                let look =
                    |bytes: &[u8]| look(bytes).map_err(|error| (reason(&error), error.to_string()));
                let looked = File::open(&file.path)
                    .map_err(unreadable)
                    .and_then(|opened| with_image(&opened, &decoder, &self.reading.memory, look));
                looked.map_err(|(reason, what)| (*file, reason, what))
            })
            .collect();
        let mut made = Vec::new();
        for looked in looked {
            match looked {
                Ok(one) => made.push(one),
                Err((file, Reason::NotAnImage, _)) if file.walked.is_some() => {}
                Err((file, reason, what)) => skipped.add(Bad::item(&file.name, reason, what))?,
            }
        }
        Ok(made)
    }

    /// Copies the images for which `keep` is true, and files that could not be read, to a folder;
    /// sidecars where their images are.
    pub fn write_kept(&self, keep: &dyn Fn(u32) -> bool, output: FolderOutput) -> Result<Kept> {
        let (mut done, mut item) = (Kept::default(), 0);
        let (gone, beside) = self.sidecars(keep);
        for (sidecar, relative) in &beside {
            output
                .put(relative, |target| super::kept::copy_file(sidecar, target))
                .with_context(|| format!("{}: cannot be copied", path_text(sidecar)))?;
        }
        for (file, &is_item) in self.files.iter().zip(&self.is_item) {
            if !is_item && gone.contains(&file.path) {
                continue;
            }
            let kept = !is_item || keep(item);
            let count = match (is_item, kept) {
                (false, _) => &mut done.others,
                (true, true) => &mut done.kept,
                (true, false) => &mut done.removed,
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
        Ok(done)
    }

    /// The sidecars of images that are not kept; and of those that are kept, where they are not
    /// listed themselves, with their places in the output folder.
    fn sidecars(
        &self,
        keep: &dyn Fn(u32) -> bool,
    ) -> (HashSet<PathBuf>, BTreeMap<PathBuf, PathBuf>) {
        let images = self.files.iter().zip(&self.is_item).filter(|(_, is_item)| **is_item);
        let (kept, gone): (Vec<_>, Vec<_>) = (0..)
            .zip(images)
            .map(|(item, (file, _))| (item, file))
            .partition(|&(item, _)| keep(item));
        let gone: HashSet<&Path> = gone.iter().map(|(_, file)| file.path.as_path()).collect();
        let mut finder = Sidecars::default();
        let all = gone.iter().flat_map(|path| finder.of(path, &|path| gone.contains(path)));
        let all = all.collect();
        let listed: HashSet<&Path> = self.files.iter().map(|file| file.path.as_path()).collect();
        let mut beside = BTreeMap::new();
        for (_, file) in kept.iter().filter(|(_, file)| file.walked.is_none()) {
            let found = finder.of(&file.path, &|_| true);
            for path in found.into_iter().filter(|path| !listed.contains(path.as_path())) {
                let name = path.file_name().unwrap_or_default();
                beside.insert(path.clone(), file.relative.with_file_name(name));
            }
        }
        (all, beside)
    }

    /// Opens the folder for what is kept, before work starts.
    pub fn open_kept(&self, target: Option<&Path>, partials: &Partials) -> Result<FolderOutput> {
        let mut taken = BTreeMap::new();
        for file in &self.files {
            if let Some(other) = taken.insert(&file.relative, &file.name) {
                bail!(
                    "{other} and {} would both be kept as {}; give the folder they are in",
                    file.name,
                    file.relative.display()
                );
            }
        }
        let target = target.context("kept files go to a folder; name one with -o")?;
        FolderOutput::create(target, partials)
    }

    /// The file of an image, as it was when it was read.
    pub fn seen(&self, item: u32) -> Option<SeenFile<'_>> {
        let item = self.item(item)?;
        let file = &self.files[item.file];
        Some(SeenFile {
            path: &file.path,
            relative: &file.relative,
            links: &file.links,
            stamp: item.stamp,
            digest: item.content,
        })
    }

    fn open_folder(&mut self, path: &Path, skipped: &mut Skipped) -> Result<()> {
        let Walked { files, facts, links, .. } =
            self.walk.folder(path, self.files.len(), skipped)?;
        let name = path_text(path);
        if let Some(left_out) = self.walk.note() {
            self.notes.push(format!("note: left out of {}: {left_out}", visible(&name)));
        }
        ensure!(
            !files.is_empty() || !links.is_empty(),
            "{name}: there are no files in this folder"
        );
        for (file, facts) in files.into_iter().zip(facts) {
            let relative = file.strip_prefix(path).unwrap_or(&file).to_owned();
            self.push(file, relative, Some(facts));
        }
        for (first, link) in links {
            self.files[first].links.push(link);
        }
        Ok(())
    }

    /// A file that the user named; it is listed once, however often it is named.
    fn push_file(&mut self, path: &Path) {
        let file = path.metadata().ok().and_then(|data| Stamp::of(&data).file);
        if let Some(first) = self.walk.list(file, self.files.len()) {
            let name = visible(&name_of(path)).into_owned();
            self.notes.push(format!("note: {name} is listed already, and read once"));
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

/// Whether inputs are images, by their first bytes: most files of a folder, or the first file.
pub fn are_images(paths: &[PathBuf]) -> bool {
    match paths.first() {
        Some(path) if is_stream(path) => false,
        Some(path) if path.is_dir() => {
            let mut files = folder::first_files(path, LOOKED_AT);
            // They are as many as the images they belong to.
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

/// How files become digests.
struct Digesting<'a> {
    kind: &'a dyn Kind,
    /// What the cache knows digests by.
    recipe: &'a str,
    reading: &'a FileReading,
}

impl Digesting<'_> {
    /// What was made of a file before, if it is the same; else it is read.
    fn digest(&self, file: &ItemFile) -> Result<(FileItem, Digest), (Reason, String)> {
        let Self { kind, recipe, reading: FileReading { cache, memory, .. } } = *self;
        let looked;
        let data = match &file.walked {
            Some(data) => data,
            None => {
                looked = fs::metadata(&file.path).map_err(unreadable)?;
                &looked
            }
        };
        if let Some(kept) = cache.get(&file.path, recipe, data)
            && let Some((content, facts, digest)) = from_bytes(kept)
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
            let made = digester.digest(Input::File { bytes, extension }).map_err(refused)?;
            Ok((Content::of(bytes), made.1, made.0))
        })?;
        if let Ok(after) = opened.metadata() {
            let bytes = to_bytes(content, &facts, &digest, kind.shape().width);
            cache.put(&file.path, recipe, &before, &after, &bytes);
        }
        Ok((item(file, &data, facts, content), digest))
    }
}

/// Raised whenever the cache keeps something else of the same file.
const DIGEST_VERSION: u32 = 8;

/// What a file said and is, for the cache.
fn to_bytes(content: Content, facts: &Facts, digest: &Digest, width: Width) -> Vec<u8> {
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

/// What was written as these bytes.
fn from_bytes(bytes: &[u8]) -> Option<(Content, Facts, Digest)> {
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
    Some((Content([word(0)?, word(8)?]), facts, Digest::from_bytes(rest)?))
}

fn unreadable(error: std::io::Error) -> (Reason, String) {
    (Reason::Input, format!("cannot be read: {error}"))
}

/// How a file starts, and its size.
fn start_of(file: &File) -> Result<(Vec<u8>, u64), (Reason, String)> {
    let size = file.metadata().map_err(unreadable)?.len();
    if size > LARGEST {
        return Err((Reason::TooLarge, format!("{size} bytes, more than the {LARGEST} allowed")));
    }
    let mut start = Vec::new();
    file.take(64).read_to_end(&mut start).map_err(unreadable)?;
    Ok((start, size))
}

/// Looks at the bytes of a file, once there is memory for it.
fn with_content<T>(
    mut file: &File,
    size: u64,
    needed: u64,
    memory: &Budget,
    look: impl FnOnce(&[u8]) -> Result<T, (Reason, String)>,
) -> Result<T, (Reason, String)> {
    let _share = memory.take(needed).map_err(|limit| {
        let (needed, limit) = (size_words(needed), size_words(limit));
        let what = format!("takes {needed} to decode, more than --memory {limit} allows");
        (Reason::TooLarge, format!("{what}; use --memory {needed} or more"))
    })?;
    file.rewind().map_err(unreadable)?;
    let mut content = Vec::with_capacity(size as usize + 1);
    file.take(LARGEST).read_to_end(&mut content).map_err(unreadable)?;
    look(&content)
}

/// Looks at the bytes of an image.
fn with_image<T>(
    file: &File,
    decoder: &Decoder,
    memory: &Budget,
    look: impl FnOnce(&[u8]) -> Result<T, (Reason, String)>,
) -> Result<T, (Reason, String)> {
    let (start, size) = start_of(file)?;
    if !start.is_empty() && ImageFormat::of_content(&start).is_none() {
        let refused = decoder.decode(&start).err();
        let refused = refused.map(|error| (reason(&error), error.to_string()));
        return Err(refused.unwrap_or((Reason::NotAnImage, String::new())));
    }
    let needed = decoder.memory(&mut BufReader::new(file)).unwrap_or(0);
    with_content(file, size, size + needed, memory, look)
}

/// What a digester cannot use.
fn refused(unfit: Unfit) -> (Reason, String) {
    (Reason::named(unfit.reason), unfit.message)
}

/// A size as `--memory` takes it, rounded up.
fn size_words(bytes: u64) -> String {
    format!("{}M", bytes.div_ceil(1 << 20))
}

fn item(file: &ItemFile, data: &fs::Metadata, facts: Facts, content: Content) -> FileItem {
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
