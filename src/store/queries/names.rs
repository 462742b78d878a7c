//! Tickets, labels, people and profiles by prefix, for completion.
//!
//! A query steps from one distinct name to the next in an index. A name shared by 100,000 transactions costs no more
//! than any other name. People are the authors of edits. Profiles are those with polled transactions, and those with a
//! report of a poller.

use crate::{
    domain::filter::NameKind,
    store::{
        error::Result,
        reader::Reader,
        statement::CachedStatements,
        tables::{columns, transactions::POLLED},
    },
};

impl Reader {
    /// Returns at most `limit` tickets, labels, people or profiles that begin with a text, without case, in
    /// alphabetical order.
    pub fn names(&self, kind: NameKind, beginning: &str, limit: usize) -> Result<Vec<String>> {
        self.db().all(&sql(kind), (beginning, limit), |row| columns::lenient(row, 0))
    }
}

fn sql(kind: NameKind) -> String {
    let (table, column) = match kind {
        NameKind::Ticket => ("transactions", "ticket"),
        NameKind::Label => ("labels", "label"),
        NameKind::Person => ("edits", "author"),
        NameKind::Profile => return profiles(),
    };
    let next = |bound: &str| {
        format!(
            "(SELECT {column} FROM {table} WHERE {column} IS NOT NULL AND {column} {bound} COLLATE NOCASE
              ORDER BY {column} COLLATE NOCASE LIMIT 1)"
        )
    };
    let begins = "substr(name, 1, length(?1)) = ?1 COLLATE NOCASE";
    let (first, after) = (next(">= ?1"), next("> names.name"));
    format!(
        "WITH RECURSIVE names(name) AS (SELECT {first} UNION ALL SELECT {after} FROM names WHERE {begins})
         SELECT name FROM names WHERE {begins} LIMIT ?2"
    )
}

fn profiles() -> String {
    let next = |bound: &str| format!("(SELECT min(profile) FROM transactions WHERE {POLLED} {bound})");
    let (first, after) = (next(""), next("AND profile > polled.name"));
    format!(
        "WITH RECURSIVE polled(name) AS (SELECT {first} UNION ALL SELECT {after} FROM polled WHERE name IS NOT NULL)
         SELECT name FROM (SELECT name FROM polled WHERE name IS NOT NULL UNION SELECT profile FROM pollers)
         WHERE substr(name, 1, length(?1)) = ?1 COLLATE NOCASE ORDER BY name COLLATE NOCASE LIMIT ?2"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, file::connection};

    #[test]
    fn names_are_read_by_index() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        let db = connection::open_for_reading(store.path()).unwrap();
        let indexes = [
            (NameKind::Ticket, "transactions_by_ticket"),
            (NameKind::Label, "labels_by_label"),
            (NameKind::Person, "edits_by_name"),
            (NameKind::Profile, "transactions_polled"),
        ];
        for (kind, index) in indexes {
            let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {}", sql(kind))).unwrap();
            let plan: Vec<String> =
                statement.query_map(("", 9), |row| row.get(3)).unwrap().map(Result::unwrap).collect();
            let of_table: Vec<_> = plan.iter().filter(|step| step.starts_with("SEARCH")).collect();
            assert!(of_table.len() == 2 && of_table.iter().all(|step| step.contains(index)), "{plan:?}");
            // Profiles are few, so that they may be sorted.
            assert!(kind == NameKind::Profile || !plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:?}");
        }
    }
}
