//! Tests of the report file, and of the page in a headless browser.

mod browser;
mod images;
mod page;

use super::*;

/// The input for a group: a keeper and its members, by similarity.
struct Made {
    keep: (String, String),
    members: Vec<(String, String, f32)>,
    /// Kept items that match it less closely.
    looser: Vec<(String, String, f32)>,
}

fn made(keep: (&str, &str), members: &[(&str, &str, f32)]) -> Made {
    let owned = |text: &str| text.to_owned();
    Made {
        keep: (owned(keep.0), owned(keep.1)),
        members: members.iter().map(|(id, text, near)| (owned(id), owned(text), *near)).collect(),
        looser: vec![],
    }
}

fn closeness(similarity: f32) -> Closeness {
    Closeness { distance: ((1.0 - similarity) * 30.0) as u32, similarity: Some(similarity) }
}

fn similarities() -> Scale {
    let level = |name, from| Level { name, from };
    let levels = vec![level("copy", 0.8), level("near", 0.5), level("similar", 0.38)];
    Scale::Similarity { threshold: 0.38, levels }
}

/// Writes a report as a command does: count, choose, write.
fn report_within(scale: Scale, groups: &[Made], file_bytes: usize) -> String {
    write_report(scale, groups, file_bytes, false)
}

fn write_report(scale: Scale, groups: &[Made], file_bytes: usize, chained: bool) -> String {
    let mut overview = Overview::new(scale);
    for group in groups {
        let members = group.members.iter().map(|member| closeness(member.2));
        overview.add(members, group.looser.len());
    }
    let view = View::new(&overview, file_bytes, Share::TEXT);
    let report = HtmlReport {
        title: "texts & <more>.jsonl".into(),
        items: 3 * groups.len() as u64,
        facts: vec![("Recipe".into(), "<b>words</b>".into())],
        overview: &overview,
        view: &view,
    };
    let item = |id: &str, text: &str| ReportItem {
        id: id.to_owned(),
        body: Body::Text(Excerpt::of(text, view.fetch)),
    };
    let shown = groups.iter().enumerate().filter(|(position, _)| view.shows(*position));
    let shown = shown.map(|(position, group)| {
        let near: Vec<_> = group.members.iter().map(|member| closeness(member.2)).collect();
        let member = |at: usize| ReportMember {
            item: item(&group.members[at].0, &group.members[at].1),
            stays: false,
            closeness: near[at],
            // In these chains, each member matches the previous one.
            alike: (chained && at > 0).then(|| group.members[at - 1].0.clone()),
        };
        let looser = group.looser.iter().map(|(id, text, similarity)| ReportMember {
            item: item(id, text),
            stays: true,
            closeness: closeness(*similarity),
            alike: None,
        });
        ReportGroup {
            position,
            keep: item(&group.keep.0, &group.keep.1),
            why: "first in the input".into(),
            members: view.members(&near).into_iter().map(member).chain(looser).collect(),
        }
    });
    let mut file = Vec::new();
    write(&mut file, &report, shown).unwrap();
    String::from_utf8(file).unwrap()
}

fn report(groups: &[Made]) -> String {
    report_within(similarities(), groups, FILE_BYTES)
}

/// Like the above, for chains.
fn chains(groups: &[Made]) -> String {
    write_report(similarities(), groups, FILE_BYTES, true)
}

/// The data as the scripts read them.
fn data(file: &str) -> serde_json::Value {
    let (_, rest) = file.split_once("id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn file_is_self_contained() {
    let file = report(&[made(("a", "one two"), &[("b", "one three", 0.5)])]);
    assert!(file.starts_with("<!doctype html>") && file.ends_with("</html>\n"));
    assert!(!file.contains("{{") && !file.contains("}}"));
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!file.contains(outside), "{outside}");
    }
    assert!(file.contains("texts &amp; &lt;more&gt;.jsonl"));
    for figure in ["items</dt><dd>3<", "kept</dt><dd>2<", "removed</dt><dd>1<", "groups</dt><dd>1<"]
    {
        assert!(file.contains(figure), "{figure}");
    }
    assert!(file.contains("<dt>Recipe</dt><dd>&lt;b&gt;words&lt;/b&gt;</dd>"));
}

#[test]
fn texts_cannot_break_out_of_the_data() {
    let hostile = "</script><!--<script>alert(1)</script>-->\u{2028}]]>&lt;";
    let file = report(&[made((hostile, hostile), &[(hostile, hostile, 0.9)])]);
    assert_eq!(file.matches("<script").count(), 2);
    assert_eq!(file.matches("</script").count(), 2);
    let group = &data(&file)["groups"][0];
    for item in [&group["keep"], &group["members"][0]] {
        assert_eq!((item["id"].as_str(), item["text"].as_str()), (Some(hostile), Some(hostile)));
    }
}

#[test]
fn file_never_exceeds_its_maximum_size() {
    let long = "<".repeat(30_000);
    let groups: Vec<_> = (0..400).map(|_| made((&long, &long), &[(&long, &long, 0.5)])).collect();
    let file = report_within(similarities(), &groups, 1_500_000);
    assert!(file.len() <= 1_500_000, "{}", file.len());
    let data = data(&file);
    let shown = data["groups"].as_array().unwrap().len();
    assert!((100..400).contains(&shown), "{shown}");
    assert_eq!(data["head"]["groups"], 400);
    assert_eq!(data["head"]["removed"], 400);
}

#[test]
fn writes_a_report_without_groups() {
    let data = data(&report(&[]));
    assert_eq!(data["groups"], serde_json::json!([]));
}
