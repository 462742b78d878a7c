//! Bodies as lines: order, duplicate keys, depth, changes, and bodies that no service should send.

use proptest::prelude::*;

use super::*;

/// Returns each line as `mark depth text`.
fn shown(json_tree: &JsonTree) -> Vec<String> {
    let line = |line: &TreeLine| format!("{}{} {}", line.mark.symbol(), line.depth, json_tree.excerpt(line, 200));
    json_tree.lines().iter().map(line).collect()
}

#[test]
fn lines_keep_the_body_s_own_order_letters_and_double_keys() {
    let json_tree = JsonTree::new(r#"{"b":1e999,"a":[true,{}],"b":"\u202e x"}"#, None);
    let expected =
        [" 0 {", r#" 1 "b": 1e999"#, r#" 1 "a": ["#, " 2 true", " 2 {}", " 1 ]", r#" 1 "b": "\u202e x""#, " 0 }"];
    assert_eq!(shown(&json_tree), expected);
    assert!(json_tree.is_json());
    assert_eq!(json_tree.lines()[2].kind, LineKind::Open { entries: 2, end: 5, has_changes: false });
    assert_eq!((json_tree.lines()[4].parent, json_tree.lines()[0].parent), (Some(2), None));
}

#[test]
fn added_changed_and_removed_entries_are_marked_in_place() {
    let before = r#"{"status":"a","gone":{"deep":[1]},"to":{"id":""},"same":[1,2]}"#;
    let after = r#"{"to":{"id":"0x41","new":{"x":null}},"status":"a","same":[1]}"#;
    let json_tree = JsonTree::new(after, Some(before));
    let expected = [
        " 0 {",
        r#" 1 "to": {"#,
        r#"~2 "id": "0x41""#,
        r#"+2 "new": {"#,
        r#"+3 "x": null"#,
        "+2 }",
        " 1 }",
        r#" 1 "status": "a""#,
        r#" 1 "same": ["#,
        " 2 1",
        "-2 2",
        " 1 ]",
        r#"-1 "gone": {"deep":[1]}"#,
        " 0 }",
    ];
    assert_eq!(shown(&json_tree), expected);
    assert_eq!(json_tree.changes(), 4);
    let was = |line: usize| json_tree.excerpt_before(&json_tree.lines()[line], 200);
    assert_eq!((was(2).as_deref(), was(3), was(7)), (Some(r#""""#), None, None));
    assert!(matches!(json_tree.lines()[1].kind, LineKind::Open { entries: 2, has_changes: true, .. }));
    assert!(matches!(json_tree.lines()[8].kind, LineKind::Open { entries: 1, end: 11, .. }));
}

#[test]
fn a_value_that_becomes_an_object_is_changed() {
    let json_tree = JsonTree::new(r#"{"a":{"b":1}}"#, Some(r#"{"a":1}"#));
    assert_eq!(shown(&json_tree)[1..3], [r#"~1 "a": {"#, r#"+2 "b": 1"#]);
    assert_eq!(shown(&JsonTree::new("1", Some("[1]"))), ["~0 1"]);
    assert_eq!(JsonTree::new("[1]", Some("[1]")).changes(), 0);
}

#[test]
fn text_that_is_not_json_is_shown_line_by_line() {
    let json_tree = JsonTree::new("<html>\r\n\u{1b}[31mé\n", Some("{}"));
    assert_eq!((shown(&json_tree), json_tree.is_json()), (vec![" 0 <html>".into(), " 0 [31mé".into()], false));
    let long = JsonTree::new(&"é".repeat(1_500), None);
    assert_eq!(long.lines().len(), 3);
    assert_eq!(JsonTree::new("", None).lines().len(), 0);
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deeper = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let json_tree = JsonTree::new(&deeper, Some(&deep));
    assert_eq!((json_tree.lines().len(), json_tree.is_json()), (200_001, true));
    assert_eq!(json_tree.lines()[100_000].depth, 100_000);
}

#[test]
fn search_ignores_case() {
    let json_tree = JsonTree::new(r#"{"Status":"x","list":[{"status":"STATUS"}]}"#, None);
    assert_eq!(json_tree.matches("status"), [1, 4]);
    assert_eq!(json_tree.matches(""), [0; 0]);
}

#[test]
fn an_excerpt_of_a_huge_value_is_bounded_clean_and_longer_than_a_field() {
    let json_tree = JsonTree::new(&format!(r#"["{}"]"#, "a b ".repeat(1 << 18)), None);
    let value = &json_tree.lines()[1];
    assert_eq!(json_tree.excerpt(value, 2_000), format!("\"{}", "a b ".repeat(500)).as_str()[..2_000].trim_end());
}

#[test]
fn copied_value_has_no_key_and_no_quotes() {
    let json_tree = JsonTree::new(r#"{"id":"0x41","to":{"n":[1, 2]}}"#, Some(r#"{"gone": 7}"#));
    let value = |line: usize| json_tree.value(&json_tree.lines()[line], 100);
    assert_eq!([value(1), value(2), value(8)], ["0x41", r#"{"n":[1, 2]}"#, "7"]);
}

proptest! {
    #[test]
    fn lines_of_any_text_have_valid_parents_and_ends(body in "[\\[\\]{}\",:a0\\\\\u{1b} \n]{0,60}", before in any::<String>()) {
        let json_tree = JsonTree::new(&body, Some(&before));
        for (index, line) in json_tree.lines().iter().enumerate() {
            prop_assert!(line.parent.is_none_or(|parent| parent < index));
            prop_assert!(json_tree.excerpt(line, 100).chars().all(|letter| !letter.is_control()));
            if let LineKind::Open { end, .. } = line.kind {
                prop_assert!(matches!(json_tree.lines()[end].kind, LineKind::Close));
            }
        }
    }
}
