//! Tests of the page with images, in a browser.

use serde_json::json;

use super::{super::*, browser::Page};

/// An image with a different colour in its right half, as a bitmap. Browsers detect the format by
/// content.
fn bitmap(left: [u8; 3], right: [u8; 3]) -> Vec<u8> {
    const SIDE: u32 = 8;
    let size = 54 + SIDE * SIDE * 3;
    let mut file = b"BM".to_vec();
    for number in [size, 0, 54, 40, SIDE, SIDE, 1 | 24 << 16, 0, 0, 0, 0, 0, 0] {
        file.extend(number.to_le_bytes());
    }
    for place in 0..SIDE * SIDE {
        let [red, green, blue] = if place % SIDE < SIDE / 2 { left } else { right };
        file.extend([blue, green, red]);
    }
    file
}

struct MadeImage {
    id: String,
    distance: u32,
    image: Image,
}

fn made(id: &str, distance: u32, width: u32, format: &'static str, right: [u8; 3]) -> MadeImage {
    let image = Image {
        jpeg: bitmap([40, 90, 160], right),
        width,
        height: width * 3 / 4,
        bytes: u64::from(width) * 1_000,
        format: format.to_owned(),
        modified: Some(1_700_000_000),
    };
    MadeImage { id: id.to_owned(), distance, image }
}

/// The first of each group is kept.
fn report(groups: &[Vec<MadeImage>], file_bytes: usize) -> String {
    let level = |name, within| Reach { name, within };
    let levels = vec![level("copy", 10), level("near", 20), level("similar", 72)];
    let mut overview = Overview::new(Scale::Distance { radius: 31, levels });
    let near = |made: &MadeImage| Closeness { distance: made.distance, similarity: None };
    for group in groups {
        overview.add(group[1..].iter().map(near), 0);
    }
    let view = View::new(&overview, file_bytes, Share::IMAGE);
    let items = groups.iter().map(Vec::len).sum::<usize>() as u64;
    let (title, facts) = ("photos".to_owned(), vec![]);
    let report = HtmlReport { title, items, facts, overview: &overview, view: &view };
    let item = |made: &MadeImage| ReportItem {
        id: made.id.clone(),
        body: Body::Image(made.image.clone()),
    };
    let shown = groups.iter().enumerate().filter(|(position, _)| view.shows(*position));
    let shown = shown.map(|(position, group)| {
        let close: Vec<_> = group[1..].iter().map(near).collect();
        let member = |at: usize| ReportMember {
            stays: false,
            item: item(&group[at + 1]),
            closeness: close[at],
            alike: None,
        };
        let members = view.members(&close).into_iter().map(member).collect();
        ReportGroup { position, keep: item(&group[0]), why: "the most pixels".into(), members }
    });
    let mut file = Vec::new();
    write(&mut file, &report, shown).unwrap();
    String::from_utf8(file).unwrap()
}

const GREEN: [u8; 3] = [20, 160, 60];
const ALMOST_GREEN: [u8; 3] = [20, 160, 70];

fn two() -> Vec<Vec<MadeImage>> {
    vec![
        vec![
            made("cat.png", 0, 400, "PNG", GREEN),
            made("cat-small.jpg", 12, 100, "JPEG", ALMOST_GREEN),
        ],
        vec![
            made("dog.jpg", 0, 200, "JPEG", GREEN),
            made("dog2.jpg", 3, 200, "JPEG", GREEN),
            made("dog3.jpg", 9, 200, "JPEG", [200, 30, 30]),
        ],
    ]
}

macro_rules! open {
    ($html:expr) => {
        match Page::open(&$html) {
            Some(page) => page,
            None => return,
        }
    };
}

#[test]
fn lists_and_compares_images_with_their_attributes() {
    let mut page = open!(report(&two(), FILE_BYTES));
    let levels = page.text("#levels").split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(levels, "copy up to 10 bits 2 near 11 to 20 bits 1 similar 21 to 31 bits 0");
    assert_eq!(page.count(".head .thumb"), 5);
    assert_eq!(page.count(".head .thumb.kept"), 2);
    let loaded =
        "[...document.images].every((image) => image.complete && image.naturalWidth === 8)";
    page.wait(loaded);
    page.press("j");
    page.press("j");
    page.press("Enter");
    assert_eq!(page.text(".group.open .head .id"), "cat.png");
    let rows = page.value(
        "[...document.querySelectorAll('.attributes tbody tr')].map((row) => \
         row.className + '|' + [...row.children].map((cell) => cell.innerText.replace(/\\s+/g, ' ')).join('|'))",
    );
    assert_eq!(
        rows,
        json!([
            "differs|Pixels|400 × 300 more|100 × 75|differs",
            "differs|File|391 KiB more|97.7 KiB|differs",
            "differs|Format|PNG|JPEG|differs",
            "|Modified|2023-11-14 22:13:20|2023-11-14 22:13:20|equal",
        ])
    );
    assert!(page.text(".reason.kept").contains("the most pixels"));
    page.close();
}

