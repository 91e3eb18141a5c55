//! What the benchmark and its peers share: the data, its file, and how an answer is told.

pub mod answer;
pub mod data;
pub mod npy;
pub mod texts;
pub mod turn;
