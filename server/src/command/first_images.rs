//! Images of the command line, put beside the first prompt that a face sends.
//!
//! The chat knows texts alone; this stands between it and the engine and passes everything else on.

use link::{Client, Port};
use protocol::{Command, Content, Down, Order, Up};

/// A client whose first prompt takes these images along.
pub(super) fn attach(client: Client, images: Vec<Content>) -> Client {
    if images.is_empty() {
        return client;
    }
    let (face, port) = link::pair();
    tokio::spawn(relay(client, port, Images { waiting: images, sent: None }));
    face
}

struct Images {
    waiting: Vec<Content>,
    /// The tag of the prompt that has them, and they again, until it is taken.
    sent: Option<(u64, Vec<Content>)>,
}

async fn relay(engine: Client, mut face: Port, mut images: Images) {
    let outlet = face.outlet();
    loop {
        tokio::select! {
            up = face.next() => {
                let Some(mut up) = up else { return };
                images.join(&mut up);
                if engine.send(up).await.is_err() {
                    return;
                }
            }
            downs = engine.take() => {
                let Some(downs) = downs else { return };
                for down in downs {
                    images.hear(&down);
                    outlet.push(down);
                }
                outlet.room().await;
            }
        }
    }
}

impl Images {
    fn join(&mut self, up: &mut Up) {
        let Up::Command { tag, command: Command::Session { order: Order::Prompt { input, .. }, .. } } = up
        else {
            return;
        };
        if self.waiting.is_empty() || is_command(input) {
            return;
        }
        let images = std::mem::take(&mut self.waiting);
        input.splice(0..0, images.iter().cloned());
        self.sent = Some((*tag, images));
    }

    /// A prompt that was refused is sent again.
    fn hear(&mut self, down: &Down) {
        let Down::Reply { tag, reply } = down else { return };
        if let Some((_, images)) = self.sent.take_if(|(sent, _)| sent == tag)
            && reply.is_err()
        {
            self.waiting = images;
        }
    }
}

/// A command of the engine takes no images. The chat sends no word with a slash that is none.
fn is_command(input: &[Content]) -> bool {
    let [Content::Text(text)] = input else { return false };
    let word = text.trim().strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
    word.is_some_and(|word| !word.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Done, Refusal, SessionId, When};

    fn prompt(tag: u64, text: &str) -> Up {
        let input = vec![Content::Text(text.into())];
        let order = Order::Prompt { input, when: When::Queue, schema: None };
        Up::Command { tag, command: Command::Session { session: SessionId("s".into()), order } }
    }

    fn parts(up: Option<Up>) -> usize {
        match up {
            Some(Up::Command {
                command: Command::Session { order: Order::Prompt { input, .. }, .. },
                ..
            }) => input.len(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn the_first_prompt_that_is_taken_has_them() {
        let (engine, mut port) = link::pair();
        let face = attach(engine, vec![Content::Text("image".into())]);
        let outlet = port.outlet();
        for (tag, text, count) in [(1, "/status", 1), (2, "look", 2), (3, "look", 2), (4, "more", 1)] {
            face.send(prompt(tag, text)).await.unwrap();
            assert_eq!(parts(port.next().await), count, "{tag}");
            let reply = if tag == 2 { Err(Refusal::Overloaded) } else { Ok(Done::Ok) };
            outlet.push(Down::Reply { tag, reply });
            assert_eq!(face.take().await.map(|downs| downs.len()), Some(1));
        }
        drop(face);
        assert!(port.next().await.is_none());
    }
}
