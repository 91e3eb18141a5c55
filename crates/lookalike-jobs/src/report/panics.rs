//! Who hears of a panic that is caught? Nobody: what comes of it is told in its place.

use std::{
    cell::Cell,
    panic::{set_hook, take_hook},
    sync::Once,
};

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs work that catches panics of its own, without their messages.
pub fn without_panic_message<T>(work: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                usual(panic);
            }
        }));
    });
    let before = QUIET.replace(true);
    let done = work();
    QUIET.set(before);
    done
}
