//! Each JSON output names its schema, and conforms to it.

use serde_json::Value;

use super::{
    common::{HEADER, Home, ProcessOutput, ScenarioBatch, SimulatorProcess},
    json_schema::violations,
};

/// Checks a value against the schema that it names, which must be this one.
#[track_caller]
fn assert_valid(home: &Home, name: &str, value: &Value) {
    assert_eq!(value["schema"], format!("hoptop/{name}/1"), "{value}");
    let schema = home.run(&["schema", name]);
    let schema: Value = serde_json::from_str(&schema.out).unwrap_or_else(|_| panic!("{schema:?}"));
    assert_eq!(violations(&schema, value), Vec::<String>::new(), "{value}");
}

/// Checks one JSON object, an array of objects, or an object per line. Returns the objects.
#[track_caller]
fn assert_output(home: &Home, name: &str, ended: &ProcessOutput) -> Vec<Value> {
    let values: Vec<Value> = match serde_json::from_str(&ended.out) {
        Ok(Value::Array(values)) => values,
        Ok(value) => vec![value],
        Err(_) => ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
    };
    assert!(!values.is_empty(), "{ended:?}");
    values.iter().for_each(|value| assert_valid(home, name, value));
    values
}

#[test]
fn each_json_output_conforms_to_its_schema() {
    let answers = [
        r#"{ from = 0, status = "success", steps = 3 }"#,
        r#"{ from = 0, status = "ongoing", steps = 1 }, { from = 2, status = "partial_success", steps = 3 }"#,
        "{ from = 0, http = 404 }, { from = 2, status = \"needs_gas\", steps = 1 }, { from = 4, status = \"refund\", steps = 1 }",
        r#"{ from = 0, http = 400, body = '{"message":"quoteId is not valid","type":"BAD_REQUEST"}' }"#,
        "{ from = 0, http = 500 }, { from = 2, status = \"success\", steps = 3 }",
        r#"{ from = 0, status = "strange", steps = 3 }"#,
    ];
    let batch = ScenarioBatch::new(&answers);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    let file = home.write("batch.csv", &batch.csv);
    let run = |words: &[&str]| ProcessOutput::new(home.polling_command(&simulation.url, words).output().unwrap());
    let check = |name: &str, words: &[&str]| assert_output(&home, name, &run(words));

    let preview = &check("import", &["import", &file, "--dry-run", "--json"])[0];
    assert_eq!(
        (&preview["dryRun"], &preview["tracked"], &preview["imported"]),
        (&true.into(), &6.into(), &false.into())
    );
    assert_eq!(check("import", &["import", &file, "--json"])[0]["tracked"], 6);
    assert_eq!(check("import", &["import", &file, "--json"])[0]["unchanged"], 6);
    let bad = home.write("bad.csv", &format!("{HEADER}0xabcdef12,arbitrum,8453,q,,,,\n"));
    let refused = run(&["import", &bad, "--json"]);
    assert_eq!(refused.code, Some(1));
    let refused = &assert_output(&home, "import", &refused)[0];
    assert!(refused["errors"][0].as_str().unwrap().starts_with("line 2: fromChainId"), "{refused}");
    let missing = &assert_output(&home, "import", &run(&["import", "no-such-file.csv", "--json"]))[0];
    assert!(missing["errors"][0].as_str().unwrap().contains("there is no such file"), "{missing}");

    check("transaction", &["list", "--json"]);
    let watched = check("event", &["watch", "--json", "--verbose", "--timeout", "6s"]);
    for name in
        ["polled", "status_changed", "step_added", "settled", "alert_raised", "poll_failed", "rejected", "summary"]
    {
        assert!(watched.iter().any(|event| event["event"] == name), "{name}: {watched:?}");
    }
    let hash = batch.csv.lines().nth(2).unwrap().split(',').next().unwrap();
    home.run(&["note", hash, "asked the provider"]);
    let mut named = home.command(&["note", hash, "by a person"]);
    named.env("HOPTOP_NAME", "Ana");
    named.output().unwrap();
    assert_eq!(check("transaction", &["show", hash, "--json"])[0]["noteAuthors"][1], "Ana");
    check("transaction", &["list", "--json"]);
    check("transaction", &["export", "--format", "json"]);
    check("transaction", &["export", "--format", "ndjson"]);
    check("transaction", &["check", hash, "--json"]);
    let alerts = check("alert", &["alerts", "--json"]);
    let number = |index: usize| alerts[index]["alert"].to_string();
    assert_eq!(home.run(&["ack", &number(0), "--note", "seen"]).code, Some(0));
    assert_eq!(home.run(&["snooze", &number(1), "--for", "30m"]).code, Some(0));
    check("alert", &["alerts", "--json"]);
    check("stats", &["stats", "--json"]);
    check("config", &["config", "--json"]);
    let doctor = &check("doctor", &["doctor", "--json"])[0];
    assert_eq!(doctor["ok"], true, "{doctor}");
    let broken = home.run(&["doctor", "--json"]);
    assert_eq!((broken.code, &assert_output(&home, "doctor", &broken)[0]["ok"]), (Some(1), &false.into()));
    let wallet = "0xAbc0000000000000000000000000000000000abc";
    let quote =
        ["quote", "--from-chain", "42161", "--from-token", "0xaf88", "--to-chain", "8453", "--to-token", "0x8335"];
    let more = ["--from-address", wallet, "--to-address", wallet, "--from-amount", "25000000", "--json"];
    check("quote", &[&quote[..], &more].concat());
}

#[test]
fn schemas_are_listed_and_an_unknown_one_is_a_usage_error() {
    let home = Home::new();
    let listed = home.run(&["schema"]);
    for line in listed.out.lines() {
        let mut words = line.split_whitespace();
        let (name, id) = (words.next().unwrap(), words.next().unwrap());
        let schema: Value = serde_json::from_str(&home.run(&["schema", name]).out).unwrap();
        assert_eq!(id, format!("hoptop/{name}/1"));
        assert_eq!(schema["$id"], format!("urn:hoptop:{name}:1"));
        assert!(schema["properties"]["schema"]["const"] == id, "{schema}");
    }
    assert!(listed.out.lines().count() >= 9, "{listed:?}");
    home.run(&["schema", "weather"]).assert_exit(2, &["transaction", "store-status"]);
}

#[test]
fn value_of_another_shape_violates_the_schema() {
    let home = Home::new();
    let schema: Value = serde_json::from_str(&home.run(&["schema", "doctor"]).out).unwrap();
    let mut value = serde_json::json!({"schema": "hoptop/doctor/1", "ok": true, "checks": []});
    assert!(violations(&schema, &value).is_empty());
    value["more"] = true.into();
    value["checks"] = serde_json::json!([{"name": "id", "result": "look"}]);
    assert_eq!(violations(&schema, &value).len(), 3, "{:?}", violations(&schema, &value));
}
