//! The state of the add dialog: the text, the findings in the text, and the focus.
//!
//! The text is parsed again on every key. Filled-in values and marks must never move to the finding of another hash.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tui_input::Input;

pub(crate) use super::finding::{Finding, LineState, MissingField, column_title};
use crate::{
    domain::{
        filter::Direction,
        ids::{RowId, TxHash},
        span, text,
        transaction::{NewTransaction, Transaction},
        transaction_update::has_label,
    },
    intake::{self, PasteOrigin, ReadOptions},
};

/// The dialog's state.
#[derive(Debug, Default)]
pub struct AddForm {
    /// Whole lines that were pasted before the one being typed.
    pub lines: Vec<String>,
    /// The line being typed.
    pub input: Input,
    /// The findings in the text, in the order of its lines.
    pub findings: Vec<Finding>,
    /// Whether a paste was cut at the size limit.
    pub is_truncated: bool,
    /// The part of the form that takes the keys.
    pub focus: FormFocus,
    /// The index of the finding at the cursor.
    pub cursor: usize,
    /// The values for all transactions of the form, in the order of [`ExtraField::ALL`].
    pub extras: [Input; 3],
    /// Whether a person has typed the ticket. Until then the ticket is a guess.
    has_own_ticket: bool,
    /// Why the route time in `extras` is invalid, if it is.
    pub estimate_error: Option<String>,
    /// Where the text came from.
    pub source: TextSource,
    /// What the form waits for.
    pub stage: FormStage,
    /// The answers of the store; `None` for a hash that isn't tracked.
    known: KnownTransactions,
    lookup: LookupState,
}

/// The tracked transactions among the hashes of a request.
#[derive(Clone, Debug, Default)]
pub struct KnownTransactions {
    /// For each hash, by its text, the tracked transaction, if there is one.
    pub rows: HashMap<String, Option<RowId>>,
    /// These transactions.
    pub transactions: HashMap<RowId, Arc<Transaction>>,
}

/// Where the text of the form came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextSource {
    /// Pastes, or nothing yet.
    #[default]
    Pasted,
    /// One whole paste and no key since: a known transaction is opened at once.
    OnePaste,
    /// A person typed a part of the text, which must not be lost by one key.
    Typed,
}

/// What the form waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormStage {
    /// Text, or a choice among the findings.
    #[default]
    Editing,
    /// A second Esc, which leaves and drops typed text.
    ConfirmLeave,
    /// The result of the import.
    Sent,
}

/// The request to the store for the tracked ones among the hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LookupState {
    /// Nothing is requested.
    #[default]
    Done,
    /// Some hashes are requested.
    Pending,
    /// Some hashes are requested, and Enter is carried out when the result arrives.
    PendingSubmit,
}

/// The part of the form that takes the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormFocus {
    /// The line being typed.
    #[default]
    Text,
    /// The findings.
    Results,
    /// A missing value of the finding at the cursor, by its index in `cells`.
    Cell(usize),
    /// The values for all transactions.
    Extra(ExtraField),
}

/// A value for all transactions of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtraField {
    Ticket,
    /// Labels, separated by spaces.
    Labels,
    /// The estimated route duration.
    Estimate,
}

impl ExtraField {
    /// All values, in the order in which Tab reaches them.
    pub const ALL: [Self; 3] = [Self::Ticket, Self::Labels, Self::Estimate];
}

/// The numbers of findings, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FindingCounts {
    /// Findings that are tracked already.
    pub known: usize,
    /// Marked findings that Enter adds, or whose transaction it changes.
    pub ready: usize,
    /// The `ready` findings that aren't tracked yet, and so will cost polls.
    pub new: usize,
    /// Findings with missing values.
    pub needs_input: usize,
    /// Duplicates, and lines without a hash.
    pub others: usize,
}

