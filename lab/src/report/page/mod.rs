//! The page: a single self-contained file.

mod data;

use super::contents::Report;
use data::Data;

/// Observable Plot and the library it is based on, as published.
const D3: &str = include_str!("../../../assets/d3-7.9.2.min.js");
const PLOT: &str = include_str!("../../../assets/plot-0.6.17.umd.min.js");
const LICENSE_OF_D3: &str = include_str!("../../../assets/LICENSE-d3");
const LICENSE_OF_PLOT: &str = include_str!("../../../assets/LICENSE-plot");

const STYLE: &str = include_str!("style.css");
const SCRIPTS: [&str; 5] = [
    include_str!("statistics.js"),
    include_str!("plots.js"),
    include_str!("summary.js"),
    include_str!("table.js"),
    include_str!("page.js"),
];
const BODY: &str = include_str!("body.html");

pub fn page(report: &Report) -> String {
    let data = serde_json::to_string(&Data::new(report)).expect("numbers, texts and arrays are JSON");
    let own = SCRIPTS.concat();
    let mut page = String::with_capacity(D3.len() + PLOT.len() + own.len() + data.len() + (64 << 10));
    page += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    // Nothing is fetched, and nothing in the data can change that.
    page += "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'; img-src data:\">\n";
    page += "<title>warp-spmv: results</title>\n";
    page += &format!("<style>\n{STYLE}</style>\n</head>\n{BODY}");
    page += &format!("<script type=\"application/json\" id=\"data\">{}</script>\n", inert(&data));
    for (script, license) in [(D3, LICENSE_OF_D3), (PLOT, LICENSE_OF_PLOT)] {
        page += &format!("<script>\n/*\n{license}*/\n{script}\n</script>\n");
    }
    page += &format!("<script>\n\"use strict\";\n{own}</script>\n</body>\n</html>\n");
    page
}

/// Returns JSON in which no text can end the surrounding element: `<` occurs only in strings.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_data() {
        let text = "</script><script>alert(1)</script><!--";
        let json = inert(&serde_json::to_string(text).unwrap());
        assert!(!json.contains('<'));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[test]
    fn no_script_ends_its_element() {
        for script in SCRIPTS.iter().chain(&[D3, PLOT]) {
            let script = script.to_ascii_lowercase();
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
    }
}
