//! A cache of file digests, so that no file is decoded twice.
//!
//! A [`Cache`] keeps bytes for a path while the file's size, modification time and status change time
//! stay the same. Entries are appended to one file as they are computed, so a stopped run loses
//! almost nothing. Every entry can be computed again, so the cache never stops a run: entries that
//! cannot be read are ignored, and entries that cannot be written are dropped.
//!
//! The file starts with a line of text. Each entry is length (4 bytes), checksum (8), key (16), file
//! state (24) and value; all numbers are little-endian. The first damaged or incomplete entry ends the
//! file.

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
/// The maximum length of an entry. A greater length is damage.
const MAX_ENTRY: usize = 1 << 24;

/// Entries are written together after this time, or when they have this many bytes.
const FLUSH_AFTER: Duration = Duration::from_millis(500);
const FLUSH_BYTES: usize = 1 << 16;

/// A file modified less than this before it was read is not cached: it could change again within the
/// same timestamp. Some file systems count in steps of two seconds.
const MIN_AGE: i64 = 2_000_000_000;

/// A smaller cache is never compacted.
const MIN_COMPACTED: usize = 1 << 20;

/// FieldValues computed from files in earlier runs.
#[derive(Default)]
pub struct Cache {
    /// The file as it was opened.
    content: Vec<u8>,
    entries: HashMap<Key, (Version, Range<usize>)>,
    writer: Option<Mutex<Writer>>,
    /// The base of relative paths.
    base: PathBuf,
    note: Option<String>,
}

/// A path and a recipe.
type Key = [u64; 2];

/// The state of a file when its value was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    bytes: u64,
    modified: i64,
    /// The status change time, which programs cannot set.
    changed: i64,
}

/// The state of a file before it is read.
pub struct Before {
    version: Version,
    /// The current time, in nanoseconds since 1970.
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
    /// Must be called before the first byte is read.
    pub fn of(data: &Metadata) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { version: Version::of(data), time: i64::try_from(since.as_nanos()).unwrap_or(0) }
    }

    /// The state of the file, if it did not change while it was read and a later change will be
    /// visible in its times.
    fn stable(&self, after: Version) -> Option<Version> {
        let is_old = self.version.modified < self.time.saturating_sub(MIN_AGE);
        (self.version == after && is_old).then_some(after)
    }
}

impl Cache {
    /// A cache that is always empty.
    pub fn none() -> Self {
        Self::default()
    }

