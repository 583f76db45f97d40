//! The number types: one list.

use host::Scalar;

use crate::failure::Failure;

/// A family of types with one member per number type.
pub trait Family {
    /// The member for one number type.
    type Of<T: Number>: Send;
}

/// A number type of matrices and vectors.
pub trait Number: files::Number + numpy::Element {
    /// Its name in the list.
    const NUMBER_TYPE: NumberType;

    /// Wraps a member of a family, whatever its type.
    fn typed<F: Family>(member: F::Of<Self>) -> Typed<F>;

    /// The member of a family, if it is of this type.
    fn of<F: Family>(typed: &mut Typed<F>) -> Option<&mut F::Of<Self>>;
}

/// Defines everything that depends on the list. `$d` is a dollar sign, for the macros that it defines.
macro_rules! number_types {
    (($d:tt) $($Name:ident $Type:ty,)*) => {
        /// The number types by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum NumberType {
            $($Name,)*
        }

        impl NumberType {
            const ALL: &[Self] = &[$(Self::$Name,)*];

            /// The name in NumPy.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$Name => <$Type as Scalar>::NAME,)*
                }
            }
        }

        /// A member of a family.
        pub enum Typed<F: Family> {
            $($Name(F::Of<$Type>),)*
        }

        impl<F: Family> Typed<F> {
            /// Its number type.
            pub fn number_type(&self) -> NumberType {
                match self {
                    $(Self::$Name(_) => NumberType::$Name,)*
                }
            }
        }

        $(impl Number for $Type {
            const NUMBER_TYPE: NumberType = NumberType::$Name;

            fn typed<F: Family>(member: F::Of<Self>) -> Typed<F> {
                Typed::$Name(member)
            }

            #[allow(unreachable_patterns, reason = "of one type there would be no other")]
            fn of<F: Family>(typed: &mut Typed<F>) -> Option<&mut F::Of<Self>> {
                match typed {
                    Typed::$Name(member) => Some(member),
                    _ => None,
                }
            }
        })*

        /// The value of an expression in which `$T` is the number type with this name.
        macro_rules! with_type {
            ($d number_type:expr, $d T:ident => $d result:expr) => {
                match $d number_type {
                    $($crate::numbers::NumberType::$Name => {
                        type $d T = $Type;
                        $d result
                    })*
                }
            };
        }

        /// The value of an expression for a member of a family.
        macro_rules! with_typed {
            ($d typed:expr, $d member:ident => $d result:expr) => {
                match $d typed {
                    $($crate::numbers::Typed::$Name($d member) => $d result,)*
                }
            };
        }
    };
}
number_types! {
    ($)
    Float32 f32,
    Float64 f64,
    Complex64 host::Complex<f32>,
    Complex128 host::Complex<f64>,
}
#[allow(clippy::single_component_path_imports, reason = "the macros are made by a macro")]
pub(crate) use {with_type, with_typed};

/// The value of an expression in which `$T` is the real number type with this name; an error for complex types, since
/// `$what` accepts only real ones.
macro_rules! with_real_type {
    ($number_type:expr, $what:literal, $T:ident => $result:expr) => {
        match $number_type {
            $crate::numbers::NumberType::Float32 => {
                type $T = f32;
                $result
            }
            $crate::numbers::NumberType::Float64 => {
                type $T = f64;
                $result
            }
            other => {
                let message = concat!($what, " takes a matrix of float32 or float64, found ");
                Err($crate::failure::Failure::number_type(format!("{message}{}", other.name())))
            }
        }
    };
}
pub(crate) use with_real_type;

impl std::str::FromStr for NumberType {
    type Err = Failure;

    fn from_str(name: &str) -> Result<Self, Failure> {
        Self::ALL.iter().copied().find(|known| known.name() == name).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|known| known.name()).collect();
            Failure::value(format!("unknown number type '{name}': expected {}", names.join(", ")))
        })
    }
}
