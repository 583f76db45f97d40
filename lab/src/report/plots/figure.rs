//! A figure in the form that is written.

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The name.
    pub name: String,
    /// The text of the SVG file.
    pub svg: String,
}

impl Figure {
    /// Returns the name of the file.
    pub fn file_name(&self) -> String {
        format!("{}.svg", self.name)
    }
}
