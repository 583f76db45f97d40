//! Python with SciPy as the other side of a test. If it is missing, the test prints so and passes; `PYTHON` names an
//! interpreter other than `python3`, and with `REQUIRE_SCIPY` set, a missing SciPy is a failure.

use std::ffi::OsStr;
use std::process::{Command, Output};

fn python<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> std::io::Result<Output> {
    Command::new(std::env::var_os("PYTHON").unwrap_or("python3".into())).args(arguments).output()
}

/// Returns whether SciPy is available; prints the reason if not.
pub fn has_scipy() -> bool {
    let reason = match python(["-c", "import scipy.sparse"]) {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned(),
        Err(error) => error.to_string(),
    };
    assert!(std::env::var_os("REQUIRE_SCIPY").is_none(), "no SciPy: {reason}");
    println!("skipped, because SciPy is missing: {reason}");
    false
}

/// Runs a script, which must succeed.
#[track_caller]
pub fn script<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) {
    let output = python(arguments).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
