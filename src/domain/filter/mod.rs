//! The filter: one grammar for the dashboard, `list`, `watch` and `export` (`mockups.md`, Filter).
//!
//! An expression over a transaction and its open alerts, and a sort order. The store evaluates both. Parsing must
//! never drop a term that it doesn't understand: such a term is an error with its position.

pub(crate) mod expression;
mod parse;
mod sort;
pub(crate) mod term;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod token;

use std::ops::Range;

pub(crate) use expression::Expression;
pub(crate) use parse::{keys, states};
pub(crate) use sort::{Direction, SortBy, SortKey};

use self::term::FilterTest;
use super::{chains, text};

/// A kind of name in a filter that only the store can complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    Ticket,
    Label,
    Profile,
    Person,
}

impl NameKind {
    /// Returns the kind of name that follows this key of a term; `None` for any other key.
    pub fn of(key: &str) -> Option<Self> {
        match key {
            "ticket" => Some(Self::Ticket),
            "label" => Some(Self::Label),
            "profile" => Some(Self::Profile),
            "by" => Some(Self::Person),
            _ => None,
        }
    }
}

/// A parsed filter: an expression and a sort order.
#[derive(Clone, Debug)]
pub struct Filter {
    expression: Expression,
    /// Empty if the filter names no order.
    sort: Vec<SortKey>,
}

/// Why a filter can't be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FilterError {
    /// The byte range of the error in the text, on character boundaries.
    pub at: Range<usize>,
    /// The fault, the expected input, and the nearest valid word.
    pub message: String,
}

/// Returns a filter's text with another sort order. The default order is left out, unless the filter `base`, on top of
/// which the text applies, has an order of its own. An invalid filter is an error.
pub(crate) fn with_order(text: &str, order: &[SortKey], base: &str) -> Result<String, FilterError> {
    let rest = parse::strip_order(text)?;
    if order.is_empty() || order == SortKey::DEFAULT && parse::find_order(base)?.is_empty() {
        return Ok(rest);
    }
    let order: Vec<_> = order.iter().map(ToString::to_string).collect();
    Ok(format!("{rest} sort:{}", order.join(",")).trim_start().to_owned())
}

/// Returns a filter's text with the order of another filter's text, unless it has an order of its own or is invalid.
pub(crate) fn with_order_of(text: &str, ordered: &str) -> String {
    match [text, ordered].map(parse::find_order) {
        [Ok(own), Ok(order)] if own.is_empty() && !order.is_empty() => {
            format!("{} {order}", text.trim_end()).trim_start().to_owned()
        }
        _ => text.to_owned(),
    }
}

/// Returns a filter's text as it can stand beside other terms: terms that `or` joins are in parentheses, followed by the
/// filter's order.
pub(crate) fn group_alternatives(text: &str) -> Result<String, FilterError> {
    let parsed = |text: &str| Filter::parse_for_person(text, Some("me"));
    let Expression::Any(_) = parsed(text)?.expression else { return Ok(text.to_owned()) };
    let terms = parse::strip_order(text)?;
    let closed = format!("({terms})");
    // A last word with a `(` would take the `)` as its own.
    let grouped = if parsed(&closed).is_ok() { closed } else { format!("({terms} )") };
    Ok(with_order_of(&grouped, text))
}

/// Returns the text of a filter that requires both filters, in the order of `text`, or else of `base`.
pub(crate) fn join_filters(base: &str, text: &str) -> Result<String, FilterError> {
    let part = |text: &str| group_alternatives(&parse::strip_order(text)?);
    let terms = format!("{} {}", part(base)?, part(text)?);
    Ok(with_order_of(&with_order_of(terms.trim(), text), base))
}

impl Default for Filter {
    fn default() -> Self {
        Self::everything()
    }
}

