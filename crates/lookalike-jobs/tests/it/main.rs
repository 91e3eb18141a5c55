//! What front ends share, as they call it.

mod toy;
