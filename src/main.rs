//! The command `warp-spmv`; see `warp-spmv --help`.

mod cli;

// Results tell what memory conversions take on the host.
#[global_allocator]
static ALLOCATOR: lab::memory::CountingAllocator = lab::memory::CountingAllocator;

fn main() -> std::process::ExitCode {
    cli::main()
}
