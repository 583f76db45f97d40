//! Compiles the example in C against the header and the library, and runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder where cargo has put the library for this test.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Compiles with the warnings that every compiler supports.
fn compile(compiler: &str, standard: &str, program: &Path) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let libraries = libraries();
    run(Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", standard])
        .arg("-I")
        .arg(package.join("include"))
        .arg(package.join("examples/multiply.c"))
        .arg("-L")
        .arg(&libraries)
        .arg("-lwarp_spmv_c")
        .arg(format!("-Wl,-rpath,{}", libraries.display()))
        .arg("-o")
        .arg(program));
}

#[test]
#[cfg(target_os = "linux")]
fn the_example_runs() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("multiply");
    compile("cc", "-std=c11", &program);
    let output = run(&mut Command::new(&program));
    let text = String::from_utf8(output.stdout).unwrap();
    let (chosen, rest) = text.split_once('\n').unwrap();
    assert!(chosen.starts_with("chosen: ") && chosen.len() > "chosen: ".len(), "{chosen}");
    assert_eq!(rest, "1 320\n1 320\n4 650\nx has length 2, expected 3\n");
}
