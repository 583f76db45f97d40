//! The header in the repository must be the one that cbindgen generates from the sources. `WARP_SPMV_HEADER=regenerate`
//! writes it.

use std::path::Path;

#[test]
fn the_header_is_fresh() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(package.join("cbindgen.toml")).unwrap();
    // The sources alone, since resolving dependencies requires cargo's network access.
    let mut sources: Vec<_> =
        std::fs::read_dir(package.join("src")).unwrap().map(|file| file.unwrap().path()).collect();
    // Declarations appear in the order of their files. `lib.rs` would make cbindgen search for the modules that it names.
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
    assert!(committed == fresh, "{} does not match the sources: WARP_SPMV_HEADER=regenerate", path.display());
}
