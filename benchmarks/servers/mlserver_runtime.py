"""A runtime of MLServer that calls ONNX Runtime; it runs in MLServer's environment."""

import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse


class OnnxRuntime(MLModel):
    """One session, one thread a process: MLServer has a process for each core."""

    async def load(self) -> bool:
        """Read the model."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            self.settings.parameters.uri, options, ["CPUExecutionProvider"]
        )
        self.names = [output.name for output in self.session.get_outputs()]
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        """The outputs of a request."""
        inputs = {one.name: NumpyCodec.decode_input(one) for one in payload.inputs}
        outputs = self.session.run(self.names, inputs)
        named = zip(self.names, outputs, strict=True)
        encoded = [NumpyCodec.encode_output(name, array) for name, array in named]
        return InferenceResponse(
            id=payload.id, model_name=self.name, model_version="1", outputs=encoded
        )
