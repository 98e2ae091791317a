//! What the fuzz targets check.

pub mod checks;
