//! One session: the actor that owns it, what it is told, and how it is opened.

mod actor;
mod orders;
mod record;
mod settle;
mod start;

pub(crate) mod opening;

use link::Outlet;
use protocol::{ClientId, Done, Order, Refusal};
use tokio::sync::mpsc;

/// What an actor hears.
pub(crate) enum ToActor {
    Order {
        client: ClientId,
        answer: Answerer,
        order: Order,
    },
    ClientGone(ClientId),
    /// Another client opens it anew, or it is deleted.
    Close,
}

/// The way to one actor.
pub(crate) type Orders = mpsc::Sender<ToActor>;

/// Answers one command, once.
pub(crate) struct Answerer {
    outlet: Outlet,
    tag: u64,
}

impl Answerer {
    pub(crate) fn new(outlet: Outlet, tag: u64) -> Self {
        Self { outlet, tag }
    }

    pub(crate) fn answer(self, reply: Result<Done, Refusal>) {
        self.outlet.push(protocol::Down::Reply { tag: self.tag, reply });
    }
}
