//! The routing service's own npm client against `hoptop simulate`. Needs npm and node; npm installs the client once,
//! into the target folder.

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{
    SUCCESS,
    common::{Home, ID, ProcessOutput, ScenarioBatch, SimulatorProcess},
    npm,
};

/// The client, and the package that the client lists for development only but loads when it starts.
const PACKAGES: [&str; 2] = ["@0xsquid/sdk@2.13.1", "@0xsquid/squid-types@0.1.216"];
/// Checks an error as the client reports it: its fields, and that its response names the sent integrator ID.
#[track_caller]
fn assert_error(error: &Value, status: u16, fields: &Value) {
    assert_eq!((&error["status"], &error["hasSentId"]), (&json!(status), &json!(true)), "{error}");
    for (name, value) in fields.as_object().unwrap() {
        assert_eq!(&error[name], value, "{error}");
    }
}

#[test]
fn npm_client_of_the_service_works_against_the_simulated_service() {
    let folder = match npm::install("sdk-2.13.1", &PACKAGES) {
        Ok(folder) => folder,
        Err(missing_requirement) => {
            println!("skipped: {missing_requirement}");
            return;
        }
    };
    let ScenarioBatch { scenario, .. } = ScenarioBatch::new(&[SUCCESS]);
    let simulation = SimulatorProcess::start(&scenario);
    // One request in 1000 seconds for each ID.
    let limited = SimulatorProcess::start(&scenario.replace("rps = 10.0", "rps = 0.001"));
    let home = Home::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/sdk.mjs");
    let mut node = Command::new("node");
    node.arg(script).arg(folder).args([&simulation.url, &limited.url]);
    node.env("INTEGRATOR_ID", ID).current_dir(home.path()).stdin(Stdio::null());
    let ended = ProcessOutput::new(node.output().unwrap());
    assert!(!ended.out.contains(ID) && !ended.err.contains(ID), "the script printed the integrator ID");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let results: Value = serde_json::from_str(&ended.out).unwrap();

    // init
    assert_eq!(results["chains"], json!([["42161", "Arbitrum", "evm"], ["8453", "Base", "evm"]]));
    assert_eq!((&results["native"]["chainId"], &results["native"]["decimals"]), (&json!("8453"), &json!(18)));
    assert_eq!(results["isInMaintenanceMode"], false);

    // getRoute
    let (price, with_data) = (&results["price"], &results["withData"]);
    let route = &price["route"];
    assert_eq!((&price["hasSentId"], route.get("transactionRequest")), (&json!(true), None), "{price}");
    assert_eq!(route["quoteId"].as_str().map(str::len), Some(32), "{route}");
    assert!(route["estimate"]["estimatedRouteDuration"].as_u64().is_some_and(|seconds| seconds > 0), "{route}");
    assert_eq!(route["estimate"]["estimatedRouteDuration"], route["estimatedRouteDuration"]);
    assert!(with_data["route"]["transactionRequest"]["data"].is_string(), "{with_data}");
    let wallet_limit = &results["walletLimit"];
    assert_error(wallet_limit, 429, &json!({ "error": "Too many quote requests for this address" }));
    assert!(wallet_limit["retryAfter"].as_u64().is_some_and(|seconds| seconds <= 30), "{wallet_limit}");

    // getStatus
    let status = &results["status"];
    assert_eq!((&status["routerTransactionStatus"], &status["hasSentId"]), (&json!("success"), &json!(true)));
    assert_error(&results["unknown"], 404, &json!({ "type": "NOT_FOUND", "message": "Transaction not found" }));

    // The ID and the limit.
    assert_eq!(results["withoutId"], json!({ "message": "integratorId required" }));
    let (revoked, header_removed) = (&results["revoked"], &results["headerRemoved"]);
    assert_eq!((&revoked["status"], &revoked["type"]), (&json!(401), &json!("UNAUTHORIZED")), "{revoked}");
    assert_eq!(
        (&header_removed["status"], &header_removed["message"], &header_removed["hasNoId"]),
        (&json!(401), &json!("x-integrator-id header is missing"), &json!(true)),
        "{header_removed}"
    );
    assert_error(&results["throttled"], 429, &json!({ "type": "RATE_LIMITED", "retryAfterHeader": "1" }));

    // Each response of a service has its own request ID.
    let names = ["price", "withData", "walletLimit", "status", "unknown", "revoked", "headerRemoved"];
    let request_ids: BTreeSet<_> = names.iter().filter_map(|name| results[name]["requestId"].as_str()).collect();
    assert_eq!(request_ids.len(), names.len(), "{results}");
    assert!(results["throttled"]["requestId"].is_string());
}
