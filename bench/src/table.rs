//! The table of results: measurement, peer and target.

use std::fmt;

/// One line of the table.
#[derive(Default)]
pub struct Row {
    /// What was done, with sizes.
    pub work: String,
    /// The figure of lookalike, with its unit.
    pub ours: String,
    /// The peer.
    pub peer: String,
    /// The figure of the peer, with its unit.
    pub theirs: String,
    /// The figure compared with the targets.
    pub value: f64,
    /// The unit of the value: `x` for a ratio.
    pub unit: &'static str,
    /// The required and the desired value.
    pub goal: Goal,
    /// Further information: plan, pairs, how it was checked.
    pub note: String,
    /// Set if an answer was wrong, or there was none.
    pub failure: Option<String>,
}

impl Row {
    /// A row that could not be measured.
    pub fn failed(work: &str, reason: impl fmt::Display) -> Self {
        Self { work: work.into(), failure: Some(reason.to_string()), ..Self::default() }
    }

    /// A skipped row, with the reason.
    pub fn skipped(work: &str, reason: impl Into<String>) -> Self {
        let note = format!("skipped: {}", reason.into());
        Self { work: work.into(), value: f64::NAN, note, ..Self::default() }
    }

    fn cells(&self, number: usize) -> [String; 8] {
        let result = if self.ours.is_empty() { "".into() } else { amount(self.value, self.unit) };
        let [must, want] = self.goal.cells(self.unit);
        let verdict = match self.failure {
            Some(_) => "FAILED",
            None => self.goal.verdict(self.value),
        };
        let peer = match self.theirs.is_empty() {
            true => self.peer.clone(),
            false => format!("{}: {}", self.peer, self.theirs),
        };
        let [work, ours] = [&self.work, &self.ours].map(String::clone);
        [number.to_string(), work, ours, peer, result, must, want, verdict.into()]
    }
}

/// The targets of a row.
#[derive(Clone, Copy, Default)]
pub enum Goal {
    /// No target.
    #[default]
    None,
    /// Required and desired lower bounds.
    AtLeast(f64, f64),
    /// Required and desired upper bounds.
    AtMost(f64, f64),
}

impl Goal {
    fn cells(self, unit: &str) -> [String; 2] {
        match self {
            Self::None => [String::new(), String::new()],
            Self::AtLeast(must, want) => [must, want].map(|goal| amount(goal, unit)),
            Self::AtMost(must, want) => {
                [must, want].map(|goal| format!("<= {}", amount(goal, unit)))
            }
        }
    }

    fn verdict(self, value: f64) -> &'static str {
        let (must, want) = match self {
            _ if value.is_nan() => return "skipped",
            Self::None => return "",
            Self::AtLeast(must, want) => (value >= must, value >= want),
            Self::AtMost(must, want) => (value <= must, value <= want),
        };
        match (must, want) {
            (_, true) => "want reached",
            (true, false) => "must reached",
            (false, false) => "BELOW MUST",
        }
    }
}

/// All rows, as one Markdown table with notes below.
pub struct Table(pub Vec<Row>);

impl Table {
    /// Whether any row failed.
    pub fn failed(&self) -> bool {
        self.0.iter().any(|row| row.failure.is_some())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["#", "work", "ours", "peer", "result", "must", "want", ""].map(String::from);
        let mut lines = vec![head];
        lines.extend(self.0.iter().zip(1..).map(|(row, number)| row.cells(number)));
        let widths = [0, 1, 2, 3, 4, 5, 6, 7].map(|column: usize| {
            let longest = lines.iter().map(|line| line[column].chars().count()).max();
            longest.unwrap_or(0).max(3)
        });
        lines.insert(1, widths.map(|width| "-".repeat(width)));
        lines.iter().try_for_each(|line| write_line(f, line, &widths))?;
        writeln!(f)?;
        self.0.iter().zip(1..).try_for_each(|(row, number)| write_note(f, row, number))
    }
}

fn write_note(f: &mut fmt::Formatter<'_>, row: &Row, number: usize) -> fmt::Result {
    match &row.failure {
        Some(reason) => writeln!(f, "{number}. **FAILED: {reason}** {}", row.note),
        None => writeln!(f, "{number}. {}", row.note),
    }
}

fn write_line(f: &mut fmt::Formatter<'_>, cells: &[String], widths: &[usize]) -> fmt::Result {
    for (cell, width) in cells.iter().zip(widths) {
        write!(f, "| {cell:width$} ")?;
    }
    writeln!(f, "|")
}

/// A number with about three digits and its unit.
pub fn amount(value: f64, unit: &str) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let gap = if unit == "x" { "" } else { " " };
    format!("{value:.decimals$}{gap}{unit}")
}

/// A duration in a suitable unit.
pub fn seconds(value: f64) -> String {
    match value {
        long if long >= 0.1 => amount(long, "s"),
        short if short >= 1e-4 => amount(short * 1e3, "ms"),
        tiny if tiny >= 1e-7 => amount(tiny * 1e6, "us"),
        least => amount(least * 1e9, "ns"),
    }
}

/// 1000000 as `1M`.
pub fn count(number: u64) -> String {
    match number {
        n if n >= 1_000_000_000 && n.is_multiple_of(1_000_000_000) => {
            format!("{}G", n / 1_000_000_000)
        }
        n if n >= 1_000_000 && n.is_multiple_of(1_000_000) => format!("{}M", n / 1_000_000),
        n if n >= 1_000 && n.is_multiple_of(1_000) => format!("{}k", n / 1_000),
        n => n.to_string(),
    }
}
