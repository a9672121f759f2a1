# make run     a node on 127.0.0.1:9092 and a schema registry on 127.0.0.1:8081, with a demonstration
# make check   what daily work needs, in minutes
# make test    everything that must pass, slice after slice; each slice is a target of its own (see below)
# make help    the rest

VENV    := .venv
PYTHON  ?= python3
BIN     := $(VENV)/bin
READY   := $(VENV)/.ready
LISTEN  ?= 127.0.0.1:9092
REGISTRY ?= 127.0.0.1:8081
DATA    ?= data/ottla
KILLS   ?= 50
FAULTS  ?= 100
# Of all fuzz targets together.
FUZZ_SECONDS ?= 20
# Simulated hours of a lone node under faults, and as many of a cluster, and the first seed. A minute of two processors
# is about six hours of a node, or two of a cluster.
HOURS ?= 8
SEED ?= 101
SERVERS ?= kafka,ottla
WORKERS ?= 2
# Of the servers that `make conformance` tests: 1 or 3.
BROKERS ?= 1
ROUNDS  ?= 5
TURNS   ?= 2
SCALE   ?= 1
comma   := ,

# Two workers, each with servers of its own.
PYTEST  := $(BIN)/pytest -n 2
# Beside what Ottla needs: the documentation's own tools.
SITE_VENV  := build/site-venv
SITE_READY := $(SITE_VENV)/.ready
FETCH   := $(BIN)/python tools/downloads.py
PARTS   := tools/system-parts

OWN_SLICE    := tests/interop/test_librdkafka.py
TOOL_TESTS   := $(wildcard tests/interop/test_tool_*.py) tests/interop/test_dump_log.py
CLIENT_TESTS := $(filter-out $(OWN_SLICE) $(TOOL_TESTS),$(wildcard tests/interop/test_*.py))

ABUSE_TESTS  := $(wildcard tests/system/test_wire_*.py)
TRANSACTION_TESTS := $(wildcard tests/system/test_transactions_*.py)
CLUSTER_TESTS := $(wildcard tests/system/test_cluster*.py tests/system/test_controllers*.py tests/system/test_mixed*.py)
FAULT_TESTS  := $(filter-out tests/system/test_kill.py $(ABUSE_TESTS) $(TRANSACTION_TESTS) $(CLUSTER_TESTS),$(wildcard tests/system/test_*.py))

PIPELINE_KILLS := $(wildcard tests/pipeline/test_kill_*.py)
PIPELINE_CHAOS := $(wildcard tests/pipeline/test_chaos_*.py)
PIPELINE_TESTS := $(filter-out $(PIPELINE_KILLS) $(PIPELINE_CHAOS),$(wildcard tests/pipeline/test_*.py))

SLICES  := lint unit property sim fuzz docs interop registry tools librdkafka pipeline pipeline-kill kill transactions faults cluster abuse package

.PHONY: help install run check test $(SLICES) site format system-parts downloads conformance bench bench-pipeline bench-cluster bench-registry chaos chaos-transactions chaos-cluster mixed chaos-pipeline chaos-registry control
.NOTPARALLEL:
.DEFAULT_GOAL := help

