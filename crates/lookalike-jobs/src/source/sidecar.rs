//! Which files belong to an image? `P1.NEF.xmp` and `P1.xmp`, in which programs note what they know
//! of `P1.NEF`: they follow their image.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// Finds the sidecars of images. Each folder is looked at once.
#[derive(Default)]
pub struct Sidecars {
    /// By folder: names of files by their stem, in lower case.
    folders: HashMap<PathBuf, HashMap<String, Vec<OsString>>>,
}

impl Sidecars {
    /// The sidecars of an image that goes. One that is called after its stem alone belongs to every
    /// file with that stem, and stays for as long as one of them does.
    pub fn of(&mut self, image: &Path, goes: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
        let (Some(name), Some(stem)) = (image.file_name(), image.file_stem()) else {
            return Vec::new();
        };
        let folder = image.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        if !self.folders.contains_key(folder) {
            self.folders.insert(folder.to_owned(), by_stem(folder));
        }
        let called = |stem: &std::ffi::OsStr| {
            let names = self.folders.get(folder).and_then(|names| names.get(&lower(stem)));
            names.into_iter().flatten().map(|name| image.with_file_name(name))
        };
        let mut found: Vec<PathBuf> = called(name).filter(|path| is_sidecar(path)).collect();
        if called(stem).filter(|path| !is_sidecar(path)).all(|path| path == image || goes(&path)) {
            found.extend(called(stem).filter(|path| is_sidecar(path)));
        }
        found.sort();
        found
    }
}

fn by_stem(folder: &Path) -> HashMap<String, Vec<OsString>> {
    let mut names: HashMap<String, Vec<OsString>> = HashMap::new();
    // A folder that cannot be listed has no sidecars that could be acted on.
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

/// By its extension.
pub fn is_sidecar(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xmp"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sidecar_follows_the_last_file_of_its_stem() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["P1.NEF", "P1.NEF.xmp", "P1.XMP", "p1.jpg", "P2.jpg", "P2.jpg.txt", "P10.xmp"]
        {
            fs::write(path(name), name).unwrap();
        }
        let of = |name: &str, going: &[&str]| {
            let going: Vec<_> = going.iter().map(|name| path(name)).collect();
            Sidecars::default().of(&path(name), &|path| going.iter().any(|one| one == path))
        };
        assert_eq!(of("P1.NEF", &[]), [path("P1.NEF.xmp")]);
        assert_eq!(of("P1.NEF", &["p1.jpg"]), [path("P1.NEF.xmp"), path("P1.XMP")]);
        assert_eq!(of("p1.jpg", &["P1.NEF"]), [path("P1.XMP")]);
        assert_eq!(of("P2.jpg", &[]), [] as [PathBuf; 0]);
    }
}
