//! The `lookalike` binary, a call of the library.

fn main() -> std::process::ExitCode {
    lookalike_cli::run(std::env::args_os())
}
