//! Seeded random numbers for the simulated world: the same seed gives the same numbers.
//!
//! The numbers must never depend on anything but the seed.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::domain::ids::{ChainId, TxHash};

const HEX: &[u8] = b"0123456789abcdef";
const UPPER_HEX: &[u8] = b"0123456789ABCDEF";
const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BECH32: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// The form of a chain's hashes and addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChainFamily {
    /// `0x` and hex digits; the chain's ID is a number.
    Evm,
    /// Base58.
    Solana,
    /// Upper-case hex digits; bech32 addresses.
    Cosmos,
}

impl ChainFamily {
    /// Returns the family of a chain, judged by the form of the chain's ID.
    pub(super) fn of(chain: &ChainId) -> Self {
        let id = chain.as_str();
        if id.starts_with("solana") {
            Self::Solana
        } else if id.bytes().all(|byte| byte.is_ascii_digit()) {
            Self::Evm
        } else {
            Self::Cosmos
        }
    }

    /// Returns the value of `chainData.type`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Evm => "evm",
            Self::Solana => "solana",
            Self::Cosmos => "cosmos",
        }
    }

    /// Returns the value of `nativeCurrency.decimals`.
    pub(super) fn decimals(self) -> u8 {
        match self {
            Self::Evm => 18,
            Self::Solana => 9,
            Self::Cosmos => 6,
        }
    }
}

/// A random number generator.
#[derive(Clone, Debug)]
pub(super) struct RandomValues(Pcg64Mcg);

impl RandomValues {
    pub(super) fn seeded(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Creates a generator from a text, independent of the world's seed: a transfer's values depend on its hash alone.
    pub(super) fn of(text: &str) -> Self {
        // FNV-1a, because the standard hasher may change between versions.
        let digest = text
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Self::seeded(digest)
    }

    /// Returns a number from `low` to below `high`; `low` if there is nothing between them.
    pub(super) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + self.0.random::<f64>() * (high - low).max(0.0)
    }

    /// Returns a whole number from `low` to `high`, inclusive.
    pub(super) fn whole(&mut self, low: u64, high: u64) -> u64 {
        self.0.random_range(low..=high.max(low))
    }

    /// Returns true with a probability of `percent` in 100.
    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.whole(0, 99) < percent
    }

    /// Returns an index below `length`. Low indexes are more probable.
    pub(super) fn low_index(&mut self, length: usize) -> usize {
        let index = self.0.random::<f64>().powf(1.5) * length as f64;
        (index as usize).min(length.saturating_sub(1))
    }

    /// Returns a settling time, lognormally distributed around `median`.
    pub(super) fn lognormal(&mut self, median: f64, spread: f64) -> f64 {
        // The sum of twelve uniform numbers is close enough to a normal distribution here.
        let normal: f64 = (0..12).map(|_| self.0.random::<f64>()).sum::<f64>() - 6.0;
        median * (spread * normal).exp()
    }

    /// Returns a transaction hash in the form of the chain's family.
    pub(super) fn hash(&mut self, family: ChainFamily) -> TxHash {
        TxHash::new(match family {
            ChainFamily::Evm => format!("0x{}", self.letters(HEX, 64)),
            ChainFamily::Solana => self.letters(BASE58, 88),
            ChainFamily::Cosmos => self.letters(UPPER_HEX, 64),
        })
    }

    /// Returns an account's address in the form of the chain's family.
    pub(super) fn address(&mut self, chain: &ChainId) -> String {
        match ChainFamily::of(chain) {
            ChainFamily::Evm => format!("0x{}", self.letters(HEX, 40)),
            ChainFamily::Solana => self.letters(BASE58, 44),
            ChainFamily::Cosmos => {
                let prefix: String = chain.as_str().chars().take_while(char::is_ascii_lowercase).take(5).collect();
                format!("{prefix}1{}", self.letters(BECH32, 38))
            }
        }
    }

    /// Returns 32 hex digits, the form of a quote ID or a request ID.
    pub(super) fn token(&mut self) -> String {
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
    fn same_seed_gives_the_same_numbers() {
        let draw = |mut random: RandomValues| (random.token(), random.whole(1, 6), random.lognormal(60.0, 0.4));
        assert_eq!(draw(RandomValues::seeded(7)), draw(RandomValues::seeded(7)));
        assert_eq!(draw(RandomValues::of("0xab")), draw(RandomValues::of("0xab")));
        assert_ne!(draw(RandomValues::of("0xab")), draw(RandomValues::of("0xac")));
    }

    #[test]
    fn hashes_and_addresses_have_the_form_of_their_chain() {
        let mut random = RandomValues::seeded(1);
        assert_eq!(random.hash(ChainFamily::Evm).as_str().len(), 66);
        assert_eq!(random.hash(ChainFamily::Solana).as_str().len(), 88);
        assert!(random.hash(ChainFamily::Cosmos).as_str().bytes().all(|byte| b"0123456789ABCDEF".contains(&byte)));
        assert!(random.address(&ChainId::new("osmosis-1")).starts_with("osmos1"));
        assert_eq!(random.address(&ChainId::new("8453")).len(), 42);
    }
}
