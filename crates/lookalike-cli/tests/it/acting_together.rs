//! Two acting runs on the same files, stopped at any moment: no content is ever lost. Half of the
//! rounds keep their state apart, so that neither run knows of the other.
#![cfg(unix)]
#![expect(clippy::print_stderr, reason = "a failed test shows its seed")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::run::Folder;

/// Content that is there twice, once in each of two folders.
const GROUPS: usize = 40;

/// What two runs do at the same time; both would leave a group with one file, but not the same one.
const COMMANDS: [[&str; 2]; 5] = [
    ["dedup t --keep first --delete", "dedup t --keep last --delete"],
    ["dedup t/a --against t/b --delete", "dedup t/b --against ./t/a --delete"],
    ["dedup t --keep first --move GONE", "dedup t/../t --keep last --delete"],
    ["dedup t --keep first --link", "dedup t --keep last --delete"],
    ["dedup t --keep first --trash", "dedup t --keep last --move GONE"],
];

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % below as u64) as usize
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

struct Round {
    folder: Folder,
    contents: BTreeSet<Vec<u8>>,
    /// On another file system, where there is one.
    gone: tempfile::TempDir,
    states: [PathBuf; 2],
}

impl Round {
    fn new(dice: &mut Dice, is_apart: bool) -> Self {
        let folder = Folder::new();
        let mut contents = BTreeSet::new();
        for name in ["a", "b"] {
            fs::create_dir_all(folder.path("t").join(name)).unwrap();
        }
        for group in 0..GROUPS {
            let letter = |dice: &mut Dice| char::from(b'a' + dice.roll(26) as u8);
            let words: Vec<String> =
                (0..20).map(|_| (0..6).map(|_| letter(dice)).collect()).collect();
            let text = words.join(" ");
            for name in ["a", "b"] {
                fs::write(folder.path(&format!("t/{name}/{group}.txt")), &text).unwrap();
            }
            contents.insert(text.into_bytes());
        }
        let gone = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let states = ["one", if is_apart { "two" } else { "one" }].map(|name| folder.path(name));
        Self { folder, contents, gone, states }
    }

    fn command(&self, arguments: &str, state: usize) -> Command {
        let arguments = arguments.replace("GONE", self.gone.path().to_str().unwrap());
        let mut command = self.folder.command(&arguments);
        command.env("XDG_STATE_HOME", &self.states[state]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn start(&self, arguments: &str, state: usize) -> Child {
        self.command(&format!("{arguments} --max-remove 1 --threads 1"), state).spawn().unwrap()
    }

    /// As a user would: by the next run that acts, or by undoing what was done.
    fn recover(&self, by_undoing: bool) {
        if by_undoing {
            for state in BTreeSet::from([0, usize::from(self.states[0] != self.states[1])]) {
                let journals = self.states[state].join("lookalike/journals");
                for entry in fs::read_dir(journals).into_iter().flatten() {
                    let journal = entry.unwrap().path();
                    if journal.metadata().unwrap().len() > 0 {
                        let undo = format!("undo {}", journal.display());
                        assert!(self.command(&undo, state).status().unwrap().code().is_some());
                    }
                }
            }
        } else {
            let output = self.command("dedup t --delete --max-remove 1", 0).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{said}");
        }
    }

    /// Whoever is asked to stop puts back what it was working on.
    fn check_nothing_is_put_aside(&self) {
        for folder in ["t/a", "t/b"].map(|name| self.folder.path(name)) {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let is_empty = || fs::read_dir(entry.path()).unwrap().next().is_none();
                assert!(entry.file_type().unwrap().is_file() || is_empty(), "{entry:?}");
            }
        }
    }

    fn check(&self) {
        let (mut found, mut hidden) = (BTreeSet::new(), Vec::new());
        for name in ["a", "b"] {
            look(&self.folder.path("t").join(name), &mut found, &mut hidden);
        }
        let lost = self.contents.difference(&found).count();
        assert_eq!((lost, hidden), (0, vec![]), "lost contents, and what was left behind");
    }
}

fn look(folder: &Path, found: &mut BTreeSet<Vec<u8>>, hidden: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().starts_with('.') {
            hidden.push(entry.path());
        } else {
            found.insert(fs::read(entry.path()).unwrap());
        }
    }
}

fn stop(child: &Child, signal: Signal) {
    // One that has ended is still there to be waited for.
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// How a run ended: its exit code, and what it said. None if it was stopped.
fn end(child: Child) -> Option<(i32, String)> {
    let output = child.wait_with_output().unwrap();
    Some((output.status.code()?, String::from_utf8_lossy(&output.stderr).into_owned()))
}

#[test]
fn two_runs_that_take_each_others_keepers_lose_nothing_however_they_end() {
    let rounds = number("LOOKALIKE_TEST_ROUNDS").unwrap_or(200);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("LOOKALIKE_TEST_SEED").unwrap_or(now.as_nanos() as u64);
    eprintln!("{rounds} rounds, LOOKALIKE_TEST_SEED={seed}");
    let mut dice = Dice(seed);
    let (mut locked_out, mut met, mut stopped) = (0, 0, 0);
    let mut usual = Duration::from_millis(50);
    for round in 0..rounds {
        let is_apart = round % 2 == 0;
        eprintln!("round {round}");
        let runs = Round::new(&mut dice, is_apart);
        let commands = COMMANDS[dice.roll(COMMANDS.len())];
        let start = Instant::now();
        let children = [0, 1].map(|run| runs.start(commands[run], run));
        // A third of the runs is left to end.
        let deadlines = [0, 1]
            .map(|_| (dice.roll(3) > 0).then(|| usual.mul_f64(dice.roll(1000) as f64 / 800.0)));
        let signals = [0, 1].map(|_| [Signal::KILL, Signal::INT][dice.roll(2)]);
        let mut order = [0, 1];
        order.sort_by_key(|&run| deadlines[run]);
        for run in order {
            if let Some(deadline) = deadlines[run] {
                std::thread::sleep(deadline.saturating_sub(start.elapsed()));
                stop(&children[run], signals[run]);
            }
        }
        let ends = children.map(end);
        if !signals.contains(&Signal::KILL) {
            runs.check_nothing_is_put_aside();
        }
        if ends.iter().all(Option::is_some) {
            usual = start.elapsed();
        }
        for (exit, said) in ends.iter().flatten() {
            assert!([0, 2].contains(exit) && !said.contains("panicked"), "exit {exit}: {said}");
            let is_locked_out = said.contains("another run is acting here");
            assert!(!is_locked_out || !is_apart, "{said}");
            locked_out += u64::from(is_locked_out);
            met += u64::from(said.contains("its keeper"));
        }
        stopped += ends.iter().filter(|end| end.is_none()).count();
        runs.recover(dice.roll(2) == 0);
        runs.check();
    }
    eprintln!("{locked_out} locked out, {met} met another run, {stopped} stopped");
    assert!(rounds < 20 || (locked_out > 0 && stopped > 0));
}
