"""Bundles for WebAssembly beside onnxruntime-web, in Node."""
