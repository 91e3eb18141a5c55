//! What is done to the files that go? Finds the files of a decision, and has them moved, linked, put in
//! the trash or deleted.

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

/// How many files that are left as they are are listed.
const LISTED: usize = 20;

/// An act that was asked for and can be done.
pub struct Acting {
    deed: Action,
    /// None for a dry run.
    journal: Option<Journal>,
}

/// What was done, and where it is written down.
pub struct Acts {
    deed: Action,
    acted: ActionResult,
    journal: Option<PathBuf>,
    dry_run: bool,
}

/// Files that may be acted on: nobody else acts there, and nothing is put aside by a stopped run.
pub struct Secured {
    _lock: RunLock,
    /// What a stopped run had put aside and cannot be put back.
    left: Vec<NotDone>,
}

/// Keeps other runs out, and brings back what stopped ones had put aside, so that it is read. None if
/// nothing will be acted on.
pub fn secure(args: &DedupArgs, console: Console<'_>) -> Result<Option<Secured>> {
    if deed(&args.act).is_none() || args.dry_run {
        return Ok(None);
    }
    let lock = RunLock::take(&trees(args), console.host)?;
    let searched: Vec<_> = searched(args).cloned().collect();
    let mut left = Vec::new();
    for Recovered { claimed, home, result } in recover(&searched, args.rows.follow_links) {
        let claimed = path_text(&claimed);
        let reason = match result {
            Ok(Restored::MovedBack | Restored::AlreadyInPlace) => {
                let path = visible(&path_text(&home)).into_owned();
                console.note(&format!("note: restored {path}, which a stopped run had put aside"));
                continue;
            }
            Ok(Restored::NameTaken) => format!(
                "a stopped run had put aside another file of this name as {claimed}; move it to \
                 where it belongs"
            ),
            Err(error) => format!("a stopped run had put it aside as {claimed}: {error}"),
        };
        left.push(NotDone { path: home, reason, failed: true });
    }
    Ok(Some(Secured { _lock: lock, left }))
}

fn searched(args: &DedupArgs) -> impl Iterator<Item = &PathBuf> {
    args.inputs.iter().chain(&args.against)
}

/// Everything that may be looked at and acted on.
fn trees(args: &DedupArgs) -> Vec<PathBuf> {
    let paths = searched(args).chain(&args.act.move_to);
    paths.map(|path| resolve(path).unwrap_or_else(|_| path.clone())).collect()
}

/// What was asked for, if anything.
pub fn deed(args: &ActArgs) -> Option<Action> {
    match args {
        ActArgs { move_to: Some(folder), .. } => Some(Action::Move(folder.clone())),
        ActArgs { link: true, .. } => Some(Action::Link),
        ActArgs { trash: true, .. } => Some(Action::Trash),
        ActArgs { delete: true, .. } => Some(Action::Delete),
        _ => None,
    }
}

impl Acting {
    /// Looks whether all inputs are files, and opens the journal. `no_file` is an input that holds
    /// rows, of those that are searched and of the others.
    pub fn open(args: &DedupArgs, no_file: [Option<&str>; 2], host: &Host) -> Result<Option<Self>> {
        let Some(deed) = deed(&args.act) else { return Ok(None) };
        let name = deed.name();
        if let Some(input) = no_file[0] {
            bail!("--{name} acts on files, and {input} holds rows; -o KEPT writes what is kept");
        }
        if let Some(input) = no_file[1] {
            bail!(
                "--{name} checks the files that stay, and {input} is none; give files to --against"
            );
        }
        if let Action::Move(folder) = &deed {
            check_target(folder, &args.inputs)?;
        }
        let journal = match args.dry_run {
            true => None,
            false => Some(Journal::create(args.act.journal.as_deref(), name, &trees(args), host)?),
        };
        Ok(Some(Self { deed, journal }))
    }

