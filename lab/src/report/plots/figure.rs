//! A figure as it is written.

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// The text of the SVG file.
    pub svg: String,
}

impl Figure {
    /// The name of its file.
    pub fn file_name(&self) -> String {
        format!("{}.svg", self.name)
    }
}
