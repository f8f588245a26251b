//! β by betting: draw f̂ at actions from μ until two martingales have enough wealth.
//!
//! One gambler bets that z(β) < 1, the other that z(β) > 1/κ∞. If a bet is wrong, its wealth is a nonnegative
//! martingale from 1 and reaches 2/δ with probability at most δ/2 (Ville's inequality). So a β at which both reach 2/δ
//! has z(β) ∈ [1/κ∞, 1], except with probability δ.
//!
//! `betting` adapts its bets, as the paper does. `mixture` spreads the wealth over a few constant bets and needs fewer
//! draws. `wealth` multiplies thousands of factors without overflow.

pub(crate) mod betting;
pub(crate) mod mixture;
pub(crate) mod wealth;
