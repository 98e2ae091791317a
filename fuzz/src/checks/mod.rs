//! One function for each target, which takes any bytes and panics where a
//! promise is broken.
#![allow(
    missing_docs,
    unreachable_pub,
    reason = "for fuzz targets and one test"
)]

pub mod arguments;
mod decimal;
mod input;
pub mod projection;
mod reference;
pub mod retain;
pub mod rules;
mod schemas;
pub mod session_log;
