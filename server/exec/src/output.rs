//! The two outputs, written in order; whoever reads them may be slow, or gone.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Output and error output with what waits for them.
pub(crate) struct Outputs<O, E> {
    out: O,
    err: E,
    out_waits: Vec<u8>,
    err_waits: Vec<u8>,
    /// The reader of the output went away: nothing more is written to it.
    pub(crate) gone: bool,
}

impl<O: AsyncWrite + Unpin, E: AsyncWrite + Unpin> Outputs<O, E> {
    pub(crate) fn new(out: O, err: E) -> Self {
        Self { out, err, out_waits: Vec::new(), err_waits: Vec::new(), gone: false }
    }

    pub(crate) fn put_out(&mut self, text: &str) {
        if !self.gone {
            self.out_waits.extend_from_slice(text.as_bytes());
        }
    }

    pub(crate) fn put_err(&mut self, text: &str) {
        self.err_waits.extend_from_slice(text.as_bytes());
    }

    /// Writes what waits. Not to be dropped half-way unless nothing is written after.
    ///
    /// Errors: of the output; without an error output there is nobody to tell, so that one is ignored.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        if !self.err_waits.is_empty() {
            let waits = std::mem::take(&mut self.err_waits);
            let _ = self.err.write_all(&waits).await;
            let _ = self.err.flush().await;
        }
        if self.out_waits.is_empty() || self.gone {
            return Ok(());
        }
        let waits = std::mem::take(&mut self.out_waits);
        let written = async {
            self.out.write_all(&waits).await?;
            self.out.flush().await
        };
        let written = written.await;
        self.gone = written.is_err();
        written
    }
}
