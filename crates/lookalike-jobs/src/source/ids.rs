//! The ids of items. Line numbers take no memory per item; other ids take their bytes.
//!
//! Everywhere else an item is its position 0, 1, 2 ... over all inputs. [`Ids`] maps a position to the
//! id that the user knows.

use lookalike::hash::FeatureHash;

use crate::report::{grouped, id_text, visible};

/// The id of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id<'a> {
    /// A number: an id from the input, or a line or row of the only input, from 1.
    Number(u64),
    /// A line or row of one of several inputs.
    Line { input: &'a str, number: u64 },
    /// An id from the input.
    Given(&'a str),
    /// An id from the input that is another JSON number, as written.
    OtherNumber(&'a str),
}

/// The ids of all items, by position.
pub struct Ids {
    inputs: Vec<String>,
    runs: Vec<Run>,
    /// All ids that are text, concatenated; `ends[i]` is the end of the i-th.
    given: String,
    ends: Vec<u64>,
    len: u64,
    input: usize,
    /// The ids of a second set of items, at the positions after these.
    more: Option<Box<Self>>,
}

/// Items with consecutive positions and consecutive ids.
#[derive(Clone, Copy)]
struct Run {
    start: u64,
    input: usize,
    first: FirstId,
}

/// The first id of a run; the others count up from it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstId {
    /// A line number, qualified by the input if there are several.
    Number(u64),
    /// A row number, always qualified by the input.
    Row(u64),
    /// A number from the input.
    Numeric(u64),
    /// A number from the input, qualified by the input like a line number.
    Stated(u64),
    /// An index into the ids that are text.
    Given(u64),
    /// An index into the ids that are text, of another JSON number.
    OtherNumber(u64),
    /// The name of a whole input.
    Input(u64),
}

impl FirstId {
    /// The id of the item `offset` positions later in the run.
    const fn plus(self, offset: u64) -> Self {
        match self {
            Self::Number(first) => Self::Number(first.saturating_add(offset)),
            Self::Row(first) => Self::Row(first + offset),
            Self::Numeric(first) => Self::Numeric(first.saturating_add(offset)),
            Self::Stated(first) => Self::Stated(first.saturating_add(offset)),
            Self::Given(first) => Self::Given(first + offset),
            Self::OtherNumber(first) => Self::OtherNumber(first + offset),
            Self::Input(first) => Self::Input(first + offset),
        }
    }
}

impl Ids {
    pub fn new(inputs: Vec<String>) -> Self {
        let (runs, given, ends) = (Vec::new(), String::new(), Vec::new());
        Self { inputs, runs, given, ends, len: 0, input: 0, more: None }
    }

    /// Items pushed from now on belong to this input.
    pub fn start_input(&mut self, input: usize) {
        self.input = input;
    }

    pub fn input_name(&self) -> &str {
        &self.inputs[self.input]
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// The next `count` items are the lines from `first`.
    pub fn push_numbers(&mut self, first: u64, count: u64) {
        self.extend_run(FirstId::Number(first), count);
    }

    /// The next item has this id.
    pub fn push_given(&mut self, id: &str) {
        let first = FirstId::Given(self.ends.len() as u64);
        self.push_text(id, first);
    }

    /// The next item has this JSON number as its id, which is kept as written.
    pub fn push_other_number(&mut self, digits: &str) {
        let first = FirstId::OtherNumber(self.ends.len() as u64);
        self.push_text(digits, first);
    }

    fn push_text(&mut self, text: &str, first: FirstId) {
        self.given.push_str(text);
        self.ends.push(self.given.len() as u64);
        self.extend_run(first, 1);
    }

    /// The next item is this row of the input.
    pub fn push_row(&mut self, number: u64) {
        self.extend_run(FirstId::Row(number), 1);
    }

    /// The next item has this number as its id.
    pub fn push_numeric(&mut self, number: u64) {
        self.extend_run(FirstId::Numeric(number), 1);
    }

    /// The next item has this number as its id, which other inputs may also use.
    pub fn push_stated(&mut self, number: u64) {
        self.extend_run(FirstId::Stated(number), 1);
    }

    /// The next item is the whole input.
    pub fn push_input(&mut self) {
        self.extend_run(FirstId::Input(self.input as u64), 1);
    }

    fn extend_run(&mut self, first: FirstId, count: u64) {
        let continues = self.runs.last().is_some_and(|run| {
            let same_input = run.input == self.input || matches!(first, FirstId::Input(_));
            same_input && run.first.plus(self.len - run.start) == first
        });
        if !continues {
            self.runs.push(Run { start: self.len, input: self.input, first });
        }
        self.len += count;
    }

    /// Appends the ids of a second set of items.
    pub fn followed_by(self, more: Self) -> Self {
        Self { more: Some(Box::new(more)), ..self }
    }

    /// The number of ids, with those of the second set.
    pub fn len_of_all(&self) -> usize {
        self.len as usize + self.more.as_ref().map_or(0, |more| more.len_of_all())
    }

    /// The id of the item at `position`, which must have been pushed.
    pub fn at(&self, position: u32) -> Id<'_> {
        if let (Some(more), Some(beyond)) = (&self.more, position.checked_sub(self.len as u32)) {
            return more.at(beyond);
        }
        let (run, first) = self.find(position);
        match first {
            FirstId::Given(index) => Id::Given(self.given(index)),
            FirstId::OtherNumber(index) => Id::OtherNumber(self.given(index)),
            FirstId::Input(index) => Id::Given(&self.inputs[index as usize]),
            FirstId::Numeric(number) => Id::Number(number),
            FirstId::Number(number) | FirstId::Stated(number) if self.inputs.len() == 1 => {
                Id::Number(number)
            }
            FirstId::Number(number) | FirstId::Stated(number) | FirstId::Row(number) => {
                Id::Line { input: &self.inputs[run.input], number }
            }
        }
    }

    /// The id that the item at `position` has in any run; for an item without one, its input and line
    /// or row as error.
    pub fn own(&self, position: u32) -> Result<Id<'_>, (&str, u64)> {
        let (run, first) = self.find(position);
        match first {
            FirstId::Number(line) | FirstId::Row(line) => Err((&self.inputs[run.input], line)),
            FirstId::Stated(number) => Ok(Id::Number(number)),
            _ => Ok(self.at(position)),
        }
    }

    fn find(&self, position: u32) -> (&Run, FirstId) {
        let position = u64::from(position);
        let after = self.runs.partition_point(|run| run.start <= position);
        let run = &self.runs[after - 1];
        (run, run.first.plus(position - run.start))
    }

    /// Whether every id is a number of at most 63 bits, as a column of numbers needs.
    pub fn are_numbers(&self) -> bool {
        let fits = |run: &Run| match run.first {
            FirstId::Number(_) | FirstId::Stated(_) if self.inputs.len() > 1 => false,
            FirstId::Numeric(first) | FirstId::Number(first) | FirstId::Stated(first) => {
                first <= i64::MAX as u64 - u64::from(u32::MAX)
            }
            _ => false,
        };
        self.runs.iter().all(fits) && self.more.as_ref().is_none_or(|more| more.are_numbers())
    }

    /// Whether any item has an id from the input.
    pub fn are_some_given(&self) -> bool {
        let is_given = |run: &Run| {
            matches!(run.first, FirstId::Given(_) | FirstId::OtherNumber(_) | FirstId::Numeric(_))
        };
        self.runs.iter().any(is_given)
    }

    /// How many items repeat the id of an earlier item, and one such id. Texts are compared by 64-bit
    /// hashes.
    pub fn repeated(&self) -> (u64, Option<Id<'_>>) {
        let (numbers, number) = self.repeated_numbers();
        let (texts, text) = self.repeated_texts();
        (numbers + texts, text.map(|position| self.at(position)).or(number.map(Id::Number)))
    }

    /// The end of a run, as a position.
    fn end(&self, run: usize) -> u64 {
        self.runs.get(run + 1).map_or(self.len, |next| next.start)
    }

    /// Repeated numeric ids, found by overlapping ranges.
    fn repeated_numbers(&self) -> (u64, Option<u64>) {
        let range = |(number, run): (usize, &Run)| match run.first {
            FirstId::Numeric(first) => {
                Some((first, first.saturating_add(self.end(number) - run.start)))
            }
            _ => None,
        };
        let mut ranges: Vec<_> = self.runs.iter().enumerate().filter_map(range).collect();
        ranges.sort_unstable();
        let (mut count, mut one, mut beyond) = (0, None, 0);
        for (first, end) in ranges {
            if first < beyond {
                count += end.min(beyond) - first;
                one = one.or(Some(first));
            }
            beyond = beyond.max(end);
        }
        (count, one)
    }

    /// Repeated text ids, and the position of the first.
    fn repeated_texts(&self) -> (u64, Option<u32>) {
        let is_text = |run: &Run| matches!(run.first, FirstId::Given(_) | FirstId::OtherNumber(_));
        let runs = self.runs.iter().enumerate().filter(|(_, run)| is_text(run));
        let hash =
            |position: u64| (FeatureHash::Xxh3.hash(0, self.text(position)), position as u32);
        let positions = runs.flat_map(|(number, run)| run.start..self.end(number));
        let mut hashes: Vec<(u64, u32)> = positions.map(hash).collect();
        hashes.sort_unstable();
        let again = || hashes.windows(2).filter(|two| two[0].0 == two[1].0).map(|two| two[1].1);
        (again().count() as u64, again().min())
    }

    /// The id at a position, which must be text.
    fn text(&self, position: u64) -> &[u8] {
        match self.at(position as u32) {
            Id::Given(text) | Id::OtherNumber(text) => text.as_bytes(),
            Id::Number(_) | Id::Line { .. } => b"",
        }
    }

    /// A note on repeated ids, if there are any.
    pub fn repeated_note(&self) -> Option<String> {
        let (count, first) = self.repeated();
        let name = visible(&id_text(first?)).into_owned();
        let have = if count == 1 {
            "1 item has".to_owned()
        } else {
            format!("{} items have", grouped(count))
        };
        Some(format!("note: {have} the same id as an earlier item; the first is \"{name}\""))
    }

    fn given(&self, index: u64) -> &str {
        let index = index as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.given[start as usize..self.ends[index] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_repeated_ids() {
        let mut ids = Ids::new(vec!["a".into()]);
        ["x", "y", "x", "x"].iter().for_each(|id| ids.push_given(id));
        [7, 8, 7].iter().for_each(|&number| ids.push_numeric(number));
        ids.push_row(1);
        assert_eq!(ids.repeated(), (3, Some(Id::Given("x"))));
        let mut numbers = Ids::new(vec!["a".into()]);
        [5, 6, 7, 1, 2, 6].iter().for_each(|&number| numbers.push_numeric(number));
        assert_eq!(numbers.repeated(), (1, Some(Id::Number(6))));
        let mut lines = Ids::new(vec!["a".into(), "b".into()]);
        lines.push_numbers(1, 10);
        lines.start_input(1);
        lines.push_numbers(1, 10);
        assert_eq!(lines.repeated(), (0, None));
    }

    #[test]
    fn consecutive_lines_share_one_run() {
        let mut ids = Ids::new(vec!["a".into()]);
        (1..=1000).for_each(|line| ids.push_numbers(line, 1));
        assert_eq!(ids.runs.len(), 1);
        assert_eq!((ids.at(0), ids.at(999)), (Id::Number(1), Id::Number(1000)));
    }

    #[test]
    fn keeps_ids_over_skipped_lines_given_ids_and_several_inputs() {
        let mut ids = Ids::new(vec!["a".into(), "b".into()]);
        ids.push_numbers(1, 1);
        ids.push_numbers(3, 2);
        ids.push_given("x");
        ids.push_given("yy");
        ids.start_input(1);
        ids.push_numbers(1, 3);
        ids.push_given("");
        let names: Vec<_> = (0..ids.len() as u32).map(|position| ids.at(position)).collect();
        let line = |input, number| Id::Line { input, number };
        let expected = [
            line("a", 1),
            line("a", 3),
            line("a", 4),
            Id::Given("x"),
            Id::Given("yy"),
            line("b", 1),
            line("b", 2),
            line("b", 3),
            Id::Given(""),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn only_ids_from_the_input_are_valid_in_other_runs() {
        let mut ids = Ids::new(vec!["a".into(), "b".into()]);
        ids.push_numbers(1, 1);
        ids.push_stated(7);
        ids.push_given("x");
        ids.start_input(1);
        ids.push_row(9);
        ids.push_numeric(4);
        let own: Vec<_> = (0..5).map(|position| ids.own(position)).collect();
        let expected = [
            Err(("a", 1)),
            Ok(Id::Number(7)),
            Ok(Id::Given("x")),
            Err(("b", 9)),
            Ok(Id::Number(4)),
        ];
        assert_eq!(own, expected);
        assert_eq!(ids.at(1), Id::Line { input: "a", number: 7 });
    }
}
