//! The expression of a filter: tests that are negated and joined by "and" and "or".
//!
//! It knows how the results of tests combine, and must never know what a test means. The parser bounds its depth, so
//! that recursion over it ends.

use super::term::{FilterState, FilterTest, StatusTest};
use crate::domain::status::RouterStatus;

/// A test of a transaction, or a combination of such tests.
#[derive(Clone, Debug)]
pub enum Expression {
    Test(FilterTest),
    /// Holds if the other expression doesn't hold.
    Not(Box<Expression>),
    /// Holds if every one of the expressions holds; without expressions, always.
    All(Vec<Expression>),
    /// Holds if at least one of the expressions holds.
    Any(Vec<Expression>),
}

impl Expression {
    /// Returns the expression `is:state`.
    pub fn is(state: FilterState) -> Self {
        Self::Test(FilterTest::Is(state))
    }

    /// Returns the expression `-is:state`.
    pub fn is_not(state: FilterState) -> Self {
        Self::is(state).negate_if(true)
    }

    /// Returns the expression `status:name` for a documented status.
    pub fn status(status: RouterStatus) -> Self {
        Self::Test(FilterTest::Status(vec![StatusTest::Documented(status)]))
    }

    /// Returns the expression, negated if `is_negated` is `true`.
    #[must_use]
    pub(super) fn negate_if(self, is_negated: bool) -> Self {
        if is_negated { Self::Not(Box::new(self)) } else { self }
    }

    /// Returns the conjunction of these expressions. One expression is returned unchanged.
    pub(super) fn all(expressions: Vec<Self>) -> Self {
        one_of(expressions).unwrap_or_else(Self::All)
    }

    /// Returns the disjunction of these expressions. One expression is returned unchanged.
    pub(super) fn any(expressions: Vec<Self>) -> Self {
        one_of(expressions).unwrap_or_else(Self::Any)
    }

    /// Returns the expressions that must all hold.
    pub(super) fn into_required(self) -> Vec<Self> {
        match self {
            Self::All(expressions) => expressions,
            other @ (Self::Test(_) | Self::Not(_) | Self::Any(_)) => vec![other],
        }
    }

    /// Whether the expression holds for every transaction.
    pub fn is_always_true(&self) -> bool {
        matches!(self, Self::All(expressions) if expressions.is_empty())
    }

    /// Whether the time alone can change what matches.
    pub(crate) fn depends_on_time(&self) -> bool {
        match self {
            Self::Test(test) => matches!(test, FilterTest::Span(..)),
            Self::Not(part) => part.depends_on_time(),
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::depends_on_time),
        }
    }

    /// Calls `visit` for each test that isn't negated.
    pub(super) fn for_each_positive_test(&self, visit: &mut impl FnMut(&FilterTest)) {
        match self {
            Self::Test(test) => visit(test),
            Self::Not(_) => {}
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.for_each_positive_test(visit)),
        }
    }
}

/// Returns the only expression, or all of them as the error.
fn one_of(expressions: Vec<Expression>) -> Result<Expression, Vec<Expression>> {
    <[Expression; 1]>::try_from(expressions).map(|[only]| only)
}
