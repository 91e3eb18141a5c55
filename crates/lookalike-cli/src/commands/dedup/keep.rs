//! Which item of a group is kept? [`KeepRules`] put all items in the order in which they are
//! preferred; what they need to know of them is noted while they are read.

use std::cmp::{Ordering, Reverse};

use anyhow::{Result, bail};

use crate::{
    args::{DedupArgs, KeepRule, KeepRules, Kind},
    report::id_text,
    source::{Id, Key, PictureItem, Row, path_text},
};

/// What rules need to know of the items, by number.
pub struct Preference {
    columns: Vec<Column>,
    items: u32,
}

/// What one rule needs to know.
struct Column {
    rule: KeepRule,
    /// How long, large, new or fitting each item is: the largest is kept.
    sizes: Vec<i64>,
    /// The bytes of each, where they decide between equal sizes.
    bytes: Vec<u64>,
    /// The value of a field of each item.
    keys: Vec<Option<Key>>,
}

impl Preference {
    /// By the rules that were asked for, or those usual for such items.
    pub fn new(args: &DedupArgs, kind: Kind) -> Self {
        let KeepRules(rules) = args.keep.clone().unwrap_or_else(|| KeepRules::usual(kind));
        let column = |rule: &KeepRule| Column {
            rule: rule.clone(),
            sizes: vec![],
            bytes: vec![],
            keys: vec![],
        };
        Self { columns: rules.iter().map(column).collect(), items: 0 }
    }

    /// Notes the next item, and what it is called.
    pub fn note(&mut self, row: &Row<'_>, id: Id<'_>) -> Result<()> {
        self.items += 1;
        let mut keys = row.keys.iter().cloned();
        self.columns.iter_mut().try_for_each(|column| column.note(row, &mut keys, id))
    }

    /// Notes the next item, a picture.
    pub fn note_picture(&mut self, picture: &PictureItem) -> Result<()> {
        self.items += 1;
        self.columns.iter_mut().try_for_each(|column| column.note_picture(picture))
    }

    /// Notes the next items, fingerprints: only their order is known.
    pub fn note_prints(&mut self, items: usize) -> Result<()> {
        let is_order = |column: &Column| matches!(column.rule, KeepRule::First | KeepRule::Last);
        if !self.columns.iter().all(is_order) {
            bail!("--keep: of fingerprints nothing is known but their order; use first or last");
        }
        self.items += items as u32;
        Ok(())
    }

    /// All items, the preferred ones first; of equals, the earlier one. Items without the field come
    /// last; there must be one with it.
    pub fn order(&self) -> Result<Vec<u32>> {
        if let Some(rule) = self.columns.iter().find_map(Column::unknown_field) {
            bail!("--keep {rule}: no item has a field of that name with a value to go by");
        }
        let mut order: Vec<u32> = (0..self.items).collect();
        order.sort_by(|&one, &other| {
            let orders = self.columns.iter().map(|column| column.compare(one, other));
            orders.fold(Ordering::Equal, Ordering::then)
        });
        Ok(order)
    }

    /// Why an item was kept, as a sentence.
    pub fn why(&self) -> String {
        let words: Vec<_> = self.columns.iter().map(|column| column.rule.words()).collect();
        words.join(", then ")
    }
}

impl Column {
    /// Its field, if no item has it.
    fn unknown_field(&self) -> Option<&str> {
        match &self.rule {
            KeepRule::Field { name, .. } if !self.keys.is_empty() => {
                self.keys.iter().all(Option::is_none).then_some(name)
            }
            _ => None,
        }
    }

    /// `keys`: of the fields of this rule and of those behind it.
    fn note(
        &mut self,
        row: &Row<'_>,
        keys: &mut impl Iterator<Item = Option<Key>>,
        id: Id<'_>,
    ) -> Result<()> {
        let size = match &self.rule {
            KeepRule::First | KeepRule::Last => return Ok(()),
            KeepRule::Field { .. } => {
                self.keys.push(keys.next().flatten());
                return Ok(());
            }
            KeepRule::Longest => row.text().chars().count() as i64,
            KeepRule::Largest => row.bytes as i64,
            KeepRule::Path(pattern) => i64::from(pattern.fits(&id_text(id))),
            KeepRule::Newest | KeepRule::Oldest => match (row.modified, &self.rule) {
                (Some(time), KeepRule::Newest) => time,
                (Some(time), _) => time.saturating_neg(),
                (None, rule) => bail!(
                    "--keep {}: rows of a table have no time of change; \
                     name a field that has it, as in --keep date:desc",
                    if *rule == KeepRule::Newest { "newest" } else { "oldest" }
                ),
            },
            KeepRule::Best => bail!("--keep best is for pictures; use longest or largest"),
        };
        self.sizes.push(size);
        Ok(())
    }

    fn note_picture(&mut self, picture: &PictureItem) -> Result<()> {
        let stamp = picture.stamp;
        let pixels = i64::from(picture.width) * i64::from(picture.height);
        let size = match &self.rule {
            KeepRule::First | KeepRule::Last => return Ok(()),
            KeepRule::Largest => stamp.bytes as i64,
            KeepRule::Newest => stamp.modified,
            KeepRule::Oldest => stamp.modified.saturating_neg(),
            KeepRule::Path(pattern) => i64::from(pattern.fits(&path_text(&picture.path))),
            KeepRule::Best => {
                self.bytes.push(stamp.bytes);
                pixels
            }
            KeepRule::Longest => bail!("--keep longest is for texts; use best or largest"),
            KeepRule::Field { .. } => bail!("--keep by a field is for rows; use best or largest"),
        };
        self.sizes.push(size);
        Ok(())
    }

    /// Which of two items is preferred: the lesser one.
    fn compare(&self, one: u32, other: u32) -> Ordering {
        let key = |item: u32| self.keys[item as usize].as_ref();
        match self.rule {
            KeepRule::First => one.cmp(&other),
            KeepRule::Last => other.cmp(&one),
            KeepRule::Field { descending: false, .. } => {
                let rank = |item| (key(item).is_none(), key(item));
                rank(one).cmp(&rank(other))
            }
            KeepRule::Field { descending: true, .. } => {
                let rank = |item| (key(item).is_none(), Reverse(key(item)));
                rank(one).cmp(&rank(other))
            }
            _ => {
                let rank = |item: u32| {
                    let item = item as usize;
                    Reverse((self.sizes[item], self.bytes.get(item)))
                };
                rank(one).cmp(&rank(other))
            }
        }
    }
}

impl KeepRule {
    fn words(&self) -> String {
        match self {
            Self::First => "the first in the input".to_owned(),
            Self::Last => "the last in the input".to_owned(),
            Self::Longest => "the longest text".to_owned(),
            Self::Largest => "the largest in bytes".to_owned(),
            Self::Newest => "the newest file".to_owned(),
            Self::Oldest => "the oldest file".to_owned(),
            Self::Best => "the most pixels, then bytes".to_owned(),
            Self::Path(pattern) => format!("a path that fits {pattern}"),
            Self::Field { name, descending: false } => format!("the smallest {name}"),
            Self::Field { name, descending: true } => format!("the largest {name}"),
        }
    }
}
