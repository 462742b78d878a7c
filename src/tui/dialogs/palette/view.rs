//! The view of the command palette, with the matching commands below it.

use ratatui::{
    Frame,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use super::state::{CommandPalette, Suggestion};
use crate::{
    presentation::width,
    tui::{
        command::CommandArgument,
        draw::{DrawContext, put_dialog, put_lines, shown_lines},
        widgets::field,
    },
};

/// The label of the text.
const PROMPT: &str = ": ";
/// The width of a name with its argument, in columns.
const NAME_COLUMNS: usize = 24;
/// The width of the keys, in columns.
const KEY_COLUMNS: usize = 10;

pub(crate) fn draw(context: &DrawContext<'_>, palette: &CommandPalette, pane: Rect, frame: &mut Frame<'_>) {
    let rows = u16::try_from(palette.suggestions.len()).unwrap_or(u16::MAX).max(1);
    let pane = Rect { height: pane.height.min(rows.saturating_add(3)), ..pane };
    let room = usize::from(pane.height.saturating_sub(3));
    let first = (palette.chosen + 1).saturating_sub(room);
    let block = context
        .titled_block(" Command ")
        .title_bottom(Span::styled(" Enter runs   Tab completes   Up Down choose   Esc closes ", context.theme.dim()))
        .title_bottom(shown_lines(context.theme, first, room, palette.suggestions.len()));
    let inner = put_dialog(block, pane, frame);
    let columns = usize::from(inner.width);
    let suggestions = palette.suggestions.iter().enumerate().skip(first).take(room);
    let mut lines = vec![Line::default()];
    lines.extend(suggestions.map(|(index, suggestion)| line(context, suggestion, index == palette.chosen, columns)));
    if palette.suggestions.is_empty() {
        lines.push(Line::styled("  no matching command here", context.theme.warning()));
    }
    put_lines(lines, inner, frame);
    let row = Rect { height: inner.height.min(1), ..inner };
    field::draw_after(Span::styled(PROMPT, context.theme.key()), &palette.input, Style::new(), row, frame);
}

fn line(context: &DrawContext<'_>, suggestion: &Suggestion, is_chosen: bool, columns: usize) -> Line<'static> {
    let Suggestion { command, argument } = suggestion;
    let argument = match (argument.as_str(), command.argument) {
        ("", Some(CommandArgument { placeholder, .. })) => placeholder,
        (argument, _) => argument,
    };
    let name = width::fit(&format!("{} {argument}", command.name), NAME_COLUMNS, context.theme.ellipsis);
    // As many keys as fit whole.
    let keys = context.model.setting.keys.of(command.id).iter().fold(String::new(), |keys, key| {
        let more = format!("{keys} {key}");
        if keys.is_empty() || width::display_width(&more) <= KEY_COLUMNS { more.trim_start().to_owned() } else { keys }
    });
    let keys = width::fit(&keys, KEY_COLUMNS, context.theme.ellipsis);
    let mark = if is_chosen { ">" } else { " " };
    if is_chosen {
        let text = format!("{mark} {name} {keys} {}", command.help);
        return Line::styled(width::fit(&text, columns, context.theme.ellipsis), context.theme.selected());
    }
    let help = width::cut(command.help, columns.saturating_sub(NAME_COLUMNS + KEY_COLUMNS + 4), context.theme.ellipsis);
    Line::from(vec![
        Span::raw(format!("{mark} {name} ")),
        Span::styled(format!("{keys} "), context.theme.key()),
        Span::styled(help, context.theme.dim()),
    ])
}
