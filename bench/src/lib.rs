//! What the benchmark and its peers share: the data, its file, and the form of an answer.

pub mod answer;
pub mod data;
pub mod npy;
pub mod texts;
pub mod turn;
