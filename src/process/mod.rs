//! Programs of the system's, each with everything that it starts.

mod group;

pub(crate) use self::group::Group;
