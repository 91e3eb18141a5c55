//! The content of the report: reads the texts or images that it shows again, and passes them to the
//! page.

use std::collections::HashMap;

use anyhow::{Context, Result};
use lookalike::{
    Collection, Facts,
    groups::{Group, Groups, Member},
};
use rayon::prelude::*;
use serde_json::Value;

use super::{keep::pixels, thumbnail::thumbnail};
use crate::{
    report::{
        Output, bytes, grouped,
        html::{
            self, Body, Closeness, Excerpt, FILE_BYTES, HtmlReport, Image, MAX_LOOSER, Overview,
            Reach, ReportGroup, ReportItem, ReportMember, Scale, Share, View,
        },
        id_text,
    },
    source::{FileItem, Ids, Inputs, Rows, Skipped},
};

/// The number of image groups prepared at once.
const GROUPS_AT_ONCE: usize = 32;

/// The content of the page.
pub struct Page<'a> {
    pub title: String,
    pub items: u64,
    pub facts: Vec<(String, String)>,
    /// Why the kept items are kept.
    pub why: String,
    pub scale: Scale,
    pub groups: Vec<PageGroup<'a>>,
    pub ids: &'a Ids,
    /// The collection of `--against`, which stores the facts of its items.
    pub collection: Option<&'a Collection>,
}

/// A kept item, the items removed for it, and the looser matches that stay.
#[derive(Clone, Copy)]
pub struct PageGroup<'a> {
    keep: u32,
    members: &'a [Member],
    looser: &'a [Member],
}

impl<'a> PageGroup<'a> {
    /// The groups of a decision, in order, each with its looser matches; then kept items that have
    /// only looser matches.
    pub fn all(groups: &'a Groups, looser: Option<&'a Groups>) -> Vec<Self> {
        let looser = looser.into_iter().flatten();
        let mut unused: HashMap<u32, &[Member]> =
            looser.clone().map(|group| (group.keep, &group.members[..])).collect();
        let with_looser = |group: &'a Group| Self {
            keep: group.keep,
            members: &group.members,
            looser: unused.remove(&group.keep).unwrap_or_default(),
        };
        let mut all: Vec<_> = groups.iter().map(with_looser).collect();
        let alone = looser.filter(|group| unused.contains_key(&group.keep));
        all.extend(alone.map(|Group { keep, members }| Self {
            keep: *keep,
            members: &[],
            looser: members,
        }));
        all
    }
}

impl Page<'_> {
    /// Writes the page. `inputs` are all that were searched, in order.
    pub fn write(self, inputs: &mut [&mut Inputs], output: &mut Output) -> Result<()> {
        if inputs.iter().all(|inputs| matches!(inputs, Inputs::Files(_))) {
            let items: Vec<_> = inputs.iter().flat_map(|inputs| inputs.file_items()).collect();
            return self.write_files(&items, output);
        }
        let rows = inputs.iter_mut().filter_map(|inputs| match inputs {
            Inputs::Records(rows) => Some(&mut **rows),
            _ => None,
        });
        self.write_records(&mut rows.collect::<Vec<_>>(), output)
    }

    fn write_records(self, rows: &mut [&mut Rows], output: &mut Output) -> Result<()> {
        let overview = self.overview();
        let view = View::new(&overview, FILE_BYTES, Share::TEXT);
        let texts = self.texts(&view, rows)?;
        let body = |item: u32| texts.get(&item).cloned().map_or(Body::None, Body::Text);
        let groups = self.shown(&view).map(|(position, group)| {
            self.report_group(position, group, &view, self.why.clone(), &body)
        });
        html::write(output, &self.report(&overview, &view), groups)
            .context("cannot write the report")
    }

    /// `items`: all files that were searched, by item number.
    fn write_files(self, items: &[&FileItem], output: &mut Output) -> Result<()> {
        let overview = self.overview();
        let view = View::new(&overview, FILE_BYTES, Share::IMAGE);
        let body = |number: u32| match items.get(number as usize) {
            Some(item) => Body::Image(image(item, view.excerpt)),
            None => self.stored_image(number).map_or(Body::None, Body::Image),
        };
        let image_group = |&(position, group): &(usize, &PageGroup<'_>)| {
            let why = format!("{}: {}", self.why, compared(group, items));
            self.report_group(position, group, &view, why, &body)
        };
        let shown: Vec<_> = self.shown(&view).collect();
        // A few groups at a time: decodes images on all threads, and holds few in memory.
        let groups = shown
            .chunks(GROUPS_AT_ONCE)
            .flat_map(|some| some.par_iter().map(image_group).collect::<Vec<_>>());
        html::write(output, &self.report(&overview, &view), groups)
            .context("cannot write the report")
    }

    fn overview(&self) -> Overview {
        let mut overview = Overview::new(self.scale.clone());
        for PageGroup { members, looser, .. } in &self.groups {
            overview.add(members.iter().map(closeness), looser.len());
        }
        overview
    }

    fn report_group(
        &self,
        position: usize,
        group: &PageGroup<'_>,
        view: &View,
        why: String,
        body: &dyn Fn(u32) -> Body,
    ) -> ReportGroup {
        let item = |number: u32| ReportItem {
            id: id_text(self.ids.at(number)).into_owned(),
            body: body(number),
        };
        let members = members(group, view).map(|(member, stays)| ReportMember {
            item: item(member.item),
            stays,
            closeness: closeness(member),
            alike: self.matched(group, member),
        });
        let members = members.collect();
        ReportGroup { position, keep: item(group.keep), why, members }
    }

    /// An image of the collection, as its stored facts describe it.
    fn stored_image(&self, number: u32) -> Option<Image> {
        let stored = self.collection?.get(&id_text(self.ids.at(number))).ok().flatten()?;
        let facts: Value = serde_json::from_str(&stored.payload?).ok()?;
        let number = |name: &str| facts[name].as_u64();
        let side = |name: &str| u32::try_from(number(name)?).ok();
        Some(Image {
            jpeg: Vec::new(),
            width: side("width")?,
            height: side("height")?,
            bytes: number("bytes")?,
            format: facts["format"].as_str().unwrap_or_default().to_owned(),
            modified: facts["modified"].as_i64(),
        })
    }

    /// The groups that the page shows, with their positions.
    fn shown<'a>(&'a self, view: &'a View) -> impl Iterator<Item = (usize, &'a PageGroup<'a>)> {
        self.groups.iter().enumerate().filter(|(position, _)| view.shows(*position))
    }

    fn report<'a>(&self, overview: &'a Overview, view: &'a View) -> HtmlReport<'a> {
        let (title, facts) = (self.title.clone(), self.facts.clone());
        HtmlReport { title, items: self.items, facts, overview, view }
    }

    /// The texts that the page shows, by item.
    fn texts(&self, view: &View, rows: &mut [&mut Rows]) -> Result<HashMap<u32, Excerpt>> {
        let shown = self.shown(view);
        let mut wanted: Vec<u32> = shown
            .flat_map(|(_, group)| {
                members(group, view).map(|(member, _)| member.item).chain([group.keep])
            })
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut texts = HashMap::with_capacity(wanted.len());
        let mut before = 0;
        for rows in rows {
            // Unreadable rows were reported at the first reading.
            let mut skipped = Skipped::unless(false);
            let ids = rows.read(&mut skipped, &mut |batch| {
                for (number, row) in (before + batch.first..).zip(&batch.rows) {
                    if wanted.binary_search(&number).is_ok() {
                        texts.insert(number, Excerpt::of(row.text(), view.fetch));
                    }
                }
                Ok(())
            })?;
            before += ids.len() as u32;
        }
        Ok(texts)
    }

    /// The item that a member matches, if that is not the kept one.
    fn matched(&self, group: &PageGroup<'_>, member: &Member) -> Option<String> {
        (member.alike != group.keep).then(|| id_text(self.ids.at(member.alike)).into_owned())
    }
}

