//! The public interface, tested from outside.

mod normalizers;
