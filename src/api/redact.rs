//! Taking the integrator ID out of what the service sent back (`DESIGN.md`, Secrets).
//!
//! A service may echo the header in an error or in the record's `integratorId`. What this lets through must hold the ID
//! in no spelling.

use serde::{Serialize, de::DeserializeOwned};

use crate::domain::{
    observation::{Failure, Outcome},
    secret::IntegratorId,
};

/// `text` without the ID, as it stands or as JSON writes it.
pub fn text(id: &IntegratorId, text: String) -> String {
    let quoted = |raw: &str| serde_json::Value::from(raw).to_string().trim_matches('"').to_owned();
    // `trim_matches` also takes a quote off that belongs to the ID; the rest is still found.
    let (spelled, shown) = (quoted(id.expose()), quoted(&id.last4()));
    let mut text = text;
    for spelling in [spelled.replace('/', "\\/"), spelled] {
        if spelling != id.expose() && text.contains(&spelling) {
            text = text.replace(&spelling, &shown);
        }
    }
    id.redact(text)
}

/// A value without the ID in any of its texts; `None` if it can't be had without.
pub fn rewritten<T: Serialize + DeserializeOwned>(id: &IntegratorId, value: T) -> Option<T> {
    let written = serde_json::to_string(&value).ok()?;
    let redacted = text(id, written.clone());
    if redacted == written { Some(value) } else { serde_json::from_str(&redacted).ok() }
}

/// `outcome` without the ID, also where an escape such as `\u0063` or the sanitiser has only now put it together.
pub fn outcome(id: &IntegratorId, outcome: Outcome) -> Outcome {
    let failure = match outcome {
        Outcome::Record(record) => {
            let told = rewritten(id, record).map(Outcome::Record);
            let hidden = "it repeats the integrator ID where that can't be taken out";
            return told.unwrap_or_else(|| Outcome::Failed(Failure::Unreadable(hidden.into())));
        }
        Outcome::NotFound(said) => return Outcome::NotFound(said.map(|said| text(id, said))),
        Outcome::Failed(failure) => match failure {
            Failure::Rejected(said) => Failure::Rejected(text(id, said)),
            Failure::Unauthorized(said) => Failure::Unauthorized(text(id, said)),
            Failure::Server { status, message } => Failure::Server { status, message: text(id, message) },
            Failure::Unreadable(said) => Failure::Unreadable(text(id, said)),
            Failure::OtherTransaction(said) => Failure::OtherTransaction(text(id, said)),
            Failure::Transport(said) => Failure::Transport(text(id, said)),
            silent @ (Failure::Throttled { .. } | Failure::TimedOut(_)) => silent,
        },
    };
    Outcome::Failed(failure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{record::StatusRecord, status::RouterStatus};

    #[test]
    fn every_spelling_of_the_id_goes() {
        let id = IntegratorId::new(r#"can"ary\integ/rator-7f3a"#).unwrap();
        for spelling in
            [r#"can"ary\integ/rator-7f3a"#, r#"can\"ary\\integ/rator-7f3a"#, r#"can\"ary\\integ\/rator-7f3a"#]
        {
            assert_eq!(text(&id, format!("a {spelling} b")), "a …7f3a b");
        }
        assert_eq!(text(&id, "nothing".into()), "nothing");
    }

    #[test]
    fn outcomes_lose_the_id_and_keep_the_rest() {
        let id = IntegratorId::new("canary-integrator-7f3a").unwrap();
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        record.error = Some("id canary-integrator-7f3a is slow".into());
        let Outcome::Record(redacted) = outcome(&id, Outcome::Record(Box::new(record))) else { panic!() };
        assert_eq!((redacted.error.as_deref(), redacted.status), (Some("id …7f3a is slow"), RouterStatus::Ongoing));
        let refused = Outcome::Failed(Failure::Unauthorized("canary-integrator-7f3a is unknown".into()));
        assert_eq!(outcome(&id, refused), Outcome::Failed(Failure::Unauthorized("…7f3a is unknown".into())));
    }
}
