//! Sends a [`FaultyAnswer`] as an HTTP body.
//!
//! The module must never hold more memory than a small answer needs, nor wait except on the given clock.

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

use super::plan::FaultyAnswer;
use crate::clock::Clock;

/// The wait before each blank of a drip.
const DRIP_INTERVAL: Duration = Duration::from_millis(250);
/// The unpacked size of the bomb, in bytes.
const BOMB_SIZE: usize = 64 * 1024 * 1024;
/// The bytes of an endless body that are sent at a time.
const CHUNK_SIZE: usize = 16 * 1024;
/// The `content-length` of a body that is cut, far more than is sent.
const CUT_CONTENT_LENGTH: HeaderValue = HeaderValue::from_static("4096");
const CUT_BODY: &[u8] = b"{\"routerTransactionStatus\":\"ongo";
/// Built on first use. Writing to memory doesn't fail; a test checks that the bomb isn't empty.
static BOMB: LazyLock<Bytes> = LazyLock::new(|| pack_bomb().unwrap_or_default().into());
const BINARY_BODY: &[u8] = b"{\"routerTransactionStatus\":\"\xff\xfe\x9f\"}";

/// Returns the body of a faulty answer and its headers. Never returns for [`FaultyAnswer::Silence`].
pub(super) async fn body(play: FaultyAnswer, clock: &Clock) -> (HeaderMap, Body) {
    let mut headers = HeaderMap::new();
    let body = match play {
        FaultyAnswer::Silence => std::future::pending().await,
        FaultyAnswer::Drip => drip(clock.clone()),
        FaultyAnswer::Endless => {
            Body::from_stream(stream::repeat(Bytes::from_static(&[b'x'; CHUNK_SIZE])).map(io::Result::Ok))
        }
        FaultyAnswer::Bomb => {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            Body::from(BOMB.clone())
        }
        FaultyAnswer::Cut => {
            headers.insert(header::CONTENT_LENGTH, CUT_CONTENT_LENGTH);
            let end = stream::once(async {
                // The part before is sent while this stream yields.
                tokio::task::yield_now().await;
                Err(connection_ended())
            });
            Body::from_stream(stream::iter([Ok(Bytes::from_static(CUT_BODY))]).chain(end))
        }
        // The head is written together with the first part of the body. That part is an error, so nothing is written.
        FaultyAnswer::HangUp => Body::from_stream(stream::iter([Err::<Bytes, _>(connection_ended())])),
        FaultyAnswer::Deep => Body::from(super::body::deep()),
        FaultyAnswer::Binary => Body::from(BINARY_BODY),
    };
    (headers, body)
}

/// Returns the error that ends a connection in the middle of an answer.
fn connection_ended() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the scenario ends the connection here")
}

fn drip(clock: Clock) -> Body {
    Body::from_stream(stream::unfold(clock, |clock| async {
        clock.sleep_until(clock.now().mono + DRIP_INTERVAL).await;
        Some((io::Result::Ok(Bytes::from_static(b" ")), clock))
    }))
}

/// Returns packed blanks, which are a valid start of JSON.
fn pack_bomb() -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..BOMB_SIZE / CHUNK_SIZE {
        packed.write_all(&[b' '; CHUNK_SIZE])?;
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
        let (mut decoder, mut chunk, mut total) = (GzDecoder::new(&packed[..]), vec![0; 1024 * 1024], 0);
        loop {
            match decoder.read(&mut chunk).unwrap() {
                0 => break,
                read => total += read,
            }
        }
        assert_eq!(total, BOMB_SIZE);
    }
}
