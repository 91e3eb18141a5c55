//! The program `lookalike`; all of it is in the library.

fn main() -> std::process::ExitCode {
    lookalike_jobs::run(std::env::args_os())
}
