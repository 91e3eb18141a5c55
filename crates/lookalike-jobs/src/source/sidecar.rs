//! XMP sidecars: `P1.NEF.xmp` and `P1.xmp` contain metadata of `P1.NEF`, and follow it when it is
//! moved or removed.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// Finds the sidecars of images. Each folder is read once.
#[derive(Default)]
pub struct Sidecars {
    /// For each folder, the names of its files by lower-case stem.
    folders: HashMap<PathBuf, HashMap<String, Vec<OsString>>>,
}

impl Sidecars {
    /// The sidecars of an image that is removed. A sidecar named after the stem alone belongs to
    /// every file with that stem, and stays while one of them stays.
    pub fn of(&mut self, image: &Path, is_removed: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
        let (Some(name), Some(stem)) = (image.file_name(), image.file_stem()) else {
            return Vec::new();
        };
        let folder = image.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        if !self.folders.contains_key(folder) {
            self.folders.insert(folder.to_owned(), by_stem(folder));
        }
        let with_stem = |stem: &std::ffi::OsStr| {
            let names = self.folders.get(folder).and_then(|names| names.get(&lower(stem)));
            names.into_iter().flatten().map(|name| image.with_file_name(name))
        };
        let mut sidecars: Vec<PathBuf> = with_stem(name).filter(|path| is_sidecar(path)).collect();
        let mut images = with_stem(stem).filter(|path| !is_sidecar(path));
        if images.all(|path| path == image || is_removed(&path)) {
            sidecars.extend(with_stem(stem).filter(|path| is_sidecar(path)));
        }
        sidecars.sort();
        sidecars
    }
}

fn by_stem(folder: &Path) -> HashMap<String, Vec<OsString>> {
    let mut names: HashMap<String, Vec<OsString>> = HashMap::new();
    // A folder that cannot be listed has no sidecars.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())) {
        let name = entry.file_name();
        if let Some(stem) = Path::new(&name).file_stem() {
            names.entry(lower(stem)).or_default().push(name);
        }
    }
    names
}

fn lower(name: &std::ffi::OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}

/// Checks the extension.
pub fn is_sidecar(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xmp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_sidecar_stays_until_the_last_image_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["P1.NEF", "P1.NEF.xmp", "P1.XMP", "p1.jpg", "P2.jpg", "P2.jpg.txt", "P10.xmp"]
        {
            fs::write(path(name), name).unwrap();
        }
        let of = |name: &str, removed: &[&str]| {
            let removed: Vec<_> = removed.iter().map(|name| path(name)).collect();
            Sidecars::default().of(&path(name), &|path| removed.iter().any(|one| one == path))
        };
        assert_eq!(of("P1.NEF", &[]), [path("P1.NEF.xmp")]);
        assert_eq!(of("P1.NEF", &["p1.jpg"]), [path("P1.NEF.xmp"), path("P1.XMP")]);
        assert_eq!(of("p1.jpg", &["P1.NEF"]), [path("P1.XMP")]);
        assert_eq!(of("P2.jpg", &[]), [] as [PathBuf; 0]);
    }
}
