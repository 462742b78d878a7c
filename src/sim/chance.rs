//! Seeded dice for the simulated world: the same seed throws the same.
//!
//! It must never draw from anything but its seed.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::domain::ids::{ChainId, TxHash};

const HEX: &[u8] = b"0123456789abcdef";
const UPPER_HEX: &[u8] = b"0123456789ABCDEF";
const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BECH32: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// What a chain's hashes and addresses look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `0x` and hex digits; the chain's ID is a number.
    Evm,
    /// Base58.
    Solana,
    /// Hex digits in capitals; bech32 addresses.
    Cosmos,
}

impl Family {
    /// The family of a chain, by the look of its ID.
    pub fn of(chain: &ChainId) -> Self {
        let id = chain.as_str();
        if id.starts_with("solana") {
            Self::Solana
        } else if id.bytes().all(|byte| byte.is_ascii_digit()) {
            Self::Evm
        } else {
            Self::Cosmos
        }
    }

    /// `chainData.type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Evm => "evm",
            Self::Solana => "solana",
            Self::Cosmos => "cosmos",
        }
    }

    /// `nativeCurrency.decimals`.
    pub fn decimals(self) -> u8 {
        match self {
            Self::Evm => 18,
            Self::Solana => 9,
            Self::Cosmos => 6,
        }
    }
}

/// The dice.
#[derive(Clone, Debug)]
pub struct Chance(Pcg64Mcg);

impl Chance {
    /// Dice of a seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Dice that belong to a text, whatever the world's seed: what a transfer looks like follows from its hash.
    pub fn of(text: &str) -> Self {
        // FNV-1a, since the standard hasher promises nothing between versions.
        let digest = text
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self::seeded(digest)
    }

    /// A number from `low` to below `high`; `low` where there is nothing between them.
    pub fn within(&mut self, low: f64, high: f64) -> f64 {
        low + self.0.random::<f64>() * (high - low).max(0.0)
    }

    /// A whole number from `low` to `high`.
    pub fn whole(&mut self, low: u64, high: u64) -> u64 {
        self.0.random_range(low..=high.max(low))
    }

    /// True in `percent` of a hundred throws.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.whole(0, 99) < percent
    }

    /// An index below `length`, the early ones more often than the late ones.
    pub fn early(&mut self, length: usize) -> usize {
        let place = self.0.random::<f64>().powf(1.5) * length as f64;
        (place as usize).min(length.saturating_sub(1))
    }

    /// A time of settling: lognormal around its median.
    pub fn lognormal(&mut self, median: f64, spread: f64) -> f64 {
        // Twelve uniform throws make a normal one that is good enough here.
        let normal: f64 = (0..12).map(|_| self.0.random::<f64>()).sum::<f64>() - 6.0;
        median * (spread * normal).exp()
    }

    /// A transaction hash in the shape of the chain's family.
    pub fn hash(&mut self, family: Family) -> TxHash {
        TxHash::new(match family {
            Family::Evm => format!("0x{}", self.letters(HEX, 64)),
            Family::Solana => self.letters(BASE58, 88),
            Family::Cosmos => self.letters(UPPER_HEX, 64),
        })
    }

    /// An account's address in the shape of the chain's family.
    pub fn address(&mut self, chain: &ChainId) -> String {
        match Family::of(chain) {
            Family::Evm => format!("0x{}", self.letters(HEX, 40)),
            Family::Solana => self.letters(BASE58, 44),
            Family::Cosmos => {
                let prefix: String = chain.as_str().chars().take_while(char::is_ascii_lowercase).take(5).collect();
                format!("{prefix}1{}", self.letters(BECH32, 38))
            }
        }
    }

    /// 32 hex digits, the look of a quote or a request ID.
    pub fn token(&mut self) -> String {
        self.letters(HEX, 32)
    }

    fn letters(&mut self, alphabet: &[u8], length: usize) -> String {
        let mut letter = || alphabet.get(self.0.random_range(0..alphabet.len())).copied().map_or('0', char::from);
        (0..length).map(|_| letter()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_throws_the_same() {
        let throw = |mut chance: Chance| (chance.token(), chance.whole(1, 6), chance.lognormal(60.0, 0.4));
        assert_eq!(throw(Chance::seeded(7)), throw(Chance::seeded(7)));
        assert_eq!(throw(Chance::of("0xab")), throw(Chance::of("0xab")));
        assert_ne!(throw(Chance::of("0xab")), throw(Chance::of("0xac")));
    }

    #[test]
    fn hashes_and_addresses_look_like_their_chains() {
        let mut chance = Chance::seeded(1);
        assert_eq!(chance.hash(Family::Evm).as_str().len(), 66);
        assert_eq!(chance.hash(Family::Solana).as_str().len(), 88);
        assert!(chance.hash(Family::Cosmos).as_str().bytes().all(|byte| b"0123456789ABCDEF".contains(&byte)));
        assert!(chance.address(&ChainId::new("osmosis-1")).starts_with("osmos1"));
        assert_eq!(chance.address(&ChainId::new("8453")).len(), 42);
    }
}
