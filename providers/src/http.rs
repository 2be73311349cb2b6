//! The HTTP client: one user agent, no redirects to other hosts with a key, loopback past every proxy.

use std::sync::Once;
use std::time::Duration;

/// Connecting takes this long at most.
const CONNECT: Duration = Duration::from_secs(20);

/// What we call ourselves.
pub fn user_agent() -> String {
    format!(
        "open-interpreter/{} ({}; {})",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

/// A client to be: proxies of the environment are honoured.
pub fn http() -> reqwest::ClientBuilder {
    static TLS: Once = Once::new();
    TLS.call_once(|| {
        // Somebody may have installed one already; any will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder().connect_timeout(CONNECT).user_agent(user_agent())
}

/// The client for one base address. A key is never carried along a redirect.
pub(crate) fn client_for(base_url: &str) -> Result<reqwest::Client, reqwest::Error> {
    let builder = http().redirect(reqwest::redirect::Policy::none()).tcp_nodelay(true);
    let builder = if is_loopback(base_url) { builder.no_proxy() } else { builder };
    builder.build()
}

fn is_loopback(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or(url);
    let host = host.split(['/', '?']).next().unwrap_or_default();
    ["127.", "localhost", "[::1]"].iter().any(|prefix| host.starts_with(prefix))
}
