//! The command `warp-spmv`; see `warp-spmv --help`.

mod cli;

// Results report the host memory that conversions take.
#[global_allocator]
static ALLOCATOR: lab::memory::CountingAllocator = lab::memory::CountingAllocator;

fn main() -> std::process::ExitCode {
    cli::main()
}
