.PHONY: test soak fuzz fuzz-corpus soak-acting test-python browser lint lint-bench quality quality-images bench bench-images bench-texts bench-peers bench-python bench-vectors

# All that must hold before a change goes in. Needs Rust, Python 3.11 or later, and Chromium to look
# at the report with, which is installed if it is missing; LOOKALIKE_NO_BROWSER=1 goes without it,
# LOOKALIKE_NO_PYTHON=1 without the Python package. The peers of the benchmark are not built. Tests
# run every SIMD kernel this machine has, one after the other.
test: browser lint
	cargo test --workspace --profile tested
	$(if $(LOOKALIKE_NO_PYTHON),,$(MAKE) test-python)
	@echo
	@echo "make test: all passed (format, clippy, documentation, tests)"

# Kills a process that writes to a collection, 2,000 times, and looks what is left.
soak:
	LOOKALIKE_TEST_CYCLES=2000 cargo test --profile tested --package lookalike --test it -- collection::what_was_acknowledged

# Two acting runs on the same files, 2,000 times, killed at random; LOOKALIKE_TEST_SEED repeats a run.
soak-acting:
	LOOKALIKE_TEST_ROUNDS=2000 cargo test --profile tested --package lookalike-cli --test it -- acting_together --nocapture

# Damaged files of every format: a million mutated seeds a target, of which none may panic, take more
# than a second of CPU time, or allocate more than 512 MB. Prints a table; writes inputs that fail to
# target/tmp/fuzz. Run it in the background: it takes minutes a target.
#   make fuzz [N=1000000] [TARGET=png] [SEED=26] [FIRST=0]
N = 1000000
SEED = 26
FIRST = 0
fuzz:
	cargo test --package lookalike-jobs --profile tested --test fuzz -- \
		$(TARGET) --campaign --runs $(N) --seed $(SEED) --first $(FIRST)

# The seeds as files, from where cargo-fuzz takes them: cargo +nightly fuzz run png
fuzz-corpus:
	cargo test --package lookalike-jobs --profile tested --test fuzz -- --corpus $(CURDIR)/fuzz/corpus

# The Python package as its users get it: a wheel, installed into a fresh environment. The tests see
# nothing of the source tree. Everything beneath the wheel was built for the tests before.
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

# The same for the benchmark, without its peers.
lint-bench:
	cargo fmt --manifest-path bench/Cargo.toml -- --check
	cargo clippy --manifest-path bench/Cargo.toml --package lookalike-bench --all-targets -- -D warnings

# Detection quality on labelled sets (rows with id, text, cluster) in DATA, scored by SCORER; and whether
# the recall that is stated is measured, on these sets and on 50,000 windows cut from them.
#   make quality DATA=folder [SCORER=score.py] [RECIPE=bare]
SCORER = $(DATA)/../eval/score.py
RECIPE = words
quality:
	cargo build --release
	python3 bench/quality/quality.py $(DATA) $(SCORER) --recipe $(RECIPE)
	python3 bench/quality/recall.py $(DATA)

# The same for images: labelled photographs (img/ and manifest.csv) in DATA. PEERS=1 adds imagehash
# and pdqhash.
#   make quality-images DATA=folder [SCORER=score.py] [PEERS=1]
quality-images: $(if $(PEERS),bench/.venv/images)
	cargo build --release
	$(if $(PEERS),bench/.venv/bin/python,python3) bench/quality/images.py $(DATA) $(SCORER) $(if $(PEERS),--peers)

# How fast images become fingerprints, beside imagehash and pdqhash; writes bench/IMAGES.md. DATA is
# a folder of photographs, of which those of 8 megapixels or more are used.
#   make bench-images DATA=folder
bench-images: bench/.venv/images
	cargo build --release
	bench/.venv/bin/python bench/image_peers.py $(DATA) --results bench/IMAGES.md

bench/.venv/images:
	python3 -m venv bench/.venv
	bench/.venv/bin/pip install --quiet imagehash pdqhash Pillow numpy
	touch $@

# How long exact joins of texts take, and a whole deduplication beside datasketch and text-dedup; writes
# bench/TEXTS.md. SETS is a folder with mixed.jsonl, million.jsonl and half.jsonl.
#   make bench-texts SETS=folder [ONLY=mixed]
bench-texts: bench/.venv/texts
	cargo build --release
	bench/.venv/bin/python bench/text_peers.py $(SETS) $(if $(ONLY),--only $(ONLY),--results bench/TEXTS.md)

bench/.venv/texts:
	python3 -m venv bench/.venv
	bench/.venv/bin/pip install --quiet datasketch numpy
	bench/.venv/bin/pip install --quiet text-dedup || echo "text-dedup: left out"
	touch $@

# Everything side by side, as one table; a full run also writes bench/RESULTS.md.
#   make bench QUICK=1        a tenth of the sizes: whether it works, not how fast it is
#   make bench BILLION=1      also the billion, whatever memory is free (=0: never)
#   make bench ONLY=pairs-10m a single row
#   make bench DATA=folder    also real text: .jsonl or .jsonl.xz files with a "text" field
bench: bench-peers
	cargo run --release --manifest-path bench/Cargo.toml -- \
		$(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY)) $(if $(DATA),--data $(DATA)) \
		$(if $(BILLION),--billion $(if $(filter 0,$(BILLION)),false,true)) \
		$(if $(QUICK)$(ONLY),,--results bench/RESULTS.md)

# The peers are built for this very processor, ours as users build it: ratios are on the safe side. For
# gaoya's MinHash, to which that matters most, there is a row of either kind.
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

# The Python package beside the packages people use today; writes bench/PYTHON.md.
bench-python:
	python3 -m venv bench/.venv-python
	bench/.venv-python/bin/pip install --quiet maturin numpy pyarrow simhash datasketch rensa faiss-cpu
	bench/.venv-python/bin/maturin build --release --out bench/.venv-python/wheels
	bench/.venv-python/bin/pip install --quiet --no-index --force-reinstall --no-deps \
		bench/.venv-python/wheels/*.whl
	bench/.venv-python/bin/python bench/python_peers.py $(if $(QUICK),--docs 2000 --pairs 100000,--results bench/PYTHON.md)