    /// Opens or creates a cache. Relative paths of files start from `base`.
    pub fn open(path: &Path, base: &Path) -> Self {
        Self::try_open(path, base).unwrap_or_else(|error| Self {
            note: Some(format!("note: cannot use the cache {}: {error}", super::path_text(path))),
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
        // Only one run writes at a time; others only read.
        writable &= !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        if !content.is_empty() && !content.starts_with(&FIRST_LINE[..16]) {
            return Err(io::Error::other("is not a cache file, and is left unchanged"));
        }
        let base = base.to_owned();
        let mut cache = Self { content, base, ..Self::default() };
        let end = cache.index();
        if writable {
            cache.writer = Some(Mutex::new(cache.writer(file, path, end)?));
        }
        Ok(cache)
    }

    /// Indexes all entries and returns where the last valid one ends.
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

    /// Cuts off a damaged end, and compacts the file if most entries are out of date.
    fn writer(&self, mut file: File, path: &Path, end: usize) -> io::Result<Writer> {
        let live = self.entries.values().map(|(_, value)| value.len() + HEAD + KEY_AND_STAMP);
        let live: usize = FIRST_LINE.len() + live.sum::<usize>();
        if end == 0 {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(FIRST_LINE)?;
        } else if end > MIN_COMPACTED && end > 2 * live {
            file = self.compacted(path)?;
        } else {
            file.set_len(end as u64)?;
            file.seek(SeekFrom::Start(end as u64))?;
        }
        Ok(Writer { file, waiting: Vec::new(), written: Instant::now() })
    }

    /// Replaces the file by one with only the live entries.
    fn compacted(&self, path: &Path) -> io::Result<File> {
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

    /// A note for the user, if the cache cannot be used.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Hashes the path and the recipe, which states everything that decides the value.
    fn key(&self, path: &Path, recipe: &str) -> Key {
        let path = self.base.join(path);
        // Paths contain no zero bytes.
        let bytes = [path.as_os_str().as_encoded_bytes(), b"\0", recipe.as_bytes()].concat();
        [0, 1].map(|seed| FeatureHash::Xxh3.hash(seed, &bytes))
    }

    /// The value of a file that has not changed since.
    pub fn get(&self, path: &Path, recipe: &str, data: &Metadata) -> Option<&[u8]> {
        if self.entries.is_empty() {
            return None;
        }
        let (version, value) = self.entries.get(&self.key(path, recipe))?;
        (*version == Version::of(data)).then(|| &self.content[value.clone()])
    }

    /// Stores the value of a file, unless it was written to meanwhile. Callable from any thread.
    pub fn put(&self, path: &Path, recipe: &str, before: &Before, after: &Metadata, value: &[u8]) {
        let Some(writer) = &self.writer else { return };
        let Some(version) = before.stable(Version::of(after)) else { return };
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        append(&mut writer.waiting, &self.key(path, recipe), &version, value);
        if writer.waiting.len() >= FLUSH_BYTES || writer.written.elapsed() >= FLUSH_AFTER {
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
    /// Entries that cannot be written are computed again by the next run. An incomplete entry ends
    /// the file when it is read.
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

/// The entry that starts here, if it is valid: its key, the file state and the range of its value.
fn entry(bytes: &[u8], at: usize) -> Option<(Key, Version, Range<usize>)> {
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let length = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize;
    let check = number(at + 4)?;
    let start = at + HEAD;
    if !(KEY_AND_STAMP..=MAX_ENTRY).contains(&length) {
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
    fn keeps_a_value_until_the_file_changes() {
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
    fn notices_a_change_that_restores_the_modification_time() {
        let files = Files::new();
        let a = files.file("a", "one", 10);
        let cache = Cache::open(&files.cache(), Path::new("/"));
        put(&cache, &a, "r", "A");
        drop(cache);
        let old = a.metadata().unwrap();
        // File system clocks are coarse: repeat until the next tick.
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
    fn does_not_cache_a_file_that_is_being_written() {
        let files = Files::new();
        let fresh = files.file("fresh", "one", 0);
        let cache = Cache::open(&files.cache(), Path::new("/"));
        put(&cache, &fresh, "r", "A");
        // Changed while it was read.
        let torn = files.file("torn", "one", 10);
        let before = Before::of(&torn.metadata().unwrap());
        files.file("torn", "more", 10);
        cache.put(&torn, "r", &before, &torn.metadata().unwrap(), b"A");
        drop(cache);
        let cache = Cache::open(&files.cache(), Path::new("/"));
        assert_eq!((get(&cache, &fresh, "r"), get(&cache, &torn, "r")), (None, None));
    }

    #[test]
    fn truncated_cache_keeps_its_complete_entries_and_accepts_new_ones() {
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
                assert!(cache.note().unwrap().contains("is not a cache file"), "{cut}");
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
    fn ignores_damaged_entries() {
        let files = Files::new();
        let a = files.file("a", "one", 10);
        let cache = Cache::open(&files.cache(), Path::new("/"));
        put(&cache, &a, "r", "A");
        drop(cache);
        let whole = fs::read(files.cache()).unwrap();
        for at in FIRST_LINE.len()..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(files.cache(), damaged).unwrap();
            assert_eq!(get(&Cache::open(&files.cache(), Path::new("/")), &a, "r"), None, "{at}");
        }
    }

    #[test]
    fn second_run_at_the_same_time_only_reads() {
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
    fn compacts_a_cache_of_old_entries() {
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
    fn leaves_other_files_unchanged() {
        let files = Files::new();
        let other = files.file("other", "precious, and not ours at all", 10);
        let cache = Cache::open(&other, Path::new("/"));
        assert!(cache.note().unwrap().contains("is not a cache file, and is left unchanged"));
        put(&cache, &other, "r", "A");
        drop(cache);
        assert_eq!(fs::read_to_string(&other).unwrap(), "precious, and not ours at all");
        let nowhere = Cache::open(&other.join("cache"), Path::new("/"));
        assert!(nowhere.note().is_some());
        put(&nowhere, &other, "r", "A");
        assert_eq!(get(&nowhere, &other, "r"), None);
    }
}
