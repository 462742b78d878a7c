//! Two people who share a store: each has a name, an undo of their own, and a filter for what they did.

use super::{
    ONGOING,
    common::{Home, ProcessOutput, ScenarioBatch},
};

fn run_as(home: &Home, name: &str, words: &[&str]) -> ProcessOutput {
    let mut command = home.command(words);
    ProcessOutput::new(command.env("HOPTOP_NAME", name).output().unwrap())
}

#[test]
fn two_people_have_their_own_undo_and_find_their_own_changes() {
    let home = Home::new();
    home.configure("[me]\nname = \"Ana\"");
    let batch = ScenarioBatch::repeat(2, ONGOING);
    home.import(&batch.csv);
    let hash = home.list()[0]["transactionId"].as_str().unwrap().to_owned();
    run_as(&home, "Bob", &["untrack", &hash]).assert_exit(0, &[]);
    let shown = home.run(&["show", &hash]).out;
    assert!(shown.contains("tracking started by Ana") && shown.contains("polling stopped by Bob"), "{shown}");
    let count =
        |words: &[&str]| home.run(&[&["list", "--json"], words].concat()).out.matches("transactionId\":\"").count();
    assert!(count(&["mine"]) > 0 && count(&["by:bob"]) == 0 && count(&["mine"]) == count(&["by:ANA"]));
    // Ana's import is older than Bob's edit, and each undo takes back the person's own.
    let undone = run_as(&home, "Bob", &["undo"]);
    assert!(undone.out.contains("undone: stop polling"), "{undone:?}");
    let nothing = run_as(&home, "Bob", &["undo"]);
    assert!(nothing.code == Some(1) && nothing.err.contains("nothing to undo"), "{nothing:?}");
    let undone = home.run(&["undo"]);
    assert!(undone.out.contains("undone: track 2"), "{undone:?}");
    assert!(home.run(&["config"]).out.contains("Ana  (me.name in the config file)"));
    assert!(run_as(&home, "Bob", &["config"]).out.contains("Bob  (HOPTOP_NAME)"));
    home.configure("");
    let unnamed = home.run(&["list", "mine"]);
    assert_eq!(unnamed.code, Some(2), "{unnamed:?}");
    assert!(
        unnamed.err.contains("your name is not set; set [me] name in the config file, or HOPTOP_NAME"),
        "{unnamed:?}"
    );
}
