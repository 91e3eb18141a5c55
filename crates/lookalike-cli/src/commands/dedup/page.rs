//! What does the report show? Reads the texts it needs once more, and hands them to the page.

use std::collections::HashMap;

use anyhow::{Context, Result};
use lookalike::{
    Level,
    groups::{Group, Groups, Member},
};

use crate::{
    config::Alike,
    report::{
        Output,
        html::{
            self, Body, Closeness, Excerpt, FILE_BYTES, HtmlReport, Overview, ReportGroup,
            ReportItem, ReportMember, Scale, View,
        },
        id_text,
    },
    source::{Ids, Rows, Skipped},
};

/// What the page tells besides its groups.
pub struct Page<'a> {
    pub title: String,
    pub items: u64,
    pub facts: Vec<(String, String)>,
    /// Why the kept ones are kept.
    pub why: String,
    pub scale: Scale,
    pub groups: &'a Groups,
    pub ids: &'a Ids,
}

impl Page<'_> {
    /// Writes the page. `rows` are all that were searched, one after the other.
    pub fn write(self, rows: &mut [&mut Rows], mut output: Output) -> Result<()> {
        let mut overview = Overview::new(self.scale.clone());
        for group in self.groups {
            overview.add(group.members.iter().map(closeness));
        }
        let view = View::new(&overview, FILE_BYTES);
        let mut texts = self.texts(&view, rows)?;
        let shown = self.groups.iter().enumerate().filter(|(position, _)| view.shows(*position));
        let groups = shown.map(|(position, group)| self.group(position, group, &view, &mut texts));
        let report = HtmlReport {
            title: self.title.clone(),
            items: self.items,
            facts: self.facts.clone(),
            overview: &overview,
            view: &view,
        };
        html::write(&mut output, &report, groups).context("cannot write the report")?;
        output.finish()
    }

    /// The texts that are shown, by item.
    fn texts(&self, view: &View, rows: &mut [&mut Rows]) -> Result<HashMap<u32, Excerpt>> {
        let shown = self.groups.iter().enumerate().filter(|(position, _)| view.shows(*position));
        let mut wanted: Vec<u32> = shown
            .flat_map(|(_, group)| {
                members(group, view).map(|member| member.item).chain([group.keep])
            })
            .collect();
        wanted.sort_unstable();
        let mut texts = HashMap::with_capacity(wanted.len());
        let mut before = 0;
        for rows in rows {
            // What cannot be read was told when it was read first.
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

    fn group(
        &self,
        position: usize,
        group: &Group,
        view: &View,
        texts: &mut HashMap<u32, Excerpt>,
    ) -> ReportGroup {
        let mut item = |number: u32| ReportItem {
            id: id_text(self.ids.at(number)).into_owned(),
            body: texts.remove(&number).map_or(Body::None, Body::Text),
        };
        ReportGroup {
            position,
            keep: item(group.keep),
            why: self.why.clone(),
            members: members(group, view)
                .map(|member| ReportMember {
                    item: item(member.item),
                    closeness: closeness(member),
                })
                .collect(),
        }
    }
}

/// The members of a group that are shown.
fn members<'a>(group: &'a Group, view: &View) -> impl Iterator<Item = &'a Member> {
    let close: Vec<_> = group.members.iter().map(closeness).collect();
    view.members(&close).into_iter().map(|at| &group.members[at])
}

fn closeness(member: &Member) -> Closeness {
    Closeness { distance: member.distance, similarity: member.similarity }
}

/// On what scale texts are compared.
pub fn scale(alike: &Alike) -> Scale {
    let level = |level: Level| html::Level { name: level.name(), from: level.similarity().get() };
    match alike.verify {
        Some(verify) => Scale::Similarity {
            threshold: verify.similarity.get(),
            levels: Level::ALL.into_iter().map(level).collect(),
        },
        None => Scale::Distance { radius: alike.radius.bits() },
    }
}
