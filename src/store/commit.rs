//! The content of a commit. It decides which subscribers the commit wakes.

use super::operations::OperationResult;

/// The content of a commit. Each kind includes the kinds before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CommitContent {
    /// Nothing was written.
    Nothing,
    /// Transactions were polled without changes.
    UnchangedPolls,
    /// Observations changed something.
    Observations,
    /// Anything else was written.
    Everything,
}

impl CommitContent {
    pub(crate) fn of(result: &OperationResult) -> Self {
        match result {
            OperationResult::Observed(observed) if observed.transaction.is_none() => Self::Nothing,
            OperationResult::Observed(observed) if observed.has_changes => Self::Observations,
            OperationResult::Observed(_) => Self::UnchangedPolls,
            OperationResult::Body(_) => Self::Nothing,
            OperationResult::Done
            | OperationResult::Tracked(_)
            | OperationResult::Changed(_)
            | OperationResult::Reversed(_)
            | OperationResult::Dropped(_)
            | OperationResult::Asked(_)
            | OperationResult::Claimed(_) => Self::Everything,
            OperationResult::Replicated(applied) => {
                // The replica's position is written even where no operation changed anything.
                let of_entry = |(_, results): &(_, Vec<_>)| {
                    results.iter().flatten().map(Self::of).fold(Self::UnchangedPolls, Self::max)
                };
                applied.results.iter().map(of_entry).max().unwrap_or(Self::Nothing)
            }
        }
    }
}

/// A commit of the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    /// The commit's number in the store.
    pub(crate) number: i64,
    /// What the commit contains.
    pub(crate) content: CommitContent,
}
