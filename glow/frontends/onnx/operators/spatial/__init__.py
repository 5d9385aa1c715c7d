"""Handlers of operators over the axes behind the batch and the channels."""