impl Filter {
    /// Parses the filter of a person without a name: the term `mine` is an error. Empty text matches everything.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        Self::parse_for_person(text, None)
    }

    /// Parses the filter of a person with this name, the meaning of the term `mine`. Empty text matches everything.
    pub fn parse_for_person(text: &str, person: Option<&str>) -> Result<Self, FilterError> {
        let (expression, sort) = parse::parse(text, person)?;
        Ok(Self { expression, sort })
    }

    /// Returns a filter of these expressions, all of which must hold, in the default order.
    pub fn all(expressions: impl IntoIterator<Item = Expression>) -> Self {
        Self { expression: Expression::all(expressions.into_iter().collect()), sort: Vec::new() }
    }

    /// Returns the filter that matches everything, in the default order.
    pub fn everything() -> Self {
        Self::all([])
    }

    /// Returns the expression.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// Returns a filter that requires both filters. The order is this filter's, or the other one's if this filter names
    /// none.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut required = other.expression.clone().into_required();
        required.extend(self.expression.clone().into_required());
        let sort = if self.sort.is_empty() { &other.sort } else { &self.sort };
        Self { expression: Expression::all(required), sort: sort.clone() }
    }

    /// Returns the terms that ask for a name or a text, such as `label:batch-17`, each with a filter of that term
    /// alone. Negated terms are left out.
    pub fn named_terms(&self) -> Vec<(String, Self)> {
        let mut named = Vec::new();
        self.expression.for_each_positive_test(&mut |test| {
            let name = match test {
                FilterTest::Label(label) => format!("label:{label}"),
                FilterTest::Ticket(ticket) => format!("ticket:{ticket}"),
                FilterTest::Profile(profile) => format!("profile:{profile}"),
                FilterTest::By(name) => format!("by:{name}"),
                FilterTest::Chain(end, chain) => format!("{end}:{}", chain.name()),
                FilterTest::Route { from, to } => format!("the route {from}>{to}"),
                // The route that the text may be has its own name.
                FilterTest::Exact(text) if parse::is_route(text) => return,
                FilterTest::Word(text) | FilterTest::Hashtag(text) | FilterTest::Exact(text) => text.clone(),
                FilterTest::Pattern(_)
                | FilterTest::Is(_)
                | FilterTest::Status(_)
                | FilterTest::Span(..)
                | FilterTest::Own(_) => return,
            };
            named.push((name, Self { expression: Expression::Test(test.clone()), sort: self.sort.clone() }));
        });
        named
    }

    /// Returns a complaint about the first chain of the filter that has no known name, with the nearest name.
    /// `is_known` says whether the service has a chain of this name. An ID may be any text with a digit.
    pub fn chain_name_error(&self, is_known: impl Fn(&str) -> bool) -> Option<String> {
        let mut unknown = None;
        let mut check = |name: &str| {
            let is_id = name.chars().any(|letter| letter.is_ascii_digit());
            if unknown.is_none() && !is_id && chains::find_by_name(name).is_none() && !is_known(name) {
                let ending = chains::find_nearest(name)
                    .map_or_else(|| ".".to_owned(), |chain| format!("; did you mean {}?", chain.name.to_lowercase()));
                unknown = Some(format!("No chain is called \"{}\"{ending}", text::clean(name)));
            }
        };
        self.expression.for_each_positive_test(&mut |test| match test {
            FilterTest::Chain(_, chain) => check(chain.name()),
            FilterTest::Route { from, to } => [from, to].into_iter().for_each(|name| check(name)),
            _ => {}
        });
        unknown
    }

    /// Returns the same filter, limited to one profile.
    #[must_use]
    pub fn limited_to_profile(&self, profile: &str) -> Self {
        self.and(&Self::all([Expression::Test(FilterTest::Own(profile.to_owned()))]))
    }

    /// Returns the sort order. Never empty.
    pub fn sort(&self) -> &[SortKey] {
        if self.sort.is_empty() { &SortKey::DEFAULT } else { &self.sort }
    }
}
