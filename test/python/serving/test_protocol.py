"""The descriptor set of the gRPC protocol is that of its `.proto`, and the clients' own."""

from importlib.resources import files

import pytest
from google.protobuf import descriptor_pb2

from glow.serving.messages import DESCRIPTORS, SERVICE, message_class, methods


def test_the_descriptor_set_is_that_of_the_proto(tmp_path):
    protoc = pytest.importorskip("grpc_tools.protoc")
    folder = files("glow.serving")
    made = tmp_path / DESCRIPTORS
    command = ["protoc", f"-I{folder}", f"--descriptor_set_out={made}"]
    assert protoc.main([*command, "open_inference.proto"]) == 0
    sets = [descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes())]
    sets.append(
        descriptor_pb2.FileDescriptorSet.FromString(
            folder.joinpath(DESCRIPTORS).read_bytes()
        )
    )
    assert sets[0] == sets[1], "run `make protocol`"


def fields(descriptor):
    """Number, type and kind of each field by name."""
    return {
        field.name: (field.number, field.type, field.is_repeated)
        for field in descriptor.fields
    }


def test_messages_are_those_of_tritons_client():
    service = pytest.importorskip("tritonclient.grpc.service_pb2")
    theirs = service.DESCRIPTOR.services_by_name["GRPCInferenceService"]
    assert theirs.full_name == SERVICE
    for name, (request, response) in methods().items():
        method = theirs.methods_by_name[name]
        assert method.input_type.full_name == request.DESCRIPTOR.full_name
        assert method.output_type.full_name == response.DESCRIPTOR.full_name
    for name in ["ModelInferRequest", "ModelInferResponse", "ModelMetadataResponse"]:
        ours = fields(message_class(name).DESCRIPTOR)
        known = fields(service.DESCRIPTOR.message_types_by_name[name])
        assert ours == {field: known[field] for field in ours}
        for nested in message_class(name).DESCRIPTOR.nested_types:
            other = service.DESCRIPTOR.message_types_by_name[name]
            theirs_nested = fields(other.nested_types_by_name[nested.name])
            assert fields(nested) == theirs_nested


def test_messages_are_apart_from_those_of_other_libraries():
    service = pytest.importorskip("tritonclient.grpc.service_pb2")
    assert message_class("ModelInferRequest") is not service.ModelInferRequest
    ours = message_class("ModelInferRequest")(model_name="m", raw_input_contents=[b"a"])
    assert service.ModelInferRequest.FromString(ours.SerializeToString()).id == ""
