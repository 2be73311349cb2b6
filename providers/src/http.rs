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
    // Reading the machine's certificates takes longer than all the rest, and plain HTTP asks for none.
    let builder = if needs_tls(base_url) { builder } else { builder.tls_certs_only([]) };
    builder.build()
}

/// A proxy may be spoken to over TLS where its target is not.
fn needs_tls(base_url: &str) -> bool {
    let proxied = || !is_loopback(base_url) && std::env::vars_os().any(|(name, _)| is_proxy(&name));
    !base_url.starts_with("http://") || proxied()
}

fn is_proxy(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.to_ascii_lowercase().ends_with("_proxy"))
}

/// Whether an address is one of this machine, by its host alone.
pub(crate) fn is_loopback(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    match address {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_told_by_the_host() {
        let table = [
            ("http://127.0.0.1:1/v1", true),
            ("http://127.9.9.9", true),
            ("http://me:pass@localhost:80/", true),
            ("https://[::1]:443/v1", true),
            ("http://model.localhost", true),
            ("http://127.example.org", false),
            ("http://localhost.example.org", false),
            ("http://example.org/localhost", false),
            ("http://10.0.0.1", false),
            ("nonsense", false),
        ];
        for (url, is) in table {
            assert_eq!(is_loopback(url), is, "{url}");
        }
        assert!(!needs_tls("http://127.0.0.1:1/v1") && needs_tls("https://127.0.0.1:1/v1"));
    }

    #[test]
    fn a_client_for_either_scheme() {
        assert!(client_for("http://127.0.0.1:1").is_ok() && client_for("https://example.org").is_ok());
        assert!(user_agent().starts_with("open-interpreter/"));
    }
}
