//! Reads a request to the status endpoint: a URL, or a curl command.
//!
//! It must never run a program. The only shell syntax that it knows is the end of a word.

use super::fields::{Field, RawRow};

/// The parameters of a request (`service.md` 4.1).
const PARAMETERS: [Field; 5] =
    [Field::TransactionId, Field::FromChainId, Field::ToChainId, Field::QuoteId, Field::RequestId];

/// Returns the parameters in a line, if a transaction ID is one of them.
pub(super) fn read(line: &str) -> Option<RawRow<'static>> {
    let mut row = RawRow::default();
    for field in PARAMETERS {
        if let Some(value) = find_parameter(line, field.name()) {
            row.set(field, percent_decode(value));
        }
    }
    row.get(Field::TransactionId)?;
    Some(row)
}

/// Returns the raw value of the first parameter with this name.
fn find_parameter<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let starts_name = |at: &usize| !line.get(..*at).is_some_and(|before| before.ends_with(char::is_alphanumeric));
    let values = line.match_indices(name).map(|(at, _)| at).filter(starts_name);
    let value = values.filter_map(|at| line.get(at + name.len()..)?.strip_prefix('=')).next()?;
    let ends_value = |letter: char| letter.is_whitespace() || matches!(letter, '&' | '"' | '\'' | '\\' | '#' | '`');
    value.split(ends_value).next()
}

/// Returns the value with percent-encoding (`%41`) decoded. Invalid encodings stay as they are.
fn percent_decode(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_in_a_url_and_in_a_curl_command() {
        let table = [
            "https://api.example/v2/status?transactionId=0xab&fromChainId=1&toChainId=osmosis%2D1&quoteId=q%20x#top",
            "curl -G 'https://api.example/v2/status' -d transactionId=0xab -d 'fromChainId=1' --data-urlencode \
             \"toChainId=osmosis-1\" -d quoteId=q%20x",
        ];
        for line in table {
            let row = read(line).unwrap();
            let values = [Field::TransactionId, Field::FromChainId, Field::ToChainId, Field::QuoteId];
            assert_eq!(values.map(|field| row.get(field).unwrap()), ["0xab", "1", "osmosis-1", "q x"], "{line}");
        }
        assert!(read("https://scan.example/?otherTransactionId=1&id=0xab").is_none());
        assert!(read("transactionId=&fromChainId=1").is_none());
        assert_eq!(percent_decode("%4%zz%41%"), "%4%zzA%");
    }
}
