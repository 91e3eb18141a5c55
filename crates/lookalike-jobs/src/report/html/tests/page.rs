//! Tests of the page in a browser.

use serde_json::json;

use super::{Made, browser::Page, chains, made, report, report_within, similarities};
use crate::report::html::{FILE_BYTES, Level, Scale};

/// Opens a report, or ends the test if it may run without a browser.
macro_rules! open {
    ($html:expr) => {
        match Page::open(&$html) {
            Some(page) => page,
            None => return,
        }
    };
}

/// Groups of different size and closeness: 3 with 1, 2 and 3 members.
fn three() -> Vec<Made> {
    vec![
        made(("cat", "The cat sat on the mat."), &[("cat2", "The cat sat on a mat.", 0.6)]),
        made(
            ("dog", "A dog barks at night."),
            &[("dog2", "A dog barks at night!", 1.0), ("dog3", "A wolf howls at night.", 0.4)],
        ),
        made(
            ("fox", "The quick brown fox."),
            &[
                ("fox2", "The quick red fox.", 0.85),
                ("fox3", "The slow red fox.", 0.7),
                ("fox4", "Quick brown foxes.", 0.55),
            ],
        ),
    ]
}

/// Names of the groups listed, in order.
fn names(page: &mut Page) -> String {
    let names = "[...document.querySelectorAll('.head .id')].map((id) => id.innerText).join(' ')";
    page.value(names).as_str().unwrap().to_owned()
}

fn focused(page: &mut Page) -> String {
    let focused = page.value("document.activeElement.querySelector?.('.id')?.innerText ?? ''");
    focused.as_str().unwrap().to_owned()
}

#[test]
fn groups_are_listed_largest_first_and_sorted_on_demand() {
    let mut page = open!(report(&three()));
    assert_eq!(page.text("#count"), "3 groups");
    assert_eq!(names(&mut page), "fox dog cat");
    for (order, expected) in
        [("far", "dog fox cat"), ("near", "cat fox dog"), ("input", "cat dog fox")]
    {
        page.value(&format!(
            "{{ const sort = document.querySelector('#sort'); sort.value = '{order}'; \
             sort.dispatchEvent(new Event('change')) }}"
        ));
        assert_eq!(names(&mut page), expected, "{order}");
    }
    page.close();
}

#[test]
fn names_the_neighbour_that_figures_refer_to() {
    let mut page = open!(chains(&three()));
    page.press("j");
    page.press("Enter");
    let why = |page: &mut Page| page.text(".reason.removed .why");
    let of_neighbour = "near: similarity 0.55 to fox3, not the kept item (removed from 0.38), ";
    let said = why(&mut page);
    assert!(said.starts_with(of_neighbour), "{said}");
    page.press("n");
    page.press("n");
    let said = why(&mut page);
    assert!(said.starts_with("copy: similarity 0.85 to the kept item (removed from"), "{said}");
    page.close();
}

#[test]
fn keys_select_groups_members_and_views() {
    let mut page = open!(report(&three()));
    page.press("j");
    assert_eq!(focused(&mut page), "fox");
    page.press("Enter");
    assert_eq!(page.count(".group.open"), 1);
    assert_eq!(page.text(".reason.removed .id"), "fox4");
    assert!(page.text(".reason.kept").contains("first in the input"));
    assert_eq!(page.count("table.sides"), 1);
    page.press("d");
    assert_eq!((page.count("table.sides"), page.count(".inline")), (0, 1));
    page.press("n");
    assert_eq!(page.text(".reason.removed .id"), "fox3");
    page.press("p");
    assert_eq!(page.text(".reason.removed .id"), "fox4");
    page.press("j");
    assert_eq!(focused(&mut page), "dog");
    assert_eq!(page.text(".group.open .head .id"), "dog");
    page.press(" ");
    assert_eq!(page.count(".group.open"), 0);
    page.press("k");
    assert_eq!((focused(&mut page), page.count(".group.open")), ("fox".into(), 0));
    page.press("?");
    assert_eq!(page.count("dialog[open]"), 1);
    page.press("Escape");
    page.wait("!document.querySelector('dialog').open");
    page.press("/");
    assert_eq!(page.value("document.activeElement.id"), "query");
    page.close();
}

