//! What are items called? Line numbers cost nothing to remember, given ids their bytes.
//!
//! Items are known elsewhere by position, 0, 1, 2 ... over all inputs; [`Ids`] turns a position
//! back into what the user calls the item.

use lookalike::hash::FeatureHash;

use crate::report::{grouped, id_text, visible};

/// The name of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id<'a> {
    /// A line or row of the only input, from 1.
    Number(u64),
    /// A line or row of one of several inputs.
    Line { input: &'a str, number: u64 },
    /// What the input calls the item.
    Given(&'a str),
    /// The same, if it is a number that is not of 64 bits without a sign: digit for digit.
    Numeral(&'a str),
}

/// The names of all items, by position.
pub struct Ids {
    inputs: Vec<String>,
    runs: Vec<Run>,
    /// Given ids, one after another; `ends[i]` is where the i-th stops.
    given: String,
    ends: Vec<u64>,
    len: u64,
    input: usize,
    /// Items that follow, of another set with names of its own.
    more: Option<Box<Self>>,
}

/// Items that follow each other both in position and in name.
#[derive(Clone, Copy)]
struct Run {
    start: u64,
    input: usize,
    first: First,
}

/// The name of the first item of a run; the following ones count up from it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// A line: its number says enough if there is but one input.
    Number(u64),
    /// A row: goes by input and number.
    Row(u64),
    /// A number that was given.
    Numeric(u64),
    /// A number that was given, told apart by the input like a line.
    Stated(u64),
    /// An index into the given ids.
    Given(u64),
    /// The same, of numbers.
    Numeral(u64),
    /// A whole input: goes by its name.
    Input(u64),
}

impl First {
    /// The name of the item `offset` after this one, if it follows it.
    const fn plus(self, offset: u64) -> Self {
        match self {
            Self::Number(first) => Self::Number(first.saturating_add(offset)),
            Self::Row(first) => Self::Row(first + offset),
            Self::Numeric(first) => Self::Numeric(first.saturating_add(offset)),
            Self::Stated(first) => Self::Stated(first.saturating_add(offset)),
            Self::Given(first) => Self::Given(first + offset),
            Self::Numeral(first) => Self::Numeral(first + offset),
            Self::Input(first) => Self::Input(first + offset),
        }
    }
}

impl Ids {
    pub fn new(inputs: Vec<String>) -> Self {
        let (runs, given, ends) = (Vec::new(), String::new(), Vec::new());
        Self { inputs, runs, given, ends, len: 0, input: 0, more: None }
    }

    /// Items pushed from now on are of this input.
    pub fn start_input(&mut self, input: usize) {
        self.input = input;
    }

    pub fn input_name(&self) -> &str {
        &self.inputs[self.input]
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// The next `count` items are the lines or rows from `first` on.
    pub fn push_numbers(&mut self, first: u64, count: u64) {
        self.extend_run(First::Number(first), count);
    }

    /// The next item has a name of its own.
    pub fn push_given(&mut self, id: &str) {
        let first = First::Given(self.ends.len() as u64);
        self.push_text(id, first);
    }

    /// The next item has a number for a name that is to stay as it is written.
    pub fn push_numeral(&mut self, digits: &str) {
        let first = First::Numeral(self.ends.len() as u64);
        self.push_text(digits, first);
    }

    fn push_text(&mut self, text: &str, first: First) {
        self.given.push_str(text);
        self.ends.push(self.given.len() as u64);
        self.extend_run(first, 1);
    }

    /// The next item is this row of the input.
    pub fn push_row(&mut self, number: u64) {
        self.extend_run(First::Row(number), 1);
    }

    /// The next item has a number for a name.
    pub fn push_numeric(&mut self, number: u64) {
        self.extend_run(First::Numeric(number), 1);
    }

    /// The next item has a number for a name, which other inputs may give, too.
    pub fn push_stated(&mut self, number: u64) {
        self.extend_run(First::Stated(number), 1);
    }

    /// The next item is the whole input.
    pub fn push_input(&mut self) {
        self.extend_run(First::Input(self.input as u64), 1);
    }

    fn extend_run(&mut self, first: First, count: u64) {
        let goes_on = self.runs.last().is_some_and(|run| {
            let same_input = run.input == self.input || matches!(first, First::Input(_));
            same_input && run.first.plus(self.len - run.start) == first
        });
        if !goes_on {
            self.runs.push(Run { start: self.len, input: self.input, first });
        }
        self.len += count;
    }

    /// The names of these items, then those of another set.
    pub fn followed_by(self, more: Self) -> Self {
        Self { more: Some(Box::new(more)), ..self }
    }

    /// How many names there are, those of the other set included.
    pub fn len_of_all(&self) -> usize {
        self.len as usize + self.more.as_ref().map_or(0, |more| more.len_of_all())
    }

    /// The name of the item at `position`, which must be one that was pushed.
    pub fn at(&self, position: u32) -> Id<'_> {
        if let (Some(more), Some(beyond)) = (&self.more, position.checked_sub(self.len as u32)) {
            return more.at(beyond);
        }
        let (run, first) = self.find(position);
        match first {
            First::Given(index) => Id::Given(self.given(index)),
            First::Numeral(index) => Id::Numeral(self.given(index)),
            First::Input(index) => Id::Given(&self.inputs[index as usize]),
            First::Numeric(number) => Id::Number(number),
            First::Number(number) | First::Stated(number) if self.inputs.len() == 1 => {
                Id::Number(number)
            }
            First::Number(number) | First::Stated(number) | First::Row(number) => {
                Id::Line { input: &self.inputs[run.input], number }
            }
        }
    }

    /// What the item at `position` is called wherever it is read; without a name of its own, the
    /// input and the line or row where it stands.
    pub fn own(&self, position: u32) -> Result<Id<'_>, (&str, u64)> {
        let (run, first) = self.find(position);
        match first {
            First::Number(line) | First::Row(line) => Err((&self.inputs[run.input], line)),
            First::Stated(number) => Ok(Id::Number(number)),
            _ => Ok(self.at(position)),
        }
    }

    fn find(&self, position: u32) -> (&Run, First) {
        let position = u64::from(position);
        let after = self.runs.partition_point(|run| run.start <= position);
        let run = &self.runs[after - 1];
        (run, run.first.plus(position - run.start))
    }

    /// Whether every item goes by a number that fits 63 bits, as a column of numbers needs.
    pub fn are_numbers(&self) -> bool {
        let fits = |run: &Run| match run.first {
            First::Number(_) | First::Stated(_) if self.inputs.len() > 1 => false,
            First::Numeric(first) | First::Number(first) | First::Stated(first) => {
                first <= i64::MAX as u64 - u64::from(u32::MAX)
            }
            _ => false,
        };
        self.runs.iter().all(fits) && self.more.as_ref().is_none_or(|more| more.are_numbers())
    }

    /// Whether any item has a name of its own.
    pub fn are_some_given(&self) -> bool {
        let is_given = |run: &Run| {
            matches!(run.first, First::Given(_) | First::Numeral(_) | First::Numeric(_))
        };
        self.runs.iter().any(is_given)
    }

    /// How many items have a name that an earlier one was given, and one such name. Texts count as the
    /// same if 64 bits of their hashes are.
    pub fn repeated(&self) -> (u64, Option<Id<'_>>) {
        let (numbers, number) = self.repeated_numbers();
        let (texts, text) = self.repeated_texts();
        (numbers + texts, text.map(|position| self.at(position)).or(number.map(Id::Number)))
    }

    /// The run's end, in positions.
    fn end(&self, run: usize) -> u64 {
        self.runs.get(run + 1).map_or(self.len, |next| next.start)
    }

    /// Of names that are numbers: they come in ranges.
    fn repeated_numbers(&self) -> (u64, Option<u64>) {
        let range = |(number, run): (usize, &Run)| match run.first {
            First::Numeric(first) => {
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

    /// Of names that are text, and the position of the first that comes again.
    fn repeated_texts(&self) -> (u64, Option<u32>) {
        let is_text = |run: &Run| matches!(run.first, First::Given(_) | First::Numeral(_));
        let runs = self.runs.iter().enumerate().filter(|(_, run)| is_text(run));
        let hash =
            |position: u64| (FeatureHash::Xxh3.hash(0, self.text(position)), position as u32);
        let positions = runs.flat_map(|(number, run)| run.start..self.end(number));
        let mut hashes: Vec<(u64, u32)> = positions.map(hash).collect();
        hashes.sort_unstable();
        let again = || hashes.windows(2).filter(|two| two[0].0 == two[1].0).map(|two| two[1].1);
        (again().count() as u64, again().min())
    }

    /// The name at a position, which must be text.
    fn text(&self, position: u64) -> &[u8] {
        match self.at(position as u32) {
            Id::Given(text) | Id::Numeral(text) => text.as_bytes(),
            Id::Number(_) | Id::Line { .. } => b"",
        }
    }

    /// The same in words, if there are any.
    pub fn repeated_note(&self) -> Option<String> {
        let (count, first) = self.repeated();
        let name = visible(&id_text(first?)).into_owned();
        let have = if count == 1 {
            "1 item has".to_owned()
        } else {
            format!("{} items have", grouped(count))
        };
        Some(format!("note: {have} an id that an earlier item has, the first \"{name}\""))
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
    fn names_that_come_again_are_counted() {
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
    fn names_survive_skipped_lines_given_ids_and_several_inputs() {
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
    fn only_given_names_are_of_use_elsewhere() {
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
