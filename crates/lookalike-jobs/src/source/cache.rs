//! What was made of a file before, if the file is still the same? So that nothing is decoded twice.
//!
//! A [`Cache`] keeps some bytes for a path, for as long as size, time of change and time of status
//! change of the file are the same. It is one file to which entries are appended as they are made: a
//! run that is stopped has lost nothing. What it holds can always be made again, so nothing about it
//! stops a run: what cannot be read is not there, and what cannot be written is not kept.
//!
//! File: a first line, then entries: length (4 bytes), checksum (8), then key (16), stamp (24), value;
//! all numbers little-endian. The first entry that is damaged or cut off ends the file.

use std::{
    collections::HashMap,
    fs::{self, File, Metadata, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use lookalike::hash::FeatureHash;

use super::stamp::Stamp;

const FIRST_LINE: &[u8] = b"lookalike cache 1\n";
const HEAD: usize = 4 + 8;
const KEY_AND_STAMP: usize = 16 + 24;
/// No value is longer; a length beyond it is damage.
const LONGEST: usize = 1 << 24;

/// Entries wait this long, or until there is so much of them, before they are written together.
const WAIT: Duration = Duration::from_millis(500);
const WAITING: usize = 1 << 16;

/// A file that was changed less than this before it was read could be changed again without a
/// change of its time: some file systems count in two seconds. It is not kept.
const SETTLED: i64 = 2_000_000_000;

/// Below this a cache is not worth tidying up.
const SMALL: usize = 1 << 20;

/// What was made of files before.
#[derive(Default)]
pub struct Cache {
    /// The file as it was opened.
    content: Vec<u8>,
    entries: HashMap<Key, (Version, Range<usize>)>,
    writer: Option<Mutex<Writer>>,
    /// What paths that are not absolute start from.
    base: PathBuf,
    note: Option<String>,
}

/// A path and a recipe.
type Key = [u64; 2];

/// How a file was when something was made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    bytes: u64,
    modified: i64,
    /// When its content, name or permissions were last changed; nobody can set this back.
    changed: i64,
}

/// A look at a file before it is read.
pub struct Before {
    version: Version,
    /// When that was, in nanoseconds since 1970.
    time: i64,
}

struct Writer {
    file: File,
    waiting: Vec<u8>,
    written: Instant,
}

impl Version {
    pub fn of(data: &Metadata) -> Self {
        let Stamp { bytes, modified, .. } = Stamp::of(data);
        Self { bytes, modified, changed: changed(data) }
    }
}

#[cfg(unix)]
fn changed(data: &Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;
    data.ctime().saturating_mul(1_000_000_000).saturating_add(data.ctime_nsec())
}

#[cfg(not(unix))]
fn changed(_: &Metadata) -> i64 {
    0
}

impl Before {
    /// To be called before the first byte is read.
    pub fn of(data: &Metadata) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { version: Version::of(data), time: i64::try_from(since.as_nanos()).unwrap_or(0) }
    }

    /// What the file was while it was read, if it can be told from what it may become: it was the
    /// same after reading, and had been so for a while before.
    fn settled(&self, after: Version) -> Option<Version> {
        let quiet = self.version.modified < self.time.saturating_sub(SETTLED);
        (self.version == after && quiet).then_some(after)
    }
}

impl Cache {
    /// No cache: it holds nothing and keeps nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Opens a cache, or creates it. Relative paths of files start from `base`.
    pub fn open(path: &Path, base: &Path) -> Self {
        Self::try_open(path, base).unwrap_or_else(|error| Self {
            note: Some(format!("note: no cache at {}: {error}", super::path_text(path))),
            ..Self::default()
        })
    }

    fn try_open(path: &Path, base: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let (mut file, mut writable) = match options.open(path) {
            Ok(file) => (file, true),
            Err(error) => match File::open(path) {
                Ok(file) => (file, false),
                Err(_) => return Err(error),
            },
        };
        // One run writes at a time; others use what is there.
        writable &= !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        if !content.is_empty() && !content.starts_with(&FIRST_LINE[..16]) {
            return Err(io::Error::other("is something else, and left alone"));
        }
        let base = base.to_owned();
        let mut cache = Self { content, base, ..Self::default() };
        let end = cache.index();
        if writable {
            cache.writer = Some(Mutex::new(cache.writer(file, path, end)?));
        }
        Ok(cache)
    }

