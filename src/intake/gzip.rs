//! Unpacks a batch that is compressed with gzip.
//!
//! Memory is bounded whatever the data claims. Data that unpacks to implausibly many bytes must be refused.

use std::io::{self, Read, Take};

use flate2::read::MultiGzDecoder;

/// The first bytes of gzip data.
const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The number of unpacked bytes from which the ratio is checked.
const FREE_BYTES: u64 = 64 << 20;
/// The most unpacked bytes for each packed byte. Text of transactions reaches 20, gzip itself 1,032.
const MAX_RATIO: u64 = 100;

/// Whether data begins like gzip data.
pub(crate) fn is_gzip(beginning: &[u8]) -> bool {
    beginning.starts_with(&MAGIC)
}

/// Returns a reader of `input`, unpacked if it is gzip data.
///
/// # Errors
/// If the first bytes can't be read.
pub(crate) fn unpacking_reader<'a>(input: &'a mut dyn Read) -> io::Result<Box<dyn Read + 'a>> {
    let mut magic = Vec::new();
    (&mut *input).take(MAGIC.len() as u64).read_to_end(&mut magic)?;
    if magic.len() < MAGIC.len() {
        // The input has ended: a terminal would wait for a second end.
        return Ok(Box::new(io::Cursor::new(magic)));
    }
    let is_packed = is_gzip(&magic);
    let whole = io::Cursor::new(magic).chain(input);
    Ok(match is_packed {
        true => Box::new(GzipReader { decoder: MultiGzDecoder::new(whole.take(u64::MAX)), unpacked: 0 }),
        false => Box::new(whole),
    })
}

/// A reader that unpacks gzip data. Its errors describe the damage.
struct GzipReader<R> {
    /// The limit is never reached: it counts the packed bytes.
    decoder: MultiGzDecoder<Take<R>>,
    unpacked: u64,
}

impl<R: Read> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other(
                "the gzip data is incomplete, or followed by other bytes; copy or compress the file again",
            ),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                io::Error::other(format!("the gzip data is damaged ({error}); copy or compress the file again"))
            }
            _ => error,
        })?;
        self.unpacked += count as u64;
        let packed = u64::MAX - self.decoder.get_ref().limit();
        if self.unpacked > FREE_BYTES.max(packed.saturating_mul(MAX_RATIO)) {
            return Err(io::Error::other(format!(
                "the gzip data unpacks to more than {MAX_RATIO} times its size; if that is right, unpack it first"
            )));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn pack(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn unpack(data: &[u8]) -> Result<Vec<u8>, String> {
        let (mut data, mut text) = (data, Vec::new());
        let read = unpacking_reader(&mut data).and_then(|mut unpacked| unpacked.read_to_end(&mut text));
        read.map(|_| text).map_err(|error| error.to_string())
    }

    /// An empty input that counts how often its end is read, as a terminal does with each ^D.
    struct EmptyInput(usize);

    impl Read for EmptyInput {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            Ok(0)
        }
    }

    #[test]
    fn end_of_an_empty_input_is_read_once() {
        let mut input = EmptyInput(0);
        assert_eq!(unpacking_reader(&mut input).unwrap().read_to_end(&mut Vec::new()).unwrap(), 0);
        assert_eq!(input.0, 1);
    }

    #[test]
    fn gzip_data_is_unpacked_and_other_data_is_unchanged() {
        let text = "a,b\n".repeat(10_000);
        assert_eq!(unpack(&pack(text.as_bytes())).unwrap(), text.as_bytes());
        // Concatenated files are one file, as for gzip.
        assert_eq!(unpack(&[pack(b"one\n"), pack(b"two\n")].concat()).unwrap(), b"one\ntwo\n");
        for plain in [&b""[..], b"\x1f", b"\x1f\n", b"{}"] {
            assert_eq!(unpack(plain).unwrap(), plain);
        }
    }

    #[test]
    fn incomplete_and_damaged_data_is_named() {
        let packed = pack("0xabc,1,10,q\n".repeat(100).as_bytes());
        for length in 2..packed.len() {
            let error = unpack(&packed[..length]).unwrap_err();
            assert!(error.contains("is incomplete, or followed by other bytes"), "{length}: {error}");
        }
        let mut damaged = packed.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0xff;
        let error = unpack(&damaged).unwrap_err();
        assert!(error.contains("damaged") || error.contains("incomplete"), "{error}");
        let mut wrong_sum = packed;
        let end = wrong_sum.len() - 6;
        wrong_sum[end] ^= 1;
        assert!(unpack(&wrong_sum).unwrap_err().contains("damaged"));
    }

    #[test]
    fn bomb_is_refused_before_it_is_unpacked() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        io::copy(&mut io::repeat(b'\n').take(256 << 20), &mut encoder).unwrap();
        let packed = encoder.finish().unwrap();
        let (mut input, mut count) = (packed.as_slice(), 0);
        let mut unpacked = unpacking_reader(&mut input).unwrap();
        let mut buffer = vec![0; 64 << 10];
        let error = loop {
            match unpacked.read(&mut buffer) {
                Ok(read) => count += read as u64,
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("more than 100 times its size"), "{error}");
        assert!(count <= FREE_BYTES + (1 << 20), "{count}");
    }
}
