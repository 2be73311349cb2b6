//! The table of open sessions: opens them, finds them, and never waits for one of them.

use std::collections::HashMap;
use std::sync::Arc;

use link::Outlet;
use protocol::{ClientId, Command, Done, Open, Origin, Refusal, SessionId};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::engine::Shared;
use crate::host::Host;
use crate::limits;
use crate::session::opening::{Opened, Opening};
use crate::session::{Answerer, Orders, ToActor};

pub(crate) enum ToLobby {
    Asked {
        client: ClientId,
        outlet: Outlet,
        host: Arc<Host>,
        answer: Answerer,
        command: Command,
    },
    /// An opening came to its end.
    Opened {
        id: SessionId,
        orders: Option<Orders>,
    },
    Gone(ClientId),
    CloseAll,
}

pub(crate) struct Lobby {
    shared: Arc<Shared>,
    asked: mpsc::Receiver<ToLobby>,
    /// For the openings to report to; weak, so that the lobby ends with its last client.
    back: mpsc::WeakSender<ToLobby>,
    sessions: HashMap<SessionId, Slot>,
    /// The actors' tasks, and the openings'.
    running: JoinSet<()>,
}

enum Slot {
    /// What was said to the session meanwhile.
    Opening {
        parked: Vec<ToActor>,
        gone: Vec<ClientId>,
    },
    Open(Orders),
}

impl Lobby {
    pub(crate) fn new(
        shared: Arc<Shared>,
        asked: mpsc::Receiver<ToLobby>,
        back: mpsc::WeakSender<ToLobby>,
    ) -> Self {
        Self { shared, asked, back, sessions: HashMap::new(), running: JoinSet::new() }
    }

    pub(crate) async fn run(mut self) {
        loop {
            tokio::select! {
                asked = self.asked.recv() => match asked {
                    Some(ToLobby::Asked { client, outlet, host, answer, command }) => {
                        self.obey(client, outlet, host, answer, command);
                    }
                    Some(ToLobby::Opened { id, orders }) => self.opened(id, orders),
                    Some(ToLobby::Gone(client)) => self.lose(&client),
                    Some(ToLobby::CloseAll) | None => break,
                },
                Some(_) = self.running.join_next(), if !self.running.is_empty() => self.sweep(),
            }
        }
        self.end().await;
    }

    fn obey(
        &mut self,
        client: ClientId,
        outlet: Outlet,
        host: Arc<Host>,
        answer: Answerer,
        command: Command,
    ) {
        match command {
            Command::Open(open) => self.open(client, outlet, host, answer, *open),
            Command::Session { session, order } => {
                self.pass(&session, ToActor::Order { client, answer, order });
            }
            Command::List { cwd, cursor } => {
                let shared = Arc::clone(&self.shared);
                self.running.spawn(async move {
                    let cwd = cwd.as_ref().map(protocol::FilePath::as_path);
                    let listed = shared.store.list(cwd, cursor.as_deref()).await;
                    let done = listed.map(|(page, next)| Done::Sessions { page, next });
                    answer.answer(done.map_err(Into::into));
                });
            }
            Command::Options { cwd } => {
                let shared = Arc::clone(&self.shared);
                self.running.spawn(async move {
                    let resolved = shared.resolve(cwd.as_path(), &[]).await;
                    answer.answer(resolved.map(|resolved| Done::Options(resolved.options)));
                });
            }
            Command::Read { session } => {
                let shared = Arc::clone(&self.shared);
                self.running.spawn(async move {
                    let told = crate::session::opening::tell_past(&shared.store, &session, &outlet).await;
                    answer.answer(told.map(|()| Done::Ok).map_err(Into::into));
                });
            }
            Command::Delete { session } => self.delete(session, answer),
        }
    }

