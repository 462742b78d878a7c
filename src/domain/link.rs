//! Which links may be opened: http and https only, without user info, in plain ASCII (`cases.md` 54).
//!
//! Whatever opens a link asks here first. It must never correct one: what isn't allowed is shown and copied, not opened.

/// Why a link is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Another scheme, or none; also what a program would take for an option.
    #[error("it is no http or https link")]
    NotWeb,
    /// `https://user:word@host`: what stands before the `@` is meant to deceive, or secret.
    #[error("it carries user info before its host")]
    UserInfo,
    /// Nothing between the slashes.
    #[error("it names no host")]
    NoHost,
    /// Blanks, control characters, quotes, backslashes, letters beyond ASCII.
    #[error("it holds a character that no link has")]
    Character,
}

/// A link that may be opened, as it is.
///
/// # Errors
/// If it may not.
pub fn check(link: &str) -> Result<&str, LinkError> {
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

/// The characters of RFC 3986, and no other. A backslash isn't one of them: browsers take it for a slash.
fn is_legal(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(letter)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn links_of_explorers_may_be_opened() {
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
    fn what_could_act_is_not_opened() {
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
        fn what_is_opened_is_plain(link in "(https?://)?[ -~\u{202e}@\\\\]{0,20}") {
            if let Ok(link) = check(&link) {
                prop_assert!(link.starts_with("http") && link.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}