#[test]
fn searches_ids_and_texts() {
    let mut page = open!(report(&three()));
    for (query, expected) in
        [("DOG3", "dog"), ("slow red", "fox"), ("(.*)", ""), ("", "fox dog cat")]
    {
        page.value("document.querySelector('#query').value = ''");
        page.press("/");
        page.type_text(query);
        page.value("document.querySelector('#query').dispatchEvent(new Event('input'))");
        page.press("Escape");
        assert_eq!(names(&mut page), expected, "{query}");
    }
    page.close();
}

#[test]
fn slider_counts_removed_items_and_hides_groups_below_the_threshold() {
    let mut page = open!(report(&three()));
    assert!(page.text("#verdict").contains("6 of 9 items removed"), "{}", page.text("#verdict"));
    page.value("document.querySelector('#slider').focus()");
    for _ in 0..22 {
        page.press("ArrowRight");
    }
    // 0.60: only fox4 and dog3 are below.
    page.wait("document.querySelector('.size').innerText === '2 removed'");
    let verdict = page.text("#verdict");
    assert!(verdict.contains("0.60") && verdict.contains("4 of 9") && verdict.contains("3 groups"));
    assert_eq!(page.text("#option code"), "--similarity 0.6");
    page.press("End");
    page.wait("document.querySelectorAll('.group').length === 1");
    assert_eq!(names(&mut page), "dog");
    assert!(page.text("#verdict").contains("1 of 9"));
    page.press("Home");
    page.wait("document.querySelectorAll('.group').length === 3");
    page.close();
}

#[test]
fn levels_filter_and_are_counted() {
    let mut page = open!(report(&three()));
    let levels = page.text("#levels").split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(levels, "copy 0.80 or more 2 near 0.50 to 0.80 3 similar 0.38 to 0.50 1");
    page.value(
        "{ const level = document.querySelector('#level'); level.value = 'similar'; \
         level.dispatchEvent(new Event('change')) }",
    );
    assert_eq!(names(&mut page), "dog");
    page.close();
}

#[test]
fn shows_looser_matches_as_kept() {
    let scale = Scale::Similarity {
        threshold: 0.5,
        levels: [("copy", 0.8), ("near", 0.5), ("similar", 0.38)]
            .map(|(name, from)| Level { name, from })
            .into(),
    };
    let mut groups = three();
    groups[1].members.pop();
    let other = |id: &str, text: &str| (id.to_owned(), text.to_owned(), 0.4);
    groups[1].looser = vec![other("dog3", "A wolf howls at night.")];
    let mut alone = made(("owl", "The owl flies by night."), &[]);
    alone.looser = vec![other("owl2", "The bat flies by night.")];
    groups.push(alone);
    let mut page = open!(report_within(scale, &groups, FILE_BYTES));
    assert!(page.text("#verdict").contains("5 of 12 items removed"), "{}", page.text("#verdict"));
    assert_eq!(page.text("#count"), "4 groups");
    assert_eq!(names(&mut page), "fox cat dog owl");
    let level = "{ const level = document.querySelector('#level'); level.value = 'similar'; \
                 level.dispatchEvent(new Event('change')) }";
    page.value(level);
    assert_eq!(names(&mut page), "dog owl");
    page.press("j");
    page.press("Enter");
    assert_eq!(page.text(".reason.removed .id"), "dog2");
    page.press("n");
    assert_eq!(page.text(".reason.stays .id"), "dog3");
    let why = page.text(".reason.stays .why");
    assert!(
        why.starts_with("similar: similarity 0.40 to the kept item (removed from 0.50"),
        "{why}"
    );
    assert_eq!(page.text("table.sides th:last-child"), "Kept, too");
    page.press("j");
    assert_eq!(
        page.text(".group.open .head .size").replace('\u{a0}', " "),
        "0 removed\n+ 1 looser"
    );
    page.value("document.querySelector('#slider').focus()");
    page.press("End");
    // Equal texts are removed at any threshold. A group with only kept members is listed at that of the run.
    page.wait("document.querySelectorAll('.group').length === 1");
    assert_eq!(names(&mut page), "dog");
    page.close();
}

