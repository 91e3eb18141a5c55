//! What the benchmark and its peers share: the data, their file, and the form of an answer.

pub mod answer;
pub mod data;
pub mod documents;
pub mod npy;
pub mod texts;
pub mod turn;
