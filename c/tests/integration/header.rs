//! The header in the repository is the one that cbindgen makes of the sources. With `WARP_SPMV_HEADER=regenerate` it is
//! written.

use std::path::Path;

#[test]
fn the_header_is_fresh() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(package.join("cbindgen.toml")).unwrap();
    // The sources alone: to look at dependencies takes cargo's network.
    let mut sources: Vec<_> =
        std::fs::read_dir(package.join("src")).unwrap().map(|file| file.unwrap().path()).collect();
    // What is declared comes in the order of its files. `lib.rs` would have cbindgen look for the modules that it names.
    sources.sort();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("lib.rs"));
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources {
        builder = builder.with_src(source);
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
