//! Reads a request to the status endpoint: a URL, or a curl command.
//!
//! It must never run a program. The only shell syntax that it knows is the end of a word.

use percent_encoding::percent_decode_str;

use super::fields::{Field, RawRow};

/// The parameters of a request (`service.md` 4.1).
const PARAMETERS: [Field; 5] =
    [Field::TransactionId, Field::FromChainId, Field::ToChainId, Field::QuoteId, Field::RequestId];

/// Returns the parameters in a line, if a transaction ID is one of them.
pub(super) fn read(line: &str) -> Option<RawRow<'static>> {
    let mut row = RawRow::default();
    for field in PARAMETERS {
        if let Some(value) = find_parameter(line, field.name()) {
            row.set(field, percent_decode_str(value).decode_utf8_lossy().into_owned());
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
        let odd = "transactionId=%4%zz%41%&fromChainId=1&toChainId=10&quoteId=q";
        assert_eq!(read(odd).unwrap().get(Field::TransactionId).unwrap(), "%4%zzA%");
    }
}
