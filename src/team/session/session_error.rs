//! Why a session loses its connection.

use crate::{store::StoreError, team::error::TeamError};

/// Why a session lost its connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    #[error(transparent)]
    Team(#[from] TeamError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SessionError {
    /// Whether a retry can succeed without a change by a person.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Team(error) => error.is_transient(),
            Self::Store(error) => {
                let needs_a_person =
                    matches!(error, StoreError::OtherTeam | StoreError::NotReplica | StoreError::NewerFormat { .. });
                !error.is_permanent() && !needs_a_person
            }
        }
    }
}
