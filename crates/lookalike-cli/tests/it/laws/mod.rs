//! The laws that every kind keeps, whichever command is asked (ARCHITECTURE.md, "The laws").
//!
//! [`law`] states them, once and for any kind; an [`adapter`] answers for a kind by running the real
//! binary; [`claims`] makes a test of every law over every kind and setting. A law that 0.1 is known
//! to break is marked there as a breach: its test fails as soon as the breach is gone.

mod adapter;
mod claims;
mod hash;
mod image;
mod law;
mod seeded;
mod text;
mod vector;
