.PHONY: test lint lint-bench bench bench-peers

# All that must hold before a change goes in. Needs Rust and nothing else; the peers of the
# benchmark are not built. Tests run every SIMD kernel this machine has, one after the other.
test: lint
	cargo test --workspace
	@echo
	@echo "make test: all passed (format, clippy, documentation, tests)"

# The command line's documentation is built first: binary and library share their name, and the
# library's is the one to keep.
lint:
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --package lookalike-cli
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --package lookalike

# The same for the benchmark, without its peers.
lint-bench:
	cargo fmt --manifest-path bench/Cargo.toml -- --check
	cargo clippy --manifest-path bench/Cargo.toml --package lookalike-bench --all-targets -- -D warnings

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

# The peers are built for this very processor, ours as users build it: ratios are on the safe side.
bench-peers: bench/.venv/installed
	RUSTFLAGS="-C target-cpu=native" cargo build --release --manifest-path bench/Cargo.toml \
		--package lookalike-bench-peers --target-dir bench/target/peers

bench/.venv/installed:
	python3 -m venv bench/.venv
	bench/.venv/bin/pip install --quiet faiss-cpu numpy
	touch $@
