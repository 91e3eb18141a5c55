//! Every law over every kind and setting: `laws::claims::edited_texts::compare_is_symmetric`.

use std::sync::LazyLock;

use super::{
    hash::{self, Narrow, Wide},
    image::{self, Images},
    law::{self, Case, Outcome},
    text::{self, Texts},
    vector::{self, Vectors},
};

/// A law that is known to be broken, and why, and where.
type Breach = (&'static str, &'static str);

/// Tries a law; one that is marked must be broken.
fn claim(name: &str, law: fn(&Case) -> Outcome, case: &Case, breaches: &[Breach]) {
    let marked = breaches.iter().find(|(law, _)| *law == name);
    match marked {
        Some((_, why)) => breach(why, || law(case)),
        None => law(case).unwrap_or_else(|how| panic!("{how}")),
    }
}

/// Fails once the law holds. A panic is not a breach: the law could not be tried.
fn breach(why: &str, law: impl FnOnce() -> Outcome) {
    assert!(law().is_err(), "this breach is gone: unmark it ({why})");
}

/// Settings, each with its adapter, items and breaches.
macro_rules! claims {
    ($($case:ident: $adapter:expr, $items:expr, [$($broken:ident: $why:expr,)*];)*) => {
        $(laws!($case, $adapter, $items, [$((stringify!($broken), $why)),*]);)*

        // A breach of a law that does not exist is a misspelling.
        $(const _: &[fn(&Case) -> Outcome] = &[$(law::$broken),*];)*
    };
}

/// A test of each law.
macro_rules! laws {
    ($case:ident, $adapter:expr, $items:expr, $breaches:expr) => {
        laws! { $case, $adapter, $items, $breaches;
            some_items_are_alike_and_some_are_not,
            pairs_lists_what_compare_calls_alike_with_its_figures,
            dedup_lists_the_pairs_that_pairs_lists,
            groups_have_the_figures_of_compare,
            search_finds_what_compare_calls_alike_with_its_figures,
            against_removes_what_compare_calls_alike_with_its_figures,
            a_strict_threshold_filters_the_pairs_of_a_loose_one,
            every_command_tells_distance_similarity_and_level,
            compare_is_symmetric,
            input_order_changes_no_pair,
            search_finds_the_same_with_items_and_queries_exchanged,
            an_exact_answer_holds_every_alike_pair,
            pairs_of_a_part_are_those_of_the_whole_within_it,
            digests_do_not_depend_on_other_items,
            searching_a_collection_finds_the_pairs_between_the_two_sets,
            against_a_collection_is_against_its_file,
            what_is_added_unless_near_is_what_dedup_keeps_first,
            threads_change_no_byte,
            memory_limits_and_temporary_folders_change_no_byte,
            kernels_change_no_byte,
            every_record_is_an_item_or_skipped_and_listed,
            what_is_removed_is_named_with_a_keeper_it_is_alike,
            what_is_not_removed_is_kept,
            a_collection_holds_every_item_added,
            batches_without_ids_are_all_stored,
        }
    };
    ($case:ident, $adapter:expr, $items:expr, $breaches:expr; $($law:ident,)*) => {
        mod $case {
            use super::*;

            static CASE: LazyLock<Case> = LazyLock::new(|| Case::new($adapter, $items));
            const BREACHES: &[Breach] = &$breaches;

            $(#[test]
            fn $law() {
                claim(stringify!($law), law::$law, &CASE, BREACHES);
            })*
        }
    };
}

claims! {
    edited_texts: Texts, text::edited(), [];
    shuffled_texts: Texts, text::shuffled(), [];
    repeated_words: Texts, text::repeated(), [];
    short_texts: Texts, text::short(), [];
    texts_of_a_template: Texts, text::templates(), [];
    vectors_of_families: Vectors, vector::families(), [];
    hashes_of_64_bits: Narrow, hash::of_64_bits(), [];
    hashes_of_256_bits: Wide, hash::of_256_bits(), [];
    image_copies: Images::Upright, image::copies(), [];
    turned_images: Images::AnyOrientation, image::turned(), [];
    parts_of_images: Images::Partial, image::parts(), [];
    images_of_a_template: Images::Upright, image::blends(), [];
    flat_images: Images::Upright, image::flat(), [];
}
