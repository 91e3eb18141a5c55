//! A folder of small files, the binary run in it, and what came out as one text.

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// A folder of its own for one test.
pub struct Folder {
    folder: TempDir,
    /// A home for what lookalike remembers, apart from the user's.
    home: TempDir,
}

impl Folder {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), home: tempfile::tempdir().unwrap() }
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
        command.env("HOME", self.home.path());
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

impl Ran {
    /// Exit code, stdout and stderr as one text; times and plans differ from run to run.
    pub fn all(&self) -> String {
        let lines = self.stderr.lines().filter(|line| !line.starts_with("plan: "));
        let lines = lines.map(without_time).collect::<Vec<_>>().join("\n");
        format!("exit {}\n{}--- stderr\n{lines}", self.exit, self.stdout)
    }

    /// Fails unless everything is as expected. Indentation and outer blank lines do not count.
    #[track_caller]
    pub fn is(&self, expected: &str) {
        let trim = |text: &str| {
            let lines = text.trim().lines().map(str::trim);
            lines.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(trim(&self.all()), trim(expected), "\nreally:\n{}", self.stderr);
    }

    /// Fails unless the run stopped with exactly this message and wrote no data.
    #[track_caller]
    pub fn fails(&self, message: &str) {
        let said = self.stderr.lines().last().unwrap_or_default();
        assert_eq!((self.exit, said), (2, format!("error: {message}").as_str()));
        assert_eq!(self.stdout, "");
    }

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

fn without_time(line: &str) -> String {
    match line.find("; exact; ") {
        Some(end) => format!("{}; exact ...", &line[..end]),
        None => line.to_owned(),
    }
}
