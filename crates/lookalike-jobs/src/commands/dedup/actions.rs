//! Acts on removed files: finds the files of a decision, and moves, links, trashes or deletes them.

use std::{
    collections::{HashMap, HashSet},
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use lookalike::groups::{Group, Groups};
use serde_json::json;

use crate::{
    act::{
        Action, ActionResult, Actor, Journal, NotDone, PlannedAction, Recovered, Reread, Restored,
        RunLock, recover, resolve,
    },
    args::{ActArgs, DedupArgs},
    host::{Console, Host},
    report::{Figure, bytes, counted, grouped, visible},
    source::{ContentHash, SeenFile, Sidecars, Stamp, path_text},
};

/// The number of skipped files that are listed.
const MAX_LISTED: usize = 20;

/// An action that was requested and can be done.
pub struct PendingAction {
    action: Action,
    /// None for a dry run.
    journal: Option<Journal>,
}

/// What was done, and the journal that records it.
pub struct ActionReport {
    action: Action,
    acted: ActionResult,
    journal: Option<PathBuf>,
    pub dry_run: bool,
}

/// The lock on all inputs of an acting run. Files that a stopped run had set aside are restored.
pub struct InputLock {
    _lock: RunLock,
    /// Files that a stopped run had set aside and that cannot be restored.
    not_done: Vec<NotDone>,
}

impl InputLock {
    /// Locks the inputs, and restores what stopped runs had set aside, so that it is read. None if
    /// nothing will be acted on.
    pub fn take(args: &DedupArgs, console: Console<'_>) -> Result<Option<Self>> {
        if requested_action(&args.act).is_none() || args.dry_run {
            return Ok(None);
        }
        let lock = RunLock::take(&trees(args), console.host)?;
        let searched: Vec<_> = searched(args).cloned().collect();
        let mut not_done = Vec::new();
        for Recovered { claimed, home, result } in recover(&searched, args.rows.follow_links) {
            let claimed = path_text(&claimed);
            let reason = match result {
                Ok(Restored::MovedBack | Restored::AlreadyInPlace) => {
                    let path = visible(&path_text(&home)).into_owned();
                    console
                        .note(&format!("note: restored {path}, which a stopped run had set aside"));
                    continue;
                }
                Ok(Restored::NameTaken) => format!(
                    "a stopped run set another file of this name aside as {claimed}; move it to \
                     where it belongs"
                ),
                Err(error) => format!("a stopped run set it aside as {claimed}: {error}"),
            };
            not_done.push(NotDone { path: home, reason, failed: true });
        }
        Ok(Some(Self { _lock: lock, not_done }))
    }
}

fn searched(args: &DedupArgs) -> impl Iterator<Item = &PathBuf> {
    args.inputs.iter().chain(&args.against)
}

/// The folders and files that the run may read and act on.
fn trees(args: &DedupArgs) -> Vec<PathBuf> {
    let paths = searched(args).chain(&args.act.move_to);
    paths.map(|path| resolve(path).unwrap_or_else(|_| path.clone())).collect()
}

/// The requested action.
pub fn requested_action(args: &ActArgs) -> Option<Action> {
    match args {
        ActArgs { move_to: Some(folder), .. } => Some(Action::Move(folder.clone())),
        ActArgs { link: true, .. } => Some(Action::Link),
        ActArgs { trash: true, .. } => Some(Action::Trash),
        ActArgs { delete: true, .. } => Some(Action::Delete),
        _ => None,
    }
}

impl PendingAction {
    /// Checks that all inputs are files, and opens the journal. `no_file` names an input that is
    /// not a file, among the inputs and in the set of `--against`.
    pub fn open(args: &DedupArgs, no_file: [Option<&str>; 2], host: &Host) -> Result<Option<Self>> {
        let Some(action) = requested_action(&args.act) else { return Ok(None) };
        let name = action.name();
        if let Some(input) = no_file[0] {
            bail!(
                "--{name} acts on files, but {input} holds rows; use -o KEPT to write what is kept"
            );
        }
        if let Some(input) = no_file[1] {
            bail!(
                "--{name} checks the kept files, but {input} is not a file; name files in --against"
            );
        }
        if let Action::Move(folder) = &action {
            check_target(folder, &args.inputs)?;
        }
        let journal = match args.dry_run {
            true => None,
            false => Some(Journal::create(args.act.journal.as_deref(), name, &trees(args), host)?),
        };
        Ok(Some(Self { action, journal }))
    }

    /// Acts on all removed files. `file` returns the file of an item, `reread` reads it again;
    /// `have_sidecars`: sidecars follow their images.
    pub fn run<'a>(
        self,
        groups: &Groups,
        file: &dyn Fn(u32) -> Option<SeenFile<'a>>,
        reread: Reread<'_>,
        have_sidecars: bool,
        console: Console<'_>,
    ) -> Result<ActionReport> {
        let Self { action, journal } = self;
        let mut unequal = Vec::new();
        let planned = groups
            .iter()
            .map(|group| match action {
                Action::Link => equal_members(group, file, &mut unequal),
                _ => all_members(group, file),
            })
            .collect::<Option<Vec<_>>>()
            .context("a file that was read is not known any more")?
            .concat();
        let sidecars = match action {
            // A linked image keeps its name, and so its sidecar.
            Action::Link => HashMap::new(),
            _ if have_sidecars => sidecars(&planned),
            _ => HashMap::new(),
        };
        let planned: Vec<_> =
            planned.into_iter().flat_map(|one| with_sidecars(one, &sidecars)).collect();
        let actor = Actor::new(&action, reread, console.host)
            .with_context(|| format!("--{}", action.name()))?;
        let is_dry_run = journal.is_none();
        let (mut acted, journal) = match journal {
            None => (dry_run(actor, &planned, console)?, None),
            Some(mut journal) => (actor.act(&planned, &mut journal)?, journal.finish()?),
        };
        acted.not_done.append(&mut unequal);
        Ok(ActionReport { action, acted, journal, dry_run: is_dry_run })
    }
}

