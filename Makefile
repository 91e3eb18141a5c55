.PHONY: test soak fuzz fuzz-corpus soak-acting test-python browser lint lint-bench quality quality-images bench bench-images bench-texts bench-peers bench-python bench-vectors

# Everything that must pass before a change is merged. Needs Rust, Python 3.11 or later, and Chromium
# for the report, which is installed if missing. LOOKALIKE_NO_BROWSER=1 skips the browser tests,
# LOOKALIKE_NO_PYTHON=1 the Python package. The peers of the benchmark are not built. Tests run every
# SIMD kernel of this machine.
test: browser lint
	cargo test --workspace --profile tested
	$(if $(LOOKALIKE_NO_PYTHON),,$(MAKE) test-python)
	@echo
	@echo "make test: all passed (format, clippy, documentation, tests)"

# Kills a process that writes to a collection 2,000 times, and checks what is left.
soak:
	LOOKALIKE_TEST_CYCLES=2000 cargo test --profile tested --package lookalike --test it -- collection::what_was_acknowledged

# Starts two acting runs on the same files 2,000 times and kills them at random times.
# LOOKALIKE_TEST_SEED repeats a run.
soak-acting:
	LOOKALIKE_TEST_ROUNDS=2000 cargo test --profile tested --package lookalike-cli --test it -- acting_together --nocapture

# Damaged files of every format: a million mutated seeds per target. None may panic, take more than a
# second of CPU time, or allocate more than 512 MB. Prints a table and writes failing inputs to
# target/tmp/fuzz. It takes minutes per target.
#   make fuzz [N=1000000] [TARGET=png] [SEED=26] [FIRST=0]
N = 1000000
SEED = 26
FIRST = 0
fuzz:
	cargo test --package lookalike-jobs --profile tested --test fuzz -- \
		$(TARGET) --campaign --runs $(N) --seed $(SEED) --first $(FIRST)

# Writes the seeds as files for cargo-fuzz: cargo +nightly fuzz run png
fuzz-corpus:
	cargo test --package lookalike-jobs --profile tested --test fuzz -- --corpus $(CURDIR)/fuzz/corpus

