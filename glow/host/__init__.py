"""Serves requests on devices: what runs compiled networks for many callers at once.

`Host` (`host.py`) is what users see. It keeps networks by name (`network.py`), which
`provisioner.py` compiles and places on devices (`devices/`); requests (`request.py`) wait in
a queue (`queue.py`) until a device has a free slot, and join to batches there where that
pays (`batching.py`).
"""
