//! Reads a matrix from a file some times and prints how long each took, in seconds: `read_times FILE [TIMES]`.

use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: read_times FILE [TIMES]")?;
    let times: usize = arguments.next().map_or(Ok(7), |times| times.parse())?;
    for _ in 0..times {
        let start = Instant::now();
        let loaded = warp_spmv::io::read::<f64>(&path, &Default::default())?;
        let seconds = start.elapsed().as_secs_f64();
        println!("{seconds:.6}");
        drop(loaded);
    }
    Ok(())
}
