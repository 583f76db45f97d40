//! The header in the repository is the one that cbindgen makes of the sources. With `WARP_SPMV_HEADER=regenerate` it is
//! written.

use std::path::Path;

#[test]
fn the_header_is_fresh() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(package.join("cbindgen.toml")).unwrap();
    // The sources alone: to look at dependencies takes cargo's network.
    let sources = ["executor", "matrix", "options", "plan", "status"];
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources {
        builder = builder.with_src(package.join(format!("src/{source}.rs")));
    }
    let mut fresh = Vec::new();
    builder.generate().unwrap().write(&mut fresh);
    let (path, fresh) = (package.join("include/warp_spmv.h"), String::from_utf8(fresh).unwrap());
    if std::env::var_os("WARP_SPMV_HEADER").is_some_and(|value| value == "regenerate") {
        std::fs::write(&path, &fresh).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == fresh, "{} is not what the sources say: WARP_SPMV_HEADER=regenerate", path.display());
}
