//! Standard input and output, without a thread between them and the runtime
//! where the system can do without.

use tokio::io::{AsyncRead, AsyncWrite};

type Input = Box<dyn AsyncRead + Send + Unpin>;
type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Standard input and output. Pipes and sockets, which is what clients give
/// their servers, are read and written as such.
pub(super) fn standard() -> (Input, Output) {
    #[cfg(unix)]
    {
        (
            direct::input().unwrap_or_else(|| Box::new(tokio::io::stdin())),
            direct::output().unwrap_or_else(|| Box::new(tokio::io::stdout())),
        )
    }
    #[cfg(not(unix))]
    {
        (Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout()))
    }
}

#[cfg(unix)]
mod direct {
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    use std::os::unix::net::UnixStream;

    use tokio::net::unix::pipe;

    use super::{Input, Output};

    pub(super) fn input() -> Option<Input> {
        let (kind, own) = opened(io::stdin())?;
        Some(match kind {
            Kind::Pipe => Box::new(pipe::Receiver::from_file(own).ok()?),
            Kind::Socket => Box::new(socket(own)?),
        })
    }

    pub(super) fn output() -> Option<Output> {
        let (kind, own) = opened(io::stdout())?;
        // Whoever writes to the other end of the same thing expects to wait.
        if shares(&own, io::stderr()) {
            return None;
        }
        Some(match kind {
            Kind::Pipe => Box::new(pipe::Sender::from_file(own).ok()?),
            Kind::Socket => Box::new(socket(own)?),
        })
    }

    enum Kind {
        Pipe,
        Socket,
    }

    /// A second handle of a stream, if it is one of the kinds that can be
    /// waited for.
    fn opened(stream: impl AsFd) -> Option<(Kind, File)> {
        let own = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        let kind = own.metadata().ok()?.file_type();
        let kind = match (kind.is_fifo(), kind.is_socket()) {
            (true, _) => Kind::Pipe,
            (_, true) => Kind::Socket,
            _ => return None,
        };
        Some((kind, own))
    }

    fn socket(own: File) -> Option<tokio::net::UnixStream> {
        let stream = UnixStream::from(OwnedFd::from(own));
        // Fails for those of other families, which stay as they are.
        stream.local_addr().ok()?;
        stream.set_nonblocking(true).ok()?;
        tokio::net::UnixStream::from_std(stream).ok()
    }

    /// Whether both are one pipe or socket.
    fn shares(own: &File, other: impl AsFd) -> bool {
        let Ok(other) = other.as_fd().try_clone_to_owned() else {
            return true;
        };
        match (own.metadata(), File::from(other).metadata()) {
            (Ok(own), Ok(other)) => (own.dev(), own.ino()) == (other.dev(), other.ino()),
            _ => true,
        }
    }
}
