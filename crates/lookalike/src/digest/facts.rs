//! What describes an item but never decides closeness? For keep rules and reports.

/// What is known of an item besides its digest. A source fills in what applies to its items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The path of its file, or its id.
    pub name: String,
    /// Bytes of its file or record.
    pub bytes: u64,
    /// When its file was last modified, in nanoseconds since 1970.
    pub modified: Option<i64>,
    /// Characters of a text.
    pub characters: Option<u64>,
    /// Width and height of an image as shown, in pixels; of a RAW file, those of its sensor data.
    pub pixels: Option<(u32, u32)>,
    /// The name of its format.
    pub format: Option<String>,
    /// How much of what was recorded an image may still hold, by its format.
    pub fidelity: Option<Fidelity>,
    /// When an image was taken, in nanoseconds since 1970, as its metadata say; without a time zone
    /// in them, as if the clock of the camera showed UTC.
    pub taken: Option<i64>,
    /// Whether an image was edited or saved again since it was taken, as far as its metadata tell.
    pub edited: Option<bool>,
}

/// How much of what was recorded a format keeps; the later, the more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fidelity {
    /// Compressed with loss, or reduced to few colours.
    Lossy,
    /// Every pixel as it was stored.
    Lossless,
    /// What the sensor of the camera recorded.
    Raw,
}

impl Facts {
    /// When it was made, as far as is known: when it was taken, else when it was modified.
    pub fn date(&self) -> Option<i64> {
        self.taken.or(self.modified)
    }

    /// Whether it is a RAW file.
    pub fn is_raw(&self) -> bool {
        self.fidelity == Some(Fidelity::Raw)
    }
}