    /// Finds all entries; tells where the last good one ends.
    fn index(&mut self) -> usize {
        if !self.content.starts_with(FIRST_LINE) {
            return 0;
        }
        let mut at = FIRST_LINE.len();
        while let Some((key, version, value)) = entry(&self.content, at) {
            at = value.end;
            self.entries.insert(key, (version, value));
        }
        at
    }

    /// Cuts off what is damaged, and tidies up if most entries are of files that changed.
    fn writer(&self, mut file: File, path: &Path, end: usize) -> io::Result<Writer> {
        let live = self.entries.values().map(|(_, value)| value.len() + HEAD + KEY_AND_STAMP);
        let live: usize = FIRST_LINE.len() + live.sum::<usize>();
        if end == 0 {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(FIRST_LINE)?;
        } else if end > SMALL && end > 2 * live {
            file = self.tidied(path)?;
        } else {
            file.set_len(end as u64)?;
            file.seek(SeekFrom::Start(end as u64))?;
        }
        Ok(Writer { file, waiting: Vec::new(), written: Instant::now() })
    }

    /// A new file with the live entries only, in the place of the old one.
    fn tidied(&self, path: &Path) -> io::Result<File> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        let _ = file.as_file().try_lock();
        let mut bytes = FIRST_LINE.to_vec();
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|(_, (_, value))| value.start);
        for (key, (version, value)) in entries {
            append(&mut bytes, key, version, &self.content[value.clone()]);
        }
        file.write_all(&bytes)?;
        Ok(file.persist(path)?)
    }

    /// What the user should know about the cache.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// By the bytes of the path; the recipe is everything that decides the value.
    fn key(&self, path: &Path, recipe: &str) -> Key {
        let path = self.base.join(path);
        // No path has a zero byte in it.
        let bytes = [path.as_os_str().as_encoded_bytes(), b"\0", recipe.as_bytes()].concat();
        [0, 1].map(|seed| FeatureHash::Xxh3.hash(seed, &bytes))
    }

    /// What was made of a file that is as it was then.
    pub fn get(&self, path: &Path, recipe: &str, data: &Metadata) -> Option<&[u8]> {
        if self.entries.is_empty() {
            return None;
        }
        let (version, value) = self.entries.get(&self.key(path, recipe))?;
        (*version == Version::of(data)).then(|| &self.content[value.clone()])
    }

    /// Keeps what was made of a file, if nobody wrote to it meanwhile. From any thread.
    pub fn put(&self, path: &Path, recipe: &str, before: &Before, after: &Metadata, value: &[u8]) {
        let Some(writer) = &self.writer else { return };
        let Some(version) = before.settled(Version::of(after)) else { return };
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        append(&mut writer.waiting, &self.key(path, recipe), &version, value);
        if writer.waiting.len() >= WAITING || writer.written.elapsed() >= WAIT {
            writer.write();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.write();
    }
}

impl Writer {
    /// What cannot be written is made again next time; a torn entry ends the file when it is read.
    fn write(&mut self) {
        let _ = self.file.write_all(&self.waiting);
        self.waiting.clear();
        self.written = Instant::now();
    }
}

fn append(bytes: &mut Vec<u8>, key: &Key, version: &Version, value: &[u8]) {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; HEAD]);
    for word in key {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&version.bytes.to_le_bytes());
    bytes.extend_from_slice(&version.modified.to_le_bytes());
    bytes.extend_from_slice(&version.changed.to_le_bytes());
    bytes.extend_from_slice(value);
    let payload = &bytes[start + HEAD..];
    let (length, check) = (payload.len() as u32, checksum(payload));
    bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
    bytes[start + 4..start + HEAD].copy_from_slice(&check.to_le_bytes());
}

/// The entry that starts here, if it is whole: its key, and where its value is.
fn entry(bytes: &[u8], at: usize) -> Option<(Key, Version, Range<usize>)> {
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let length = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize;
    let check = number(at + 4)?;
    let start = at + HEAD;
    if !(KEY_AND_STAMP..=LONGEST).contains(&length) {
        return None;
    }
    let payload = bytes.get(start..start + length)?;
    if checksum(payload) != check {
        return None;
    }
    let signed = |at: usize| number(at).map(|number| number as i64);
    let version = Version {
        bytes: number(start + 16)?,
        modified: signed(start + 24)?,
        changed: signed(start + 32)?,
    };
    let key = [number(start)?, number(start + 8)?];
    Some((key, version, start + KEY_AND_STAMP..start + length))
}

