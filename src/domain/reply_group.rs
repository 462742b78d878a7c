//! The transactions that one reply may be about: a customer must never read about the transfers of another customer.
//!
//! Transactions with one ticket belong to one customer. Without a ticket, transactions of one sender do.

use super::{ids::RowId, transaction::Transaction};

/// The transactions of one customer, as far as tickets and senders say so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplyGroup {
    pub(crate) of: Customer,
    /// The transactions, in the given order.
    pub(crate) rows: Vec<RowId>,
}

/// The customer of a transaction, as far as known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Customer {
    Ticket(String),
    /// The address of the sender.
    Sender(String),
    /// Neither is known.
    Unknown,
}

impl Customer {
    fn new(tx: &Transaction) -> Self {
        match (&tx.params.ticket, &tx.params.from_address) {
            (Some(ticket), _) => Self::Ticket(ticket.clone()),
            (None, Some(sender)) => Self::Sender(sender.clone()),
            (None, None) => Self::Unknown,
        }
    }

    /// Whether both are the same customer. Tickets and addresses are compared without case.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Ticket(one), Self::Ticket(other)) | (Self::Sender(one), Self::Sender(other)) => {
                one.to_lowercase() == other.to_lowercase()
            }
            (Self::Unknown, Self::Unknown) => true,
            _ => false,
        }
    }
}

/// Returns the transactions by customer, in the order of the first transaction of each.
pub(crate) fn reply_groups(transactions: &[&Transaction]) -> Vec<ReplyGroup> {
    let mut groups: Vec<ReplyGroup> = Vec::new();
    for tx in transactions {
        let of = Customer::new(tx);
        match groups.iter_mut().find(|group| group.of.is_same(&of)) {
            Some(group) => group.rows.push(tx.id),
            None => groups.push(ReplyGroup { of, rows: vec![tx.id] }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixtures;

    #[test]
    fn one_ticket_is_one_customer_and_without_a_ticket_one_sender_is() {
        let tx = |number, ticket: Option<&str>, sender: Option<&str>| {
            let mut tx = fixtures::transaction(number);
            (tx.params.ticket, tx.params.from_address) = (ticket.map(str::to_owned), sender.map(str::to_owned));
            tx
        };
        let transactions = [
            tx(1, Some("SUP-1"), Some("0xA")),
            tx(2, None, Some("0xA")),
            tx(3, Some("sup-1"), Some("0xB")),
            tx(4, None, None),
            tx(5, None, Some("0xa")),
            tx(6, None, None),
        ];
        let groups = reply_groups(&transactions.iter().collect::<Vec<_>>());
        let rows = |rows: &[i64]| rows.iter().copied().map(RowId).collect::<Vec<_>>();
        let expected = [
            (Customer::Ticket("SUP-1".into()), rows(&[1, 3])),
            (Customer::Sender("0xA".into()), rows(&[2, 5])),
            (Customer::Unknown, rows(&[4, 6])),
        ];
        assert_eq!(groups, expected.map(|(of, rows)| ReplyGroup { of, rows }));
        assert_eq!(reply_groups(&[]), []);
    }
}
