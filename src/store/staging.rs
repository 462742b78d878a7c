//! Where the rows of a file wait until the whole file was read, so that the store is touched only when all of it is fine.
//!
//! They are put away by a thread of their own, beside the reading. It must never hold more than a few portions of them.

use std::{
    io, mem,
    sync::mpsc::{self, Receiver, SyncSender},
    thread::{self, JoinHandle},
};

use super::{
    error::StoreError,
    staged::{Duplicate, Staged},
};
use crate::domain::transaction::NewTransaction;

/// Enough that handing them on costs nothing, and few enough to take no room.
const ROWS: usize = 500;

/// Rows, each with where it stands in its file.
type Portion = Vec<(String, NewTransaction)>;

/// Takes the rows of a file, in their order.
pub struct Staging {
    portion: Portion,
    portions: SyncSender<Portion>,
    /// Until it has ended.
    keeper: Option<JoinHandle<Result<Staged, StoreError>>>,
}

impl Staging {
    /// An empty one, in the folder for temporary files.
    pub fn new() -> Result<Self, StoreError> {
        let staged = Staged::new()?;
        let (portions, inbox) = mpsc::sync_channel(2);
        let keeper = thread::Builder::new().name("staging".into()).spawn(move || keep(staged, &inbox));
        Ok(Self { portion: Vec::new(), portions, keeper: Some(keeper.map_err(StoreError::Thread)?) })
    }

    /// Takes a row; `place` says in words where in its file it stands. That there is no room for one may show with a later one.
    pub fn put(&mut self, place: String, new: NewTransaction) -> Result<(), StoreError> {
        self.portion.push((place, new));
        if self.portion.len() < ROWS { Ok(()) } else { self.hand_on() }
    }

    /// After the last row: sees that no transaction is left twice, and tells of each that was, in the order of the file.
    pub fn settle(mut self, tell: &mut dyn FnMut(Duplicate)) -> Result<Staged, StoreError> {
        self.hand_on()?;
        let Self { portions, keeper, .. } = self;
        drop(portions);
        let mut staged = end(keeper)?;
        staged.settle(tell)?;
        Ok(staged)
    }

    fn hand_on(&mut self) -> Result<(), StoreError> {
        let portion = mem::replace(&mut self.portion, Portion::with_capacity(ROWS));
        // Nobody takes them any more: there is a reason.
        self.portions.send(portion).or_else(|_| end(self.keeper.take()).map(drop))
    }
}

/// Puts rows away until there are no more, or there is no room.
fn keep(mut staged: Staged, inbox: &Receiver<Portion>) -> Result<Staged, StoreError> {
    for portion in inbox {
        for (place, new) in portion {
            staged.put(&place, &new)?;
        }
    }
    Ok(staged)
}

/// What the thread that puts them away came to.
fn end(keeper: Option<JoinHandle<Result<Staged, StoreError>>>) -> Result<Staged, StoreError> {
    let ended = keeper.and_then(|keeper| keeper.join().ok());
    ended.unwrap_or_else(|| Err(StoreError::Staging(io::Error::other("what puts the rows away has broken down"))))
}
