//! One value that can't be read must not hide the others: every command goes on without it.

use rusqlite::Connection;

use super::{Home, ONGOING, SUCCESS, ScenarioBatch, SimulatorProcess};

/// Damages values as bad memory or another program would: texts that aren't UTF-8, and JSON that can't be parsed.
const DAMAGE: &str = "
    UPDATE transactions SET ticket = CAST(x'ff41' AS TEXT), message = CAST(x'80' AS TEXT) WHERE id = 1;
    UPDATE transactions SET from_name = CAST(x'c328' AS TEXT), parked_reason = NULL WHERE id = 2;
    UPDATE records SET record = 'not JSON', record_dictionary = NULL, record_base = NULL WHERE transaction_row = 2;
    UPDATE pollers SET state = '{';
    UPDATE labels SET label = CAST(x'fe' AS TEXT) WHERE transaction_row = 1 AND label = 'row-1';
    INSERT INTO notes (transaction_row, at, text) VALUES (3, 0, CAST(x'ff' AS TEXT));
    UPDATE changes SET what = '[' WHERE seq = (SELECT min(seq) FROM changes);
    UPDATE observations SET summary = CAST(x'ff' AS TEXT) WHERE transaction_row = 4;
    UPDATE edits SET steps = '[';
    UPDATE forecasts SET evidence = '?';";

#[test]
fn commands_go_on_without_values_that_cannot_be_read() {
    let batch = ScenarioBatch::new(&[SUCCESS, ONGOING, SUCCESS, ONGOING]);
    let simulation = SimulatorProcess::start(&batch.scenario);
    let home = Home::new();
    home.import(&batch.csv);
    assert_eq!(home.watch(&simulation.url, &["--until-settled", "--timeout", "3s"]).code, Some(3));
    Connection::open(home.path().join("hoptop.db")).unwrap().execute_batch(DAMAGE).unwrap();

    let list = home.list();
    assert_eq!(list.len(), 4, "every row is listed");
    assert_eq!(list[0]["ticket"].as_str().or(list[1]["ticket"].as_str()).map(str::is_empty), Some(false));
    for words in [
        &["list"][..],
        &["list", "sort:ticket"],
        &["list", "SUP-3"],
        &["list", "label:batch-9"],
        &["export"],
        &["export", "--format", "json"],
        &["export", "--format", "html", "-o", "page.html"],
        &["alerts"],
        &["stats"],
        &["backup", "copy.db"],
    ] {
        let ended = home.run(words);
        assert_eq!(ended.code, Some(0), "{words:?}: {ended:?}");
        assert_eq!(ended.err.contains("the backup has them too"), words[0] == "backup", "{ended:?}");
    }
    for number in 1..=4 {
        let ended = home.run(&["show", &format!("0x{number:064x}")]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let ended = home.run(&["doctor"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.out.contains("damaged values: ") && ended.out.contains("the first in transactions."), "{ended:?}");
    let ended = home.watch(&simulation.url, &["--json", "--until-settled", "--timeout", "8s"]);
    ended.assert_exit(3, &[]);
    assert_eq!(ended.events().pop().unwrap()["counts"]["success"], 2);
    // Both open transfers are polled, also the one whose last answer can't be read.
    let polls = |list: &[serde_json::Value]| list.iter().map(|row| row["polls"].as_u64().unwrap()).collect::<Vec<_>>();
    let (before, after) = (polls(&list), polls(&home.list()));
    let more = before.iter().zip(&after).filter(|(before, after)| after > before).count();
    assert_eq!(more, 2, "{before:?} {after:?}");
    // The next answer brings the record back.
    assert!(home.list().iter().all(|row| row["from"]["chainName"] == "Arbitrum"), "{:?}", home.list());
    assert!(home.run(&["list"]).out.contains("! damaged"));
    let ended = home.run(&["doctor", "--repair"]);
    assert!(ended.out.contains("the next start repairs it from the newest backup"), "{ended:?}");
    let ended = home.run(&["list"]);
    assert!(ended.err.contains("has been recovered: 4 transactions"), "{ended:?}");
}
