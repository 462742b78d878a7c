//! `view`: draws the model and changes nothing.
//!
//! ```text
//! header        name, ID, health, saved views, time
//! banner        only for a problem that affects the store or a whole profile
//! filter        the filter, and how many transactions the filter hides
//! list          | detail | just now      list and detail from 108 columns on, the newest changes from 160 on
//! preview       verdict, SAY and DO of the selected transaction, if the detail isn't shown
//! status        polling, team, keys
//! ```
//!
//! The view reads the model, the theme and the command table. The view must never read anything else, not even the
//! time.

mod header;
pub(crate) mod layout;
mod pointer;
mod status;
mod tour;

use ratatui::{Frame, buffer::Buffer, layout::Rect, style::Color, widgets::Clear};

use self::layout::Panes;
pub(crate) use self::pointer::{target, wheel_pane};
use super::{
    dialogs::{Dialog, add, copy, help, menu, palette, prompt, quote, reply},
    draw::{DrawContext, area, put_lines},
    model::{Model, Screen, geometry::Geometry},
    screens::{
        alerts,
        detail::{self, state::DetailTab},
        list::{self, view::marks},
        log, stats,
    },
    theme::Theme,
};
use crate::clock::Now;

/// Draws the whole screen.
pub fn view(model: &Model, theme: &Theme, now: Now, frame: &mut Frame<'_>) {
    let area = frame.area();
    let context = DrawContext { model, theme, now };
    let panes = layout::panes(model, area);
    frame.render_widget(header::line(&context, panes.header.width), panes.header);
    if let Some(banner) = panes.banner {
        frame.render_widget(header::banner(&context, banner.width), banner);
    }
    match model.screen {
        Screen::List => frame.render_widget(header::filter(&context, panes.filter.width), panes.filter),
        Screen::Detail => frame.render_widget(detail::view::position(&context, panes.filter.width), panes.filter),
        Screen::Alerts => frame.render_widget(alerts::view::tabs(&context, panes.filter.width), panes.filter),
        Screen::Stats => frame.render_widget(stats::view::headline(&context, panes.filter.width), panes.filter),
        Screen::Log => log::view::headline(&context, panes.filter, frame),
    }
    if let Some(pane) = panes.list {
        list::view::draw(&context, &panes, pane, frame);
    }
    if let Some(pane) = panes.preview {
        put_lines(detail::view::preview(&context, pane), pane, frame);
        marks::draw_over_line(&context, Rect { height: 1, ..pane }, frame);
    }
    if let Some(pane) = panes.detail {
        detail::view::draw(&context, &panes, pane, frame);
    }
    if let Some(pane) = panes.recent {
        list::view::recent::draw(&context, pane, frame);
    }
    match model.screen {
        Screen::Alerts => alerts::view::draw(&context, panes.body, frame),
        Screen::Stats => stats::view::draw(&context, panes.body, frame),
        Screen::Log => log::view::draw(&context, panes.body, frame),
        Screen::List | Screen::Detail => {}
    }
    put_lines(status::lines(&context, panes.status), panes.status, frame);
    status::draw_status_message(&context, panes.body, panes.status, frame);
    tour::draw(&context, tour_pane(&panes), frame);
    dialog(&context, frame, &panes);
    fill_background(theme, frame.buffer_mut());
}

/// Returns the pane over whose end the step of the tour is drawn: the verdict, what to say and what to do stay visible.
fn tour_pane(panes: &Panes) -> Rect {
    panes.list.unwrap_or(panes.body)
}

