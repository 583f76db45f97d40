//! Reports, as text and in a browser.

mod browser;
mod experiments;
mod figures;
mod files;
mod page;
mod records;
mod schema;
