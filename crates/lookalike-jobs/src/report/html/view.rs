//! Which groups does the page show, and how much of each text? As much as the file may be large.
//!
//! Decided from sizes alone, before texts are fetched: only what is shown needs to be read again.

use super::{Closeness, overview::Overview};

/// The most a report may be large, in bytes.
pub const FILE_BYTES: usize = 40_000_000;

/// The page without data is a tenth of this; the rest is room for a long summary.
const PAGE_BYTES: usize = 1_000_000;
/// What an item takes besides its text: id, numbers, names of fields.
const ITEM_BYTES: usize = 160;
/// How much of an item is shown, in bytes of the file: not less than that, for then it is better to
/// show fewer groups, and not more than this.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub least: usize,
    pub most: usize,
}

impl Share {
    /// Longer excerpts are not read by anybody, and would make differences slow to compute.
    pub const TEXT: Self = Self { least: 600, most: 20_000 };
    /// From some 110 pixels wide to as large as fits a window.
    pub const IMAGE: Self = Self { least: 3_000, most: 160_000 };
}

/// Texts in memory may take this many times what the file may.
const FETCH_SHARE: usize = 3;
/// The most members shown of one group.
const MEMBERS_MOST: usize = 50;

/// The most items shown of one group that stay, though they are alike its keeper.
pub const LOOSER_MOST: usize = 10;

/// What is shown.
#[derive(Clone, Debug)]
pub struct View {
    /// For each group, whether it is shown.
    shown: Vec<bool>,
    /// How much of each text to hand over, in bytes; for [`Excerpt::of`](super::Excerpt::of). It is
    /// more than is shown: an equal beginning of all texts of a group is left out.
    pub fetch: usize,
    /// The most bytes shown of one item; of an image, as base64.
    pub excerpt: usize,
    /// The most bytes of all groups together.
    pub(super) bytes: usize,
}

impl View {
    /// What a file of at most this many bytes can show: all groups if possible, else the largest.
    pub fn new(overview: &Overview, file_bytes: usize, share: Share) -> Self {
        let bytes = file_bytes.saturating_sub(PAGE_BYTES);
        let (sizes, looser) = (overview.sizes(), overview.looser());
        let items = |group: usize| {
            let [size, looser] = [sizes[group], looser[group]].map(|number| number as usize);
            size.min(MEMBERS_MOST) + looser.min(LOOSER_MOST) + 1
        };
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|&group| std::cmp::Reverse(sizes[group]));

        let mut shown = vec![false; sizes.len()];
        let mut left = bytes / (ITEM_BYTES + share.least);
        let mut taken = 0;
        for group in order {
            let items = items(group);
            if items > left {
                break;
            }
            left -= items;
            taken += items;
            shown[group] = true;
        }
        let excerpt = bytes / taken.max(1);
        let excerpt = excerpt.saturating_sub(ITEM_BYTES).clamp(share.least, share.most);
        let fetch = (FETCH_SHARE * bytes / taken.max(1)).clamp(excerpt, share.most * FETCH_SHARE);
        Self { shown, fetch, excerpt, bytes }
    }

    /// Whether the group at this position is shown.
    pub fn shows(&self, group: usize) -> bool {
        self.shown[group]
    }

    /// Which members of a group are shown, by position, least alike first: those deserve a look.
    pub fn members(&self, members: &[Closeness]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by(|&a, &b| {
            let similarity = |member: usize| members[member].similarity.unwrap_or(0.0);
            let distance = |member: usize| members[member].distance;
            similarity(a).total_cmp(&similarity(b)).then(distance(b).cmp(&distance(a)))
        });
        order.truncate(MEMBERS_MOST);
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
    fn few_groups_are_shown_with_long_excerpts() {
        let view = View::new(&overview([1, 2, 3]), FILE_BYTES, Share::TEXT);
        assert_eq!((shown(&view), view.excerpt), (vec![0, 1, 2], Share::TEXT.most));
    }

    #[test]
    fn ten_thousand_groups_are_all_shown_with_shorter_ones() {
        let view = View::new(&overview(vec![2; 10_000]), FILE_BYTES, Share::TEXT);
        assert_eq!(shown(&view).len(), 10_000);
        assert!((1_000..2_000).contains(&view.excerpt), "{}", view.excerpt);
    }

    #[test]
    fn the_largest_groups_come_first_if_not_all_fit() {
        let view =
            View::new(&overview([1, 9, 2, 1_000_000, 1]), PAGE_BYTES + 65 * 760, Share::TEXT);
        assert_eq!((shown(&view), view.excerpt), (vec![1, 2, 3], 611));
    }

    #[test]
    fn no_groups_and_no_room_are_no_trouble() {
        assert!(shown(&View::new(&overview([]), FILE_BYTES, Share::TEXT)).is_empty());
        assert!(shown(&View::new(&overview([1]), 0, Share::TEXT)).is_empty());
    }

    #[test]
    fn the_least_alike_members_are_shown_first() {
        let view = View::new(&overview([3]), FILE_BYTES, Share::TEXT);
        let closeness = |similarity, distance| Closeness { distance, similarity };
        let members = [closeness(Some(0.9), 1), closeness(Some(0.4), 2), closeness(Some(0.4), 3)];
        assert_eq!(view.members(&members), [2, 1, 0]);
        assert_eq!(view.members(&vec![members[0]; 1_000]).len(), MEMBERS_MOST);
    }
}
