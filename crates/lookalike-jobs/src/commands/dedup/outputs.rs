//! The output files: all are opened before the work, and written after it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use lookalike::search::{AlikePairs, Equals};

use super::decision::Decision;
use crate::{
    args::{DedupArgs, Grouping, OutputArgs},
    host::Console,
    report::{GroupWriter, Output, PairWriter, RemovedRow, RemovedWriter, TableFile, check_places},
    source::{Ids, Kept, KeptOutput},
};

/// The requested outputs, open.
#[derive(Default)]
pub struct Outputs {
    kept: Option<KeptOutput>,
    pairs: Option<TableOutput>,
    groups: Option<TableOutput>,
    removed: Option<TableOutput>,
    pub page: Option<Output>,
    equals: Equals,
}

/// An open table and its format.
struct TableOutput {
    output: Output,
    file: TableFile,
}

/// Writes the items that pass a test to an open output.
pub type WriteKept<'a> = &'a (dyn Fn(&dyn Fn(u32) -> bool, KeptOutput) -> Result<Kept> + Sync);

impl Outputs {
    /// Opens what was requested; nothing for a dry run. `open_kept` opens the output of `-o`.
    pub fn open(
        args: &DedupArgs,
        open_kept: impl FnOnce(&OutputArgs) -> Result<KeptOutput>,
        console: Console<'_>,
    ) -> Result<Self> {
        if args.dry_run {
            return Ok(Self::default());
        }
        let table = |path: &Option<PathBuf>| -> Result<Option<TableOutput>> {
            let Some(path) = path else { return Ok(None) };
            let args = output_args(path, args.force);
            Ok(Some(TableOutput {
                file: TableFile::of(args.file())?,
                output: Output::create(&args, console)?,
            }))
        };
        let kept = args.output.as_deref().map(|path| open_kept(&output_args(path, args.force)));
        let page = args
            .report
            .as_deref()
            .map(|path| Output::create(&output_args(path, args.force), console));
        Ok(Self {
            kept: kept.transpose()?,
            pairs: table(&args.pairs)?,
            groups: table(&args.groups)?,
            removed: table(&args.removed)?,
            page: page.transpose()?,
            equals: args.equal.into(),
        })
    }

    /// Does not write the kept items.
    pub fn discard_kept(&mut self) {
        self.kept = None;
    }

    /// Whether nothing will be written.
    pub fn are_none(&self) -> bool {
        let Self { kept, pairs, groups, removed, page, equals: _ } = self;
        kept.is_none()
            && [pairs, groups, removed].iter().all(|table| table.is_none())
            && page.is_none()
    }

    /// Writes everything but the page. No file is renamed to its final name before all are written.
    pub fn write(
        self,
        write_kept: WriteKept<'_>,
        pairs: Option<&AlikePairs>,
        decision: &Decision,
        ids: &Ids,
    ) -> Result<Option<Kept>> {
        let (chained, equals) = (decision.grouping == Grouping::Connected, self.equals);
        let writer = |TableOutput { output, file }| PairWriter::new(output, file, ids);
        let mut pair_writer = self.pairs.map(writer).transpose()?;
        if let (Some(writer), Some(pairs)) = (&mut pair_writer, pairs) {
            pairs.list(equals, |pair| writer.write(pair))?;
        }
        let writer = |TableOutput { output, file }| GroupWriter::new(output, file, ids, chained);
        let mut group_writer = self.groups.map(writer).transpose()?;
        if let Some(writer) = &mut group_writer {
            let mut groups = decision.groups.iter();
            groups.try_for_each(|group| writer.write(group.keep, &group.members))?;
        }
        let writer = |TableOutput { output, file }| RemovedWriter::new(output, file, ids, chained);
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

/// Rejects outputs that would overwrite each other or an input.
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

fn output_args(path: &Path, force: bool) -> OutputArgs {
    OutputArgs { output: Some(path.to_owned()), force }
}

/// Writes the removed items in input order, each with the item kept instead.
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
