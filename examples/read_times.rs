//! Reads a Matrix Market file several times and prints the duration of each, in seconds: `read_times FILE TIMES
//! csr|coordinates`.

use std::time::Instant;

use warp_spmv::io;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [path, times, what] = &arguments[..] else { return Err("usage: read_times FILE TIMES csr|coordinates".into()) };
    for _ in 0..times.parse()? {
        let start = Instant::now();
        let seconds = match what.as_str() {
            "csr" => {
                let matrix = io::read_matrix_market::<f64>(path, None)?;
                let seconds = start.elapsed().as_secs_f64();
                drop(matrix);
                seconds
            }
            "coordinates" => {
                let entries = io::read_coordinates::<f64>(path, &io::ReadOptions::default())?;
                let seconds = start.elapsed().as_secs_f64();
                drop(entries);
                seconds
            }
            other => return Err(format!("{other}: expected csr or coordinates").into()),
        };
        println!("{seconds:.6}");
    }
    Ok(())
}
