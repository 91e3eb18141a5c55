//! The report page: figures, groups and differences, for people who review a run.
//!
//! [`write()`] creates a single self-contained file that needs no network. It works in three steps, so
//! that only the texts on the page are read again:
//!
//! 1. [`Overview`] counts all groups. It sees only numbers.
//! 2. [`View`] decides which groups the page shows, and how much of each text.
//! 3. [`write()`] receives those groups one by one.
//!
//! The page itself is in `page/`: HTML, CSS and scripts. All data are escaped here and inserted as text
//! there. A content security policy permits only these scripts.

mod escape;
mod group;
mod overview;
mod view;

#[cfg(test)]
mod tests;

use std::io::{self, Write};

use base64::prelude::*;
use serde_json::json;
use sha2::{Digest, Sha256};

pub use group::{Body, Excerpt, Image, ReportGroup, ReportItem, ReportMember};
pub use overview::{Closeness, Level, Overview, Reach, Scale};
pub use view::{FILE_BYTES, MAX_LOOSER, Share, View};

use super::grouped;

/// The content of a report, except for its groups.
pub struct HtmlReport<'a> {
    /// The names of the inputs.
    pub title: String,
    /// The number of compared items.
    pub items: u64,
    /// Further facts about the run, with their names.
    pub facts: Vec<(String, String)>,
    pub overview: &'a Overview,
    pub view: &'a View,
}

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = concat!(
    include_str!("page/text.js"),
    include_str!("page/diff.js"),
    include_str!("page/images.js"),
    include_str!("page/bodies.js"),
    include_str!("page/overview.js"),
    include_str!("page/groups.js"),
    include_str!("page/page.js"),
);

/// Writes the page with as many of these groups as fit.
pub fn write(
    output: &mut impl Write,
    report: &HtmlReport<'_>,
    groups: impl IntoIterator<Item = ReportGroup>,
) -> io::Result<()> {
    let mut groups = groups.into_iter();
    for piece in PAGE.split("{{") {
        let (slot, rest) = piece.split_once("}}").unwrap_or(("", piece));
        match slot {
            "data" => write_data(output, report, &mut groups)?,
            _ => output.write_all(report.fill(slot).as_bytes())?,
        }
        output.write_all(rest.as_bytes())?;
    }
    Ok(())
}

impl HtmlReport<'_> {
    /// The content of a placeholder. Without scripts, everything but the groups is shown.
    fn fill(&self, slot: &str) -> String {
        let removed = self.overview.removed();
        match slot {
            "" => String::new(),
            "policy" => policy(),
            "style" => STYLE.to_owned(),
            "script" => SCRIPT.to_owned(),
            "title" => escape::markup(&self.title),
            "items" => grouped(self.items),
            "groups" => grouped(self.overview.groups()),
            "removed" => grouped(removed),
            "kept" => grouped(self.items.saturating_sub(removed)),
            "facts" => self.facts.iter().map(fact).collect(),
            _ => unreachable!("page.html has no other slots"),
        }
    }
}

fn fact((name, value): &(String, String)) -> String {
    let (name, value) = (escape::markup(name), escape::markup(value));
    format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n")
}

/// Writes the data for the scripts as JSON, one group per line.
fn write_data(
    output: &mut impl Write,
    report: &HtmlReport<'_>,
    groups: &mut dyn Iterator<Item = ReportGroup>,
) -> io::Result<()> {
    let overview = report.overview;
    let head = json!({
        "items": report.items,
        "removed": overview.removed(),
        "groups": overview.groups(),
        "listed": overview.sizes().len(),
        "overview": overview.json(),
    });
    // The head needs no escaping: it has only numbers and our own names.
    write!(output, "{{\"head\":{head},\"groups\":[")?;
    let mut remaining = report.view.bytes;
    let mut line = String::new();
    let mut separator = "\n";
    for group in groups {
        line.clear();
        line.push_str(separator);
        group.json(&mut line, overview, report.view);
        if line.len() <= remaining {
            remaining -= line.len();
            separator = ",\n";
            output.write_all(line.as_bytes())?;
        }
    }
    output.write_all(b"\n]}")
}

/// Permits only our own scripts and styles, and no loading.
fn policy() -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; \
         base-uri 'none'; form-action 'none'",
        BASE64_STANDARD.encode(Sha256::digest(SCRIPT)),
        BASE64_STANDARD.encode(Sha256::digest(STYLE))
    )
}
