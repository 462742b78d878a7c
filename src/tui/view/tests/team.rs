//! Tests of the parts of the screen that only a team's store has.

use super::*;
use crate::domain::team::{Nonce, TeamLink, TeamStatus, fixtures::member};

/// Returns a screen with a team in this state.
fn with_team(size: (u16, u16), link: TeamLink) -> TestDashboard {
    let mut model = dashboard(size);
    let poller = member(2, "bob", &["prod"], Some(3));
    model.team = Some(TeamStatus {
        link,
        applied: 40,
        head: 160,
        members: vec![member(1, "ana", &[], None), poller.clone(), member(3, "bob", &[], None)],
        poller: Some(poller),
        ..TeamStatus::default()
    });
    model
}

#[track_caller]
fn assert_shown(model: &TestDashboard, texts: &[&str]) {
    let screen = screen(model);
    for text in texts {
        assert!(screen.contains(text), "`{text}` is missing:\n{screen}");
    }
}

#[test]
fn team_line_says_who_is_online_who_polls_and_how_far_behind_the_machine_is() {
    let mut model = with_team((120, 36), TeamLink::Live);
    assert_shown(&model, &["TEAM 2 online", " Team    2 online · polled by bob-laptop (bob) · up to date"]);
    model.team.as_mut().unwrap().behind_since = Some(ago(0, 3));
    assert_shown(&model, &["3s behind"]);
    (model.team.as_mut().unwrap().poller, model.team.as_mut().unwrap().behind_since) = (None, None);
    assert_shown(&model, &["2 online · no machine is polling · up to date"]);
    assert_shown(&with_team(SMALL, TeamLink::Live), &[" Team    2 online · polled by bob-laptop (bob) · up to date"]);
    assert_shown(&with_team((120, 36), TeamLink::CatchingUp), &["catching up: 40 of 160 entries (25 %)"]);
    assert!(!screen(&dashboard(SMALL)).contains("TEAM"));
}

#[test]
fn banner_says_since_when_the_store_is_unreachable_and_what_still_works() {
    let away = TeamLink::Away { reason: "db.example\u{1b}[2J refuses the connection".into(), since: ago(4, 0) };
    let mut model = with_team((120, 36), away);
    model.store_fault = Some("db.example refuses the connection".into());
    assert_shown(&model, &["TEAM'S STORE UNREACHABLE since", "read-only", "team's store is unreachable"]);
    assert!(!screen(&model).contains('\u{1b}'));
    // The last report of the poller may be from before.
    assert!(!screen(&model).contains("LIVE") && screen(&model).contains("STOPPED here"), "{}", screen(&model));
    let mut model = with_team(SMALL, TeamLink::Refused { reason: "the database is not a team's store yet".into() });
    model.store_fault = Some("the database is not a team's store yet".into());
    assert_shown(
        &model,
        &["TEAM'S STORE: the database is not a team's store yet", "while the team's store can't be used"],
    );
}

#[test]
fn transaction_that_another_person_has_open_is_marked_and_names_the_person() {
    let mut model = with_team((120, 36), TeamLink::Live);
    let key = model.selected().unwrap().key();
    model.team.as_mut().unwrap().open.insert(Nonce(1), key.clone());
    assert_shown(&model, &["ana has this open"]);
    model.team.as_mut().unwrap().open.insert(Nonce(3), key);
    assert_shown(&model, &["ana and bob have this open"]);
    press(&mut model, &["j"], now());
    assert!(screen(&model).contains("│@") && screen(&model).contains(" @ana "), "{}", screen(&model));
    assert!(!screen(&model).contains("have this open"));
    // Under a shared role, the role would leave no place for a ticket.
    model
        .team
        .as_mut()
        .unwrap()
        .members
        .iter_mut()
        .for_each(|member| member.author = format!("{} via ops", member.author));
    assert!(screen(&model).contains(" @ana ") && !screen(&model).contains("@ana via"), "{}", screen(&model));
}

#[test]
fn lost_entries_are_told_once() {
    let mut model = dashboard((120, 36));
    let status = TeamStatus { loss: Some("the database lost 2 of your operations".into()), ..TeamStatus::default() };
    step(&mut model, Msg::Team(Box::new(status.clone()), Some("ana".into())), now());
    assert_eq!(model.status_message.as_ref().map(|message| message.text.as_str()), status.loss.as_deref());
    assert_eq!(model.setting.author.as_deref(), Some("ana"));
    model.status_message = None;
    step(&mut model, Msg::Team(Box::new(status), None), now());
    assert!(model.status_message.is_none());
}
