//! Names of GPU architectures.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// A GPU architecture for which PTX is made, such as `sm_90`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Architecture {
    name: String,
    compute_capability: u32,
}

impl Architecture {
    /// The name as compilers spell it: `sm_90`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Ten times the major number plus the minor number of the compute capability: 90 for `sm_90`.
    pub fn compute_capability(&self) -> u32 {
        self.compute_capability
    }
}

impl FromStr for Architecture {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let digits = name.strip_prefix("sm_").unwrap_or_default();
        // `sm_90a` and `sm_100f` are architectures whose PTX runs on only one GPU or one family.
        let digits = digits.strip_suffix(['a', 'f']).unwrap_or(digits);
        let decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse() {
            Ok(compute_capability) if decimal => Ok(Self { name: name.to_owned(), compute_capability }),
            _ => Err(Error::Architecture { name: name.to_owned() }),
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_architectures() {
        for (name, expected) in [("sm_75", 75), ("sm_90a", 90), ("sm_100f", 100), ("sm_120", 120)] {
            let architecture: Architecture = name.parse().unwrap();
            assert_eq!((architecture.name(), architecture.compute_capability()), (name, expected));
        }
        for name in ["", "sm_", "75", "sm_+75", "sm_7 5", "SM_75", "sm_75b", "sm_99999999999", "compute_75", "sm_90\n"]
        {
            assert!(name.parse::<Architecture>().is_err(), "{name:?}");
        }
    }
}
