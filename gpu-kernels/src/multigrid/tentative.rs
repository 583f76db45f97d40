//! tentative
