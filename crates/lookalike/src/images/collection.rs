//! Which images of a collection are alike this one, in any orientation, or show a part of it?
//!
//! A [`ImageCollection`] is a collection of whole images, as they are shown; the payload of each
//! is its digest, all that a [`ImageSearch`] needs to judge it. Inside its folder are collections
//! that only name candidates, the [`Table`]s: `turned` holds the same images in the other
//! orientations, `parts` their fragments. They are made from the first one, and can be made again.

use std::{
    borrow::Borrow,
    collections::{BTreeSet, HashMap},
    ops::ControlFlow,
    path::Path,
    slice,
    sync::{Mutex, MutexGuard, PoisonError},
};

use base64::prelude::*;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::{ImageDigest, ImageParts, ImageSearch};
use crate::{
    About, Added, Collection, CollectionError, Fingerprint, Found, ImageRecipe, Maker, NewItem,
    Radius, StoredItem, Width,
    extract::image::{Frames, ImageFormat},
    fragments::FragmentSearch,
    hash,
    recipe::ImagePrints,
};

/// A durable set of images that is searched as a [`ImageSearch`] searches pairs: in every
/// orientation and, if it was made to keep them, by their parts: crops, frames, captions.
///
/// It keeps some 14 KB of each image with its parts, else 1 KB. Digests must come from a
/// [`ImageSearch`] that looks for [orientations](ImageSearch::orientations) and
/// [parts](ImageSearch::partial), of the recipe the collection was made for; what a digest lacks is
/// not found. All methods may be called from several threads at once; a search never waits.
///
/// ```
/// use lookalike::{ImageCollection, ImagePreset, ImageSearch};
/// # use lookalike::extract::image::{Image, Pixels};
/// # // A scene of spots, seen through a window of it.
/// # fn photo(left: usize, top: usize, width: usize, height: usize) -> Image {
/// #     let spots: Vec<[f32; 4]> = (1..160u64)
/// #         .map(|spot| {
/// #             let bits = spot.wrapping_mul(0x9E37_79B9_7F4A_7C15);
/// #             let bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
/// #             let bits = bits ^ bits >> 27;
/// #             let part = |shift: u32| (bits >> shift & 0xFFFF) as f32 / 65_536.0;
/// #             [part(0) * 320.0, part(16) * 240.0, 3.0 + 25.0 * part(32).powi(2), 200.0 * part(48) - 100.0]
/// #         })
/// #         .collect();
/// #     let bytes = (0..width * height).map(|at| {
/// #         let (x, y) = ((left + at % width) as f32, (top + at / width) as f32);
/// #         let light = |spot: &[f32; 4]| {
/// #             let square = (x - spot[0]).powi(2) + (y - spot[1]).powi(2);
/// #             spot[3] * (-square / (2.0 * spot[2] * spot[2])).exp()
/// #         };
/// #         (128.0 + spots.iter().map(light).sum::<f32>()).clamp(0.0, 255.0) as u8
/// #     });
/// #     Image::of_pixels(Pixels::gray(width, height, bytes.collect()).unwrap())
/// # }
/// # let (ferry, crop) = (photo(0, 0, 320, 240), photo(70, 20, 230, 180));
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().join("photos");
/// let preset = ImagePreset::named("pdq")?;
/// let search = ImageSearch::new(&preset.recipe, preset.radius()).partial(true);
///
/// let photos = ImageCollection::create(&folder, &preset.recipe, preset.radius())?;
/// photos.insert_many(&[("ferry", &search.digest_image(&ferry, b"bytes of its file"))])?;
///
/// let query = search.digest_image(&crop, b"bytes of another file");
/// let found = photos.search(&search, &query, 10)?;
/// assert_eq!(found[0].id, "ferry");
/// // As a whole, it is another image.
/// assert!(found[0].distance > preset.radius().bits());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ImageCollection {
    whole: Collection,
    tables: Vec<(Table, Collection)>,
    notes: Vec<String>,
    /// Held by who changes both.
    changing: Mutex<()>,
}

/// An image to be stored: its id, and what is kept of it.
pub type NewImage<'a> = (&'a str, &'a ImageDigest);

/// Fingerprints of the same images that name candidates, in a folder of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Table {
    /// Of images that are turned and mirrored: a query that lies as it should may be near one of
    /// these, though it is near the image in no orientation of its own.
    Turned,
    /// Of their fragments.
    Parts,
}