help:
	@echo "make run                 start a node on $(LISTEN) and a schema registry on $(REGISTRY), show them working, Ctrl-C ends them"
	@echo "                         (LISTEN=HOST:PORT, REGISTRY=HOST:PORT, DATA=DIRECTORY)"
	@echo "make run CLUSTER=3       start a cluster of three, kill a leader while records flow, show that nothing is lost; Ctrl-C ends it"
	@echo "make check               the short version of make test, a few minutes: lint, unit tests, one client, one kill -9, a simulated hour"
	@echo "make test                all slices: $(SLICES)"
	@echo "make format              let ruff rewrite the sources"
	@echo "make site                the documentation as a site, into site/"
	@echo "make conformance         the suites of librdkafka and kafka-python on Apache Kafka and on Ottla, into docs/conformance.md"
	@echo "                         (long; SERVERS=ottla ONLY=0012,kafka-python WORKERS=2; MISSING=1 goes on after an interruption;"
	@echo "                         BROKERS=3 WORKERS=1: on clusters, three replicas of everything, into docs/conformance-cluster.md)"
	@echo "make bench               Apache Kafka and Ottla side by side, into docs/benchmarks.md (long; ROUNDS=n ROWS=produce,start;"
	@echo "                         SCALE=0.01 tries it out; FRESH=1 forgets earlier rounds of these rows)"
	@echo "make bench-pipeline      Spark's Kafka connector and Ottla's side by side, on both servers, into docs/benchmarks-pipeline.md"
	@echo "                         (long; ROUNDS, ROWS=copy,latency, SCALE, FRESH as above; SERVERS=ottla)"
	@echo "make bench-cluster       clusters of three, Apache Kafka's and Ottla's, in turns, into docs/benchmarks-cluster.md"
	@echo "                         (20 minutes; TURNS=n of each, ROWS=produce-1k,killed, SCALE, FRESH, SERVERS as above)"
	@echo "make bench-registry      Apicurio's registry and Ottla's side by side, into docs/benchmarks-registry.md (10 minutes; ROUNDS, ROWS,"
	@echo "                         SCALE, FRESH as above)"
	@echo "make fuzz FUZZ_SECONDS=n fuzz the decoders and a live node for longer"
	@echo "make sim HOURS=n SEED=n  a node, then a cluster of three, under simulated time, disks and networks, n hours each"
	@echo "make chaos KILLS=n       kill -9 under load, n times; make chaos-transactions KILLS=n the same with transactions"
	@echo "make chaos-cluster FAULTS=n  nodes of a cluster fail under load, n times: killed, stopped, frozen, cut off, their disks slow or full"
	@echo "make mixed               Ottla and Apache Kafka in one cluster"
	@echo "make chaos-pipeline KILLS=n  kill Spark's driver, executors and workers, and brokers, under a pipeline (SERVERS=kafka,ottla)"
	@echo "make chaos-registry KILLS=n  kill, freeze and stop three instances of the schema registry, and the brokers under them (SEED=n)"
	@echo "make control             the interop slices against Apache Kafka itself: a test that fails there is wrong"
	@echo "make system-parts        install or name what the tests need from outside Python"

install: $(READY)

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is not. Name another one: make PYTHON=/path/to/python3"; exit 1; }
	@echo "building $(VENV) (Ottla, PySpark and the development tools) ..."
	@PYTHON=$(PYTHON) $(PARTS) venv
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[spark,arrow,registry]' --group dev
	@touch $@

run: $(READY)
ifdef CLUSTER
	@$(BIN)/python tools/run_cluster.py --nodes $(CLUSTER) --listen $(LISTEN) --data $(DATA)-cluster
else
	@$(BIN)/python tools/run_node.py --listen $(LISTEN) --data $(DATA) --registry $(REGISTRY)
endif

check: lint unit
	@echo "== check: one client, one kill -9 =="
	@OTTLA_KILLS=1 $(PYTEST) tests/interop/test_records.py tests/interop/test_groups.py tests/system/test_kill.py -k "confluent or survive"
	@$(MAKE) --no-print-directory sim HOURS=1
	@echo "== checked; make test runs the rest =="

test: $(READY)
	@took=; for slice in $(SLICES); do \
	  began=$$(date +%s); \
	  $(MAKE) --no-print-directory $$slice || exit 1; \
	  took="$$took $$slice $$(($$(date +%s) - began)) s,"; \
	done; echo "== all slices passed:$${took%,} =="

