//! Local servers, found by asking.

use providers::local::{Local, find};
use serde_json::json;

use crate::loopback::{Loopback, turn};

const BOTH: &[Local] = &[Local::Ollama, Local::LmStudio];

#[tokio::test]
async fn a_server_and_its_models() {
    let models = json!({"body": "{\"data\":[{\"id\":\"a\"},{\"id\":\"b\"}]}", "type": "application/json"});
    let server = Loopback::play(vec![turn(&models)]).await;
    let port = server.port.to_string();
    let found = find(BOTH, &|name| (name == "CODEX_OSS_PORT").then(|| port.clone())).await.unwrap();
    assert_eq!((found.provider.id.as_str(), found.models), ("ollama", vec!["a".into(), "b".into()]));
    assert_eq!(server.asked()[0].line, "GET /v1/models HTTP/1.1");
}

#[tokio::test]
async fn a_whole_address_comes_first_and_names_of_models_count() {
    let models = json!({"body": "{\"models\":[{\"name\":\"llama\"}]}"});
    let server = Loopback::play(vec![turn(&models)]).await;
    let url = format!("http://127.0.0.1:{}/here/", server.port);
    let look_up = |name: &str| match name {
        "CODEX_OSS_BASE_URL" => Some(url.clone()),
        "CODEX_OSS_PORT" => Some("1".into()),
        _ => None,
    };
    let found = find(&[Local::LmStudio], &look_up).await.unwrap();
    assert_eq!((found.provider.name.as_str(), found.models), ("LM Studio", vec!["llama".to_string()]));
    assert_eq!(server.asked()[0].line, "GET /here/models HTTP/1.1");
}

#[tokio::test]
async fn a_server_that_is_slow_or_says_no_is_none() {
    for answer in
        [json!({"delay_ms": 60_000, "body": "{}"}), json!({"status": 500, "body": ""}), json!({"body": "?"})]
    {
        let server = Loopback::play(vec![turn(&answer)]).await;
        let url = format!("http://127.0.0.1:{}/v1", server.port);
        let started = std::time::Instant::now();
        let asked =
            find(BOTH, &|name| (name == "CODEX_OSS_BASE_URL").then(|| url.clone())).await.unwrap_err();
        assert_eq!(asked, [format!("Ollama at {url}"), format!("LM Studio at {url}")]);
        assert!(started.elapsed() < std::time::Duration::from_millis(900), "both at once");
    }
}

#[test]
fn the_usual_addresses() {
    let urls = BOTH.iter().map(|kind| kind.provider(&|_| Some(" ".into())).base_url);
    let urls: Vec<String> = urls.collect();
    assert_eq!(urls, ["http://127.0.0.1:11434/v1", "http://127.0.0.1:1234/v1"]);
}
