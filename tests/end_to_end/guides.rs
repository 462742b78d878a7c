//! The guides: `hoptop help TOPIC` in a pipe and on a terminal, and the links of the README and the guides.

use std::{collections::HashSet, path::Path};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{
    common::Home,
    readme::{Document, documents},
    session::Session,
};

#[test]
fn guides_are_printed_unchanged_in_a_pipe_and_commands_keep_their_help() {
    let home = Home::new();
    for topic in ["support", "integrators", "operators", "team"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("assets/docs/{topic}.md"));
        let shown = home.run(&["help", topic]);
        assert_eq!((shown.code, shown.out), (Some(0), std::fs::read_to_string(path).unwrap()), "{topic}");
    }
    let watch = home.run(&["help", "watch"]);
    assert!(watch.code == Some(0) && watch.out.contains("Usage: hoptop watch"), "{watch:?}");
    let all = home.run(&["help"]);
    assert!(all.code == Some(0) && all.out.contains("hoptop help TOPIC"), "{all:?}");
}

#[test]
fn unknown_topic_is_wrong_usage_and_names_the_topics() {
    let shown = Home::new().run(&["help", "suport"]);
    assert_eq!((shown.code, shown.out.as_str()), (Some(2), ""), "{shown:?}");
    for word in ["`suport`", "support", "integrators", "operators", "team", "keys", "hoptop --help"] {
        assert!(shown.err.contains(word), "{word}: {shown:?}");
    }
}

#[test]
fn guide_on_a_terminal_is_text_without_markers() {
    let session = Session::start(&Home::new().command(&["help", "integrators"]), (60, 40));
    let (status, output) = session.end();
    assert_eq!(status.exit_code(), 0);
    assert!(output.contains("\u{1b}[1mhoptop for integrators\u{1b}[0m"), "{output}");
    assert!(output.contains("hoptop help operators") && !output.contains("]("), "{output}");
    let is_marker = |line: &str| line.starts_with("# ") || line.starts_with("| ") || line.starts_with("```");
    assert!(!output.lines().any(is_marker), "{output}");
}

#[test]
fn readme_has_at_most_two_screens() {
    let documents = documents();
    let lines = documents[0].text.lines().count();
    assert!(documents[0].path == Path::new("README.md") && lines <= 100, "{lines}");
}

/// The links and the anchors of a document.
#[derive(Default)]
struct Links {
    addresses: Vec<String>,
    anchors: HashSet<String>,
}

impl Links {
    fn of(document: &Document) -> Self {
        let mut links = Self::default();
        let mut heading = None;
        for event in Parser::new_ext(&document.text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    links.addresses.push(dest_url.to_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => links.anchors.extend(heading.take().map(|text| anchor(&text))),
                Event::Text(text) | Event::Code(text) => heading.iter_mut().for_each(|title| title.push_str(&text)),
                _ => {}
            }
        }
        links
    }
}

/// Returns the anchor that sites for source code give to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn links_of_the_readme_and_the_guides_lead_to_files_and_headings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let documents = documents();
    let find = |path: &Path| {
        let same = |document: &&Document| root.join(&document.path).canonicalize().unwrap() == path;
        documents.iter().find(same).map(Links::of)
    };
    let mut checked = 0;
    for document in &documents {
        let folder = root.join(&document.path).parent().unwrap().to_owned();
        for address in Links::of(document).addresses.iter().filter(|address| !address.contains("://")) {
            let (file, fragment) = address.split_once('#').unwrap_or((address, ""));
            let path = if file.is_empty() { root.join(&document.path) } else { folder.join(file) };
            let place = format!("{}: {address}", document.path.display());
            let path = path.canonicalize().unwrap_or_else(|_| panic!("{place} names no file"));
            if !fragment.is_empty() {
                let target = find(&path).unwrap_or_else(|| panic!("{place} is no document"));
                assert!(target.anchors.contains(fragment), "{place} names no heading");
            }
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} links were found");
}
