//! Which item of a group is kept? A [`KeepRule`] puts all items in the order in which they are
//! preferred; what it needs to know of them is noted while they are read.

use std::cmp::Reverse;

use anyhow::{Result, bail};

use crate::{
    args::KeepRule,
    source::{Key, PictureItem, Row},
};

/// What a rule needs to know of the items, by number.
pub struct Preference {
    rule: KeepRule,
    items: u32,
    /// How long, large or new each item is, if the rule asks for it.
    sizes: Vec<i64>,
    /// The value of a field of each item, if the rule asks for it.
    keys: Vec<Option<Key>>,
}

impl Preference {
    pub fn new(rule: KeepRule) -> Self {
        Self { rule, items: 0, sizes: Vec::new(), keys: Vec::new() }
    }

    /// Notes the next item.
    pub fn note(&mut self, row: &Row<'_>) -> Result<()> {
        self.items += 1;
        match &self.rule {
            KeepRule::First | KeepRule::Last => {}
            KeepRule::Longest => self.sizes.push(row.text().chars().count() as i64),
            KeepRule::Largest => self.sizes.push(row.bytes as i64),
            KeepRule::Newest => match row.modified {
                Some(time) => self.sizes.push(time),
                None => bail!(
                    "--keep newest: rows of a table have no time of change; \
                     name a field that has it, as in --keep date:desc"
                ),
            },
            KeepRule::Field { .. } => self.keys.push(row.key.clone()),
        }
        Ok(())
    }

    /// Notes the next item, a picture.
    pub fn note_picture(&mut self, picture: &PictureItem) -> Result<()> {
        self.items += 1;
        match &self.rule {
            KeepRule::First | KeepRule::Last => {}
            KeepRule::Largest => self.sizes.push(picture.bytes as i64),
            KeepRule::Newest => self.sizes.push(picture.modified.unwrap_or(i64::MIN)),
            KeepRule::Longest => bail!("--keep longest is for texts; use largest"),
            KeepRule::Field { .. } => bail!("--keep by a field is for rows; use largest or newest"),
        }
        Ok(())
    }

    /// All items, the preferred ones first; of equals, the earlier one. Items without the field come
    /// last.
    pub fn order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.items).collect();
        let key = |item: u32| self.keys[item as usize].as_ref();
        match self.rule {
            KeepRule::First => {}
            KeepRule::Last => order.reverse(),
            KeepRule::Longest | KeepRule::Largest | KeepRule::Newest => {
                order.sort_by_key(|&item| Reverse(self.sizes[item as usize]));
            }
            KeepRule::Field { descending: false, .. } => {
                order.sort_by_key(|&item| (key(item).is_none(), key(item)));
            }
            KeepRule::Field { descending: true, .. } => {
                order.sort_by_key(|&item| (key(item).is_none(), Reverse(key(item))));
            }
        }
        order
    }

    /// Why an item was kept, as a sentence.
    pub fn why(&self) -> String {
        match &self.rule {
            KeepRule::First => "the first in the input".to_owned(),
            KeepRule::Last => "the last in the input".to_owned(),
            KeepRule::Longest => "the longest text".to_owned(),
            KeepRule::Largest => "the largest in bytes".to_owned(),
            KeepRule::Newest => "the newest file".to_owned(),
            KeepRule::Field { name, descending: false } => format!("the smallest {name}"),
            KeepRule::Field { name, descending: true } => format!("the largest {name}"),
        }
    }
}