    /// A session that is open here already is closed first: the newest client has it.
    fn open(&mut self, client: ClientId, outlet: Outlet, host: Arc<Host>, answer: Answerer, open: Open) {
        let id = match &open.from {
            Origin::New => SessionId(uuid::Uuid::now_v7().to_string()),
            Origin::Resume(id) => id.clone(),
        };
        let earlier = match self.sessions.get(&id) {
            None => None,
            Some(Slot::Open(orders)) if orders.is_closed() => None,
            Some(Slot::Open(orders)) => Some(orders.clone()),
            Some(Slot::Opening { .. }) => return answer.answer(Err(Refusal::Overloaded)),
        };
        self.sessions.insert(id.clone(), Slot::Opening { parked: Vec::new(), gone: Vec::new() });
        let opening =
            Opening { shared: Arc::clone(&self.shared), id: id.clone(), client, outlet, host, open };
        let back = self.back.clone();
        self.running.spawn(async move {
            if let Some(earlier) = earlier {
                close(&earlier).await;
                earlier.closed().await;
            }
            let opened = opening.open(answer).await;
            let orders = opened.as_ref().map(|opened| opened.orders.clone());
            if let Some(back) = back.upgrade() {
                // The lobby may be ending; the actor then hears that its orders are over.
                let _ = back.send(ToLobby::Opened { id, orders }).await;
            }
            if let Some(Opened { actor, orders }) = opened {
                // The actor ends when nobody can tell it anything.
                drop(orders);
                actor.run().await;
            }
        });
    }

    fn opened(&mut self, id: SessionId, orders: Option<Orders>) {
        let (parked, gone) = match self.sessions.remove(&id) {
            Some(Slot::Opening { parked, gone }) => (parked, gone),
            Some(Slot::Open(_)) | None => (Vec::new(), Vec::new()),
        };
        let Some(orders) = orders else {
            for order in parked {
                order.refuse(Refusal::NoSession(id.clone()));
            }
            return;
        };
        self.sessions.insert(id.clone(), Slot::Open(orders));
        for order in parked {
            self.pass(&id, order);
        }
        for client in gone {
            self.pass(&id, ToActor::ClientGone(client));
        }
    }

    fn pass(&mut self, session: &SessionId, order: ToActor) {
        match self.sessions.get_mut(session) {
            Some(Slot::Open(orders)) => match orders.try_send(order) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(order)) => order.refuse(Refusal::Overloaded),
                Err(mpsc::error::TrySendError::Closed(order)) => {
                    order.refuse(Refusal::NoSession(session.clone()));
                }
            },
            Some(Slot::Opening { parked, .. }) if parked.len() < limits::PARKED => parked.push(order),
            Some(Slot::Opening { .. }) => order.refuse(Refusal::Overloaded),
            None => order.refuse(Refusal::NoSession(session.clone())),
        }
    }

    fn delete(&mut self, session: SessionId, answer: Answerer) {
        let open = match self.sessions.get(&session) {
            Some(Slot::Open(orders)) if !orders.is_closed() => Some(orders.clone()),
            Some(Slot::Opening { .. }) => return answer.answer(Err(Refusal::Overloaded)),
            Some(Slot::Open(_)) | None => None,
        };
        let shared = Arc::clone(&self.shared);
        self.running.spawn(async move {
            if let Some(orders) = open {
                close(&orders).await;
                orders.closed().await;
            }
            let deleted = shared.store.delete(&session).await;
            answer.answer(deleted.map(|()| Done::Ok).map_err(Into::into));
        });
    }

    fn lose(&mut self, client: &ClientId) {
        let ids: Vec<SessionId> = self.sessions.keys().cloned().collect();
        for id in ids {
            match self.sessions.get_mut(&id) {
                Some(Slot::Opening { gone, .. }) => gone.push(client.clone()),
                Some(Slot::Open(orders)) => {
                    let orders = orders.clone();
                    let client = client.clone();
                    // The session may be busy: it hears of it in its own time.
                    self.running.spawn(async move {
                        let _ = orders.send(ToActor::ClientGone(client)).await;
                    });
                }
                None => {}
            }
        }
    }

    /// Forgets sessions that have ended.
    fn sweep(&mut self) {
        self.sessions.retain(|_, slot| match slot {
            Slot::Open(orders) => !orders.is_closed(),
            Slot::Opening { .. } => true,
        });
    }

    async fn end(mut self) {
        // Without their orders the actors close.
        self.sessions.clear();
        drop(self.asked);
        while self.running.join_next().await.is_some() {}
    }
}

async fn close(orders: &Orders) {
    // A session that has ended is closed.
    let _ = orders.send(ToActor::Close).await;
}
