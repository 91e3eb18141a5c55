//! The stored form of a kind.

use serde_json::Value;

/// Everything that a collection stores to open its kind again.
///
/// ```
/// use lookalike::{Kind, Width, kind::{RecipeText, Registry, hash::HashKind}};
///
/// let stored: RecipeText = HashKind::new(Width::Bits64).stored();
/// assert_eq!((stored.kind.as_str(), stored.digest.to_string()), ("hash", "{\"bits\":64}".to_owned()));
/// assert_eq!(Registry::default().reopen(&stored).unwrap().recipe(), "hash: 64 bits");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeText {
    /// The name of the kind.
    pub kind: String,
    /// Everything that decides digests, except the model.
    pub digest: Value,
    /// The default criteria.
    pub usual: Value,
    /// The bytes of the corpus model, if any.
    pub model: Option<Vec<u8>>,
}

impl RecipeText {
    /// A hash of everything that decides digests, including the model: 32 hexadecimal digits.
    pub fn digest_id(&self) -> String {
        let Self { kind, digest, model, .. } = self;
        let mut hasher = blake3::Hasher::new();
        for part in
            [kind.as_bytes(), digest.to_string().as_bytes(), model.as_deref().unwrap_or(b"")]
        {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// Whether two kinds make the same digests of the same items.
    pub fn has_digests_of(&self, other: &Self) -> bool {
        (&self.kind, &self.digest, &self.model) == (&other.kind, &other.digest, &other.model)
    }
}
