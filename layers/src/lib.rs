//! Contract and stage layers of `toolfall`.

mod content;

pub use self::content::ContentBlock;
