//! Getting one page over http or https, within a time and a size.
//!
//! Who may be asked for a page is decided elsewhere, by [`site`]; a redirect is followed within that site alone.

use std::sync::OnceLock;
use std::time::Duration;

use protocol::{Cap, IoWhy, Outcome};
use reqwest::header::{CONTENT_TYPE, HeaderName, LOCATION};
use reqwest::{Client, Response, Url};

use super::capture::{text, trim_end};
use crate::limits::{FETCH_BYTES, FETCH_HOPS};

/// An address as it will be fetched.
///
/// Errors: why it cannot be, without what may be a password in it.
pub(crate) fn address(url: &str) -> Result<Url, String> {
    let parsed = Url::parse(url).map_err(|error| {
        let shown = if url.contains('@') { "the address" } else { url };
        format!("{shown}: {error}; give a whole address, such as https://example.org/page")
    })?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        let host = parsed.host_str().unwrap_or_default();
        return Err(format!("the address on {host:?} carries a user name or a password; leave them out"));
    }
    if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
        return Err(format!("{url}: only http and https addresses can be fetched"));
    }
    Ok(parsed)
}

/// Whom an address reaches: the host, with its port unless that is the scheme's own.
pub(crate) fn site(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_string(), |port| format!("{host}:{port}"))
}

/// Fetches the address as text. Errors of the server are facts, not failures.
pub(crate) async fn fetch(url: &str, cap: Cap, limit_ms: u64) -> Outcome {
    let address = match address(url) {
        Ok(address) => address,
        Err(why) => return failed(why),
    };
    match tokio::time::timeout(Duration::from_millis(limit_ms), get(address, cap)).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => failed(format!("{url}: {error}")),
        Err(_) => failed(format!("{url}: no answer within {limit_ms} ms")),
    }
}

/// Follows redirects as long as they stay with the site that was allowed.
async fn get(mut url: Url, cap: Cap) -> Result<Outcome, reqwest::Error> {
    let client = client()?;
    let first = url.clone();
    for _ in 0..=FETCH_HOPS {
        let response = client.get(url.clone()).send().await?;
        let Some(target) = target(&response) else { return page(response, &url, cap).await };
        match address(&target) {
            Ok(next) if same_site(&url, &next) => url = next,
            Ok(next) => {
                let text = format!("It redirects to {next}; fetch that address if you want it.");
                return Ok(told(&response, &url, text));
            }
            Err(why) => return Ok(told(&response, &url, format!("Its redirect was not followed: {why}"))),
        }
    }
    Ok(failed(format!("{first}: more than {FETCH_HOPS} redirects in a row")))
}

/// One client for all fetches: reading the machine's certificates takes long.
fn client() -> Result<Client, reqwest::Error> {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    if let Some(client) = CLIENT.get() {
        return Ok(client.clone());
    }
    // No connection outlives its fetch, so that it never belongs to a runtime that is gone.
    let builder = providers::http().redirect(reqwest::redirect::Policy::none()).pool_max_idle_per_host(0);
    let client = builder.build()?;
    Ok(CLIENT.get_or_init(|| client).clone())
}

/// Where a redirect leads, if the answer is one.
fn target(response: &Response) -> Option<String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let place = header(response, LOCATION)?;
    Some(response.url().join(place).map_or_else(|_| place.to_string(), String::from))
}

/// The same host and port, and no way back from https.
fn same_site(from: &Url, to: &Url) -> bool {
    site(from) == site(to) && (from.scheme() == to.scheme() || to.scheme() == "https")
}

fn header(response: &Response, name: HeaderName) -> Option<&str> {
    response.headers().get(name).and_then(|value| value.to_str().ok())
}

fn mime(response: &Response) -> String {
    header(response, CONTENT_TYPE).unwrap_or("unknown type").to_string()
}

/// The answer with words of ours in place of its page.
fn told(response: &Response, url: &Url, text: String) -> Outcome {
    let status = response.status().as_u16();
    Outcome::Fetched { url: url.to_string(), status, mime: mime(response), text, more: false }
}

