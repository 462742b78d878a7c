//! The tickets and labels that there are, by how they begin: for completion.
//!
//! It steps from one name to the next in their index, so that one which a hundred thousand share costs no more than another.

use rusqlite::Connection;

use super::error::StoreError;
use crate::domain::filter::Named;

/// At most so many that begin with a text, without case, in their order.
pub(super) fn beginning(db: &Connection, of: Named, text: &str, most: usize) -> Result<Vec<String>, StoreError> {
    let mut statement = db.prepare_cached(&sql(of))?;
    let rows = statement.query_map((text, most), |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn sql(of: Named) -> String {
    let (table, column) = match of {
        Named::Ticket => ("transactions", "ticket"),
        Named::Label => ("labels", "label"),
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

#[cfg(test)]
mod tests {
    use super::{super::connection, *};

    #[test]
    fn an_index_leads_from_one_name_to_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let store = super::super::Store::open(&folder.path().join("hoptop.db")).unwrap();
        let db = connection::open_for_reading(store.path()).unwrap();
        for (of, index) in [(Named::Ticket, "transactions_by_ticket"), (Named::Label, "labels_by_label")] {
            let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {}", sql(of))).unwrap();
            let plan: Vec<String> =
                statement.query_map(("", 9), |row| row.get(3)).unwrap().map(Result::unwrap).collect();
            let of_table: Vec<_> = plan.iter().filter(|step| step.starts_with("SEARCH")).collect();
            assert!(of_table.len() == 2 && of_table.iter().all(|step| step.contains(index)), "{plan:?}");
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:?}");
        }
    }
}
