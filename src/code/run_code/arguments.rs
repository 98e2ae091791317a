//! What a program passes to a tool.

use toolfall_layers::Arguments;

use crate::code::BindingArguments;

const LOSSLESS: &str = "tool arguments must be lossless JSON";

/// The arguments of a call that may be made, or what the program is told.
///
/// The pipeline would answer these calls as well; but a program that forgot
/// its arguments called nothing yet, and nothing is to be recorded.
pub(super) fn kept(arguments: BindingArguments) -> Result<Arguments, String> {
    match arguments {
        BindingArguments::Missing => Err(format!(
            "{LOSSLESS} (call the tool with an arguments object, e.g. `{{}}`)"
        )),
        BindingArguments::Refused(error) => Err(format!("{LOSSLESS}: {error}")),
        BindingArguments::Kept(arguments) => match arguments.malformed() {
            Some(malformed) => Err(format!("{LOSSLESS}: {malformed}")),
            None => Ok(arguments),
        },
    }
}
