//! How much a model shall think, in the one word that both wires have for it.

use protocol::model::Thinking;

/// The effort to ask for; none leaves it to the server.
pub(crate) fn effort(thinking: &Thinking) -> Option<&str> {
    match thinking {
        Thinking::Default => None,
        Thinking::Off => Some("none"),
        Thinking::Effort(effort) => Some(effort),
        // These wires count no tokens of thought: the nearest word.
        Thinking::Budget(0) => Some("none"),
        Thinking::Budget(..=2_048) => Some("low"),
        Thinking::Budget(..=16_384) => Some("medium"),
        Thinking::Budget(_) => Some("high"),
    }
}
