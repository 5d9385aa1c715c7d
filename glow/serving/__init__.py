"""Serves networks over HTTP and gRPC by the Open Inference Protocol v2 (KServe, Triton).

| file | what |
|---|---|
| `requests.py`   | requests, responses and errors, the same for all protocols |
| `datatypes.py`  | the protocol's names of element types |
| `json_codec.py` | tensors in JSON, and binary ones behind it |
| `repository.py` | models by name and version on a `glow.Host` |
| `folders.py`    | models on disk: `NAME/VERSION/model.onnx` |
| `service.py`    | what all protocols share |
| `app.py`        | the HTTP service |
| `body.py`       | reads a request's body within limits |
| `metrics.py`    | figures for Prometheus |
| `server.py`     | runs it all in one process, until a signal |
| `workers.py`    | several such processes, on the same ports |
| `shared_metrics.py` | the figures of all of them |
| `messages.py`   | the messages of gRPC, from `open_inference.proto` |
| `ray_deployment.py` | the HTTP service as a deployment of Ray Serve |
| `grpc_service.py` | the gRPC service |
| `grpc_codec.py` | its requests and responses from and to bytes |
| `grpc_tensors.py` | tensors in the messages of gRPC, and binary ones beside them |
| `wire.py`       | messages around large tensors, without copies |
"""
