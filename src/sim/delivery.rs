//! How a [`Play`] goes over the wire.
//!
//! It must never hold on to more memory than a small answer does, whatever it sends, and never wait but for the clock it
//! is given.

use std::{
    io::{self, Write},
    sync::LazyLock,
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, header},
};
use flate2::{Compression, write::GzEncoder};
use futures_util::stream::{self, StreamExt};

use super::plan::Play;
use crate::clock::Clock;

/// How long a drip waits before each blank.
const DRIP: Duration = Duration::from_millis(250);
/// What the bomb is unpacked.
const BOMB_SIZE: usize = 64 * 1024 * 1024;
/// How much of an endless body is sent at a time.
const PORTION: usize = 16 * 1024;
/// What is promised of a body that is cut, far more than what comes.
const PROMISED: HeaderValue = HeaderValue::from_static("4096");
const CUT: &[u8] = b"{\"routerTransactionStatus\":\"ongo";
/// Made when it is first asked for. Writing into memory doesn't fail; a test holds that it is there.
static BOMB: LazyLock<Bytes> = LazyLock::new(|| bomb().unwrap_or_default().into());
const BINARY: &[u8] = b"{\"routerTransactionStatus\":\"\xff\xfe\x9f\"}";

/// The body of a play, with the headers that go with it. Never returns for [`Play::Silence`].
pub(super) async fn body(play: Play, clock: &Clock) -> (HeaderMap, Body) {
    let mut headers = HeaderMap::new();
    let body = match play {
        Play::Silence => std::future::pending().await,
        Play::Drip => drip(clock.clone()),
        Play::Endless => Body::from_stream(stream::repeat(Bytes::from_static(&[b'x'; PORTION])).map(io::Result::Ok)),
        Play::Bomb => {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            Body::from(BOMB.clone())
        }
        Play::Cut => {
            headers.insert(header::CONTENT_LENGTH, PROMISED);
            let end = stream::once(async {
                // What came before is sent while this waits for its turn.
                tokio::task::yield_now().await;
                Err(ended())
            });
            Body::from_stream(stream::iter([Ok(Bytes::from_static(CUT))]).chain(end))
        }
        // The head is written together with the first of the body, and that is an error: nothing is written at all.
        Play::HangUp => Body::from_stream(stream::iter([Err::<Bytes, _>(ended())])),
        Play::Deep => Body::from(super::body::deep()),
        Play::Binary => Body::from(BINARY),
    };
    (headers, body)
}

/// What ends a connection in the middle.
fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the scenario ends the connection here")
}

fn drip(clock: Clock) -> Body {
    Body::from_stream(stream::unfold(clock, |clock| async {
        clock.sleep_until(clock.now().mono + DRIP).await;
        Some((io::Result::Ok(Bytes::from_static(b" ")), clock))
    }))
}

/// Blanks, packed. They are the start of JSON as good as any.
fn bomb() -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..BOMB_SIZE / PORTION {
        packed.write_all(&[b' '; PORTION])?;
    }
    packed.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn the_bomb_is_small_and_unpacks_to_64_mib() {
        let packed = BOMB.clone();
        assert!(packed.len() < 1024 * 1024, "{}", packed.len());
        let (mut decoder, mut portion, mut total) = (GzDecoder::new(&packed[..]), vec![0; 1024 * 1024], 0);
        loop {
            match decoder.read(&mut portion).unwrap() {
                0 => break,
                read => total += read,
            }
        }
        assert_eq!(total, BOMB_SIZE);
    }
}