#[test]
fn holding_a_key_shows_the_removed_image_in_place_of_the_kept_one() {
    let mut page = open!(report(&two()[..1], FILE_BYTES));
    page.press("j");
    page.press("Enter");
    let place = "figure.kept .frame";
    page.wait("[...document.images].every((image) => image.complete)");
    assert_eq!(page.colour(place, 0.9, 0.5), GREEN);
    assert_eq!(page.text("figure.kept .tag:not(.instead)"), "Kept");
    page.hold("f");
    assert_eq!(page.colour(place, 0.9, 0.5), ALMOST_GREEN);
    let shown =
        "getComputedStyle(document.querySelector('figure.kept .instead')).display !== 'none'";
    assert_eq!(page.value(shown), true);
    page.release("f");
    assert_eq!(page.colour(place, 0.9, 0.5), GREEN);
    assert_eq!(page.value(shown), false);
    page.close();
}

#[test]
fn difference_is_black_where_images_are_equal() {
    let mut page = open!(report(&two()[..1], FILE_BYTES));
    page.press("j");
    page.press("Enter");
    page.press("d");
    assert_eq!((page.count("figure.both"), page.count("figure.kept")), (1, 0));
    page.wait("[...document.images].every((image) => image.complete)");
    assert_eq!(page.colour(".both .frame", 0.1, 0.5), [0, 0, 0]);
    // Ten levels of blue, four times as bright.
    assert_eq!(page.colour(".both .frame", 0.9, 0.5), [0, 0, 40]);
    page.press("d");
    assert_eq!((page.count("figure.both"), page.count("figure.kept")), (0, 1));
    page.close();
}

#[test]
fn sorts_groups_by_freed_bytes_and_filters_by_differing_attributes() {
    let mut page = open!(report(&two(), FILE_BYTES));
    let names = "[...document.querySelectorAll('.head .id')].map((id) => id.innerText).join(' ')";
    let choose = |page: &mut Page, id: &str, value: &str| {
        page.value(&format!(
            "{{ const select = document.querySelector('#{id}'); select.value = '{value}'; \
             select.dispatchEvent(new Event('change')) }}"
        ));
    };
    for (id, value, expected) in [
        ("sort", "freed", "dog.jpg cat.png"),
        ("sort", "input", "cat.png dog.jpg"),
        ("differ", "Format", "cat.png"),
        ("differ", "", "cat.png dog.jpg"),
    ] {
        choose(&mut page, id, value);
        assert_eq!(page.value(names), expected, "{id} {value}");
    }
    page.press("/");
    page.type_text("400x");
    page.wait("document.querySelectorAll('.group').length === 1");
    assert_eq!(page.value(names), "cat.png");
    page.close();
}

#[test]
fn omits_images_that_do_not_fit_but_keeps_their_facts() {
    let mut large = two();
    large[0][0].image.jpeg = vec![7; 200_000];
    large[0][1].image.jpeg.clear();
    let mut page = open!(report(&large, FILE_BYTES));
    assert_eq!((page.count(".no-image"), page.count(".head img")), (2, 3));
    assert!(page.text(".group:last-child .preview").contains("400 × 300"));
    page.close();
}

#[test]
fn five_thousand_groups_of_images_fit_the_file() {
    let groups: Vec<_> = (0..5_000)
        .map(|number| {
            let [keep, gone] = [("keep", 0), ("gone", number % 32)];
            vec![
                made(&format!("{}-{number}.jpg", keep.0), keep.1, 400, "JPEG", GREEN),
                made(&format!("{}-{number}.jpg", gone.0), gone.1, 300, "JPEG", ALMOST_GREEN),
            ]
        })
        .collect();
    let file = report(&groups, FILE_BYTES);
    assert!(file.len() <= FILE_BYTES, "{}", file.len());
    let mut page = open!(file);
    assert_eq!(page.text("#count"), "1 to 25 of 5,000 groups");
    assert_eq!(page.count(".head img"), 50);
    page.close();
}

#[test]
fn nothing_is_wider_than_a_phone() {
    let mut page = open!(report(&two(), FILE_BYTES));
    page.press("j");
    page.press("Enter");
    for width in [320, 390, 768] {
        page.size(width, 700);
        let wide = page.value("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(width.into()), "{wide} of {width}");
    }
    page.close();
}