impl AddForm {
    /// The whole text.
    pub fn text(&self) -> String {
        let lines = self.lines.iter().map(String::as_str).chain([self.input.value()]);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Counts the findings.
    pub fn counts(&self) -> FindingCounts {
        let mut counts = FindingCounts::default();
        for found in &self.findings {
            let is_ready = found.has_effect() && found.is_marked;
            counts.ready += usize::from(is_ready);
            counts.new += usize::from(is_ready && found.known.is_none());
            match found.verdict() {
                LineState::Known => counts.known += 1,
                LineState::Ready => {}
                LineState::NeedsInput => counts.needs_input += 1,
                LineState::Duplicate(_) | LineState::NoHash => counts.others += 1,
            }
        }
        counts
    }

    /// Returns the number of findings that Enter neither tracks nor opens. Lines of plain text don't count.
    pub fn skipped_count(&self) -> usize {
        let is_left = |found: &&Finding| match found.verdict() {
            LineState::Known | LineState::Duplicate(_) => false,
            LineState::Ready => !found.is_marked,
            LineState::NeedsInput => true,
            LineState::NoHash => found.pasted.origin != PasteOrigin::Text,
        };
        self.findings.iter().filter(is_left).count()
    }

    /// Records a paste. A whole paste into an empty form counts as one paste, so that a known transaction opens at
    /// once.
    pub fn begin_paste(&mut self, is_whole: bool) {
        self.source = match self.source {
            TextSource::Typed => TextSource::Typed,
            TextSource::Pasted | TextSource::OnePaste if is_whole && self.text().is_empty() => TextSource::OnePaste,
            TextSource::Pasted | TextSource::OnePaste => TextSource::Pasted,
        };
    }

    /// Records a key: a known transaction no longer opens at once.
    pub fn end_paste(&mut self) {
        if self.source == TextSource::OnePaste {
            self.source = TextSource::Pasted;
        }
    }

    /// Returns the known transaction, if one paste names only this transaction and contains no new values for it.
    pub fn pasted_known(&self) -> Option<RowId> {
        let mut rows = self.findings.iter().filter_map(Finding::row_to_open);
        let row = rows.next().filter(|_| {
            self.source == TextSource::OnePaste && self.lookup == LookupState::Done && !self.is_truncated
        })?;
        let adds_nothing = |found: &Finding| match found.verdict() {
            LineState::Known => found.row_to_open() == Some(row),
            LineState::Duplicate(_) => true,
            LineState::NoHash => found.pasted.origin == PasteOrigin::Text,
            LineState::Ready | LineState::NeedsInput => false,
        };
        self.findings.iter().all(adds_nothing).then_some(row)
    }

    /// Ends the wait for a second Esc.
    pub fn end_confirmation(&mut self) {
        if self.stage == FormStage::ConfirmLeave {
            self.stage = FormStage::Editing;
        }
    }

    /// Adds a piece of pasted text at the end, without the integrator ID that a command or a body carries.
    pub fn paste(&mut self, text: &str) {
        // A hash or a link after a whole word begins a new line. A paste in several parts is hardly ever cut just
        // before one.
        let is_another = text.starts_with("0x") || text.starts_with("http");
        let gap = if is_another && self.input.value().ends_with(char::is_alphanumeric) { "\n" } else { "" };
        let text = format!("{}{gap}{}", self.input.value(), text.replace("\r\n", "\n").replace('\r', "\n"));
        let text = intake::redact_integrator_id(&text);
        let (whole, last) = text.rsplit_once('\n').map_or((None, &*text), |(whole, last)| (Some(whole), last));
        self.lines.extend(whole.into_iter().flat_map(|whole| whole.split('\n')).map(str::to_owned));
        self.input = Input::new(last.to_owned());
    }

    /// Parses the text again. Hashes that were found before keep their filled-in values, marks and rows.
    pub fn read(&mut self, options: ReadOptions) {
        let mut before: HashMap<String, Finding> = self.findings.drain(..).map(|found| (found.key(), found)).collect();
        let text = self.text();
        for pasted in intake::parse_paste(&text, &options) {
            let mut found = Finding::new(pasted, options);
            if let Some(before) = before.remove(&found.key()) {
                found.keep_edits(before);
            }
            found.known = found.lookup_hash().and_then(|asked| self.known.rows.get(asked.as_str()).copied().flatten());
            found.stored = found.known.and_then(|row| self.known.transactions.get(&row).cloned());
            self.findings.push(found);
        }
        self.cursor = self.cursor.min(self.findings.len().saturating_sub(1));
        if self.focus == FormFocus::Text && self.at_cursor().is_some_and(|found| found.verdict() == LineState::NoHash) {
            // Most lines of a ticket have no hash; the message below the findings is about the first that has one.
            let has_hash = |found: &Finding| found.verdict() != LineState::NoHash;
            self.cursor = self.findings.iter().position(has_hash).unwrap_or(self.cursor);
        }
        if self.lookup == LookupState::PendingSubmit {
            self.lookup = LookupState::Pending;
        }
        self.guess_ticket(&text);
    }

    /// Fills in the ticket that the text names, until a person types one. Rows and objects carry their own ticket, and
    /// known transactions are not changed, so neither gets a guess.
    fn guess_ticket(&mut self, text: &str) {
        let is_text = |found: &Finding| {
            matches!(found.pasted.origin, PasteOrigin::Text | PasteOrigin::Link | PasteOrigin::Request)
        };
        let is_known = |found: &Finding| found.known.is_some() || found.verdict() == LineState::NoHash;
        let is_wanted = self.findings.iter().all(is_text) && !self.findings.iter().all(is_known);
        let guess = if is_wanted { intake::find_ticket(text) } else { None };
        let guess = guess.unwrap_or_default();
        if let Some(field) = self.extras.get_mut(ExtraField::Ticket as usize).filter(|_| !self.has_own_ticket)
            && field.value() != guess
        {
            *field = Input::new(guess);
        }
    }

    /// Returns the ticket that a person has typed.
    pub fn own_ticket(&self) -> Option<String> {
        text::clean_or_none(self.extra_value(ExtraField::Ticket)).filter(|_| self.has_own_ticket)
    }

    fn extra_value(&self, extra: ExtraField) -> &str {
        self.extras.get(extra as usize).map_or("", Input::value)
    }

    /// Returns the labels that a person has typed.
    pub fn own_labels(&self) -> Vec<String> {
        self.extra_value(ExtraField::Labels).split([' ', ',', ';']).filter_map(text::clean_or_none).collect()
    }

    /// Returns the hashes to look up in the store. The caller must pass the answers to
    /// [`apply_known`](Self::apply_known).
    pub fn hashes_to_look_up(&mut self) -> Vec<TxHash> {
        let mut seen = HashSet::new();
        let hashes = self.findings.iter().filter_map(Finding::lookup_hash);
        let unknown = hashes.filter(|hash| !self.known.rows.contains_key(hash.as_str()) && seen.insert(hash.clone()));
        let unknown: Vec<TxHash> = unknown.collect();
        self.lookup = if unknown.is_empty() { LookupState::Done } else { LookupState::Pending };
        unknown
    }

    /// Forgets which transactions are tracked: their row numbers mean others now. Returns the hashes to look up again.
    pub fn forget_rows(&mut self) -> Vec<TxHash> {
        self.known = KnownTransactions::default();
        self.findings.iter_mut().for_each(|found| (found.known, found.stored) = (None, None));
        self.hashes_to_look_up()
    }

    /// Goes to the first missing value after the complete transactions were tracked. Returns the hashes to look up
    /// again.
    pub fn keep_incomplete(&mut self) -> Vec<TxHash> {
        self.stage = FormStage::Editing;
        // What was tracked must not be tracked again with the rest.
        self.findings.iter_mut().for_each(|found| found.is_marked &= found.new.is_err());
        self.cursor = 0;
        self.go_to_incomplete();
        self.focus_first_missing();
        self.known.rows.clear();
        self.hashes_to_look_up()
    }

    /// Applies the rows of looked-up hashes. Returns `true` if Enter was waiting and all hashes are looked up now.
    pub fn apply_known(&mut self, known: KnownTransactions) -> bool {
        self.known.rows.extend(known.rows);
        self.known.transactions.extend(known.transactions);
        let mut is_done = true;
        let text = self.text();
        for found in &mut self.findings {
            let row = found.lookup_hash().map(|asked| self.known.rows.get(asked.as_str()).copied());
            // Hashes that were pasted since are still being looked up.
            is_done &= row != Some(None);
            found.known = row.flatten().flatten();
            found.stored = found.known.and_then(|row| self.known.transactions.get(&row).cloned());
        }
        self.guess_ticket(&text);
        is_done && std::mem::take(&mut self.lookup) == LookupState::PendingSubmit
    }

    /// Returns the ticket of a tracked transaction.
    pub fn ticket_of(&self, row: RowId) -> Option<&str> {
        self.known.transactions.get(&row)?.params.ticket.as_deref()
    }

    /// Returns `true` if Enter has to wait for the lookup. Enter is then performed when the answer arrives.
    pub fn wait_for_known(&mut self) -> bool {
        if self.lookup != LookupState::Done {
            self.lookup = LookupState::PendingSubmit;
        }
        self.lookup != LookupState::Done
    }

    /// Moves the cursor to the first incomplete finding, unless the finding at the cursor is incomplete.
    pub fn go_to_incomplete(&mut self) {
        let lacks = |found: &Finding| found.known.is_none() && !found.missing().is_empty();
        if !self.at_cursor().is_some_and(lacks) {
            let needs_input = |found: &Finding| found.verdict() == LineState::NeedsInput;
            self.cursor = self.findings.iter().position(needs_input).unwrap_or(self.cursor);
        }
    }

    /// Moves the focus to the first missing value of the finding at the cursor; to the findings if none is missing.
    pub fn focus_first_missing(&mut self) {
        self.focus = self.at_cursor().and_then(Finding::first_missing).map_or(FormFocus::Results, FormFocus::Cell);
    }

    /// Returns the finding at the cursor.
    pub fn at_cursor(&self) -> Option<&Finding> {
        self.findings.get(self.cursor)
    }

    /// Returns the finding at the cursor, for a change.
    pub fn at_cursor_mut(&mut self) -> Option<&mut Finding> {
        self.findings.get_mut(self.cursor)
    }

    /// Returns the tracked transactions of the findings, and the filter that shows them, if there are several.
    pub fn several_known(&self) -> Option<(Vec<RowId>, String)> {
        /// With more hashes a filter would be too long to read and to edit.
        const MAX_SHOWN: usize = 50;
        /// A shorter text may be a part of a hash, or another ID of the transaction.
        const MIN_HASH: usize = 43;
        /// The characters at the end of a hash that tell it from all others, so that the filter stays readable.
        const END: usize = 12;
        let known = self.findings.iter().filter_map(|found| Some((found.row_to_open()?, found.hash()?.as_str())));
        let (rows, hashes): (Vec<RowId>, Vec<&str>) = known.unzip();
        let are_whole = hashes.iter().all(|hash| hash.trim_start_matches("0x").len() >= MIN_HASH);
        let ends = || hashes.iter().filter_map(|hash| hash.get(hash.len() - END..)).map(regex::escape);
        (are_whole && (2..=MAX_SHOWN).contains(&rows.len()))
            .then(|| (rows, format!("/(?i:{})/", ends().collect::<Vec<_>>().join("|"))))
    }

    /// Returns the filter that searches the list for the ticket or ID that the text names, or else for the text, if it
    /// is a single short line without a hash.
    pub fn search_filter(&self) -> Option<String> {
        const MAX_LENGTH: usize = 64;
        let text = self.text();
        let line = text.trim();
        let is_line = !line.contains('\n') && line.chars().count() <= MAX_LENGTH;
        // A row with an incomplete hash stays, so that it can be completed.
        if line.starts_with("0x") && line.contains(',') {
            return None;
        }
        let is_nothing =
            !self.findings.is_empty() && self.findings.iter().all(|found| found.verdict() == LineState::NoHash);
        let mut named = self.findings.iter().filter_map(Finding::hash);
        let line = match (named.next(), named.next()) {
            (Some(only), None) if is_nothing => only.as_str(),
            _ => Some(line).filter(|_| is_line && is_nothing)?,
        };
        let words = text::clean_or_none(&line.replace('"', " "))?;
        let is_word = words.starts_with(char::is_alphanumeric)
            && words.chars().all(|letter| letter.is_alphanumeric() || letter == '-');
        Some(if is_word { words } else { format!("\"{words}\"") })
    }

    /// Returns the keys and their present actions, for the footer.
    pub fn hints(&self) -> Vec<(&'static str, &'static str)> {
        let verdict = self.at_cursor().map(Finding::verdict);
        let opens = self.at_cursor().is_some_and(|found| found.row_to_open().is_some());
        let counts = self.counts();
        let enter = match (self.focus, verdict) {
            (FormFocus::Results | FormFocus::Cell(_), Some(LineState::NeedsInput)) => "fill in",
            (FormFocus::Cell(_), _) => "done",
            (FormFocus::Results, _) if opens => "open",
            _ if counts.new > 0 => "track",
            _ if counts.ready > 0 => "update",
            _ if counts.known > 0 && counts.needs_input > 0 => "go to the tracked one",
            _ if self.several_known().is_some() => "show the tracked ones",
            _ if counts.known > 0 => "open",
            _ if counts.needs_input > 0 => "fill in",
            _ if self.search_filter().is_some() => "search the list",
            _ if !self.findings.is_empty() => "",
            _ => "track or open",
        };
        // Without an action the footer leaves Enter out.
        let mut hints: Vec<_> = (!enter.is_empty()).then_some(("Enter", enter)).into_iter().collect();
        if self.focus == FormFocus::Results {
            hints.push(("Space", "mark"));
            let lacks = counts.needs_input > 0 || verdict == Some(LineState::NoHash);
            hints.extend(lacks.then_some(("t", "ask for missing values")));
        }
        let next = match self.focus {
            FormFocus::Text if counts.needs_input > 0 => "next, then t asks for missing values",
            _ => "next",
        };
        hints.extend((!self.findings.is_empty()).then_some(("Tab", next)));
        hints.push(("Esc", "cancel"));
        hints
    }

    /// Returns the parts of the form that Tab goes through, in order.
    fn focus_order(&self) -> Vec<FormFocus> {
        let cells = self.at_cursor().map_or(0, |found| if found.known.is_some() { 0 } else { found.cells.len() });
        let results = (!self.findings.is_empty()).then_some(FormFocus::Results);
        let cells = (0..cells).map(FormFocus::Cell);
        let extras = ExtraField::ALL.map(FormFocus::Extra);
        [FormFocus::Text].into_iter().chain(results).chain(cells).chain(extras).collect()
    }

    /// Moves the focus to the next or previous part of the form.
    pub fn move_focus(&mut self, direction: Direction) {
        self.expand_chain_names();
        let stops = self.focus_order();
        if direction == Direction::Forwards && self.focus == FormFocus::Results && self.go_to_next_missing() {
            return;
        }
        self.focus = direction.neighbor(&stops, self.focus);
    }

    /// Moves from a complete finding to the first missing value of the next incomplete one. Returns `false` if there is
    /// none.
    fn go_to_next_missing(&mut self) -> bool {
        let lacks = |(index, found): (usize, &Finding)| Some((index, found.first_missing()?));
        if self.at_cursor().is_some_and(|found| found.known.is_none() && !found.cells.is_empty()) {
            return false;
        }
        let known = |found: &Finding| found.known.is_some();
        let (before, after) = self.findings.split_at_checked(self.cursor + 1).unwrap_or((&self.findings, &[]));
        let after = (self.cursor + 1..).zip(after).chain(before.iter().enumerate());
        let Some((index, cell)) = after.filter(|(_, found)| !known(found)).find_map(lacks) else { return false };
        (self.cursor, self.focus) = (index, FormFocus::Cell(cell));
        true
    }

    /// Moves the cursor by this many findings. Above the first finding is the text.
    pub fn move_by(&mut self, findings: isize) {
        self.expand_chain_names();
        let last = self.findings.len().saturating_sub(1);
        self.focus = match (self.focus, self.findings.is_empty()) {
            (_, true) => FormFocus::Text,
            (FormFocus::Results, _) if self.cursor == 0 && findings < 0 => FormFocus::Text,
            (FormFocus::Text, _) if findings < 0 => FormFocus::Text,
            (FormFocus::Results | FormFocus::Cell(_), _) => {
                self.cursor = self.cursor.saturating_add_signed(findings).min(last);
                FormFocus::Results
            }
            (FormFocus::Text | FormFocus::Extra(_), _) => FormFocus::Results,
        };
    }

    /// Returns the field that takes the keys; `None` while the findings take them.
    pub fn focused_input(&mut self) -> Option<&mut Input> {
        match self.focus {
            FormFocus::Text => Some(&mut self.input),
            FormFocus::Results => None,
            FormFocus::Cell(index) => self.findings.get_mut(self.cursor)?.cells.get_mut(index).map(|cell| {
                cell.is_guess = false;
                &mut cell.input
            }),
            FormFocus::Extra(extra) => self.extras.get_mut(extra as usize),
        }
    }

    /// Applies a change of a field other than the text.
    pub fn on_field_changed(&mut self) {
        match self.focus {
            FormFocus::Cell(_) => self.at_cursor_mut().into_iter().for_each(Finding::reparse),
            FormFocus::Extra(extra) => {
                self.has_own_ticket |= extra == ExtraField::Ticket;
                self.estimate_error = None;
            }
            FormFocus::Text | FormFocus::Results => {}
        }
    }

    /// Replaces the name of a chain in the focused cell with the chain's ID, if the name is unambiguous.
    pub fn expand_chain_names(&mut self) {
        if let (FormFocus::Cell(_), Some(found)) = (self.focus, self.at_cursor_mut()) {
            found.expand_chain_names();
        }
    }

    /// Returns the transactions to track, with the values for all of them; nothing if a value is invalid. A line's own
    /// value has precedence.
    pub fn batch(&mut self) -> Option<Vec<NewTransaction>> {
        let ticket = text::clean_or_none(self.extra_value(ExtraField::Ticket));
        let labels = self.own_labels();
        let typed = self.extra_value(ExtraField::Estimate).trim();
        let parsed = typed.parse::<u32>().map_or_else(|_| span::parse(typed), |n| span::parse(&format!("{n}s")));
        let estimate = match parsed {
            _ if typed.is_empty() => None,
            Ok(estimate) => Some(estimate),
            Err(reason) => {
                (self.estimate_error, self.focus) = (Some(reason), FormFocus::Extra(ExtraField::Estimate));
                return None;
            }
        };
        let own_ticket = self.own_ticket();
        let has_own_values = own_ticket.is_some() || !labels.is_empty() || estimate.is_some();
        // Transactions that nothing changes are opened, unless they are too many to show.
        let counts = self.counts();
        let can_show = counts.known == 1 || self.several_known().is_some();
        if counts.ready == 0 && estimate.is_none() && can_show {
            return Some(Vec::new());
        }
        let is_sent = |found: &&Finding| {
            let changes = found.has_effect() || has_own_values || counts.ready == 0;
            found.is_marked && (found.known.is_none() || found.is_complete() && changes)
        };
        let with_own_values = |found: &Finding| {
            let mut new = found.new.as_deref().ok()?.clone();
            // A tracked transaction gets no guessed ticket.
            let ticket = if found.known.is_some() { &own_ticket } else { &ticket };
            new.params.ticket = new.params.ticket.or_else(|| ticket.clone());
            new.params.estimate = new.params.estimate.or(estimate);
            let own: Vec<String> = labels.iter().filter(|label| !has_label(&new.labels, label)).cloned().collect();
            new.labels.extend(own);
            Some(new)
        };
        Some(self.findings.iter().filter(is_sent).filter_map(with_own_values).collect())
    }
}
