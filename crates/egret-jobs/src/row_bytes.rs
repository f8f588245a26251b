use egret::{AnyAction, Context, Item};

/// What a row of a log is told apart by: context, action and loss, the same bytes wherever the row stands.
pub(crate) fn row_bytes(x: &Context, action: &AnyAction, loss: f64) -> Vec<u8> {
    // A table without types has items as numbers.
    let item = match *action {
        AnyAction::Item(Item(index)) => Some(AnyAction::Number(f64::from(index))),
        _ => None,
    };
    let row = (x, item.as_ref().unwrap_or(action), loss);
    serde_json::to_vec(&row).expect("contexts, actions and numbers are written to memory")
}