fn dry_run(
    actor: Actor<'_>,
    planned: &[PlannedAction<'_>],
    console: Console<'_>,
) -> Result<ActionResult> {
    let mut output = console.stdout();
    let acted = actor.dry_run(planned, &mut |entry| Ok(writeln!(output, "{}", entry.json())?))?;
    output.flush()?;
    Ok(acted)
}

/// All members of a group, to be removed for its keeper.
fn all_members<'a>(
    group: &Group,
    file: &dyn Fn(u32) -> Option<SeenFile<'a>>,
) -> Option<Vec<PlannedAction<'a>>> {
    let keep = file(group.keep)?;
    let planned = |item| Some(PlannedAction { file: file(item)?, keep, with: None });
    group.members.iter().map(|member| planned(member.item)).collect()
}

/// As [`all_members`], but each for the first file of the group with the same content. Files of
/// other content stay.
fn equal_members<'a>(
    group: &Group,
    file: &dyn Fn(u32) -> Option<SeenFile<'a>>,
    not_done: &mut Vec<NotDone>,
) -> Option<Vec<PlannedAction<'a>>> {
    let keeper = file(group.keep)?;
    let mut firsts = HashMap::from([(keeper.content, keeper)]);
    let mut planned = Vec::with_capacity(group.members.len());
    for member in &group.members {
        let file = file(member.item)?;
        match firsts.get(&file.content) {
            Some(&keep) => planned.push(PlannedAction { file, keep, with: None }),
            None => {
                firsts.insert(file.content, file);
                let reason = format!("is similar to {}, but not equal", path_text(keeper.path));
                not_done.push(NotDone { path: file.path.to_owned(), reason, failed: false });
            }
        }
    }
    // Sorted by keeper, so that each keeper is checked once.
    planned.sort_by_key(|planned| planned.keep.path);
    Some(planned)
}

/// A file that follows its image.
struct Sidecar {
    path: PathBuf,
    relative: PathBuf,
    stamp: Stamp,
    content: ContentHash,
}

/// The sidecars of all removed images, by the path of the image; each once.
fn sidecars(planned: &[PlannedAction<'_>]) -> HashMap<PathBuf, Vec<Sidecar>> {
    let names = |planned: &PlannedAction<'_>| {
        [planned.file.path.to_owned()].into_iter().chain(planned.file.links.to_vec())
    };
    let all: HashSet<PathBuf> = planned.iter().flat_map(names).collect();
    let (mut finder, mut met, mut found) = (Sidecars::default(), HashSet::new(), HashMap::new());
    for one in planned {
        let mut own = Vec::new();
        for name in names(one) {
            for path in finder.of(&name, &|path| all.contains(path)) {
                let sidecar = Sidecar::look(&path, one.file.relative);
                if let Some(sidecar) = sidecar.filter(|_| met.insert(path)) {
                    own.push(sidecar);
                }
            }
        }
        found.insert(one.file.path.to_owned(), own);
    }
    found
}