#[test]
fn uses_distances_if_similarities_were_not_measured() {
    let scale = Scale::Distance { radius: 18, levels: vec![] };
    let mut page = open!(report_within(scale, &three(), FILE_BYTES));
    assert!(page.text("#verdict").contains("At most 18 bits apart"));
    assert_eq!(page.count("#levels tr"), 0);
    page.value("document.querySelector('#slider').focus()");
    page.press("End");
    page.wait("document.querySelectorAll('.group').length === 1");
    assert_eq!(page.text("#option code"), "--distance 0");
    page.close();
}

#[test]
fn shows_hostile_names_and_texts_without_running_them() {
    let attacks = [
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(2)>",
        "<!--<script>alert(3)",
        "\"' onfocus=alert(4) autofocus x='",
        "javascript:alert(5)",
        "{{script}} ${alert(6)} `",
        "a\u{2028}b\u{2029}c\\ud800\\u003c",
        "&lt;b&gt;&amp;",
    ];
    let groups = attacks.map(|attack| made((attack, attack), &[(attack, attack, 0.9)]));
    let mut page = open!(report(&groups));
    assert_eq!(page.count(".group"), attacks.len() as u64);
    for (number, attack) in attacks.iter().enumerate() {
        page.value(&format!("document.querySelectorAll('.head')[{number}].click()"));
        let shown = page.value(
            "[...document.querySelector('.group.open').querySelectorAll('.reason .id, td')]\
             .map((element) => element.textContent)",
        );
        let seen = attack.replace('\u{2028}', "U+2028").replace('\u{2029}', "U+2029");
        assert_eq!(shown, json!([seen, seen, attack, attack]));
    }
    assert_eq!(page.count("script, img, iframe, [onerror], [onfocus], [autofocus]"), 1);
    page.close();
}

#[test]
fn shows_hidden_and_direction_characters() {
    let mut page = open!(report(&[made(
        ("invoice\u{202e}fdp.exe", "left \u{202e}thgir\0"),
        &[("b\u{200b}\n", "left \u{2066}right", 0.9)]
    )]));
    page.press("j");
    page.press("Enter");
    assert_eq!(page.text(".head .id"), "invoiceU+202Efdp.exe");
    assert_eq!(page.text(".reason.removed .id"), "bU+200BU+000A");
    assert_eq!(page.text("td ins").trim(), "U+202EthgirU+0000");
    page.close();
}

#[test]
fn pages_and_searches_ten_thousand_groups() {
    let text = |number: usize| format!("This is text number {number} of many. ").repeat(20);
    let groups: Vec<_> = (0..10_000)
        .map(|number| {
            let near = 0.38 + 0.62 * (number % 97) as f32 / 97.0;
            made(
                (&format!("keep-{number:05}"), &text(number)),
                &[(&format!("gone-{number:05}"), &text(number + 1), near)],
            )
        })
        .collect();
    let mut page = open!(report(&groups));
    assert_eq!(page.text("#count"), "1 to 25 of 10,000 groups");
    assert_eq!(page.count(".group"), 25);
    page.press("ArrowRight");
    assert_eq!(page.text("#count"), "26 to 50 of 10,000 groups");
    page.press("ArrowLeft");
    for _ in 0..26 {
        page.press("j");
    }
    assert_eq!(focused(&mut page), "keep-00025");
    page.value("document.querySelector('[aria-label=\"page 400\"]').click()");
    assert_eq!(page.text("#count"), "9,976 to 10,000 of 10,000 groups");
    page.press("/");
    page.type_text("gone-07777");
    page.wait("document.querySelector('#count').innerText === '1 group'");
    assert_eq!(names(&mut page), "keep-07777");
    page.close();
}

#[test]
fn notes_groups_that_do_not_fit() {
    let groups: Vec<_> =
        (0..50).map(|_| made(("a", &"x ".repeat(500)), &[("b", "y", 0.5)])).collect();
    let mut page = open!(report_within(similarities(), &groups, 1_020_000));
    let note = page.text("#left-out");
    assert!(note.contains("13 largest of 50 groups"), "{note}");
    assert!(page.text("#verdict").contains("50 of 150 items removed"));
    page.close();
}

