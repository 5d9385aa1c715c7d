"""A server with clients that do wrong; `test/fuzz/serving/serving_faults.py` does more of it."""

import asyncio

import pytest
from serving_faults import run_faults


def test_others_do_not_notice():
    seconds, _ = run_faults(20, 0.2, is_long=False)
    assert len(seconds) > 1


@pytest.mark.parametrize("sent", [b"", b"GET /v2 HTTP/1.1\r\nX-A: b"])
def test_connections_without_headers_end(monkeypatch, sent):
    """One that says nothing, or half of its headers, is closed."""
    pytest.importorskip("httptools")
    uvicorn = pytest.importorskip("uvicorn")
    from uvicorn.server import ServerState

    from glow.serving import http_protocol

    monkeypatch.setattr(http_protocol, "HEADER_SECONDS", 0.05)

    async def run():
        config = uvicorn.Config(None, http=http_protocol.LimitedHttp)
        config.loaded_app = None
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: http_protocol.LimitedHttp(config, ServerState(), {}), "127.0.0.1", 0
        )
        async with server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            assert await asyncio.wait_for(reader.read(), 20) == b""
            writer.close()

    asyncio.run(run())