lint: $(READY)
	@echo "== lint: ruff, mypy, import-linter =="
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q . || { echo "run: make format"; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(READY)
	@$(BIN)/ruff check -q --fix . || true
	@$(BIN)/ruff format .

unit: $(READY)
	@echo "== unit: modules alone, and the style of the repository =="
	@$(PYTEST) tests/unit tests/tidy

property: $(READY)
	@echo "== property: generated cases, and clusters under a simulator =="
	@$(PYTEST) tests/property tests/sim

sim: $(READY)
	@echo "== sim: a node, then a cluster, with clients under simulated time, with faults =="
	@$(BIN)/python -m ottla.testing.sim --world node --hours $(HOURS) --seed $(SEED)
	@$(BIN)/python -m ottla.testing.sim --world cluster --hours $(HOURS) --seed $(SEED)

fuzz: $(READY)
	@echo "== fuzz: everything that reads bytes which others wrote =="
	@FUZZ_SECONDS=$(FUZZ_SECONDS) $(PYTEST) tests/fuzz

docs: $(READY) $(SITE_READY)
	@echo "== docs: what the documentation shows, run, and its site =="
	@$(PARTS) kcat
	@$(PYTEST) tests/docs

$(SITE_READY): pyproject.toml | $(READY)
	@$(BIN)/python -m venv --clear --without-pip $(SITE_VENV)
	@$(BIN)/python -m pip --python $(SITE_VENV)/bin/python install -q --disable-pip-version-check --group site
	@touch $@

site: $(SITE_READY)
	@NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --strict
	@echo "site/index.html is the documentation. With search: $(BIN)/python -m http.server -b 127.0.0.1 -d site 8000"

interop: $(READY)
	@echo "== interop: clients that we did not write =="
	@$(PARTS) java javac mvn node npm kcat
	@$(FETCH) kafka kafkajs avro >/dev/null
	@$(PYTEST) $(CLIENT_TESTS)

registry: $(READY)
	@echo "== registry: Confluent's clients and others, through a broker =="
	@$(PARTS) java mvn node npm go
	@$(FETCH) registry-js registry-go apicurio >/dev/null
	@$(PYTEST) --dist loadfile tests/registry

tools: $(READY)
	@echo "== tools: Kafka's own command line tools =="
	@$(PARTS) java javac mvn
	@$(FETCH) kafka >/dev/null
	@$(PYTEST) $(TOOL_TESTS)

librdkafka: $(READY)
	@echo "== librdkafka: a slice of its own test suite =="
	@$(PARTS) npm cc c++ make zlib openssl zstd rapidjson java mvn
	@$(FETCH) librdkafka kafka >/dev/null
	@$(PYTEST) tests/interop/test_librdkafka.py

pipeline: $(READY)
	@echo "== pipeline: topics as DataFrames, exactly once, and Spark's own Kafka connector =="
	@$(PARTS) java mvn
	@$(FETCH) spark-connector >/dev/null
	@$(PYTEST) --dist loadfile $(PIPELINE_TESTS)

pipeline-kill: $(READY)
	@echo "== pipeline-kill: exactly once, with Spark's processes killed =="
	@$(PARTS) java mvn
	@$(PYTEST) -n 1 $(PIPELINE_KILLS)

kill: $(READY)
	@echo "== kill: kill -9 under load =="
	@$(PYTEST) -n 1 tests/system/test_kill.py

transactions: $(READY)
	@echo "== transactions: exactly once, with clients and a node that are killed, frozen, and badly connected =="
	@$(PARTS) java javac mvn
	@$(FETCH) kafka >/dev/null
	@$(PYTEST) $(TRANSACTION_TESTS)

faults: $(READY)
	@echo "== faults: damaged files, power cuts, broken disks, and directories that go to Apache Kafka and back =="
	@$(PARTS) java mvn
	@$(PARTS) fusermount3 2>/dev/null || echo "without FUSE the tests of a disk that hangs are skipped"
	@$(FETCH) kafka >/dev/null
	@$(PYTEST) $(FAULT_TESTS)

cluster: $(READY)
	@echo "== cluster: several nodes that fail, alone and together with those of Apache Kafka =="
	@$(PARTS) npm cc c++ make zlib openssl zstd rapidjson java javac mvn
	@$(FETCH) librdkafka kafka-python-suite kafka >/dev/null
	@$(PYTEST) --dist loadfile $(CLUSTER_TESTS)

abuse: $(READY)
	@echo "== abuse: hostile, broken and greedy clients =="
	@$(PYTEST) --dist loadfile $(ABUSE_TESTS)

package: $(READY)
	@echo "== package: wheel, sdist, service and image, installed and run =="
	@$(PARTS) java
	@$(PARTS) debootstrap debian-keyring docker-compose 2>/dev/null || \
	  echo "without root, debootstrap and docker-compose the tests of the service and of the image are skipped"
	@$(PYTEST) --dist loadfile tests/package

conformance: $(READY)
	@$(PARTS) npm cc c++ make zlib openssl zstd rapidjson java javac mvn
	@$(FETCH) librdkafka kafka-python-suite kafka >/dev/null
	@PYTHONPATH=tests:tools:$$PYTHONPATH $(BIN)/python -m conformance --servers=$(SERVERS) --only=$(ONLY) --brokers=$(BROKERS) --workers=$(WORKERS) $(if $(MISSING),--missing)

bench: $(READY)
	@$(PARTS) npm cc c++ make zlib openssl zstd rapidjson java mvn
	@$(FETCH) librdkafka rdkafka-performance kafka >/dev/null
	@PYTHONPATH=tests:$$PYTHONPATH $(BIN)/python -m bench --rounds=$(ROUNDS) --rows=$(ROWS) --scale=$(SCALE) $(if $(FRESH),--fresh)

bench-pipeline: $(READY)
	@$(PARTS) java mvn
	@$(FETCH) spark-connector kafka >/dev/null
	@PYTHONPATH=tests:$$PYTHONPATH $(BIN)/python -m bench.pipeline --rounds=$(ROUNDS) --rows=$(ROWS) --scale=$(SCALE) --servers=$(SERVERS) $(if $(FRESH),--fresh)

bench-cluster: $(READY)
	@$(PARTS) npm cc c++ make zlib openssl zstd rapidjson java mvn
	@$(FETCH) librdkafka rdkafka-performance kafka >/dev/null
	@PYTHONPATH=tests:$$PYTHONPATH $(BIN)/python -m bench.cluster --rounds=$(TURNS) --rows=$(ROWS) --scale=$(SCALE) --servers=$(SERVERS) $(if $(FRESH),--fresh)

bench-registry: $(READY)
	@$(PARTS) wrk java mvn
	@$(FETCH) apicurio >/dev/null
	@PYTHONPATH=tests:$$PYTHONPATH $(BIN)/python -m bench.registry --rounds=$(ROUNDS) --rows=$(ROWS) --scale=$(SCALE) $(if $(FRESH),--fresh)

chaos: $(READY)
	@OTTLA_KILLS=$(KILLS) PYTHONUNBUFFERED=1 $(BIN)/pytest -s tests/system/test_kill.py

chaos-transactions: $(READY)
	@$(PARTS) java javac mvn
	@$(FETCH) kafka >/dev/null
	@OTTLA_KILLS=$(KILLS) PYTHONUNBUFFERED=1 $(BIN)/pytest -s tests/system/test_transactions_kill.py

chaos-cluster: $(READY)
	@$(PARTS) java javac mvn cc
	@$(FETCH) kafka >/dev/null
	@OTTLA_FAULTS=$(FAULTS) OTTLA_SEED=$(SEED) PYTHONUNBUFFERED=1 $(BIN)/pytest -s tests/system/test_cluster_chaos.py

mixed: $(READY)
	@$(PARTS) java mvn
	@$(FETCH) kafka >/dev/null
	@$(BIN)/pytest -rA tests/system/test_mixed*.py tests/system/test_controllers.py -k "apache or kind"

chaos-pipeline: $(READY)
	@$(PARTS) java mvn
	@$(FETCH) kafka >/dev/null
	@for server in $(subst $(comma), ,$(SERVERS)); do echo "== $$server =="; \
	  OTTLA_TEST_SERVER=$$server OTTLA_KILLS=$(KILLS) PYTHONUNBUFFERED=1 $(BIN)/pytest -s $(PIPELINE_KILLS) $(PIPELINE_CHAOS) || exit 1; done

chaos-registry: $(READY)
	@OTTLA_KILLS=$(KILLS) OTTLA_SEED=$(SEED) PYTHONUNBUFFERED=1 $(BIN)/pytest -s tests/registry/test_chaos_instances.py

control: $(READY)
	@$(PARTS) java mvn
	@$(FETCH) kafka >/dev/null
	@OTTLA_TEST_SERVER=kafka $(MAKE) --no-print-directory docs interop registry tools librdkafka pipeline pipeline-kill kill transactions

system-parts:
	@$(PARTS) java javac mvn node npm kcat cc c++ make zlib openssl zstd rapidjson

downloads: $(READY)
	@$(FETCH) kafka kafkajs spark-connector librdkafka >/dev/null
