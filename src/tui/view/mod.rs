//! `view`: draws the model and changes nothing.
//!
//! ```text
//! header        name, ID, health, saved views, time
//! banner        only when something stands in the way of everything
//! filter        what is filtered, how much that hides
//! list          | detail      side by side from 100 columns; below that one of them
//! preview       verdict, SAY and DO of the selected one, where there is no detail
//! status        alerts, budget, poller, keys
//! ```
//!
//! It knows the model, the theme and the command table; it must never read anything else, not even the time.

mod add;
mod alerts;
mod answer;
mod columns;
mod detail;
mod field;
mod findings;
mod ground;
mod header;
mod help;
mod hyperlink;
mod layout;
mod list;
mod log;
mod marks;
mod menu;
mod offer;
mod palette;
mod pointer;
mod prompt;
mod quote;
mod stats;
mod status;

pub use self::pointer::target;

use ratatui::{Frame, buffer::Buffer, layout::Rect, style::Style, text::Line, widgets::Clear};

use super::{
    command::Id,
    model::{Model, Overlay, Screen, geometry::Geometry},
    theme::Theme,
};
use crate::{clock::Now, domain::width};

/// Draws the whole screen.
pub fn view(model: &Model, theme: &Theme, now: Now, frame: &mut Frame<'_>) {
    let area = frame.area();
    let context = DrawContext { model, theme, now };
    let mut panes = layout::panes(model, area);
    let filters = matches!(model.overlay, Overlay::Filter(_)) || !model.list.filter_text.is_empty();
    if panes.filter.height == 0 && model.screen == Screen::List && filters {
        // What is hidden, and why, matters more than the time.
        panes.filter = panes.header;
    } else {
        frame.render_widget(header::line(&context, panes.header.width), panes.header);
    }
    if let Some(banner) = panes.banner {
        frame.render_widget(header::banner(&context, banner.width), banner);
    }
    match model.screen {
        Screen::List => frame.render_widget(header::filter(&context, panes.filter.width), panes.filter),
        Screen::Detail => frame.render_widget(detail::position(&context, panes.filter.width), panes.filter),
        Screen::Alerts => frame.render_widget(alerts::tabs(&context, panes.filter.width), panes.filter),
        Screen::Stats => frame.render_widget(stats::headline(&context, panes.filter.width), panes.filter),
        Screen::Log => log::headline(&context, panes.filter, frame),
    }
    if let Some(pane) = panes.list {
        list::draw(&context, &panes, pane, frame);
    }
    if let Some(pane) = panes.preview {
        put_lines(detail::preview(&context, pane), pane, frame);
        marks::over_line(&context, Rect { height: 1, ..pane }, frame);
    }
    if let Some(pane) = panes.detail {
        detail::draw(&context, &panes, pane, frame);
    }
    match model.screen {
        Screen::Alerts => alerts::draw(&context, panes.body, frame),
        Screen::Stats => stats::draw(&context, panes.body, frame),
        Screen::Log => log::draw(&context, panes.body, frame),
        Screen::List | Screen::Detail => {}
    }
    put_lines(status::lines(&context, panes.status), panes.status, frame);
    status::draw_notice(&context, (panes.body, panes.status), frame);
    overlay(&context, frame, &panes);
    ground::lay(theme, frame.buffer_mut());
}

fn overlay(context: &DrawContext<'_>, frame: &mut Frame<'_>, panes: &layout::Panes) {
    match &context.model.overlay {
        // What is typed in there is drawn with the tabs.
        Overlay::None | Overlay::Find { .. } => {}
        Overlay::Filter(line) => {
            header::draw_error(context, panes.body, frame);
            header::place_cursor(frame, panes.filter, &line.input);
        }
        Overlay::Help(page) => {
            frame.render_widget(Clear, panes.body);
            help::draw(context, page, panes.body, frame);
        }
        Overlay::Answer { text, scroll } => {
            frame.render_widget(Clear, panes.body);
            answer::draw(context, (text, *scroll), panes.body, frame);
        }
        Overlay::Palette(palette) => palette::draw(context, palette, panes.body, frame),
        Overlay::Offer(offer) => offer::draw(context, offer, panes.body, frame),
        Overlay::Add(form) => {
            frame.render_widget(Clear, panes.body);
            add::draw(context, form, panes.body, frame);
        }
        Overlay::Quote(form) => {
            frame.render_widget(Clear, panes.body);
            quote::draw(context, form, panes.body, frame);
        }
        Overlay::Prompt(prompt) => prompt::draw(context, prompt, panes.body, frame),
        Overlay::Menu(menu) => menu::draw(context, menu, panes.body, frame),
    }
}

