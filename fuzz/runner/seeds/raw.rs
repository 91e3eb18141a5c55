//! RAW files: a preview, and the metadata that points to it.

use super::{
    jpeg::preview,
    noise,
    tiff::{Page, tiff},
};

pub fn seeds() -> Vec<Vec<u8>> {
    let page = |tags: &[(u16, u32)]| Page { tags: tags.into(), data: preview() };
    let sensor = Page { tags: vec![(256, 600), (257, 400), (259, 1)], data: noise(200, 1) };
    let plain = [page(&[(256, 600), (257, 400), (259, 6), (274, 8)]), sensor];
    let strips = page(&[(259, 7), (262, 6), (0xc612, 0x0401)]);
    let starting = |magic: &[u8; 4]| [magic, &tiff(&plain)[4..]].concat();
    vec![tiff(&plain), tiff(&[strips]), starting(b"IIRO"), starting(b"IIU\0"), raf(), cr3()]
}

fn raf() -> Vec<u8> {
    let described = [0, 0, 0, 2, 1, 0x10, 0, 2, 9, 9, 1, 0, 0, 4, 12, 192, 19, 32];
    let parts = [preview(), described.to_vec(), noise(100, 2)];
    let mut file = b"FUJIFILMCCD-RAW 0201FF383501".to_vec();
    file.resize(0x54, 0);
    let mut start = 0x6c_u32;
    for part in &parts {
        file.extend([start, part.len() as u32].map(u32::to_be_bytes).concat());
        start += part.len() as u32;
    }
    [file, parts.concat()].concat()
}

fn iso_box(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    [&(content.len() as u32 + 8).to_be_bytes()[..], kind, content].concat()
}

/// A file with one preview in a separate box, and another as the first sample of a track.
fn cr3() -> Vec<u8> {
    const CANON: &[u8] = b"\x85\xc0\xb6\x87\x82\x0f\x11\xe0\x81\x11\xf4\xce\x46\x2b\x6a\x48";
    const PREVIEW: &[u8] = b"\xea\xf4\x2b\x5e\x1c\x98\x4b\x88\xb9\xfb\xb7\xdc\x40\x6e\x4d\x16";
    let main = Page { tags: vec![(256, 600), (257, 400), (274, 6)], data: Vec::new() };
    let canon = [CANON, &iso_box(b"CMT1", &tiff(&[main]))].concat();
    let own = iso_box(b"uuid", &[PREVIEW, &[0; 24], &preview()].concat());
    let start = iso_box(b"ftyp", b"crx \0\0\0\x01crx isom");
    let file = |at: u32| {
        let sizes = [0, 0, 1, preview().len() as u32].map(u32::to_be_bytes).concat();
        let offsets = [0, 1, at].map(u32::to_be_bytes).concat();
        let table = [iso_box(b"stsz", &sizes), iso_box(b"stco", &offsets)].concat();
        let media = iso_box(b"minf", &iso_box(b"stbl", &table));
        let track = iso_box(b"trak", &iso_box(b"mdia", &media));
        let movie = [iso_box(b"uuid", &canon), track].concat();
        [start.clone(), iso_box(b"moov", &movie), own.clone()].concat()
    };
    let at = file(0).len() as u32 + 8;
    [file(at), iso_box(b"mdat", &preview())].concat()
}
