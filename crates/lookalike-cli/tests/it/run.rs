//! A folder of small files, the binary run in it, and all that came out as one text.
//!
//! `snapshot!` compares that text: as it stands beside the call (`@"..."`), or as it stands in a file of
//! the folder `snapshots`. `cargo insta test --accept` writes what is printed now.

use std::{
    fmt::{self, Display, Formatter},
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use insta::Settings;
use tempfile::TempDir;

/// Fails unless a run, a session of several runs, or a file reads as expected.
macro_rules! snapshot {
    ($left:expr, @$expected:literal) => {{
        let left = $left.to_string();
        crate::run::settings().bind(|| insta::assert_snapshot!(left, @$expected));
    }};
    ($name:expr, $left:expr) => {{
        let left = $left.to_string();
        crate::run::settings().bind(|| insta::assert_snapshot!($name, left));
    }};
}
pub(crate) use snapshot;

/// What differs from run to run or from machine to machine, and what stands for it in snapshots.
const FILTERS: [(&str, &str); 21] = [
    (r#"(/[^/\s":]+)*/test-home-\w+"#, "[HOME]"),
    (r#"(/[^/\s":]+)*/test-folder-\w+"#, "[FOLDER]"),
    (r#"(/[^/\s":]+)*/\.tmp\w+"#, "[OTHER]"),
    (r"\d{8}-\d{6}-\d+-\w+", "[JOURNAL]"),
    (r"\d+\.\d\d s, [\d.]+( [kMG])? items/s", "[TIME]"),
    (r#""((?:\w+_)?seconds|items_per_second|peak_bytes|threads)":[\d.e+-]+"#, r#""$1":"[$1]""#),
    (r#""(inode|keep_inode|modified|mode|inserted)":\d+"#, r#""$1":"[$1]""#),
    (r#""owner":\[\d+,\d+\]"#, r#""owner":"[owner]""#),
    (r#""(plan|found)":"[^"]*comparisons?,[^"]*""#, r#""$1":"[PLAN]""#),
    (r"\([^()]*comparisons?,[^()]*\)", "([PLAN])"),
    (r"[\d.]+ KiB instead of [\d.]+ KiB", "[SIZE] instead of [SIZE]"),
    (r"file_len=\d+, layout_len=\d+", "file_len=[SIZE], layout_len=[SIZE]"),
    (r"(?m)^plan(: | +)\S.*$", "plan$1[PLAN]"),
    (r"(?m)^seconds( +).*$", "seconds$1[TIME]"),
    (r"(?m)^peak memory( +).*$", "peak memory$1[MEMORY]"),
    (r"\S+/lookalike ", "lookalike "),
    (r"\(process \d+", "(process [PID]"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "[DATE]"),
    (r"can run: [\w-]+(, [\w-]+)*", "can run: [KERNELS]"),
    (r"\[possible values: portable[^\]]*\]", "[possible values: [KERNELS]]"),
    (r"lookalike \d+\.\d+\.\d+", "lookalike [VERSION]"),
];

/// How snapshots are compared.
pub fn settings() -> Settings {
    let mut settings = Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    FILTERS.iter().for_each(|(pattern, name)| settings.add_filter(pattern, *name));
    settings
}

/// A folder of its own for one test.
pub struct Folder {
    folder: TempDir,
    /// A home for what lookalike remembers, apart from the user's.
    home: TempDir,
}

impl Folder {
    pub fn new() -> Self {
        let folder = |prefix| tempfile::Builder::new().prefix(prefix).tempdir().unwrap();
        Self { folder: folder("test-folder-"), home: folder("test-home-") }
    }

    /// A folder with one file.
    pub fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        Self::new().and(name, content)
    }

    pub fn and(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.path(name), content).unwrap();
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A path in the home of the commands.
    pub fn home(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names of all files, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The binary, ready to be started in this folder.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lookalike"));
        command.args(arguments.split_whitespace()).current_dir(self.folder.path());
        for variable in ["XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env_remove(variable);
        }
        command.env("HOME", self.home.path()).env("COLUMNS", "100");
        command
    }

    /// Runs without input.
    pub fn run(&self, arguments: &str) -> Ran {
        self.run_with(arguments, b"")
    }

    /// Runs with this on standard input.
    pub fn run_with(&self, arguments: &str, stdin: impl AsRef<[u8]>) -> Ran {
        run(self.command(arguments), stdin.as_ref())
    }

    /// Runs one command after the other, as in a terminal.
    pub fn session(&self, commands: impl IntoIterator<Item: AsRef<str>>) -> Session {
        let title = |command: &str| format!("$ lookalike {command}").trim_end().to_owned();
        let run = |command: &str| (title(command), self.run(command));
        commands.into_iter().map(|command| run(command.as_ref())).collect()
    }
}

/// Runs a prepared command to its end.
pub fn run(mut command: Command, stdin: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that stops early does not read all of it.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Ran {
        exit: output.status.code().expect("ended by a signal"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    pub exit: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Exit code, stdout and stderr.
impl Display for Ran {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "exit {}\n{}", self.exit, self.stdout)?;
        if !self.stderr.is_empty() {
            write!(out, "--- stderr\n{}", self.stderr)?;
        }
        Ok(())
    }
}

/// Several runs, each under what was run or what it was given.
pub struct Session(Vec<(String, Ran)>);

impl<Title: Into<String>> FromIterator<(Title, Ran)> for Session {
    fn from_iter<Runs: IntoIterator<Item = (Title, Ran)>>(runs: Runs) -> Self {
        Self(runs.into_iter().map(|(title, ran)| (title.into(), ran)).collect())
    }
}

impl Display for Session {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut runs = self.0.iter();
        runs.try_for_each(|(title, ran)| writeln!(out, "{title}\n{ran}"))
    }
}

impl Ran {
    /// Pairs on stdout in short: `a-b:distance`.
    pub fn pairs(&self) -> String {
        assert_eq!(self.exit, 0, "{}", self.stderr);
        let pair = |line: &str| {
            let pair: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = |name: &str| pair[name].to_string().replace('"', "");
            format!("{}-{}:{}", text("a"), text("b"), text("distance"))
        };
        self.stdout.lines().map(pair).collect::<Vec<_>>().join(" ")
    }
}