    /// Acts on everything that goes. `file` is the file of an item, `reread` how such a file is read;
    /// `images`: sidecars go with them.
    pub fn run<'a>(
        self,
        groups: &Groups,
        file: &dyn Fn(u32) -> Option<SeenFile<'a>>,
        reread: Reread<'_>,
        images: bool,
        console: Console<'_>,
    ) -> Result<Acts> {
        let Self { deed, journal } = self;
        let mut unequal = Vec::new();
        let going = groups
            .iter()
            .map(|group| match deed {
                Action::Link => equal_ones(group, file, &mut unequal),
                _ => all(group, file),
            })
            .collect::<Option<Vec<_>>>()
            .context("a file that was read is not known any more")?
            .concat();
        let sidecars = match deed {
            // A linked image still has its name, and so its sidecar.
            Action::Link => HashMap::new(),
            _ if images => sidecars(&going),
            _ => HashMap::new(),
        };
        let going: Vec<_> =
            going.into_iter().flat_map(|one| with_sidecars(one, &sidecars)).collect();
        let actor = Actor::new(&deed, reread, console.host)
            .with_context(|| format!("--{}", deed.name()))?;
        let is_dry_run = journal.is_none();
        let (mut acted, journal) = match journal {
            None => (dry_run(actor, &going, console)?, None),
            Some(mut journal) => (actor.act(&going, &mut journal)?, journal.finish()?),
        };
        acted.not_done.append(&mut unequal);
        Ok(Acts { deed, acted, journal, dry_run: is_dry_run })
    }
}

fn dry_run(
    actor: Actor<'_>,
    going: &[PlannedAction<'_>],
    console: Console<'_>,
) -> Result<ActionResult> {
    let mut output = console.stdout();
    let acted = actor.dry_run(going, &mut |entry| Ok(writeln!(output, "{}", entry.json())?))?;
    output.flush()?;
    Ok(acted)
}

/// Everything in a group goes, for its keeper.
fn all<'a>(
    group: &Group,
    file: &dyn Fn(u32) -> Option<SeenFile<'a>>,
) -> Option<Vec<PlannedAction<'a>>> {
    let keep = file(group.keep)?;
    let going = |item| Some(PlannedAction { file: file(item)?, keep, with: None });
    group.members.iter().map(|member| going(member.item)).collect()
}

/// As [`all`], but each for the first of the group that says the same. What says something of its own
/// is left.
fn equal_ones<'a>(
    group: &Group,
    file: &dyn Fn(u32) -> Option<SeenFile<'a>>,
    left: &mut Vec<NotDone>,
) -> Option<Vec<PlannedAction<'a>>> {
    let keeper = file(group.keep)?;
    let mut firsts = HashMap::from([(keeper.content, keeper)]);
    let mut going = Vec::with_capacity(group.members.len());
    for member in &group.members {
        let file = file(member.item)?;
        match firsts.get(&file.content) {
            Some(&keep) => going.push(PlannedAction { file, keep, with: None }),
            None => {
                firsts.insert(file.content, file);
                let reason = format!("is similar to {}, but not equal", path_text(keeper.path));
                left.push(NotDone { path: file.path.to_owned(), reason, failed: false });
            }
        }
    }
    // Those for one file follow each other, so that it is looked at once.
    going.sort_by_key(|going| going.keep.path);
    Some(going)
}

/// A file that goes with an image.
struct Sidecar {
    path: PathBuf,
    relative: PathBuf,
    stamp: Stamp,
    content: ContentHash,
}

