//! The program `lookalike`; all of it is in the library.

fn main() -> std::process::ExitCode {
    lookalike_cli::run(std::env::args_os())
}
