//! The official conformance package, where it is installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The package: the Node that runs it (version 22) and its `dist/index.js`.
pub(crate) struct Suite {
    node: PathBuf,
    package: PathBuf,
}

impl Suite {
    /// The package that `variable` names; says so if there is none.
    pub(crate) fn named(variable: &str) -> Option<Self> {
        let named = |variable: &str| {
            let found = std::env::var_os(variable).map(PathBuf::from);
            if found.is_none() {
                println!("skipped: {variable} is not set");
            }
            found
        };
        Some(Self {
            node: named("TOOLFALL_NODE")?,
            package: named(variable)?,
        })
    }

    /// Runs it to its end in a folder of its own, and gives how it ended and
    /// what it said.
    pub(crate) fn run(&self, arguments: &[&str]) -> (bool, String) {
        let folder = tempfile::tempdir().expect("there is room");
        let Output {
            status,
            stdout,
            stderr,
        } = Command::new(&self.node)
            .arg(&self.package)
            .args(arguments)
            .current_dir(&folder)
            .output()
            .expect("it starts");
        let said = [stdout, stderr].concat();
        (
            status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    }
}

/// An example, which is built with the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    let folder = test.ancestors().nth(2).map(Path::to_owned);
    folder
        .expect("the folder of the build")
        .join("examples")
        .join(name)
}
