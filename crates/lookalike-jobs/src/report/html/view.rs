//! Decides which groups the page shows and how much of each item, within the maximum file size.
//!
//! The decision needs only sizes, so only the items on the page are read again.

use super::{Closeness, overview::Overview};

/// The maximum size of a report in bytes.
pub const FILE_BYTES: usize = 40_000_000;

/// Reserved for the page without groups, including a long summary.
const PAGE_BYTES: usize = 1_000_000;
/// The size of an item without its text: id, numbers, field names.
const ITEM_BYTES: usize = 160;

/// The limits for the size of one item in the file. If items would be smaller than `min`, fewer groups
/// are shown.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub min: usize,
    pub max: usize,
}

impl Share {
    /// Longer excerpts are rarely read, and slow to compare.
    pub const TEXT: Self = Self { min: 600, max: 20_000 };
    /// From about 110 pixels wide to the size of a window.
    pub const IMAGE: Self = Self { min: 3_000, max: 160_000 };
}

/// Texts in memory may take this many times the size of the file.
const FETCH_SHARE: usize = 3;
/// The maximum number of removed members shown per group.
const MAX_MEMBERS: usize = 50;

/// The maximum number of kept items shown per group that match its keeper less closely.
pub const MAX_LOOSER: usize = 10;

/// What the page shows.
#[derive(Clone, Debug)]
pub struct View {
    /// For each group, whether it is shown.
    shown: Vec<bool>,
    /// How many bytes of each text to pass to [`Excerpt::of`](super::Excerpt::of). This is more than
    /// is shown, because a common beginning of all texts of a group is dropped.
    pub fetch: usize,
    /// The maximum size of one item in the file; of an image, as base64.
    pub excerpt: usize,
    /// The maximum size of all groups together.
    pub(super) bytes: usize,
}

impl View {
    /// Shows all groups if they fit a file of `file_bytes`, otherwise the largest.
    pub fn new(overview: &Overview, file_bytes: usize, share: Share) -> Self {
        let bytes = file_bytes.saturating_sub(PAGE_BYTES);
        let (sizes, looser) = (overview.sizes(), overview.looser());
        let items = |group: usize| {
            let [size, looser] = [sizes[group], looser[group]].map(|number| number as usize);
            size.min(MAX_MEMBERS) + looser.min(MAX_LOOSER) + 1
        };
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|&group| std::cmp::Reverse(sizes[group]));

        let mut shown = vec![false; sizes.len()];
        let mut room = bytes / (ITEM_BYTES + share.min);
        let mut taken = 0;
        for group in order {
            let items = items(group);
            if items > room {
                break;
            }
            room -= items;
            taken += items;
            shown[group] = true;
        }
        let excerpt = bytes / taken.max(1);
        let excerpt = excerpt.saturating_sub(ITEM_BYTES).clamp(share.min, share.max);
        let fetch = (FETCH_SHARE * bytes / taken.max(1)).clamp(excerpt, share.max * FETCH_SHARE);
        Self { shown, fetch, excerpt, bytes }
    }

    /// Whether the group at this position is shown.
    pub fn shows(&self, group: usize) -> bool {
        self.shown[group]
    }

    /// The positions of the members to show, with the least similar first.
    pub fn members(&self, members: &[Closeness]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by(|&a, &b| {
            let similarity = |member: usize| members[member].similarity.unwrap_or(0.0);
            let distance = |member: usize| members[member].distance;
            similarity(a).total_cmp(&similarity(b)).then(distance(b).cmp(&distance(a)))
        });
        order.truncate(MAX_MEMBERS);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Scale, *};

    fn overview(sizes: impl IntoIterator<Item = usize>) -> Overview {
        let mut overview = Overview::new(Scale::Distance { radius: 3, levels: vec![] });
        for size in sizes {
            overview.add(vec![Closeness { distance: 1, similarity: None }; size], 0);
        }
        overview
    }

    fn shown(view: &View) -> Vec<usize> {
        (0..view.shown.len()).filter(|&group| view.shows(group)).collect()
    }

    #[test]
    fn few_groups_have_long_excerpts() {
        let view = View::new(&overview([1, 2, 3]), FILE_BYTES, Share::TEXT);
        assert_eq!((shown(&view), view.excerpt), (vec![0, 1, 2], Share::TEXT.max));
    }

    #[test]
    fn ten_thousand_groups_have_shorter_excerpts() {
        let view = View::new(&overview(vec![2; 10_000]), FILE_BYTES, Share::TEXT);
        assert_eq!(shown(&view).len(), 10_000);
        assert!((1_000..2_000).contains(&view.excerpt), "{}", view.excerpt);
    }

    #[test]
    fn shows_the_largest_groups_if_not_all_fit() {
        let view =
            View::new(&overview([1, 9, 2, 1_000_000, 1]), PAGE_BYTES + 65 * 760, Share::TEXT);
        assert_eq!((shown(&view), view.excerpt), (vec![1, 2, 3], 611));
    }

    #[test]
    fn accepts_no_groups_and_no_room() {
        assert!(shown(&View::new(&overview([]), FILE_BYTES, Share::TEXT)).is_empty());
        assert!(shown(&View::new(&overview([1]), 0, Share::TEXT)).is_empty());
    }

    #[test]
    fn shows_the_least_similar_members_first() {
        let view = View::new(&overview([3]), FILE_BYTES, Share::TEXT);
        let closeness = |similarity, distance| Closeness { distance, similarity };
        let members = [closeness(Some(0.9), 1), closeness(Some(0.4), 2), closeness(Some(0.4), 3)];
        assert_eq!(view.members(&members), [2, 1, 0]);
        assert_eq!(view.members(&vec![members[0]; 1_000]).len(), MAX_MEMBERS);
    }
}
