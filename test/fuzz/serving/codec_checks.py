"""What must hold of requests for inference: each is read right, or refused as the client's fault.

    python test/fuzz/serving/codec_checks.py [--first 0] [--count 5000]

`check_http` writes tensors of every datatype as a client does, in JSON or as bytes, and reads
them with our decoder; the way back is that of a response. Then it breaks the request. What is
still read is compared with the JSON and the bytes themselves, element by element. `check_grpc`
does so for the messages of gRPC, which protobuf's own parser reads to compare.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from copy import deepcopy

import numpy as np
from google.protobuf.message import DecodeError

from glow.serving.app import inference as http_inference
from glow.serving.datatypes import DTYPES, name_of
from glow.serving.grpc_codec import encode, parse
from glow.serving.grpc_codec import inference as grpc_inference
from glow.serving.grpc_tensors import CONTENTS
from glow.serving.json_codec import (
    DecodedRequest,
    WantedOutput,
    decode_request,
    encode_response,
)
from glow.serving.messages import message_class
from glow.serving.requests import InferenceResponse, ServingError

MUTANTS = 12
"""Of each request."""
SIZES = (0, 1, 1, 2, 3, 5)
NAMES = ("x", "", "a b", "größe", "名前", "\N{SNOWMAN}\n", '"\\', "y" * 300)
ODD = (
    None, True, -1, 0, 1, 1.5, 2**31, 2**63, 10**30, 10**400, float("1e300"), "", "1",
    "FP32", "BOOL", "BYTES", "\ud800", [], [0], [1, 2], [[1], [2, 3]], [2**62, 0, 2**62],
    {}, {"name": "x"}, {"binary_data_size": 4}, {"binary_data_output": True},
    {"timeout": 10**400}, {"priority": 10**30}, {"timeout": "soon"},
)  # fmt: skip
"""What stands where something else belongs."""

Array = np.ndarray


class Wrong(Exception):
    """A request that is read as another, or refused in a wrong way."""


def random_tensor(choose: random.Random) -> Array:
    """A tensor of any datatype and few axes, as the protocol has them."""
    dtype = DTYPES[choose.choice(sorted(DTYPES))]
    shape = [choose.choice(SIZES) for _ in range(choose.randrange(5))]
    drawn = np.random.default_rng(choose.getrandbits(32))
    if dtype.kind == "b":
        return drawn.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return drawn.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    return np.asarray(drawn.standard_normal(shape) * 100).astype(dtype)


def random_tensors(choose: random.Random) -> dict[str, Array]:
    names = choose.sample(NAMES, choose.randrange(1, 4))
    return {name: random_tensor(choose) for name in names}


def as_numbers(array: Array, choose: random.Random) -> list[object]:
    """The elements for JSON, flat or nested."""
    wide = array if array.dtype.kind in "biuf" else array.astype(np.float32)
    is_flat = array.ndim == 0 or choose.random() < 0.5
    return (wide.reshape(-1) if is_flat else wide).tolist()


def write_http(
    tensors: dict[str, Array], choose: random.Random
) -> tuple[dict[str, object], bytes]:
    """The JSON of a request, and the bytes behind it."""
    entries, data = [], b""
    for name, array in tensors.items():
        entry = {"name": name, "shape": list(array.shape)}
        entry["datatype"] = name_of(array.dtype)
        if choose.random() < 0.5:
            entry["parameters"] = {"binary_data_size": array.nbytes}
            data += array.tobytes()
        else:
            entry["data"] = as_numbers(array, choose)
        entries.append(entry)
    document = {"id": choose.choice(NAMES), "inputs": entries}
    if choose.random() < 0.5:
        document["parameters"] = {"priority": 3, "timeout": 5000}
    return document, data


def check_http(seed: int) -> int:
    """The number of requests of a seed that were read right, or refused."""
    choose = random.Random(seed)
    tensors = random_tensors(choose)
    document, data = write_http(tensors, choose)
    text = json.dumps(document).encode()
    decoded = decode_request(text + data, len(text))
    if decoded.id != document["id"]:
        raise Wrong(f"seed {seed}: id: {decoded.id!r}")
    same(seed, "read", tensors, decoded.inputs)
    wanted = [WantedOutput(name, choose.random() < 0.5) for name in tensors]
    same(seed, "answered", tensors, answered(tensors, wanted))
    for _ in range(MUTANTS):
        broken = broken_http(document, data, choose)
        check_mutant(seed, *broken)
    return 2 + MUTANTS


def answered(tensors: dict[str, Array], wanted: list[WantedOutput]) -> dict[str, Array]:
    """Outputs as a client reads them."""
    request = DecodedRequest("", {}, wanted, False, {})
    parts, size = encode_response(InferenceResponse("m", "1", "i", tensors), request)
    body = b"".join(parts)
    size = len(body) if size is None else size
    document, place, found = json.loads(body[:size]), size, {}
    for entry in document["outputs"]:
        dtype, shape = DTYPES[entry["datatype"]], entry["shape"]
        if "data" in entry:
            array = np.array(entry["data"]).astype(dtype)
            if dtype.kind in "iu":
                array = np.array(entry["data"], dtype)
        else:
            end = place + entry["parameters"]["binary_data_size"]
            array, place = np.frombuffer(body[place:end], dtype), end
        found[entry["name"]] = array.reshape(shape)
    if place != len(body):
        raise Wrong(f"{len(body) - place} bytes of a response belong to no output")
    return found


def same(seed: int, what: str, wanted: dict[str, Array], found: dict[str, Array]):
    """Raise Wrong unless the tensors are the same, to the bit."""
    if list(wanted) != list(found):
        raise Wrong(f"seed {seed}: {what}: {list(found)} for {list(wanted)}")
    for name, array in wanted.items():
        other = found[name]
        if (other.dtype, other.shape) != (array.dtype, array.shape) or (
            other.tobytes() != array.tobytes()
        ):
            raise Wrong(f"seed {seed}: {what}: {name!r}: {other!r} for {array!r}")


def places_of(node: object) -> Iterator[tuple[object, object]]:
    """Each container of a JSON document, with each key that it has."""
    if isinstance(node, dict | list):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            yield node, key
            yield from places_of(node[key])


def broken_http(
    document: dict[str, object], data: bytes, choose: random.Random
) -> tuple[bytes, int | None]:
    """A body with one to three faults, and what its header says of the JSON."""
    document = json.loads(json.dumps(document))
    for _ in range(choose.randrange(3)):
        change_json(document, choose)
    text = json.dumps(document).encode()
    if choose.random() < 0.1:
        deep = b"[" * choose.choice((40, 90, 3000)) + b"1"
        text = text.replace(b'"data": [', b'"data": ' + deep, 1)
    body, size = text + data, len(text)
    kind = choose.randrange(6)
    if kind == 0:
        body = flipped(body, choose)
    elif kind == 1:
        body = body[: choose.randrange(len(body))]
    elif kind == 2:
        size += choose.choice((-1, 1, 8, 10**9))
    elif kind == 3:
        body += bytes(choose.randrange(1, 9))
    return body, None if choose.random() < 0.1 else size


def change_json(document: dict[str, object], choose: random.Random) -> None:
    """Remove, replace, swap or repeat something."""
    places = list(places_of(document))
    if not places:
        return
    owner, key = choose.choice(places)
    kind = choose.randrange(4)
    if kind == 0:
        del owner[key]
    elif kind == 1:
        owner[key] = deepcopy(choose.choice(ODD))
    elif kind == 2:
        other, other_key = choose.choice(places)
        try:
            copied = json.loads(json.dumps(other[other_key]))
        except (KeyError, IndexError, TypeError):
            return
        owner[key] = copied
    elif isinstance(owner, list):
        owner.append(json.loads(json.dumps(owner[key])))


def flipped(data: bytes, choose: random.Random) -> bytes:
    """The bytes, with up to four others among them."""
    found = bytearray(data)
    for _ in range(choose.randrange(1, 5)):
        found[choose.randrange(len(found))] = choose.randrange(256)
    return bytes(found)


def check_mutant(seed: int, body: bytes, size: int | None) -> None:
    """Raise Wrong unless the body is read as it says, or refused."""
    try:
        decoded = decode_request(body, size)
        http_inference(decoded, "m", "")
    except ServingError as error:
        check_refusal(seed, error)
        return
    place = len(body) if size is None else size
    for entry in json.loads(body[:place])["inputs"]:
        found = decoded.inputs[entry["name"]]
        dtype = DTYPES[entry["datatype"]]
        if "data" in entry:
            numbers = list(leaves(entry["data"]))
            is_same = len(numbers) == found.size and all(
                map(is_number, numbers, found.reshape(-1), [dtype] * len(numbers))
            )
        else:
            end = place + entry["parameters"]["binary_data_size"]
            is_same, place = found.tobytes() == body[place:end], end
        is_same = is_same and is_in_order(found)
        if not is_same or found.dtype != dtype or list(found.shape) != entry["shape"]:
            raise Wrong(f"seed {seed}: broken: {entry!r:.200} read as {found!r:.200}")
    if place != len(body):
        raise Wrong(f"seed {seed}: broken: bytes left over")


def check_refusal(seed: int, error: ServingError) -> None:
    if not 400 <= error.status < 500 or "\n" in error.message:
        raise Wrong(f"seed {seed}: refused: {error.status} {error.message!r}")
    error.message.encode()


def is_in_order(array: Array) -> bool:
    """Whether each BOOL is 0 or 1, which the bytes of another are not."""
    return array.dtype.kind != "b" or bool((array.view(np.uint8) <= 1).all())


def leaves(data: object) -> Iterator[object]:
    if isinstance(data, list):
        for one in data:
            yield from leaves(one)
    else:
        yield data


def is_number(given: object, found: np.generic, dtype: np.dtype) -> bool:
    """Whether an element is the number that JSON gives, rounded to the dtype."""
    if dtype.kind == "b":
        return given is bool(found)
    if dtype.kind in "iu":  # `true` among numbers is 1.
        return isinstance(given, int) and given == int(found)
    if not isinstance(given, int | float) or not np.isfinite(found):
        return False
    return bool(found == np.float64(given).astype(dtype))


def write_grpc(tensors: dict[str, Array], choose: random.Random) -> object:
    """A request, its tensors all raw or all typed."""
    typed = {n: a for n, a in tensors.items() if name_of(a.dtype) in CONTENTS}
    is_raw = len(typed) < len(tensors) or choose.random() < 0.5
    message = message_class("ModelInferRequest")(model_name="m", id="i")
    for name, array in tensors.items():
        datatype = name_of(array.dtype)
        entry = message.inputs.add(name=name, datatype=datatype, shape=array.shape)
        if is_raw:
            message.raw_input_contents.append(array.tobytes())
        else:
            elements = getattr(entry.contents, CONTENTS[datatype])
            elements.extend(array.reshape(-1).tolist())
    if choose.random() < 0.5:
        message.parameters["timeout"].int64_param = 5000
    return message


def check_grpc(seed: int) -> int:
    """The number of messages of a seed that were read right, or refused."""
    choose = random.Random(seed)
    tensors = random_tensors(choose)
    message = write_grpc(tensors, choose)
    data = message.SerializeToString()
    found = grpc_inference(*parse(data), None)
    same(seed, "read", tensors, found.inputs)
    same(seed, "answered", tensors, answered_grpc(tensors, choose.random() < 0.5))
    for _ in range(MUTANTS):
        check_grpc_mutant(seed, broken_grpc(message, choose))
    return 2 + MUTANTS


def answered_grpc(tensors: dict[str, Array], is_raw: bool) -> dict[str, Array]:
    """Outputs as a client reads them."""
    name = f"request {len(tensors)}" if is_raw else ""
    answer = InferenceResponse("m", "1", name, tensors)
    data = encode(answer, is_raw=is_raw)
    found = message_class("ModelInferResponse").FromString(data)
    assert (found.model_name, found.model_version, found.id) == ("m", "1", name)
    return read_tensors(found.outputs, found.raw_output_contents)


def read_tensors(entries: object, raw: object) -> dict[str, Array]:
    """Tensors of a message, read with protobuf."""
    found = {}
    for place, entry in enumerate(entries):
        dtype = DTYPES[entry.datatype]
        if raw:
            array = np.frombuffer(raw[place], dtype)
        else:
            elements = getattr(entry.contents, CONTENTS[entry.datatype])
            array = np.array(list(elements), dtype)
        found[entry.name] = array.reshape(tuple(entry.shape))
    return found


def broken_grpc(message: object, choose: random.Random) -> bytes:
    """A message with a fault in its fields or in its bytes."""
    broken = type(message)()
    broken.CopyFrom(message)
    entry = choose.choice(broken.inputs)
    kind = choose.randrange(8)
    if kind == 0:
        entry.shape.append(choose.choice((-1, 0, 1, 2, 2**62)))
    elif kind == 1:
        entry.datatype = choose.choice((*DTYPES, "BYTES", ""))
    elif kind == 2:
        entry.shape.extend([2**62, 2**62, 0])
    elif kind == 3:
        broken.inputs.add().CopyFrom(entry)
    elif kind == 4 and entry.shape:
        entry.shape[0] += 1
    elif kind == 5:
        entry.contents.int_contents.append(2**31 - 1)
    elif kind == 6 and broken.raw_input_contents:
        broken.raw_input_contents[0] += choose.choice((b"\0", b"\x02" * 8))
    data = broken.SerializeToString()
    cut = choose.randrange(4)
    if cut == 0:
        return flipped(data, choose)
    return data[: choose.randrange(len(data))] if cut == 1 else data


def check_grpc_mutant(seed: int, data: bytes) -> None:
    """Raise Wrong unless the message is read as protobuf reads it, or refused."""
    try:
        found = grpc_inference(*parse(data), None).inputs
    except ServingError as error:
        check_refusal(seed, error)
        return
    try:
        message = message_class("ModelInferRequest").FromString(data)
    except DecodeError as error:
        raise Wrong(f"seed {seed}: broken: {error}, but it was read") from error
    wanted = read_tensors(message.inputs, message.raw_input_contents)
    if len(wanted) != len(message.inputs):
        raise Wrong(f"seed {seed}: broken: a name was taken twice")
    same(seed, "broken", wanted, found)
    if not all(map(is_in_order, found.values())):
        raise Wrong(f"seed {seed}: broken: a BOOL is neither 0 nor 1")


def main() -> int:
    """Check a range of seeds; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=5000, help="how many seeds")
    options = parser.parse_args()
    wrong = 0
    for check in (check_http, check_grpc):
        compared = 0
        for seed in range(options.first, options.first + options.count):
            try:
                compared += check(seed)
            except Exception as error:
                wrong += 1
                print(f"seed {seed}: {type(error).__name__}: {error}"[:600])
        print(f"{check.__name__}: {compared} requests read right or refused")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
