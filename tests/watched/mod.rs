//! A terminal in memory that passes each drawn frame to a callback.

use std::convert::Infallible;

use ratatui::{
    backend::{Backend, ClearType, TestBackend, WindowSize},
    buffer::Cell,
    layout::{Position, Size},
};

/// A [`TestBackend`] that calls a function after each drawn frame.
pub(crate) struct WatchedBackend {
    inner: TestBackend,
    on_frame: Box<dyn FnMut(&TestBackend) + Send>,
}

impl WatchedBackend {
    /// Creates a terminal with these numbers of columns and rows.
    pub(crate) fn new((columns, rows): (u16, u16), on_frame: impl FnMut(&TestBackend) + Send + 'static) -> Self {
        Self { inner: TestBackend::new(columns, rows), on_frame: Box::new(on_frame) }
    }
}

impl Backend for WatchedBackend {
    type Error = Infallible;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> Result<(), Infallible> {
        self.inner.draw(content)
    }

    fn hide_cursor(&mut self) -> Result<(), Infallible> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> Result<(), Infallible> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> Result<Position, Infallible> {
        self.inner.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Infallible> {
        self.inner.set_cursor_position(position)
    }

    fn clear(&mut self) -> Result<(), Infallible> {
        self.inner.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> Result<(), Infallible> {
        self.inner.clear_region(region)
    }

    fn size(&self) -> Result<Size, Infallible> {
        self.inner.size()
    }

    fn window_size(&mut self) -> Result<WindowSize, Infallible> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        (self.on_frame)(&self.inner);
        self.inner.flush()
    }
}