/// The sidecars of all images that go, by the path of the image; each once.
fn sidecars(going: &[PlannedAction<'_>]) -> HashMap<PathBuf, Vec<Sidecar>> {
    let names = |going: &PlannedAction<'_>| {
        [going.file.path.to_owned()].into_iter().chain(going.file.links.to_vec())
    };
    let all: HashSet<PathBuf> = going.iter().flat_map(names).collect();
    let (mut finder, mut met, mut found) = (Sidecars::default(), HashSet::new(), HashMap::new());
    for one in going {
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
    /// None if it cannot be read: then it stays.
    fn look(path: &Path, image: &Path) -> Option<Self> {
        let stamp = Stamp::of(&path.symlink_metadata().ok()?);
        let content = ContentHash::of_file(path).ok()?;
        let relative = image.with_file_name(path.file_name()?);
        Some(Self { path: path.to_owned(), relative, stamp, content })
    }
}

/// A file that goes, and then what goes with it.
fn with_sidecars<'a>(
    image: PlannedAction<'a>,
    sidecars: &'a HashMap<PathBuf, Vec<Sidecar>>,
) -> impl Iterator<Item = PlannedAction<'a>> {
    let own = sidecars.get(image.file.path).map_or(&[][..], Vec::as_slice);
    let going = move |Sidecar { path, relative, stamp, content }: &'a Sidecar| {
        let (stamp, content) = (*stamp, *content);
        let file = SeenFile { path, relative, links: &[], stamp, content };
        PlannedAction { file, keep: image.keep, with: Some(image.file.path) }
    };
    [image].into_iter().chain(own.iter().map(going))
}

/// A folder within those that are searched would be searched the next time.
fn check_target(folder: &Path, inputs: &[PathBuf]) -> Result<()> {
    let name = path_text(folder);
    if folder.exists() {
        ensure!(folder.is_dir(), "--move {name}: is a file; name a folder");
    }
    let resolved = resolve(folder)?;
    for input in inputs {
        let within = input.canonicalize().is_ok_and(|input| resolved.starts_with(input));
        ensure!(
            !within,
            "--move {name}: lies within {}, where the next run would find what was moved; \
             choose a folder outside",
            path_text(input)
        );
    }
    Ok(())
}

impl Acts {
    /// What was left as it was before this run read anything.
    pub fn add_left(&mut self, secured: Secured) {
        self.acted.not_done.extend(secured.left);
    }

    /// What should have been acted on, and could not be.
    pub fn check(&self) -> Result<()> {
        let mut failed = self.acted.not_done.iter().filter(|left| left.failed);
        let Some(NotDone { path, reason, .. }) = failed.next() else { return Ok(()) };
        let (files, participle) =
            (counted(1 + failed.count() as u64, "file"), self.deed.participle());
        bail!("{files} could not be {participle}; the first, {}: {reason}", path_text(path))
    }

    /// Lists what was left as it is.
    pub fn list_left(&self, console: Console<'_>) {
        let left = &self.acted.not_done;
        for left in left.iter().take(LISTED) {
            console.note(&format!(
                "left {}: {}",
                visible(&path_text(&left.path)),
                visible(&left.reason)
            ));
        }
        if left.len() > LISTED {
            console.note(&format!("and {} more", grouped((left.len() - LISTED) as u64)));
        }
    }

    /// For the closing summary.
    pub fn figures(&self) -> Vec<Figure> {
        let Self { deed, acted, journal, dry_run } = self;
        let would = if *dry_run { "would be " } else { "" };
        let files = counted(acted.names, "file");
        let words = format!("{files}, {}, {would}{}", bytes(acted.bytes), deed.participle());
        let mut figures = vec![
            Figure { name: "act", value: json!(deed.name()), words: None },
            Figure { name: "acted", value: json!(acted.names), words: Some(words) },
            Figure { name: "acted_bytes", value: json!(acted.bytes), words: None },
        ];
        let left = acted.not_done.len() as u64;
        let words = match left {
            0 => None,
            1 => Some("1 file as it is".to_owned()),
            _ => Some(format!("{} as they are", counted(left, "file"))),
        };
        figures.push(Figure { name: "left", value: json!(left), words });
        let path = journal.as_deref().map(path_text);
        let words = path.as_ref().map(|path| match deed {
            Action::Delete => visible(path).into_owned(),
            _ => format!("lookalike undo {} takes this back", visible(path)),
        });
        figures.push(Figure { name: "journal", value: json!(path), words });
        figures
    }
}
