//! Where does everything go? All outputs are opened before the work, and written after it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use lookalike::search::{AlikePairs, Equals};

use super::decide::Decision;
use crate::{
    args::{DedupArgs, Grouping, OutputArgs},
    host::Console,
    report::{GroupWriter, Output, PairWriter, RemovedRow, RemovedWriter, TableFile, check_places},
    source::{Ids, Kept, KeptOutput},
};

/// The outputs that were asked for, open.
#[derive(Default)]
pub struct Outputs {
    kept: Option<KeptOutput>,
    pairs: Option<Table>,
    groups: Option<Table>,
    removed: Option<Table>,
    pub page: Option<Output>,
    equals: Equals,
}

/// An open table, and what it is written as.
struct Table {
    output: Output,
    file: TableFile,
}

/// Writes the items for which a test is true to an open place.
pub type WriteKept<'a> = &'a (dyn Fn(&dyn Fn(u32) -> bool, KeptOutput) -> Result<Kept> + Sync);

impl Outputs {
    /// Opens what was asked for; nothing for a dry run. `open_kept` opens the place for what is kept.
    pub fn open(
        args: &DedupArgs,
        open_kept: impl FnOnce(&OutputArgs) -> Result<KeptOutput>,
        console: Console<'_>,
    ) -> Result<Self> {
        if args.dry_run {
            return Ok(Self::default());
        }
        let table = |path: &Option<PathBuf>| -> Result<Option<Table>> {
            let Some(path) = path else { return Ok(None) };
            let place = place(path, args.force);
            Ok(Some(Table {
                file: TableFile::of(place.file())?,
                output: Output::create(&place, console)?,
            }))
        };
        let kept = args.output.as_deref().map(|path| open_kept(&place(path, args.force)));
        let page =
            args.report.as_deref().map(|path| Output::create(&place(path, args.force), console));
        Ok(Self {
            kept: kept.transpose()?,
            pairs: table(&args.pairs)?,
            groups: table(&args.groups)?,
            removed: table(&args.removed)?,
            page: page.transpose()?,
            equals: args.equal.into(),
        })
    }

    /// Gives up writing what is kept.
    pub fn keep_all(&mut self) {
        self.kept = None;
    }

    /// Whether nothing will be written at all.
    pub fn are_none(&self) -> bool {
        let Self { kept, pairs, groups, removed, page, equals: _ } = self;
        kept.is_none()
            && [pairs, groups, removed].iter().all(|table| table.is_none())
            && page.is_none()
    }

    /// Writes everything but the page. Nothing is put in its place before all is written.
    pub fn write(
        self,
        write_kept: WriteKept<'_>,
        pairs: Option<&AlikePairs>,
        decision: &Decision,
        ids: &Ids,
    ) -> Result<Option<Kept>> {
        let (chained, equals) = (decision.grouping == Grouping::Connected, self.equals);
        let writer = |Table { output, file }| PairWriter::new(output, file, ids);
        let mut pair_writer = self.pairs.map(writer).transpose()?;
        if let (Some(writer), Some(pairs)) = (&mut pair_writer, pairs) {
            pairs.list(equals, |pair| writer.write(pair))?;
        }
        let writer = |Table { output, file }| GroupWriter::new(output, file, ids, chained);
        let mut group_writer = self.groups.map(writer).transpose()?;
        if let Some(writer) = &mut group_writer {
            let mut groups = decision.groups.iter();
            groups.try_for_each(|group| writer.write(group.keep, &group.members))?;
        }
        let writer = |Table { output, file }| RemovedWriter::new(output, file, ids, chained);
        let mut removed_writer = self.removed.map(writer).transpose()?;
        if let Some(writer) = &mut removed_writer {
            write_removed(writer, decision)?;
        }
        let keep = |item| decision.keeps(item);
        let kept = self.kept.map(|kept| write_kept(&keep, kept)).transpose()?;
        removed_writer.map(RemovedWriter::finish).transpose()?;
        group_writer.map(GroupWriter::finish).transpose()?;
        pair_writer.map(PairWriter::finish).transpose()?;
        Ok(kept)
    }
}

/// Refuses outputs that would replace each other, or anything that is read.
pub fn check(args: &DedupArgs) -> Result<()> {
    if args.dry_run {
        return Ok(());
    }
    let DedupArgs { output, pairs, groups, removed, report, skipped, act, .. } = args;
    let all = [output, pairs, groups, removed, report, skipped, &act.journal];
    let read = args.inputs.iter().chain(&args.against).map(PathBuf::as_path);
    let outputs = all.into_iter().flatten().map(PathBuf::as_path);
    check_places(outputs, read.chain(args.recipe.files()))
}

fn place(path: &Path, force: bool) -> OutputArgs {
    OutputArgs { output: Some(path.to_owned()), force }
}

/// What is removed, in the order of the input, each with the item that is kept for it.
fn write_removed(writer: &mut RemovedWriter<'_>, decision: &Decision) -> Result<()> {
    let members = decision
        .groups
        .iter()
        .flat_map(|group| group.members.iter().map(|member| (group.keep, member)));
    let mut members: Vec<_> = members.collect();
    members.sort_unstable_by_key(|(_, member)| member.item);
    for (keep, member) in members {
        writer.write(RemovedRow {
            item: member.item,
            keep,
            alike: member.alike,
            closeness: member.closeness,
        })?;
    }
    Ok(())
}
