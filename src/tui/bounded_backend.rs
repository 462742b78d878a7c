//! A backend whose size is bounded: a terminal may claim 65535 columns and rows, and a buffer for these would need all
//! memory.
//!
//! The module must never change what is drawn.

use ratatui::{
    backend::{Backend, ClearType, WindowSize},
    buffer::Cell,
    layout::{Position, Size},
};

/// The most columns and rows that are drawn: more than a screen of 7680 by 4320 pixels shows.
const LIMIT: Size = Size { width: 1_500, height: 500 };

/// Returns the part of a terminal's size that is drawn.
pub(super) fn bound(size: Size) -> Size {
    Size { width: size.width.min(LIMIT.width), height: size.height.min(LIMIT.height) }
}

/// A backend with a bounded size.
#[derive(Debug)]
pub struct BoundedBackend<B>(pub(super) B);

impl<B: Backend> Backend for BoundedBackend<B> {
    type Error = B::Error;

    fn draw<'a, I>(&mut self, content: I) -> Result<(), Self::Error>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.0.draw(content)
    }

    fn hide_cursor(&mut self) -> Result<(), Self::Error> {
        self.0.hide_cursor()
    }

    fn show_cursor(&mut self) -> Result<(), Self::Error> {
        self.0.show_cursor()
    }

    fn get_cursor_position(&mut self) -> Result<Position, Self::Error> {
        self.0.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Self::Error> {
        self.0.set_cursor_position(position)
    }

    fn clear(&mut self) -> Result<(), Self::Error> {
        self.0.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> Result<(), Self::Error> {
        self.0.clear_region(clear_type)
    }

    fn size(&self) -> Result<Size, Self::Error> {
        self.0.size().map(bound)
    }

    fn window_size(&mut self) -> Result<WindowSize, Self::Error> {
        let size = self.0.window_size()?;
        Ok(WindowSize { columns_rows: bound(size.columns_rows), ..size })
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        self.0.flush()
    }
}
