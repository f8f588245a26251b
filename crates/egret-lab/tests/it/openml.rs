use std::path::Path;
use std::time::{Duration, Instant};

use egret_lab::{Encoding, OpenMl, OpenMlData, OpenMlError, OpenMlSettings};

use crate::openml_server::{OpenMlServer, Reply, ok, status, with_header};

const ARFF: &str = concat!(
    "@RELATION houses\n@ATTRIBUTE nr INTEGER\n@ATTRIBUTE size REAL\n@ATTRIBUTE kind {flat,house}\n",
    "@ATTRIBUTE price REAL\n@ATTRIBUTE rent REAL\n@DATA\n",
    "1,10,flat,100,5\n2,?,house,300,6\n3,30,flat,200,9\n",
);
const MD5: &str = "69993be0183ebd11f326845c739051fb";

const DATA: &str = "/api/v1/json/data/7";
const FEATURES: &str = "/api/v1/json/data/features/7";
const TASK: &str = "/api/v1/json/task/70";
const FILE: &str = "/download/7/houses.arff";

fn description(server: &OpenMlServer, md5: &str) -> String {
    let url = server.url();
    format!(
        r#"{{"data_set_description":{{"id":"7","name":"houses","version":"2","format":"ARFF",
        "url":"{url}{FILE}","md5_checksum":"{md5}","file_id":"70","default_target_attribute":"price",
        "row_id_attribute":"nr","ignore_attribute":["rent"]}}}}"#
    )
}

const FEATURE_LIST: &str = r#"{"data_features":{"feature":[
    {"index":"0","name":"nr","data_type":"numeric","is_target":"false","is_ignore":"false","is_row_identifier":"true"},
    {"index":"3","name":"price","data_type":"numeric","is_target":"true","is_ignore":"false","is_row_identifier":"false"}]}}"#;

const TASK_TEXT: &str = r#"{"task":{"task_id":"70","task_type":"Supervised Regression","input":[
    {"name":"estimation_procedure","estimation_procedure":{"id":"7"}},
    {"name":"source_data","data_set":{"data_set_id":"7","target_feature":"size"}}]}}"#;

/// A server with one valid data set and one valid task.
fn server() -> OpenMlServer {
    let server = OpenMlServer::start();
    server.on(DATA, vec![ok(description(&server, MD5))]);
    server.on(FEATURES, vec![ok(FEATURE_LIST)]);
    server.on(TASK, vec![ok(TASK_TEXT)]);
    server.on(FILE, vec![ok(ARFF)]);
    server
}

fn settings(server: &OpenMlServer, cache: &Path) -> OpenMlSettings {
    OpenMlSettings {
        attempts: 3,
        pause: Duration::from_millis(1),
        longest_pause: Duration::from_secs(2),
        timeout: Duration::from_secs(5),
        ..OpenMlSettings::new(server.url(), cache)
    }
}

fn client(server: &OpenMlServer, cache: &Path) -> OpenMl {
    OpenMl::new(settings(server, cache)).expect("a good address")
}

