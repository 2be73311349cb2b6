//! What the whole-product tests share: a scripted model server, a workspace, the built binary, an ACP client.
//!
//! Test code: it may panic, since that is how a test fails.

pub mod acp;
pub mod model_server;
pub mod product;

pub use acp::Agent;
pub use model_server::ModelServer;
pub use product::Product;
