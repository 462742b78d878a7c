//! The dialog for adding and finding: what was pasted or typed, what was found in it, and where the person is.
//!
//! It is read anew on every key; what a person filled in, and what they took the mark off, stays with its hash.

use std::collections::{HashMap, HashSet};

use tui_input::Input;

pub use super::found::{Cell, Found, Verdict};
use crate::{
    domain::{
        ids::{RowId, TxHash},
        span, text,
        transaction::NewTransaction,
    },
    intake::{self, Options, Origin},
};

/// The dialog's state.
#[derive(Debug, Default)]
pub struct AddForm {
    /// Whole lines that were pasted before the one being typed.
    pub lines: Vec<String>,
    /// The line being typed.
    pub input: Input,
    /// What was found, line by line.
    pub found: Vec<Found>,
    /// Whether more was pasted than is taken.
    pub overflows: bool,
    /// What takes the keys.
    pub focus: Focus,
    /// The finding that the cursor is at.
    pub place: usize,
    /// The values for all transactions of the form, in the order of [`Extra::ALL`].
    pub extras: [Input; 3],
    /// Whether a person has written the ticket, which is a guess before.
    has_own_ticket: bool,
    /// What is wrong with that.
    pub wrong: Option<(Extra, String)>,
    /// Whether anything was typed by hand, which is lost when the dialog is left.
    pub is_typed: bool,
    /// Whether Esc was pressed once, so that once more leaves.
    pub is_leaving: bool,
    /// Whether what is complete is being tracked.
    pub is_sent: bool,
    any_chain: bool,
    /// Of hashes that were asked about the row, if they are tracked.
    tracked: HashMap<String, Option<RowId>>,
    /// Whether the answer about some is still to come.
    asked: bool,
    /// Whether Enter waits for it.
    submitted: bool,
    /// Whether one paste was all that happened to it.
    is_one_paste: bool,
}

/// What takes the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Focus {
    /// The line being typed.
    #[default]
    Text,
    /// The findings.
    Results,
    /// A value that the finding at the cursor lacks, by its place among these.
    Cell(usize),
    /// The values for all transactions.
    Extra(Extra),
}

/// What can be told of all that are tracked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// Their ticket.
    Ticket,
    /// Labels, with blanks between them.
    Labels,
    /// The estimated route duration.
    Estimate,
}

impl Extra {
    /// All of them, in the order in which Tab reaches them.
    pub const ALL: [Self; 3] = [Self::Ticket, Self::Labels, Self::Estimate];
}

/// How many findings there are of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tracked already.
    pub known: usize,
    /// Complete, and marked to be tracked.
    pub ready: usize,
    /// Of those the ones that aren't tracked yet: they cost polls.
    pub new: usize,
    /// They lack something.
    pub needs_input: usize,
    /// Said by another line, or of no use.
    pub others: usize,
}

