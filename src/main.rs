//! The command `warp-spmv`; see `warp-spmv --help`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