/// Puts lines below one another, each cut at the pane's edge, and from its left whatever their alignment. There is nothing to wrap, and what could
/// (`Paragraph`) costs three times as much.
fn put_lines<'a>(lines: impl IntoIterator<Item = Line<'a>>, pane: Rect, frame: &mut Frame<'_>) {
    let pane = pane.intersection(frame.area());
    for (y, line) in (pane.y..pane.bottom()).zip(lines) {
        let (mut x, end) = (pane.x, pane.right());
        for span in &line {
            let begins = x;
            let room = usize::from(end - x);
            x = put_text(frame.buffer_mut(), (x, y), (&span.content, room), line.style.patch(span.style));
            // A wide letter that has no room is the line's end, though one column is left.
            if x == end || (x + 1 == end && width::of(&span.content) > usize::from(x - begins)) {
                break;
            }
        }
    }
}

/// Puts a text that has so much room; returns where it ends. Most texts have a letter for each column, and need nobody who
/// measures them.
fn put_text(buffer: &mut Buffer, (x, y): (u16, u16), (text, room): (&str, usize), style: Style) -> u16 {
    let length = text.len().min(room);
    if length == 0 {
        return x;
    }
    let begin = buffer.index_of(x, y);
    let cells = buffer.content.get_mut(begin..begin + length);
    match cells.filter(|_| text.bytes().all(|letter| matches!(letter, b' '..=b'~'))) {
        None => buffer.set_stringn(x, y, text, room, style).0,
        Some(cells) => {
            for (cell, letter) in cells.iter_mut().zip(text.chars()) {
                cell.set_char(letter).set_style(style);
            }
            x + length as u16
        }
    }
}

/// What every pane needs.
struct DrawContext<'a> {
    model: &'a Model,
    theme: &'a Theme,
    now: Now,
}

impl DrawContext<'_> {
    /// How a sentence names a command.
    fn key(&self, id: Id) -> String {
        self.model.setting.keys.shown(id)
    }
}

/// The whole screen, as the model knows it.
fn area(model: &Model) -> Rect {
    let (width, height) = model.size;
    Rect::new(0, 0, width, height)
}

/// Measures the rows of a model's screen. How far something scrolls is [`scroll_end`]'s, which costs as much as to draw it.
pub fn measure(model: &Model, now: Now) -> Geometry {
    let area = area(model);
    let panes_of = |screen| layout::panes_of(screen, model, area);
    Geometry {
        list: list::rows_in(&panes_of(Screen::List)),
        alerts: alerts::rows_in(panes_of(Screen::Alerts).body),
        routes: stats::rows_in(model, panes_of(Screen::Stats).body),
        page: page(model, now),
        scroll_end: 0,
    }
}

/// Returns the rows of what scrolls now: a page of text, the detail, the list, the log.
fn page(model: &Model, now: Now) -> usize {
    let panes = layout::panes(model, area(model));
    let theme = Theme::new(false, false);
    let context = DrawContext { model, theme: &theme, now };
    match (&model.overlay, model.screen) {
        (Overlay::Help(_), _) => help::rows(&context, panes.body),
        (Overlay::Answer { .. }, _) => usize::from(panes.body.height).saturating_sub(2),
        (_, Screen::Detail) => panes.detail.map_or(0, |pane| detail::rows(&context, &panes, pane)),
        (_, Screen::List) => list::rows_in(&panes),
        (_, Screen::Alerts) => alerts::rows_in(panes.body),
        (_, Screen::Stats) => stats::rows_in(model, panes.body),
        (_, Screen::Log) => log::rows_in(panes.body),
    }
}

/// Returns how far a page of text, the detail or the log scrolls.
pub fn scroll_end(model: &Model, now: Now) -> usize {
    let panes = layout::panes(model, area(model));
    let theme = Theme::new(false, false);
    let context = DrawContext { model, theme: &theme, now };
    match (&model.overlay, model.screen) {
        (Overlay::Help(page), _) => help::scroll_end(&context, page, panes.body),
        (Overlay::Answer { text, .. }, _) => answer::scroll_end(text, panes.body),
        (_, Screen::Detail) => panes.detail.map_or(0, |pane| detail::scroll_end(&context, &panes, pane)),
        (_, Screen::Log) => log::scroll_end(&context, panes.body),
        (_, Screen::List | Screen::Alerts | Screen::Stats) => 0,
    }
}

#[cfg(test)]
mod tests;
