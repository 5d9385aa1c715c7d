"""Requests of the inference protocol, right ones and mutated ones, through the codec.

    python test/fuzz/serving/codec_mutations.py [--first 0] [--count 5000]

Tensors of any datatype and shape must come out as they went in, as JSON and as bytes, and back
in responses. What a mutated request gets is tensors or the protocol's error, nothing else.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from glow.serving.app import inference
from glow.serving.datatypes import DTYPES
from glow.serving.json_codec import DecodedRequest, decode_request, encode_response
from glow.serving.requests import InferenceResponse, ServingError

ODD = [
    "null",
    "-1",
    "1e999",
    "NaN",
    "[]",
    "{}",
    '"a"',
    "true",
    "9" * 30,
    "1.5",
    '"FP16"',
]
ODD += [
    "[[1],2]",
    "[" * 3000,
    "4611686018427387904",
    '{"binary_data_size":3}',
    '"\\ud800"',
]


def random_tensors(random):
    """One to three tensors by name, often empty or of one element."""
    names = list(DTYPES)
    tensors = {}
    for index in range(random.integers(1, 4)):
        shape = random.choice([0, 1, 1, 2, 3], random.integers(0, 5))
        dtype = DTYPES[names[random.integers(len(names))]]
        if dtype.kind in "iu":
            bounds = np.iinfo(dtype)
            array = random.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
        else:
            array = np.asarray(8 * random.standard_normal(shape)).astype(dtype)
        tensors[f"t{index}"] = np.asarray(array).reshape(shape)
    return tensors


def numbers(array, *, is_flat):
    """The elements as Python's numbers."""
    wide = array if array.dtype.kind in "biuf" else array.astype(np.float32)
    return wide.ravel().tolist() if is_flat else wide.tolist()


def encode(tensors, random):
    """A body, and how much of it is JSON, None for all."""
    entries, behind = [], b""
    dtypes = {dtype: name for name, dtype in DTYPES.items()}
    for name, array in tensors.items():
        entry = {"name": name, "shape": list(array.shape)}
        entry["datatype"] = dtypes[array.dtype]
        if random.integers(2):
            entry["parameters"] = {"binary_data_size": array.nbytes}
            behind += array.tobytes()
        else:
            is_flat = array.ndim == 0 or bool(random.integers(2))
            entry["data"] = numbers(array, is_flat=is_flat)
        entries.append(entry)
    document = {"inputs": entries, "parameters": {"priority": 1, "timeout": 5000}}
    text = json.dumps(document).encode()
    return text + behind, len(text)


def check_round_trip(seed):
    """Raise AssertionError where tensors change on their way in or out."""
    random = np.random.default_rng(seed)
    tensors = random_tensors(random)
    request = decode_request(*encode(tensors, random))
    assert list(request.inputs) == list(tensors)
    for name, array in tensors.items():
        found = request.inputs[name]
        assert (found.dtype, found.shape) == (array.dtype, array.shape), name
        assert found.tobytes() == array.tobytes(), name
    check_response(tensors, is_binary=bool(random.integers(2)))


def check_response(tensors, *, is_binary):
    """Raise AssertionError where a response does not hold these tensors."""
    asked = DecodedRequest("7", {}, [], is_binary, {})
    answer = InferenceResponse("m", "1", "7", tensors)
    parts, size = encode_response(answer, asked)
    body = b"".join(parts)
    outputs = json.loads(body[:size])["outputs"]
    place = size
    for entry, (name, array) in zip(outputs, tensors.items(), strict=True):
        assert (entry["name"], tuple(entry["shape"])) == (name, array.shape)
        dtype = DTYPES[entry["datatype"]]
        assert dtype == array.dtype
        if is_binary:
            end = place + entry["parameters"]["binary_data_size"]
            assert body[place:end] == array.tobytes()
            place = end
        else:
            wide = dtype if dtype.kind in "biu" else np.float64
            data = np.array(entry["data"], wide).astype(dtype)
            assert data.tobytes() == array.tobytes()
    assert not is_binary or place == len(body)


def mutated(body, size, random):
    """A body with a few faults, and a header that may be wrong as well."""
    for _ in range(random.integers(1, 4)):
        kind, place = random.integers(5), int(random.integers(len(body) + 1))
        if kind == 0:
            body = body[:place]
        elif kind == 1:
            body = (
                body[:place] + random.bytes(int(random.integers(1, 9))) + body[place:]
            )
        elif kind == 2:
            size = [None, -1, 0, len(body), size + 1 if size else 5][random.integers(5)]
        else:  # Something else where a value of JSON begins.
            starts = [i for i, byte in enumerate(body[:4096]) if byte in b":,["]
            if starts:
                start = starts[random.integers(len(starts))] + 1
                odd = ODD[random.integers(len(ODD))].encode()
                end = start + int(random.integers(0, 6))
                body = body[:start] + odd + (b"," if kind == 4 else b"") + body[end:]
                size = size and size + len(odd) + (kind == 4) - (end - start)
    return body, size


def check_mutation(seed):
    """Whether a mutated request is still one; raises for any error but the protocol's."""
    random = np.random.default_rng(seed)
    body, size = mutated(*encode(random_tensors(random), random), random)
    refused = None
    try:
        request = decode_request(body, size)
        inference(request, "m", "")
    except ServingError as error:
        refused = error
    if refused:
        assert 400 <= refused.status < 500
        assert "\n" not in refused.message
        assert len(refused.message) < 1000
    return not refused


def main():
    """Run many."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=5000)
    args = parser.parse_args()
    accepted = 0
    for seed in range(args.first, args.first + args.count):
        try:
            check_round_trip(seed)
            accepted += check_mutation(seed)
        except Exception:
            print(f"seed {seed}")
            raise
    print(f"{args.count} round trips; {accepted} of {args.count} mutations accepted")


if __name__ == "__main__":
    main()
