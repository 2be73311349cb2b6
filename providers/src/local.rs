//! Model servers of this machine: Ollama and LM Studio, found by asking.

use std::time::Duration;

use crate::model::Model;
use crate::provider::{Provider, Wire};

/// How long a server may take to say that it is there.
const WAIT: Duration = Duration::from_millis(500);

/// A kind of local server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Local {
    Ollama,
    LmStudio,
}

/// A server that answers, and the models it has.
#[derive(Clone, Debug)]
pub struct Found {
    pub provider: Provider,
    pub models: Vec<String>,
}

impl Local {
    /// Its id in configurations and flags.
    pub fn id(self) -> &'static str {
        match self {
            Local::Ollama => "ollama",
            Local::LmStudio => "lmstudio",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Local::Ollama => "Ollama",
            Local::LmStudio => "LM Studio",
        }
    }

    fn port(self) -> u16 {
        match self {
            Local::Ollama => 11434,
            Local::LmStudio => 1234,
        }
    }

    /// The provider at its address; `look_up` reads an environment variable.
    pub fn provider(self, look_up: &dyn Fn(&str) -> Option<String>) -> Provider {
        let set =
            |name: &str| look_up(name).map(|text| text.trim().to_string()).filter(|text| !text.is_empty());
        let port = set("CODEX_OSS_PORT").unwrap_or_else(|| self.port().to_string());
        let base_url = set("CODEX_OSS_BASE_URL").unwrap_or_else(|| format!("http://127.0.0.1:{port}/v1"));
        Provider { name: self.name().into(), ..Provider::new(self.id(), Wire::Chat, &base_url) }
    }
}

/// The first of these servers that answers, in order; else the addresses that were asked.
pub async fn find(kinds: &[Local], look_up: &dyn Fn(&str) -> Option<String>) -> Result<Found, Vec<String>> {
    let mut asked = Vec::new();
    let mut asking = tokio::task::JoinSet::new();
    for (order, kind) in kinds.iter().enumerate() {
        let provider = kind.provider(look_up);
        asked.push(format!("{} at {}", kind.name(), provider.base_url));
        asking.spawn(async move {
            let model = Model::new(provider.clone());
            let models = tokio::time::timeout(WAIT, model.list()).await;
            (order, models.ok().and_then(Result::ok).map(|models| Found { provider, models }))
        });
    }
    let mut found: Vec<(usize, Found)> = Vec::new();
    while let Some(answer) = asking.join_next().await {
        if let Ok((order, Some(server))) = answer {
            found.push((order, server));
        }
    }
    found.sort_by_key(|(order, _)| *order);
    found.into_iter().next().map(|(_, server)| server).ok_or(asked)
}