async fn page(mut response: Response, url: &Url, cap: Cap) -> Result<Outcome, reqwest::Error> {
    let (status, mime) = (response.status().as_u16(), mime(&response));
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() >= FETCH_BYTES {
            break;
        }
    }
    let kind = mime.split(';').next().unwrap_or_default().trim();
    let textual = kind.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml"].iter().any(|part| kind.contains(part))
        || std::str::from_utf8(trim_end(&body)).is_ok();
    if !textual {
        return Ok(failed(format!("{url}: {kind} with {} bytes is not text", body.len())));
    }
    let limit = usize::try_from(cap.bytes.unwrap_or(u64::MAX)).unwrap_or(usize::MAX).min(body.len());
    let shown = trim_end(body.get(..limit).unwrap_or(&body));
    let (url, more) = (url.to_string(), shown.len() < body.len());
    Ok(Outcome::Fetched { url, status, mime, text: text(shown), more })
}

fn failed(text: String) -> Outcome {
    Outcome::Failed { why: IoWhy::Network, path: None, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[test]
    fn a_site_is_told_by_the_parsed_address() {
        for (url, is) in [
            ("http://Example.ORG/a", "example.org"),
            ("https://example.org:443/", "example.org"),
            ("https://example.org:8443/x", "example.org:8443"),
            ("http:///127.0.0.1:80/y", "127.0.0.1"),
            ("http:\\\\evil.example\\@good.example", "evil.example"),
            ("https://good.example#@evil.example", "good.example"),
            ("http://[::1]:8080/", "[::1]:8080"),
        ] {
            assert_eq!(address(url).map(|url| site(&url)), Ok(is.to_string()), "{url}");
        }
    }

    #[test]
    fn an_address_that_says_more_or_less_than_a_place_is_refused() {
        for url in ["http://me:secret@example.org/", "ftp://me:secret@example.org", "http://a:secret@[x"] {
            let why = address(url).unwrap_err();
            assert!(!why.contains("secret"), "{why}");
        }
        for url in ["file:///etc/passwd", "data:text/plain,x", "example.org/a", "https://", "http://me@host"]
        {
            assert!(address(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_redirect_keeps_its_site_and_never_leaves_https() {
        let same = |from: &str, to: &str| same_site(&address(from).unwrap(), &address(to).unwrap());
        assert!(same("http://a.example/x", "http://a.example/y"));
        assert!(same("http://a.example/", "https://a.example/"));
        assert!(!same("https://a.example/", "http://a.example/"));
        assert!(!same("http://a.example/", "http://a.example:8080/"));
        assert!(!same("http://a.example/", "http://b.a.example/"));
    }

    /// Answers every request with a redirect, but for `/end`.
    async fn serve(place: &'static str) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut asked = [0; 4096];
                let read = stream.read(&mut asked).await.unwrap();
                let place = place.replace("PORT", &port.to_string());
                let answer = if asked[..read].starts_with(b"GET /end ") {
                    "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\npage".into()
                } else {
                    format!("HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n")
                };
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        port
    }

    async fn fetched(place: &'static str) -> (u16, Outcome) {
        let port = serve(place).await;
        (port, fetch(&format!("http://127.0.0.1:{port}/a"), Cap::default(), 5_000).await)
    }

    #[tokio::test]
    async fn redirects_are_followed_at_home_and_named_elsewhere() {
        let (port, outcome) = fetched("/end").await;
        let Outcome::Fetched { url, status: 200, text, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!((url, text.as_str()), (format!("http://127.0.0.1:{port}/end"), "page"));

        let (port, outcome) = fetched("http://localhost:PORT/end").await;
        let Outcome::Fetched { status: 302, text, .. } = outcome else { panic!("{outcome:?}") };
        assert!(text.contains(&format!("redirects to http://localhost:{port}/end;")), "{text}");

        for place in ["http://me:secret@127.0.0.1:PORT/end", "file:///etc/passwd"] {
            let (_, outcome) = fetched(place).await;
            let Outcome::Fetched { status: 302, text, .. } = outcome else { panic!("{outcome:?}") };
            assert!(text.contains("not followed") && !text.contains("secret"), "{text}");
        }
    }

    #[tokio::test]
    async fn a_circle_of_redirects_ends() {
        let (_, outcome) = fetched("/a").await;
        let Outcome::Failed { text, .. } = outcome else { panic!("{outcome:?}") };
        assert!(text.ends_with("more than 10 redirects in a row"), "{text}");
    }
}
