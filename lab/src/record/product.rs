//! Products with several vectors at once.

use std::collections::BTreeSet;

use host::{Layout, Multivector};
use serde::{Deserialize, Serialize};

use super::{Entry, Run};

/// The product with several vectors at once, in one format or by one peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Product {
    /// Number of vectors.
    pub vectors: u64,
    /// The layout in memory: "row-major" or "column-major".
    #[serde(with = "LayoutNames")]
    pub layout: Layout,
    /// The time of the same number of [single products](Run::singles) in the same format, from the run with one vector
    /// timed just before; `None` for peers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub singles: Option<f64>,
    /// The product itself. Times, operations and the bytes of X and Y are those of all vectors together; errors are those
    /// of the worst vector.
    pub run: Run,
}

/// The names of layouts, in files and on the command line.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Layout", rename_all = "kebab-case")]
enum LayoutNames {
    RowMajor,
    ColumnMajor,
}

/// Returns the name of a layout in files.
pub fn layout_name(layout: Layout) -> &'static str {
    match layout {
        Layout::RowMajor => "row-major",
        Layout::ColumnMajor => "column-major",
    }
}

impl Product {
    /// Creates the product with vectors of this shape; `single` is the run with one vector.
    pub fn new(shape: Multivector, single: Option<&Run>, run: Run) -> Self {
        let Multivector { vectors, layout } = shape;
        let singles = single.and_then(|single| single.singles(vectors));
        Self { vectors: vectors as u64, layout, singles, run }
    }

    /// Returns the number and layout of the vectors.
    pub fn shape(&self) -> Multivector {
        Multivector { vectors: usize::try_from(self.vectors).unwrap_or(usize::MAX), layout: self.layout }
    }
}

impl Run {
    /// Returns the seconds of `count` consecutive products: if timed with cold caches, the first one is cold, and the
    /// others find the caches as it leaves them.
    pub fn singles(&self, count: usize) -> Option<f64> {
        let first = self.seconds()?;
        Some(first + count.saturating_sub(1) as f64 * self.time.unwrap_or(first))
    }
}

impl Entry {
    /// Returns the product of this shape in a format, by its text, or by a peer, by name.
    pub fn product(&self, name: &str, shape: Multivector) -> Option<&Product> {
        self.products.get(name)?.iter().find(|product| product.shape() == shape)
    }

    /// Returns the shapes of all multiplied vectors, row-major ones first, then by increasing number.
    pub fn shapes(&self) -> Vec<Multivector> {
        let all = self.products.values().flatten();
        let keys: BTreeSet<_> =
            all.map(|product| (product.layout == Layout::ColumnMajor, product.shape().vectors)).collect();
        let layout = |is_column_major| if is_column_major { Layout::ColumnMajor } else { Layout::RowMajor };
        keys.into_iter().map(|(is, vectors)| Multivector { vectors, layout: layout(is) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Times;

    const SHAPE: Multivector = Multivector { vectors: 4, layout: Layout::RowMajor };

    fn run(seconds: f64) -> Run {
        Run { completed: true, time: Some(seconds), library: Some("warp-spmv".into()), ..Run::default() }
    }

    fn entry() -> Entry {
        let columns = Multivector { layout: Layout::ColumnMajor, ..SHAPE };
        let products =
            vec![Product::new(columns, None, Run::default()), Product::new(SHAPE, Some(&run(1.0)), run(1.5))];
        Entry { filename: "a".into(), products: [("ell".to_owned(), products)].into(), ..Entry::default() }
    }

    #[test]
    fn what_is_written_is_read_and_older_files_have_none() {
        let entry = entry();
        let text = serde_json::to_string(&entry).unwrap();
        assert!(text.contains(r#""vectors":4,"layout":"column-major""#), "{text}");
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
        assert_eq!(entry.shapes(), [SHAPE, Multivector { layout: Layout::ColumnMajor, ..SHAPE }]);
        assert_eq!(entry.product("ell", SHAPE).unwrap().singles, Some(4.0));
        let bare = Entry { filename: "a".into(), ..Entry::default() };
        let text = serde_json::to_string(&bare).unwrap();
        assert!(!text.contains("products"), "{text}");
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), bare);
        let names = [Layout::RowMajor, Layout::ColumnMajor].map(|layout| {
            let product = Product::new(Multivector { layout, ..SHAPE }, None, Run::default());
            (serde_json::to_value(product).unwrap()["layout"].clone(), layout_name(layout))
        });
        assert!(names.iter().all(|(written, name)| written == name), "{names:?}");
    }

    #[test]
    fn single_products_after_the_first_find_warm_caches() {
        let cold = Times { time: 3.0, quartiles: [3.0; 2], repetitions: 1, samples: Vec::new() };
        let warm = run(1.0);
        assert_eq!(warm.singles(4), Some(4.0));
        assert_eq!(Run { cold: Some(cold), ..warm.clone() }.singles(4), Some(6.0));
        assert_eq!(Run { completed: false, ..warm }.singles(4), None);
    }
}
