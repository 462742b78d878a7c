//! The tickets, labels and profiles that there are, by how they begin: for completion.
//!
//! A query steps from one name to the next in their index, so that a name which a hundred thousand transactions share costs no
//! more than another. Profiles are those of what is polled, and those that have ever been polled.

use crate::{
    domain::filter::Named,
    store::{error::StoreError, reader::Reader, tables::transactions::POLLED},
};

impl Reader {
    /// At most so many tickets, labels or profiles that begin with a text, without case, in their order.
    pub fn names(&self, of: Named, beginning: &str, most: usize) -> Result<Vec<String>, StoreError> {
        let mut statement = self.db().prepare_cached(&sql(of))?;
        let rows = statement.query_map((beginning, most), |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn sql(of: Named) -> String {
    let (table, column) = match of {
        Named::Ticket => ("transactions", "ticket"),
        Named::Label => ("labels", "label"),
        Named::Profile => return profiles(),
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
    fn an_index_leads_from_one_name_to_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
        let db = connection::open_for_reading(store.path()).unwrap();
        let indexes = [
            (Named::Ticket, "transactions_by_ticket"),
            (Named::Label, "labels_by_label"),
            (Named::Profile, "transactions_polled"),
        ];
        for (of, index) in indexes {
            let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {}", sql(of))).unwrap();
            let plan: Vec<String> =
                statement.query_map(("", 9), |row| row.get(3)).unwrap().map(Result::unwrap).collect();
            let of_table: Vec<_> = plan.iter().filter(|step| step.starts_with("SEARCH")).collect();
            assert!(of_table.len() == 2 && of_table.iter().all(|step| step.contains(index)), "{plan:?}");
            // Of all profiles, which are few, it takes the first.
            assert!(of == Named::Profile || !plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:?}");
        }
    }
}
