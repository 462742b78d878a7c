//! The `chains` table: the newest description of each chain from the service.

use std::{cell::RefCell, collections::VecDeque, rc::Rc, sync::LazyLock};

use chrono::{DateTime, Utc};
use rusqlite::{Connection, params};

use super::columns;
use crate::{
    domain::{chain_config::ChainConfig, ids::ChainId},
    store::{error::Result, reader::Reader, row_checksum, statement::CachedStatements},
};

/// The columns of the checksum.
pub(crate) const CHECKED: &str = "profile, id, name, config, learned_at";

/// Writes a chain's description if it differs from the stored one, or if the stored one is damaged. A description
/// without a name never replaces a description with a name.
pub(crate) fn save(db: &Connection, profile: &str, config: &ChainConfig, at: DateTime<Utc>) -> Result<()> {
    // Nearly every answer describes known chains: for these nothing is written, and one checksum is computed.
    static IS_KNOWN: LazyLock<String> = LazyLock::new(|| {
        let is_damaged = row_checksum::is_damaged(CHECKED);
        format!(
            "SELECT 1 FROM chains WHERE profile = ?1 AND id = ?2
                 AND (config = ?4 OR (?3 IS NULL AND name IS NOT NULL)) AND ({is_damaged}) IS NOT TRUE"
        )
    });
    let written = to_json(config)?;
    let id = config.id.as_str();
    if db.has_row(&IS_KNOWN, params![profile, id, config.name, written])? {
        return Ok(());
    }
    let sql = "INSERT INTO chains (profile, id, name, config, learned_at, checksum)
               VALUES (?1, ?2, ?3, ?4, ?5, row_checksum(?1, ?2, ?3, ?4, ?5))
               ON CONFLICT (profile, id) DO UPDATE SET (name, config, learned_at, checksum) =
                   (excluded.name, excluded.config, excluded.learned_at, excluded.checksum)";
    db.run(sql, params![profile, id, config.name, written, columns::moment(at)])
}

/// The number of chains whose JSON is remembered: more than one profile's answers describe at a time.
const REMEMBERED: usize = 16;

thread_local! {
    /// The descriptions that were serialised last, with their JSON: answers describe the same few chains again and
    /// again.
    static SERIALISED: RefCell<VecDeque<(ChainConfig, Rc<str>)>> = const { RefCell::new(VecDeque::new()) };
}

fn to_json(config: &ChainConfig) -> Result<Rc<str>> {
    SERIALISED.with_borrow_mut(|known| {
        if let Some((_, json)) = known.iter().find(|(known, _)| known == config) {
            return Ok(Rc::clone(json));
        }
        let json: Rc<str> = columns::to_json(config)?.into();
        known.truncate(REMEMBERED - 1);
        known.push_front((config.clone(), Rc::clone(&json)));
        Ok(json)
    })
}

impl Reader {
    /// Returns the service's description of a chain.
    pub fn chain(&self, profile: &str, id: &ChainId) -> Result<Option<ChainConfig>> {
        let sql = "SELECT config FROM chains WHERE profile = ? AND id = ?";
        let config = self.db().first(sql, params![profile, id.as_str()], |row| columns::lenient::<String>(row, 0))?;
        Ok(config.and_then(|config| columns::parse_or_omit(&config, format_args!("the description of a chain"))))
    }
}
