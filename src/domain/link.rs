//! Decides which links may be opened: http and https only, without user info, in plain ASCII (`cases.md` 54).
//!
//! A link must pass this check before it is opened. A link must never be corrected: a refused link is shown and copied.

/// Why a link is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LinkError {
    /// Another scheme or none; this includes text that a program would take for an option.
    #[error("it is not an http or https link")]
    NotWeb,
    /// `https://user:word@host`: text before the `@` is deceptive or secret.
    #[error("it has a user name or password before the host")]
    UserInfo,
    /// No host between the slashes.
    #[error("it has no host")]
    NoHost,
    /// A blank, control character, quote, backslash or character beyond ASCII.
    #[error("it contains a character that is not allowed in a link")]
    Character,
}

/// Returns the link unchanged if it may be opened.
///
/// # Errors
/// If the link must not be opened.
pub(crate) fn check(link: &str) -> Result<&str, LinkError> {
    if !link.chars().all(is_legal) {
        return Err(LinkError::Character);
    }
    let (scheme, rest) = link.split_once("://").ok_or(LinkError::NotWeb)?;
    if !["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web)) {
        return Err(LinkError::NotWeb);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err(LinkError::UserInfo);
    }
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    if host.is_empty() { Err(LinkError::NoHost) } else { Ok(link) }
}

/// Whether RFC 3986 allows a character. A backslash is not allowed: browsers take it for a slash.
fn is_legal(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(letter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn explorer_links_may_be_opened() {
        for link in [
            "https://arbiscan.example/tx/0x9f3c?tab=logs#event-4",
            "http://127.0.0.1:8080/tx/1",
            "HTTPS://[2001:db8::1]:8443/a%20b",
            "https://explorer.example",
            "https://explorer.example/tx/a@b",
        ] {
            assert_eq!(check(link), Ok(link));
        }
    }

    #[test]
    fn dangerous_links_are_refused() {
        let table = [
            ("javascript:alert(1)", LinkError::NotWeb),
            ("javascript://x.example/%0aalert(1)", LinkError::NotWeb),
            ("file:///etc/passwd", LinkError::NotWeb),
            ("data:text/html,x", LinkError::NotWeb),
            ("-flag", LinkError::NotWeb),
            ("--https://x.example", LinkError::NotWeb),
            ("", LinkError::NotWeb),
            ("https:x.example", LinkError::NotWeb),
            ("https://user:word@x.example/", LinkError::UserInfo),
            ("https://x.example@evil.example", LinkError::UserInfo),
            ("https://", LinkError::NoHost),
            ("https:///path", LinkError::NoHost),
            ("https://:80/", LinkError::NoHost),
            (" https://x.example", LinkError::Character),
            ("https://x.example/a b", LinkError::Character),
            ("https://x.example\\@evil.example", LinkError::Character),
            ("https://x.example/\u{1b}]0;x", LinkError::Character),
            ("https://x.example/\n-flag", LinkError::Character),
            ("https://x.example/\"&calc", LinkError::Character),
            ("https://x.example/`id`", LinkError::Character),
            ("https://аррӏе.example", LinkError::Character),
            ("https://x.example/cut…", LinkError::Character),
        ];
        for (link, error) in table {
            assert_eq!(check(link), Err(error), "{link}");
        }
    }

    proptest! {
        #[test]
        fn accepted_links_are_plain_ascii(link in "(https?://)?[ -~\u{202e}@\\\\]{0,20}") {
            if let Ok(link) = check(&link) {
                prop_assert!(link.starts_with("http") && link.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}