#[test]
fn theme_follows_the_system_until_chosen() {
    let mut page = open!(report(&three()));
    let ground = "getComputedStyle(document.body).backgroundColor";
    page.system_is("light");
    let light = page.value(ground);
    page.system_is("dark");
    let dark = page.value(ground);
    assert_ne!(light, dark);
    page.press("t");
    assert_eq!((page.text("#theme"), page.value(ground)), ("Theme: light".into(), light));
    page.press("t");
    page.system_is("light");
    assert_eq!((page.text("#theme"), page.value(ground)), ("Theme: dark".into(), dark));
    page.close();
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let mut page = open!(report(&three()));
    page.press("j");
    page.press("Enter");
    for width in [320, 390, 768] {
        page.size(width, 700);
        let wide = page.value("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(width.into()), "{wide} of {width}");
    }
    page.close();
}

#[test]
fn compares_words() {
    let mut page = open!(report(&three()));
    let mut kinds = |kept: &str, removed: &str, cut: bool| {
        let call = format!(
            "difference({}, {}, {cut}, {cut}).map(({{kind, kept, removed}}) => \
             kind[0] + ':' + (kept.length ? kept : removed).map(({{word}}) => word).join(' '))\
             .join(' | ')",
            json!(kept),
            json!(removed)
        );
        page.value(&call).as_str().unwrap().to_owned()
    };
    assert_eq!(kinds("a b c", "a\n b  c", false), "s:a b c");
    assert_eq!(kinds("a b c d", "a x c d e", false), "s:a | k:b | r:x | s:c d | r:e");
    assert_eq!(kinds("", "", false), "");
    assert_eq!(kinds("", "b", false), "r:b");
    assert_eq!(kinds("我是猫", "我是狗", false), "s:我 是 | k:猫 | r:狗");
    assert_eq!(kinds("naïve-ish", "naïve ish", false), "s:naïve | k:- | s:ish");
    // A punctuation mark next to equal words is preferred over one that is equal by accident.
    let long = "one two three ' four five six seven eight nine 'end of it";
    assert_eq!(
        kinds(long, "'end of it", false),
        "k:one two three ' four five six seven eight nine | s:' end of it"
    );
    // The other excerpt ends earlier, so its text here is unknown.
    assert_eq!(kinds("a b c", "a b", true), "s:a b | b:c");
    page.close();
}

#[test]
fn differences_reproduce_both_texts_and_are_minimal() {
    let mut page = open!(report(&[]));
    // Against the textbook table, on random texts of few words; then two long texts without any
    // word in common, and with all in reverse: bounded, though not the shortest.
    let failures = page.value(
        r#"(() => {
            let seed = 7;
            const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
            const text = () => Array.from({length: random(40)}, () => "abcdef"[random(6)]).join(" ");
            const longest = (a, b) => {
                const table = Array.from({length: a.length + 1}, () => new Int32Array(b.length + 1));
                for (let i = 1; i <= a.length; i++) for (let j = 1; j <= b.length; j++)
                    table[i][j] = a[i-1] === b[j-1] ? table[i-1][j-1] + 1 : Math.max(table[i-1][j], table[i][j-1]);
                return table[a.length][b.length];
            };
            const side = (all, name) => all.flatMap((stretch) => stretch[name]).map(({word, space}) => word + space).join("");
            const failures = [];
            const check = (a, b) => {
                const found = difference(a, b, false, false);
                const same = found.filter(({kind}) => kind === "same");
                const words = (tokens) => tokens.map(({word}) => word).join(" ");
                if (side(found, "kept") !== a || side(found, "removed") !== b
                    || same.some(({kept, removed}) => words(kept) !== words(removed))) failures.push([a, b]);
            };
            for (let round = 0; round < 2000; round++) {
                const a = text(), b = text();
                check(a, b);
                const [x, y] = numbered(tokens(a), tokens(b));
                const shared = commonRuns(x, y).reduce((sum, run) => sum + run.length, 0);
                if (shared !== longest(x, y)) failures.push([a, b, shared]);
            }
            const many = (prefix) => Array.from({length: 10000}, (_, at) => prefix + at);
            check(many("a").join(" "), many("b").join(" "));
            check(many("a").join(" "), many("a").reverse().join(" "));
            return failures.slice(0, 3);
        })()"#,
    );
    assert_eq!(failures, json!([]));
    page.close();
}