/// The members of a group that the page shows, and whether they stay: removed ones, then the
/// nearest that stay.
fn members<'a>(group: &PageGroup<'a>, view: &View) -> impl Iterator<Item = (&'a Member, bool)> {
    let PageGroup { members, looser, .. } = *group;
    let close = |members: &[Member]| members.iter().map(closeness).collect::<Vec<_>>();
    let removed = view.members(&close(members)).into_iter().map(|at| (&members[at], false));
    let mut nearest: Vec<&Member> = looser.iter().collect();
    nearest.sort_by(|one, other| {
        let similarity = |member: &Member| member.closeness.similarity.unwrap_or(0.0);
        let order = similarity(other).total_cmp(&similarity(one));
        order.then(one.closeness.distance.cmp(&other.closeness.distance))
    });
    removed.chain(nearest.into_iter().take(MAX_LOOSER).map(|member| (member, true)))
}

fn closeness(member: &Member) -> Closeness {
    let lookalike::Closeness { distance, similarity, .. } = member.closeness;
    Closeness { distance: distance.unwrap_or(0), similarity }
}

/// Size and format of the kept image, compared with the best of the others.
fn compared(group: &PageGroup<'_>, items: &[&FileItem]) -> String {
    let size = |item: &FileItem| (pixels(&item.facts), item.facts.bytes);
    let words = |item: &FileItem| {
        let Facts { pixels, format, bytes: size, .. } = &item.facts;
        let (width, height) = pixels.unwrap_or_default();
        let [width, height] = [width, height].map(|side| grouped(side.into()));
        format!("{width} × {height}, {}, {}", bytes(*size), format.as_deref().unwrap_or_default())
    };
    let others = group.members.iter().chain(group.looser);
    let others = others.filter_map(|member| items.get(member.item as usize).copied());
    let best = others.max_by_key(|item| size(item)).map_or_else(String::new, words);
    let most = if group.members.len() + group.looser.len() > 1 { "at most " } else { "" };
    let keep = items.get(group.keep as usize).map_or_else(String::new, |item| words(item));
    format!("{keep}, compared with {most}{best}")
}

/// An image of the page; with its pixels, if they can be read again and fit.
fn image(item: &FileItem, bytes: usize) -> Image {
    let (width, height) = item.facts.pixels.unwrap_or_default();
    Image {
        jpeg: thumbnail(&item.path, bytes / 4 * 3).unwrap_or_default(),
        width,
        height,
        bytes: item.facts.bytes,
        format: item.facts.format.clone().unwrap_or_default(),
        modified: item.facts.modified.map(|time| time / 1_000_000_000),
    }
}

impl From<lookalike::kind::Scale> for Scale {
    fn from(scale: lookalike::kind::Scale) -> Self {
        match scale {
            lookalike::kind::Scale::Similarity { least, levels } => Self::Similarity {
                threshold: least,
                levels: levels
                    .into_iter()
                    .map(|(level, from)| html::Level { name: level.name(), from })
                    .collect(),
            },
            lookalike::kind::Scale::Distance { widest, levels } => Self::Distance {
                radius: widest,
                levels: levels
                    .into_iter()
                    .map(|(level, within)| Reach { name: level.name(), within })
                    .collect(),
            },
        }
    }
}
