//! The machine of a run, as reported by the system; `unknown` where it reports nothing.

use std::{fmt, fs, process::Command};

/// The machine, date and versions of a run.
pub struct Machine {
    facts: Vec<(&'static str, String)>,
}

impl Machine {
    /// Reads the system, with its present load.
    pub fn describe() -> Self {
        let facts = vec![
            ("date", said_by("date", &["-u", "+%Y-%m-%d %H:%M UTC"])),
            ("processor", field("/proc/cpuinfo", "model name")),
            ("cores", std::thread::available_parallelism().map_or(0, |n| n.get()).to_string()),
            ("caches", caches()),
            ("memory", gib(memory("MemTotal"))),
            ("kernel", format!("{} {}", line("ostype"), line("osrelease"))),
            ("compiler", said_by("rustc", &["--version"])),
            ("load at the start", said("/proc/loadavg", 3)),
        ];
        Self { facts }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| machine | |\n|---|---|")?;
        self.facts.iter().try_for_each(|(name, value)| writeln!(f, "| {name} | {value} |"))
    }
}

/// The available memory in bytes.
pub fn available_memory() -> u64 {
    memory("MemAvailable")
}

/// The peak memory of this process in bytes.
pub fn peak_memory() -> u64 {
    kib(&field("/proc/self/status", "VmHWM"))
}

fn memory(name: &str) -> u64 {
    kib(&field("/proc/meminfo", name))
}

fn kib(text: &str) -> u64 {
    text.trim_end_matches(" kB").trim().parse::<u64>().unwrap_or(0) * 1024
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

/// The value behind `name:` in a file of such lines.
fn field(file: &str, name: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map_or("unknown".into(), |(_, value)| value.trim().into())
}

/// The first few words of a file.
fn said(file: &str, words: usize) -> String {
    let text = fs::read_to_string(file).unwrap_or("unknown".into());
    text.split_whitespace().take(words).collect::<Vec<_>>().join(" ")
}

fn line(name: &str) -> String {
    said(&format!("/proc/sys/kernel/{name}"), 1)
}

fn said_by(program: &str, arguments: &[&str]) -> String {
    Command::new(program)
        .args(arguments)
        .output()
        .map_or("unknown".into(), |output| String::from_utf8_lossy(&output.stdout).trim().into())
}

fn caches() -> String {
    let fact = |index: u32, name: &str| {
        said(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}"), 1)
    };
    let caches: Vec<String> = (0..4)
        .filter(|&index| !matches!(fact(index, "type").as_str(), "Instruction" | "unknown"))
        .map(|index| format!("L{} {}", fact(index, "level"), fact(index, "size")))
        .collect();
    caches.join(", ")
}
