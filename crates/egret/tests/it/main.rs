//! The public interface, tested from outside.

mod curves;
mod normalizers;