fn offline(server: &OpenMlServer, cache: &Path) -> OpenMl {
    let settings = OpenMlSettings {
        offline: true,
        ..settings(server, cache)
    };
    OpenMl::new(settings).expect("a good address")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// The data as text: NaN differs from NaN, but their texts are equal.
fn shown(data: &OpenMlData) -> String {
    format!("{data:?}")
}

fn failure(server: &OpenMlServer) -> String {
    let cache = folder();
    let error = client(server, cache.path()).data(7).expect_err("it failed");
    error.to_string()
}

#[test]
fn data_is_downloaded_once_and_then_read_from_the_cache() {
    let (server, cache) = (server(), folder());
    let data = client(&server, cache.path()).data(7).expect("sound");
    assert_eq!(
        (data.id, data.name.as_str(), data.version.as_str()),
        (7, "houses", "2")
    );
    assert_eq!(server.requests(), [DATA, FEATURES, FILE]);
    let encoded = data.encode(&Encoding::default()).expect("numbers");
    // The features are size, flat and house; nr and rent are none.
    assert_eq!((encoded.name(), encoded.width()), ("7_houses", 3));
    let labels: Vec<f64> = encoded.rows().iter().map(|row| row.1).collect();
    assert_eq!(labels, [0.0, 1.0, 0.5]);

    let again = client(&server, cache.path()).data(7).expect("kept");
    assert_eq!(shown(&again), shown(&data));
    let kept = offline(&server, cache.path()).data(7).expect("kept");
    assert_eq!(shown(&kept), shown(&data));
    assert_eq!(server.requests(), [""; 0]);
}

#[test]
fn a_task_names_data_and_label() {
    let (server, cache) = (server(), folder());
    let data = client(&server, cache.path()).task(70).expect("sound");
    assert_eq!(data.table.target(), Some("size"));
    assert_eq!(server.requests(), [TASK, DATA, FEATURES, FILE]);
    client(&server, cache.path()).data(7).expect("kept");
    assert_eq!(server.requests(), [""; 0]);
}

#[test]
fn offline_names_the_missing_file_and_sends_no_request() {
    let (server, cache) = (server(), folder());
    let error = offline(&server, cache.path()).data(7).expect_err("empty");
    let message = error.to_string();
    assert!(
        message.starts_with("OpenML data 7 is not in the cache"),
        "{message}"
    );
    assert!(message.ends_with("run once without --offline"), "{message}");
    let error = offline(&server, cache.path()).task(70).expect_err("empty");
    assert!(
        error.to_string().starts_with("OpenML task 70 is not"),
        "{error}"
    );
    assert_eq!(server.requests(), [""; 0]);
}

#[test]
fn an_unknown_id_gives_the_message_of_the_server_after_one_request() {
    let (server, cache) = (server(), folder());
    let error = client(&server, cache.path()).data(8).expect_err("unknown");
    let message = error.to_string();
    assert!(
        message.ends_with("/data/8: the server answered 412: Unknown dataset"),
        "{message}"
    );
    assert_eq!(server.requests().len(), 1);
    server.on(DATA, vec![status(404, "nothing here")]);
    assert!(failure(&server).ends_with("the server answered 404"));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn temporary_failures_are_tried_again() {
    let passing = [
        vec![status(500, ""), status(503, "")],
        vec![Reply::Drop, Reply::Drop],
        vec![Reply::Half(ARFF.into()), Reply::Drop],
        vec![ok("damaged"), status(502, "")],
    ];
    for mut replies in passing {
        let (server, cache) = (server(), folder());
        replies.push(ok(ARFF));
        server.on(FILE, replies);
        client(&server, cache.path())
            .data(7)
            .expect("the third time");
        assert_eq!(server.requests(), [DATA, FEATURES, FILE, FILE, FILE]);
    }
}

#[test]
fn lasting_failures_are_errors_and_the_file_is_not_kept() {
    let failing = [
        (status(500, ""), "the server answered 500, after 3 attempts"),
        (Reply::Drop, "after 3 attempts"),
        (Reply::Half(ARFF.into()), "after 3 attempts"),
        (ok("damaged"), "expected 6999"),
    ];
    for (reply, expected) in failing {
        let (server, cache) = (server(), folder());
        server.on(FILE, vec![reply]);
        let error = client(&server, cache.path())
            .data(7)
            .expect_err("it failed");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(server.requests().len(), 2 + 3);
        // The descriptions are kept, the file is not.
        let error = offline(&server, cache.path()).data(7).expect_err("no file");
        let message = error.to_string();
        assert!(
            message.starts_with("the file of OpenML data 7 is not"),
            "{message}"
        );
    }
}

#[test]
fn pauses_that_the_server_asks_for_are_kept_up_to_a_limit() {
    let (server, cache) = (server(), folder());
    server.on(
        DATA,
        vec![
            with_header(429, "Retry-After", "1"),
            ok(description(&server, MD5)),
        ],
    );
    let start = Instant::now();
    client(&server, cache.path())
        .data(7)
        .expect("a second later");
    assert!(Duration::from_secs(1) <= start.elapsed());
    server.on(DATA, vec![with_header(429, "Retry-After", "3600")]);
    server.requests();
    let message = failure(&server);
    assert!(message.contains("asks to wait 3600 seconds"), "{message}");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_slow_answer_times_out_and_is_tried_again() {
    let (server, cache) = (server(), folder());
    let slow = Reply::Silence(Duration::from_secs(60));
    server.on(DATA, vec![slow.clone(), ok(description(&server, MD5))]);
    server.on("/api/v1/json/data/9", vec![slow]);
    let impatient = |attempts| {
        let settings = OpenMlSettings {
            attempts,
            timeout: Duration::from_millis(300),
            ..settings(&server, cache.path())
        };
        OpenMl::new(settings).expect("a good address")
    };
    let start = Instant::now();
    // More attempts than needed, for a busy machine.
    impatient(10).data(7).expect("the second time");
    let message = impatient(2).data(9).expect_err("silence").to_string();
    assert!(
        message.ends_with("no answer in time, after 2 attempts"),
        "{message}"
    );
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn an_invalid_answer_is_not_kept() {
    for (garbage, expected) in [
        (
            "<html>",
            "OpenML data 7: the answer cannot be used: expected value",
        ),
        ("{}", "there is no data_set_description in it"),
        (
            r#"{"data_set_description":{"id":7}}"#,
            "the description has no url",
        ),
    ] {
        let (server, cache) = (server(), folder());
        server.on(DATA, vec![ok(garbage)]);
        let error = client(&server, cache.path()).data(7).expect_err("garbage");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let (server, cache) = (server(), folder());
    server.on(TASK, vec![ok(r#"{"task":{"input":[]}}"#)]);
    let error = client(&server, cache.path()).task(70).expect_err("no data");
    assert!(matches!(error, OpenMlError::Answer { .. }), "{error}");
    server.on(TASK, vec![ok("<html>"), ok(TASK_TEXT)]);
    let cache = folder();
    let client = client(&server, cache.path());
    assert!(client.task(70).is_err());
    client.task(70).expect("asked again");
}

#[test]
fn redirects_are_followed_but_not_forever() {
    let (server, cache) = (server(), folder());
    server.on("/moved", vec![ok(ARFF)]);
    server.on(FILE, vec![with_header(302, "Location", "/moved")]);
    client(&server, cache.path()).data(7).expect("found there");
    server.on(FILE, vec![with_header(302, "Location", FILE)]);
    let message = failure(&server);
    assert!(message.contains("redirect"), "{message}");
}

#[test]
fn a_file_above_the_limit_is_refused() {
    let (server, cache) = (server(), folder());
    server.on(FILE, vec![ok(vec![b'%'; 4_000])]);
    let small = OpenMlSettings {
        max_bytes: 2_000,
        ..settings(&server, cache.path())
    };
    let small = OpenMl::new(small).expect("a good address");
    let message = small.data(7).expect_err("too large").to_string();
    assert!(
        message.ends_with("larger than the limit of 2000 bytes"),
        "{message}"
    );
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_damaged_cache_is_repaired_or_refused_offline() {
    for name in ["7.arff", "7.json", "features/7.json"] {
        let (server, cache) = (server(), folder());
        let data = client(&server, cache.path()).data(7).expect("sound");
        server.requests();
        let sites = std::fs::read_dir(cache.path().join("openml")).expect("a folder");
        let site = sites.last().expect("one site").expect("readable").path();
        std::fs::write(site.join("data").join(name), "damaged").expect("written");
        let error = offline(&server, cache.path()).data(7).expect_err("damaged");
        assert!(matches!(error, OpenMlError::Offline { .. }), "{error}");
        let mended = client(&server, cache.path()).data(7).expect("mended");
        assert_eq!(shown(&mended), shown(&data));
        assert_eq!(server.requests().len(), 1);
        let kept = offline(&server, cache.path()).data(7).expect("sound");
        assert_eq!(shown(&kept), shown(&data));
    }
}

#[test]
fn a_file_in_the_cache_must_match_its_description() {
    let (server, cache) = (server(), folder());
    client(&server, cache.path()).data(7).expect("sound");
    let sites = std::fs::read_dir(cache.path().join("openml")).expect("a folder");
    let site = sites.last().expect("one site").expect("readable").path();
    // It matches its own MD5, but is another file.
    std::fs::write(site.join("data/7.arff"), "damaged").expect("written");
    std::fs::write(
        site.join("data/7.arff.md5"),
        "46cc0df55d22d6eb6c37cabbc09f5193",
    )
    .expect("written");
    assert!(offline(&server, cache.path()).data(7).is_err());
    server.requests();
    client(&server, cache.path())
        .data(7)
        .expect("fetched again");
    assert_eq!(server.requests(), [FILE]);
}

#[test]
fn an_invalid_address_is_refused() {
    for url in ["", "ftp://somewhere", "https://", "http://a b"] {
        let error = OpenMl::new(OpenMlSettings::new(url, "cache")).expect_err("no address");
        assert!(matches!(error, OpenMlError::BadUrl { .. }), "{error}");
    }
}
