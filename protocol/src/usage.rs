//! Counts of tokens and cost.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Tokens {
    pub input: u64,
    pub cached: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
}

/// The last request, this turn, the whole session (with its sub-agents), and the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Usage {
    pub last: Tokens,
    pub turn: Tokens,
    pub session: Tokens,
    pub window: Option<(u64, u64)>,
    pub cost: Option<(f64, String)>,
}

impl std::ops::Add for Tokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            cached: self.cached + other.cached,
            cache_write: self.cache_write + other.cache_write,
            output: self.output + other.output,
            reasoning: self.reasoning + other.reasoning,
        }
    }
}
