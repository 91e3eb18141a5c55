//! What did a web server send? Head and body of a stored response, the body unpacked.

use std::{borrow::Cow, io::Read};

use super::{Reason, Refusal, records::LONGEST};

/// A first line and the headers under it.
pub struct Head<'a> {
    lines: Vec<Cow<'a, str>>,
}

impl<'a> Head<'a> {
    /// Where a head ends, its blank line included.
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

    /// The value of a header; names are alike in any case.
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

/// The body of a response, and its type as the sender states it.
pub struct Page<'a> {
    pub body: Cow<'a, [u8]>,
    pub kind: String,
}

impl<'a> Response<'a> {
    pub fn read(bytes: &'a [u8]) -> Self {
        let end = Head::end(bytes).unwrap_or(bytes.len());
        Self { head: Head::read(&bytes[..end]), body: &bytes[end..] }
    }

    /// What was sent, if it is text.
    pub fn page(&self) -> Result<Option<Page<'a>>, Refusal> {
        let kind = self.head.value("Content-Type").unwrap_or("text/html");
        let lower = kind.to_ascii_lowercase();
        if !lower.contains("html") && !lower.starts_with("text/") {
            return Ok(None);
        }
        Ok(Some(Page { body: self.unpacked()?, kind: kind.to_owned() }))
    }

    /// Some archives hold bodies already joined or unpacked, though their headers say otherwise:
    /// a body that does not look like what is said is taken as it is.
    fn unpacked(&self) -> Result<Cow<'a, [u8]>, Refusal> {
        let says = |name, word: &str| {
            self.head.value(name).is_some_and(|value| value.to_ascii_lowercase().contains(word))
        };
        let body = if says("Transfer-Encoding", "chunked") {
            joined(self.body).map_or(Cow::Borrowed(self.body), Cow::Owned)
        } else {
            Cow::Borrowed(self.body)
        };
        let packing = self.head.value("Content-Encoding").unwrap_or_default().to_ascii_lowercase();
        match packing.as_str() {
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

/// The chunks of a body, one behind the other; none if it is not in chunks.
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
        // A body that was cut short gives what there is.
        whole.extend_from_slice(&body[..size.min(body.len())]);
        body = body.get(size..).unwrap_or_default();
        body = body.strip_prefix(b"\r\n").or(body.strip_prefix(b"\n")).unwrap_or(body);
        if body.is_empty() {
            return Some(whole);
        }
    }
}

/// What comes out of a packed body, if it is not too much.
fn limited<'a>(reader: impl Read, packing: &str) -> Result<Cow<'a, [u8]>, Refusal> {
    let mut body = Vec::new();
    let read = reader.take(LONGEST as u64 + 1).read_to_end(&mut body);
    if body.len() > LONGEST {
        let what = format!("its body unpacks to more than {LONGEST} bytes");
        return Err((Reason::TooLong, what));
    }
    match read {
        Ok(_) => Ok(Cow::Owned(body)),
        Err(error) => {
            Err((Reason::Broken, format!("its body cannot be unpacked as {packing}: {error}")))
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
    fn chunks_are_joined_and_packed_bodies_unpacked() {
        let chunked = "Transfer-Encoding: chunked";
        assert_eq!(body(chunked, b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").unwrap(), b"abcde");
        assert_eq!(body(chunked, b"<p>not chunked").unwrap(), b"<p>not chunked");
        assert_eq!(body(chunked, b"ff\r\ncut short").unwrap(), b"cut short");
        assert_eq!(body("content-encoding: GZIP", &gzip(b"hi")).unwrap(), b"hi");
        assert_eq!(body("Content-Encoding: gzip", b"not packed").unwrap(), b"not packed");
        assert_eq!(body("Content-Encoding: br", b"not packed").unwrap(), b"not packed");
    }

    #[test]
    fn bodies_that_are_broken_or_explode_are_refused() {
        let torn = &gzip(&[b'x'; 100_000])[..40];
        assert_eq!(body("Content-Encoding: gzip", torn).unwrap_err().0, Reason::Broken);
        let bomb = gzip(&vec![0; LONGEST + 1]);
        assert_eq!(body("Content-Encoding: gzip", &bomb).unwrap_err().0, Reason::TooLong);
    }
}
