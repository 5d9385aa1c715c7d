# Everything runs in a virtual environment that the targets make themselves.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
BIN = $(VENV)/bin
FARM = build/typing/glow

.PHONY: help venv dev demo serve-demo train test test-all bundles bench-bundles conformance backend-package fuzz test-opencl test-ptx test-gpu interop ray serving-clients protocol mutants lint house typing bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(VENV)/.installed  ## create the environment with what users need

dev: $(VENV)/.installed-dev typing  ## create the environment with all tools of developers

demo: $(VENV)/.installed  ## compile and run ResNet-50, then classify digits
	$(BIN)/python examples/resnet50.py
	$(BIN)/python examples/digits/classify.py

serve-demo: $(VENV)/.installed  ## serve the digits network, ask it by JSON and by bytes, stop
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[serve]'
	$(BIN)/python examples/serve.py

train: $(VENV)/.installed  ## train the digits networks from scratch, into build/digits
	$(BIN)/python -m examples.digits.train

test: $(VENV)/.installed-dev  ## run lit, then pytest, with some of the cases of tests that have many
	$(BIN)/python test/run_all.py --jobs $(JOBS) --slice

test-all: $(VENV)/.installed-dev  ## run lit, then pytest, with all cases
	$(BIN)/python test/run_all.py --jobs $(JOBS)

lint: dev  ## ruff, pyright, the import contracts and the shape of the tree
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	cd build/typing && $(abspath $(BIN))/lint-imports --config $(CURDIR)/pyproject.toml
	$(BIN)/python test/house.py --quiet

house: $(VENV)/.installed-dev  ## print the shape of the tree: folders, circles, lengths
	$(BIN)/python test/house.py

bundles: $(VENV)/.installed-dev  ## run the bundles of all targets that emulators know here (minutes)
	GLOW_ALL_TARGETS=1 $(BIN)/pytest -n $(JOBS) test/python/bundles

bench-bundles: $(VENV)/.installed-dev  ## print sizes of bundles, and compare them with runtimes that npm and git fetch
	$(BIN)/python -m benchmarks.bundles
	$(BIN)/python -m benchmarks.bundles_web
	$(BIN)/python -m benchmarks.bundles_arm
	$(BIN)/pip install --quiet tflite-micro
	$(BIN)/python -m benchmarks.bundles_tflite

conformance: $(VENV)/.installed-dev  ## run ONNX's own backend tests on CPU and interpreter (minutes)
	$(BIN)/python -m glow.tools.onnx_conformance --jobs $(JOBS)

backend-package: $(VENV)/.installed-dev  ## run ResNet-50 through the wheel of a backend's package in a fresh environment (a minute)
	GLOW_FRESH_ENVIRONMENT=1 $(BIN)/pytest -n 0 test/python/backends/test_fresh_environment.py

fuzz: $(VENV)/.installed-dev  ## run passes, native code and quantization on thousands of random graphs (minutes)
	$(BIN)/python test/fuzz/fuzz.py --jobs $(JOBS)
	$(BIN)/python test/fuzz/fuzz.py --jobs $(JOBS) --kinds mutated-models --first 2000 --count 3000
	PYTHONPATH=$(CURDIR):$(CURDIR)/test/python $(BIN)/python test/python/support/programs/printed_programs.py
	PYTHONPATH=$(CURDIR):$(CURDIR)/test/python $(BIN)/python test/python/support/programs/network_texts.py
	$(BIN)/python test/fuzz/training_threads.py
	$(BIN)/python benchmarks/partitions.py resnet50 bert_base --rounds 1
	$(BIN)/python test/fuzz/host_schedules.py
	$(BIN)/python test/fuzz/device_faults.py
	$(BIN)/python test/fuzz/serving/codec_checks.py
	$(BIN)/python test/fuzz/serving/serving_faults.py

test-opencl: $(VENV)/.installed-dev  ## run operators and small networks on an OpenCL device (an hour)
	$(BIN)/python test/fuzz/opencl/compare_device.py

test-ptx: $(VENV)/.installed-dev  ## assemble all kernels of the networks for NVIDIA's GPUs (minutes)
	$(BIN)/python -m benchmarks.devices.ptx

test-gpu: $(VENV)/.installed-dev  ## compare kernels for many threads on an NVIDIA GPU (minutes)
	$(BIN)/pytest --gpu -m gpu -n $(JOBS) test/python/backends/cuda

interop: $(VENV)/.installed-dev  ## install JAX, IREE and mlir-opt, compare programs, write their table (half an hour)
	@command -v mlir-opt-22 >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && apt-get update -qq && apt-get install -qq -y --no-install-recommends mlir-22-tools; } || true
	$(BIN)/pip install --quiet jax iree-base-compiler iree-base-runtime
	$(BIN)/pytest -n 0 test/interop
	$(BIN)/python test/interop/table.py --write
	$(BIN)/pytest -n 0 test/python/frontends/stablehlo/test_jax.py test/python/frontends/stablehlo/test_recurrence.py
	$(BIN)/python test/fuzz/stablehlo/operations.py
	$(BIN)/python test/interop/levels.py

ray: $(VENV)/.installed-dev  ## install Ray, and test devices on clusters of it (a minute)
	$(BIN)/pip install --quiet -e '.[ray,serve]' 'ray[serve]' httpx
	$(BIN)/pytest -n 0 test/python/ray_cluster

serving-clients: $(VENV)/.installed-dev  ## install clients of Triton and KServe, and ask a server by them
	$(BIN)/pip install --quiet 'tritonclient[http,grpc]'
	$(PYTHON) -m venv build/kserve && build/kserve/bin/pip install --quiet kserve
	$(BIN)/pytest -n 0 test/python/serving/test_clients.py test/python/serving/test_kserve.py

protocol: $(VENV)/.installed-dev  ## write the messages of the gRPC protocol from its .proto
	$(BIN)/pip install --quiet grpcio-tools
	$(BIN)/python -m grpc_tools.protoc -Iglow/serving \
	  --descriptor_set_out=glow/serving/open_inference.binpb open_inference.proto

mutants: $(VENV)/.installed-dev  ## plant faults and count those that no test finds (half an hour)
	$(BIN)/python test/mutants/mutants.py --jobs $(JOBS)

bench: $(VENV)/.installed-dev  ## compare the speed with other runtimes
	$(BIN)/pip install --quiet -e '.[benchmarks]'
	$(BIN)/python benchmarks/compare.py

clean:  ## remove everything that was built, the environment too
	rm -rf build dist $(VENV) *.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, not " + sys.version.split()[0] + "; name one with make PYTHON=python3.12") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[examples]'
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev,examples]'
	@touch $@ $(VENV)/.installed

# The files under the names that they have once installed: for type checkers, editors and
# import-linter, which do not know setuptools' package mapping. Real folders with links to
# files, since none of them follows a link to a folder.
typing:
	@rm -rf $(FARM) && mkdir -p $(FARM)
	@cp -Rs $(CURDIR)/glow/. $(FARM)/
	@cp -Rs $(CURDIR)/glow_dialects $(FARM)/dialects
	@cp -Rs $(CURDIR)/passes $(CURDIR)/lowering $(CURDIR)/tools $(FARM)/
