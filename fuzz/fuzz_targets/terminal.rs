//! The bytes of the terminal: the first bytes say where the rest is cut into pieces. However they are cut, the same
//! frames come out, and nothing incomplete outlives its deadline.

#![no_main]

use std::time::Duration;

use hoptop::internals::{
    clock::MonotonicTime,
    tui::input::{InputFrame, InputFramer},
};
use libfuzzer_sys::fuzz_target;

/// The most bytes of a paste that are kept; lossy UTF-8 makes three of each.
const PASTE_LIMIT: usize = 3 << 20;

fn assert_bounded(frame: &InputFrame) {
    match frame {
        InputFrame::Paste(text) => assert!(text.len() <= PASTE_LIMIT),
        InputFrame::Control { parameters, .. } => assert!(parameters.len() <= 64),
        InputFrame::Character { .. } | InputFrame::Escape | InputFrame::Single(_) | InputFrame::Mouse(_) => {}
    }
}

fuzz_target!(|input: (Vec<u8>, &[u8])| {
    let (cuts, bytes) = input;
    let (mut whole, mut expected) = (InputFramer::default(), Vec::new());
    whole.push(bytes, MonotonicTime::default(), &mut |frame| expected.push(frame));
    expected.iter().for_each(assert_bounded);
    let (mut framer, mut frames, mut rest) = (InputFramer::default(), Vec::new(), bytes);
    for cut in cuts {
        let (piece, next) = rest.split_at(usize::from(cut).min(rest.len()));
        framer.push(piece, MonotonicTime::default(), &mut |frame| frames.push(frame));
        rest = next;
    }
    framer.push(rest, MonotonicTime::default(), &mut |frame| frames.push(frame));
    assert_eq!(frames, expected);
    let deadline = framer.deadline();
    assert!(deadline.is_none_or(|deadline| deadline <= MonotonicTime(Duration::from_secs(1))));
    framer.expire(deadline.unwrap_or_default(), &mut |frame| frames.push(frame));
    assert_eq!(framer.deadline(), None);
    frames.clear();
    framer.push(b"q", deadline.unwrap_or_default(), &mut |frame| frames.push(frame));
    assert_eq!(frames, [InputFrame::Character { character: 'q', has_escape: false }]);
});