impl Sidecar {
    /// None if it cannot be read; then it stays.
    fn look(path: &Path, image: &Path) -> Option<Self> {
        let stamp = Stamp::of(&path.symlink_metadata().ok()?);
        let content = ContentHash::of_file(path).ok()?;
        let relative = image.with_file_name(path.file_name()?);
        Some(Self { path: path.to_owned(), relative, stamp, content })
    }
}

/// A removed file, followed by its sidecars.
fn with_sidecars<'a>(
    image: PlannedAction<'a>,
    sidecars: &'a HashMap<PathBuf, Vec<Sidecar>>,
) -> impl Iterator<Item = PlannedAction<'a>> {
    let own = sidecars.get(image.file.path).map_or(&[][..], Vec::as_slice);
    let planned = move |Sidecar { path, relative, stamp, content }: &'a Sidecar| {
        let (stamp, content) = (*stamp, *content);
        let file = SeenFile { path, relative, links: &[], stamp, content };
        PlannedAction { file, keep: image.keep, with: Some(image.file.path) }
    };
    [image].into_iter().chain(own.iter().map(planned))
}

/// Rejects a target inside an input, which the next run would search.
fn check_target(folder: &Path, inputs: &[PathBuf]) -> Result<()> {
    let name = path_text(folder);
    if folder.exists() {
        ensure!(folder.is_dir(), "--move {name}: this is a file; name a folder");
    }
    let resolved = resolve(folder)?;
    for input in inputs {
        let within = input.canonicalize().is_ok_and(|input| resolved.starts_with(input));
        ensure!(
            !within,
            "--move {name}: this folder is inside {}, where the next run would find the moved files; \
             choose a folder outside",
            path_text(input)
        );
    }
    Ok(())
}

impl ActionReport {
    /// Adds the files that could not be restored before the run.
    pub fn add_not_done(&mut self, lock: InputLock) {
        self.acted.not_done.extend(lock.not_done);
    }

    /// Fails if a file could not be acted on.
    pub fn check(&self) -> Result<()> {
        let mut failed = self.acted.not_done.iter().filter(|not_done| not_done.failed);
        let Some(NotDone { path, reason, .. }) = failed.next() else { return Ok(()) };
        let (files, participle) =
            (counted(1 + failed.count() as u64, "file"), self.action.participle());
        bail!("{files} could not be {participle}; the first is {}: {reason}", path_text(path))
    }

    /// Lists the files that were not acted on.
    pub fn list_not_done(&self, console: Console<'_>) {
        let not_done = &self.acted.not_done;
        for not_done in not_done.iter().take(MAX_LISTED) {
            console.note(&format!(
                "{}: {}; not {}",
                visible(&path_text(&not_done.path)),
                visible(&not_done.reason),
                self.action.participle()
            ));
        }
        if not_done.len() > MAX_LISTED {
            console
                .note(&format!("... and {} more", grouped((not_done.len() - MAX_LISTED) as u64)));
        }
    }

    /// For the closing summary.
    pub fn figures(&self) -> Vec<Figure> {
        let Self { action, acted, journal, dry_run } = self;
        let would = if *dry_run { "would be " } else { "" };
        let files = counted(acted.names, "file");
        let words = format!("{files}, {}, {would}{}", bytes(acted.bytes), action.participle());
        let mut figures = vec![
            Figure { name: "act", value: json!(action.name()), words: None },
            Figure { name: "acted", value: json!(acted.names), words: Some(words) },
            Figure { name: "acted_bytes", value: json!(acted.bytes), words: None },
        ];
        let not_done = acted.not_done.len() as u64;
        let words = (not_done > 0).then(|| format!("{} unchanged", counted(not_done, "file")));
        figures.push(Figure { name: "left", value: json!(not_done), words });
        let path = journal.as_deref().map(path_text);
        let words = path.as_ref().map(|path| match action {
            Action::Delete => visible(path).into_owned(),
            _ => format!("to undo: lookalike undo {}", visible(path)),
        });
        figures.push(Figure { name: "journal", value: json!(path), words });
        figures
    }
}
