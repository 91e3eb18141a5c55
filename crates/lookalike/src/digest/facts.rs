//! Facts, which describe an item and never decide closeness; for keep rules and reports.

/// What is known about an item besides its digest. A source fills in what applies to its items.
///
/// ```
/// use lookalike::Facts;
///
/// let facts = Facts { modified: Some(5), taken: Some(3), ..Facts::default() };
/// assert_eq!(facts.date(), Some(3));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The path of its file, or its id.
    pub name: String,
    /// The size of its file or record in bytes.
    pub bytes: u64,
    /// When its file was last modified, in nanoseconds since 1970.
    pub modified: Option<i64>,
    /// The number of characters of a text.
    pub characters: Option<u64>,
    /// Width and height of an image as shown, in pixels; for a RAW file, those of its sensor data.
    pub pixels: Option<(u32, u32)>,
    /// The name of the format.
    pub format: Option<String>,
    /// How much of the recorded data the format of an image preserves.
    pub fidelity: Option<Fidelity>,
    /// When an image was taken according to its metadata, in nanoseconds since 1970; without a time
    /// zone, as if the clock of the camera showed UTC.
    pub taken: Option<i64>,
    /// Whether an image was edited or saved again after it was taken, according to its metadata.
    pub edited: Option<bool>,
}

/// How much of the recorded data a format preserves, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fidelity {
    /// Lossy compression, or a reduced number of colours.
    Lossy,
    /// Lossless pixels.
    Lossless,
    /// Sensor data of the camera.
    Raw,
}

impl Facts {
    /// The time it was made, as far as known: the time it was taken, or else modified.
    pub fn date(&self) -> Option<i64> {
        self.taken.or(self.modified)
    }

    /// Whether the item is a RAW file.
    pub fn is_raw(&self) -> bool {
        self.fidelity == Some(Fidelity::Raw)
    }
}
