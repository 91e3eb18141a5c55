//! Which item of a group is kept: sorts all items by [`KeepRules`], from values recorded while the
//! items are read.

use std::cmp::{Ordering, Reverse};

use anyhow::{Result, bail, ensure};
use lookalike::{
    Facts,
    digest::Fidelity,
    kind::{Reads, Registration},
};

use super::plainness::{Plainness, plainness};
use crate::{
    args::{DedupArgs, KeepRule, KeepRules},
    source::{Id, Item, Key},
};

/// The values that the keep rules compare, by item.
pub struct Preference {
    columns: Vec<Column>,
    items: u32,
}

/// The values that one rule compares.
struct Column {
    rule: KeepRule,
    /// The length, size, date or path match of each item: the largest is kept.
    sizes: Vec<i64>,
    /// The quality of each image: the best is kept.
    qualities: Vec<ImageQuality>,
    /// The value of a field of each item.
    keys: Vec<Option<Key>>,
}

/// The quality of an image; the first difference decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ImageQuality {
    /// 3 for RAW files; 2 and 1 for other originals, lossless and lossy, by their metadata; 0 for
    /// edited copies and unknown origin.
    original: u8,
    /// An edited copy may be larger than its original, but a thumbnail must not win: pixels of an
    /// edited copy count a quarter.
    pixels: u64,
    unedited: bool,
    lossless: bool,
    bytes: u64,
    plainness: Plainness,
}

impl ImageQuality {
    fn of(facts: &Facts) -> Self {
        let lossless = facts.fidelity == Some(Fidelity::Lossless);
        let is_edited = facts.edited == Some(true);
        Self {
            original: match facts.edited {
                _ if facts.is_raw() => 3,
                Some(false) if lossless => 2,
                Some(false) => 1,
                _ => 0,
            },
            pixels: if is_edited { pixels(facts) / 4 } else { pixels(facts) },
            unedited: !is_edited,
            lossless,
            bytes: facts.bytes,
            plainness: plainness(&facts.name),
        }
    }
}

/// The number of pixels of an image.
pub fn pixels(facts: &Facts) -> u64 {
    facts.pixels.map_or(0, |(width, height)| u64::from(width) * u64::from(height))
}

impl Preference {
    /// The rules of `--keep`, or the default rules of the kind.
    pub fn new(args: &DedupArgs, kind: &Registration) -> Result<Self> {
        let KeepRules(rules) = match &args.keep {
            Some(rules) => rules.clone(),
            None => kind.keep.parse().map_err(anyhow::Error::msg)?,
        };
        let column =
            |rule: KeepRule| Column { rule, sizes: vec![], qualities: vec![], keys: vec![] };
        let preference = Self { columns: rules.into_iter().map(column).collect(), items: 0 };
        ensure!(
            kind.reads != Reads::Prints || preference.is_order(),
            "--keep supports only first and last for {}",
            kind.items
        );
        Ok(preference)
    }

    /// Records the values of the next item.
    pub fn record(&mut self, item: &Item<'_>, id: Id<'_>) -> Result<()> {
        self.items += 1;
        if self.is_order() {
            return Ok(());
        }
        let facts = item.facts(id);
        let mut keys = item.keys();
        self.columns.iter_mut().try_for_each(|column| column.record(&facts, &mut keys))
    }

    /// Sets the number of all items; of those not recorded, only the order is known.
    pub fn set_items(&mut self, items: usize) {
        self.items = items as u32;
    }

    /// Whether only the order of the items decides.
    fn is_order(&self) -> bool {
        let mut rules = self.columns.iter().map(|column| &column.rule);
        rules.all(|rule| matches!(rule, KeepRule::First | KeepRule::Last))
    }

    /// All items, preferred ones first; ties keep the order of the input. Items without the field
    /// come last; an error if no item has it.
    pub fn order(&self) -> Result<Vec<u32>> {
        if let Some(rule) = self.columns.iter().find_map(Column::unknown_field) {
            bail!("--keep {rule}: no item has a value in this field; check the name");
        }
        let mut order: Vec<u32> = (0..self.items).collect();
        order.sort_by(|&one, &other| {
            let orders = self.columns.iter().map(|column| column.compare(one, other));
            orders.fold(Ordering::Equal, Ordering::then)
        });
        Ok(order)
    }

    /// Why an item is kept, in words.
    pub fn why(&self) -> String {
        let words: Vec<_> = self.columns.iter().map(|column| column.rule.words()).collect();
        words.join(", then ")
    }
}

impl Column {
    /// The field of the rule, if no item has it.
    fn unknown_field(&self) -> Option<&str> {
        match &self.rule {
            KeepRule::Field { name, .. } if !self.keys.is_empty() => {
                self.keys.iter().all(Option::is_none).then_some(name)
            }
            _ => None,
        }
    }

    /// `keys`: the values of the fields of this and the following rules.
    fn record(
        &mut self,
        facts: &Facts,
        keys: &mut impl Iterator<Item = Option<Key>>,
    ) -> Result<()> {
        let is_image = facts.pixels.is_some();
        let size = match &self.rule {
            KeepRule::First | KeepRule::Last => return Ok(()),
            KeepRule::Field { .. } if is_image => {
                bail!("--keep FIELD is for rows of a table; for images use best or largest")
            }
            KeepRule::Field { .. } => {
                self.keys.push(keys.next().flatten());
                return Ok(());
            }
            KeepRule::Longest => match facts.characters {
                Some(characters) => characters as i64,
                None => bail!("--keep longest is for texts; for images use best or largest"),
            },
            KeepRule::Largest => facts.bytes as i64,
            KeepRule::Path(pattern) => i64::from(pattern.matches(&facts.name)),
            KeepRule::Newest | KeepRule::Oldest => match (facts.date(), &self.rule) {
                (Some(time), KeepRule::Newest) => time,
                (Some(time), _) => time.saturating_neg(),
                (None, rule) => bail!(
                    "--keep {}: rows of a table have no modification time; use a date field, as in \
                     --keep date:desc",
                    if *rule == KeepRule::Newest { "newest" } else { "oldest" }
                ),
            },
            KeepRule::Best if is_image => {
                self.qualities.push(ImageQuality::of(facts));
                return Ok(());
            }
            KeepRule::Best => bail!("--keep best is for images; for texts use longest or largest"),
        };
        self.sizes.push(size);
        Ok(())
    }

    /// The preferred item compares as less.
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
            KeepRule::Best => self.qualities[other as usize].cmp(&self.qualities[one as usize]),
            _ => self.sizes[other as usize].cmp(&self.sizes[one as usize]),
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
            Self::Best => "an original, then the most pixels, then bytes".to_owned(),
            Self::Path(pattern) => format!("a path that matches {pattern}"),
            Self::Field { name, descending: false } => format!("the smallest {name}"),
            Self::Field { name, descending: true } => format!("the largest {name}"),
        }
    }
}
