//! Makes a copy of a store light: leaves the bodies of answers in the team's log.

use rusqlite::Connection;

use crate::{
    domain::ids::RowId,
    store::{
        error::Result,
        statement::CachedStatements,
        tables::{observations, records, transactions},
    },
};

/// Replaces the bodies of answers in a snapshot by their digests. Costs O(n) in the answers.
pub(crate) fn leave_bodies_out(snapshot: &mut Connection) -> Result<()> {
    let rows = |sql| snapshot.all(sql, [], |row| row.get::<_, i64>(0));
    // A record must not depend on a body that is left out, and a body is read before the earlier body that is its base.
    let records = rows("SELECT transaction_row FROM records WHERE record_base IS NOT NULL")?;
    let last = rows("SELECT transaction_row FROM records WHERE body IS NOT NULL")?;
    let answers = rows("SELECT id FROM observations WHERE body IS NOT NULL ORDER BY id DESC")?;
    let db = snapshot.transaction()?;
    for row in records {
        if let Some(header) = transactions::header(&db, RowId(row))? {
            records::pack_without_base(&db, &transactions::whole(&db, header)?)?;
        }
    }
    for row in last {
        records::leave_body_out(&db, RowId(row))?;
    }
    for id in answers {
        observations::leave_body_out(&db, id)?;
    }
    db.commit()?;
    Ok(snapshot.execute_batch("VACUUM")?)
}