# Tests the Python package as a wheel in a fresh environment, without access to the source tree. The
# crates below the wheel are already built by the tests.
PYTHON_ENV = $(or $(CARGO_TARGET_DIR),target)/python
test-python:
	rm -rf $(PYTHON_ENV)
	python3 -m venv $(PYTHON_ENV)
	$(PYTHON_ENV)/bin/pip install --quiet --requirement python/tests/requirements.txt
	$(PYTHON_ENV)/bin/ruff check python bench/python_peers.py
	$(PYTHON_ENV)/bin/ruff format --check python bench/python_peers.py
	$(PYTHON_ENV)/bin/maturin build --quiet --profile tested --out $(PYTHON_ENV)/wheels
	$(PYTHON_ENV)/bin/pip install --quiet --no-index $(PYTHON_ENV)/wheels/*.whl
	$(PYTHON_ENV)/bin/pytest -q

BROWSERS = chromium chromium-browser google-chrome
AS_ROOT = $(if $(filter 0,$(shell id -u)),,sudo)
browser:
	@test -n "$(LOOKALIKE_NO_BROWSER)$(LOOKALIKE_BROWSER)" || command -v $(BROWSERS) >/dev/null || \
		{ $(AS_ROOT) apt-get update -qq && \
		  $(AS_ROOT) apt-get install -y -qq --no-install-recommends chromium; }

lint:
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --workspace

# Lints the benchmark, without its peers.
lint-bench:
	cargo fmt --manifest-path bench/Cargo.toml -- --check
	cargo clippy --manifest-path bench/Cargo.toml --package lookalike-bench --all-targets -- -D warnings

# Detection quality on labelled sets (rows with id, text, cluster) in DATA, scored by SCORER. Also
# compares stated with measured recall, on these sets and on 50,000 windows cut from them.
#   make quality DATA=folder [SCORER=score.py] [RECIPE=bare]
SCORER = $(DATA)/../eval/score.py
RECIPE = words
quality:
	cargo build --release
	python3 bench/quality/quality.py $(DATA) $(SCORER) --recipe $(RECIPE)
	python3 bench/quality/recall.py $(DATA)

# Detection quality on labelled photographs (img/ and manifest.csv) in DATA. PEERS=1 adds imagehash and
# pdqhash.
#   make quality-images DATA=folder [SCORER=score.py] [PEERS=1]
quality-images: $(if $(PEERS),bench/.venv/images)
	cargo build --release
	$(if $(PEERS),bench/.venv/bin/python,python3) bench/quality/images.py $(DATA) $(SCORER) $(if $(PEERS),--peers)

# Speed of image fingerprints, compared with imagehash and pdqhash; writes bench/IMAGES.md. DATA is a
# folder of photographs; those of at least 8 megapixels are used.
#   make bench-images DATA=folder
bench-images: bench/.venv/images
	cargo build --release
	bench/.venv/bin/python bench/image_peers.py $(DATA) --results bench/IMAGES.md

bench/.venv/images:
	python3 -m venv bench/.venv
	bench/.venv/bin/pip install --quiet imagehash pdqhash Pillow numpy
	touch $@

# Duration of exact text joins, and of a whole deduplication compared with datasketch and text-dedup;
# writes bench/TEXTS.md. SETS is a folder with mixed.jsonl, million.jsonl and half.jsonl.
#   make bench-texts SETS=folder [ONLY=mixed]
bench-texts: bench/.venv/texts
	cargo build --release
	bench/.venv/bin/python bench/text_peers.py $(SETS) $(if $(ONLY),--only $(ONLY),--results bench/TEXTS.md)

bench/.venv/texts:
	python3 -m venv bench/.venv
	bench/.venv/bin/pip install --quiet datasketch numpy
	bench/.venv/bin/pip install --quiet text-dedup || echo "text-dedup: left out"
	touch $@

# All benchmarks as one table; a full run also writes bench/RESULTS.md.
#   make bench QUICK=1        a tenth of the sizes: checks that it works, not how fast it is
#   make bench BILLION=1      also a billion items, however little memory is free (=0: never)
#   make bench ONLY=pairs-10m a single row
#   make bench DATA=folder    also real text: .jsonl or .jsonl.xz files with a "text" field
bench: bench-peers
	cargo run --release --manifest-path bench/Cargo.toml -- \
		$(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY)) $(if $(DATA),--data $(DATA)) \
		$(if $(BILLION),--billion $(if $(filter 0,$(BILLION)),false,true)) \
		$(if $(QUICK)$(ONLY),,--results bench/RESULTS.md)

# The peers are built for this processor, lookalike as users build it, so ratios are conservative.
# gaoya's MinHash, which benefits most, has a row for either build.
bench-peers: bench/.venv/installed
	RUSTFLAGS="-C target-cpu=native" cargo build --release --manifest-path bench/Cargo.toml \
		--package lookalike-bench-peers --target-dir bench/target/peers
	cargo build --release --manifest-path bench/Cargo.toml \
		--package lookalike-bench-peers --target-dir bench/target/usual-peers

bench/.venv/installed:
	python3 -m venv bench/.venv
	bench/.venv/bin/pip install --quiet faiss-cpu numpy usearch
	touch $@

# Vectors beside NumPy, faiss, usearch and SemHash; writes bench/VECTORS.md.
bench-vectors:
	python3 -m venv bench/.venv-vectors
	bench/.venv-vectors/bin/pip install --quiet numpy faiss-cpu usearch semhash tokenizers
	cargo build --release --package lookalike-cli
	bench/.venv-vectors/bin/python bench/vector_peers.py target/release/lookalike

# Compares the Python package with common alternatives; writes bench/PYTHON.md.
bench-python:
	python3 -m venv bench/.venv-python
	bench/.venv-python/bin/pip install --quiet maturin numpy pyarrow simhash datasketch rensa faiss-cpu
	bench/.venv-python/bin/maturin build --release --out bench/.venv-python/wheels
	bench/.venv-python/bin/pip install --quiet --no-index --force-reinstall --no-deps \
		bench/.venv-python/wheels/*.whl
	bench/.venv-python/bin/python bench/python_peers.py $(if $(QUICK),--docs 2000 --pairs 100000,--results bench/PYTHON.md)
