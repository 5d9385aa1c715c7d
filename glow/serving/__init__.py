"""Serves the models of a host over HTTP and gRPC, by the Open Inference Protocol v2."""