fn dialog(context: &DrawContext<'_>, frame: &mut Frame<'_>, panes: &Panes) {
    match &context.model.dialog {
        // The text that is typed in `Find` is drawn with the tabs.
        Dialog::None | Dialog::Find { .. } => {}
        Dialog::Filter(line) => {
            header::draw_error(context, panes.body, frame);
            header::place_cursor(frame, panes.filter, &line.input);
        }
        Dialog::Help(page) => help::view::draw(context, page, panes.body, frame),
        Dialog::Reply { title, warning, text, scroll } => {
            // The rest of the screen still shows the transactions that the text is about.
            let pane = reply::view::area(text, panes.body);
            reply::view::draw(context, [title, warning, text], *scroll, pane, frame);
        }
        Dialog::Palette(palette) => palette::view::draw(context, palette, panes.body, frame),
        Dialog::CopyMenu(menu) => copy::view::draw(context, menu, panes.body, frame),
        Dialog::Add(form) => {
            frame.render_widget(Clear, panes.body);
            add::view::draw(context, form, panes.body, frame);
        }
        Dialog::Quote(form) => quote::view::draw(context, form, panes.body, frame),
        Dialog::Prompt(prompt) => prompt::view::draw(context, prompt, panes.body, frame),
        Dialog::Menu(menu) => menu::view::draw(context, menu, panes.body, frame),
    }
}

/// Measures the rows of a model's screen, but not the scroll end: [`scroll_end`] costs as much as drawing.
pub(crate) fn measure(model: &Model, now: Now) -> Geometry {
    let area = area(model);
    let theme = Theme::new(false, false);
    let context = DrawContext { model, theme: &theme, now };
    let panes_of = |screen| layout::panes_of(screen, model, area);
    let panes = layout::panes(model, area);
    let raw_body = panes.detail.filter(|_| model.detail.tab == DetailTab::Raw);
    Geometry {
        list: list::view::rows_in(&panes_of(Screen::List)),
        alerts: alerts::view::rows_in(&context, panes_of(Screen::Alerts).body),
        routes: stats::view::rows_in(&context, panes_of(Screen::Stats).body),
        page: page(&context, &panes),
        raw_body: raw_body.map_or(0, |pane| detail::view::rows(&context, &panes, pane)),
        scroll_end: 0,
        shows_detail: panes.detail.is_some(),
        shows_tour: tour::is_shown(model, tour_pane(&panes)),
    }
}

/// Returns the rows of the pane that scrolls now: a page of text, the detail, the list, the log.
fn page(context: &DrawContext<'_>, panes: &Panes) -> usize {
    match (&context.model.dialog, context.model.screen) {
        (Dialog::Help(_), _) => help::view::rows(context, panes.body),
        (Dialog::Reply { .. }, _) => usize::from(panes.body.height).saturating_sub(2),
        (_, Screen::Detail) => panes.detail.map_or(0, |pane| detail::view::rows(context, panes, pane)),
        (_, Screen::List) => list::view::rows_in(panes),
        (_, Screen::Alerts) => alerts::view::rows_in(context, panes.body),
        (_, Screen::Stats) => stats::view::rows_in(context, panes.body),
        (_, Screen::Log) => log::view::rows_in(context, panes.body),
    }
}

/// Returns how far a page of text, or the detail on the screen or beside the list, scrolls.
pub(crate) fn scroll_end(model: &Model, now: Now) -> usize {
    let panes = layout::panes(model, area(model));
    let theme = Theme::new(false, false);
    let context = DrawContext { model, theme: &theme, now };
    match (&model.dialog, model.screen) {
        (Dialog::Help(page), _) => help::view::scroll_end(&context, page, panes.body),
        (Dialog::Reply { text, .. }, _) => reply::view::scroll_end(text, panes.body),
        (_, Screen::Detail | Screen::List) => {
            panes.detail.map_or(0, |pane| detail::view::scroll_end(&context, &panes, pane))
        }
        (_, Screen::Alerts | Screen::Stats | Screen::Log) => 0,
    }
}

/// Gives the theme's colours to each cell without own colours. Runs last, because drawing a pane clears the colours.
fn fill_background(theme: &Theme, buffer: &mut Buffer) {
    let ground = theme.text();
    let (letters, background) = (ground.fg.unwrap_or_default(), ground.bg.unwrap_or_default());
    if (letters, background) == (Color::Reset, Color::Reset) {
        return;
    }
    for cell in &mut buffer.content {
        if cell.fg == Color::Reset {
            cell.fg = letters;
        }
        if cell.bg == Color::Reset {
            cell.bg = background;
        }
    }
}

#[cfg(test)]
pub(in crate::tui) mod tests;