impl Table {
    const fn folder(self) -> &'static str {
        match self {
            Self::Turned => "turned",
            Self::Parts => "parts",
        }
    }

    fn about(self, whole: &About) -> About {
        match self {
            Self::Turned => {
                About { maker: Maker::Named(format!("{}, turned", whole.maker).into()), ..*whole }
            }
            Self::Parts => {
                let maker = Maker::Named(format!("fragments {}", ImageParts::VERSION).into());
                About { maker, width: Width::Bits64, max_radius: ImageParts::SEARCH.radius }
            }
        }
    }

    /// What it has of an image. One of which it has nothing gets a fingerprint that says nothing
    /// new, so that every image of a collection is in its tables.
    fn prints(self, id: &str, digest: &ImageDigest) -> Vec<Fingerprint<4>> {
        let prints: Vec<_> = match self {
            Self::Turned => {
                let prints = digest.prints.as_ref();
                let turned = prints.and_then(|prints| prints.turned.as_deref());
                let turned = turned.map_or(&[][..], |turned| &turned[1..]);
                let upright = prints.map(|prints| prints.upright);
                turned.iter().copied().chain(upright.filter(|_| turned.is_empty())).collect()
            }
            Self::Parts => fragments_of(digest).collect(),
        };
        if !prints.is_empty() {
            return prints;
        }
        vec![Fingerprint([hash::FeatureHash::Xxh3.hash(0, id.as_bytes())]).resize()]
    }
}

/// Images whose fragments are stored by one commit: each has some 160.
const COMMIT: usize = 1 << 10;

/// Fragments of a query that are looked up at once.
const FRAGMENTS_AT_ONCE: usize = 16;

impl ImageCollection {
    /// A new, empty collection that keeps parts, in a folder that is not there, or is empty. Whole
    /// images can be searched within `max_radius`, or farther: see [`About::image_parts`]. For
    /// one without parts, see [`of`](Self::of).
    pub fn create(
        folder: impl AsRef<Path>,
        recipe: &ImageRecipe,
        max_radius: Radius,
    ) -> Result<Self, CollectionError> {
        Self::of(Collection::create(folder, About::image_parts(recipe, max_radius))?)
    }

