"""WebAssembly: objects, the modules that engines load, and one of the engines."""
