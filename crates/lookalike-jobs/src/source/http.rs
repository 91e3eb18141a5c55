//! Stored HTTP responses: header fields and the decoded body.

use std::{borrow::Cow, io::Read};

use super::{Reason, Refusal, records::MAX_RECORD};

/// A start line and the header fields after it.
pub struct Head<'a> {
    lines: Vec<Cow<'a, str>>,
}

impl<'a> Head<'a> {
    /// The end of a head, after its blank line.
    pub fn end(bytes: &[u8]) -> Option<usize> {
        memchr::memchr_iter(b'\n', bytes).find_map(|at| match &bytes[at + 1..] {
            [b'\r', b'\n', ..] => Some(at + 3),
            [b'\n', ..] => Some(at + 2),
            _ => None,
        })
    }

    pub fn read(bytes: &'a [u8]) -> Self {
        let lines = bytes.split(|&byte| byte == b'\n');
        Self { lines: lines.map(|line| String::from_utf8_lossy(line.trim_ascii())).collect() }
    }

    /// The value of a header field. Names are case-insensitive.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.lines.iter().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.trim().eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A stored response.
pub struct Response<'a> {
    head: Head<'a>,
    body: &'a [u8],
}

/// The body of a response, and its content type.
pub struct Page<'a> {
    pub body: Cow<'a, [u8]>,
    pub kind: String,
}

impl<'a> Response<'a> {
    pub fn read(bytes: &'a [u8]) -> Self {
        let end = Head::end(bytes).unwrap_or(bytes.len());
        Self { head: Head::read(&bytes[..end]), body: &bytes[end..] }
    }

    /// The page, if it is text.
    pub fn page(&self) -> Result<Option<Page<'a>>, Refusal> {
        let kind = self.head.value("Content-Type").unwrap_or("text/html");
        let lower = kind.to_ascii_lowercase();
        if !lower.contains("html") && !lower.starts_with("text/") {
            return Ok(None);
        }
        Ok(Some(Page { body: self.decoded()?, kind: kind.to_owned() }))
    }

    /// Some archives store decoded bodies with the original header fields. A body that does not look
    /// encoded is returned unchanged.
    fn decoded(&self) -> Result<Cow<'a, [u8]>, Refusal> {
        let states = |name, word: &str| {
            self.head.value(name).is_some_and(|value| value.to_ascii_lowercase().contains(word))
        };
        let body = if states("Transfer-Encoding", "chunked") {
            joined(self.body).map_or(Cow::Borrowed(self.body), Cow::Owned)
        } else {
            Cow::Borrowed(self.body)
        };
        let encoding = self.head.value("Content-Encoding").unwrap_or_default().to_ascii_lowercase();
        match encoding.as_str() {
            "gzip" | "x-gzip" if body.starts_with(b"\x1f\x8b") => {
                limited(flate2::read::MultiGzDecoder::new(&*body), "gzip")
            }
            "deflate" if body.first().is_some_and(|first| first & 0x0f == 8) => {
                limited(flate2::read::ZlibDecoder::new(&*body), "deflate")
            }
            "br" => limited(brotli_decompressor::Decompressor::new(&*body, 1 << 14), "brotli")
                .or(Ok(body)),
            "zstd" if body.starts_with(b"\x28\xb5\x2f\xfd") => match zstd::Decoder::new(&*body) {
                Ok(decoder) => limited(decoder, "zstd"),
                Err(_) => Ok(body),
            },
            _ => Ok(body),
        }
    }
}

/// The concatenated chunks of a body; none if it is not chunked.
fn joined(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = memchr::memchr(b'\n', body)?;
        let size = std::str::from_utf8(&body[..end]).ok()?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        body = &body[end + 1..];
        if size == 0 {
            return Some(whole);
        }
        // A truncated body returns what it has.
        whole.extend_from_slice(&body[..size.min(body.len())]);
        body = body.get(size..).unwrap_or_default();
        body = body.strip_prefix(b"\r\n").or(body.strip_prefix(b"\n")).unwrap_or(body);
        if body.is_empty() {
            return Some(whole);
        }
    }
}

/// A decompressed body, up to the maximum length of a record.
fn limited<'a>(reader: impl Read, encoding: &str) -> Result<Cow<'a, [u8]>, Refusal> {
    let mut body = Vec::new();
    let read = reader.take(MAX_RECORD as u64 + 1).read_to_end(&mut body);
    if body.len() > MAX_RECORD {
        let what = format!("the body has more than {MAX_RECORD} bytes after decompression");
        return Err((Reason::TooLong, what));
    }
    match read {
        Ok(_) => Ok(Cow::Owned(body)),
        Err(error) => {
            Err((Reason::Broken, format!("the body is not valid {encoding} data: {error}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn body(head: &str, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let bytes = [b"HTTP/1.1 200 OK\r\n", head.as_bytes(), b"\r\n\r\n", body].concat();
        let page = Response::read(&bytes).page()?;
        Ok(page.map_or_else(Vec::new, |page| page.body.into_owned()))
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn joins_chunks_and_decompresses_bodies() {
        let chunked = "Transfer-Encoding: chunked";
        assert_eq!(body(chunked, b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").unwrap(), b"abcde");
        assert_eq!(body(chunked, b"<p>not chunked").unwrap(), b"<p>not chunked");
        assert_eq!(body(chunked, b"ff\r\ncut short").unwrap(), b"cut short");
        assert_eq!(body("content-encoding: GZIP", &gzip(b"hi")).unwrap(), b"hi");
        assert_eq!(body("Content-Encoding: gzip", b"plain").unwrap(), b"plain");
        assert_eq!(body("Content-Encoding: br", b"plain").unwrap(), b"plain");
    }

    #[test]
    fn refuses_damaged_bodies_and_decompression_bombs() {
        let torn = &gzip(&[b'x'; 100_000])[..40];
        assert_eq!(body("Content-Encoding: gzip", torn).unwrap_err().0, Reason::Broken);
        let bomb = gzip(&vec![0; MAX_RECORD + 1]);
        assert_eq!(body("Content-Encoding: gzip", &bomb).unwrap_err().0, Reason::TooLong);
    }
}