impl AddForm {
    /// The whole text.
    pub fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        if !self.lines.is_empty() {
            text.push('\n');
        }
        text.push_str(self.input.value());
        text
    }

    /// What was found, in numbers.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for found in &self.found {
            let is_ready = found.new.is_ok() && found.is_marked;
            counts.ready += usize::from(is_ready);
            counts.new += usize::from(is_ready && found.known.is_none());
            match found.verdict() {
                Verdict::Known => counts.known += 1,
                Verdict::Ready => {}
                Verdict::NeedsInput => counts.needs_input += 1,
                Verdict::Again(_) | Verdict::Nothing => counts.others += 1,
            }
        }
        counts
    }

    /// How many findings are neither tracked nor opened as they are. Words around a hash aren't missed by anybody.
    pub fn left_out(&self) -> usize {
        let is_left = |found: &&Found| match found.verdict() {
            Verdict::Known | Verdict::Again(_) => false,
            Verdict::Ready => !found.is_marked,
            Verdict::NeedsInput => true,
            Verdict::Nothing => found.pasted.origin != Origin::Text,
        };
        self.found.iter().filter(is_left).count()
    }

    /// A text is being pasted. If that is whole and all that happened to it, nobody wants more of a known hash than to see it.
    pub fn begin_paste(&mut self, is_whole: bool) {
        self.is_one_paste = is_whole && !self.is_typed && self.text().is_empty();
    }

    /// A person does more with it than to paste.
    pub fn end_paste(&mut self) {
        self.is_one_paste = false;
    }

    /// The transaction that was pasted, if nothing else was, it is known, and nothing new is said of it.
    pub fn pasted_known(&self) -> Option<RowId> {
        let mut rows = self.found.iter().filter_map(Found::opens);
        let row = rows.next().filter(|_| self.is_one_paste && !self.asked && !self.overflows)?;
        let is_no_more = |found: &Found| match found.verdict() {
            Verdict::Known => found.opens() == Some(row),
            Verdict::Again(_) => true,
            Verdict::Nothing => found.pasted.origin == Origin::Text,
            Verdict::Ready | Verdict::NeedsInput => false,
        };
        self.found.iter().all(is_no_more).then_some(row)
    }

    /// Adds a piece of pasted text at the end, without the integrator ID that a command or a body carries.
    pub fn paste(&mut self, text: &str) {
        // A hash or a link behind a whole word is another one; what comes in many parts is cut anywhere, and hardly there.
        let is_another = text.starts_with("0x") || text.starts_with("http");
        let gap = if is_another && self.input.value().ends_with(char::is_alphanumeric) { "\n" } else { "" };
        let text = format!("{}{gap}{}", self.input.value(), text.replace("\r\n", "\n").replace('\r', "\n"));
        let text = intake::without_id(&text);
        let (whole, last) = text.rsplit_once('\n').map_or((None, &*text), |(whole, last)| (Some(whole), last));
        self.lines.extend(whole.into_iter().flat_map(|whole| whole.split('\n')).map(str::to_owned));
        self.input = Input::new(last.to_owned());
    }

    /// Reads the text anew. Of a hash that was found before it stays known whether it is tracked, and what was filled in.
    pub fn read(&mut self, any_chain: bool) {
        self.any_chain = any_chain;
        let options = Options { any_chain, ..Options::default() };
        let mut before: HashMap<String, Found> = self.found.drain(..).map(|found| (found.key(), found)).collect();
        let text = self.text();
        for pasted in intake::paste(&text, &options) {
            let mut found = Found::new(pasted, any_chain);
            if let Some(before) = before.remove(&found.key()) {
                found.keep(before, any_chain);
            }
            found.known = found.asked().and_then(|asked| self.tracked.get(asked.as_str()).copied().flatten());
            self.found.push(found);
        }
        self.place = self.place.min(self.found.len().saturating_sub(1));
        self.submitted = false;
        self.guess_ticket(&text);
    }

    /// A ticket's text names its ticket; of a table or an object what it says itself counts. Where all is known already nothing
    /// would come of it.
    fn guess_ticket(&mut self, text: &str) {
        let is_text = |found: &Found| matches!(found.pasted.origin, Origin::Text | Origin::Link | Origin::Request);
        let is_known = |found: &Found| found.known.is_some() || found.verdict() == Verdict::Nothing;
        let is_wanted = self.found.iter().all(is_text) && !self.found.iter().all(is_known);
        let guess = if is_wanted { intake::ticket(text) } else { None };
        let guess = guess.unwrap_or_default();
        if let Some(field) = self.extras.get_mut(Extra::Ticket as usize).filter(|_| !self.has_own_ticket)
            && field.value() != guess
        {
            *field = Input::new(guess);
        }
    }

    /// The ticket that a person has written for what they open.
    pub fn own_ticket(&self) -> Option<String> {
        let written = self.extras.get(Extra::Ticket as usize).filter(|_| self.has_own_ticket);
        written.and_then(|field| text::clean_or_none(field.value()))
    }

    /// The hashes of which isn't known whether they are tracked; who asks is to bring the answer to
    /// [`take_in`](Self::take_in).
    pub fn ask(&mut self) -> Vec<TxHash> {
        let mut seen = HashSet::new();
        let hashes = self.found.iter().filter_map(Found::asked);
        let unknown = hashes.filter(|hash| !self.tracked.contains_key(hash.as_str()) && seen.insert(hash.clone()));
        let unknown: Vec<TxHash> = unknown.collect();
        self.asked = !unknown.is_empty();
        unknown
    }

    /// Takes in which of the hashes that were asked about are tracked; whether Enter was waiting for the last of them.
    pub fn take_in(&mut self, known: HashMap<String, Option<RowId>>) -> bool {
        self.tracked.extend(known);
        self.asked = false;
        let text = self.text();
        for found in &mut self.found {
            let row = found.asked().map(|asked| self.tracked.get(asked.as_str()).copied());
            // What was pasted since is still asked about.
            self.asked |= row == Some(None);
            found.known = row.flatten().flatten();
        }
        self.guess_ticket(&text);
        !self.asked && std::mem::take(&mut self.submitted)
    }

    /// Whether Enter has to wait until it is known what is tracked; it is carried out then.
    pub fn wait_for_known(&mut self) -> bool {
        self.submitted = self.asked;
        self.asked
    }

    /// Whether chains are taken that nobody here knows.
    pub fn any_chain(&self) -> bool {
        self.any_chain
    }

    /// Goes to the first that lacks something, if the one at the cursor lacks nothing.
    pub fn go_to_what_lacks(&mut self) {
        let lacks = |found: &Found| found.known.is_none() && !found.missing().is_empty();
        if !self.at_cursor().is_some_and(lacks) {
            let needs_input = |found: &Found| found.verdict() == Verdict::NeedsInput;
            self.place = self.found.iter().position(needs_input).unwrap_or(self.place);
        }
    }

    /// The finding that the cursor is at.
    pub fn at_cursor(&self) -> Option<&Found> {
        self.found.get(self.place)
    }

    /// The same, to change it.
    pub fn at_cursor_mut(&mut self) -> Option<&mut Found> {
        self.found.get_mut(self.place)
    }

    /// The filter by which the list may have it where nothing else comes of the text, which is a word or two.
    pub fn looked_for(&self) -> Option<String> {
        const MOST: usize = 64;
        let text = self.text();
        let line = text.trim();
        let is_line = !line.contains('\n') && line.chars().count() <= MOST;
        let is_nothing = !self.found.is_empty() && self.found.iter().all(|found| found.verdict() == Verdict::Nothing);
        let words = text::clean_or_none(&line.replace('"', " ")).filter(|_| is_line && is_nothing)?;
        let words = words.trim();
        let is_word = words.starts_with(char::is_alphanumeric)
            && words.chars().all(|letter| letter.is_alphanumeric() || letter == '-');
        Some(if is_word { words.to_owned() } else { format!("\"{words}\"") }).filter(|_| !words.is_empty())
    }

    /// What the keys do now, for the footer.
    pub fn hints(&self) -> Vec<(&'static str, &'static str)> {
        let verdict = self.at_cursor().map(Found::verdict);
        let opens = self.at_cursor().is_some_and(|found| found.opens().is_some());
        let counts = self.counts();
        let enter = match (self.focus, verdict) {
            (Focus::Results | Focus::Cell(_), Some(Verdict::NeedsInput)) => "fill in",
            (Focus::Cell(_), _) => "done",
            (Focus::Results, _) if opens => "open",
            _ if counts.ready > 0 => "track",
            _ if counts.known > 0 && counts.needs_input > 0 => "to the known one",
            _ if counts.known > 0 => "open",
            _ if counts.needs_input > 0 => "fill in",
            _ if self.looked_for().is_some() => "look for it in the list",
            _ if !self.found.is_empty() => "",
            _ => "track or open",
        };
        // Of no use is also Enter then.
        let mut hints: Vec<_> = (!enter.is_empty()).then_some(("Enter", enter)).into_iter().collect();
        if self.focus == Focus::Results {
            hints.push(("Space", "mark"));
            let lacks = counts.needs_input > 0 || verdict == Some(Verdict::Nothing);
            hints.extend(lacks.then_some(("t", "ask for what lacks")));
        }
        let next = match self.focus {
            Focus::Text if counts.needs_input > 0 => "next, then t asks for what lacks",
            _ => "next",
        };
        hints.extend((!self.found.is_empty()).then_some(("Tab", next)));
        hints.push(("Esc", "cancel"));
        hints
    }

    /// What Tab goes through, in its order.
    fn stops(&self) -> Vec<Focus> {
        let cells = self.at_cursor().map_or(0, |found| if found.known.is_some() { 0 } else { found.cells.len() });
        let results = (!self.found.is_empty()).then_some(Focus::Results);
        let cells = (0..cells).map(Focus::Cell);
        let extras = Extra::ALL.map(Focus::Extra);
        [Focus::Text].into_iter().chain(results).chain(cells).chain(extras).collect()
    }

    /// Goes on to what takes the keys next, or back.
    pub fn turn(&mut self, forwards: bool) {
        self.settle();
        let stops = self.stops();
        let here = stops.iter().position(|stop| *stop == self.focus).unwrap_or(0);
        if forwards && self.focus == Focus::Results && self.go_to_lacking() {
            return;
        }
        let next = if forwards { here + 1 } else { here + stops.len() - 1 };
        self.focus = stops.get(next % stops.len().max(1)).copied().unwrap_or_default();
    }

    /// Goes from a finding that lacks nothing to the next one that does, and what it lacks; whether there is such a one.
    fn go_to_lacking(&mut self) -> bool {
        let lacks = |(place, found): (usize, &Found)| Some((place, found.first_missing()?));
        if self.at_cursor().is_some_and(|found| found.known.is_none() && !found.cells.is_empty()) {
            return false;
        }
        let known = |found: &Found| found.known.is_some();
        let (before, after) = self.found.split_at_checked(self.place + 1).unwrap_or((&self.found, &[]));
        let after = (self.place + 1..).zip(after).chain(before.iter().enumerate());
        let Some((place, cell)) = after.filter(|(_, found)| !known(found)).find_map(lacks) else { return false };
        (self.place, self.focus) = (place, Focus::Cell(cell));
        true
    }

    /// Moves among the findings; above the first is the text.
    pub fn move_by(&mut self, findings: isize) {
        self.settle();
        let last = self.found.len().saturating_sub(1);
        self.focus = match (self.focus, self.found.is_empty()) {
            (_, true) => Focus::Text,
            (Focus::Results, _) if self.place == 0 && findings < 0 => Focus::Text,
            (Focus::Text, _) if findings < 0 => Focus::Text,
            (Focus::Results | Focus::Cell(_), _) => {
                self.place = self.place.saturating_add_signed(findings).min(last);
                Focus::Results
            }
            (Focus::Text | Focus::Extra(_), _) => Focus::Results,
        };
    }

    /// The field that takes the keys, unless the findings do.
    pub fn focused_input(&mut self) -> Option<&mut Input> {
        match self.focus {
            Focus::Text => Some(&mut self.input),
            Focus::Results => None,
            Focus::Cell(place) => self.found.get_mut(self.place)?.cells.get_mut(place).map(|cell| {
                cell.is_guess = false;
                &mut cell.input
            }),
            Focus::Extra(extra) => self.extras.get_mut(extra as usize),
        }
    }

    /// What was typed into a field has changed, other than into the text.
    pub fn changed(&mut self) {
        let any_chain = self.any_chain;
        match self.focus {
            Focus::Cell(_) => self.at_cursor_mut().into_iter().for_each(|found| found.reparse(any_chain)),
            Focus::Extra(extra) => {
                self.has_own_ticket |= extra == Extra::Ticket;
                self.wrong = None;
            }
            Focus::Text | Focus::Results => {}
        }
    }

    /// Puts a chain's ID in the place of its name, where only one is meant.
    pub fn settle(&mut self) {
        let any_chain = self.any_chain;
        if let (Focus::Cell(_), Some(found)) = (self.focus, self.at_cursor_mut()) {
            found.settle(any_chain);
        }
    }

    /// Returns the transactions to track, with the values for all of them; nothing if a value is invalid. A line's own value has
    /// precedence.
    pub fn batch(&mut self) -> Option<Vec<NewTransaction>> {
        let value = |extra: Extra| self.extras.get(extra as usize).map_or("", Input::value);
        let ticket = text::clean_or_none(value(Extra::Ticket));
        let labels = value(Extra::Labels).split([' ', ',', ';']).filter_map(text::clean_or_none);
        let labels: Vec<String> = labels.collect();
        let estimate = match value(Extra::Estimate).trim() {
            "" => None,
            typed => {
                match typed.parse::<u32>().map_or_else(|_| span::parse(typed), |n| span::parse(&format!("{n}s"))) {
                    Ok(estimate) => Some(estimate),
                    Err(reason) => {
                        (self.wrong, self.focus) = (Some((Extra::Estimate, reason)), Focus::Extra(Extra::Estimate));
                        return None;
                    }
                }
            }
        };
        let params = |new: &NewTransaction| {
            let mut new = new.clone();
            new.params.ticket = new.params.ticket.or_else(|| ticket.clone());
            new.params.estimate = new.params.estimate.or(estimate);
            let own: Vec<String> = labels.iter().filter(|label| !new.labels.contains(label)).cloned().collect();
            new.labels.extend(own);
            new
        };
        let ready =
            self.found.iter().filter(|found| found.is_marked).filter_map(|found| found.new.as_deref().ok()).map(params);
        Some(ready.collect())
    }
}