fn checksum(payload: &[u8]) -> u64 {
    FeatureHash::Xxh3.hash(2, payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Files {
        folder: tempfile::TempDir,
    }

    impl Files {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap() }
        }

        fn cache(&self) -> PathBuf {
            self.folder.path().join("sub/cache")
        }

        /// A file with this content, last changed some time ago.
        fn file(&self, name: &str, content: &str, seconds_ago: u64) -> PathBuf {
            let path = self.folder.path().join(name);
            fs::write(&path, content).unwrap();
            let time = SystemTime::now() - Duration::from_secs(seconds_ago);
            File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
            path
        }
    }

    fn put(cache: &Cache, path: &Path, recipe: &str, value: &str) {
        let before = Before::of(&path.metadata().unwrap());
        cache.put(path, recipe, &before, &path.metadata().unwrap(), value.as_bytes());
    }

    fn get(cache: &Cache, path: &Path, recipe: &str) -> Option<String> {
        let value = cache.get(path, recipe, &path.metadata().unwrap())?;
        Some(String::from_utf8(value.to_vec()).unwrap())
    }

    #[test]
    fn what_was_kept_is_there_until_the_file_changes() {
        let files = Files::new();
        let (a, b) = (files.file("a", "one", 10), files.file("b", "two", 10));
        let cache = Cache::open(&files.cache(), Path::new("/"));
        put(&cache, &a, "pdq 1", "A");
        put(&cache, &a, "phash 1", "other");
        put(&cache, &b, "pdq 1", "");
        drop(cache);
        let cache = Cache::open(&files.cache(), Path::new("/"));
        assert_eq!(get(&cache, &a, "pdq 1").as_deref(), Some("A"));
        assert_eq!(get(&cache, &a, "phash 1").as_deref(), Some("other"));
        assert_eq!(get(&cache, &b, "pdq 1").as_deref(), Some(""));
        assert_eq!(get(&cache, &b, "pdq 2"), None);
        files.file("a", "new", 9);
        assert_eq!(get(&cache, &a, "pdq 1"), None);
        put(&cache, &a, "pdq 1", "B");
        drop(cache);
        assert_eq!(
            get(&Cache::open(&files.cache(), Path::new("/")), &a, "pdq 1").as_deref(),
            Some("B")
        );
    }

    #[test]
    #[cfg(unix)]
    fn a_change_that_hides_its_time_is_seen() {
        let files = Files::new();
        let a = files.file("a", "one", 10);
        let cache = Cache::open(&files.cache(), Path::new("/"));
        put(&cache, &a, "r", "A");
        drop(cache);
        let old = a.metadata().unwrap();
        // Clocks of file systems tick slowly: wait for the next tick, however long it takes.
        while a.metadata().unwrap().changed() == old.changed() {
            fs::write(&a, "two").unwrap();
            let file = File::options().write(true).open(&a).unwrap();
            file.set_modified(old.modified().unwrap()).unwrap();
        }
        let new = a.metadata().unwrap();
        assert_eq!((new.len(), new.modified().unwrap()), (old.len(), old.modified().unwrap()));
        assert_eq!(get(&Cache::open(&files.cache(), Path::new("/")), &a, "r"), None);
    }

    #[cfg(unix)]
    trait Changed {
        fn changed(&self) -> i64;
    }

    #[cfg(unix)]
    impl Changed for Metadata {
        fn changed(&self) -> i64 {
            changed(self)
        }
    }

    #[test]
    fn a_file_that_is_being_written_is_not_kept() {
        let files = Files::new();
        let fresh = files.file("fresh", "one", 0);
        let cache = Cache::open(&files.cache(), Path::new("/"));
        put(&cache, &fresh, "r", "A");
        // Changed between the look before and the look after.
        let torn = files.file("torn", "one", 10);
        let before = Before::of(&torn.metadata().unwrap());
        files.file("torn", "more", 10);
        cache.put(&torn, "r", &before, &torn.metadata().unwrap(), b"A");
        drop(cache);
        let cache = Cache::open(&files.cache(), Path::new("/"));
        assert_eq!((get(&cache, &fresh, "r"), get(&cache, &torn, "r")), (None, None));
    }

    #[test]
    fn a_cache_that_is_cut_anywhere_has_what_was_whole_and_goes_on() {
        let files = Files::new();
        let paths: Vec<_> = (0..5).map(|number| files.file(&number.to_string(), "x", 10)).collect();
        let cache = Cache::open(&files.cache(), Path::new("/"));
        paths.iter().for_each(|path| put(&cache, path, "r", "value"));
        drop(cache);
        let whole = fs::read(files.cache()).unwrap();
        let size = (whole.len() - FIRST_LINE.len()) / 5;
        for cut in 0..whole.len() {
            fs::write(files.cache(), &whole[..cut]).unwrap();
            let left = cut.saturating_sub(FIRST_LINE.len()) / size;
            let cache = Cache::open(&files.cache(), Path::new("/"));
            if cut > 0 && cut < 16 {
                assert!(cache.note().unwrap().contains("is something else"), "{cut}");
                continue;
            }
            assert_eq!(cache.entries.len(), left, "{cut}");
            put(&cache, &paths[4], "r", "new");
            drop(cache);
            let cache = Cache::open(&files.cache(), Path::new("/"));
            assert_eq!(cache.entries.len(), left + 1, "{cut}");
            assert_eq!(get(&cache, &paths[4], "r").as_deref(), Some("new"));
        }
    }

    #[test]
    fn a_damaged_entry_is_never_believed() {
        let files = Files::new();
        let a = files.file("a", "one", 10);
        let cache = Cache::open(&files.cache(), Path::new("/"));
        put(&cache, &a, "r", "A");
        drop(cache);
        let whole = fs::read(files.cache()).unwrap();
        for place in FIRST_LINE.len()..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            fs::write(files.cache(), damaged).unwrap();
            assert_eq!(get(&Cache::open(&files.cache(), Path::new("/")), &a, "r"), None, "{place}");
        }
    }

    #[test]
    fn two_runs_at_once_disturb_nobody() {
        let files = Files::new();
        let (a, b) = (files.file("a", "one", 10), files.file("b", "two", 10));
        let first = Cache::open(&files.cache(), Path::new("/"));
        let second = Cache::open(&files.cache(), Path::new("/"));
        assert!(second.writer.is_none());
        put(&second, &b, "r", "B");
        put(&first, &a, "r", "A");
        drop((first, second));
        let cache = Cache::open(&files.cache(), Path::new("/"));
        assert_eq!(get(&cache, &a, "r").as_deref(), Some("A"));
        assert_eq!(get(&cache, &b, "r"), None);
    }

    #[test]
    fn a_cache_of_old_entries_is_tidied_up() {
        let files = Files::new();
        let a = files.file("a", "one", 10);
        let b = files.file("b", "two", 10);
        let long = "x".repeat(1 << 18);
        let cache = Cache::open(&files.cache(), Path::new("/"));
        put(&cache, &b, "r", "B");
        (0..6).for_each(|_| put(&cache, &a, "r", &long));
        drop(cache);
        assert!(files.cache().metadata().unwrap().len() > 6 << 18);
        let cache = Cache::open(&files.cache(), Path::new("/"));
        assert_eq!(get(&cache, &a, "r").as_deref(), Some(long.as_str()));
        put(&cache, &a, "s", "more");
        drop(cache);
        assert!(files.cache().metadata().unwrap().len() < 2 << 18);
        let cache = Cache::open(&files.cache(), Path::new("/"));
        assert_eq!(get(&cache, &a, "r").as_deref(), Some(long.as_str()));
        assert_eq!(get(&cache, &a, "s").as_deref(), Some("more"));
        assert_eq!(get(&cache, &b, "r").as_deref(), Some("B"));
    }

    #[test]
    fn what_cannot_be_a_cache_is_left_alone() {
        let files = Files::new();
        let other = files.file("other", "precious, and not ours at all", 10);
        let cache = Cache::open(&other, Path::new("/"));
        assert!(cache.note().unwrap().contains("is something else, and left alone"));
        put(&cache, &other, "r", "A");
        drop(cache);
        assert_eq!(fs::read_to_string(&other).unwrap(), "precious, and not ours at all");
        let nowhere = Cache::open(&other.join("cache"), Path::new("/"));
        assert!(nowhere.note().is_some());
        put(&nowhere, &other, "r", "A");
        assert_eq!(get(&nowhere, &other, "r"), None);
    }
}