    /// Opens a collection to search and change it, as [`Collection::open`] does.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, CollectionError> {
        Self::of(Collection::open(folder)?)
    }

    /// Opens a collection to search it, as [`Collection::open_read_only`] does.
    pub fn open_read_only(folder: impl AsRef<Path>) -> Result<Self, CollectionError> {
        Self::of(Collection::open_read_only(folder)?)
    }

    /// From a collection that is open, of [images](About::images) or of
    /// [images and their parts](About::image_parts). If its tables are missing, because it was
    /// changed as a [`Collection`] or a change was stopped, they are made again; if it was opened
    /// for reading only, it is refused.
    pub fn of(whole: Collection) -> Result<Self, CollectionError> {
        let path = whole.folder().to_path_buf();
        let maker = &whole.about().maker;
        if matches!(maker, Maker::Text(_)) || *maker == Maker::GIVEN {
            return Err(CollectionError::NoImages { path });
        }
        let mut tables = Vec::new();
        let parts = whole.about().keeps_parts().then_some(Table::Parts);
        for table in [Table::Turned].into_iter().chain(parts) {
            let folder = path.join(table.folder());
            let opened = match (Collection::is_at(&folder), whole.is_read_only()) {
                (true, true) => Collection::open_read_only(&folder)?,
                (true, false) => Collection::open(&folder)?,
                (false, true) => return Err(CollectionError::PartsIncomplete { path }),
                (false, false) => Collection::create(&folder, table.about(whole.about()))?,
            };
            tables.push((table, opened));
        }
        let notes = tables.iter().flat_map(|(_, table)| table.notes());
        let notes = whole.notes().iter().chain(notes).cloned().collect();
        let images = Self { whole, tables, notes, changing: Mutex::default() };
        images.set_right()?;
        Ok(images)
    }

    /// The whole images: to be searched, listed, exported, and told about. What is changed here
    /// is not changed in the tables of parts.
    pub fn whole(&self) -> &Collection {
        &self.whole
    }

    /// What was noticed when it was opened: search tables that had to be made anew, and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Stores images by their ids. If one of an id is there, that one stays as it was. After a
    /// crash all or none are there. An image without a fingerprint is [`Added::Unfit`] and does not
    /// stop the others.
    pub fn insert_many(&self, images: &[NewImage<'_>]) -> Result<Vec<Added>, CollectionError> {
        self.store(images, |items| self.whole.insert_many(items))
    }

    /// Stores images, each in place of the one of its id if there is any.
    pub fn upsert_many(&self, images: &[NewImage<'_>]) -> Result<Vec<Added>, CollectionError> {
        self.store(images, |items| {
            let stored = items.iter().filter(|item| !item.fingerprints.is_empty());
            self.remove_from_tables(&stored.map(|item| item.id).collect::<Vec<_>>())?;
            self.whole.upsert_many(items)
        })
    }

    /// Stores each image if none is within `radius` of it as a whole; parts are not compared.
    pub fn check_and_insert_many(
        &self,
        images: &[NewImage<'_>],
        radius: Radius,
    ) -> Result<Vec<Added>, CollectionError> {
        self.store(images, |items| self.whole.check_and_insert_many(items, radius))
    }

    /// Removes images; says of each whether it was there.
    pub fn remove_many(&self, ids: &[&str]) -> Result<Vec<bool>, CollectionError> {
        let _changing = self.start_change()?;
        self.remove_from_tables(ids)?;
        self.whole.remove_many(ids)
    }

    /// All images that `search` takes for alike, nearest first, then in order of insertion, at
    /// most `limit` of them. A distance is that of whole images, in the orientation in which they
    /// differ least; of parts it may be beyond the radius. The images, and the distances, are those
    /// of the pairs that the search finds in a batch.
    ///
    /// Works on all threads of the current rayon pool.
    pub fn search(
        &self,
        search: &ImageSearch,
        query: &ImageDigest,
        limit: usize,
    ) -> Result<Vec<Found>, CollectionError> {
        let maker = match self.whole.about().keeps_parts() {
            true => Maker::image_parts(&search.recipe),
            false => Maker::images(&search.recipe),
        };
        self.whole.check_maker(&maker, search.recipe.width)?;
        let mut candidates = BTreeSet::new();
        if search.partial {
            candidates.extend(self.sharing_fragments(search, query)?);
        }
        candidates.extend(self.near_as_a_whole(search, query)?);
        let compare = |id: &String| {
            let item = self.whole.get(id)?;
            Ok::<_, CollectionError>(item.and_then(|item| compare(search, item, query)))
        };
        let compared: Result<Vec<_>, _> = candidates.par_iter().map(compare).collect();
        let mut found: Vec<Found> = compared?.into_iter().flatten().collect();
        Found::sort(&mut found);
        found.truncate(limit);
        Ok(found)
    }

    /// Makes searches faster after many changes, and gives free space back to the system:
    /// [`Collection::compact`].
    pub fn compact(&self) -> Result<(), CollectionError> {
        self.whole.compact()?;
        self.tables.iter().try_for_each(|(_, table)| table.compact())
    }

    /// Compares everything with its checksum: [`Collection::verify`].
    pub fn verify(&self) -> Result<(), CollectionError> {
        self.whole.verify()?;
        self.tables.iter().try_for_each(|(_, table)| {
            table.verify().map_err(|error| CollectionError::Parts(Box::new(error)))
        })
    }

    /// Copies the collection to a folder that is not there. Changes wait meanwhile, searches do not.
    pub fn backup(&self, folder: impl AsRef<Path>) -> Result<(), CollectionError> {
        let _changing = self.start_change()?;
        self.whole.backup(&folder)?;
        self.tables.iter().try_for_each(|(table, collection)| {
            collection.backup(folder.as_ref().join(table.folder()))
        })
    }
}

impl ImageCollection {
    fn store(
        &self,
        images: &[NewImage<'_>],
        store: impl FnOnce(&[NewItem<'_>]) -> Result<Vec<Added>, CollectionError>,
    ) -> Result<Vec<Added>, CollectionError> {
        let payloads: Vec<_> = images.par_iter().map(|(_, digest)| payload(digest)).collect();
        let new = images.iter().zip(&payloads);
        let items: Vec<_> = new.map(|(image, payload)| new_item(*image, payload)).collect();
        let _changing = self.start_change()?;
        let added = store(&items).inspect_err(|_| {
            // What was taken out of the tables comes back; if that fails, too, the next change tries.
            let _ = self.set_right();
        })?;
        let stored = images.iter().zip(&added).filter(|(_, added)| added.is_stored());
        let stored: Vec<_> = stored.map(|(&image, _)| image).collect();
        self.tables.iter().try_for_each(|(table, into)| table.store(into, &stored))?;
        if added.iter().any(|added| matches!(added, Added::Unfit { .. })) {
            // It may have been taken out of the tables for nothing.
            self.set_right()?;
        }
        Ok(added)
    }

    fn remove_from_tables(&self, ids: &[&str]) -> Result<(), CollectionError> {
        self.tables.iter().try_for_each(|(_, table)| table.remove_many(ids).map(|_| ()))
    }

    fn table(&self, wanted: Table) -> Option<&Collection> {
        self.tables.iter().find(|(table, _)| *table == wanted).map(|(_, collection)| collection)
    }

    /// Waits for other changes, as two of one image must come to both collections in the same
    /// order, and sets right what one of them left undone.
    fn start_change(&self) -> Result<MutexGuard<'_, ()>, CollectionError> {
        let changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.set_right()?;
        Ok(changing)
    }

    /// Completes the tables if images are missing there.
    ///
    /// A change takes images out of the tables before it takes them out of the collection, or
    /// replaces them there; it puts them into the tables last. So wherever it stops, what is in the
    /// tables is in the collection, and the numbers tell whether an image is missing.
    fn set_right(&self) -> Result<(), CollectionError> {
        for (table, collection) in &self.tables {
            if collection.len() == self.whole.len() {
                continue;
            }
            if self.whole.is_read_only() {
                return Err(CollectionError::PartsIncomplete { path: self.whole.folder().into() });
            }
            self.make_again(*table, collection)?;
        }
        Ok(())
    }

    /// What was stored without its fingerprints in a table gets them; those of what is gone go.
    /// Reads all of the collection.
    fn make_again(&self, table: Table, collection: &Collection) -> Result<(), CollectionError> {
        let mut gone = Vec::new();
        collection.for_each(|item| {
            if !self.whole.contains(&item.id) {
                gone.push(item.id);
            }
            ControlFlow::Continue(())
        })?;
        collection.remove_many(&gone.iter().map(String::as_str).collect::<Vec<_>>())?;
        let (mut missing, mut stored) = (Vec::new(), Ok(()));
        self.whole.for_each(|item| {
            if !collection.contains(&item.id) {
                let digest = kept(&item);
                missing.push((item.id, digest));
            }
            if missing.len() >= COMMIT {
                stored = table.store(collection, &missing);
                missing.clear();
            }
            if stored.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        stored?;
        table.store(collection, &missing)
    }

    /// Images that have enough fragments like those of the query.
    fn sharing_fragments(
        &self,
        search: &ImageSearch,
        query: &ImageDigest,
    ) -> Result<BTreeSet<String>, CollectionError> {
        let FragmentSearch { radius, votes, .. } = ImageParts::SEARCH;
        let path = || self.whole.folder().to_path_buf();
        let table = self.table(Table::Parts);
        let table = table.ok_or_else(|| CollectionError::WholeOnly { path: path() })?;
        let counts = |print: &Fingerprint<4>| !search.background.contains(&print.resize());
        let prints: Vec<_> = fragments_of(query).filter(counts).collect();
        let mut shared: HashMap<u64, (String, u32)> = HashMap::new();
        // A few at a time: all images may have some of them.
        for prints in prints.chunks(FRAGMENTS_AT_ONCE) {
            for found in table.search_many(prints, radius, usize::MAX)?.into_iter().flatten() {
                shared.entry(found.sequence).or_insert_with(|| (found.id, 0)).1 += 1;
            }
        }
        let enough = shared.into_values().filter(|&(_, shared)| shared >= votes);
        Ok(enough.map(|(id, _)| id).collect())
    }

    /// Images that may be the query as a whole, in any orientation.
    fn near_as_a_whole(
        &self,
        search: &ImageSearch,
        query: &ImageDigest,
    ) -> Result<Vec<String>, CollectionError> {
        let Some(prints) = &query.prints else { return Ok(Vec::new()) };
        let looked_at = if search.partial { ImageParts::WORTH_A_LOOK } else { search.radius };
        let widest = looked_at.min(self.whole.about().max_radius).max(search.radius);
        let mut found = self.whole.search(&prints.upright, widest, usize::MAX)?;
        if search.orientations {
            let turned = prints.turned.as_deref().map_or(&[][..], |turned| &turned[1..]);
            found.extend(self.whole.search_many(turned, search.radius, usize::MAX)?.concat());
            if let Some(table) = self.table(Table::Turned) {
                found.extend(table.search(&prints.upright, search.radius, usize::MAX)?);
            }
        }
        Ok(found.into_iter().map(|found| found.id).collect())
    }
}

impl Table {
    /// Stores what it has of some images.
    fn store(
        self,
        into: &Collection,
        images: &[(impl AsRef<str>, impl Borrow<ImageDigest>)],
    ) -> Result<(), CollectionError> {
        for images in images.chunks(COMMIT) {
            let ids = || images.iter().map(|(id, _)| id.as_ref());
            let digests = images.iter().map(|(_, digest)| digest.borrow());
            let prints: Vec<_> =
                ids().zip(digests).map(|(id, digest)| self.prints(id, digest)).collect();
            let items: Vec<_> =
                ids().zip(&prints).map(|(id, prints)| NewItem::new(id, prints)).collect();
            into.upsert_many(&items)?;
        }
        Ok(())
    }
}

impl Maker {
    /// Fingerprints of whole images.
    pub fn images(recipe: &ImageRecipe) -> Self {
        Self::Named(recipe.to_string().into())
    }

    /// Fingerprints of images, kept with their parts.
    pub fn image_parts(recipe: &ImageRecipe) -> Self {
        Self::Named((recipe.to_string() + &with_parts()).into())
    }
}

fn with_parts() -> String {
    format!(", parts {}", ImageParts::VERSION)
}

impl About {
    /// A collection of whole images.
    pub fn images(recipe: &ImageRecipe, max_radius: Radius) -> Self {
        Self { maker: Maker::images(recipe), width: recipe.width, max_radius }
    }

    /// A [`ImageCollection`] that keeps parts. Its radius is wide enough for a look at whole
    /// images that may show the same.
    pub fn image_parts(recipe: &ImageRecipe, max_radius: Radius) -> Self {
        let widest = ImageParts::WORTH_A_LOOK.min(Radius::new(recipe.width.bits()));
        let max_radius = max_radius.max(widest);
        Self { maker: Maker::image_parts(recipe), width: recipe.width, max_radius }
    }

    /// Whether it is of images and their parts.
    pub fn keeps_parts(&self) -> bool {
        self.maker.to_string().ends_with(&with_parts())
    }
}

fn compare(search: &ImageSearch, item: StoredItem, query: &ImageDigest) -> Option<Found> {
    let stored = kept(&item);
    if !search.are_alike(&stored, query) {
        return None;
    }
    let StoredItem { id, sequence, .. } = item;
    let near = search.compare(&stored, query)?;
    Some(Found { id, sequence, distance: near.distance })
}

/// As it is stored: as it is shown. Its other orientations are in a table.
fn new_item<'a>((id, digest): NewImage<'a>, payload: &'a str) -> NewItem<'a> {
    let upright: &[_] =
        digest.prints.as_ref().map_or(&[], |prints| slice::from_ref(&prints.upright));
    NewItem { payload: Some(payload), ..NewItem::new(id, upright) }
}

/// What is kept of an image beside its fingerprint.
fn payload(digest: &ImageDigest) -> String {
    json!({ "digest": BASE64_STANDARD.encode(digest.to_bytes()) }).to_string()
}

fn digest(payload: &str) -> Option<ImageDigest> {
    let payload: Value = serde_json::from_str(payload).ok()?;
    let bytes = BASE64_STANDARD.decode(payload.get("digest")?.as_str()?).ok()?;
    ImageDigest::from_bytes(&bytes)
}

/// What is known of an image. One that was stored without a digest, as an item of a [`Collection`],
/// is its fingerprint alone.
fn kept(item: &StoredItem) -> ImageDigest {
    item.payload.as_deref().and_then(digest).unwrap_or_else(|| ImageDigest {
        width: 0,
        height: 0,
        format: ImageFormat::Raw,
        content: hash::content(item.id.as_bytes()),
        frames: Frames::default(),
        prints: item.fingerprints.first().map(|&upright| ImagePrints { upright, turned: None }),
        parts: None,
    })
}

fn fragments_of(digest: &ImageDigest) -> impl Iterator<Item = Fingerprint<4>> {
    let fragments = digest.parts.iter().flat_map(|parts| &parts.fragments);
    fragments.map(|fragment| fragment.print.resize())
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, sync::LazyLock};

    use super::*;
    use crate::{
        ImagePreset, Images, Resources,
        collection::tests::test_folder,
        extract::image::{Image, Orientation, Pixels},
        images::tests::{blobs, cut, scrambled, waves},
    };

    /// Some images that show parts of each other, turned and smaller ones, and strangers.
    static IMAGES: LazyLock<Vec<Pixels>> = LazyLock::new(|| {
        let (one, two) = (blobs(1, 320, 240), blobs(2, 320, 240));
        vec![
            cut(&one, 70, 20, 230, 180),
            cut(&one, 20, 40, 240, 190),
            cut(&two, 0, 0, 250, 200),
            waves(3, 320, 240).turned(Orientation::ALL[1]),
            waves(3, 160, 120),
            waves(3, 320, 240),
            waves(4, 320, 240),
            one,
            two,
        ]
    });

    fn preset() -> &'static ImagePreset {
        ImagePreset::named("pdq").unwrap()
    }

    /// Turned waves as short as these differ in more bits than copies do.
    fn search(radius: u32) -> ImageSearch {
        ImageSearch::new(&preset().recipe, Radius::new(radius)).orientations(true).partial(true)
    }

    fn digested(search: &ImageSearch, pixels: &Pixels, content: usize) -> ImageDigest {
        search.digest_image(&Image::of_pixels(pixels.clone()), &content.to_le_bytes())
    }

    fn digests() -> Vec<ImageDigest> {
        (0..).zip(&*IMAGES).map(|(number, pixels)| digested(&search(60), pixels, number)).collect()
    }

    /// The same images, in other files.
    fn queries() -> Vec<ImageDigest> {
        (100..)
            .zip(&*IMAGES)
            .map(|(number, pixels)| digested(&search(60), pixels, number))
            .collect()
    }

    fn create(folder: &Path) -> ImageCollection {
        ImageCollection::create(folder, &preset().recipe, preset().radius()).unwrap()
    }

    fn found(images: &ImageCollection, query: &ImageDigest) -> Vec<String> {
        let found = images.search(&search(60), query, usize::MAX).unwrap();
        found.into_iter().map(|found| found.id).collect()
    }

    /// The twin: of all pairs of the stored images and the query, those of the query, nearest
    /// first.
    fn expected<'a>(
        search: &ImageSearch,
        stored: impl IntoIterator<Item = (&'a String, &'a ImageDigest)>,
        query: &ImageDigest,
    ) -> Vec<(u32, String)> {
        let stored: Vec<_> = stored.into_iter().collect();
        let mut images = Images::new();
        stored.iter().for_each(|(_, digest)| images.push((*digest).clone()).unwrap());
        images.push(query.clone()).unwrap();
        let pairs = images.pairs(search, &Resources::new()).unwrap().pairs.to_vec().unwrap();
        let of_query = pairs.iter().filter(|pair| pair.b as usize == stored.len());
        let mut alike: Vec<_> = of_query
            .map(|pair| {
                let (id, digest) = stored[pair.a as usize];
                (search.compare(digest, query).unwrap().distance, id.clone())
            })
            .collect();
        alike.sort();
        alike
    }

    fn assert_twin(
        images: &ImageCollection,
        search: &ImageSearch,
        twin: &BTreeMap<String, ImageDigest>,
        query: &ImageDigest,
        at: &str,
    ) -> usize {
        let found = images.search(search, query, usize::MAX).unwrap();
        assert!(found.is_sorted_by_key(|found| (found.distance, found.sequence)), "{at}");
        let mut found: Vec<_> = found.into_iter().map(|found| (found.distance, found.id)).collect();
        found.sort();
        assert_eq!(found, expected(search, twin, query), "{at}");
        found.len()
    }

    #[test]
    fn finds_what_a_search_of_all_pairs_finds() {
        let folder = test_folder();
        let digests = digests();
        // 120 bits is beyond what is worth a look: strangers are alike, too.
        for radius in [31, 60, 120] {
            let folder = folder.path().join(radius.to_string());
            let search = search(radius);
            let images =
                ImageCollection::create(&folder, &preset().recipe, Radius::new(120)).unwrap();
            let twin: BTreeMap<_, _> = (0..)
                .zip(&digests)
                .map(|(number, one)| (format!("{number}"), one.clone()))
                .collect();
            let new: Vec<_> = twin.iter().map(|(id, digest)| (id.as_str(), digest)).collect();
            images.insert_many(&new).unwrap();
            let all: usize = queries()
                .iter()
                .map(|query| assert_twin(&images, &search, &twin, query, &radius.to_string()))
                .sum();
            // Itself and, by parts, one or two others at least.
            assert!(all > 15, "{radius} bits: {all}");
        }
    }

    #[test]
    fn without_parts_it_finds_turned_images_as_a_search_of_all_pairs_does() {
        let folder = test_folder();
        let mut turned = Vec::new();
        for seed in 0..6 {
            let one = waves(40 + seed, 200, 150);
            turned.extend(Orientation::ALL.map(|orientation| one.clone().turned(orientation)));
        }
        let search =
            |radius| ImageSearch::new(&preset().recipe, Radius::new(radius)).orientations(true);
        let digests: Vec<_> =
            (0..).zip(&turned).map(|(number, one)| digested(&search(31), one, number)).collect();
        let path = folder.path().join("seen");
        let about = About::images(&preset().recipe, Radius::new(72));
        let images = ImageCollection::of(Collection::create(&path, about).unwrap()).unwrap();
        let (queries, stored): (Vec<_>, Vec<_>) =
            digests.into_iter().enumerate().partition(|(number, _)| number % 8 < 4);
        let twin: BTreeMap<_, _> =
            stored.into_iter().map(|(number, digest)| (number.to_string(), digest)).collect();
        let new: Vec<_> = twin.iter().map(|(id, digest)| (id.as_str(), digest)).collect();
        images.insert_many(&new).unwrap();
        let (mut found, mut one_way) = (0, 0);
        for radius in [20, 26, 31, 48, 72] {
            for (number, query) in &queries {
                found += assert_twin(&images, &search(radius), &twin, query, &number.to_string());
                // Is any image near only in the direction that the query does not have?
                let prints = query.prints.as_ref().unwrap();
                let of_query = prints.turned.as_deref().unwrap();
                one_way += twin
                    .values()
                    .map(|digest| digest.prints.as_ref().unwrap())
                    .filter(|stored| {
                        let far = |print: &Fingerprint<4>| print.distance(&stored.upright) > radius;
                        let turned = stored.turned.as_deref().unwrap();
                        of_query.iter().all(far)
                            && turned.iter().any(|one| one.distance(&prints.upright) <= radius)
                    })
                    .count();
            }
        }
        assert!(found > 100 && one_way > 0, "{found} found, {one_way} only in one direction");
    }

    #[test]
    fn limits_keep_the_nearest() {
        let folder = test_folder();
        let images = create(&folder.path().join("seen"));
        let digests = digests();
        images.insert_many(&[("part", &digests[0]), ("whole", &digests[7])]).unwrap();
        let query = &queries()[7];
        assert_eq!(found(&images, query), ["whole", "part"]);
        let first = images.search(&search(60), query, 1).unwrap();
        assert_eq!((first.len(), first[0].id.as_str()), (1, "whole"));
    }

    #[test]
    fn whatever_is_done_the_tables_stay_in_step() {
        let (digests, queries) = (digests(), queries());
        let search = search(60);
        for history in 1..=4 {
            let folder = test_folder();
            let path = folder.path().join("seen");
            let mut images = create(&path);
            let mut twin: BTreeMap<String, ImageDigest> = BTreeMap::new();
            for step in 0..24 {
                let at = format!("history {history}, step {step}");
                let dice = |what: u64, end: usize| {
                    scrambled(history * 10_000 + step * 10 + what) as usize % end
                };
                let id = format!("{}", dice(0, 6));
                let digest = &digests[dice(1, digests.len())];
                match dice(2, 8) {
                    0 | 1 => {
                        let added = images.insert_many(&[(&id, digest)]).unwrap();
                        assert_eq!(added[0].is_stored(), !twin.contains_key(&id), "{at}");
                        twin.entry(id).or_insert(digest.clone());
                    }
                    2 | 3 => {
                        images.upsert_many(&[(&id, digest)]).unwrap();
                        twin.insert(id, digest.clone());
                    }
                    4 => {
                        let radius = Radius::new(31);
                        let added = images.check_and_insert_many(&[(&id, digest)], radius);
                        if added.unwrap()[0].is_stored() {
                            twin.insert(id, digest.clone());
                        }
                    }
                    5 => {
                        let removed = images.remove_many(&[&id]).unwrap();
                        assert_eq!(removed, [twin.remove(&id).is_some()], "{at}");
                    }
                    6 => images.compact().unwrap(),
                    _ => {
                        drop(images);
                        images = ImageCollection::open(&path).unwrap();
                    }
                }
                for (table, collection) in &images.tables {
                    assert_eq!(collection.len(), twin.len() as u64, "{at}: {table:?}");
                }
                let query = &queries[dice(3, queries.len())];
                assert_twin(&images, &search, &twin, query, &at);
            }
            images.verify().unwrap();
        }
    }

    #[test]
    fn tables_that_are_missing_are_made_again() {
        let folder = test_folder();
        let path = folder.path().join("seen");
        let (digests, query) = (digests(), &queries()[0]);
        create(&path).insert_many(&[("a", &digests[7]), ("b", &digests[8])]).unwrap();
        for table in [Table::Turned, Table::Parts] {
            fs::remove_dir_all(path.join(table.folder())).unwrap();
            let refused = ImageCollection::open_read_only(&path).unwrap_err();
            assert!(matches!(refused, CollectionError::PartsIncomplete { .. }), "{refused}");
            assert_eq!(found(&ImageCollection::open(&path).unwrap(), query), ["a"]);
            assert_eq!(found(&ImageCollection::open_read_only(&path).unwrap(), query), ["a"]);
        }
    }

    #[test]
    fn tables_that_are_incomplete_are_made_again() {
        let folder = test_folder();
        let path = folder.path().join("seen");
        let (digests, queries) = (digests(), queries());
        let images = create(&path);
        images.insert_many(&[("a", &digests[7]), ("b", &digests[8])]).unwrap();
        // As if changes had been stopped half-way: of one the tables know too little, of one too much.
        images.remove_from_tables(&["a"]).unwrap();
        drop(images);
        let refused = ImageCollection::open_read_only(&path).unwrap_err();
        assert!(matches!(refused, CollectionError::PartsIncomplete { .. }), "{refused}");
        let images = ImageCollection::open(&path).unwrap();
        assert_eq!(found(&images, &queries[0]), ["a"]);
        images.whole.remove("b").unwrap();
        drop(images);
        let images = ImageCollection::open(&path).unwrap();
        assert!(images.tables.iter().all(|(_, table)| table.len() == 1));
        assert_eq!(found(&images, &queries[2]), [""; 0]);

        // What failed in this process is set right by the next change.
        images.remove_from_tables(&["a"]).unwrap();
        images.insert_many(&[("c", &digests[8])]).unwrap();
        assert_eq!(
            (found(&images, &queries[0]), found(&images, &queries[2])),
            (vec!["a".to_owned()], vec!["c".to_owned()])
        );
    }

    #[test]
    fn a_replaced_image_is_found_by_its_new_parts_only() {
        let folder = test_folder();
        let images = create(&folder.path().join("seen"));
        let (digests, queries) = (digests(), queries());
        images.insert_many(&[("a", &digests[7])]).unwrap();
        images.upsert_many(&[("a", &digests[8])]).unwrap();
        assert_eq!(found(&images, &queries[0]), [""; 0]);
        assert_eq!(found(&images, &queries[2]), ["a"]);
        images.remove_many(&["a", "b"]).unwrap();
        assert_eq!(found(&images, &queries[2]), [""; 0]);
        assert_eq!(images.whole.len(), 0);
        assert!(images.tables.iter().all(|(_, table)| table.is_empty()));
    }

    #[test]
    fn an_image_without_a_fingerprint_changes_nothing_and_stops_no_other() {
        let folder = test_folder();
        let images = create(&folder.path().join("seen"));
        let (digests, query) = (digests(), &queries()[0]);
        let flat = Pixels::gray(64, 64, vec![200; 64 * 64]).unwrap();
        let flat = digested(&search(60), &flat, 99);
        images.insert_many(&[("a", &digests[7])]).unwrap();
        let added =
            images.upsert_many(&[("flat", &flat), ("b", &digests[8]), ("a", &flat)]).unwrap();
        let unfit = Added::Unfit { why: "it has no fingerprint".to_owned() };
        assert_eq!(added, [unfit.clone(), Added::New { sequence: 1 }, unfit]);
        assert_eq!(found(&images, query), ["a"]);
        assert!(images.tables.iter().all(|(_, table)| table.len() == 2));
    }

    #[test]
    fn an_item_without_a_digest_is_found_as_a_whole() {
        let folder = test_folder();
        let path = folder.path().join("seen");
        let (digests, queries) = (digests(), queries());
        drop(create(&path));
        let whole = Collection::open(&path).unwrap();
        let upright = digests[5].prints.as_ref().unwrap().upright;
        let payload = Some("{\"digest\":\"of something else\"}");
        whole.insert(NewItem::new("bare", &[upright])).unwrap();
        whole.insert(NewItem { payload, ..NewItem::new("other", &[upright]) }).unwrap();
        let images = ImageCollection::of(whole).unwrap();
        assert_eq!(found(&images, &queries[4]), ["bare", "other"]);
        assert_eq!(found(&images, &queries[3]), ["bare", "other"], "turned");
        assert_eq!(found(&images, &queries[0]), [""; 0]);
        drop(images);
        ImageCollection::open_read_only(&path).unwrap();
    }

    #[test]
    fn a_copy_finds_what_its_original_finds() {
        let folder = test_folder();
        let [path, copy] = ["seen", "copy"].map(|name| folder.path().join(name));
        let (digests, query) = (digests(), &queries()[0]);
        let images = create(&path);
        images.insert_many(&[("a", &digests[7]), ("b", &digests[8])]).unwrap();
        images.backup(&copy).unwrap();
        let copy = ImageCollection::open_read_only(&copy).unwrap();
        assert_eq!(found(&copy, query), found(&images, query));
        assert_eq!(found(&copy, query), ["a"]);
    }

    #[test]
    fn other_collections_and_other_searches_are_refused() {
        let folder = test_folder();
        let recipe = &preset().recipe;
        let whole = folder.path().join("whole");
        drop(Collection::create(&whole, About::images(recipe, preset().radius())).unwrap());
        let whole = ImageCollection::open(&whole).unwrap();
        let refused = whole.search(&search(31), &queries()[0], 1).unwrap_err();
        assert!(matches!(refused, CollectionError::WholeOnly { .. }), "{refused}");

        let given = About::given(Width::Bits256, preset().radius());
        let given = Collection::create(folder.path().join("given"), given).unwrap();
        let refused = ImageCollection::of(given).unwrap_err();
        assert!(matches!(refused, CollectionError::NoImages { .. }), "{refused}");

        let phash = ImagePreset::named("phash").unwrap();
        let search = ImageSearch::new(&phash.recipe, phash.radius()).partial(true);
        let query = digested(&search, &IMAGES[0], 0);
        let refused = create(&folder.path().join("seen")).search(&search, &query, 1).unwrap_err();
        assert!(matches!(refused, CollectionError::Recipe { .. }), "{refused}");
        // Fingerprints of fewer bits than are worth a look are no reason to refuse.
        let path = folder.path().join("phash");
        let images = ImageCollection::create(&path, &phash.recipe, phash.radius()).unwrap();
        images.insert_many(&[("a", &query)]).unwrap();
        assert_eq!(images.search(&search, &query, 1).unwrap()[0].distance, 0);
    }

    #[test]
    fn what_is_kept_is_written_in_the_same_way_for_ever() {
        let written = ImageDigest {
            width: 640,
            height: 480,
            format: ImageFormat::Raw,
            content: [1, 2],
            frames: Frames::default(),
            prints: Some(ImagePrints { upright: Fingerprint([3, 4, 5, 6]), turned: None }),
            parts: None,
        };
        let text = concat!(
            r#"{"digest":"/4ACAADgAQAAAQAAAAAAAAACAAAAAAAAAAEAAAADAAAAAAAAAAQAAAAAAAAABQAA"#,
            r#"AAAAAAAGAAAAAAAAAA=="}"#,
        );
        assert_eq!(payload(&written), text);
        // What was written with a second fingerprint, of gradients, is read without it.
        let with_gradients = concat!(
            r#"{"digest":"/4ACAADgAQAAAQAAAAAAAAACAAAAAAAAAAEAAQADAAAAAAAAAAQAAAAAAAAABQAA"#,
            r#"AAAAAAAGAAAAAAAAAAcAAAAAAAAACAAAAAAAAAAJAAAAAAAAAAoAAAAAAAAA"}"#,
        );
        for text in [text, with_gradients] {
            assert_eq!(digest(text).as_ref(), Some(&written));
        }
    }
}
