//! A peer in a separate process; the counterpart of [`turn`](lookalike_bench::turn).

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use lookalike_bench::turn::{Ready, Turn};

use crate::options::{Options, beside};

/// Long enough for any peer to prepare or to take a turn.
const PATIENCE: Duration = Duration::from_secs(600);

/// A peer that has prepared and waits for its next turn. Ends when dropped.
pub struct Peer {
    process: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    ready: Ready,
}

impl Peer {
    /// Starts one of the Rust peers: its name and arguments.
    pub fn rust(options: &Options, arguments: &[&str]) -> Result<Self> {
        Self::start(&options.peers, arguments)
    }

    /// Like the above, but built as its users build it, not for this processor.
    pub fn usual_rust(options: &Options, arguments: &[&str]) -> Result<Self> {
        Self::start(&options.usual_peers, arguments)
    }

    /// Starts faiss on a file of fingerprints.
    pub fn faiss(options: &Options, arguments: &[&str]) -> Result<Self> {
        let script = beside("faiss_peer.py");
        let script = script.to_str().context("the repository's path is not text")?;
        Self::start(&options.python, &[&[script], arguments].concat())
    }

    fn start(program: &Path, arguments: &[&str]) -> Result<Self> {
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{}: not there; run `make bench-peers`", program.display()))?;
        let stdin = process.stdin.take().context("stdin is piped")?;
        let stdout = process.stdout.take().context("stdout is piped")?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut peer = Self { process, stdin, lines, ready: Ready::default() };
        let ready = peer.line(PATIENCE).with_context(|| format!("starting {arguments:?}"))?;
        peer.ready = serde_json::from_str(&ready)?;
        Ok(peer)
    }

    /// Its description of itself.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// Lets it run once.
    pub fn turn(&mut self) -> Result<Turn> {
        self.turn_within(PATIENCE)
    }

    /// Lets it run once; stops the peer after `patience`.
    pub fn turn_within(&mut self, patience: Duration) -> Result<Turn> {
        writeln!(self.stdin, "go")?;
        Ok(serde_json::from_str(&self.line(patience)?)?)
    }

    fn line(&mut self, patience: Duration) -> Result<String> {
        self.lines.recv_timeout(patience).map_err(|reason| anyhow!("no answer: {reason}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
