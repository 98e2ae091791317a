//! Servers whose tools join the registry.
