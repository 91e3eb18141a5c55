//! Repairs the checksums of mutated files, so that their content is parsed.

#![allow(dead_code, reason = "each target of cargo-fuzz uses one function")]

/// Repairs the checksums of all chunks of a PNG.
pub fn png(bytes: &mut [u8]) {
    let mut at = 8;
    while let Some(&length) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let end = (at + 8).saturating_add(u32::from_be_bytes(length) as usize);
        let Some(body) = bytes.get(at + 4..end) else { return };
        let sum = crc(body).to_be_bytes();
        let Some(checksum) = bytes.get_mut(end..end + 4) else { return };
        checksum.copy_from_slice(&sum);
        at = end + 4;
    }
}

/// Repairs the checksum of a corpus model: the last 8 bytes, over all bytes after its 16-byte
/// magic.
pub fn model(bytes: &mut [u8]) {
    if let Some((body, sum)) = bytes.split_last_chunk_mut()
        && let Some(body) = body.get(16..)
    {
        *sum = xxhash_rust::xxh3::xxh3_64(body).to_le_bytes();
    }
}

/// The CRC-32 of PNG and gzip.
pub fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0xEDB8_8320))
    })
}
