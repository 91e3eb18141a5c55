//! Web archives, web pages, and compressed files.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};

use super::TEXTS;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory can be written to")
}

fn record(head: &str, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = format!("WARC/1.0\r\n{head}\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), content, b"\r\n\r\n"].concat()
}

fn response(http: &str, body: &[u8]) -> Vec<u8> {
    let head = "WARC-Type: response\r\nWARC-Target-URI: http://a.example/b\r\n\
                Content-Type: application/http; msgtype=response";
    let http = format!("HTTP/1.1 200 OK\r\n{http}\r\n\r\n");
    record(head, &[http.as_bytes(), body].concat())
}

pub fn warc() -> Vec<Vec<u8>> {
    let page = PAGE.as_bytes();
    let html = "Content-Type: text/html; charset=utf-8";
    let info = record("WARC-Type: warcinfo", b"software: ours\r\n");
    let request = record("WARC-Type: request", b"GET / HTTP/1.1\r\n\r\n");
    let chunks =
        [b"5;a=b\r\nhello\r\nA\r\n and again\r\n0\r\nTrailer: x\r\n\r\n".as_slice()].concat();
    let coded = |coding: &str| format!("{html}\r\nContent-Encoding: {coding}");
    let text = record(
        "WARC-Type: conversion\r\nWARC-Target-URI: a\r\nContent-Type: text/plain",
        TEXTS[0].as_bytes(),
    );
    let all = [
        info.clone(),
        request,
        response(html, page),
        response("Content-Type: text/plain\r\nTransfer-Encoding: chunked", &chunks),
        response(&coded("gzip"), &gzip(page)),
        text.clone(),
    ];
    vec![
        all.concat(),
        [
            response(&coded("deflate"), &gzip(page)[10..]),
            response(&coded("br"), b"\x0b\x02\x80hello\x03"),
        ]
        .concat(),
        response(
            "Content-Type: text/html; charset=windows-1251",
            b"<p>\xcf\xf0\xe8\xe2\xe5\xf2</p>",
        ),
        [info, b"not a record\r\n\r\n".to_vec(), text].concat(),
        // Each record is compressed separately, as in real archives.
        all.iter().flat_map(|record| gzip(record)).collect(),
    ]
}

const PAGE: &str = "<!DOCTYPE html><html lang=en><head><title>A page</title><style>p{}</style>\
    <script>if (a < b) document.write('<p>')</script></head><body class='x y'><nav><a href=/>Home</a>\
    </nav><main><h1>Boxes &amp; foxes</h1><p>The quick brown fox jumps over the lazy dog, and the dog \
    does not mind: it has seen foxes before.</p><ul><li>one<li>two</ul><table><tr><td>1<td>2</table>\
    <p>More &#x1F98A; &nbsp; &notit; &#0; text<br>in lines</p></main><!-- not -- this --><footer \
    role=contentinfo>All rights</footer><svg><![CDATA[ x ]]></svg></body></html>";

pub fn html() -> Vec<Vec<u8>> {
    let nested = "<div><p>a<b>".repeat(40);
    let article = format!("<article>{}</article>", "<p>A paragraph of some words.</p>".repeat(12));
    vec![
        PAGE.into(),
        nested.into(),
        article.into(),
        b"<p>caf\xe9 <textarea><p></textarea>".to_vec(),
    ]
}

pub fn compressed() -> Vec<Vec<u8>> {
    let text = TEXTS.join("\n").repeat(4);
    let bytes = text.as_bytes();
    let failed = "memory can be written to";
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(bytes).expect(failed);
    let bzip2 = bzip2.finish().expect(failed);
    let mut xz =
        lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(0)).expect(failed);
    xz.write_all(bytes).expect(failed);
    let xz = xz.finish().expect(failed);
    let zstd = zstd::encode_all(bytes, 3).expect(failed);
    vec![
        bytes.to_vec(),
        gzip(bytes),
        [gzip(bytes), gzip(b"a second member")].concat(),
        zstd.clone(),
        // A skippable frame, and two with content.
        [b"\x50\x2a\x4d\x18\x04\0\0\0abcd", zstd.as_slice(), &zstd].concat(),
        bzip2.repeat(2),
        xz,
    ]
}
