//! Reads a request to the status endpoint: a URL, or a curl command.
//!
//! It must never run a program. The only shell syntax that it knows is the end of a word.

use percent_encoding::percent_decode_str;

use super::fields::{Field, RawRow};

/// The parameters of a request (`service.md` 4.1).
const PARAMETERS: [Field; 5] =
    [Field::TransactionId, Field::FromChainId, Field::ToChainId, Field::QuoteId, Field::RequestId];

/// Returns the parameters in a line, if a transaction ID is one of them. A line with several requests has none: their
/// parameters can't be told apart.
pub(super) fn read(line: &str) -> Option<RawRow<'static>> {
    let mut ids = parameters(line, Field::TransactionId.name());
    let first = ids.next()?;
    if ids.any(|id| id != first) {
        return None;
    }
    let mut row = RawRow::default();
    for field in PARAMETERS {
        if let Some(value) = parameters(line, field.name()).next() {
            row.set(field, percent_decode_str(value).decode_utf8_lossy().into_owned());
        }
    }
    row.get(Field::TransactionId)?;
    Some(row)
}

/// Returns the raw values of the parameters with this name, without the text around the request.
fn parameters<'a>(line: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let starts_name = |at: &usize| !line.get(..*at).is_some_and(|before| before.ends_with(char::is_alphanumeric));
    let names = line.match_indices(name).map(|(at, _)| at).filter(starts_name);
    let values = names.filter_map(|at| line.get(at + name.len()..)?.strip_prefix('='));
    // A caret continues a line of Windows.
    let ends_value = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, '&' | '"' | '\'' | '\\' | '#' | '`' | ')' | '>' | ']' | ',' | ';' | '^')
    };
    values.filter_map(move |value| value.split(ends_value).next()).map(|value| value.trim_end_matches('.'))
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
        for around in ["[x](https://a.example?{})", "<https://a.example?{}>", "{}.", "{}, sent", "curl \"{}^\" ^"] {
            let row = read(&around.replace("{}", "transactionId=0xab&quoteId=5f2a")).unwrap();
            assert_eq!(row.get(Field::QuoteId), Some("5f2a"), "{around}");
        }
        let log = read("transactionId=0xab, fromChainId=1; quoteId=q").unwrap();
        assert_eq!([Field::TransactionId, Field::FromChainId].map(|field| log.get(field).unwrap()), ["0xab", "1"]);
        assert!(read("transactionId=0xab&fromChainId=1 transactionId=0xcd&quoteId=q").is_none());
        assert!(read("https://scan.example/?otherTransactionId=1&id=0xab").is_none());
        assert!(read("transactionId=&fromChainId=1").is_none());
        let odd = "transactionId=%4%zz%41%&fromChainId=1&toChainId=10&quoteId=q";
        assert_eq!(read(odd).unwrap().get(Field::TransactionId).unwrap(), "%4%zzA%");
    }
}
