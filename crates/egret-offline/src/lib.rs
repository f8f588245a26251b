//! Off-policy evaluation, audits and learning over egret's log.
